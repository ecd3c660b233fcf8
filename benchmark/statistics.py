"""Intervals. Resampling is over prompts: they are what another run of the benchmark would draw anew."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_DRAWS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A percentile interval."""

    low: float
    high: float


def bootstrap_means(
    values: Floats, *, resamples: int = 10_000, level: float = 0.95, seed: int = 0
) -> list[Interval | None]:
    """Percentile bootstrap intervals of column means, all columns from the same resamples of rows.

    The same as `scipy.stats.bootstrap(..., method="percentile")` for each column in distribution; taken together here
    because one set of resamples serves all metrics of a table, at a fraction of the cost.

    Args:
        values: [rows, columns], NaN where missing; a resample's mean is over its values that are there.
        resamples: How many.
        level: Of the interval, such as 0.95.
        seed: Of the resamples.

    Returns:
        For each column its interval; None where fewer than two values are there.
    """
    rows, columns = values.shape
    if rows == 0:
        return [None] * columns
    there = np.isfinite(values)
    filled = np.where(there, values, 0.0)
    rng = np.random.default_rng(seed)
    means = np.empty((resamples, columns))
    step = max(1, _DRAWS_AT_ONCE // rows)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        draws = rng.integers(rows, size=(size, rows)) + np.arange(size)[:, None] * rows
        weights = np.bincount(draws.ravel(), minlength=size * rows).reshape(size, rows).astype(np.float64)
        with np.errstate(invalid="ignore"):
            means[start : start + size] = (weights @ filled) / (weights @ there.astype(np.float64))
    tail = (1 - level) / 2
    made: list[Interval | None] = []
    for column in range(columns):
        if there[:, column].sum() < 2:
            made.append(None)
            continue
        low, high = np.nanquantile(means[:, column], [tail, 1 - tail])
        made.append(Interval(float(low), float(high)))
    return made
