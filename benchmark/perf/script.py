"""What the scripts of benchmarks share: options, timing and output."""

import argparse
import gc
import json
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


def option_parser(description: str | None, *, mirror: bool = False) -> argparse.ArgumentParser:
    """Make a script's parser; with `mirror` it has the option --mirror, by default the folder of DIVBENCH_MIRROR."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if mirror:
        from datasets_build.download import mirror_folder  # not at the top: gpu_check runs with few libraries

        what = "Folder with the released files. [env: DIVBENCH_MIRROR]"
        parser.add_argument("--mirror", type=Path, default=mirror_folder(), help=what)
    return parser


def usable_device(name: str) -> str:
    """Return the name of a device that torch can use here, for argparse.

    Raises:
        argparse.ArgumentTypeError: It cannot.
    """
    import torch

    from benchmark.models.device_errors import explained

    try:
        torch.empty(1, device=name)
    except (RuntimeError, AssertionError) as error:
        why = explained(error, name, "float32", "a model")
        raise argparse.ArgumentTypeError(str(error) if why is None else f"{why.message} ({why.hint})") from error
    return name


def peak_memory() -> int:
    """Return this process's peak resident memory in bytes; Linux counts in kilobytes, macOS in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def timed(run: Callable[[], T], clock: Callable[[], float] = perf_counter) -> tuple[float, T]:
    """Return the seconds that a call takes, and its result."""
    gc.collect()  # so that no call pays for the garbage of another
    start = clock()
    found = run()
    return clock() - start, found


def timed_in_turns(
    ways: Mapping[str, Callable[[], Any]], rounds: int, clock: Callable[[], float] = perf_counter
) -> tuple[dict[str, list[float]], dict[str, list[Any]]]:
    """Time calls in turns, so that other load on the machine affects all; return seconds and results, one per round."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    results: dict[str, list[Any]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            taken, found = timed(way, clock)
            seconds[name].append(taken)
            results[name].append(found)
    return seconds, results


def largest_difference(one: Sequence[Any], other: Sequence[Any]) -> float:
    """Return the largest difference between two lists of arrays; NaN if any difference is."""
    return float(np.max([np.abs(np.asarray(a) - np.asarray(b)).max() for a, b in zip(one, other, strict=True)]))


@dataclass(frozen=True, slots=True)
class Comparison:
    """The package and a plain way to the same numbers, timed in turns."""

    about: dict[str, Any]  # facts about the work
    largest_difference: float  # largest difference of their numbers
    plain_seconds: list[float]  # seconds of the plain way, one per round
    package_seconds: list[float]  # seconds of the package, one per round
    ratio: float  # ratio of the medians


def compare_ways(
    plain: Callable[[], Any],
    package: Callable[[], Any],
    rounds: int,
    tolerance: float,
    about: dict[str, Any],
    difference: Callable[[list[Any], list[Any]], float] = largest_difference,
) -> Comparison:
    """Time both ways in turns, and compare their results.

    Args:
        difference: Function from the results of the plain way and of the package, one per round.

    Raises:
        ValueError: Their results differ by more than the tolerance.
    """
    seconds, results = timed_in_turns({"plain": plain, "package": package}, rounds)
    largest = difference(results["plain"], results["package"])
    if not largest <= tolerance:
        raise ValueError(f"the two ways differ by {largest}")
    ratio = median(seconds["plain"]) / median(seconds["package"])
    return Comparison(about, largest, seconds["plain"], seconds["package"], ratio)


def print_document(document: Any) -> None:
    """Print a JSON document, in which dataclasses are objects."""
    print(json.dumps(document, indent=2, default=asdict))
