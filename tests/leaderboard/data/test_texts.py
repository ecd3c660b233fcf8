"""Responses of reference systems: from a mirror, from where they were released, or a sentence how to get them."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from benchmark.metrics.metric import Missing
from benchmark.scoring.per_prompt import REPORTED_CLASSES
from benchmark.scoring.results import PER_PROMPT_FILE
from divbench.core.errors import DivBenchError, InputError
from leaderboard.data import texts
from leaderboard.data.reference.results import WithReference, reference_results
from leaderboard.data.reference.systems import JUDGED, ReferenceSystem
from leaderboard.data.scores import NOT_INCLUDED, prompt_row
from leaderboard.data.texts import NO_TEXTS, fetch, fetch_texts, texts_of
from leaderboard.pages.responses import make_view, remarks
from tests.submissions.conftest import jsonl
from tests.submissions.stores import REPO, running_hub

OPUS = next(system for system in JUDGED if system.name == "Claude Opus 5")


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home without downloads, and no mirror."""
    monkeypatch.delenv("DIVBENCH_MIRROR", raising=False)
    monkeypatch.setenv("DIVBENCH_HOME", str(tmp_path / "home"))
    return tmp_path


def result_of(system: ReferenceSystem) -> tuple[str, Path]:
    """The key of a system and the folder of its result at k = 10."""
    found = reference_results().results.items()
    return next((r.submission_id, path) for path, r in found if r.manifest.name == system.name and r.k == 10)


def run_of(folder: Path, *, changed: bool = False) -> list[Path]:
    """Write a run in NoveltyBench's layout, with made-up responses in the classes that ship."""
    _, result = result_of(OPUS)
    rows: list[Any] = pq.read_table(result / PER_PROMPT_FILE, columns=["prompt_id", REPORTED_CLASSES]).to_pylist()
    labels = {row["prompt_id"]: row[REPORTED_CLASSES]["labels"] for row in rows}
    split = folder / "nb-curated"
    made = [
        {"id": key, "prompt": key, "model": OPUS.of, "generations": [f"{key}, {label}" for label in of_prompt]}
        for key, of_prompt in labels.items()
    ]
    jsonl(split / "generations.jsonl", made)
    judged = [{"id": key, "partition": of_prompt, "partition_scores": None} for key, of_prompt in labels.items()]
    judged[0]["partition"] = [0] * 10 if changed else judged[0]["partition"]
    jsonl(split / "v1.1" / "scores.jsonl", judged)
    return [split / "generations.jsonl", split / "v1.1" / "scores.jsonl"]


def test_a_run_is_read_from_a_mirror_if_its_classes_are_those_that_ship(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, result = result_of(OPUS)
    assert texts_of(key) == Missing(NO_TEXTS)
    monkeypatch.setenv("DIVBENCH_MIRROR", str(nowhere))
    run_of(nowhere / "noveltybench" / "results" / str(OPUS.run))
    known = texts_of(key)
    assert not isinstance(known, Missing)
    assert len(known) == 100
    assert known["curated-0"][0] == "curated-0, 0"
    run_of(nowhere / "other", changed=True)
    with pytest.raises(InputError, match="other, curated-0: not the responses that were judged"):
        texts.read_run(nowhere / "other", result)
    assert texts_of("0" * 16) == Missing("the result came without its responses")


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # by the Hub's client
def test_a_run_is_downloaded_once_and_shown(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, result = result_of(OPUS)
    board = next(board for board in WithReference().read().boards if board.profile == "noveltybench-1.1")
    entry = next(entry for entry in board.entries if entry.system == key)

    def view() -> Any:
        row = prompt_row(entry, "curated-17")
        assert row is not None
        return make_view(board, entry, row)

    bare = view()
    assert {response.text for response in bare.responses} == {NOT_INCLUDED}
    assert NO_TEXTS in remarks(bare, board.profile)
    with running_hub(nowhere / "hub") as server:
        files = run_of(nowhere / "run")
        monkeypatch.setattr(texts, "RESULTS", f"hf://datasets/{REPO}/results")
        repo = server.repo(REPO)
        base = f"results/{OPUS.run}"
        repo.commit({f"{base}/{path.relative_to(nowhere / 'run').as_posix()}": path.read_bytes() for path in files})
        fetch(OPUS, result)
        asked = len(server.requests("resolve"))
        whole = view()
        assert len(server.requests("resolve")) == asked == 2
        repo.commit({f"{base}/nb-curated/generations.jsonl": b"{"})
        with pytest.raises(DivBenchError):
            fetch(OPUS, result)
    assert [response.text for response in whole.responses] == [f"curated-17, {r.group}" for r in whole.responses]
    assert [(r.group, r.quality, r.is_valid) for r in whole.responses] == [
        (r.group, r.quality, r.is_valid) for r in bare.responses
    ]
    assert {r.is_valid for r in whole.responses} == {True}  # every class has a score of at least 4
    assert remarks(whole, board.profile) == []


def test_downloads_are_announced_and_given_up_without_a_network(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fails(system: ReferenceSystem, result: Path) -> None:
        asked.append(system.name)
        raise InputError("there is no network", "")

    def no_suite(name: str) -> None:
        raise InputError("there is no network", "")

    monkeypatch.setattr(texts, "fetch", fails)
    monkeypatch.setattr(texts, "load_suite", no_suite)
    said: list[str] = []
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    fetch_texts(said.append)
    assert asked == []
    assert "HF_HUB_OFFLINE forbids downloads" in said.pop()
    monkeypatch.delenv("HF_HUB_OFFLINE")
    fetch_texts(said.append)
    assert len(asked) == 6  # three of the Hub's, then three of the others
    assert asked[0] in {system.name for system in JUDGED if system.run}
    assert "in the background (--no-texts: not at all)" in said[0]
    assert said[1].startswith("Responses of 0 of ")
    assert said[1].endswith("are here. Not downloaded: there is no network Not downloaded: there is no network")
    monkeypatch.setenv("DIVBENCH_MIRROR", str(nowhere))
    fetch_texts(said.append)
    assert len(said) == 2  # with a mirror, nothing is downloaded
