"""Earlier judgements in one SQLite file.

Keys are hashes of the judge's signature, prompt and responses; the texts themselves are not kept.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from benchmark.models.cache_file import CacheFile
from datasets_build.download import home


def default_judgements_path() -> Path:
    """Return `judgements.sqlite` in the package's cache folder (DIVBENCH_HOME)."""
    return home() / "judgements.sqlite"


class JudgementCache(CacheFile):
    """Keeps the labels of judged response sets, and the names by which servers call their models."""

    contents = "judgements"
    hint = "delete it, or name another folder in DIVBENCH_HOME"
    tables = (
        "CREATE TABLE IF NOT EXISTS judgements (key TEXT PRIMARY KEY, labels TEXT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS models (key TEXT PRIMARY KEY, reported TEXT)",
    )

    def get(self, keys: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
        """Return the labels of the known keys, given the number of responses of each; damaged rows are left out."""
        found: dict[str, tuple[int, ...]] = {}
        for key, text in self._select("SELECT key, labels FROM judgements WHERE key = ?", keys):
            with suppress(ValueError):
                labels = json.loads(text)
                if isinstance(labels, list) and len(labels) == keys.get(key):
                    found[key] = tuple(labels)
        return found

    def put(self, key: str, labels: Sequence[int]) -> None:
        """Keep the labels of a key."""
        self._insert("INSERT OR REPLACE INTO judgements VALUES (?, ?)", [(key, json.dumps(list(labels)))])

    def reported(self, key: str) -> tuple[str | None] | None:
        """Return a server's name for its model: (name,), (None,) if it gave none, or None if it was never asked."""
        rows = self._select("SELECT reported FROM models WHERE key = ?", [key])
        return (rows[0][0],) if rows else None

    def put_reported(self, key: str, reported: str | None) -> None:
        """Keep a server's name for its model."""
        self._insert("INSERT OR REPLACE INTO models VALUES (?, ?)", [(key, reported)])
