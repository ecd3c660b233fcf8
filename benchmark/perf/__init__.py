"""Speed of the package beside common alternatives, one script each; run from the repository, not part of the wheel.

Alternatives are timed in turns in one process, so that other load on the machine affects all, and their numbers are
compared before any time is printed.
"""

import gc
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np


def timed_in_turns(
    ways: Mapping[str, Callable[[], Any]], rounds: int, clock: Callable[[], float] = perf_counter
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the median seconds and the last result of each way, timed in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    results: dict[str, Any] = {}
    for _ in range(rounds):
        for name, way in ways.items():
            gc.collect()  # so that no call pays for the garbage of another
            start = clock()
            results[name] = way()
            seconds[name].append(clock() - start)
    return {name: median(times) for name, times in seconds.items()}, results


def compare(
    work: str, ways: Mapping[str, Callable[[], Any]], rounds: int, tolerance: float, clock: Callable[[], float]
) -> list[dict[str, Any]]:
    """Time `package`, one of the ways, beside each other way; raise ValueError if their arrays differ."""
    seconds, results = timed_in_turns(ways, rounds, clock)
    rows: list[dict[str, Any]] = []
    for name in ways.keys() - {"package"}:
        pairs = zip(results[name], results["package"], strict=True)
        difference = float(np.max([np.abs(np.asarray(a) - np.asarray(b)).max() for a, b in pairs]))
        if not difference <= tolerance:
            raise ValueError(f"{work}: the package and {name} differ by {difference}")
        ratio = seconds[name] / seconds["package"]
        row = {"work": work, "alternative": name, "package_seconds": seconds["package"], "seconds": seconds[name]}
        rows.append(row | {"difference": difference, "ratio": ratio})
    return rows


def print_document(document: Any) -> None:
    """Print a JSON document, in which dataclasses are objects."""
    print(json.dumps(document, indent=2, default=asdict))
