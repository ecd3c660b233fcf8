"""Metrics of the distances between responses. Input: the unit vectors of one set, float64 [responses, dimensions].

Distance is cosine distance, 1 − x · y, in [0, 2]. All except the span to the centroid and the geometric mean compute
the whole matrix of distances, so sets with more than `MOST` responses have no value.
"""

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import MOST, Metric, Unscorable, Version, too_many

Floats = NDArray[np.float64]
_SAME = 1e-12  # smaller distances are rounding errors: the vectors are the same


def distances(embeddings: Floats) -> Floats:
    """Return the cosine distances of all pairs of unit vectors.

    Returns:
        Symmetric, float64 [n, n]; exactly 0 between equal vectors.

    Raises:
        Unscorable: Fewer than two responses, or more than `MOST`.
    """
    n = len(embeddings)
    if n < 2:
        raise Unscorable("fewer than two responses")
    if n > MOST:
        raise Unscorable(too_many(MOST))
    found = 1.0 - embeddings @ embeddings.T
    found[found < _SAME] = 0.0
    np.fill_diagonal(found, 0.0)
    return found


def pair_distances(embeddings: Floats) -> Floats:
    """Return `distances` of the unordered pairs, float64 [n (n − 1) / 2]."""
    return distances(embeddings)[np.triu_indices(len(embeddings), 1)]


def nearest_neighbour_distance(embeddings: Floats, k: int) -> float:
    """Compute the mean distance of a response to its k-th nearest neighbour; with k = 1, the chamfer distance.

    Raises:
        Unscorable: As `distances`, or there are at most k responses.

    >>> nearest_neighbour_distance(np.array([[1.0, 0], [0, 1], [1, 0]]), k=1)
    0.3333333333333333
    """
    found = distances(embeddings)
    if len(found) <= k:
        raise Unscorable(f"fewer than {k + 1} responses")
    np.fill_diagonal(found, np.inf)
    return math.fsum(np.partition(found, k - 1, axis=1)[:, k - 1]) / len(found)


def bottleneck(embeddings: Floats) -> float:
    """Return the smallest distance of two responses; 0 if there is any duplicate.

    Raises:
        Unscorable: As `distances`.
    """
    found = distances(embeddings)
    np.fill_diagonal(found, np.inf)
    return float(found.min())


def diameter(embeddings: Floats) -> float:
    """Return the largest distance of two responses.

    Raises:
        Unscorable: As `distances`.
    """
    return float(distances(embeddings).max())


def sum_diameter(embeddings: Floats) -> float:
    """Compute the sum over responses of the distance to the farthest other response.

    Raises:
        Unscorable: As `distances`.
    """
    return math.fsum(distances(embeddings).max(axis=1))


def span_centroid(embeddings: Floats, percentile: int) -> float:
    """Return a percentile of the responses' distances to their mean vector.

    Raises:
        Unscorable: Fewer than two responses, or their mean is zero and so has no direction.
    """
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
    place = (len(ordered) - 1) * (percentile / 100)
    below = int(place)
    if below + 1 == len(ordered):
        return float(ordered[below])
    low, high, share = ordered[below], ordered[below + 1], place - below
    return float(high - (high - low) * (1 - share) if share >= 0.5 else low + (high - low) * share)


def span_medoid(embeddings: Floats) -> float:
    """Compute the mean distance to the medoid, the response nearest to all others, including its distance of 0.

    Raises:
        Unscorable: As `distances`.
    """
    return float(distances(embeddings).mean(axis=1).min())


def pairwise_energy(embeddings: Floats, epsilon: float) -> float:
    """Compute minus the mean over pairs of 1 / distance, the energy of charges that repel each other.

    Args:
        embeddings: Unit vectors.
        epsilon: Lower limit of distances, so that equal responses have a value.

    Returns:
        In [−1 / epsilon, −1/2].

    Raises:
        Unscorable: As `distances`.
    """
    found = pair_distances(embeddings)
    return -math.fsum((1.0 / np.maximum(found, epsilon)).tolist()) / len(found)


def geometric_std(embeddings: Floats) -> float:
    """Compute the geometric mean over embedding dimensions of the responses' standard deviation (divisor n − 1).

    A dimension in which all responses are equal counts as 1e-12.

    Raises:
        Unscorable: Fewer than two responses.
    """
    n = len(embeddings)
    if n < 2:
        raise Unscorable("fewer than two responses")
    apart = embeddings - np.add.reduce(embeddings) / n
    squares = np.einsum("ij,ij->j", apart, apart)  # numpy's std takes a third longer
    mean_log = float(np.log(np.maximum(squares, (n - 1) * _SAME**2)).sum()) / len(squares)
    return math.sqrt(math.exp(mean_log) / (n - 1))


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
)
