"""A board outside the browser: printed in the terminal, as JSON, and as CSV and Parquet files."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from benchmark.analysis.ranking import Standing
from benchmark.metrics.metric import ARROWS
from divbench.core.errors import InputError
from divbench.core.files import atomic_file, canonical_json, readable_json, write_text
from divbench.core.tables import Cell, Table, to_csv, to_terminal
from leaderboard.data.board import Board, facts, frame, ranking_column
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import BoardScores
from leaderboard.pages.curves import distinct_curves, shown_points
from leaderboard.pages.ranking import ranking
from leaderboard.pages.systems import score_cells, system_labels

_COLUMN = 22  # width of a system's column in characters, with its border
Scores = Callable[[Board], BoardScores]


def export(board: Board, folder: Path, scores: Scores = BoardScores) -> list[Path]:
    """Write `NAME.csv`, `NAME.parquet` and `NAME.columns.json`; the same board gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    table = ranked_frame(board, scores)
    paths = [folder / f"{board.name}{ending}" for ending in (".csv", ".parquet", ".columns.json")]
    write_text(paths[0], to_csv(Table.of_frame(table)))
    about = about_json(board)
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    metadata = {b"divbench.columns": canonical_json(about["columns"])}
    with atomic_file(paths[1]) as temporary:
        pq.write_table(arrow.replace_schema_metadata(metadata), temporary, compression="zstd")
    write_text(paths[2], readable_json(about))
    return paths


def export_boards(live: LiveResults, folder: Path, *, html: bool) -> tuple[list[Path], list[str]]:
    """Write every table and, with `html`, the plain pages; return the paths, and what was left out and why."""
    written: list[Path] = []
    left_out: list[str] = []
    for board in live.snapshot().boards:
        try:
            written += export(board, folder, live.scores)
        except InputError as error:  # a result's files are gone or damaged
            left_out.append(f"{board.name}: not shown, {error.message}")
    if html:
        from leaderboard.pages.html_export import write_pages  # needs the extra that the tables do not need

        pages, missing = write_pages(live, folder)
        return [*written, *pages], list(dict.fromkeys([*left_out, *missing]))
    return written, left_out


def ranks(standing: Standing) -> dict[str, int | None]:
    """Return a system's rank, the interval of its rank, and its tie group."""
    return {"rank": standing.rank, "rank_low": standing.low, "rank_high": standing.high, "tie_group": standing.group}


def all_ranks(board: Board, scores: Scores = BoardScores) -> list[dict[str, int | None]]:
    """Return the ranks of a board's systems by the column that it is sorted by."""
    column = ranking_column(board)
    if column is None:
        return [ranks(Standing(math.nan, None, None, None, None))] * len(board.entries)
    return list(map(ranks, scores(board).standings(column)))


def ranked_frame(board: Board, scores: Scores = BoardScores) -> pd.DataFrame:
    """Return the whole board, one row per submission, with the ranks by the column that it is sorted by."""
    whole = frame(board)
    ranking = pd.DataFrame(all_ranks(board, scores), dtype="Int64")
    return pd.concat([whole.iloc[:, :1], ranking, whole.iloc[:, 1:]], axis=1)  # after the system


def about_json(board: Board) -> dict[str, Any]:
    """Return a board's suite and profile, the column that it is ranked by, and the meaning of every column."""
    sorted_by = ranking_column(board)
    return {
        "suite": board.suite,
        "suite_revision": board.revision,
        "k": board.k,
        "profile": board.profile,
        "sorted_by": None if sorted_by is None else sorted_by.label,
        "columns": [column.as_json() for column in board.columns],
    }


def board_json(board: Board, scores: Scores = BoardScores) -> dict[str, Any]:
    """Return a board as `--json` prints it."""
    entries = []
    for entry, rank in zip(board.entries, all_ranks(board, scores), strict=True):
        cells = {column.label: entry.cells.get(column.signature) for column in board.columns}
        values = {label: cell.model_dump(mode="json") for label, cell in cells.items() if cell is not None}
        entries.append({**facts(entry), **rank, "scores": values})
    return about_json(board) | {"entries": entries}


def _title(board: Board) -> str:
    # The revision tells tables of *own* prompts apart, which differ in ids or texts.
    return f"{board.suite}, k = {board.k}, profile {board.profile}, revision {board.revision[:6]}"


def print_front(board: Board, console: Console) -> None:
    """Print the content of a board's first page: the answer, the systems by rank, and the references."""
    column = ranking_column(board)
    if column is None:
        console.print(f"{_title(board)}: no metric has a value", markup=False)
        return
    view = ranking(board, column, BoardScores(board).standings(column))
    rows: list[tuple[Cell, ...]] = [
        (f"{line.rank} {f'({line.ranks})' if line.ranks else ''}", line.system, line.mark.text, line.mark.interval)
        for line in view.lines
    ]
    rows += [
        ("", f"{line.system} ({kind.name})", line.mark.text, line.mark.interval)
        for kind, lines in view.groups
        for line in lines
    ]
    notes = [f"Means over fewer prompts, those with a value: {', '.join(view.partial)}."] if view.partial else []
    notes += [f"No such score: {', '.join(view.lacking)}. {view.again}".strip()] if view.lacking else []
    notes += sorted({entry.origin for entry in board.entries} - {""})
    columns = ("rank", "system", view.metric, "95% interval")
    console.print(view.sentence, markup=False)
    console.print(to_terminal(Table(_title(board), columns, rows, notes, numbers=columns[2:])))


def print_metrics(board: Board, console: Console) -> None:
    """Print all metrics of a board, one row each; systems that do not fit side by side follow in further tables."""
    labels = system_labels(board)
    names = [f"{column.label} {ARROWS[column.direction]}" for column in board.columns]
    cells = [score_cells(board, column) for column in board.columns]
    count = max(1, (console.width - max(map(len, names), default=0) - 4) // _COLUMN)
    for start in range(0, len(labels), count):
        shown = slice(start, start + count)
        rows = [(name, *row[shown]) for name, row in zip(names, cells, strict=True)]
        title = f"{_title(board)}; ↑ higher is more diverse"
        console.print(to_terminal(Table(title, ("metric", *labels[shown]), rows)))


def print_curves(board: Board, console: Console) -> None:
    """Print each system's expected number of different valid responses among 1, 2, …, if any has a partition."""
    curves = sorted(distinct_curves(board, range(len(board.entries))), key=lambda curve: -curve.end)
    if curves:
        shown = shown_points(board.k)
        rows = [(curve.label, *(f"{curve.points[i].value:.2f}" for i in shown)) for curve in curves]
        title = "Expected number of different valid responses among m, mean over prompts"
        console.print(to_terminal(Table(title, ("system", *(str(1 + i) for i in shown)), rows)))
