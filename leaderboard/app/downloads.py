"""Downloads of the table that a visitor sees, as CSV and as Parquet."""

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from divbench.core.files import atomic_file, content_id, write_text
from leaderboard.app.temporary import TemporaryFolder
from leaderboard.tables.export import as_csv
from submissions.untrusted.plain_text import one_line

KEPT_SECONDS = 600.0  # much longer than the server needs to copy a file to its download folder
_LOG = logging.getLogger("divbench.board")


class Downloads:
    """A temporary folder of download files; files that were not requested for a while are deleted.

    Args:
        clock: Current time in seconds since the epoch, as in file times.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._folder = TemporaryFolder("divbench-board-")
        self._clock, self._turn = clock, threading.Lock()

    def write(self, frame: pd.DataFrame, name: str) -> tuple[Path, ...]:
        """Write a frame as CSV, safe for spreadsheets, and as Parquet; the same frame gives the same files.

        Args:
            name: Stem of the file names; must not be untrusted.

        Returns:
            The two files; none if the disk takes no files, because a page is worth showing without them.
        """
        try:
            return self._written(frame, name)
        except OSError as error:
            _LOG.warning("a page is shown without its downloads: %s", one_line(str(error)))
            return ()

    def _written(self, frame: pd.DataFrame, name: str) -> tuple[Path, ...]:
        text = as_csv(frame)
        with self._turn:
            whole = self._folder.path()
            folder = whole / content_id([name, text])
            paths = folder / f"{name}.csv", folder / f"{name}.parquet"
            self._make_room(whole)
            if not paths[1].is_file():  # the last one: a disk may have been full after the first
                folder.mkdir(exist_ok=True)
                write_text(paths[0], text)
                with atomic_file(paths[1]) as temporary:
                    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), temporary, compression="zstd")
            os.utime(folder, (self._clock(),) * 2)
        return paths

    def _make_room(self, whole: Path) -> None:
        for folder in whole.iterdir():
            if self._clock() - folder.stat().st_mtime > KEPT_SECONDS:
                rmtree(folder)
