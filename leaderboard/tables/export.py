"""Writes a board as CSV for spreadsheets, Parquet for programs, and JSON with the meaning of every column."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.analysis.ranking import Standing
from divbench.core.files import atomic_file, canonical_json, readable_json, write_text
from divbench.core.tables import Table, to_csv
from leaderboard.data.board import Board, frame, ranking_column
from leaderboard.data.scores import BoardScores


def export(board: Board, folder: Path, scores: Callable[[Board], BoardScores] = BoardScores) -> list[Path]:
    """Write `NAME.csv`, `NAME.parquet` and `NAME.columns.json`; the same board gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    table = ranked_frame(board, scores)
    paths = [folder / f"{board.name}{ending}" for ending in (".csv", ".parquet", ".columns.json")]
    write_text(paths[0], as_csv(table))
    about = about_json(board)
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    metadata = {b"divbench.columns": canonical_json(about["columns"])}
    with atomic_file(paths[1]) as temporary:
        pq.write_table(arrow.replace_schema_metadata(metadata), temporary, compression="zstd")
    write_text(paths[2], readable_json(about))
    return paths


def ranks(standing: Standing) -> dict[str, int | None]:
    """A system's rank, the interval of its rank, and its tie group."""
    return {"rank": standing.rank, "rank_low": standing.low, "rank_high": standing.high, "tie_group": standing.group}


def all_ranks(board: Board, scores: Callable[[Board], BoardScores] = BoardScores) -> list[dict[str, int | None]]:
    """The ranks of a board's systems by the column that it is sorted by.

    Args:
        scores: Function that returns a board's scores.

    Raises:
        InputError: A result's files are gone.
    """
    column = ranking_column(board)
    if column is None:
        return [ranks(Standing(math.nan, None, None, None, None))] * len(board.entries)
    return list(map(ranks, scores(board).standings(column)))


def ranked_frame(board: Board, scores: Callable[[Board], BoardScores] = BoardScores) -> pd.DataFrame:
    """The whole board, one row per submission, with the ranks by the column that it is sorted by."""
    made = frame(board)
    placed = pd.DataFrame(all_ranks(board, scores), dtype="Int64")
    return pd.concat([made.iloc[:, :1], placed, made.iloc[:, 1:]], axis=1)  # after the system


def about_json(board: Board) -> dict[str, Any]:
    """The suite and profile of a board, the column that it is sorted and ranked by, and the meaning of every column."""
    sorted_by = ranking_column(board)
    return {
        "suite": board.suite,
        "suite_revision": board.revision,
        "k": board.k,
        "profile": board.profile,
        "sorted_by": None if sorted_by is None else sorted_by.label,
        "columns": [column.as_json() for column in board.columns],
    }


def as_csv(frame: pd.DataFrame) -> str:
    """Format a data frame as CSV, with texts escaped that a spreadsheet would take for formulas."""
    rows = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
    return to_csv(Table("", list(frame.columns), rows))
