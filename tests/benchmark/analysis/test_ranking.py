"""Ranks against loops and plain resampling."""

import math
import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.analysis.ranking import prompt_wins, standings

Floats = NDArray[np.float64]


def columns(rows: int = 40, step: float = 0.0) -> tuple[Floats, Floats]:
    x, noise = np.random.default_rng(0).normal(size=(2, rows))
    y = x + noise
    return (np.round(x / step) * step, np.round(y / step) * step) if step else (x, y)


def board(prompts: int = 60) -> Floats:
    """Two that are as good as each other, one far below, one between and a copy of it."""
    noise = np.random.default_rng(0).normal(size=(prompts, 4))
    values: Floats = noise + np.array([2.0, 2.0, -3.0, 0.5])
    return np.column_stack([values, values[:, 3]])


def test_standings_of_a_board() -> None:
    found = standings(board(), resamples=500)
    assert [each.group for each in found] == [1, 1, 3, 2, 2]
    assert sorted(each.rank for each in found[:2] if each.rank) == [1, 2]
    assert [(each.low, each.high) for each in found] == [(1, 2), (1, 2), (5, 5), (3, 3), (3, 3)]
    assert [each.rank for each in found[2:]] == [5, 3, 3]
    assert found[2].mean == pytest.approx(board()[:, 2].mean())


def test_less_may_be_better() -> None:
    found = standings(-board(), direction=-1, resamples=500)
    assert [(a.rank, a.low, a.high, a.group) for a in found] == [
        (b.rank, b.low, b.high, b.group) for b in standings(board(), resamples=500)
    ]
    assert found[2].mean == pytest.approx(-board()[:, 2].mean())


def test_rank_intervals_equal_a_plain_resampling() -> None:
    values = np.random.default_rng(2).normal(size=(30, 5)) + np.linspace(0, 0.5, 5)
    values[::3, 1] = np.nan
    draws = np.random.default_rng(9).integers(30, size=(301, 30))
    ranks = []
    for rows in draws:
        means = [np.nanmean(values[rows, i]) for i in range(5)]
        ranks.append([1 + sum(other > own for other in means) for own in means])
    ordered = np.sort(np.array(ranks), axis=0)
    # Of 301 the 95% are between places 300 · 0.025 = 7.5 and 292.5: outwards, 7 and 293.
    expected = [(int(ordered[7, i]), int(ordered[293, i])) for i in range(5)]
    assert [(s.low, s.high) for s in standings(values, resamples=301, seed=9)] == expected


def plainly(values: Floats, seed: int, resamples: int) -> list[tuple[int | None, int | None, int | None, int | None]]:
    """Rank, its interval and the tie group of each system, by loops."""
    prompts, systems = values.shape
    draws = np.random.default_rng(seed).integers(prompts, size=(resamples, prompts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of means of nothing
        means = np.nanmean(values, axis=0)
        drawn = np.array([np.nanmean(values[rows], axis=0) for rows in draws])

        def better(one: float, other: float) -> bool:
            return one - other > 1e-12 + 1e-6 * abs(other)

        def ranks(row: Floats) -> list[float]:
            return [math.nan if math.isnan(own) else 1 + sum(better(other, own) for other in row) for own in row]

        def ties(one: int, other: int) -> bool:
            gaps = values[:, one] - values[:, other]
            found = np.array([np.nanmean(gaps[rows]) for rows in draws])
            found = found[np.isfinite(found)]
            if np.isfinite(gaps).sum() < 5 or len(found) < 2:
                return True
            low, high = np.quantile(found, [0.025, 0.975])
            return bool(low <= 0 <= high)

        resampled = np.array([ranks(row) for row in drawn])
        made: list[tuple[int | None, int | None, int | None, int | None]] = [(None, None, None, None)] * systems
        best, group = -1, 0
        own = ranks(means)
        for i in sorted((i for i in range(systems) if not math.isnan(means[i])), key=lambda i: own[i]):
            if best < 0 or not ties(best, i):
                best, group = i, group + 1
            there = resampled[np.isfinite(resampled[:, i]), i]
            low = int(np.quantile(there, 0.025, method="lower"))
            high = int(np.quantile(there, 0.975, method="higher"))
            several = np.isfinite(values[:, i]).sum() > 1
            made[i] = (int(own[i]), low, high, group) if several else (int(own[i]), None, None, group)
    return made


@pytest.mark.parametrize("seed", range(60))
def test_standings_equal_those_by_loops_with_ties_and_missing_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prompts, systems = int(rng.integers(1, 30)), int(rng.integers(1, 12))
    # Eighths are exact, and so are their sums: equal means are equal, whoever adds them up.
    values = np.round(8 * (rng.normal(size=(prompts, systems)) + rng.normal(scale=0.7, size=systems))) / 8
    if seed % 2:
        values[rng.random(values.shape) < rng.choice([0.05, 0.4, 0.9])] = np.nan
    values[:, rng.integers(systems)] = values[:, rng.integers(systems)]
    if seed % 5 == 0:
        values[:, rng.integers(systems)] = np.nan
    found = standings(values, seed=seed, resamples=99)
    assert [(each.rank, each.low, each.high, each.group) for each in found] == plainly(values, seed, 99)


def test_what_differs_by_rounding_has_one_rank() -> None:
    values = np.random.default_rng(0).normal(size=(25, 1)) + np.zeros((1, 6))
    values[:, 3] *= 1 + 1e-7  # as in another batch of a model in float32
    values[:, 4] += 1e-3
    values = np.column_stack([values, -values])
    found = standings(values, resamples=200)
    means = values.mean(axis=0)
    top = {i for i in range(12) if math.isclose(means[i], means.max(), rel_tol=1e-6)}
    assert {i for i, each in enumerate(found) if each.rank == 1} == top
    assert len({(found[i].rank, found[i].low, found[i].high, found[i].group) for i in (0, 1, 2, 3, 5)}) == 1
    assert len({(found[i].rank, found[i].low, found[i].high, found[i].group) for i in (6, 7, 8, 9, 11)}) == 1
    assert found[4].rank != found[0].rank


def test_standings_of_many_systems_take_little_memory() -> None:
    values = np.random.default_rng(0).normal(size=(200, 1000))
    tracemalloc.start()
    found = standings(values, resamples=500)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sorted(each.rank for each in found if each.rank) == list(range(1, 1001))
    assert peak < 200 * 2**20  # of each resample, systems by systems would be 4 GB


def test_a_system_without_values_has_no_standing_and_one_value_no_interval() -> None:
    values = np.column_stack([board()[:, :2], np.full(60, np.nan), np.full(60, np.nan)])
    values[0, 3] = -9.0
    found = standings(values, resamples=200)
    assert (found[2].rank, found[2].low, found[2].high, found[2].group) == (None, None, None, None)
    assert math.isnan(found[2].mean)
    assert (found[3].rank, found[3].low, found[3].high) == (3, None, None)
    assert found[3].group == 1  # one prompt shows no difference


@pytest.mark.parametrize(("prompts", "group"), [(4, 1), (5, 2)])
def test_too_few_prompts_separate_no_systems(prompts: int, group: int) -> None:
    """Of two systems alike, the same one is better on all of four prompts in one board of eight."""
    values = np.column_stack([np.arange(prompts) + 1.0, np.arange(prompts)])
    assert [each.group for each in standings(values)] == [1, group]


def test_prompt_wins() -> None:
    values = np.array([[1.0, 2.0, 1.0 + 1e-7], [np.nan, 1.0, 0.0]])
    assert prompt_wins(values)[0].tolist() == [[0, 0, 0.5], [1, 0, 1], [0.5, 0, 0]]
    assert prompt_wins(values)[1].tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert prompt_wins(values, -1)[1].tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0]]
