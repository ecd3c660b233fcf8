"""A board in the terminal and as JSON."""

from typing import Any

from rich.console import Console
from rich.text import Text

from benchmark.scoring.printing import ARROWS
from datasets_build.console import table
from datasets_build.tables import plain
from leaderboard.data.board import Board, facts, ranking_column
from leaderboard.tables.curves import class_curves
from leaderboard.tables.export import about_json
from leaderboard.tables.models import cell_texts
from leaderboard.tables.systems import system_labels


def print_board(board: Board, console: Console) -> None:
    """Print a board with one row per metric, since metrics have longer names and outnumber systems."""
    made = table("", "metric")
    ranks = ranking_column(board)
    best = "" if ranks is None else f"; best by {ranks.label} first"
    made.title = Text(f"{board.suite}, k = {board.k}, profile {board.profile}; ↑ higher is more diverse{best}")
    for name in system_labels(board):
        made.add_column(plain(name), justify="right", overflow="fold")
    for column in board.columns:
        cells = [_two_lines(cell) for cell in cell_texts(board, column)]
        made.add_row(f"{column.label} {ARROWS[column.direction]}", *cells)
    console.print(made)


def print_curves(board: Board, console: Console) -> None:
    """Print each system's expected number of distinct responses among 1, 2, …; nothing without a partition."""
    curves = class_curves(board)
    longest = max(map(len, curves.values()), default=0)
    if longest == 0:
        return
    sizes = [str(size) for size in range(1, longest + 1)]
    made = table("expected distinct responses among m (mean over prompts)", "system", *sizes, numbers=tuple(sizes))
    for name, curve in sorted(curves.items(), key=lambda item: -item[1][-1]):
        cells = [f"{value:.2f}" for value in curve]
        made.add_row(plain(name), *cells, *[""] * (longest - len(cells)))
    console.print(made)


def _two_lines(cell: str) -> str:
    return cell.replace(" [", "\n[", 1).replace("[", "\\[")


def board_json(board: Board) -> dict[str, Any]:
    """A board as `--json` prints it."""
    return about_json(board) | {
        "entries": [
            facts(entry)
            | {
                "scores": {
                    column.label: entry.cells[column.signature].model_dump(mode="json")
                    for column in board.columns
                    if column.signature in entry.cells
                }
            }
            for entry in board.entries
        ],
    }
