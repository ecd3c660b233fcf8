"""Surprisals of earlier runs in one SQLite file.

Keys are hashes of model signature, layout, orders, prompt and responses; the texts themselves are not kept.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmark.models.cache_file import CacheFile
from datasets_build.download import home

Floats = NDArray[np.float64]
_NUMBERS = np.dtype("<f8")


def default_cache_path() -> Path:
    """Return `surprisals.sqlite` in the package's cache folder (DIVBENCH_HOME)."""
    return home() / "surprisals.sqlite"


class SurprisalCache(CacheFile):
    """Implements `engine.Cache`."""

    contents = "surprisals"
    tables = ("CREATE TABLE IF NOT EXISTS surprisals (key TEXT PRIMARY KEY, bits BLOB NOT NULL, alone BLOB NOT NULL)",)

    def get(self, key: str, orders: int, responses: int) -> tuple[Floats, Floats] | None:
        """Implement `engine.Cache.get`; None also if the entry has another shape."""
        for bits, alone in self._select("SELECT bits, alone FROM surprisals WHERE key = ?", [key]):
            if len(bits) == 8 * orders * responses and len(alone) == 8 * responses:
                found = np.frombuffer(bits, _NUMBERS).astype(np.float64).reshape(orders, responses)
                return found, np.frombuffer(alone, _NUMBERS).astype(np.float64)
        return None

    def put(self, found: Sequence[tuple[str, Floats, Floats]]) -> None:
        """Implement `engine.Cache.put`."""
        rows = [(key, bits.astype(_NUMBERS).tobytes(), alone.astype(_NUMBERS).tobytes()) for key, bits, alone in found]
        self._insert("INSERT OR REPLACE INTO surprisals VALUES (?, ?, ?)", rows)
