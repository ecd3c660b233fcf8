"""Reference results: the same numbers without texts, read like any others, and shown among them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmark.metrics.metric import Missing
from benchmark.scoring.result_files import PER_PROMPT_FILE, RESULT_FILE, read_result
from benchmark.scoring.result_schema import Result
from benchmark.scoring.text_free import COLUMN, write_text_free
from datasets_build.errors import InputError
from datasets_build.files import sha256_of
from leaderboard.app.live_models import why_no_tokens, why_not_added
from leaderboard.data.board import Board, facts
from leaderboard.data.reference.results import ABOUT_FILE, WithReference, reference_results
from leaderboard.data.reference.texts import NOT_INCLUDED
from leaderboard.data.result_checks import checked_result
from leaderboard.data.scores import BoardScores, prompt_row
from leaderboard.data.sources import FolderSource
from leaderboard.tables.prompts import prompts_of
from leaderboard.tables.responses import NO_TEXTS, make_view, remarks
from tests.leaderboard.boards import load_boards


def of_name(folder: Path, name: str) -> Path:
    """The result of a system in a folder of results."""
    found = {path: read_result(path) for path in folder.iterdir()}
    return next(p for p, each in found.items() if isinstance(each, Result) and each.manifest.name == name)


@pytest.fixture(scope="module")
def reference(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two of the demonstration's results as reference results."""
    folder = tmp_path_factory.mktemp("reference")
    for name in ("varied", "repeated"):
        source = of_name(results, name)
        write_text_free(source, folder / source.name)
    (folder / ABOUT_FILE).write_text(json.dumps({"scored_on": "2026-11-22"}), encoding="utf-8")
    return folder


def board_of(*results: tuple[Path, Result]) -> Board:
    from leaderboard.data.board import make_boards

    return make_boards(results)[0]


def test_a_result_without_texts_has_all_its_numbers(results: Path, reference: Path, tmp_path: Path) -> None:
    source = of_name(results, "varied")
    whole, bare = checked_result(source), checked_result(reference / source.name)
    assert isinstance(whole, Result)
    assert isinstance(bare, Result)
    digests = {"per_prompt_sha256": ""}
    assert whole.model_copy(update=digests) == bare.model_copy(update=digests)
    table, numbers = (pq.read_table(folder / PER_PROMPT_FILE) for folder in (source, reference / source.name))
    kept = [name for name in numbers.column_names if name != COLUMN]
    assert set(table.column_names) - set(kept) == {"prompt", "responses"}
    assert numbers.select(kept).equals(table.select(kept))
    lists: Any = table["responses"].to_pylist()
    texts = [text for row in lists for text in row if len(text) > 20]
    written = (reference / source.name / PER_PROMPT_FILE).read_bytes() + repr(numbers.to_pylist()).encode()
    assert texts
    assert not any(text.encode() in written for text in texts)
    ours, theirs = (BoardScores(board_of(each)) for each in ((source, whole), (reference / source.name, bare)))
    for column in ours.board.columns:
        np.testing.assert_array_equal(ours.matrix(column), theirs.matrix(column))
    assert theirs.bytes_a_response() == ours.bytes_a_response()
    write_text_free(source, tmp_path / "again")
    assert sha256_of(tmp_path / "again" / PER_PROMPT_FILE) == bare.per_prompt_sha256
    with pytest.raises(InputError, match=r"result\.json"):
        write_text_free(tmp_path, tmp_path / "none")


def test_a_table_with_neither_texts_nor_facts_is_refused(reference: Path, tmp_path: Path) -> None:
    source = next(path for path in reference.iterdir() if path.is_dir())
    table = pq.read_table(source / PER_PROMPT_FILE).drop_columns([COLUMN])
    pq.write_table(table, tmp_path / PER_PROMPT_FILE)
    result = json.loads((source / RESULT_FILE).read_bytes())
    result["per_prompt_sha256"] = sha256_of(tmp_path / PER_PROMPT_FILE)
    (tmp_path / RESULT_FILE).write_text(json.dumps(result), encoding="utf-8")
    found = checked_result(tmp_path)
    assert isinstance(found, Missing)
    assert "the column prompt does not occur" in found.reason


def test_reference_results_stand_among_others_once(results: Path, reference: Path, tmp_path: Path) -> None:
    alone = WithReference(None, reference).read()
    (board,) = alone.boards
    assert {entry.origin for entry in board.entries} == {"scored by DivBench on 2026-11-22 from released responses"}
    assert facts(board.entries[0])["origin"] == board.entries[0].origin
    own = FolderSource(results)
    source = WithReference(own, reference)
    both = source.read()
    assert [len(each.entries) for each in both.boards] == [len(load_boards(results)[0][0].entries)]
    assert {entry.origin for each in both.boards for entry in each.entries} == {""}  # the source's own come first
    assert both.unreadable == own.read().unreadable
    assert source.read().boards is both.boards  # nothing is made anew where nothing changed
    other = tmp_path / "results"
    other.mkdir()
    (varied := of_name(results, "paraphrased")).rename(other / varied.name)
    try:
        mixed = WithReference(FolderSource(other), reference).read().boards[0]
    finally:
        (other / varied.name).rename(varied)
    assert sorted((entry.result.manifest.name, bool(entry.origin)) for entry in mixed.entries) == [
        ("paraphrased", False),
        ("repeated", True),
        ("varied", True),
    ]


def test_damaged_reference_results_are_named_and_none_are_no_fault(reference: Path, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / ABOUT_FILE).write_text(json.dumps({"scored_on": "2026-11-22"}), encoding="utf-8")
    assert [path.name for path in WithReference(None, tmp_path).read().unreadable] == ["broken"]
    assert reference_results(tmp_path / "nowhere").results == {}


def test_without_texts_a_prompt_shows_its_classes_and_says_why(results: Path, reference: Path) -> None:
    source = of_name(results, "varied")
    whole, bare = (checked_result(folder) for folder in (source, reference / source.name))
    assert isinstance(whole, Result)
    assert isinstance(bare, Result)
    views = []
    for board in (board_of((source, whole)), board_of((reference / source.name, bare))):
        entry = board.entries[0]
        prompts = prompts_of(entry)
        row = prompt_row(entry, prompts[3].prompt_id)
        assert row is not None
        views.append(make_view(board, entry, row))
        assert [prompt.text for prompt in prompts] == [prompt.text for prompt in prompts_of(board.entries[0])]
    ours, theirs = views
    assert {each.text for each in theirs.responses} == {NOT_INCLUDED}
    assert [replace(each, text="", notes=()) for each in ours.responses] == [
        replace(each, text="", notes=()) for each in theirs.responses
    ]
    assert theirs.scores == ours.scores
    assert theirs.prompt == ours.prompt  # the demonstration's prompts are in the package
    assert NO_TEXTS in remarks(theirs, "lexical")
    assert NO_TEXTS not in remarks(ours, "lexical")
    texts = [each.text for each in theirs.responses]
    assert why_no_tokens("offline", "", texts) == why_not_added("offline", "", texts) == NO_TEXTS
