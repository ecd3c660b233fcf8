"""Synthetic response sets of known structure, to test whether a metric detects it.

Input: our own word banks (`banks/*.toml`) and a seed. Output: rows of three splits; nothing is downloaded:

- `scenarios` (25 sets of 10): noise, incoherent multi-mode, coherent multi-mode, one mode, mixed
- `mode_count` (200 sets of 12): exactly m = 1 to 10 formats out of 67, on one prompt
- `pos_pattern` (40 sets of 40): one part-of-speech pattern against the same words without it

The same seed gives the same rows everywhere. A changed word, bank or order changes rows and needs a new `VERSION`.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from datasets_build.scenarios.sets import mode_count, pos_pattern, scenarios
from divbench.core.errors import ConfigurationError

VERSION = "1.0.0"
SEED = 0

_ROWS: dict[str, Callable[[int], Iterator[dict[str, Any]]]] = {
    "scenarios": scenarios,
    "mode_count": mode_count,
    "pos_pattern": pos_pattern,
}
SPLITS: tuple[str, ...] = tuple(_ROWS)

SCHEMA = pa.schema(
    [
        pa.field("set_id", pa.string(), nullable=False),
        pa.field("context", pa.string(), nullable=False),
        pa.field("responses", pa.list_(pa.string()), nullable=False),
        pa.field("family", pa.string(), nullable=False),
        pa.field("modes", pa.int32()),  # null for noise, mixed and scrambled, which have no number of modes
        pa.field("mode_of", pa.list_(pa.int32())),  # one entry per response; null if `modes` is null
        pa.field("draw", pa.int32(), nullable=False),
    ]
)

__all__ = ["SCHEMA", "SEED", "SPLITS", "VERSION", "rows"]


def rows(split: str, seed: int = SEED) -> Iterator[dict[str, Any]]:
    """Make the rows of one split, each with the fields of `SCHEMA`; every set has its own random stream."""
    if split not in _ROWS:
        raise ConfigurationError(f"no split {split!r}", f"one of {', '.join(SPLITS)}")
    return _ROWS[split](seed)
