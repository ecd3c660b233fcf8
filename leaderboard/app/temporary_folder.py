"""Temporary folders of the application, which serves for weeks and may be killed."""

import atexit
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from shutil import rmtree

LEFT_SECONDS = 86_400.0  # much longer than anything is kept in such a folder


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
