"""Ranks of systems, for boards: intervals and tie groups."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.scoring.estimate import FEWEST_PAIRS, LEVEL, Floats, equal_up_to_rounding, holm, rounding_of


@dataclass(frozen=True, slots=True)
class Standing:
    """A system's rank on a board."""

    mean: float  # mean over its prompts; NaN if it has none
    # One more than the number of better systems; None if it has no mean or is not ranked, in which case the fields
    # below are also None.
    rank: int | None
    low: int | None  # best rank in its interval: one more than the number of significantly better systems
    high: int | None  # worst rank in its interval: the number of ranked systems without the significantly worse ones
    # Tie group, 1 for the best. Groups follow the ranks: the first system that differs significantly from the best of a
    # group starts the next group.
    group: int | None


def standings(values: Floats, *, direction: int = 1) -> list[Standing]:
    """Compute ranks with intervals and tie groups of values [prompts, systems], NaN where missing.

    Each pair of systems is compared by a paired t-test over the prompts with values of both (not with fewer than
    `FEWEST_PAIRS` of them), with Holm's correction over all pairs. So with a probability of about 95%, no equal systems
    are separated and all intervals contain the true ranks, as in Mogstad, Romano, Shaikh and Wilhelm (2024), Inference
    for Ranks. Without the correction, some of nine equal systems are separated on most boards.
    """
    good = direction * values
    means = _plain_means(good)
    ranks = _positions(means)
    better = _significantly_better(good, means)
    ranked = int(np.isfinite(ranks).sum())
    # Over the prompts of both, another system may be the better one than over all: the interval has the rank anyway.
    lows = np.minimum(1 + better.sum(axis=0), ranks)
    highs = np.maximum(ranked - better.sum(axis=1), ranks)
    result = []
    for i, group in enumerate(_tie_groups(ranks, better | better.T)):
        if group is None:
            result.append(Standing(float("nan"), None, None, None, None))
        else:
            result.append(Standing(float(direction * means[i]), int(ranks[i]), int(lows[i]), int(highs[i]), group))
    return result


def unranked(values: Floats) -> Standing:
    """Return the standing of an unranked system from its values [prompts], NaN where missing."""
    known = values[np.isfinite(values)]
    return Standing(float(known.mean()) if len(known) else float("nan"), None, None, None, None)


def prompt_wins(values: Floats, direction: int = 1) -> Floats:
    """Return who wins on each prompt, [prompts, systems, systems]: 1 if the row's system, ½ for a tie, 0 if unknown."""
    good = direction * values
    one, other = good[:, :, None], good[:, None, :]
    compared = np.isfinite(one) & np.isfinite(other) & ~np.eye(values.shape[1], dtype=bool)
    with np.errstate(invalid="ignore"):
        wins: Floats = np.where(equal_up_to_rounding(one, other), 0.5, (one > other).astype(np.float64))
    return np.where(compared, wins, 0.0)


def _plain_means(values: Floats) -> Floats:
    """Return the mean of each column without missing values; equal columns have equal means, to the last digit."""
    finite = np.isfinite(values)
    sums = np.ascontiguousarray(np.where(finite, values, 0.0).T).sum(axis=1)  # each column separately, in one order
    with np.errstate(invalid="ignore"):
        means: Floats = sums / finite.sum(axis=0)
    return means


def _positions(means: Floats) -> Floats:
    """Rank means [systems], 1 for the greatest; rounding errors are ties, and NaN stays NaN."""
    limits = means + rounding_of(means)  # a value is better than another if it exceeds its limit
    ascending = np.sort(means[np.isfinite(means)])
    return np.where(np.isnan(means), np.nan, 1.0 + len(ascending) - np.searchsorted(ascending, limits, side="right"))


def _significantly_better(values: Floats, means: Floats) -> NDArray[np.bool_]:
    """Return whether the row's system is significantly better than the column's, [systems, systems]."""
    from scipy.special import stdtr

    # Sums over the prompts of both systems of each pair. Values less their column's mean: squares of large values would
    # hide small differences.
    has = np.isfinite(values).astype(np.float64)
    centred = np.where(has > 0, values - means, 0.0)
    n, sums, squares = has.T @ has, centred.T @ has, np.square(centred).T @ has
    with np.errstate(invalid="ignore", divide="ignore"):
        gaps = (sums - sums.T) / n
        spread = np.maximum(squares + squares.T - 2 * (centred.T @ centred) - n * gaps**2, 0.0)
        gaps += means[:, None] - means
        t = gaps / np.sqrt(spread / n / (n - 1))
    rounding = rounding_of(means)
    t[np.abs(gaps) <= np.maximum(rounding[:, None], rounding)] = 0.0
    t[n < FEWEST_PAIRS] = np.nan
    tests = int(np.triu(~np.isnan(t), 1).sum())
    pairs = np.nonzero(np.triu(np.abs(t) > 1.9, 1))  # below that, p > 1 − LEVEL with any degrees of freedom
    significant = np.zeros(t.shape, bool)
    significant[pairs] = holm(2 * stdtr(n[pairs] - 1, -np.abs(t[pairs])), tests) < 1 - LEVEL
    return np.asarray((significant | significant.T) & (gaps > 0))


def _tie_groups(ranks: Floats, differ: NDArray[np.bool_]) -> list[int | None]:
    """Return the tie group of each system; None if it has no rank."""
    groups: list[int | None] = [None] * len(ranks)
    best, group = None, 0
    for i in np.argsort(ranks, kind="stable")[: np.isfinite(ranks).sum()].tolist():
        if best is None or differ[best, i]:
            best, group = i, group + 1
        groups[i] = group
    return groups
