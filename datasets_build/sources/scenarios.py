"""Synthetic response sets of known structure, generated here with our own texts.

The kinds of response set are those of D_Can's scenarios (arXiv:2606.01811).
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from datasets_build import scenarios
from datasets_build.sources.source import Fetch, Split, described

_COUNTS = {"scenarios": 25, "mode_count": 200, "pos_pattern": 40}


def rows(split: str, fetch: Fetch) -> Iterator[dict[str, Any]]:
    """Make the response sets of a split."""
    return scenarios.rows(split)


_SPLITS = tuple(Split(name, partial(rows, name), (), count) for name, count in _COUNTS.items())
SOURCE = described("scenarios", scenarios.VERSION, (), {"scenarios": (scenarios.SCHEMA, _SPLITS)})
