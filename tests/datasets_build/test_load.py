"""Suites are read from checked bytes, or an error says why not and what to do."""

from collections import Counter
from pathlib import Path

import pytest

from datasets_build.download import MIRROR_VARIABLE, mirror_folder
from datasets_build.load import find_suite, load_split, load_suite, load_table
from datasets_build.sources.noveltybench import SOURCE
from divbench.core.errors import ConfigurationError, DivBenchError, InputError
from divbench.core.files import sha256_of

# Published results name it: it changes only when a prompt does, and that is to be seen in a review.
DEMO_REVISION = "02e65b3b7285"
CURATED = SOURCE.files[0]


def test_the_demo_suite_has_four_prompts_of_each_of_six_categories() -> None:
    suite = load_suite("demo")
    assert [p.prompt_id for p in suite.prompts] == [f"demo-{i:02}" for i in range(24)]
    assert sorted(Counter(p.category for p in suite.prompts).values()) == [4] * 6
    assert len({p.prompt for p in suite.prompts}) == 24
    assert suite.revision == DEMO_REVISION


@pytest.mark.mirror
def test_noveltybench_curated_is_read_from_the_mirror(mirror: Path) -> None:
    suite = load_suite("noveltybench-curated", mirror)
    assert suite.name == "noveltybench-curated"
    assert len(suite.by_id) == len(suite.prompts) == 100
    assert {p.prompt_id for p in suite.prompts} == {f"curated-{i}" for i in range(100)}
    assert sorted(Counter(p.category for p in suite.prompts).values(), reverse=True) == [28, 23, 20, 15, 7, 7]
    assert {len(p.paraphrases) for p in suite.prompts} == {10}


@pytest.mark.mirror
def test_the_variable_names_the_mirror(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MIRROR_VARIABLE, str(mirror))
    assert load_suite("noveltybench-curated") == load_suite("noveltybench-curated", mirror)


def test_a_given_mirror_comes_before_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(MIRROR_VARIABLE, "elsewhere")
    assert mirror_folder(tmp_path) == tmp_path
    assert mirror_folder() == Path("elsewhere")
    monkeypatch.setenv(MIRROR_VARIABLE, "")
    assert mirror_folder() is None


def test_an_unknown_suite_is_refused_with_the_names_of_the_known_ones() -> None:
    with pytest.raises(ConfigurationError) as caught:
        find_suite("novelty")
    assert caught.value.message == "there is no suite 'novelty'"
    assert "demo, noveltybench-curated" in caught.value.hint


def refusal(mirror: Path | None) -> DivBenchError:
    with pytest.raises(DivBenchError) as caught:
        load_suite("noveltybench-curated", mirror)
    return caught.value


def test_without_a_mirror_the_hint_says_what_to_download_and_where_to_put_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(MIRROR_VARIABLE, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    error = refusal(None)
    assert type(error) is ConfigurationError
    where = "noveltybench/curated.jsonl of noveltybench is not available locally"
    assert f"{where}, and HF_HUB_OFFLINE forbids its download" in error.message
    for part in (CURATED.urls[0], CURATED.path, "divbench data build", MIRROR_VARIABLE):
        assert part in error.hint


def test_a_mirror_without_the_file_is_refused_with_its_path(tmp_path: Path) -> None:
    error = refusal(tmp_path)
    assert type(error) is ConfigurationError
    assert error.message == f"the mirror has no file {tmp_path / CURATED.path}"
    assert CURATED.urls[0] in error.hint


def test_a_file_of_other_bytes_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / CURATED.path
    path.parent.mkdir()
    path.write_bytes(b"not even JSON")
    error = refusal(tmp_path)
    assert type(error) is InputError
    assert f"{path} is not the pinned file: SHA-256 {sha256_of(path)}, expected {CURATED.sha256}" == error.message
    assert error.hint == f"download {CURATED.urls[0]} again"


@pytest.mark.parametrize(("name", "split"), [("demo", "prompts"), ("gssbench", "union"), ("scenarios", "scenarios")])
def test_the_first_rows_are_those_of_the_whole(name: str, split: str) -> None:
    whole = load_table(name, split)
    for rows in (0, 1, 5, len(whole), len(whole) + 1):
        assert load_table(name, split, first=rows).equals(whole.slice(0, rows))


def test_a_repository_that_cannot_be_reached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*args: object, **named: object) -> None:
        raise ConnectionError("Couldn't reach 'org/name' on the Hub (OfflineModeIsEnabled)")

    monkeypatch.setattr("datasets.load_dataset", unreachable)
    with pytest.raises(ConfigurationError, match=r"Couldn't reach 'org/name'.*connect to the network"):
        load_split("mcdiv", "story_gen", repo="org/name")
