"""Earlier judgements in one SQLite file: safe under several threads, processes and kills.

Keys are hashes of the judge's signature, prompt and responses; the texts themselves are not kept.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmark.models.cache_file import open_cache
from datasets_build.download import home

_TABLES = (
    "CREATE TABLE IF NOT EXISTS judgements (key TEXT PRIMARY KEY, labels TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS models (key TEXT PRIMARY KEY, reported TEXT)",
)


def default_judgements_path() -> Path:
    """Return `judgements.sqlite` in the package's cache folder (DIVBENCH_HOME)."""
    return home() / "judgements.sqlite"


class JudgementCache:
    """The cache at a path, created at its first use.

    Raises:
        ConfigurationError: By each method, if the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, keys: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """Return the labels of the known keys; `keys` has the number of responses of each, and others do not fit."""
        if not self.path.exists():
            return {}
        with open_cache(self.path, "judgements", *_TABLES) as database:
            rows = [
                row
                for key in keys
                for row in database.execute("SELECT key, labels FROM judgements WHERE key = ?", (key,))
            ]
        found = {key: tuple(json.loads(labels)) for key, labels in rows}
        return {key: labels for key, labels in found.items() if len(labels) == keys[key]}

    def put(self, key: str, labels: Sequence[int]) -> None:
        """Keep the labels of a key."""
        with open_cache(self.path, "judgements", *_TABLES) as database:
            database.execute("INSERT OR REPLACE INTO judgements VALUES (?, ?)", (key, json.dumps(list(labels))))

    def reported(self, key: str) -> tuple[str | None] | None:
        """Return what a server called its model, as (name,), or (None,) if it did not say; None if it was not asked."""
        if not self.path.exists():
            return None
        with open_cache(self.path, "judgements", *_TABLES) as database:
            row = database.execute("SELECT reported FROM models WHERE key = ?", (key,)).fetchone()
        return None if row is None else (row[0],)

    def put_reported(self, key: str, reported: str | None) -> None:
        """Keep what a server called its model."""
        with open_cache(self.path, "judgements", *_TABLES) as database:
            database.execute("INSERT OR REPLACE INTO models VALUES (?, ?)", (key, reported))
