"""Surprisals of earlier runs in one SQLite file.

Keys are hashes of model signature, layout, orders, prompt and responses. SQLite does not notice damaged numbers, so a
checksum follows those of `alone`; rows of earlier versions have none.
"""

from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

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
        """Implement `engine.Cache.get`; None also if the entry has another shape or is damaged."""
        for bits, blob in self._select("SELECT bits, alone FROM surprisals WHERE key = ?", [key]):
            alone, checksum = blob[: 8 * responses], blob[8 * responses :]
            whole = len(bits) == 8 * orders * responses and len(alone) == 8 * responses
            if whole and checksum in (_checksum(key, bits, alone), b""):
                matrix = np.frombuffer(bits, _NUMBERS).astype(np.float64).reshape(orders, responses)
                return matrix, np.frombuffer(alone, _NUMBERS).astype(np.float64)
        return None

    def put(self, results: Sequence[tuple[str, Floats, Floats]]) -> None:
        """Implement `engine.Cache.put`."""
        numbers = [
            (key, bits.astype(_NUMBERS).tobytes(), alone.astype(_NUMBERS).tobytes()) for key, bits, alone in results
        ]
        rows = [(key, bits, alone + _checksum(key, bits, alone)) for key, bits, alone in numbers]
        self._insert("INSERT OR REPLACE INTO surprisals VALUES (?, ?, ?)", rows)


def _checksum(key: str, bits: bytes, alone: bytes) -> bytes:
    return crc32(key.encode() + bits + alone).to_bytes(4, "little")
