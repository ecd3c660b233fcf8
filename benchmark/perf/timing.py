"""Time a call."""

import gc
from collections.abc import Callable
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")


def timed(run: Callable[[], T]) -> tuple[float, T]:
    """Return the seconds that a call takes, and its result."""
    gc.collect()  # so that no call pays for the garbage of another
    start = perf_counter()
    found = run()
    return perf_counter() - start, found
