"""Files for visitors to take away: the table that they see, as CSV and as Parquet."""

import atexit
import tempfile
from pathlib import Path
from shutil import rmtree

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from datasets_build.files import content_id, whole_file, write_text
from leaderboard.export import as_csv

_KEPT = 64  # files


class Downloads:
    """A folder of files of our own naming; the oldest go when there are too many."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="divbench-board-"))
        atexit.register(rmtree, self._folder, ignore_errors=True)

    def write(self, frame: pd.DataFrame, name: str) -> tuple[Path, Path]:
        """The frame as CSV, safe for spreadsheets, and as Parquet; the same frame gives the same files.

        Args:
            frame: To write.
            name: What the files are called; of our own making, never a stranger's.
        """
        text = as_csv(frame)
        folder = self._folder / content_id([name, text])
        paths = folder / f"{name}.csv", folder / f"{name}.parquet"
        if not folder.is_dir():
            self._make_room()
            folder.mkdir()
        if not paths[1].is_file():
            write_text(paths[0], text)
            with whole_file(paths[1]) as temporary:
                pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), temporary, compression="zstd")
        return paths

    def _make_room(self) -> None:
        folders = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        for folder in folders[: max(0, len(folders) - _KEPT)]:
            rmtree(folder, ignore_errors=True)
