"""A number with its interval and p-value from bootstrap resamples."""

from dataclasses import dataclass

import numpy as np

from benchmark.scoring.resampling import LEVEL, Floats, bootstrap_means, level_for, percentile_interval
from divbench.core.tables import with_interval


@dataclass(frozen=True, slots=True)
class Resampling:
    """Settings of a bootstrap."""

    resamples: int = 1000
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its percentile interval."""

    value: float | None  # the statistic on all rows; None where it is undefined
    # Lower end of the interval; None with fewer than two resamples on which the statistic is defined.
    low: float | None = None
    high: float | None = None  # upper end of the interval; None likewise
    # Two-sided bootstrap p-value of the number being its chance level, at least 1 / (resamples + 1); None where there
    # is no interval or no single chance level.
    p: float | None = None

    def __str__(self) -> str:
        """Return the number with its interval in brackets."""
        return with_interval(self.value, self.low, self.high)


def estimate(draws: Floats, chance: float | None = None, *, clusters: int | None = None) -> Estimate:
    """Return a statistic with its interval and p-value.

    p is twice the smaller of the shares of resamples at or below and at or above chance (Efron & Tibshirani 1993,
    chapter 16). For the difference of two statistics on the same resamples, chance is 0.

    Args:
        draws: [1 + resamples], the statistic on all rows, then on each resample; NaN where it is undefined.
        chance: Chance level of the statistic; None for no p-value.
        clusters: Number of independent rows or clusters that were resampled; the interval from few of them is widened.
            None: there are many.
    """
    if not np.isfinite(draws[0]):
        return Estimate(None)
    offset = chance or 0.0
    resampled = draws[1:] - offset
    resampled = resampled[np.isfinite(resampled)]
    found = percentile_interval(resampled, LEVEL if clusters is None else level_for(clusters))
    if found is None:
        return Estimate(float(draws[0]))
    p = None
    if chance is not None:
        share = 2 * min(float(np.mean(resampled <= 0)), float(np.mean(resampled >= 0)))
        p = min(1.0, max(share, 1 / (len(resampled) + 1)))
    return Estimate(float(draws[0]), found.low + offset, found.high + offset, p)


def estimates(values: Floats, *, resamples: int = 10_000, seed: int = 0) -> list[Estimate]:
    """Return the mean of each column over prompts, with its bootstrap interval over prompts.

    Args:
        values: [prompts, columns], NaN where missing; missing values are left out.
    """
    made = []
    for column, interval in zip(values.T, bootstrap_means(values, resamples=resamples, seed=seed), strict=True):
        there = column[np.isfinite(column)]
        ends = (None, None) if interval is None else (interval.low, interval.high)
        made.append(Estimate(float(there.mean()) if len(there) else None, *ends))
    return made
