"""Metrics of the distances between responses. Input: the unit vectors of one set, float64 [responses, dimensions].

Distance is cosine distance, 1 − x · y, in [0, 2]. All except the span to the centroid and the geometric mean compute
the whole matrix of distances, so sets with more than `MOST` responses have no value.
"""

import math
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import MOST, Metric, Unscorable, Version, too_many

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


SEES = (
    "A text is truncated at the model's token limit, and meaningless texts have vectors, too. all-MiniLM-L6-v2 reads "
    "English: it reads emoji by their names, and other languages by their letters without understanding them."
)
MODELS = "Values under different embedders cannot be compared."
GROWS = "It grows with the number of responses: compare equal k only."
NOISE = "Random characters are far from everything: they score above some real systems."
COX = "Cox et al. 2021, DOI 10.1145/3411764.3445782"
_XIE = "Xie et al. 2021, arXiv:2112.12542"
_MIRONOV = "Mironov & Prokhorenkova 2024, arXiv:2410.14556"
FIRST = Version(1, "2026-11-22", "first version: distances of sentence embeddings")

_metric = partial(
    Metric, reads="embeddings", direction=+1, unit="cosine distance", needs=2, family="meaning", history=(FIRST,)
)

METRICS: tuple[Metric, ...] = (
    _metric(
        "chamfer_distance",
        "chamfer distance (to the nearest other response)",
        partial(nearest_neighbour_distance, k=1),
        bounds=(0, 2),
        paper=COX,
        parameters={"k": "1"},
        formula="mean over i of min over j ≠ i of dᵢⱼ, d the cosine distance of embeddings",
        summary="How far a response is from the one most similar to it.",
        failures=(
            "A second copy of every response makes it 0, whatever the responses say.",
            "It depends on nearest neighbours only: two close pairs have the same value, however far apart they are.",
            NOISE,
            SEES,
            MODELS,
        ),
    ),
    _metric(
        "bottleneck",
        "bottleneck (smallest distance of two responses)",
        bottleneck,
        bounds=(0, 2),
        paper=_XIE,
        formula="min over pairs i < j of dᵢⱼ, d the cosine distance of embeddings",
        summary="How far apart the two most similar responses are.",
        failures=(
            "One pair decides: with a single duplicate it is 0, however varied the others are.",
            "It falls with the number of responses: compare equal k only.",
            SEES,
            MODELS,
        ),
    ),
    _metric(
        "diameter",
        "diameter (largest distance of two responses)",
        diameter,
        bounds=(0, 2),
        paper=_XIE,
        formula="max over pairs i < j of dᵢⱼ, d the cosine distance of embeddings",
        summary="How far apart the two most different responses are.",
        failures=(
            "One odd response decides: nine copies and one outlier score like ten different responses.",
            GROWS,
            NOISE,
            SEES,
            MODELS,
        ),
    ),
    _metric(
        "sum_diameter",
        "sum-diameter (sum of distances to the farthest response)",
        sum_diameter,
        bounds=(0, None),
        paper=_XIE,
        formula="Σᵢ max over j of dᵢⱼ, d the cosine distance of embeddings",
        summary="How far each response is from the one least similar to it, summed up.",
        failures=(
            "Two clusters of copies at the ends score as well as responses spread between them.",
            GROWS,
            NOISE,
            SEES,
            MODELS,
        ),
    ),
    _metric(
        "span_centroid",
        "span (90th percentile of distances to the centroid)",
        partial(span_centroid, percentile=90),
        bounds=(0, 2),
        paper=COX,
        parameters={"percentile": "90"},
        formula="90th percentile over i of the cosine distance of xᵢ to the mean of all x, interpolated linearly",
        summary="The distance to the centre within which nearly all responses are.",
        failures=(
            "Among ten responses, only the two farthest determine it.",
            "It has no value if the vectors cancel out, as two opposite ones do.",
            NOISE,
            SEES,
            MODELS,
        ),
    ),
    _metric(
        "span_medoid",
        "span (mean distance to the medoid)",
        span_medoid,
        bounds=(0, 2),
        paper=COX,
        formula="min over j of mean over i of dᵢⱼ, d the cosine distance of embeddings; dⱼⱼ = 0 counts",
        summary="How far the responses are from the one that is most similar to all of them.",
        failures=(
            "The medoid's distance of 0 counts, so it grows with the number of responses: compare equal k only.",
            NOISE,
            SEES,
            MODELS,
        ),
    ),
    _metric(
        "pairwise_energy",
        "energy (minus the mean inverse distance of pairs)",
        partial(pairwise_energy, epsilon=0.01),
        bounds=(None, 0),
        unit="1 / cosine distance",
        paper=_MIRONOV,
        parameters={"epsilon": "0.01", "gamma": "1"},
        formula="−mean over pairs i < j of 1 / max(dᵢⱼ, 0.01), d the cosine distance of embeddings",
        summary="How strongly the responses would repel each other if they were charges.",
        failures=(
            "The lower limit of distances determines the cost of a duplicate; it is 0.01 here, and 10⁻¹² in "
            "emb-diversity, where one duplicate outweighs all prompts of a suite.",
            "Close pairs determine it: how far apart the others are hardly counts.",
            SEES,
            MODELS,
        ),
    ),
    _metric(
        "geometric_std",
        "geometric mean of standard deviations",
        geometric_std,
        bounds=(0, 1),
        unit="unit vectors' length",
        paper="Lai et al. 2020, LREC, Diversity, density, and homogeneity",
        formula="(∏ₕ max(σₕ, 10⁻¹²))^(1/H), σₕ the vectors' standard deviation (divisor n − 1) in component h of H",
        summary="How much the vectors vary in every dimension of the embedder.",
        failures=(
            "One component in which all responses are equal pulls it towards 0, as two of all-MiniLM-L6-v2 do; another "
            "one almost does.",
            "It depends on the embedder's choice of axes: a rotation changes it, though no distance changes.",
            SEES,
            MODELS,
        ),
    ),
    _metric(
        "mst_dispersion",
        "MST dispersion (length of the minimum spanning tree)",
        mst_dispersion,
        bounds=(0, None),
        paper=COX,
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
        bounds=(0, None),
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
        bounds=(0, None),
        paper="Hu et al. 2024, Journal of Cheminformatics 16:94",
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
