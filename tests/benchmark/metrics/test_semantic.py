"""Metrics of embeddings against closed forms, plain formulas and golden values."""

import math
from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from benchmark.metrics.eigenscore import eigenscore
from benchmark.metrics.embedding import cosine_diversity, kmeans_inertia, vendi_score
from benchmark.metrics.metric import Unscorable
from benchmark.models.embedder import unit_rows
from tests.benchmark.helpers import golden

Floats = NDArray[np.float64]
ORDERS = [0.5, 1.0, 2.0, math.inf]


def random_unit(n: int, d: int = 8, seed: int = 0) -> Floats:
    return unit_rows(np.random.default_rng(seed).standard_normal((n, d)))


def equicorrelated(n: int, d: int, cosine: float) -> Floats:
    """Unit rows, all pairs at one cosine, each with mean 0 over its features."""
    rng = np.random.default_rng(0)
    free = rng.standard_normal((d, n + 1))
    basis = np.linalg.qr(free - free.mean(axis=0))[0].T
    made: Floats = math.sqrt(cosine) * basis[:1] + math.sqrt(1 - cosine) * basis[1:]
    return made


@pytest.mark.parametrize("n", [2, 3, 10])
def test_cosine_diversity_is_the_mean_over_pairs(n: int) -> None:
    x = random_unit(n)
    distances = [1 - float(one @ other) for one, other in combinations(x, 2)]
    assert cosine_diversity(x) == pytest.approx(np.mean(distances), abs=1e-12)


@pytest.mark.parametrize("q", ORDERS)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_vendi_score_of_orthogonal_and_of_identical_rows(q: float, n: int) -> None:
    assert vendi_score(np.eye(n), q) == pytest.approx(n, abs=1e-9)
    assert vendi_score(np.tile(random_unit(1), (n, 1)), q) == pytest.approx(1, abs=1e-9)


# Two rows at cosine c: the spectrum of the kernel over n is (1 ± c) / 2.
@pytest.mark.parametrize("c", [0.0, 0.3, 0.9, 0.9999])
@pytest.mark.parametrize(
    ("q", "closed_form"),
    [
        (0.5, lambda p: (math.sqrt(p) + math.sqrt(1 - p)) ** 2),
        (1.0, lambda p: math.exp(-p * math.log(p) - (1 - p) * math.log(1 - p))),
        (2.0, lambda p: 1 / (p**2 + (1 - p) ** 2)),
        (math.inf, lambda p: 1 / max(p, 1 - p)),
    ],
)
def test_vendi_score_of_two_rows_has_its_closed_form(c: float, q: float, closed_form: Callable[[float], float]) -> None:
    x = np.array([[1.0, 0], [c, math.sqrt(1 - c * c)]])
    assert vendi_score(x, q) == pytest.approx(closed_form((1 + c) / 2), abs=1e-12)


def test_eigenscore_golden_values() -> None:
    expected = golden("eigenscore")
    x = np.array(expected["matrix"], dtype=np.float64)
    assert eigenscore(x) == pytest.approx(expected["score"], abs=1e-12)
    # numpy's covariance has rows as variables and divides by d − 1, as the definition does.
    assert np.linalg.eigvalsh(np.cov(x)) == pytest.approx(expected["eigenvalues"], abs=1e-12)
    equal = expected["three_equal_rows"]
    assert eigenscore(np.array([equal["row"]] * 3, dtype=np.float64)) == pytest.approx(equal["score"], abs=1e-12)


@pytest.mark.parametrize("cosine", golden("eigenscore")["unit_rows"]["scores"])
def test_eigenscore_of_ten_unit_rows(cosine: str) -> None:
    expected = golden("eigenscore")["unit_rows"]
    x = equicorrelated(expected["responses"], expected["dimensions"], float(cosine))
    assert x @ x.T == pytest.approx(np.where(np.eye(10) == 1, 1.0, float(cosine)), abs=1e-12)
    found = round(eigenscore(x), expected["decimals"][cosine])
    assert found == pytest.approx(expected["scores"][cosine], abs=2e-12)


@pytest.mark.parametrize("seed", range(3))
def test_eigenscore_is_a_log_determinant(seed: int) -> None:
    x = random_unit(6, d=32, seed=seed)
    determinant = np.linalg.slogdet(np.cov(x) + 1e-3 * np.eye(6)).logabsdet
    assert eigenscore(x) == pytest.approx(determinant / 6 / math.log(10), abs=1e-9)
    # Each row is centred over its features: a constant added to a row changes nothing.
    assert eigenscore(x + np.arange(6)[:, None]) == pytest.approx(eigenscore(x), abs=1e-9)


def blobs(sizes: list[int], seed: int = 0) -> tuple[Floats, float]:
    """Unit rows near some axes, and the sum of their squared distances to the means of their groups."""
    rng = np.random.default_rng(seed)
    groups = [unit_rows(np.eye(8)[i] + 0.05 * rng.standard_normal((n, 8))) for i, n in enumerate(sizes)]
    return np.vstack(groups), sum(float(((g - g.mean(axis=0)) ** 2).sum()) for g in groups)


@pytest.mark.parametrize("sizes", [[4, 4, 4], [9, 2, 5], [1, 1, 8]])
def test_kmeans_finds_separate_clusters(sizes: list[int]) -> None:
    x, within = blobs(sizes)
    found = kmeans_inertia(x, clusters=3, seed=0)
    assert found == pytest.approx(within / len(x), abs=1e-12)
    theirs = KMeans(n_clusters=3, n_init=10, random_state=7).fit(x).inertia_
    assert found == pytest.approx(theirs / len(x), abs=1e-12)


def least_inertia(x: Floats, clusters: int) -> float:
    """The least inertia of all ways to part the rows: |x|² summed, less n_c |mean of c|² for each cluster c."""
    labels = np.array(list(product(range(clusters), repeat=len(x))))
    of = (labels[:, :, None] == np.arange(clusters)).astype(np.float64)
    sums = np.einsum("pnc,nd->pcd", of, x)
    kept = (sums**2).sum(axis=2) / np.maximum(of.sum(axis=1), 1)
    return float((x**2).sum() - kept.sum(axis=1).max()) / len(x)


def test_kmeans_inertia_does_not_depend_on_the_order_of_rows() -> None:
    # Many rows without structure: k-means ends in other places from other starts, so the order would show.
    x = random_unit(60, d=16)
    rng = np.random.default_rng(1)
    values = [kmeans_inertia(rng.permutation(x), clusters=3, seed=0) for _ in range(5)]
    assert values == [values[0]] * 5
    unsorted = {
        float(KMeans(n_clusters=3, n_init=1, random_state=0).fit(rng.permutation(x)).inertia_) for _ in range(5)
    }
    assert len(unsorted) > 1  # or the test shows nothing


def test_what_semantic_metrics_need() -> None:
    one = np.eye(1, 4)
    with pytest.raises(Unscorable, match="fewer than two responses"):
        cosine_diversity(one)
    with pytest.raises(Unscorable, match="fewer than two responses"):
        eigenscore(one)
    with pytest.raises(Unscorable, match="no response"):
        vendi_score(np.empty((0, 4)), q=1.0)
    with pytest.raises(Unscorable, match="no more responses than the 3 clusters"):
        kmeans_inertia(np.eye(3), clusters=3, seed=0)
