"""Ranks of systems, for boards: intervals and tie groups."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.scoring.resampling import (
    FEWEST_PAIRS,
    LEVEL,
    Floats,
    differences,
    equal_up_to_rounding,
    percentile_interval,
    resample_weights,
    rounding_of,
)

_MOST_AT_ONCE = 128  # systems whose differences from another are resampled together


@dataclass(frozen=True, slots=True)
class Standing:
    """A system's rank on a board.

    Attributes:
        mean: Mean over its prompts; NaN if it has none.
        rank: One more than the number of better systems; None if it has no mean or is not ranked, in which case the
            fields below are also None.
        low: Best rank in the interval of resampled ranks; None if it has fewer than two prompts.
        high: Worst rank in that interval; None if it has fewer than two prompts.
        group: Tie group, 1 for the best. Groups follow the ranks: the first system that differs from the best of a
            group starts the next group.
    """

    mean: float
    rank: int | None
    low: int | None
    high: int | None
    group: int | None


def standings(
    values: Floats,
    *,
    direction: int = 1,
    resamples: int = 1000,
    seed: int = 0,
) -> list[Standing]:
    """Compute ranks with intervals and tie groups, from one bootstrap over prompts shared by all systems.

    A system ties with the best of a group if the interval of their paired difference, over prompts that have both,
    contains 0, or if there are fewer than `FEWEST_PAIRS` such prompts.

    Args:
        values: [prompts, systems], NaN where missing; missing values are left out of means.

    Returns:
        The standing of each system, in the order of the columns.
    """
    good = direction * values
    weights = resample_weights(len(good), resamples=resamples, seed=seed).astype(np.float64)
    means = _plain_means(good)
    ranks = _positions(means[None, :])[0]
    drawn = _Drawn(good, np.isfinite(good), weights, weighted_means(good, weights))
    lows, highs = _rank_intervals(_positions(drawn.means))
    groups = _tie_groups(ranks, drawn)
    several = drawn.there.sum(axis=0) > 1
    made = []
    for i, group in enumerate(groups):
        if group is None:
            made.append(Standing(float("nan"), None, None, None, None))
            continue
        low, high = (int(lows[i]), int(highs[i])) if several[i] else (None, None)
        made.append(Standing(float(direction * means[i]), int(ranks[i]), low, high, group))
    return made


def unranked(values: Floats) -> Standing:
    """Return the standing of an unranked system from its values [prompts], NaN where missing."""
    there = values[np.isfinite(values)]
    return Standing(float(there.mean()) if len(there) else float("nan"), None, None, None, None)


def prompt_wins(values: Floats, direction: int = 1) -> Floats:
    """Return who wins on each prompt: [prompts, systems, systems], 1 if the row's system is better, ½ for a tie.

    Args:
        values: [prompts, systems], NaN where missing; without a comparison, both entries are 0.
    """
    good = direction * values
    one, other = good[:, :, None], good[:, None, :]
    compared = np.isfinite(one) & np.isfinite(other) & ~np.eye(values.shape[1], dtype=bool)
    with np.errstate(invalid="ignore"):
        wins: Floats = np.where(equal_up_to_rounding(one, other), 0.5, (one > other).astype(np.float64))
    return np.where(compared, wins, 0.0)


def _plain_means(values: Floats) -> Floats:
    """Return the mean of each column without missing values; equal columns have equal means, to the last digit."""
    there = np.isfinite(values)
    sums = np.ascontiguousarray(np.where(there, values, 0.0).T).sum(axis=1)  # each column separately, in one order
    with np.errstate(invalid="ignore"):
        means: Floats = sums / there.sum(axis=0)
    return means


def weighted_means(values: Floats, weights: Floats) -> Floats:
    """Return the weighted mean of each column without missing values, [resamples, columns]; NaN if it has none.

    Args:
        values: [prompts, columns], NaN where missing.
        weights: [resamples, prompts], as from `resample_weights`.
    """
    there = np.isfinite(values)
    if there.all():
        counts = weights.sum(axis=1, keepdims=True)
    else:
        values, counts = np.where(there, values, 0.0), weights @ there.astype(np.float64)
    with np.errstate(invalid="ignore"):
        found: Floats = (weights @ values) / counts
    return found


def _positions(means: Floats) -> Floats:
    """Rank along rows of [resamples, systems], 1 for the greatest; rounding errors are ties, and NaN stays NaN."""
    limits = means + rounding_of(means)  # a value is better than another if it exceeds its limit
    ascending = np.sort(means, axis=1)  # NaN last
    there = np.isfinite(means).sum(axis=1)
    made = np.full(means.shape, np.nan)
    for row, (limit, ordered, count) in enumerate(zip(limits, ascending, there, strict=True)):
        made[row] = 1.0 + count - np.searchsorted(ordered[:count], limit, side="right")
    made[np.isnan(means)] = np.nan
    return made


def _rank_intervals(drawn: Floats) -> tuple[Floats, Floats]:
    """Return the ends [systems] of the intervals that hold the middle `LEVEL` of resampled ranks; NaN if none.

    The ends are resampled ranks, rounded outwards.

    Args:
        drawn: [resamples, systems], NaN where a resample has no value of a system.
    """
    tail = (1 - LEVEL) / 2
    ordered = np.sort(drawn, axis=0)  # NaN last
    last = np.maximum(np.isfinite(drawn).sum(axis=0) - 1, 0)
    columns = np.arange(drawn.shape[1])
    lows = ordered[np.floor(last * tail).astype(np.int64), columns]
    highs = ordered[np.ceil(last * (1 - tail)).astype(np.int64), columns]
    return lows, highs


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Values, and their means in each resample.

    Attributes:
        values: [prompts, systems], greater is better.
        there: [prompts, systems], whether there is a value.
        weights: [resamples, prompts].
        means: [resamples, systems].
    """

    values: Floats
    there: NDArray[np.bool_]
    weights: Floats
    means: Floats

    def ties(self, best: int, others: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether the mean difference from each other system has 0 in its interval, or too few prompts."""
        both = self.there[:, [best]] & self.there[:, others]
        gaps = self._gaps(best, others)
        tail = (1 - LEVEL) / 2
        if np.isfinite(gaps).all():
            low, high = np.quantile(gaps, [tail, 1 - tail], axis=0)
            holds = (low <= 0) & (high >= 0)
        else:
            intervals = [percentile_interval(column) for column in gaps.T]
            holds = np.array([each is None or each.low <= 0 <= each.high for each in intervals])
        return np.asarray(holds | (both.sum(axis=0) < FEWEST_PAIRS))

    def _gaps(self, best: int, others: NDArray[np.int64]) -> Floats:
        """Return the mean differences over prompts that have both, [resamples, others]."""
        if (self.there[:, [best]] != self.there[:, others]).any():
            return weighted_means(differences(self.values[:, [best]], self.values[:, others]), self.weights)
        # On the same prompts, it is the difference of the known means.
        return differences(self.means[:, [best]], self.means[:, others])


def _tie_groups(ranks: Floats, drawn: _Drawn) -> list[int | None]:
    """Return the tie group of each system; None if it has no rank."""
    groups: list[int | None] = [None] * len(ranks)
    order = np.argsort(ranks, kind="stable")  # not by means: rounding errors must not determine the best of a group
    left = order[np.isfinite(ranks[order])]
    group = 0
    while len(left):
        group += 1
        tied = 1 + _tied(int(left[0]), left[1:], drawn)
        for i in left[:tied].tolist():
            groups[i] = group
        left = left[tied:]
    return groups


def _tied(best: int, others: NDArray[np.int64], drawn: _Drawn) -> int:
    """Count the other systems, in order, that tie with the best before the first that does not."""
    tied, size = 0, 1
    while tied < len(others):
        block = others[tied : tied + size]
        each = drawn.ties(best, block)
        if not each.all():
            return tied + int(np.argmin(each))
        tied += len(block)
        size = min(2 * size, _MOST_AT_ONCE)  # most groups are small, and some contain all systems
    return tied
