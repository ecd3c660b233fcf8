"""Metrics of sentence embeddings. Input: the unit vectors of one set, float64 [responses, dimensions].

They depend on the embedder: it truncates texts at its token limit, and gives vectors to meaningless texts as well.
"""

import math
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.distances import MODELS, SEES
from benchmark.metrics.eigenscore import eigenscore
from benchmark.metrics.metric import Metric, Unscorable, Version
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


_ORDER = "Shuffled words are close to the sentence they come from."
_TOPIC = (
    "Responses to one question share its topic, so differences of content are small beside what all have in common."
)
_FIRST = Version(1, "2026-11-20", "first version: geometry of sentence embeddings")

_metric = partial(Metric, reads="embeddings", direction=+1, needs=2, family="meaning", history=(_FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric(
        "embedding_diversity",
        "mean pairwise cosine distance of embeddings",
        cosine_diversity,
        bounds=(0, 2),
        unit="cosine distance",
        paper="Tevet & Berant 2021 (sent-BERT); Kirk et al. 2023, arXiv:2310.06452",
        formula="1 − mean over pairs i < j of xᵢ · xⱼ, x the unit vector of a response",
        summary="How far apart the responses' meanings are on average, for a sentence-embedding model.",
        failures=(
            "Noise is far from everything: random characters score above four of ten systems on NoveltyBench.",
            SEES,
            _ORDER,
            _TOPIC,
            "It is much worse if wording is held equal: 0.38 on McDiv_nuggets' stories, 0.61 on all of McDiv's "
            "(Spearman with the label, all-MiniLM-L6-v2).",
            f"{MODELS} Under Tevet & Berant's embedder it is their sent-BERT.",
        ),
    ),
    _metric(
        "vendi_score",
        "effective number of dissimilar responses (Vendi score)",
        partial(vendi_score, q=1.0),
        bounds=(1, "k"),
        unit="effective number of responses",
        paper="Friedman & Dieng 2023, arXiv:2210.02410, definition 3.1",
        parameters={"q": "1", "kernel": "cosine"},
        formula="exp(−Σ λ ln λ), λ the eigenvalues of X Xᵀ / n, X the responses' unit vectors",
        summary="The number of completely different responses that would be as varied as these.",
        failures=(
            "It is at most the number of responses and grows with it: compare equal k only.",
            "Similar but unequal responses add up: ten loosely related responses count as several.",
            SEES,
            MODELS,
        ),
    ),
    _metric(
        "vendi_score_q2",
        "effective number of dissimilar responses, order 2",
        partial(vendi_score, q=2.0),
        bounds=(1, "k"),
        unit="effective number of responses",
        paper="Pasarkar & Dieng 2024, arXiv:2310.12952",
        parameters={"q": "2", "kernel": "cosine"},
        formula="1 / Σ λ², λ the eigenvalues of X Xᵀ / n, X the responses' unit vectors",
        summary="The Vendi score with more weight on common responses, so that a rare odd one counts less.",
        failures=(
            "One outlier among many repeats hardly counts.",
            "It grows with the number of responses: compare equal k only.",
            SEES,
        ),
    ),
    _metric(
        "kmeans_inertia",
        "k-means inertia per response",
        partial(kmeans_inertia, clusters=3, seed=0),
        bounds=(0, 1),
        unit="squared distance",
        paper="Du & Black 2019, ACL P19-1005",
        parameters={"clusters": "3", "seed": "0"},
        needs=4,
        formula="(1/n) Σᵢ min_c |xᵢ − m_c|², with three centres m found by k-means (ten starts, seed 0)",
        summary="How much the responses vary within three groups.",
        failures=(
            "Three tight groups of different responses score 0: diversity between groups does not count.",
            "It needs more responses than centres, and is hardly informative for few responses.",
            "The number of groups, three, is arbitrary.",
            SEES,
        ),
    ),
    _metric(
        "eigenscore_output",
        "E_output (EigenScore of output embeddings)",
        eigenscore,
        bounds=(-3, None),
        unit="log10",
        paper="Chen et al. 2024 (INSIDE), arXiv:2402.03744, eq. 6; as E_output in GSSBench",
        parameters={"alpha": "0.001", "log": "10", "scale": "1/(d-1)"},
        formula="(1/K) Σ log₁₀(λ + 10⁻³), λ the eigenvalues of X̃ X̃ᵀ / (d − 1), each row of X centred over its d "
        "features",
        summary="How large a space the responses' vectors span, on a logarithmic scale; GSSBench's E_output.",
        failures=(
            "Its range is narrow: −2.90 (identical) to −2.70 (orthogonal) for ten unit vectors of 1,024 dimensions.",
            "It depends on the vectors' length, their number of features and K: none of these may differ.",
            "The constant 10⁻³ is about as large as the eigenvalues that it is added to, and has a large effect.",
            SEES,
        ),
    ),
)
