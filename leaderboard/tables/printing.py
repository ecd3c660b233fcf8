"""Prints a board in the terminal, and formats it as JSON."""

from collections.abc import Callable
from typing import Any

from rich.console import Console

from benchmark.metrics.metric import ARROWS
from divbench.core.tables import Cell, Table, to_terminal
from leaderboard.data.board import Board, facts, ranking_column
from leaderboard.data.scores import BoardScores
from leaderboard.tables.curves import class_curves, shown_points
from leaderboard.tables.export import about_json, all_ranks
from leaderboard.tables.forest import forest
from leaderboard.tables.models import score_cells
from leaderboard.tables.systems import system_labels

_COLUMN = 22  # width of a system's column in characters, with its border


def _title(board: Board) -> str:
    # The revision tells tables of *own* prompts apart, which differ in ids or texts.
    return f"{board.suite}, k = {board.k}, profile {board.profile}, revision {board.revision[:6]}"


def print_front(board: Board, console: Console) -> None:
    """Print the content of a board's first page: the answer, the systems by rank, and the references."""
    column = ranking_column(board)
    title = _title(board)
    if column is None:
        console.print(f"{title}: no metric has a value", markup=False)
        return
    made = forest(board, column, BoardScores(board).standings(column))
    rows: list[tuple[Cell, ...]] = [
        (f"{row.rank} {f'({row.ranks})' if row.ranks else ''}", row.system, row.mark.text, row.mark.interval)
        for row in made.rows
    ]
    rows += [("", f"{each.system} ({each.type})", each.mark.text, each.mark.interval) for each in made.references]
    console.print(made.sentence, markup=False)
    notes = sorted({entry.origin for entry in board.entries} - {""})
    if made.lacking:
        notes.insert(0, f"No such score: {', '.join(made.lacking)}. {made.again}".strip())
    if made.partial:
        notes.insert(0, f"Means over fewer prompts, those with a value: {', '.join(made.partial)}.")
    heads = ("rank", "system", made.metric, "95% interval")
    console.print(to_terminal(Table(title, heads, rows, notes, numbers=heads[2:])))


def print_metrics(board: Board, console: Console) -> None:
    """Print all metrics of a board, one row each; systems that do not fit side by side follow in further tables."""
    labels = system_labels(board)
    heads = [f"{column.label} {ARROWS[column.direction]}" for column in board.columns]
    cells = [score_cells(board, column) for column in board.columns]
    most = max(1, (console.width - max(map(len, heads), default=0) - 4) // _COLUMN)
    title = f"{_title(board)}; ↑ higher is more diverse"
    for start in range(0, len(labels), most):
        shown = slice(start, start + most)
        rows: list[tuple[Cell, ...]] = [(head, *own[shown]) for head, own in zip(heads, cells, strict=True)]
        console.print(to_terminal(Table(title, ("metric", *labels[shown]), rows)))


def print_curves(board: Board, console: Console) -> None:
    """Print each system's expected number of different valid responses among 1, 2, …, if any has a partition."""
    curves = class_curves(board)
    longest = max(map(len, curves.values()), default=0)
    if longest == 0:
        return
    shown = shown_points(longest)
    rows = [
        (name, *(f"{curve[point]:.2f}" if point < len(curve) else "" for point in shown))
        for name, curve in sorted(curves.items(), key=lambda item: -item[1][-1])
    ]
    title = "Expected number of different valid responses among m, mean over prompts"
    columns = ("system", *(str(1 + point) for point in shown))
    console.print(to_terminal(Table(title, columns, rows)))


def board_json(board: Board, scores: Callable[[Board], BoardScores] = BoardScores) -> dict[str, Any]:
    """A board as `--json` prints it."""
    ranks = all_ranks(board, scores)
    return about_json(board) | {
        "entries": [
            facts(entry)
            | own
            | {
                "scores": {
                    column.label: entry.cells[column.signature].model_dump(mode="json")
                    for column in board.columns
                    if column.signature in entry.cells
                }
            }
            for entry, own in zip(board.entries, ranks, strict=True)
        ],
    }
