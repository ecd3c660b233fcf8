"""Metrics of similarities: effective numbers, entropies and volumes of a kernel, and means over pairs.

Input: the unit vectors of one set, float64 [responses, dimensions], or the similarities of its unordered pairs, float64
[n (n − 1) / 2]. Tevet & Berant's third neural metric, sent-BERT, is `embedding_diversity` with the embedder of the
profile *paper*.
"""

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.distances import MODELS, SEES
from benchmark.metrics.embedding import vendi_score
from benchmark.metrics.metric import MOST, Metric, Unscorable, Version, too_many

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


_GROWS = "It is at most the number of responses and grows with it: compare equal k only."
_LEINSTER = "Leinster & Cobbold 2012, Ecology 93"
_FIRST = Version(1, "2026-11-22", "first version: kernels of sentence embeddings")
_FIRST_PAIRS = Version(1, "2026-11-21", "first version: diversity from the similarity of pairs")

_metric = partial(Metric, reads="embeddings", direction=+1, needs=2, family="meaning", history=(_FIRST,))
_pair_metric = partial(Metric, fn=pairwise_diversity, direction=+1, needs=2, family="meaning", history=(_FIRST_PAIRS,))

METRICS: tuple[Metric, ...] = (
    _metric(
        "renyi_entropy",
        "Rényi kernel entropy of order 2",
        partial(renyi_entropy, order=2.0),
        bounds=(0, None),
        unit="nats",
        paper="Jalali et al. 2023, NeurIPS 36; Mironov & Prokhorenkova 2024, arXiv:2410.14556",
        parameters={"order": "2", "kernel": "cosine"},
        formula="−ln ‖X Xᵀ / n‖²_F, X the responses' unit vectors",
        summary="How spread out the directions of the responses are.",
        failures=(
            "It is the logarithm of vendi_score_q2: it ranks response sets alike, and only means over sets differ.",
            "It grows with the number of responses, up to its logarithm: compare equal k only.",
            SEES,
            MODELS,
        ),
    ),
    _metric(
        "log_determinant",
        "log-determinant of the cosine kernel",
        partial(log_determinant, epsilon=1e-6),
        bounds=(None, None),
        unit="nats",
        paper="Kulesza & Taskar 2012, arXiv:1207.6083 (determinantal point processes)",
        parameters={"epsilon": "1e-06", "kernel": "cosine"},
        formula="ln det(X Xᵀ + 10⁻⁶ I), X the responses' unit vectors",
        summary="How large a volume the responses' directions span.",
        failures=(
            "One more copy of a response costs 13 nats, whatever the others are; the regulariser determines how much.",
            "It is a sum over responses: compare equal k only.",
            SEES,
            MODELS,
        ),
    ),
    _metric(
        "dcscore",
        "DCScore (softmax classification of responses)",
        partial(dcscore, temperature=1.0),
        bounds=(1, "k"),
        unit="effective number of responses",
        paper="Zhu et al. 2025, arXiv:2502.08512",
        parameters={"temperature": "1", "kernel": "cosine"},
        formula="Σᵢ exp(Kᵢᵢ) / Σⱼ exp(Kᵢⱼ), K the cosines of embeddings, temperature 1",
        summary="How well each response can be distinguished from the others by its similarity to itself.",
        failures=(
            "At temperature 1, ten responses that have nothing in common get 2.3 of 10: it is not a count.",
            _GROWS,
            SEES,
            MODELS,
        ),
    ),
    _metric(
        "hill_number_q1",
        "similarity-sensitive Hill number of order 1",
        partial(hill_number, order=1.0),
        bounds=(1, "k"),
        unit="effective number of responses",
        paper=_LEINSTER,
        parameters={"order": "1", "similarity": "cosine above 0"},
        formula="exp(−mean over i of ln zᵢ), zᵢ = mean over j of max(xᵢ · xⱼ, 0), x the unit vector of a response",
        summary="The number of completely dissimilar responses that would be as uncommon as these.",
        failures=(
            "Responses to one question have much in common, so it stays far below their number: 2.3 on average over "
            "sets of five and ten of McDiv and decTest (all-MiniLM-L6-v2).",
            _GROWS,
            SEES,
            MODELS,
        ),
    ),
    _metric(
        "hill_number_q2",
        "similarity-sensitive Hill number of order 2",
        partial(hill_number, order=2.0),
        bounds=(1, "k"),
        unit="effective number of responses",
        paper=f"{_LEINSTER}; Rao 1982",
        parameters={"order": "2", "similarity": "cosine above 0"},
        formula="1 / mean over i, j of max(xᵢ · xⱼ, 0), x the unit vector of a response; 1 / (1 − Rao's entropy)",
        summary="The number of completely dissimilar responses of which two would be as similar, on average, as two of "
        "these.",
        failures=(
            "If no cosine is below 0, it is a function of the mean pairwise distance and of k, and ranks sets of "
            "equal k as embedding_diversity does.",
            _GROWS,
            SEES,
            MODELS,
        ),
    ),
    _pair_metric(
        "bert_score_diversity",
        "BERTScore diversity (minus the mean rescaled F1)",
        reads="pairs:bert_score",
        bounds=(-1, None),
        unit="negative F1, rescaled",
        paper="Tevet & Berant 2021, arXiv:2004.02990, section 5; Zhang et al. 2020, arXiv:1904.09675",
        formula="−mean over pairs i < j of F1ᵢⱼ, BERTScore's F1 of best-matching tokens, rescaled by its baseline",
        summary="How badly the words of one response match words of similar meaning in another.",
        failures=(
            "It is much worse if wording is held equal: 0.35 on McDiv_nuggets' stories, 0.60 on all of McDiv's "
            "(Spearman with the label, released values).",
            "Rescaling makes an F1 below the baseline negative, so values can exceed 0.",
            "It needs a large model for every pair, and texts over its token limit are truncated.",
        ),
    ),
    _pair_metric(
        "bert_sts_diversity",
        "STS diversity (minus the mean score of a model trained on STS-B)",
        reads="pairs:sts",
        bounds=(-1, 0),
        unit="negative similarity",
        paper="Tevet & Berant 2021, arXiv:2004.02990, section 5 (BERT-STS), with another model",
        formula="−mean over pairs i < j of s(i, j), s the score of a model trained to judge sentence similarity "
        "(STS-B)",
        summary="How dissimilar two responses are for a model trained on people's judgements of similarity.",
        failures=(
            "The weights behind the published numbers are not available: this is another model.",
            "It was trained on pairs of single sentences, not on longer responses.",
            "A pair's score can depend on which text comes first.",
        ),
    ),
)
