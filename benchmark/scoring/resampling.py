"""Bootstrap intervals and significance tests over prompts, or over clusters of dependent rows.

A resample is a count for each row, so any statistic of weighted rows can be bootstrapped, and two statistics can be
compared on the same resamples.
"""

import hashlib
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Alternative = Literal["two-sided", "greater", "less"]
LEVEL = 0.95  # coverage of all intervals
FEWEST_PAIRS = 5  # with fewer, not even a one-sided signed-rank test can reach 5%
ROUNDING = 1e-12  # the same numbers summed in another order differ by less, relative to values of at least 1
# The same texts in another batch of a model have values that differ by less, relatively. (Exceptions, by up to 1e-5:
# bottleneck, learned_diversity, and excess entropy and total correlation, which are differences.)
FLOAT32_ROUNDING = 1e-6


def resample_weights(
    rows: int, *, clusters: Sequence[Hashable] | None = None, resamples: int = 1000, seed: int = 0
) -> NDArray[np.int64]:
    """Draw how often each row occurs in each resample; whole clusters are drawn with replacement.

    A statistic of a resample is that of the rows with these weights, so one draw serves any number of statistics, and
    comparisons of two systems on the same rows are paired.

    Args:
        clusters: Cluster of each row, such as its context; rows of a cluster are drawn together. None: each row is a
            cluster of its own.
        seed: Random seed. Clusters are numbered in order of first appearance, so their names do not matter.

    Returns:
        [resamples, rows] counts; a resample draws as many clusters as there are.

    Raises:
        ValueError: The number of cluster names differs from the number of rows.
    """
    codes, count = cluster_codes(rows, clusters)
    if count == 0:
        return np.zeros((resamples, 0), np.int64)
    return drawn_weights(count, resamples, np.random.default_rng(seed))[:, codes]


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


def weights_with_original(
    rows: int, *, clusters: Sequence[Hashable] | None = None, resamples: int = 1000, seed: int = 0
) -> Floats:
    """Return `resample_weights` below a row of ones for the original data, [1 + resamples, rows]; args as there."""
    drawn = resample_weights(rows, clusters=clusters, resamples=resamples, seed=seed)
    return np.vstack([np.ones((1, rows)), drawn])


def half_of(name: str, seed: int = 0) -> int:
    """Return the half, 0 or 1, that a prompt or context belongs to: by hash, so the same for every system and task."""
    return hashlib.sha256(f"{seed}/{name}".encode()).digest()[0] & 1


def cluster_codes(rows: int, clusters: Sequence[Hashable] | None) -> tuple[NDArray[np.int64], int]:
    """Number the clusters in order of first appearance; return each row's number, and the number of clusters.

    Raises:
        ValueError: The number of cluster names differs from the number of rows.
    """
    if clusters is None:
        return np.arange(rows), rows
    if len(clusters) != rows:
        raise ValueError(f"{len(clusters)} cluster names for {rows} rows")
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(name, len(numbers)) for name in clusters], np.int64)
    return codes, len(numbers)


@dataclass(frozen=True, slots=True)
class SignedRank:
    """Wilcoxon's signed-rank test."""

    n: int
    statistic: float | None  # sum of ranks of positive differences (two-sided: the smaller sum); None if untested
    p: float | None  # p-value; None if untested
    # Matched-pairs rank-biserial correlation, from −1 to 1 (Kerby 2014): the rank sum of positive differences minus
    # that of negative ones, divided by their total; 0 if no pair differs. The mean may differ from it in sign. None if
    # untested.
    rank_biserial: float | None
    untested: str | None = None


def wilcoxon(a: Floats, b: Floats, alternative: Alternative = "two-sided") -> SignedRank:
    """Test paired values by Wilcoxon's signed-rank test, as `scipy.stats.wilcoxon` does: zero differences are dropped.

    Differences that are equal up to rounding are ties; those within rounding of 0 are zeros. Exact for up to 50 pairs
    without ties or zeros (with them, up to 13 pairs by all sign patterns); else normal.

    Args:
        a: [pairs], NaN where missing; such pairs are dropped.
        b: [pairs], as `a`.
        alternative: *greater*: a is greater than b.

    Returns:
        The test; untested with fewer than five pairs, and p = 1 if no pair differs.
    """
    from scipy import stats

    there = np.isfinite(a) & np.isfinite(b)
    first, second = a[there], b[there]
    n = len(first)
    if n < FEWEST_PAIRS:
        return SignedRank(n, None, None, None, f"fewer than {FEWEST_PAIRS} pairs")
    # The median, because under a mean or maximum one huge value would turn the differences of the others into ties.
    unit = ROUNDING * max(1.0, float(np.median(np.abs([first, second]))))
    steps = np.round(differences(first, second) / unit)
    if not steps.any():
        return SignedRank(n, 0.0, 1.0, 0.0)
    with warnings.catch_warnings():
        # Some versions warn that the normal approximation is poor for few pairs; the reader sees n next to p.
        warnings.simplefilter("ignore", UserWarning)
        found = stats.wilcoxon(steps, zero_method="wilcox", alternative=alternative)
    ranks = stats.rankdata(np.abs(steps[steps != 0]))
    balance = float(ranks @ np.sign(steps[steps != 0]) / ranks.sum())
    return SignedRank(n, float(found.statistic), float(found.pvalue), balance)


def mean_agrees(
    difference: float, d_z: float | None, rank_biserial: float, n: int, alternative: Alternative = "two-sided"
) -> bool:
    """Return whether the mean of paired differences supports a signed-rank test's finding about it.

    The mean must have the sign of the ranks and be significant at 5% by a paired t-test. The signed-rank test alone is
    of symmetry: on skewed differences whose mean is 0, such as those of real systems, it finds one far too often.

    Args:
        difference: Their mean.
        d_z: As from `cohens_dz`; None where they do not vary.
        n: Number of pairs.
    """
    from scipy.special import stdtr

    if difference * rank_biserial <= 0:
        return False
    tails = 2 if alternative == "two-sided" else 1
    return d_z is None or bool(tails * stdtr(n - 1, -abs(d_z) * n**0.5) < 1 - LEVEL)


def differences(a: Floats, b: Floats) -> Floats:
    """Subtract paired values, NaN where missing; values that are equal up to rounding differ by 0.

    >>> differences(np.array([0.1 + 0.2, 2.0]), np.array([0.3, 1.5])).tolist()
    [0.0, 0.5]
    """
    return np.where(equal_up_to_rounding(a, b), 0.0, a - b)


def equal_up_to_rounding(a: Floats, b: Floats) -> NDArray[np.bool_]:
    """Return whether values are equal up to rounding in float32; NaN equals nothing."""
    return np.asarray(np.isclose(a, b, rtol=FLOAT32_ROUNDING, atol=ROUNDING))


def rounding_of(values: Floats) -> Floats:
    """Return how far from each value others lie at most that are equal to it up to rounding in float32.

    >>> rounding_of(np.array([0.0, -1e9])).tolist()
    [1e-12, 1000.000000000001]
    """
    return ROUNDING + FLOAT32_ROUNDING * np.abs(values)


def bonferroni(p: ArrayLike) -> Floats:
    """Adjust p-values by Bonferroni, at most 1. NaNs are not counted as tests and stay NaN."""
    given = np.asarray(p, np.float64)
    adjusted: Floats = np.minimum(given * np.isfinite(given).sum(), 1.0)
    return adjusted


def holm(p: ArrayLike, tests: int | None = None) -> Floats:
    """Adjust p-values by Holm's step-down method (Holm 1979), at most 1. NaNs are not counted as tests and stay NaN.

    Args:
        tests: Number of all tests, if the greatest p-values are left out of `p`.
    """
    given = np.asarray(p, np.float64)
    adjusted = np.full(given.shape, np.nan)
    there = np.flatnonzero(np.isfinite(given))
    ascending = there[np.argsort(given[there], kind="stable")]
    left = (len(ascending) if tests is None else tests) - np.arange(len(ascending))
    adjusted[ascending] = np.minimum(np.maximum.accumulate(given[ascending] * left), 1.0)
    return adjusted


def cohens_dz(differences: Floats) -> float:
    """Divide the mean of paired differences by their standard deviation (ddof 1); NaN if under two or all equal."""
    there = differences[np.isfinite(differences)]
    if len(there) < 2 or np.all(there == there[0]):
        return float("nan")
    return float(np.mean(there) / np.std(there, ddof=1))


@dataclass(frozen=True, slots=True)
class Welch:
    """Welch's t-test of two groups: t, its degrees of freedom by Satterthwaite, two-sided p, and Cohen's d (pooled)."""

    t: float
    df: float
    p: float
    d: float


def welch(a: Floats, b: Floats) -> Welch:
    """Compare the means of two groups of unequal variance.

    Args:
        a: [rows of one group].
        b: [rows of the other].

    Returns:
        The test of a − b; all NaN if a group has fewer than two values, or neither varies.
    """
    from scipy.special import stdtr

    if min(len(a), len(b)) < 2 or (np.ptp(a) == 0 and np.ptp(b) == 0):
        return Welch(*[float("nan")] * 4)
    gap = float(np.mean(a)) - float(np.mean(b))
    of_a, of_b = float(np.var(a, ddof=1)) / len(a), float(np.var(b, ddof=1)) / len(b)
    df = (of_a + of_b) ** 2 / (of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1))
    t = gap / (of_a + of_b) ** 0.5
    pooled = (of_a * len(a) * (len(a) - 1) + of_b * len(b) * (len(b) - 1)) / (len(a) + len(b) - 2)
    return Welch(t, df, 2 * float(stdtr(df, -abs(t))), gap / pooled**0.5)


def drawn_weights(things: int, resamples: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw from `things` items as many with replacement, `resamples` times; return counts [resamples, things]."""
    draws = rng.integers(things, size=(resamples, things)) + np.arange(resamples)[:, None] * things
    return np.bincount(draws.ravel(), minlength=resamples * things).reshape(resamples, things)
