"""GSSBench-style prompt pairs, generated here: which of two prompts has the larger space of good responses?

The six kinds of pair are those of GSSBench (Yu et al. 2025, arXiv:2510.12699); words and templates are our own, and
deterministic from a seed and a version.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from datasets_build import gssbench
from datasets_build.sources.source import Fetch, Split, described

_COUNTS = {
    "complement": 500,
    "factualqa": 500,
    "random_choice": 500,
    "subset": 1800,
    "union": 3000,
    "intersection": 3000,
}
UNIQUE_PROMPTS = 5204


def pair_rows(split: str, fetch: Fetch) -> Iterator[dict[str, Any]]:
    """Make the pairs of a split."""
    return gssbench.pairs(split)


def prompt_rows(fetch: Fetch) -> Iterator[dict[str, Any]]:
    """Make the unique prompts over all splits."""
    return gssbench.prompts()


SOURCE = described(
    "gssbench",
    gssbench.VERSION,
    (),
    {
        "gssbench": (
            gssbench.PAIRS,
            tuple(Split(name, partial(pair_rows, name), (), count) for name, count in _COUNTS.items()),
        ),
        "gssbench_prompts": (gssbench.PROMPTS, (Split("prompts", prompt_rows, (), UNIQUE_PROMPTS),)),
    },
)
