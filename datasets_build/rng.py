"""Random draws that are the same on every machine and in every version of Python.

Python promises a stable stream for `random.Random.random` alone; `choice`, `sample` and `shuffle` have changed before.
So every draw here is made of `random()`.
"""

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def stream(*parts: object) -> random.Random:
    """A generator of its own for each tuple of names. A string seeds it, which `PYTHONHASHSEED` does not touch.

    >>> stream(0, "noise", 3).random() == stream(0, "noise", 3).random()
    True
    """
    return random.Random("/".join(map(str, parts)))  # noqa: S311 - not for secrets


def below(rng: random.Random, n: int) -> int:
    """A whole number from 0 to n - 1."""
    return int(rng.random() * n)


def pick(rng: random.Random, items: Sequence[T]) -> T:
    """One of the items."""
    return items[below(rng, len(items))]


def some(rng: random.Random, items: Sequence[T], count: int) -> list[T]:
    """`count` of the items, each at most once, in random order.

    Raises:
        ValueError: There are fewer items.
    """
    if count > len(items):
        raise ValueError(f"{count} of {len(items)} items")
    left = list(items)
    for i in range(count):
        j = i + below(rng, len(left) - i)
        left[i], left[j] = left[j], left[i]
    return left[:count]


def shuffled(rng: random.Random, items: Sequence[T]) -> list[T]:
    """All the items in random order."""
    return some(rng, items, len(items))


def different(count: int, make: Callable[[], str]) -> list[str]:
    """`count` texts, no two equal: what comes a second time is made again.

    Raises:
        ValueError: `make` has too few different texts to give.
    """
    texts: dict[str, None] = {}
    for _ in range(100 * count):
        texts[make()] = None
        if len(texts) == count:
            return list(texts)
    raise ValueError(f"only {len(texts)} of {count} different texts")
