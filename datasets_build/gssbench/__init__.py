"""Prompt pairs after GSSBench (Yu et al. 2025, arXiv:2510.12699): one generation space inside another.

The authors published no data; the six constructions are theirs, the words are ours. Input: word banks (`banks/*.toml`)
and a seed. Output: rows, the same for the same seed, without a network.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from datasets_build.gssbench.lattices import intersection, union
from datasets_build.gssbench.questions import factualqa, random_choice
from datasets_build.gssbench.rows import PAIRS, PROMPTS
from datasets_build.gssbench.writing_tasks import complement, subset
from divbench.core.errors import ConfigurationError
from divbench.core.rng import stream

VERSION = "1.0.0"  # of the word banks and of the sampling from them; a changed row needs a new version
SEED = 0  # of the published rows

_MAKERS: Mapping[str, Callable[[random.Random], Iterator[dict[str, Any]]]] = {
    "complement": complement,
    "factualqa": factualqa,
    "random_choice": random_choice,
    "subset": subset,
    "union": union,
    "intersection": intersection,
}
SPLITS: tuple[str, ...] = tuple(_MAKERS)  # in the paper's order


def pairs(split: str, seed: int = SEED) -> Iterator[dict[str, Any]]:
    """Make the pairs of a split, as rows that fit `PAIRS`.

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
            for name, text in ((pair["a_id"], pair["a"]), (pair["b_id"], pair["b"])):
                row = table.setdefault(name, {"prompt_id": name, "prompt": text, "splits": [], "pairs": 0})
                if row["prompt"] != text:  # 10 hex digits collide for about one seed in 80,000
                    raise ConfigurationError(f"seed {seed}: two prompts share the id {name}", "take another")
                if split not in row["splits"]:
                    row["splits"].append(split)
                row["pairs"] += 1
    yield from table.values()


__all__ = ["PAIRS", "PROMPTS", "SEED", "SPLITS", "VERSION", "pairs", "prompts"]
