"""Cards say what the sources and builds say, and samples are the datasets' own rows."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.metrics.metric import Missing
from datasets_build.build import build, read_manifest
from datasets_build.download import Fetcher
from datasets_build.load import SUITES, load_suite, load_table
from datasets_build.sources import DATASETS, find_config
from divbench.core.tables import Table
from leaderboard.pages.datasets import (
    SAMPLES,
    cards,
    facts,
    fields_table,
    overview,
    python_code,
    samples,
    shell_code,
    splits_table,
    suites_table,
)
from tests.conftest import divbench

NAMES = [config.name for source in DATASETS for config in source.configs]


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nothing is built or mirrored."""
    monkeypatch.delenv("DIVBENCH_MIRROR", raising=False)
    monkeypatch.setenv("DIVBENCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def build_demo(home: Path) -> None:
    source, config = find_config("demo")
    build(source, config, home / "built", Fetcher(source, network=False))


def test_every_dataset_has_a_card_with_the_rows_and_fields_of_its_source(nothing: Path) -> None:
    found = cards()
    assert list(found) == NAMES
    for card in found.values():
        source, config = find_config(card.name)
        assert splits_table(card).values == tuple((split.name, split.count, None) for split in config.splits)
        assert [row[0] for row in fields_table(card).values] == config.schema.names
        stated = dict(facts(card))
        assert (stated["licence"], stated["version"]) == (source.licence, source.version)
        assert ("released files" in stated["files"]) == ("https://" in stated["files"]) == bool(source.files), card.name


def test_a_build_gives_the_card_its_revision_and_sizes(nothing: Path) -> None:
    build_demo(nothing)
    manifest = read_manifest(nothing / "built" / "data" / "demo")
    card = cards()["demo"]
    assert card.revision == manifest.revision
    assert card.sizes == {"prompts": manifest.splits["prompts"].bytes}
    assert dict(facts(card))["revision"] == manifest.revision
    assert splits_table(card).texts == (("prompts", "24", f"{manifest.splits['prompts'].bytes:,}"),)
    others = [replace(source, version="9.9.9") for source in DATASETS]
    assert cards(datasets=others)["demo"].revision is None  # it is of another version
    (nothing / "built" / "data" / "demo" / "manifest.json").write_text("{", encoding="utf-8")
    assert cards()["demo"].revision is None


def test_tables_have_a_row_an_item() -> None:
    found = cards()
    assert [row[:3] for row in overview(list(found.values())).values] == [
        (c.name, sum(split.count for split in c.config.splits), len(c.splits)) for c in found.values()
    ]
    assert [row[0] for row in suites_table().values] == [suite.name for suite in SUITES]
    counts = dict(
        zip([row[0] for row in suites_table().values], [row[1] for row in suites_table().values], strict=True)
    )
    for name in ("demo", "gssbench"):
        assert counts[name] == len(load_suite(name).prompts)
    for card in found.values():
        assert len(fields_table(card).values) == len(card.config.schema)


@pytest.mark.parametrize(("name", "split"), [("demo", "prompts"), ("gssbench", "union"), ("scenarios", "scenarios")])
def test_samples_are_the_first_rows_of_what_ships_here(nothing: Path, name: str, split: str) -> None:
    found = samples(name, split)
    assert isinstance(found, Table)
    table = load_table(name, split)
    assert tuple(found.columns) == tuple(table.schema.names)
    assert len(found.values) == SAMPLES
    for place, field in enumerate(table.schema.names):
        for shown, value in zip((row[place] for row in found.texts), table[field].to_pylist(), strict=False):
            if isinstance(value, str) and len(value) < 300 and value.isprintable() and "  " not in value:
                assert shown == value.strip()
    texts = [text for row in found.texts for text in row]
    assert all(text.isprintable() and len(text) < 400 for text in texts)


@pytest.mark.mirror
def test_lists_are_numbered_and_cut(mirror: Path) -> None:
    found = samples("mcdiv", "story_gen", mirror=mirror)
    assert isinstance(found, Table)
    first: Any = load_table("mcdiv", "story_gen", mirror=mirror)["responses"].to_pylist()[0]
    shown = found.texts[0][list(found.columns).index("responses")]
    assert shown.startswith(f"1: {first[0][:40]}")
    assert shown.endswith(" | and 2 more")


def test_what_is_not_at_hand_says_how_to_get_it_and_no_path(nothing: Path, tmp_path: Path) -> None:
    for mirror in (None, tmp_path / "empty"):
        found = samples("mcdiv", "story_gen", mirror=mirror)
        assert isinstance(found, Missing)
        assert found.reason.endswith("divbench data build mcdiv")
        assert str(tmp_path) not in found.reason


def test_a_damaged_build_says_so_and_gives_no_rows(nothing: Path, tmp_path: Path) -> None:
    build_demo(nothing)
    path = nothing / "built" / "data" / "demo" / "prompts.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    found = samples("demo", "prompts")
    assert isinstance(found, Missing)
    assert "differ from the released ones" in found.reason
    assert str(tmp_path) not in found.reason


def test_code_and_commands_are_ones_that_run() -> None:
    for card in cards().values():
        compile(python_code(card, card.splits[0]), card.name, "exec")
        assert "ORG" not in python_code(card, card.splits[0]) + shell_code(card)  # a placeholder does not run
    lines = shell_code(cards()["noveltybench"]).splitlines()
    assert "divbench generate offline --suite noveltybench-curated --out responses" in lines
    for line in lines:
        words = line.split()[1:]
        ended = divbench(*words[: 2 if words[0] == "data" else 1], "--help")
        assert ended.returncode == 0, line
    ended = divbench(*lines[1].split()[1:])
    assert (ended.returncode, "NoveltyBench" in ended.stdout) == (0, True)
