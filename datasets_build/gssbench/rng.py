"""Random order for the prompt pairs: the same seed gives the same rows on any machine and any version of Python."""

import random
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from typing import TypeVar

Item = TypeVar("Item")


def shuffled(items: Iterable[Item], rng: random.Random) -> list[Item]:
    """Return the items in random order.

    They are sorted by the values of `random()`, the only method whose stream Python guarantees. The shuffle in
    `divbench.core.rng` works differently; the published pairs depend on this one.
    """
    keyed = [(rng.random(), item) for item in items]
    return [item for _, item in sorted(keyed, key=lambda entry: entry[0])]


def by_turns(groups: Iterable[Iterable[Item]]) -> Iterator[Item]:
    """Yield the first item of each group, then the second of each, and so on until all groups are exhausted.

    >>> list(by_turns(["abc", "d", "ef"]))
    ['a', 'd', 'e', 'b', 'f', 'c']
    """
    boxed = ([(item,) for item in group] for group in groups)
    return (box[0] for box in chain.from_iterable(zip_longest(*boxed)) if box is not None)
