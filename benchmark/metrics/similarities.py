"""Metrics of similarities: effective numbers, entropies and volumes of a kernel, and means over pairs.

Input: the unit vectors of one set, float64 [responses, dimensions], or the similarities of its unordered pairs, float64
[n (n − 1) / 2]. Tevet & Berant's third neural metric, sent-BERT, is `embedding_diversity` with the embedder of the
profile *paper*.
"""

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.embedding import vendi_score
from benchmark.metrics.metric import MOST, Metric, Unscorable, Version, metric, too_many

Floats = NDArray[np.float64]


def _cosines(embeddings: Floats) -> Floats:
    """Return the cosines of all pairs [n, n]."""
    if not 0 < len(embeddings) <= MOST:
        raise Unscorable(too_many(MOST) if len(embeddings) else "no response")
    cosines: Floats = embeddings @ embeddings.T
    return cosines


def renyi_entropy(embeddings: Floats, order: float) -> float:
    """Compute the Rényi entropy of the cosine kernel's spectrum in nats: the logarithm of `vendi_score`.

    >>> round(renyi_entropy(np.eye(4), order=2.0), 12) == round(math.log(4), 12)
    True
    """
    return math.log(vendi_score(embeddings, order))


def log_determinant(embeddings: Floats, epsilon: float) -> float:
    """Compute ln det(X Xᵀ + epsilon I), nats: the volume that the vectors span; at most n ln(1 + epsilon)."""
    n, d = len(embeddings), int(embeddings.shape[1])
    if n < 1:
        raise Unscorable("no response")
    # With more than d responses, n − d eigenvalues of the kernel are 0, and XᵀX has the others.
    smaller: Floats = embeddings if n <= d else embeddings.T
    value = float(np.linalg.slogdet(smaller @ smaller.T + epsilon * np.eye(len(smaller)))[1])
    return value + max(n - d, 0) * math.log(epsilon)


def dcscore(embeddings: Floats, temperature: float) -> float:
    """Compute DCScore: the sum over responses of the probability that a softmax over similarities picks the response.

    >>> dcscore(np.ones((4, 1)), temperature=1.0)
    1.0
    """
    logits = _cosines(embeddings) / temperature
    itself = logits.diagonal()[:, None]
    return math.fsum(1.0 / np.exp(logits - itself).sum(axis=1))


def hill_number(embeddings: Floats, order: float) -> float:
    """Compute the similarity-sensitive Hill number: the effective number of dissimilar responses.

    See Leinster & Cobbold 2012. With similarities Z, the cosines or 0 if they are negative, and zᵢ = Σⱼ Zᵢⱼ / n, it is
    (Σᵢ zᵢ^(q−1) / n)^(1/(1−q)), its limit exp(−Σᵢ ln zᵢ / n) if q = 1, and 1 / (1 − Rao's entropy) if q = 2.

    >>> hill_number(np.eye(4), order=2.0), round(hill_number(np.ones((4, 1)), order=1.0), 12)
    (4.0, 1.0)
    """
    commonness = np.maximum(_cosines(embeddings), 0.0).mean(axis=1)
    n = len(commonness)
    if order == 1:
        value = math.exp(-math.fsum(np.log(commonness)) / n)
    else:
        value = (math.fsum(commonness ** (order - 1)) / n) ** (1 / (1 - order))
    return min(max(value, 1.0), float(n))  # rounding can exceed the bounds by 1e-15


def pairwise_diversity(similarities: NDArray[np.float64]) -> float:
    """Compute minus the mean similarity of all pairs; higher is more diverse (arXiv:2004.02990, section 5).

    >>> pairwise_diversity(np.array([1.0, 0.5, 0.0]))
    -0.5
    """
    if len(similarities) == 0:
        raise Unscorable("fewer than two responses")
    return -float(np.mean(similarities))


_FIRST = Version(1, "2026-11-22", "first version: kernels of sentence embeddings")
_FIRST_PAIRS = Version(1, "2026-11-21", "first version: diversity from the similarity of pairs")

_metric = partial(metric, reads="embeddings", direction=+1, needs=2, family="meaning", history=(_FIRST,))
_pair_metric = partial(metric, fn=pairwise_diversity, direction=+1, needs=2, family="meaning", history=(_FIRST_PAIRS,))

METRICS: tuple[Metric, ...] = (
    _metric(
        "renyi_entropy",
        partial(renyi_entropy, order=2.0),
        bounds=(0, None),
        parameters={"order": "2", "kernel": "cosine"},
    ),
    _metric(
        "log_determinant",
        partial(log_determinant, epsilon=1e-6),
        bounds=(None, None),
        parameters={"epsilon": "1e-06", "kernel": "cosine"},
    ),
    _metric(
        "dcscore",
        partial(dcscore, temperature=1.0),
        bounds=(1, "k"),
        parameters={"temperature": "1", "kernel": "cosine"},
    ),
    _metric(
        "hill_number_q1",
        partial(hill_number, order=1.0),
        bounds=(1, "k"),
        parameters={"order": "1", "similarity": "cosine above 0"},
    ),
    _metric(
        "hill_number_q2",
        partial(hill_number, order=2.0),
        bounds=(1, "k"),
        parameters={"order": "2", "similarity": "cosine above 0"},
    ),
    _pair_metric("bert_score_diversity", reads="pairs:bert_score", bounds=(-1, None)),
    _pair_metric("bert_sts_diversity", reads="pairs:sts", bounds=(-1, 0)),
)
