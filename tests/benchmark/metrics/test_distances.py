"""Metrics of distances and kernels against closed forms, brute force and scipy."""

import math
from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.stats import gmean

from benchmark.metrics import METRICS, Metric
from benchmark.metrics.distances import (
    MOST_IN_CIRCUIT,
    distances,
    graph_entropy,
    hamdiv,
    mst_dispersion,
    nearest_neighbour_distance,
    pairwise_energy,
    span_centroid,
    span_medoid,
)
from benchmark.metrics.embedding import cosine_diversity
from benchmark.metrics.metric import Unscorable
from benchmark.metrics.similarities import dcscore, hill_number, log_determinant, renyi_entropy
from benchmark.metrics.text_overlap import self_repetition
from benchmark.models.embedder import unit_rows

Floats = NDArray[np.float64]
ON_EMBEDDINGS = [metric for metric in METRICS if metric.reads == "embeddings" and metric.id != "kmeans_inertia"]


def value_or_reason(metric: Metric, rows: Floats) -> float | str:
    try:
        return metric.fn(rows)
    except Unscorable as error:
        return str(error)


def random_unit(n: int, d: int = 8, seed: int = 0) -> Floats:
    return unit_rows(np.random.default_rng(seed).standard_normal((n, d)))


@pytest.mark.parametrize("n", [2, 3, 7])
def test_the_circuit_is_the_shortest_of_all(n: int) -> None:
    x = random_unit(n)
    d = distances(x)
    tours = (sum(d[a, b] for a, b in zip(t, (*t[1:], t[0]), strict=True)) for t in permutations(range(n)))
    assert hamdiv(x) == pytest.approx(min(tours), abs=1e-12)


def test_the_tree_is_that_of_scipy_and_duplicates_add_nothing_to_it() -> None:
    x = random_unit(9)
    expected = float(minimum_spanning_tree(distances(x)).sum())
    assert mst_dispersion(x) == pytest.approx(expected, abs=1e-12)
    assert mst_dispersion(np.repeat(x, 2, axis=0)) == pytest.approx(expected, abs=1e-12)
    # Zeros are no edges in scipy's graphs, so that every copy is joined anew.
    assert minimum_spanning_tree(distances(np.repeat(x, 2, axis=0))).sum() > expected + 0.1


def test_orthogonal_responses_have_closed_forms() -> None:
    x = np.eye(5)
    ones = ("chamfer_distance", "bottleneck", "diameter")
    values = {metric.id: metric.fn(x) for metric in ON_EMBEDDINGS}
    assert [values[name] for name in ones] == [1, 1, 1]
    assert values["sum_diameter"] == values["hamdiv"] == 5
    assert values["mst_dispersion"] == 4
    assert values["span_centroid"] == pytest.approx(1 - 1 / math.sqrt(5))
    assert values["span_medoid"] == pytest.approx(4 / 5)
    assert values["pairwise_energy"] == -1
    assert values["graph_entropy"] == pytest.approx(5 * math.log(4))
    assert values["geometric_std"] == pytest.approx(math.sqrt((0.8**2 + 4 * 0.2**2) / 4))
    assert values["renyi_entropy"] == pytest.approx(math.log(5))
    assert values["log_determinant"] == pytest.approx(5 * math.log1p(1e-6))
    assert values["dcscore"] == pytest.approx(5 * math.e / (math.e + 4))
    assert values["hill_number_q1"] == pytest.approx(5)
    assert values["hill_number_q2"] == pytest.approx(5)


@pytest.mark.parametrize("responses", [2, 3, 10])
def test_the_geometric_standard_deviation_is_scipys_mean_of_numpys(responses: int) -> None:
    x = np.random.default_rng(0).standard_normal((responses, 384))
    expected = gmean(x.std(axis=0, ddof=1))
    assert next(each for each in ON_EMBEDDINGS if each.id == "geometric_std").fn(x) == pytest.approx(expected)


def test_the_span_is_numpys_percentile_to_the_bit() -> None:
    rng = np.random.default_rng(0)
    for n in range(2, 120):
        x = unit_rows(rng.standard_normal((n, 5)) + 1)
        mean = x.mean(axis=0)
        own = np.maximum(1.0 - x @ (mean / float(np.linalg.norm(mean))), 0.0)
        for percentile in (0, 10, 25, 50, 90, 100):
            assert span_centroid(x, percentile) == float(np.percentile(own, percentile)), (n, percentile)


def test_related_metrics_follow_from_each_other() -> None:
    assert hill_number(np.array([[1.0, 0], [-1, 0]]), 2) == 2  # opposites are no more alike than unrelated responses
    x = np.abs(random_unit(6))  # no cosine below 0
    n = len(x)
    assert hill_number(x, 2) == pytest.approx(n / (1 + (n - 1) * (1 - cosine_diversity(x))))
    assert hill_number(x, 2) <= hill_number(x, 1) <= hill_number(x, 0)
    near_one = (hill_number(x, 1 - 1e-6) + hill_number(x, 1 + 1e-6)) / 2
    assert hill_number(x, 1) == pytest.approx(near_one, rel=1e-9)
    assert renyi_entropy(x, 2) == pytest.approx(-math.log(float(((x @ x.T / n) ** 2).sum())))
    assert log_determinant(x, 1e-6) == pytest.approx(float(np.log(np.linalg.eigvalsh(x @ x.T) + 1e-6).sum()))
    assert dcscore(x, 1e-3) == pytest.approx(n, abs=1e-3)
    assert nearest_neighbour_distance(x, 5) == pytest.approx(distances(x).max(axis=1).mean())


def test_duplicates_have_a_distance_of_exactly_zero() -> None:
    x = np.repeat(random_unit(3, d=384), 4, axis=0)
    d = distances(x)
    assert (d == 0).sum() == 3 * 16
    assert pairwise_energy(x[:4], 1e-3) == -1000
    assert graph_entropy(x[:4]) == 0
    assert span_medoid(x[:4]) == 0


def test_what_cannot_be_measured_has_a_reason() -> None:
    cases: tuple[tuple[Callable[[], float], str], ...] = (
        (lambda: hamdiv(random_unit(MOST_IN_CIRCUIT + 1)), "more than 16 responses, too many for the exact shortest"),
        (lambda: span_centroid(np.array([[1.0, 0], [-1, 0]]), 90), "the mean of the embeddings is zero"),
        (lambda: graph_entropy(np.eye(2)), "fewer than 3 responses"),
        (lambda: nearest_neighbour_distance(np.eye(2), 2), "fewer than 3 responses"),
        (lambda: self_repetition([], 4), "no response"),
    )
    for run, reason in cases:
        with pytest.raises(Unscorable, match=reason):
            run()


def test_self_repetition_counts_each_phrase_once_in_a_response() -> None:
    texts = ["a b c d a b c d", "x a b c d", "p q r s", "few"]
    # The first has 4 different 4-grams, of which one stands in another response.
    assert self_repetition(texts, 4) == pytest.approx((math.log(2) + math.log(2)) / 4)
    assert self_repetition(["three words only"] * 3, 4) == 0  # as it is defined; the card says so
