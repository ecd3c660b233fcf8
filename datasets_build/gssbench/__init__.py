"""Prompt pairs after GSSBench (Yu et al. 2025, arXiv:2510.12699): one generation space inside another.

The authors published no data; the six constructions are theirs, the words are ours. Input: word banks (`banks/*.toml`)
and a seed. Output: rows, the same for the same seed, without a network.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from datasets_build.gssbench import complement, factualqa, intersection, random_choice, subset, union
from datasets_build.gssbench.rows import PAIRS, PROMPTS
from divbench.core.errors import ConfigurationError
from divbench.core.rng import stream

VERSION: str = "1.0.0"
"""Version of the word banks and of the sampling from them; a changed row needs a new version."""

SEED: int = 0
"""Seed of the published rows."""

_MAKERS: Mapping[str, Callable[[random.Random], Iterator[dict[str, Any]]]] = {
    "complement": complement.rows,
    "factualqa": factualqa.rows,
    "random_choice": random_choice.rows,
    "subset": subset.rows,
    "union": union.rows,
    "intersection": intersection.rows,
}

SPLITS: tuple[str, ...] = tuple(_MAKERS)
"""The six splits, in the paper's order."""


def pairs(split: str, seed: int = SEED) -> Iterator[dict[str, Any]]:
    """Make the pairs of a split, as rows that fit `PAIRS`.

    Args:
        split: One of `SPLITS`.

    Raises:
        ConfigurationError: There is no such split.

    >>> row = next(pairs("complement"))
    >>> row["pair_id"], row["template"]
    ('complement-0001', 'email')
    """
    if split not in _MAKERS:
        raise ConfigurationError(f"gssbench has no split {split!r}", f"it has {', '.join(SPLITS)}")
    return _MAKERS[split](stream("gssbench", split, seed))


def prompts(seed: int = SEED) -> Iterator[dict[str, Any]]:
    """List the texts of all splits, each once, in the order of their first pair, as rows that fit `PROMPTS`."""
    table: dict[str, dict[str, Any]] = {}
    for split in SPLITS:
        for pair in pairs(split, seed):
            for side in ("a", "b"):
                row = table.setdefault(
                    pair[f"{side}_id"],
                    {"prompt_id": pair[f"{side}_id"], "prompt": pair[side], "splits": [], "pairs": 0},
                )
                if row["prompt"] != pair[side]:  # 10 hex digits collide for about one seed in 80,000
                    raise ConfigurationError(
                        f"seed {seed}: two prompts share the id {pair[f'{side}_id']}", "take another"
                    )
                if split not in row["splits"]:
                    row["splits"].append(split)
                row["pairs"] += 1
    yield from table.values()


__all__ = ["PAIRS", "PROMPTS", "SEED", "SPLITS", "VERSION", "pairs", "prompts"]
