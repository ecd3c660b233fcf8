"""Draws use `random()` alone, the one method whose stream Python guarantees."""

import random
from collections.abc import Callable
from typing import Any, cast

import pytest

from divbench.core.rng import below, different, pick, shuffled, some, stream


class OnlyRandom:
    """A generator that has nothing but `random()`."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = iter(numbers * 50)

    def random(self) -> float:
        return next(self.numbers)


DRAWS: list[tuple[Callable[[random.Random], Any], Any]] = [
    (lambda rng: [below(rng, 10) for _ in range(3)], [0, 9, 5]),
    (lambda rng: pick(rng, "abc"), "a"),
    (lambda rng: some(rng, "abcd", 2), ["a", "d"]),
    (lambda rng: shuffled(rng, "abcd"), ["a", "d", "b", "c"]),
    (lambda rng: different(2, lambda: pick(rng, "ab")), ["a", "b"]),
]


def test_draws_read_random_alone() -> None:
    for draw, expected in DRAWS:
        assert draw(cast("random.Random", OnlyRandom(0.0, 0.999, 0.5))) == expected


def test_impossible_draws_are_refused() -> None:
    rng = stream("two")
    with pytest.raises(ValueError, match="3 of 2 items"):
        some(rng, "ab", 3)
    with pytest.raises(ValueError, match="only 2 of 3 different texts"):
        different(3, lambda: pick(rng, "ab"))
