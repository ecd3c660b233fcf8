"""Metrics of the graph whose nodes are responses and whose edges are weighted by the distances between them.

Input: the unit vectors of one set, float64 [responses, dimensions]; see distances.py.
"""

import math
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.distances import COX, FIRST, GROWS, MODELS, NOISE, SEES, Floats, distances
from benchmark.metrics.metric import Metric, Unscorable

Integers = NDArray[np.int64]
MOST_IN_CIRCUIT = 16  # responses; each more doubles the time of the exact search


def mst_dispersion(embeddings: Floats) -> float:
    """Compute the total length of the minimum spanning tree by Prim's algorithm.

    Raises:
        Unscorable: As `distances`.

    >>> mst_dispersion(np.array([[1.0, 0], [0, 1], [1, 0]]))
    1.0
    """
    found = distances(embeddings)
    reach = found[0].copy()  # distance of each response to the tree
    reach[0] = np.inf  # in the tree
    lengths = []
    for _ in range(len(found) - 1):
        nearest = int(reach.argmin())
        lengths.append(reach[nearest])
        np.minimum(reach, found[nearest], out=reach, where=reach < np.inf)
        reach[nearest] = np.inf
    return math.fsum(lengths)


def graph_entropy(embeddings: Floats) -> float:
    """Compute the sum over responses of the entropy, in nats, of their distances to the others as shares.

    A response that equals all others adds nothing.

    Raises:
        Unscorable: As `distances`, or there are two responses, for which it is always 0.
    """
    found = distances(embeddings)
    n = len(found)
    if n < 3:
        raise Unscorable("fewer than 3 responses")
    totals = found.sum(axis=1, keepdims=True)
    shares = found / np.where(totals > 0, totals, 1.0)
    return math.fsum((shares * -np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1))


@lru_cache(maxsize=MOST_IN_CIRCUIT)
def _extensions(nodes: int) -> tuple[tuple[Integers, Integers], ...]:
    """Return for each size below `nodes` the subsets of that size as bits, each paired with every node not in it."""
    subsets, added = np.divmod(np.arange(nodes << nodes), nodes)
    sizes = np.where(subsets >> added & 1, 0, np.bitwise_count(subsets))
    return tuple((subsets[sizes == size], added[sizes == size]) for size in range(1, nodes))


def hamdiv(embeddings: Floats) -> float:
    """Compute the exact length of the shortest round trip through all responses (Held & Karp 1962).

    Raises:
        Unscorable: As `distances`, or there are more than `MOST_IN_CIRCUIT` responses.

    >>> hamdiv(np.eye(4))
    4.0
    """
    if len(embeddings) > MOST_IN_CIRCUIT:
        raise Unscorable(f"more than {MOST_IN_CIRCUIT} responses, too many for the exact shortest circuit")
    found = distances(embeddings)
    home, between = found[-1, :-1], found[:-1, :-1]
    others = len(home)
    # Shortest path from the last response through a subset of the others that ends at each of them.
    paths = np.full((1 << others, others), np.inf)
    paths[1 << np.arange(others), np.arange(others)] = home
    for subsets, added in _extensions(others):
        paths[subsets | 1 << added, added] = (paths[subsets] + between[added]).min(axis=1)
    return float((paths[-1] + home).min())


_metric = partial(Metric, reads="embeddings", direction=+1, bounds=(0, None), family="meaning", history=(FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric(
        "mst_dispersion",
        "MST dispersion (length of the minimum spanning tree)",
        mst_dispersion,
        unit="cosine distance",
        paper=COX,
        needs=2,
        formula="sum of dᵢⱼ over the edges of the minimum spanning tree, d the cosine distance of embeddings",
        summary="The length of the shortest tree that connects all responses.",
        failures=(
            GROWS,
            NOISE,
            "Treating a duplicate's distance of 0 as a missing edge, as sparse graph libraries do, makes it too large: "
            "emb-diversity 0.1.0 does so if vectors are exactly equal.",
            SEES,
            MODELS,
        ),
    ),
    _metric(
        "graph_entropy",
        "graph entropy of distances",
        graph_entropy,
        unit="nats",
        paper="Yu et al. 2022, COLING, Can data diversity enhance learning generalization?",
        needs=3,
        formula="−Σᵢ Σⱼ pᵢⱼ ln pᵢⱼ, pᵢⱼ = dᵢⱼ / Σₖ dᵢₖ, d the cosine distance of embeddings",
        summary="How evenly each response's distances to the others are spread.",
        failures=(
            "It measures evenness, not distance: ten near-identical responses at equal small distances score "
            "the maximum.",
            GROWS,
            SEES,
            MODELS,
        ),
    ),
    _metric(
        "hamdiv",
        "HamDiv (length of the shortest Hamiltonian circuit)",
        hamdiv,
        unit="cosine distance",
        paper="Hu et al. 2024, Journal of Cheminformatics 16:94",
        needs=2,
        formula="min over orders π of Σᵢ d(π(i), π(i + 1)), back to the start, d the cosine distance of embeddings",
        summary="The length of the shortest round trip through all responses.",
        failures=(
            f"It is exact, so sets of more than {MOST_IN_CIRCUIT} responses have no value. The approximation of "
            "emb-diversity (Christofides) is at most 1.5 times as long if the triangle inequality holds, which it "
            "need not for cosine distance.",
            GROWS,
            NOISE,
            SEES,
            MODELS,
        ),
    ),
)
