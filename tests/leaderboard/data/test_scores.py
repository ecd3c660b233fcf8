"""Per-prompt scores in memory, against the results' own tables."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.analysis.ranking import standings
from benchmark.scoring.estimate import Floats
from benchmark.scoring.results import PER_PROMPT_FILE, RESULT_FILE
from divbench.core.errors import InputError
from leaderboard.data.board import REFERENCE_TYPES, Board, Column
from leaderboard.data.scores import BoardScores, prompt_row
from tests.benchmark.synthetic_results import make_results
from tests.leaderboard.boards import load_boards

PROMPTS, METRICS = 150, 4


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five results of some row groups each, with values missing."""
    folder = tmp_path_factory.mktemp("made") / "results"
    make_results(folder, 5, PROMPTS, METRICS)
    return folder


def the_board(folder: Path) -> Board:
    (board,), unreadable = load_boards(folder)
    assert unreadable == {}
    return board


def read(board: Board, prompts: Sequence[str], column: Column) -> Floats:
    """[prompts, systems], straight from the tables."""
    found = np.full((len(prompts), len(board.entries)), np.nan)
    for place, entry in enumerate(board.entries):
        for row in pq.read_table(entry.folder / PER_PROMPT_FILE).to_pylist():
            value = row[column.metric]
            if value is not None and column.signature in entry.cells:
                found[prompts.index(row["prompt_id"]), place] = value
    return found


def assert_whole(scores: BoardScores, board: Board) -> None:
    for column in board.columns:
        found = scores.matrix(column)
        assert not found.flags.writeable
        np.testing.assert_array_equal(found, read(board, scores.prompts, column))
    lengths = []
    for entry in board.entries:
        answers: Any = pq.read_table(entry.folder / PER_PROMPT_FILE)["responses"]
        texts: list[str] = answers.combine_chunks().flatten().to_pylist()
        lengths.append(np.mean([len(text.encode()) for text in texts]))
    assert scores.bytes_a_response() == pytest.approx(lengths)


def rewrite(folder: Path, result: int, change: Any) -> None:
    """Another table for a result; its description is left as it is."""
    path = sorted(folder.iterdir())[result] / PER_PROMPT_FILE
    pq.write_table(change(pq.read_table(path)), path)


def test_matrices_hold_what_the_tables_do(made: Path) -> None:
    board = the_board(made)
    scores = BoardScores(board)
    assert scores.prompts == tuple(f"made-up-{i:05}" for i in range(PROMPTS))
    assert len(board.columns) == METRICS
    assert np.isnan(scores.matrix(board.columns[0])).any()
    assert_whole(scores, board)


def test_standings_are_those_of_the_matrix(made: Path) -> None:
    board = the_board(made)
    scores = BoardScores(board)
    ranked = [i for i, e in enumerate(board.entries) if e.result.manifest.system.type not in REFERENCE_TYPES]
    for column in (*board.columns, replace(board.columns[0], direction=-1)):
        found = [scores.standings(column)[i] for i in ranked]
        assert found == standings(scores.matrix(column)[:, ranked], direction=column.direction or 1)


def test_a_result_is_read_once(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "results")
    board = the_board(tmp_path / "results")
    fewer = replace(board, entries=board.entries[:3])
    BoardScores(fewer)
    for entry in fewer.entries:
        (entry.folder / PER_PROMPT_FILE).rename(entry.folder / "aside")
    scores = BoardScores(board)
    for entry in fewer.entries:
        (entry.folder / "aside").rename(entry.folder / PER_PROMPT_FILE)
    assert_whole(scores, board)


def test_prompts_are_in_the_suites_order_also_where_results_lack_some(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "results")
    board = the_board(made)
    rewrite(tmp_path / "results", 0, lambda table: table.slice(40))
    rewrite(tmp_path / "results", 3, lambda table: table.slice(0, 7))
    board = replace(
        board, entries=tuple(replace(e, folder=tmp_path / "results" / e.folder.name) for e in board.entries)
    )
    scores = BoardScores(board)
    assert scores.prompts == tuple(f"made-up-{i:05}" for i in range(PROMPTS))
    assert_whole(scores, board)


def test_two_signatures_of_a_metric_never_share_a_matrix(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "results")
    path = sorted((tmp_path / "results").iterdir())[0] / RESULT_FILE
    known = json.loads(path.read_text(encoding="utf-8"))
    for score in known["scores"]:
        score["signature"]["profile"] = "other"
    path.write_text(json.dumps(known), encoding="utf-8")
    board = the_board(tmp_path / "results")
    assert len(board.columns) == 2 * METRICS
    scores = BoardScores(board)
    assert_whole(scores, board)
    there = [int(np.isfinite(scores.matrix(column)).any(axis=0).sum()) for column in board.columns]
    assert sorted(there) == [1] * METRICS + [4] * METRICS


def test_a_result_that_is_gone_is_named(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "results")
    board = the_board(tmp_path / "results")
    gone = board.entries[2].folder
    (gone / PER_PROMPT_FILE).write_bytes(b"PAR1")
    with pytest.raises(InputError, match=gone.name):
        BoardScores(board)
    with pytest.raises(InputError, match=gone.name):
        prompt_row(board.entries[2], "made-up-00000")


def test_a_board_of_no_responses_has_no_lengths(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "results")
    none = pa.array([[]] * PROMPTS, pa.list_(pa.string()))
    board = the_board(tmp_path / "results")
    first = min(entry.folder for entry in board.entries)
    place = [entry.folder for entry in board.entries].index(first)
    rewrite(
        tmp_path / "results",
        0,
        lambda table: table.set_column(table.schema.names.index("responses"), "responses", none),
    )
    assert np.isnan(BoardScores(board).bytes_a_response()[place])


@pytest.mark.parametrize("number", [0, 63, 64, 127, 128, PROMPTS - 1])
def test_a_prompts_row_is_found_in_any_row_group(number: int, made: Path) -> None:
    entry = the_board(made).entries[1]
    assert pq.ParquetFile(entry.folder / PER_PROMPT_FILE).metadata.num_row_groups == 3
    rows = pq.read_table(entry.folder / PER_PROMPT_FILE).to_pylist()
    assert prompt_row(entry, f"made-up-{number:05}") == rows[number]


def test_a_row_of_a_table_that_was_replaced_is_never_anothers(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "results")
    entry = the_board(tmp_path / "results").entries[0]
    assert prompt_row(entry, "made-up-00009") is not None
    path = entry.folder / PER_PROMPT_FILE
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(InputError, match=entry.folder.name):
        prompt_row(entry, "made-up-00009")
    with pytest.raises(InputError, match=entry.folder.name):
        prompt_row(entry, f"made-up-{PROMPTS - 1:05}")  # there is no such row any more


def test_a_prompt_that_a_result_has_not_has_no_row(made: Path) -> None:
    assert prompt_row(the_board(made).entries[0], "another") is None
