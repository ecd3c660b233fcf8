"""Bootstrap intervals against scipy, against a plain resampling, and against what an interval promises."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import bootstrap

from benchmark import statistics
from benchmark.statistics import Interval, bootstrap_means

Floats = NDArray[np.float64]


def skewed(rows: int = 60, columns: int = 3, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).exponential(size=(rows, columns))


def with_holes() -> Floats:
    values = skewed()
    values[::4, 0] = np.nan
    values[:50, 1] = np.nan
    return values


def limits(intervals: list[Interval | None]) -> Floats:
    made = []
    for interval in intervals:
        assert interval is not None
        made.append([interval.low, interval.high])
    return np.array(made)


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
    ours = limits(bootstrap_means(values, resamples=500, level=0.9, seed=3))
    assert ours == pytest.approx(expected, abs=1e-12)


def test_columns_share_their_resamples() -> None:
    # So a table's columns can be compared: what is 2x + 1 in every row is so in every interval, whatever stands beside.
    x = skewed(columns=1)
    alone, beside = limits(bootstrap_means(x)), limits(bootstrap_means(np.hstack([x, 2 * x + 1])))
    assert beside[:1] == pytest.approx(alone, abs=1e-12)
    assert beside[1:] == pytest.approx(2 * alone + 1, abs=1e-12)


def test_resampling_in_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = with_holes()
    whole = bootstrap_means(values, resamples=500)
    monkeypatch.setattr(statistics, "_DRAWS_AT_ONCE", 7 * len(values))
    # Up to the order in which a library sums, which may follow the shape.
    assert limits(bootstrap_means(values, resamples=500)) == pytest.approx(limits(whole), rel=1e-12)


def test_intervals_cover_the_true_mean_as_often_as_they_say() -> None:
    # 500 experiments at once: bootstrap each column's 40 exponential values of true mean 1. A percentile interval on so
    # few skewed values is known to cover a little less than it says; ±3% is three standard errors of the share.
    intervals = limits(bootstrap_means(skewed(rows=40, columns=500), resamples=2000, level=0.9))
    covered = float(np.mean((intervals[:, 0] <= 1) & (intervals[:, 1] >= 1)))
    assert 0.84 <= covered <= 0.93


def test_wider_levels_and_fewer_rows_give_wider_intervals() -> None:
    def width(values: Floats, level: float) -> float:
        [[low, high]] = limits(bootstrap_means(values, level=level))
        return float(high - low)

    x = skewed(rows=400, columns=1)
    assert width(x, 0.5) < width(x, 0.95) < width(x, 0.99)
    # With the square root of the number of rows.
    assert width(x[:100], 0.95) / width(x, 0.95) == pytest.approx(2, rel=0.25)


@pytest.mark.parametrize("there", [0, 1])
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_fewer_than_two_values_have_no_interval(rows: int, there: int) -> None:
    values = np.full((rows, 2), np.nan)
    values[:there] = 1.0
    assert bootstrap_means(values) == [None, None]


def test_two_equal_values_have_an_interval_of_no_width() -> None:
    assert bootstrap_means(np.array([[2.0], [2.0], [np.nan]]), resamples=200) == [Interval(2.0, 2.0)]
