"""Estimates against a plain resampling, and against what their intervals and p-values promise."""

from collections.abc import Hashable, Sequence

import numpy as np
import pytest

from benchmark.scoring.estimate import Estimate, Floats, estimate, resample_weights


def skewed(rows: int = 60, columns: int = 1, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).exponential(size=(rows, columns))


def mean_gap(
    gaps: Floats,
    clusters: Sequence[Hashable] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    chance: float | None = 0.0,
) -> Estimate:
    """The mean of the gaps that are there."""
    drawn = resample_weights(len(gaps), clusters=clusters, resamples=resamples, seed=seed)
    weights = np.vstack([np.ones((1, len(gaps))), drawn])
    there = np.isfinite(gaps)
    with np.errstate(invalid="ignore"):
        return estimate(weights @ np.where(there, gaps, 0.0) / (weights @ there), chance)


def test_a_difference_equals_a_plain_resampling() -> None:
    a, b = skewed(columns=2).T
    a[3] = b[9] = np.nan
    found = mean_gap(a - b, resamples=400, seed=8)
    draws = np.random.default_rng(8).integers(60, size=(400, 60))
    gaps = np.array([np.nanmean((a - b)[rows]) for rows in draws])
    assert found.value == pytest.approx(np.nanmean(a - b))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(gaps, [0.025, 0.975])), abs=1e-12)
    assert found.p == pytest.approx(2 * min((gaps <= 0).mean(), (gaps >= 0).mean()))


def test_chance_moves_p_and_nothing_else() -> None:
    values = skewed()[:, 0]
    drawn = values[np.random.default_rng(1).integers(60, size=(500, 60))].mean(axis=1)
    plain, tested = mean_gap(values, chance=None), mean_gap(values, chance=1.0)
    assert plain.p is None
    assert (tested.value, tested.low, tested.high) == pytest.approx((plain.value, plain.low, plain.high), abs=1e-12)
    assert estimate(np.append(1.0, drawn), chance=1.0).p == pytest.approx(
        2 * min((drawn <= 1).mean(), (drawn >= 1).mean())
    )


def test_a_paired_difference_is_surer_than_two_intervals() -> None:
    found = mean_gap(0.01 - np.linspace(-0.001, 0.001, 60))
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low < found.high < 0.02
    assert found.p == pytest.approx(1 / 1001)


def test_clusters_widen_the_interval_of_a_difference() -> None:
    # Every row ten times over says no more than once.
    gaps = np.random.default_rng(0).normal(size=30)
    repeated, names = np.repeat(gaps, 10), np.repeat(np.arange(30), 10).tolist()
    once, ten, naive = (mean_gap(gaps, seed=1), mean_gap(repeated, names, seed=1), mean_gap(repeated, seed=1))
    assert (ten.low, ten.high) == pytest.approx((once.low, once.high))
    width = {each: (each.high or 0.0) - (each.low or 0.0) for each in (once, naive)}
    assert 0 < width[naive] < 0.5 * width[once]


def test_differences_without_enough_rows() -> None:
    nan = np.nan
    assert mean_gap(np.array([nan, nan])) == Estimate(None, None, None, None)
    assert estimate(np.array([2.0, nan, 2.0]), chance=0.0) == Estimate(2.0, None, None, None)
    assert estimate(np.array([nan, 1.0, 2.0]), chance=0.0) == Estimate(None, None, None, None)
    assert mean_gap(np.zeros(4)).p == 1.0


def test_an_interval_from_few_clusters_is_widened_and_its_p_is_not() -> None:
    draws = np.append(0.0, np.random.default_rng(0).normal(size=5000))
    few, many, unknown = (estimate(draws, 1.0, clusters=count) for count in (8, 30, None))
    assert many == unknown
    assert few.high == pytest.approx(2.365 * (8 / 7) ** 0.5, abs=0.1)  # Student's t at 97.5%, 7 degrees of freedom
    assert few.p == many.p


def test_no_interval_excludes_its_estimate() -> None:
    """Resamples of a best threshold's accuracy lie above it."""
    found = estimate(np.array([0.5, 0.6, 0.7, 0.8]))
    assert found.low == 0.5
