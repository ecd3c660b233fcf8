"""A cache in one SQLite file, safe for concurrent threads and processes and if a process is killed."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from datasets_build.errors import ConfigurationError


@contextmanager
def open_cache(path: Path, what: str, *tables: str) -> Iterator[sqlite3.Connection]:
    """Open the database at a path, creating it if needed; the block runs as one transaction.

    Args:
        tables: Statements `CREATE TABLE IF NOT EXISTS …`.

    Raises:
        ConfigurationError: The file cannot be read or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(path, timeout=60)
        try:
            with database:
                for table in tables:
                    database.execute(table)
                yield database
        finally:
            database.close()
    except (sqlite3.Error, OSError) as error:
        raise ConfigurationError(
            f"the cache of {what} {path} cannot be used: {error}",
            "delete it, or give another path with --cache",
        ) from error
