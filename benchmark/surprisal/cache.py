"""What the engine read before, in one SQLite file: safe under several processes and kills.

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
    """`surprisals.sqlite` where the package keeps what it can make again (DIVBENCH_HOME)."""
    return home() / "surprisals.sqlite"


class SurprisalCache:
    """The file at a path, made at its first use. See `engine.Cache`.

    Raises:
        ConfigurationError: By each method, where the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, key: str, orders: int, responses: int) -> tuple[Floats, Floats] | None:
        """Bits [orders, responses] and unconditional bits [responses] of a key; None where there are none that fit."""
        if not self.path.exists():
            return None
        with open_cache(self.path, "surprisals", _TABLE) as database:
            row = database.execute("SELECT bits, alone FROM surprisals WHERE key = ?", (key,)).fetchone()
        if row is None or len(row[0]) != 8 * orders * responses or len(row[1]) != 8 * responses:
            return None
        bits, alone = (np.frombuffer(blob, _NUMBERS).astype(np.float64) for blob in row)
        return bits.reshape(orders, responses), alone

    def put(self, found: Sequence[tuple[str, Floats, Floats]]) -> None:
        """Keep bits [orders, responses] and unconditional bits [responses] of keys, all or none."""
        rows = [(key, bits.astype(_NUMBERS).tobytes(), alone.astype(_NUMBERS).tobytes()) for key, bits, alone in found]
        with open_cache(self.path, "surprisals", _TABLE) as database:
            database.executemany("INSERT OR REPLACE INTO surprisals VALUES (?, ?, ?)", rows)
