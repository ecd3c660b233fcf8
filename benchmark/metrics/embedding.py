"""Metrics of sentence embeddings. Input: the unit vectors of one set, float64 [responses, dimensions].

They depend on the embedder: it truncates texts at its token limit, and gives vectors to meaningless texts as well.
"""

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.eigenscore import eigenscore
from benchmark.metrics.metric import Metric, Unscorable, Version, metric
from divbench.core.errors import need

Embeddings = NDArray[np.float64]


def cosine_diversity(embeddings: Embeddings) -> float:
    """Compute one minus the mean cosine over all pairs of responses; higher is more diverse.

    >>> cosine_diversity(np.eye(3))
    1.0
    """
    n = len(embeddings)
    if n < 2:
        raise Unscorable("fewer than two responses")
    total = embeddings.sum(axis=0)
    mean = (float(total @ total) - n) / (n * (n - 1))  # |Σ x|² = n + 2 Σ over pairs
    return max(1.0 - mean, 0.0)  # rounding can leave −1e-16 for identical vectors


def vendi_score(embeddings: Embeddings, q: float) -> float:
    """Compute the effective number of different responses: exp of the cosine kernel's Rényi entropy of order q.

    With eigenvalues λ of X Xᵀ / n: exp(−Σ λ ln λ) if q = 1, 1 / max λ if q = ∞, otherwise (Σ λ^q)^(1/(1−q)).

    >>> round(vendi_score(np.eye(4), q=1.0), 12), round(vendi_score(np.ones((4, 1)), q=2.0), 12)
    (4.0, 1.0)
    """
    n = len(embeddings)
    if n < 1:
        raise Unscorable("no response")
    # X Xᵀ and Xᵀ X have the same eigenvalues except zeros.
    smaller = embeddings if n <= embeddings.shape[1] else embeddings.T
    kernel = smaller @ smaller.T
    if q == 2:  # Σ λ² is the sum of the kernel's squares: no eigenvalues are needed
        value = float(kernel.trace()) ** 2 / float(np.vdot(kernel, kernel))
    else:
        value = _hill_number(np.maximum(np.linalg.eigvalsh(kernel / n), 0.0), q)
    return min(max(value, 1.0), float(n))  # the bounds hold exactly; rounding can exceed them by 1e-15


def _hill_number(eigenvalues: Embeddings, q: float) -> float:
    shares = eigenvalues[eigenvalues > 1e-15] / eigenvalues.sum()
    if q == 1:
        return math.exp(-float((shares * np.log(shares)).sum()))
    if math.isinf(q):
        return 1 / float(shares.max())
    return math.pow(float((shares**q).sum()), 1 / (1 - q))


def kmeans_inertia(embeddings: Embeddings, clusters: int, seed: int) -> float:
    """Compute the mean squared distance of the responses to the nearest of `clusters` centres found by k-means.

    Du & Black report the sum; the mean allows sets of different sizes to be compared. Rows are sorted first, so the
    order of the responses does not matter.
    """
    n = len(embeddings)
    if n <= clusters:
        raise Unscorable(f"no more responses than the {clusters} clusters")
    ordered = embeddings[np.lexsort(embeddings.T[::-1])]
    if np.count_nonzero((ordered[1:] != ordered[:-1]).any(axis=1)) < clusters:  # at most `clusters` distinct rows
        return 0.0
    model = need("sklearn.cluster", "score").KMeans(n_clusters=clusters, n_init=10, random_state=seed)
    # One thread: more would not help with so few rows, and would make the last digits depend on the number of threads.
    with _thread_pools().limit(limits=1, user_api="openmp"):
        return min(float(model.fit(ordered).inertia_) / n, 1.0)


@lru_cache(maxsize=1)
def _thread_pools() -> Any:
    """Return a controller of the thread pools of all libraries loaded so far; scikit-learn must be among them."""
    return need("threadpoolctl", "score").ThreadpoolController()


_FIRST = Version(1, "2026-11-20", "first version: geometry of sentence embeddings")

_metric = partial(metric, reads="embeddings", direction=+1, needs=2, family="meaning", history=(_FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric("embedding_diversity", cosine_diversity, bounds=(0, 2)),
    _metric("vendi_score", partial(vendi_score, q=1.0), bounds=(1, "k"), parameters={"q": "1", "kernel": "cosine"}),
    _metric("vendi_score_q2", partial(vendi_score, q=2.0), bounds=(1, "k"), parameters={"q": "2", "kernel": "cosine"}),
    _metric(
        "kmeans_inertia",
        partial(kmeans_inertia, clusters=3, seed=0),
        bounds=(0, 1),
        parameters={"clusters": "3", "seed": "0"},
        needs=4,
    ),
    _metric(
        "eigenscore_output",
        eigenscore,
        bounds=(-3, None),
        parameters={"alpha": "0.001", "log": "10", "scale": "1/(d-1)"},
    ),
)
