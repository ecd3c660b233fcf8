"""Metrics of pairwise similarities. Input: the similarities of one set's unordered pairs, float64 [n (n − 1) / 2].

Tevet & Berant's third neural metric, sent-BERT, is `embedding_diversity` with the embedder of the profile *paper*: one
minus the mean cosine, which gives the same ranking as minus the mean cosine.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Metric, Unscorable, Version


def pairwise_diversity(similarities: NDArray[np.float64]) -> float:
    """Compute minus the mean similarity of all pairs; higher is more diverse (arXiv:2004.02990, section 5).

    Raises:
        Unscorable: There is no pair.

    >>> pairwise_diversity(np.array([1.0, 0.5, 0.0]))
    -0.5
    """
    if len(similarities) == 0:
        raise Unscorable("fewer than two responses")
    return -float(np.mean(similarities))


_FIRST = Version(1, "2026-11-21", "first version: diversity from the similarity of pairs")

_metric = partial(Metric, fn=pairwise_diversity, direction=+1, needs=2, family="meaning", history=(_FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric(
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
    _metric(
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
