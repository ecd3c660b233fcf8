"""A number with its interval and p, from resamples."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.scoring.resampling import Difference, Floats, difference


@dataclass(frozen=True, slots=True)
class Resampling:
    """Of contexts or sets, for intervals."""

    resamples: int = 1000
    level: float = 0.95
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its percentile interval; None where it is not defined, or there are too few rows for an interval.

    Attributes:
        value: On the data as they are.
        low: Of the interval.
        high: Likewise.
        p: Two-sided, of the number being that of chance, from the same resamples; at least 1 / (resamples + 1). None
            where chance has no one value, too.
    """

    value: float | None
    low: float | None
    high: float | None
    p: float | None


def estimate(draws: Floats, level: float, chance: float | None = None) -> Estimate:
    """The estimate from [1 + resamples] values, the first that of the data as they are; NaN where not defined.

    Args:
        draws: The values.
        level: Of the interval.
        chance: What p is of; None: no p.
    """
    offset = chance or 0.0
    found = of_difference(difference(float(draws[0]) - offset, draws[1:] - offset, level))
    if found.value is None:
        return found
    low, high = (None if end is None else end + offset for end in (found.low, found.high))
    return Estimate(float(draws[0]), low, high, None if chance is None else found.p)


def of_difference(found: Difference) -> Estimate:
    """A difference as an estimate."""
    if not np.isfinite(found.value):
        return Estimate(None, None, None, None)
    if found.interval is None:
        return Estimate(found.value, None, None, None)
    return Estimate(found.value, found.interval.low, found.interval.high, found.p)


def without_nan(document: Any) -> Any:
    """The same with null for NaN, which JSON does not know."""
    if isinstance(document, dict):
        return {key: without_nan(value) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [without_nan(value) for value in document]
    return None if isinstance(document, float) and not np.isfinite(document) else document
