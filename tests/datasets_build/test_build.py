"""Datasets: exact counts, the sources' texts byte for byte, the same bytes twice, and no half-built dataset."""

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from datasets_build.build import build, read_manifest, verify
from datasets_build.download import Fetcher
from datasets_build.load import load_table
from datasets_build.sources import DATASETS, Config, Source, Split, find_config, tevet
from datasets_build.sources.tevet import read_csv
from divbench.core.errors import ConfigurationError, InputError
from tests.conftest import divbench_anew

GENERATED = [config.name for source in DATASETS if not source.files for config in source.configs]
RELEASED = [config.name for source in DATASETS if source.files for config in source.configs]


def build_one(name: str, out: Path, mirror: Path | None = None) -> Path:
    """Build a config, and give its folder."""
    source, config = find_config(name)
    build(source, config, out, Fetcher(source, mirror, network=False))
    return out / "data" / name


@pytest.fixture(scope="module")
def built(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything, built from the mirror."""
    out = tmp_path_factory.mktemp("built")
    for name in RELEASED:
        build_one(name, out, mirror)
    return out


# Another machine: sets of strings have another order, and files without a named encoding are not read as UTF-8.
ELSEWHERE = {"PYTHONHASHSEED": "1", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TZ": "Asia/Tokyo"}


def assert_same_bytes(names: Sequence[str], here: Path, out: Path, *mirror: object) -> None:
    """As on another machine, the same bytes are built."""
    done = divbench_anew("data", "build", *names, "--out", out, "--json", *mirror, **ELSEWHERE)
    assert done.returncode == 0, done.stderr
    for name in names:
        there = out / "data" / name
        assert {path.name for path in there.iterdir()} == {path.name for path in (here / "data" / name).iterdir()}
        for path in there.iterdir():
            hint = "rows may depend on nothing but the sources: neither the order of a set nor a global seed"
            assert path.read_bytes() == (here / "data" / name / path.name).read_bytes(), f"{name}/{path.name}: {hint}"


def test_generated_datasets_need_no_files_and_have_the_same_bytes_on_another_machine(tmp_path: Path) -> None:
    for name in GENERATED:
        assert verify(build_one(name, tmp_path / "here")) == []
    assert_same_bytes(GENERATED, tmp_path / "here", tmp_path / "there")


@pytest.mark.mirror
def test_another_machine_builds_the_same_bytes(built: Path, tmp_path: Path, mirror: Path) -> None:
    assert_same_bytes(RELEASED, built, tmp_path, "--mirror", mirror)


def rows_of(built: Path, name: str, split: str) -> list[dict[str, Any]]:
    return load_table(name, split, data=built).to_pylist()


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("name", "split", "path"),
    [
        (config.name, config.splits[0].name, config.splits[0].reads[0].removeprefix("tevet/raw/"))
        for config in tevet.SOURCE.configs
    ],
)
def test_texts_labels_and_released_values_equal_those_of_the_source(
    name: str, split: str, path: str, built: Path, mirror: Path
) -> None:
    with (mirror / "tevet/raw" / path).open(encoding="utf-8", newline="") as file:
        raw = list(csv.DictReader(file))
    with (mirror / "tevet/reference" / path).open(encoding="utf-8", newline="") as file:
        reference = list(csv.DictReader(file))
    rows = rows_of(built, name, split)
    assert len(rows) == len(raw) == len(reference)
    for row, wanted, values in zip(rows, raw, reference, strict=True):
        assert row["context"] == wanted["context"]
        assert row["responses"] == [wanted[f"resp_{i}"] for i in range(len(row["responses"]))]
        assert row["label"] == float(wanted["label_value"])
        for metric in tevet.REPORTED:
            assert row[f"reported_{metric}"] == float(values[f"metric_{metric}"])
        assert row["abs_hds_mean"] == (float(wanted["metric_abs_hds_mean"]) if "with_hds" in path else None)


@pytest.mark.mirror
def test_sets_are_named_uniquely_and_alike_in_every_config(built: Path) -> None:
    for task in ("story_gen", "resp_gen", "prompt_gen"):
        whole = {row["set_id"]: row for row in rows_of(built, "mcdiv", task)}
        assert len(whole) == (2002 if task == "resp_gen" else 2000)
        for name, split in (("contest", task), ("mcdiv_nuggets", task), ("mcdiv_nuggets", f"{task}_with_hds")):
            for row in rows_of(built, name, split):
                assert row["responses"] == whole[row["set_id"]]["responses"]
                assert row["pair_id"] == whole[row["set_id"]]["pair_id"]


@pytest.mark.mirror
def test_the_one_blank_set_is_kept_and_flagged(built: Path) -> None:
    blank = [
        (split, row)
        for split in ("story_gen", "resp_gen", "prompt_gen")
        for row in rows_of(built, "dectest", split)
        if row["blank"]
    ]
    assert [(split, set(row["responses"])) for split, row in blank] == [("prompt_gen", {""})]


@pytest.mark.mirror
def test_length_matched_responses_have_the_published_lengths(built: Path, mirror: Path) -> None:
    report = json.loads((mirror / "olmo/reference/length_match_report.json").read_text(encoding="utf-8"))
    prompts = 0
    for prompt_set, kept in (("alpacaeval", 150), ("nbcurated", 39)):
        rows = rows_of(built, "olmo_stages", f"{prompt_set}_length_matched")
        prompts += len({row["prompt_id"] for row in rows})
        assert len({row["prompt_id"] for row in rows}) == kept
        raw = {row["set_id"]: row for row in rows_of(built, "olmo_stages", prompt_set)}
        for row in rows:
            published = report["L_prompt_per_prompt"][f"{prompt_set}::{row['prompt_id']}"]
            assert published["kept"]
            assert row["matched_bytes"] == published["L_bytes"]
            for text, whole in zip(row["responses"], raw[row["set_id"]]["responses"], strict=True):
                assert whole.startswith(text)
                # A cut inside a letter loses at most three bytes more.
                assert row["matched_bytes"] - 3 <= len(text.encode()) <= row["matched_bytes"]
    assert prompts == report["n_prompts_kept"]
    truncated = sum(
        size > row["matched_bytes"]
        for prompt_set in ("alpacaeval", "nbcurated")
        for row in rows_of(built, "olmo_stages", f"{prompt_set}_length_matched")
        for size in row["original_bytes"]
    )
    assert truncated == report["n_records_truncated"]
    assert read_manifest(built / "data" / "olmo_stages").dropped == {
        "alpacaeval_length_matched": {"a response of under 50 bytes": 50},
        "nbcurated_length_matched": {"a response of under 50 bytes": 61},
    }


@pytest.mark.mirror
def test_without_the_optional_files_the_columns_are_null_and_the_manifest_says_so(mirror: Path, tmp_path: Path) -> None:
    (tmp_path / "mirror" / "tevet").mkdir(parents=True)
    (tmp_path / "mirror" / "tevet" / "raw").symlink_to(mirror / "tevet" / "raw")
    folder = build_one("contest", tmp_path / "out", tmp_path / "mirror")
    manifest = read_manifest(folder)
    assert len(manifest.absent) == 3
    table = pq.read_table(folder / "story_gen.parquet")
    assert table["reported_sent_bert"].null_count == len(table)


# What can go wrong.


def source_of(rows: list[dict[str, Any]], count: int, schema: pa.Schema) -> tuple[Source, Config]:
    """A made-up source of one config."""

    def make(fetch: Any) -> Iterator[dict[str, Any]]:
        yield from rows

    config = Config("made_up", "a", "b", schema, {}, (Split("all", make, (), count),))
    return Source("made up", "t", "1.0.0", (), "none", "", "", (), (config,)), config


FIELDS: "list[pa.Field[Any]]" = [pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int32())]
SCHEMA = pa.schema(FIELDS)


@pytest.mark.parametrize(
    ("rows", "count", "message"),
    [
        ([{"id": "a", "n": 1}], 2, "made_up/all has 1 rows, expected 2"),
        ([{"id": "a", "n": 1}, {"id": None, "n": 1}], 2, "row 2, field id: null"),
        ([{"id": "a", "m": 1}], 1, "missing fields ['n'], unknown fields ['m']"),
        ([{"id": "a", "n": "one"}], 1, "row 1, field n"),
    ],
)
def test_a_bad_row_is_refused_and_the_older_build_stays(
    rows: list[dict[str, Any]], count: int, message: str, tmp_path: Path
) -> None:
    good, config = source_of([{"id": "old", "n": None}], 1, SCHEMA)
    build(good, config, tmp_path, Fetcher(good))
    bad, config = source_of(rows, count, SCHEMA)
    with pytest.raises(InputError) as caught:
        build(bad, config, tmp_path, Fetcher(bad))
    assert message in str(caught.value)
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["made_up"]  # and nothing half-built
    assert verify(tmp_path / "data" / "made_up") == []
    assert pq.read_table(tmp_path / "data" / "made_up" / "all.parquet")["id"].to_pylist() == ["old"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "prompts.parquet").unlink(), "missing"),
        (lambda folder: (folder / "prompts.parquet").write_bytes(b"PAR1"), "changed since it was built"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "cannot be read"),
        (lambda folder: (folder / "extra.parquet").write_bytes(b""), "not in the manifest"),
    ],
)
def test_verify_names_what_is_damaged(damage: Any, message: str, tmp_path: Path) -> None:
    folder = build_one("demo", tmp_path)
    damage(folder)
    (problem,) = verify(folder)
    assert message in problem


def test_a_damaged_build_is_not_read(tmp_path: Path) -> None:
    folder = build_one("demo", tmp_path)
    (folder / "prompts.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError) as caught:
        load_table("demo", "prompts", data=tmp_path)
    assert "divbench data build demo" in caught.value.hint


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_table("mcdivv", "story_gen")
    assert "mcdiv" in caught.value.hint
    with pytest.raises(ConfigurationError) as caught:
        load_table("mcdiv", "story")
    assert "story_gen, resp_gen, prompt_gen" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sample_id,context\na,b\n", "the header lacks ['resp_0']"),
        ('sample_id,context,resp_0\na,"b"c,d\n', "line 2"),
        ("sample_id,context,resp_0\na,b\n", "line 2: 2 fields, the header has 3"),
        ('sample_id,context,resp_0\na,"b,c\n', "line"),
        ("sample_id,context,resp_0,resp_0\na,b,c,d\n", "repeats a column"),
        ("", "the header lacks"),
    ],
)
def test_a_malformed_csv_is_refused_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_csv(path, ("sample_id", "context", "resp_0"))
    assert str(path) in caught.value.message
    assert message in caught.value.message


@pytest.mark.mirror
def test_the_flaws_count_what_is_in_the_data(built: Path) -> None:
    def ids(config: str, split: str) -> set[str]:
        return {row["set_id"] for row in rows_of(built, config, split)}

    def lowered(split: str) -> set[str]:
        return {"\n".join([row["context"], *row["responses"]]).lower() for row in rows_of(built, "dectest", split)}

    tasks = ("story_gen", "resp_gen", "prompt_gen")
    assert [len(ids("dectest", task) & ids("dectest", f"{task}_with_hds")) for task in tasks] == [101, 101, 97]
    assert [len(lowered(task) & lowered(f"{task}_with_hds")) for task in tasks] == [101, 101, 101]
    assert all(ids("mcdiv_nuggets", f"{task}_with_hds") <= ids("mcdiv_nuggets", task) for task in tasks)
    runs_on = []
    for split in ("prompt_gen", "prompt_gen_with_hds"):
        found = [sum("<|endoftext|>" in text for text in row["responses"]) for row in rows_of(built, "dectest", split)]
        runs_on.append((sum(found), sum(map(bool, found))))
    assert runs_on == [(77, 53), (23, 12)]
    assert [row["context"] for row in rows_of(built, "dectest", "prompt_gen")].count("#NAME?") == 2
    indented = Counter[tuple[str, str]]()
    for name in ("alpacaeval", "nbcurated"):
        for row in rows_of(built, "olmo_stages", f"{name}_length_matched"):
            indented[name, row["stage"]] += sum(text[:1].isspace() for text in row["responses"])
    assert +indented == {("alpacaeval", "base"): 1309, ("nbcurated", "base"): 376}
    cut_off = Counter[str]()
    for row in (*rows_of(built, "olmo_stages", "alpacaeval"), *rows_of(built, "olmo_stages", "nbcurated")):
        cut_off[row["stage"]] += row["finish_reasons"].count("length")
    assert cut_off == {"base": 2418, "sft": 1683, "dpo": 2591, "instruct": 2482}


@pytest.mark.parametrize("source", DATASETS, ids=lambda source: source.name)
def test_every_source_is_pinned_and_described(source: Source) -> None:
    for file in source.files:
        assert len(file.sha256) == 64
        assert file.urls or file.found_in
        assert file.urls or file.optional, f"{file.path} can be had from a mirror alone"
    assert all([source.licence, source.citation, source.flaws])
    for config in source.configs:
        assert list(config.fields) == config.schema.names, config.name
        known = {file.path for file in source.files}
        assert all(path in known for split in config.splits for path in split.reads)
        assert len({split.name for split in config.splits}) == len(config.splits)
