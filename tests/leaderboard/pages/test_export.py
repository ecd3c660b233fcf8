"""A board in the terminal: no line is wider than the screen, and every name and number is whole."""

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pyarrow.parquet as pq
from rich.console import Console

from divbench.core.tables import Styled
from leaderboard.data.board import Board, ranking_column
from leaderboard.data.reference.results import WithReference
from leaderboard.data.scores import BoardScores
from leaderboard.pages.export import board_json, export, print_curves, print_front, print_metrics
from leaderboard.pages.systems import score_cells, system_labels
from tests.cases import each

BOARDS = [board for board in WithReference().read().boards if board.profile == "offline"]
FEWEST = 100  # characters


def printed(show: Callable[[Board, Console], None], board: Board, width: int) -> str:
    out = StringIO()
    show(board, Console(file=out, width=width, legacy_windows=False))
    return out.getvalue()


@each("width", (FEWEST, 160))
def test_many_systems_are_printed_in_tables_that_fit(width: int) -> None:
    board = max(BOARDS, key=lambda board: len(board.entries))
    assert len(board.entries) > 20
    text = printed(print_metrics, board, width)
    assert max(map(len, text.splitlines())) <= width
    assert all(word in text for label in system_labels(board) for word in label.split())  # names may take several lines
    column = ranking_column(board)
    assert column is not None
    for number in score_cells(board, column):
        assert isinstance(number, Styled)
        value, interval = number.text.split(" ", 1)
        assert value in text
        assert interval in text
    tables = text.count("┏")
    assert text.count(f"│ {column.label} ↑ ") == tables == -(-len(board.entries) // ((width - 31) // 22))


def test_tables_of_own_prompts_that_differ_have_different_titles() -> None:
    boards = (replace(BOARDS[0], suite="own", revision=revision * 6) for revision in ("ab", "cd"))
    first, second = (printed(print_front, board, FEWEST) for board in boards)
    assert "revision ababab" in first
    assert "revision cdcdcd" in second


@each("board", BOARDS)
def test_the_ranking_and_the_curves_have_a_line_a_system(board: Board) -> None:
    text = printed(print_front, board, FEWEST)
    table = [line for line in text.splitlines() if line.startswith("│")]
    assert len(table) == len(board.entries)
    assert all(any(label in line for line in table) for label in system_labels(board))
    curves = printed(print_curves, board, FEWEST)
    assert max(map(len, curves.splitlines())) <= FEWEST


@each("board", BOARDS[:1])
def test_means_over_some_of_the_prompts_are_pointed_out(board: Board) -> None:
    assert "fewer prompts" not in printed(print_front, board, 160)
    column, entry = ranking_column(board), board.entries[0]
    assert column is not None
    cell = entry.cells[column.signature].model_copy(update={"n": 5})
    partly = replace(entry, cells={**entry.cells, column.signature: cell})
    text = printed(print_front, replace(board, entries=(partly, *board.entries[1:])), 160)
    assert f"{entry.result.manifest.name} (5 of {entry.result.prompts})" in text


@each("board", BOARDS[:1])
def test_systems_without_the_score_are_named(board: Board) -> None:
    assert "No such score" not in printed(print_front, board, 160)
    entry = replace(board.entries[0], cells={})
    text = printed(print_front, replace(board, entries=(entry, *board.entries[1:])), 160)
    assert f"No such score: {system_labels(board)[0]}." in text


@each("board", BOARDS[:1])
def test_files_and_json_have_the_ranks_of_the_page(board: Board, tmp_path: Path) -> None:
    column = ranking_column(board)
    assert column is not None
    expected = [(s.rank, s.low, s.high, s.group) for s in BoardScores(board).standings(column)]
    assert len({rank for rank, *_ in expected}) > 5
    document = board_json(board)
    assert document["sorted_by"] == column.label
    names = ("rank", "rank_low", "rank_high", "tie_group")
    assert [tuple(entry[name] for name in names) for entry in document["entries"]] == expected
    text, table, _ = export(board, tmp_path)
    rows = pq.read_table(table).to_pylist()
    assert [tuple(row[name] for name in names) for row in rows] == expected
    assert text.read_text(encoding="utf-8").startswith(",".join(("system", *names)))
