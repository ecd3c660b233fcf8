"""Metrics of similarities between pairs. Input: those of one set's unordered pairs, float64 [n (n − 1) / 2].

Tevet & Berant's third neural metric, sent-BERT, is `embedding_diversity` with the embedder of the profile *paper*: one
minus the mean cosine, which ranks sets as minus the mean cosine does.
"""

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Metric, Unscorable


def pairwise_diversity(similarities: NDArray[np.float64]) -> float:
    """Minus the mean similarity over all pairs of responses; more is more diverse (arXiv:2004.02990, section 5).

    Raises:
        Unscorable: No pair.

    >>> pairwise_diversity(np.array([1.0, 0.5, 0.0]))
    -0.5
    """
    if len(similarities) == 0:
        raise Unscorable("fewer than two answers")
    return -float(np.mean(similarities))


SIMILARITY: tuple[Metric, ...] = (
    Metric(
        "bert_score_diversity",
        1,
        "BERTScore diversity (minus the mean rescaled F1)",
        pairwise_diversity,
        reads="pairs:bert_score",
        direction=+1,
        bounds=(-1, None),
        unit="negative F1, rescaled",
        paper="Tevet & Berant 2021, arXiv:2004.02990, section 5; Zhang et al. 2020, arXiv:1904.09675",
        needs=2,
    ),
    Metric(
        "bert_sts_diversity",
        1,
        "STS diversity (minus the mean score of a model trained on STS-B)",
        pairwise_diversity,
        reads="pairs:sts",
        direction=+1,
        bounds=(-1, 0),
        unit="negative similarity",
        paper="Tevet & Berant 2021, arXiv:2004.02990, section 5 (BERT-STS), with another model",
        needs=2,
    ),
)
