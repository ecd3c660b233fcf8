"""Ranks against loops."""

import itertools
import math
import warnings

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from benchmark.analysis.ranking import prompt_wins, standings

Floats = NDArray[np.float64]


def board(prompts: int = 60) -> Floats:
    """Two that are as good as each other, one far below, one between and a copy of it."""
    noise = np.random.default_rng(0).normal(size=(prompts, 4))
    values: Floats = noise + np.array([2.0, 2.0, -3.0, 0.5])
    return np.column_stack([values, values[:, 3]])


def test_standings_of_a_board() -> None:
    found = standings(board())
    assert [each.group for each in found] == [1, 1, 3, 2, 2]
    assert sorted(each.rank for each in found[:2] if each.rank) == [1, 2]
    assert [(each.low, each.high) for each in found] == [(1, 2), (1, 2), (5, 5), (3, 4), (3, 4)]
    assert [each.rank for each in found[2:]] == [5, 3, 3]
    assert found[2].mean == pytest.approx(board()[:, 2].mean())


def test_less_may_be_better() -> None:
    found = standings(-board(), direction=-1)
    assert [(a.rank, a.low, a.high, a.group) for a in found] == [
        (b.rank, b.low, b.high, b.group) for b in standings(board())
    ]
    assert found[2].mean == pytest.approx(-board()[:, 2].mean())


def plainly(values: Floats) -> list[tuple[int | None, int | None, int | None, int | None]]:
    """Rank, its interval and the tie group of each system, by loops over pairs."""
    systems = range(values.shape[1])
    there = [i for i in systems if np.isfinite(values[:, i]).any()]
    means = {i: float(np.nanmean(values[:, i])) for i in there}
    tests: dict[tuple[int, int], tuple[float, float]] = {}  # difference and p-value
    for i, j in itertools.combinations(there, 2):
        both = np.isfinite(values[:, i]) & np.isfinite(values[:, j])
        one, other = values[both, i], values[both, j]
        if len(one) < 5:
            continue
        gap = float(np.mean(one - other))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of differences that are all the same
            p = 1.0 if abs(gap) < 1e-9 else float(stats.ttest_rel(one, other).pvalue)
        tests[i, j] = gap, p
    differ: dict[tuple[int, int], float] = {}
    for tested, (pair, (gap, p)) in enumerate(sorted(tests.items(), key=lambda each: each[1][1])):
        if p * (len(tests) - tested) >= 0.05:
            break
        differ[pair], differ[pair[::-1]] = gap, -gap
    made: list[tuple[int | None, int | None, int | None, int | None]] = [(None, None, None, None)] * len(systems)
    best, group = -1, 0
    ranks = {i: 1 + sum(means[other] > means[i] + 1e-9 for other in there) for i in there}
    for i in sorted(there, key=lambda i: ranks[i]):
        if best < 0 or (best, i) in differ:
            best, group = i, group + 1
        low = 1 + sum(differ.get((other, i), 0) > 0 for other in there)
        high = len(there) - sum(differ.get((i, other), 0) > 0 for other in there)
        made[i] = ranks[i], min(low, ranks[i]), max(high, ranks[i]), group
    return made


@pytest.mark.parametrize("seed", range(60))
def test_standings_equal_those_by_loops_with_ties_and_missing_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    prompts, systems = int(rng.integers(1, 30)), int(rng.integers(1, 12))
    values = np.round(8 * (rng.normal(size=(prompts, systems)) + rng.normal(scale=0.7, size=systems))) / 8
    if seed % 2:
        values[rng.random(values.shape) < rng.choice([0.05, 0.4, 0.9])] = np.nan
    values[:, rng.integers(systems)] = values[:, rng.integers(systems)]
    if seed % 5 == 0:
        values[:, rng.integers(systems)] = np.nan
    values += 1000.0 * (seed % 3)  # large values with small differences
    assert [(each.rank, each.low, each.high, each.group) for each in standings(values)] == plainly(values)


def test_equal_systems_are_rarely_separated_and_different_ones_are() -> None:
    """Of boards of ten equal systems, about one in twenty has two tie groups; without correction, most have."""
    rng = np.random.default_rng(0)
    boards = [rng.integers(1, 9, size=(30, 1)) + rng.integers(-1, 2, size=(30, 10)) for _ in range(200)]
    several = sum(max(each.group or 0 for each in standings(board.astype(np.float64))) > 1 for board in boards)
    covering = sum(all(each.low == 1 for each in standings(board.astype(np.float64))) for board in boards)
    assert several <= 18  # 10 are expected; more than 18 has a probability of 0.4%
    assert covering >= 182
    shifted = [standings(board + np.repeat([0.0, 2.0], 5)) for board in boards]
    assert all(each.rank and each.rank > 5 for board in shifted for each in board[:5])
    assert sum(each.low == 6 for board in shifted for each in board[:5]) > 990


def test_what_differs_by_rounding_has_one_rank() -> None:
    values = np.random.default_rng(0).normal(size=(25, 1)) + np.zeros((1, 6))
    values[:, 3] *= 1 + 1e-7  # as in another batch of a model in float32
    values[:, 4] += 1e-3
    values = np.column_stack([values, -values])
    found = standings(values)
    means = values.mean(axis=0)
    top = {i for i in range(12) if math.isclose(means[i], means.max(), rel_tol=1e-6)}
    assert {i for i, each in enumerate(found) if each.rank == 1} == top
    assert len({(found[i].rank, found[i].low, found[i].high, found[i].group) for i in (0, 1, 2, 3, 5)}) == 1
    assert len({(found[i].rank, found[i].low, found[i].high, found[i].group) for i in (6, 7, 8, 9, 11)}) == 1
    assert found[4].rank != found[0].rank


def test_a_system_without_values_has_no_standing_and_one_value_the_widest_interval() -> None:
    values = np.column_stack([board()[:, :2], np.full(60, np.nan), np.full(60, np.nan)])
    values[0, 3] = -9.0
    found = standings(values)
    assert (found[2].rank, found[2].low, found[2].high, found[2].group) == (None, None, None, None)
    assert math.isnan(found[2].mean)
    assert (found[3].rank, found[3].low, found[3].high) == (3, 1, 3)
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
