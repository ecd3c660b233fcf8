"""Metrics of a partition of the responses into classes of equal meaning; here of one that came with them."""

import math

from benchmark.metrics.metric import Unscorable
from submissions.schema import Reported


def distinct_k(reported: Reported) -> float:
    """The number of classes among k responses (NoveltyBench, eq. 1). In [1, k].

    The published files' field `distinct` is one less, the paper's tables one more; this is the definition.

    Raises:
        Unscorable: The partition is of no response.

    >>> distinct_k(Reported((0, 0, 1, 2), None, 3, None))
    3.0
    """
    if not reported.partition:
        raise Unscorable("no response")
    return float(len(set(reported.partition)))


def utility_k(reported: Reported, patience: float) -> float:
    """Cumulative utility of a reader who asks on with probability `patience` (NoveltyBench, eq. 2).

    (1 − p) / (1 − p^k) · Σ p^(i−1) · u_i over the responses that open a class, u_i their quality of 1 to 10.

    Args:
        reported: With `generation_scores`, where responses that open no class have 0.
        patience: p, in [0, 1].

    Returns:
        In [0, 10].

    Raises:
        Unscorable: There are no scores, or they are of no response.

    >>> round(utility_k(Reported((0,) * 10, (10.0,) + (0.0,) * 9, 1, None), patience=0.8), 4)
    2.2406
    """
    scores = reported.generation_scores
    if scores is None:
        raise Unscorable("no reported scores")
    if not scores:
        raise Unscorable("no response")
    weights = [patience**i for i in range(len(scores))]
    return math.fsum(w * s for w, s in zip(weights, scores, strict=True)) / math.fsum(weights)
