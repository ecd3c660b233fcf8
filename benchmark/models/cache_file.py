"""One SQLite file that keeps what can be made again: safe under several threads, processes and kills."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from datasets_build.errors import ConfigurationError


@contextmanager
def open_cache(path: Path, what: str, *tables: str) -> Iterator[sqlite3.Connection]:
    """The database at a path, made at its first use; what is done inside is kept as a whole or not at all.

    Args:
        path: Of the file.
        what: It keeps, for people.
        tables: `CREATE TABLE IF NOT EXISTS …`.

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
            "delete it, or name another by --cache",
        ) from error
