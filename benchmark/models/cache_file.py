"""A cache in one SQLite file, safe for concurrent threads and processes and if a process is killed."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from divbench.core.errors import ConfigurationError


class CacheFile:
    """A cache at a path, created at its first use; a subclass says what it keeps."""

    contents: ClassVar[str]  # what the cache keeps, for messages
    tables: ClassVar[tuple[str, ...]]  # statements `CREATE TABLE IF NOT EXISTS …`
    hint: ClassVar[str] = "delete it, or give another path with --cache"  # what to do if the file is damaged

    def __init__(self, path: Path) -> None:
        self.path = path

    def _select(self, query: str, keys: Iterable[str]) -> list[tuple[Any, ...]]:
        """Return the rows that a query finds for each key; none if there is no file yet."""
        if not self.path.exists():
            return []
        with self._open() as database:
            return [row for key in keys for row in database.execute(query, (key,))]

    def _insert(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Write rows as one transaction."""
        with self._open() as database:
            database.executemany(statement, rows)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=60)) as database, database:
                for table in self.tables:
                    database.execute(table)
                yield database
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # the last from messages about a damaged schema
            raise ConfigurationError(
                f"the cache of {self.contents} {self.path} cannot be used: {error}", self.hint
            ) from error
