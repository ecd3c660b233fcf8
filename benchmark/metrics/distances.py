"""Metrics of the distances between responses. Input: the unit vectors of one set, float64 [responses, dimensions].

Distance is cosine distance, 1 − x · y, in [0, 2]. All except the span to the centroid and the geometric mean compute
the whole matrix of distances, so sets with more than `MOST` responses have no value.
"""

import math
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import MOST, Metric, Unscorable, Version, metric, too_many

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MOST_IN_CIRCUIT = 16  # responses; each more doubles the time of the exact search
_SAME = 1e-12  # smaller distances are rounding errors: the vectors are the same


def distances(embeddings: Floats) -> Floats:
    """Return the cosine distances of all pairs of unit vectors."""
    n = len(embeddings)
    if n < 2:
        raise Unscorable("fewer than two responses")
    if n > MOST:
        raise Unscorable(too_many(MOST))
    matrix = 1.0 - embeddings @ embeddings.T
    matrix[matrix < _SAME] = 0.0
    np.fill_diagonal(matrix, 0.0)
    return matrix


def pair_distances(embeddings: Floats) -> Floats:
    """Return `distances` of the unordered pairs, float64 [n (n − 1) / 2]."""
    return distances(embeddings)[np.triu_indices(len(embeddings), 1)]


def nearest_neighbour_distance(embeddings: Floats, k: int) -> float:
    """Compute the mean distance of a response to its k-th nearest neighbour; with k = 1, the chamfer distance.

    >>> nearest_neighbour_distance(np.array([[1.0, 0], [0, 1], [1, 0]]), k=1)
    0.3333333333333333
    """
    matrix = distances(embeddings)
    if len(matrix) <= k:
        raise Unscorable(f"fewer than {k + 1} responses")
    np.fill_diagonal(matrix, np.inf)
    return math.fsum(np.partition(matrix, k - 1, axis=1)[:, k - 1]) / len(matrix)


def bottleneck(embeddings: Floats) -> float:
    """Return the smallest distance of two responses; 0 if there is any duplicate."""
    matrix = distances(embeddings)
    np.fill_diagonal(matrix, np.inf)
    return float(matrix.min())


def diameter(embeddings: Floats) -> float:
    """Return the largest distance of two responses."""
    return float(distances(embeddings).max())


def sum_diameter(embeddings: Floats) -> float:
    """Compute the sum over responses of the distance to the farthest other response."""
    return math.fsum(distances(embeddings).max(axis=1))


def span_centroid(embeddings: Floats, percentile: int) -> float:
    """Return a percentile of the responses' distances to their mean vector."""
    if len(embeddings) < 2:
        raise Unscorable("fewer than two responses")
    mean = embeddings.mean(axis=0)
    length = float(np.linalg.norm(mean))
    if length < _SAME:
        raise Unscorable("the mean of the embeddings is zero")
    return _percentile(np.maximum(1.0 - embeddings @ (mean / length), 0.0), percentile)


def _percentile(values: Floats, percentile: int) -> float:
    """Return numpy's percentile of a few values, to the bit; numpy's function would take most of a span's time."""
    ordered = np.sort(values).tolist()
    position = (len(ordered) - 1) * (percentile / 100)
    below = int(position)
    if below + 1 == len(ordered):
        return float(ordered[below])
    low, high, share = ordered[below], ordered[below + 1], position - below
    return float(high - (high - low) * (1 - share) if share >= 0.5 else low + (high - low) * share)


def span_medoid(embeddings: Floats) -> float:
    """Compute the mean distance to the medoid, the response nearest to all others, including its distance of 0."""
    return float(distances(embeddings).mean(axis=1).min())


def pairwise_energy(embeddings: Floats, epsilon: float) -> float:
    """Compute minus the mean over pairs of 1 / distance, the energy of charges that repel each other."""
    pairs = pair_distances(embeddings)
    return -math.fsum((1.0 / np.maximum(pairs, epsilon)).tolist()) / len(pairs)


def geometric_std(embeddings: Floats) -> float:
    """Compute the geometric mean over embedding dimensions of the responses' standard deviation (divisor n − 1).

    A dimension in which all responses are equal counts as 1e-12.
    """
    n = len(embeddings)
    if n < 2:
        raise Unscorable("fewer than two responses")
    deviations = embeddings - np.add.reduce(embeddings) / n
    squares = np.einsum("ij,ij->j", deviations, deviations)  # numpy's std takes a third longer
    mean_log = float(np.log(np.maximum(squares, (n - 1) * _SAME**2)).sum()) / len(squares)
    return math.sqrt(math.exp(mean_log) / (n - 1))


def mst_dispersion(embeddings: Floats) -> float:
    """Compute the total length of the minimum spanning tree by Prim's algorithm.

    >>> mst_dispersion(np.array([[1.0, 0], [0, 1], [1, 0]]))
    1.0
    """
    matrix = distances(embeddings)
    reach = matrix[0].copy()  # distance of each response to the tree
    reach[0] = np.inf  # in the tree
    lengths = []
    for _ in range(len(matrix) - 1):
        nearest = int(reach.argmin())
        lengths.append(reach[nearest])
        np.minimum(reach, matrix[nearest], out=reach, where=reach < np.inf)
        reach[nearest] = np.inf
    return math.fsum(lengths)


def graph_entropy(embeddings: Floats) -> float:
    """Compute the sum over responses of the entropy, in nats, of their distances to the others as shares.

    A response that equals all others adds nothing.
    """
    matrix = distances(embeddings)
    n = len(matrix)
    if n < 3:
        raise Unscorable("fewer than 3 responses")
    totals = matrix.sum(axis=1, keepdims=True)
    shares = matrix / np.where(totals > 0, totals, 1.0)
    return math.fsum((shares * -np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1))


@lru_cache(maxsize=MOST_IN_CIRCUIT)
def _extensions(nodes: int) -> tuple[tuple[Integers, Integers], ...]:
    """Return for each size below `nodes` the subsets of that size as bits, each paired with every node not in it."""
    subsets, added = np.divmod(np.arange(nodes << nodes), nodes)
    sizes = np.where(subsets >> added & 1, 0, np.bitwise_count(subsets))
    return tuple((subsets[sizes == size], added[sizes == size]) for size in range(1, nodes))


def hamdiv(embeddings: Floats) -> float:
    """Compute the exact length of the shortest round trip through all responses (Held & Karp 1962).

    >>> hamdiv(np.eye(4))
    4.0
    """
    if len(embeddings) > MOST_IN_CIRCUIT:
        raise Unscorable(f"more than {MOST_IN_CIRCUIT} responses, too many for the exact shortest circuit")
    matrix = distances(embeddings)
    home, between = matrix[-1, :-1], matrix[:-1, :-1]
    others = len(home)
    # Shortest path from the last response through a subset of the others that ends at each of them.
    paths = np.full((1 << others, others), np.inf)
    paths[1 << np.arange(others), np.arange(others)] = home
    for subsets, added in _extensions(others):
        paths[subsets | 1 << added, added] = (paths[subsets] + between[added]).min(axis=1)
    return float((paths[-1] + home).min())


FIRST = Version(1, "2026-11-22", "first version: distances of sentence embeddings")

_metric = partial(metric, reads="embeddings", direction=+1, needs=2, family="meaning", history=(FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric("chamfer_distance", partial(nearest_neighbour_distance, k=1), bounds=(0, 2), parameters={"k": "1"}),
    _metric("bottleneck", bottleneck, bounds=(0, 2)),
    _metric("diameter", diameter, bounds=(0, 2)),
    _metric("sum_diameter", sum_diameter, bounds=(0, None)),
    _metric("span_centroid", partial(span_centroid, percentile=90), bounds=(0, 2), parameters={"percentile": "90"}),
    _metric("span_medoid", span_medoid, bounds=(0, 2)),
    _metric(
        "pairwise_energy",
        partial(pairwise_energy, epsilon=0.01),
        bounds=(None, 0),
        parameters={"epsilon": "0.01", "gamma": "1"},
    ),
    _metric("geometric_std", geometric_std, bounds=(0, 1)),
    _metric("mst_dispersion", mst_dispersion, bounds=(0, None)),
    _metric("graph_entropy", graph_entropy, bounds=(0, None), needs=3),
    _metric("hamdiv", hamdiv, bounds=(0, None)),
)
