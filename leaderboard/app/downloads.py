"""Temporary folders of the application, which serves for weeks and may be killed, and the downloads of its tables."""

import atexit
import logging
import os
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from divbench.core.files import atomic_file, content_id, write_text
from divbench.core.tables import Table, to_csv
from submissions.untrusted.plain_text import one_line

LEFT_SECONDS = 86_400.0  # much longer than anything is kept in such a folder
KEPT_SECONDS = 600.0  # much longer than the server needs to copy a file to its download folder
_LOG = logging.getLogger("divbench.board")


class TemporaryFolder:
    """A temporary folder for this user alone, made when it is first needed and deleted when the process ends.

    Systems delete old temporary files, so it is made again if it is gone. Therefore it may also delete the unchanged
    folders of other processes with its prefix, because most of them were left by processes that were killed.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix, self._lock = prefix, threading.Lock()
        self._path: Path | None = None

    def path(self) -> Path:
        """Return the folder, which exists."""
        with self._lock:
            if self._path is None or not self._path.is_dir():
                for other in Path(tempfile.gettempdir()).glob(f"{self._prefix}*"):
                    with suppress(OSError):  # another process may delete it first
                        if time.time() - other.lstat().st_mtime > LEFT_SECONDS:
                            rmtree(other, ignore_errors=True)
                self._path = Path(tempfile.mkdtemp(prefix=self._prefix))
                atexit.register(rmtree, self._path, ignore_errors=True)
            return self._path


class Downloads:
    """A temporary folder of download files; files that were not requested for a while are deleted."""

    def __init__(self) -> None:
        self._folder, self._turn = TemporaryFolder("divbench-board-"), threading.Lock()

    def write(self, frame: pd.DataFrame, name: str) -> tuple[Path, ...]:
        """Write a frame as CSV, safe for spreadsheets, and as Parquet, under a trusted name; none if the disk is full.

        A page is worth showing without its downloads.
        """
        try:
            return self._written(frame, name)
        except OSError as error:
            _LOG.warning("a page is shown without its downloads: %s", one_line(str(error)))
            return ()

    def _written(self, frame: pd.DataFrame, name: str) -> tuple[Path, ...]:
        text = to_csv(Table.of_frame(frame))
        with self._turn:
            home = self._folder.path()
            for old in home.iterdir():
                if time.time() - old.stat().st_mtime > KEPT_SECONDS:
                    rmtree(old)
            folder = home / content_id([name, text])
            paths = folder / f"{name}.csv", folder / f"{name}.parquet"
            if not paths[1].is_file():  # the last one: a disk may have been full after the first
                folder.mkdir(exist_ok=True)
                write_text(paths[0], text)
                with atomic_file(paths[1]) as temporary:
                    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), temporary, compression="zstd")
            os.utime(folder, (time.time(),) * 2)
        return paths
