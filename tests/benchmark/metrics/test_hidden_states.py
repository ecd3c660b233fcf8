"""EigenScore over layers and leave-one-out: golden values, brute force, laws, what has none."""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmark.metrics.eigenscore import (
    Covariances,
    covariances_of,
    e_average,
    e_original,
    eigenscore,
    inside_layers,
    leave_one_out,
    leave_one_out_average,
    min_max,
    original_layer,
)
from benchmark.metrics.metric import Unscorable
from tests.benchmark.helpers import golden

Floats = NDArray[np.float64]
ALPHA = 1e-3
GOLDEN = golden("uncertainty")
MATRIX = np.array(GOLDEN["matrix"], dtype=np.float64)
close: Callable[..., object] = pytest.approx


def drawn(k: int, d: int = 6, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal((k, d))


@st.composite
def matrices(draw: st.DrawFn, least: int = 2) -> Floats:
    """[K, d] of ordinary size; some rows repeat."""
    k, d, seed = draw(st.integers(least, 8)), draw(st.integers(2, 12)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    return drawn(k, d, seed)[rng.integers(0, k, k)]


def brute_eigenscore(z: Floats) -> float:
    """The determinant of the covariance, each of its numbers summed one by one."""
    k, d = z.shape
    centred = [[value - sum(row) / d for value in row] for row in z.tolist()]
    covariance = [[sum(a * b for a, b in zip(x, y, strict=True)) / (d - 1) for y in centred] for x in centred]
    sign, logarithm = np.linalg.slogdet(np.array(covariance) + ALPHA * np.eye(k))
    assert sign == 1
    return float(logarithm) / float(k * math.log(10))


def test_golden_values_of_leave_one_out() -> None:
    assert leave_one_out(MATRIX) == close(np.array(GOLDEN["leave_one_out"]), abs=1e-9)


@given(matrices(), st.integers(0, 10**6))
def test_laws_of_eigenscore(z: Floats, seed: int) -> None:
    rng = np.random.default_rng(seed)
    score, k = eigenscore(z), len(z)
    assert eigenscore(rng.permutation(z)) == close(score, abs=1e-9)
    assert eigenscore(z[:, rng.permutation(z.shape[1])]) == close(score, abs=1e-9)
    assert eigenscore(z + rng.normal(0, 5, (k, 1))) == close(score, abs=1e-8)
    trace = float(((z - z.mean(axis=1, keepdims=True)) ** 2).sum()) / (z.shape[1] - 1)
    assert math.log10(ALPHA) - 1e-12 <= score <= math.log10(trace / k + ALPHA) + 1e-12


def test_what_has_no_eigenscore() -> None:
    with pytest.raises(Unscorable, match=r"^fewer than two responses$"):
        eigenscore(drawn(1))
    with pytest.raises(Unscorable, match=r"^fewer than two features$"):
        eigenscore(drawn(3, d=1))


# Hidden states


def vectors_of(k: int = 4, blocks: int = 32) -> Floats:
    drawn_states: Floats = np.random.default_rng(1).standard_normal((blocks + 1, k, 8))
    return drawn_states * np.arange(1, blocks + 2)[:, None, None]


def states(k: int = 4, blocks: int = 32, pooling: Literal["last", "mean"] = "mean") -> Covariances:
    return covariances_of(blocks, range(blocks + 1), vectors_of(k, blocks), pooling)


@pytest.mark.parametrize(
    ("blocks", "middle", "first", "last"),
    [(32, 16, 20, 30), (28, 14, 20, 26), (36, 18, 20, 34), (22, 11, 20, 20), (21, 11, 11, 19), (1, 1, 1, 1)],
)
def test_layers_by_the_number_of_blocks(blocks: int, middle: int, first: int, last: int) -> None:
    assert original_layer(blocks) == middle
    assert original_layer(blocks, "last") == blocks
    assert inside_layers(blocks) == tuple(range(first, last + 1))


def test_no_such_layers() -> None:
    for wrong in (33, -1):
        with pytest.raises(ValueError, match="no layer"):
            original_layer(32, wrong)
    with pytest.raises(ValueError, match="no layer"):
        original_layer(0)


def test_each_layer_is_scored_before_the_mean() -> None:
    mean, last, vectors = states(), states(pooling="last"), vectors_of()
    assert e_original(last, 16) == close(eigenscore(vectors[16]), abs=1e-12)
    assert e_original(last, 32) == close(eigenscore(vectors[32]), abs=1e-12)
    expected = sum(brute_eigenscore(vectors[layer]) for layer in range(20, 31)) / 11
    assert e_average(mean, inside_layers(32)) == close(expected, abs=1e-9)
    assert e_average(mean, [3, 5]) == close((eigenscore(vectors[3]) + eigenscore(vectors[5])) / 2, abs=1e-12)
    pooled = eigenscore(vectors[20:31].mean(axis=0))
    assert abs(pooled - expected) > 1e-3  # or the test shows nothing


def test_a_response_without_states_is_left_out_of_every_layer() -> None:
    whole = vectors_of(k=5)
    vectors = whole.copy()
    vectors[25, 2, 3] = np.nan
    vectors[21, 4] = np.inf
    holed = covariances_of(32, range(33), vectors, "mean")
    kept = covariances_of(32, range(33), whole[:, [0, 1, 3]], "mean")
    assert holed.complete.sum() == 3
    assert holed.complete.tolist() == [True, True, False, True, False]
    layers = [20, 21, 25]
    assert e_average(holed, layers) == close(e_average(kept, layers), abs=1e-12)
    found = leave_one_out_average(holed, layers)
    assert np.isnan(found).tolist() == [False, False, True, False, True]
    assert found[[0, 1, 3]] == close(leave_one_out_average(kept, layers), abs=1e-12)
    lone = covariances_of(1, (1,), np.full((1, 4, 8), np.nan), "last")
    with pytest.raises(Unscorable, match=r"^fewer than two responses$"):
        e_original(lone, 1)


def test_what_was_kept_of_all_gives_the_scores_of_some() -> None:
    some = [4, 0, 2]
    taken = states(k=5).take(some)
    alone = covariances_of(32, range(33), vectors_of(k=5)[:, some], "mean")
    assert e_average(taken, [3, 5]) == close(e_average(alone, [3, 5]), abs=1e-12)


def test_what_no_covariances_are() -> None:
    with pytest.raises(ValueError, match="float64"):
        covariances_of(2, (0,), np.zeros((1, 2, 3), dtype=np.float32), "mean")
    with pytest.raises(ValueError, match="float64"):
        covariances_of(2, (0, 1), np.zeros((1, 2, 3)), "mean")
    with pytest.raises(ValueError, match="float64"):
        Covariances(2, 3, (0,), np.zeros((1, 2, 3)), "mean")
    for layers in ((3,), (-1,)):
        with pytest.raises(ValueError, match="distinct"):
            covariances_of(2, layers, np.zeros((1, 2, 3)), "mean")
    with pytest.raises(ValueError, match="distinct"):
        covariances_of(2, (1, 1), np.zeros((2, 2, 3)), "mean")
    with pytest.raises(Unscorable, match="features"):
        covariances_of(2, (1,), np.zeros((1, 2, 1)), "mean")
    with pytest.raises(ValueError, match="last tokens"):
        e_original(states(), 16)
    with pytest.raises(ValueError, match="means"):
        e_average(states(pooling="last"), [16])
    with pytest.raises(ValueError, match="one or more layers"):
        e_average(states(), [])
    with pytest.raises(ValueError, match="was not read"):
        e_average(covariances_of(32, (0,), np.zeros((1, 2, 3)), "mean"), [1])


# Leave-one-out


@given(matrices(least=3))
def test_leave_one_out_by_brute_force(z: Floats) -> None:
    found = leave_one_out(z)
    for i in range(len(z)):
        others = np.array([row for j, row in enumerate(z) if j != i])
        expected = brute_eigenscore(z) - brute_eigenscore(others)
        assert found[i] == close(expected, abs=1e-8)


@given(matrices(least=3), st.integers(0, 10**6))
def test_laws_of_leave_one_out(z: Floats, seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(z))
    found = leave_one_out(z)
    assert leave_one_out(z[order]) == close(found[order], abs=1e-9)
    assert leave_one_out(z + rng.normal(0, 5, (len(z), 1))) == close(found, abs=1e-8)
    shares = min_max(found)
    assert ((shares >= 0) & (shares <= 1)).all()
    if not (shares == 0.5).all():
        assert (shares.min(), shares.max()) == (0, 1)
        assert (np.diff(shares[np.argsort(found)]) >= 0).all()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_identical_rows_are_all_one_half(seed: int, scale: float) -> None:
    z = np.repeat(scale * drawn(1, 64, seed), 10, axis=0)
    assert min_max(leave_one_out(z)).tolist() == [0.5] * 10


def test_min_max_with_missing_ones() -> None:
    assert min_max(np.array([-3.0, -1, -2])).tolist() == [0, 1, 0.5]
    assert min_max(np.array([2.0, math.nan, 4]))[[0, 2]].tolist() == [0, 1]
    assert math.isnan(min_max(np.array([2.0, math.nan, 4]))[1])
    assert np.isnan(min_max(np.array([2.0, math.nan, 2]))).tolist() == [False, True, False]
    for none in ([], [math.nan, math.nan]):
        with pytest.raises(Unscorable, match=r"^no response$"):
            min_max(np.array(none, dtype=np.float64))


def test_leave_one_out_needs_three() -> None:
    with pytest.raises(Unscorable, match=r"^fewer than three responses$"):
        leave_one_out(drawn(2))
    holed = drawn(3)
    holed[1] = np.nan
    with pytest.raises(Unscorable, match=r"^fewer than three responses$"):
        leave_one_out(holed)
