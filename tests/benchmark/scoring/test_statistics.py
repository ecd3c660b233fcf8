"""Intervals and tests against scipy, against brute force in loops, and against what they promise."""

import itertools
import math
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from scipy.stats import bootstrap

from benchmark.scoring import estimate
from benchmark.scoring.estimate import (
    FEW,
    Alternative,
    Estimate,
    bonferroni,
    bootstrap_means,
    cohens_dz,
    holm,
    percentile_interval,
    resample_weights,
    welch,
    wilcoxon,
)

Floats = NDArray[np.float64]


def skewed(rows: int = 60, columns: int = 3, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).exponential(size=(rows, columns))


def with_holes() -> Floats:
    values = skewed()
    values[::4, 0] = np.nan
    values[:50, 1] = np.nan
    return values


def limits(estimates: list[Estimate]) -> Floats:
    return np.array([mean.interval for mean in estimates], np.float64)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_agree_with_scipys(level: float) -> None:
    values = skewed()
    ours = limits(bootstrap_means(values, level=level, resamples=20_000))
    for column, (low, high) in zip(values.T, ours, strict=True):
        theirs = bootstrap(
            (column,), np.mean, confidence_level=level, n_resamples=20_000, method="percentile", rng=1
        ).confidence_interval
        # Two sets of random resamples: quantiles of 20,000 means lie within some hundredths of the width.
        assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.04 * (high - low))


@pytest.mark.parametrize("make", [skewed, with_holes])
def test_intervals_equal_a_plain_resampling(make: Callable[[], Floats]) -> None:
    values = make()
    draws = np.random.default_rng(3).integers(len(values), size=(500, len(values)))
    means = np.array([np.nanmean(values[rows], axis=0) for rows in draws])
    expected = np.quantile(means, [0.05, 0.95], axis=0).T
    ours = limits(bootstrap_means(values, resamples=500, level=0.9, seed=3, few=0))
    assert ours == pytest.approx(expected, abs=1e-12)


def test_intervals_of_clusters_equal_a_plain_resampling() -> None:
    values = with_holes()
    names = [f"c{row % 9}" for row in range(60)]
    draws = np.random.default_rng(3).integers(9, size=(300, 9))
    picked = [[row for cluster in each for row in range(60) if row % 9 == cluster] for each in draws]
    expected = np.quantile([np.nanmean(values[rows], axis=0) for rows in picked], [0.05, 0.95], axis=0).T
    ours = limits(bootstrap_means(values, clusters=names, resamples=300, level=0.9, seed=3, few=0))
    assert ours == pytest.approx(expected, abs=1e-12)
    assert [mean.interval for mean in bootstrap_means(values, clusters=["one"] * 60)] == [None] * 3


def test_resampling_in_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = with_holes()
    whole = bootstrap_means(values, resamples=500)
    monkeypatch.setattr(estimate, "_DRAWS_AT_ONCE", 7 * len(values))
    # Up to the order in which a library sums, which may follow the shape.
    assert limits(bootstrap_means(values, resamples=500)) == pytest.approx(limits(whole), rel=1e-12)


def test_intervals_cover_the_true_mean_as_often_as_they_say() -> None:
    # 500 experiments at once: bootstrap each column's 40 exponential values of true mean 1. A percentile interval on so
    # few skewed values is known to cover a little less than it says; ±3% is three standard errors of the share.
    intervals = limits(bootstrap_means(skewed(rows=40, columns=500), resamples=2000, level=0.9))
    covered = float(np.mean((intervals[:, 0] <= 1) & (intervals[:, 1] >= 1)))
    assert 0.84 <= covered <= 0.93


def test_intervals_from_few_values_are_widened_to_cover_as_often_as_they_say() -> None:
    """500 experiments of 8 normal values; plain intervals cover some 90% of them, and ±2% is two standard errors."""
    values = np.random.default_rng(0).normal(size=(8, 500))
    plain, widened = (limits(bootstrap_means(values, resamples=2000, few=few)) for few in (0, FEW))
    shares = [float(np.mean((each[:, 0] <= 0) & (each[:, 1] >= 0))) for each in (plain, widened)]
    assert shares[0] < 0.92
    assert 0.93 <= shares[1] <= 0.97
    # By cluster, the clusters are counted; and 30 values are many.
    clustered = limits(
        bootstrap_means(np.repeat(values, 5, axis=0), clusters=[*np.repeat(range(8), 5)], resamples=2000)
    )
    assert clustered == pytest.approx(widened)
    many = skewed(rows=30)
    assert bootstrap_means(many, resamples=100) == bootstrap_means(many, resamples=100, few=0)


def test_standardised_intervals_equal_a_plain_resampling_and_cover_large_effects() -> None:
    values = 1e6 + with_holes()
    draws = np.random.default_rng(3).integers(len(values), size=(500, len(values)))
    effects = [np.nanmean(values[rows], axis=0) / np.nanstd(values[rows], axis=0, ddof=1) for rows in draws]
    expected = np.quantile(effects, [0.025, 0.975], axis=0).T
    ours = limits(bootstrap_means(values, resamples=500, seed=3, few=0, standardise=True))
    assert ours == pytest.approx(expected, rel=1e-6)
    # Intervals of the mean that are divided by one standard deviation cover d_z = 3 in some 60% of cases.
    normal = 3 + np.random.default_rng(0).normal(size=(100, 400))
    found = limits(bootstrap_means(normal, resamples=1000, standardise=True))
    assert np.mean((found[:, 0] <= 3) & (found[:, 1] >= 3)) > 0.91
    assert bootstrap_means(np.ones((40, 1)), standardise=True) == [Estimate(None, n=40)]


@pytest.mark.parametrize("there", [0, 1])
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_fewer_than_two_values_have_no_interval(rows: int, there: int) -> None:
    values = np.full((rows, 2), np.nan)
    values[:there] = 1.0
    count = min(there, rows)
    assert bootstrap_means(values) == [Estimate(1.0 if count else None, n=count)] * 2


CLUSTERS = ["b", "a", "b", "c", "a", "b", "d", "e", "e", "f"]


def test_clusters_are_drawn_whole_and_as_many_as_there_are() -> None:
    weights = resample_weights(10, clusters=CLUSTERS, resamples=200, seed=5)
    assert weights.shape == (200, 10)
    firsts = {name: CLUSTERS.index(name) for name in CLUSTERS}
    for row, name in enumerate(CLUSTERS):
        assert (weights[:, row] == weights[:, firsts[name]]).all()
    assert (weights[:, list(firsts.values())].sum(axis=1) == 6).all()


def test_the_names_of_clusters_do_not_matter() -> None:
    renamed = [{"b": 9, "a": 8, "c": 7, "d": 6, "e": 5, "f": 4}[name] for name in CLUSTERS]
    one, other = (resample_weights(10, clusters=names, resamples=20, seed=1) for names in (CLUSTERS, renamed))
    assert (one == other).all()


def test_resample_weights_of_nothing_and_of_too_few_names() -> None:
    assert resample_weights(0, resamples=3).shape == (3, 0)
    with pytest.raises(ValueError, match="2 cluster names for 3 rows"):
        resample_weights(3, clusters=["a", "b"])


def test_a_percentile_interval_leaves_out_what_is_not_finite() -> None:
    values = np.arange(101.0)
    found = percentile_interval(values, 0.9)
    assert found == pytest.approx((5.0, 95.0))
    assert percentile_interval(np.append(values, [np.nan, np.inf]), 0.9) == found
    assert percentile_interval([1.0, math.nan]) is None
    assert percentile_interval([]) is None


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(("rows", "step"), [(8, 0.0), (30, 0.0), (80, 0.0), (12, 0.5), (40, 0.5)])
def test_wilcoxon_agrees_with_scipys(alternative: Alternative, rows: int, step: float) -> None:
    a, b = skewed(rows=rows, columns=2).T
    if step:  # ties and zeros
        a, b = np.round(a / step) * step, np.round(b / step) * step
    ours, theirs = wilcoxon(a, b, alternative), stats.wilcoxon(a, b, alternative=alternative)
    assert (ours.statistic, ours.p, ours.n) == (theirs.statistic, theirs.pvalue, rows)


def test_wilcoxon_equals_the_count_of_all_sign_patterns() -> None:
    a, b = skewed(rows=9, columns=2, seed=4).T
    order = np.argsort(np.argsort(np.abs(a - b))) + 1
    statistic = order[a > b].sum()
    sums = [sum(r for r, up in zip(order, signs, strict=True) if up) for signs in itertools.product([0, 1], repeat=9)]
    found = wilcoxon(a, b, "greater")
    assert found.statistic == statistic
    assert found.p == pytest.approx(np.mean(np.array(sums) >= statistic), rel=1e-12)


def test_wilcoxon_leaves_out_what_is_missing() -> None:
    a, b = skewed(rows=20, columns=2).T
    holes = a.copy()
    holes[:4] = np.nan
    assert wilcoxon(holes, b) == wilcoxon(a[4:], b[4:])


def test_wilcoxon_of_too_few_pairs_and_of_no_difference() -> None:
    few = wilcoxon(np.arange(4.0), np.zeros(4))
    assert (few.n, few.statistic, few.p, few.untested) == (4, None, None, "fewer than 5 pairs")
    assert wilcoxon(np.ones(9), np.ones(9)).p == 1.0
    one = wilcoxon(np.array([1.0, 1, 1, 1, 2]), np.ones(5), "greater")  # a single pair differs
    assert one.p == pytest.approx(0.5)


def test_the_rank_biserial_correlation_says_whom_the_ranks_favour() -> None:
    """Kerby's simple difference: favourable minus unfavourable rank sums; it may contradict the mean."""
    rng = np.random.default_rng(5)
    a, b = np.round(rng.normal(size=(2, 40)) * 4) / 4
    gaps = a - b
    ranks = stats.rankdata(np.abs(gaps[gaps != 0]))
    up, down = ranks[gaps[gaps != 0] > 0].sum(), ranks[gaps[gaps != 0] < 0].sum()
    assert wilcoxon(a, b).rank_biserial == pytest.approx((up - down) / (up + down))
    assert wilcoxon(a, b).statistic == min(up, down)
    assert wilcoxon(b, a).rank_biserial == pytest.approx((down - up) / (up + down))
    assert wilcoxon(np.arange(9.0) + 1, np.zeros(9)).rank_biserial == 1.0
    assert wilcoxon(np.ones(9), np.ones(9)).rank_biserial == 0.0
    many = np.array([1.0] * 30 + [-8.0] * 5)
    found = wilcoxon(many, np.zeros(35))
    assert many.mean() < 0 < (found.rank_biserial or 0)
    assert (found.p or 1) < 0.01


def test_wilcoxon_treats_differences_of_rounding_as_zeros_and_ties() -> None:
    b = np.array([0.7, 0.1, 0.4, 0.9, 0.2, 0.3, 0.5, 0.6])
    assert wilcoxon(b + 1e-16, b).p == 1.0
    assert wilcoxon(b * (1 + 1e-7), b).p == 1.0  # a model's float32 values in another batch
    assert wilcoxon(np.append(b * 1.1, 1e20), np.append(b, 1.0)).p == pytest.approx(2 / 2**9)  # all nine are greater
    steps = np.array([1, 1, 2, 2, -1, 2, 1, 0])
    assert wilcoxon(b + steps / 10, b) == wilcoxon(steps.astype(float), np.zeros(8))


def plain_holm(p: list[float]) -> list[float]:
    """As Holm wrote it: each hypothesis's p is the smallest level at which the step-down procedure rejects it."""
    made = []
    for own in p:
        worst = 0.0
        for other in p:
            if other <= own:
                worst = max(worst, other * sum(each >= other for each in p))
        made.append(min(1.0, worst))
    return made


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8, unique=True))
def test_holm_equals_its_definition(p: list[float]) -> None:
    adjusted = holm(p)
    assert adjusted == pytest.approx(plain_holm(p), rel=1e-12)
    order = np.argsort(p)
    assert (np.diff(adjusted[order]) >= 0).all()
    assert (adjusted >= np.array(p)).all()
    assert (adjusted <= bonferroni(p) + 1e-15).all()


def test_corrections_do_not_count_what_was_not_tested() -> None:
    for correct in (holm, bonferroni):
        found = correct([0.01, math.nan, 0.2])
        assert math.isnan(found[1])
        assert found[[0, 2]].tolist() == correct([0.01, 0.2]).tolist()
        assert correct([]).shape == (0,)


def test_cohens_dz() -> None:
    assert cohens_dz(np.array([1.0, 2.0, 3.0])) == 2.0
    assert cohens_dz(np.array([1.0, 2.0, 3.0, np.nan])) == 2.0
    assert math.isnan(cohens_dz(np.array([1.0])))
    assert math.isnan(cohens_dz(np.array([0.1, 0.1, 0.1])))


def test_welch_is_the_golden_one() -> None:
    a, b = np.array([1.0, 2, 3, 4]), np.array([2.0, 2, 5])
    found = welch(a, b)
    assert (found.t, found.df, found.p) == pytest.approx((-0.420084025208, 3.597510373444, 0.698283243114), abs=1e-12)
    pooled = math.sqrt((3 * np.var(a, ddof=1) + 2 * np.var(b, ddof=1)) / 5)
    assert found.d == pytest.approx(-0.5 / pooled)


def test_welch_without_spread_or_values_says_nothing() -> None:
    assert math.isnan(welch(np.array([1.0]), np.array([1.0, 2.0])).p)
    assert math.isnan(welch(np.ones(3), np.full(3, 2.0)).t)
    assert math.isfinite(welch(np.ones(3), np.array([1.0, 2.0])).p)


def test_many_columns_are_resampled_alike_in_blocks_that_bound_memory() -> None:
    values = np.random.default_rng(1).normal(size=(6, 2500))
    values[0, ::3] = np.nan
    tracemalloc.start()
    found = bootstrap_means(values, resamples=1000, level=0.5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 2500 * 1000 * 8  # twice the means of all resamples; without blocks, four times
    for column in (0, 1, 1023, 1024, 2499):
        (alone,) = bootstrap_means(values[:, [column]], resamples=1000, level=0.5)
        assert found[column].interval == pytest.approx(alone.interval)
