"""Writes a board as CSV for spreadsheets, Parquet for programs, and JSON with the meaning of every column."""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from datasets_build.files import atomic_file, canonical_json, readable_json, write_text
from datasets_build.tables import Table, to_csv
from leaderboard.data.board import Board, frame, ranking_column


def export(board: Board, folder: Path) -> list[Path]:
    """Write `NAME.csv`, `NAME.parquet` and `NAME.columns.json`; the same board gives the same bytes.

    Returns:
        Paths of the files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    table = frame(board)
    paths = [folder / f"{board.name}{ending}" for ending in (".csv", ".parquet", ".columns.json")]
    write_text(paths[0], as_csv(table))
    about = about_json(board)
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    metadata = {b"divbench.columns": canonical_json(about["columns"])}
    with atomic_file(paths[1]) as temporary:
        pq.write_table(arrow.replace_schema_metadata(metadata), temporary, compression="zstd")
    write_text(paths[2], readable_json(about))
    return paths


def about_json(board: Board) -> dict[str, Any]:
    """The suite and profile of a board, the column that it is sorted by, and the meaning of every column."""
    ranks = ranking_column(board)
    return {
        "suite": board.suite,
        "suite_revision": board.revision,
        "k": board.k,
        "profile": board.profile,
        "sorted_by": None if ranks is None else ranks.label,
        "columns": [column.as_json() for column in board.columns],
    }


def as_csv(frame: pd.DataFrame) -> str:
    """Format a data frame as CSV, with texts escaped that a spreadsheet would take for formulas."""
    rows = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
    return to_csv(Table("", list(frame.columns), rows))
