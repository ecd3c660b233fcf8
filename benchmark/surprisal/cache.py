"""Surprisals of earlier runs in one SQLite file: safe under several processes and kills.

Keys are hashes of model signature, layout, orders, prompt and responses; the texts themselves are not kept.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark.models.cache_file import open_cache
from datasets_build.download import home

Floats = NDArray[np.float64]
_TABLE = "CREATE TABLE IF NOT EXISTS surprisals (key TEXT PRIMARY KEY, bits BLOB NOT NULL, alone BLOB NOT NULL)"
_NUMBERS = np.dtype("<f8")


def default_cache_path() -> Path:
    """Return `surprisals.sqlite` in the package's cache folder (DIVBENCH_HOME)."""
    return home() / "surprisals.sqlite"


class SurprisalCache:
    """The cache at a path, created at its first use. See `engine.Cache`.

    Raises:
        ConfigurationError: By each method, if the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, key: str, orders: int, responses: int) -> tuple[Floats, Floats] | None:
        """Implement `engine.Cache.get`; None also where the entry has another shape."""
        if not self.path.exists():
            return None
        with open_cache(self.path, "surprisals", _TABLE) as database:
            row = database.execute("SELECT bits, alone FROM surprisals WHERE key = ?", (key,)).fetchone()
        if row is None or len(row[0]) != 8 * orders * responses or len(row[1]) != 8 * responses:
            return None
        bits, alone = (np.frombuffer(blob, _NUMBERS).astype(np.float64) for blob in row)
        return bits.reshape(orders, responses), alone

    def put(self, found: Sequence[tuple[str, Floats, Floats]]) -> None:
        """Implement `engine.Cache.put`."""
        rows = [(key, bits.astype(_NUMBERS).tobytes(), alone.astype(_NUMBERS).tobytes()) for key, bits, alone in found]
        with open_cache(self.path, "surprisals", _TABLE) as database:
            database.executemany("INSERT OR REPLACE INTO surprisals VALUES (?, ?, ?)", rows)
