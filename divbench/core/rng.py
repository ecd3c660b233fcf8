"""Random draws that are the same on every machine and in every version of Python.

Python guarantees a stable stream only for `random.Random.random`; `choice`, `sample` and `shuffle` have changed before.
So every draw here uses only `random()`.
"""

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def stream(*parts: object) -> random.Random:
    """Make a generator seeded by these names. The seed is a string, which `PYTHONHASHSEED` does not affect.

    >>> stream(0, "noise", 3).random() == stream(0, "noise", 3).random()
    True
    """
    return random.Random("/".join(map(str, parts)))  # noqa: S311 - not for secrets


def below(rng: random.Random, n: int) -> int:
    """Draw an integer from 0 to n - 1."""
    return int(rng.random() * n)


def pick(rng: random.Random, items: Sequence[T]) -> T:
    """Draw one of the items."""
    return items[below(rng, len(items))]


def some(rng: random.Random, items: Sequence[T], count: int) -> list[T]:
    """Draw `count` of the items without replacement, in random order."""
    if count > len(items):
        raise ValueError(f"{count} of {len(items)} items")
    left = list(items)
    for i in range(count):
        j = i + below(rng, len(left) - i)
        left[i], left[j] = left[j], left[i]
    return left[:count]


def shuffled(rng: random.Random, items: Sequence[T]) -> list[T]:
    """Return all items in random order."""
    return some(rng, items, len(items))


def different(count: int, make: Callable[[], str]) -> list[str]:
    """Make `count` different texts; duplicates are replaced."""
    texts: dict[str, None] = {}
    for _ in range(100 * count):
        texts[make()] = None
        if len(texts) == count:
            return list(texts)
    raise ValueError(f"only {len(texts)} of {count} different texts")
