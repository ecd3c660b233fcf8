"""Measures how well two partitions agree, and how much greedy classes depend on the order of the responses."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.equivalence.backend import EquivalenceBackend, Floats, MemoisedBackend
from benchmark.equivalence.partitioning import ResponsesToGroup, partition_by_pairs
from benchmark.metrics.partition import Labels


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The effect of the responses' order on greedy classes, over random orders of each set."""

    orders: int
    mean: Floats  # [sets], mean number of classes
    sd: Floats  # [sets], its standard deviation (ddof 1)
    lowest: NDArray[np.int64]  # [sets], fewest classes
    highest: NDArray[np.int64]  # [sets], most classes
    rand_index: Floats  # [sets], mean adjusted Rand index between a random order's classes and the given order's


def order_sensitivity(
    sets: Sequence[ResponsesToGroup], backend: EquivalenceBackend, *, orders: int = 20, seed: int = 0
) -> Sensitivity:
    """Group each response set greedily in several random orders."""
    memoised = MemoisedBackend(backend)
    rng = np.random.default_rng(seed)
    given = partition_by_pairs(sets, memoised)
    counts, indices = np.zeros((orders, len(sets)), np.int64), np.zeros((orders, len(sets)))
    for turn in range(orders):
        permutations = [rng.permutation(len(each.texts)).tolist() for each in sets]
        reordered = [_reordered(each, own) for each, own in zip(sets, permutations, strict=True)]
        found = partition_by_pairs(reordered, memoised)
        for number, (labels, permutation) in enumerate(zip(found, permutations, strict=True)):
            back: list[int | None] = [None] * len(labels)
            for label, position in zip(labels, permutation, strict=True):
                back[position] = label
            counts[turn, number] = classes_of(labels)
            indices[turn, number] = adjusted_rand_index(back, given[number])
    return Sensitivity(
        orders,
        counts.mean(axis=0),
        counts.std(axis=0, ddof=1),
        counts.min(axis=0),
        counts.max(axis=0),
        indices.mean(axis=0),
    )


def _reordered(responses: ResponsesToGroup, permutation: Sequence[int]) -> ResponsesToGroup:
    return ResponsesToGroup(
        responses.prompt,
        tuple(responses.texts[i] for i in permutation),
        tuple(responses.counted[i] for i in permutation),
        tuple(responses.whole[i] for i in permutation),
    )


def classes_of(labels: Labels) -> int:
    """Count the classes."""
    return len({label for label in labels if label is not None})


def adjusted_rand_index(a: Sequence[int | None], b: Sequence[int | None]) -> float:
    """Compute the agreement of two partitions beyond chance (Hubert & Arabie 1985).

    A response in no class counts as a separate class.

    >>> adjusted_rand_index((0, 0, 1), (5, 5, 2))
    1.0
    """
    both, only_a, only_b = pair_counts(a, b)
    pairs = len(a) * (len(a) - 1) // 2
    apart = pairs - both - only_a - only_b
    if only_a == only_b == 0:
        return 1.0
    # scikit-learn's formula; its function takes a millisecond, and there are thousands of calls.
    spread = (both + only_a) * (only_a + apart) + (both + only_b) * (only_b + apart)
    return 2.0 * (both * apart - only_a * only_b) / spread


def pair_counts(a: Sequence[int | None], b: Sequence[int | None]) -> tuple[int, int, int]:
    """Count the pairs of responses that share a class in both partitions, only in `a`, and only in `b`.

    The pair F1 of several sets is 2·both / (2·both + only_a + only_b), from the sums of their counts.
    """

    def together(*labels: Sequence[int | None]) -> int:
        counts = Counter(key for key in zip(*labels, strict=True) if None not in key)
        return sum(count * (count - 1) // 2 for count in counts.values())

    both = together(a, b)
    return both, together(a) - both, together(b) - both
