"""Downloads of the table that a visitor sees, as CSV and as Parquet."""

import atexit
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from datasets_build.files import atomic_file, content_id, write_text
from leaderboard.tables.export import as_csv

KEPT_SECONDS = 600.0  # much longer than the server needs to copy a file to its download folder


class Downloads:
    """A temporary folder of download files; files that were not requested for a while are deleted.

    Args:
        clock: Current time in seconds since the epoch, as in file times.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="divbench-board-"))
        self._clock, self._turn = clock, threading.Lock()
        atexit.register(rmtree, self._folder, ignore_errors=True)

    def write(self, frame: pd.DataFrame, name: str) -> tuple[Path, Path]:
        """Write a frame as CSV, safe for spreadsheets, and as Parquet; the same frame gives the same files.

        Args:
            name: Stem of the file names; must not be untrusted.
        """
        text = as_csv(frame)
        folder = self._folder / content_id([name, text])
        paths = folder / f"{name}.csv", folder / f"{name}.parquet"
        with self._turn:
            self._make_room()
            if not folder.is_dir():
                folder.mkdir()
                write_text(paths[0], text)
                with atomic_file(paths[1]) as temporary:
                    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), temporary, compression="zstd")
            os.utime(folder, (self._clock(),) * 2)
        return paths

    def _make_room(self) -> None:
        for folder in self._folder.iterdir():
            if self._clock() - folder.stat().st_mtime > KEPT_SECONDS:
                rmtree(folder)
