"""Drawing from the banks: the same seed, the same rows, on any machine and any version of Python."""

import random
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from typing import TypeVar

Item = TypeVar("Item")


def generator(split: str, seed: int) -> random.Random:
    """The one source of chance of a split.

    It is seeded by a string, so the splits of a seed are independent of one another and of the process (Python takes
    the SHA-512 of such a seed, never its `hash()`).
    """
    return random.Random(f"gssbench/{split}/{seed}")  # noqa: S311, nothing here is secret


def shuffled(items: Iterable[Item], rng: random.Random) -> list[Item]:
    """The items in random order.

    Python promises that `random()` gives the same numbers in every version, and promises it of nothing else; so we
    sort by those numbers.
    """
    keyed = [(rng.random(), item) for item in items]
    return [item for _, item in sorted(keyed, key=lambda entry: entry[0])]


def by_turns(groups: Iterable[Iterable[Item]]) -> Iterator[Item]:
    """The first item of each group, then the second of each, and so on until all are through.

    >>> list(by_turns(["abc", "d", "ef"]))
    ['a', 'd', 'e', 'b', 'f', 'c']
    """
    boxed = ([(item,) for item in group] for group in groups)
    return (box[0] for box in chain.from_iterable(zip_longest(*boxed)) if box is not None)
