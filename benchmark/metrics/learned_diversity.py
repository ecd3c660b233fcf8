"""Distances with the prompt's part removed, and a learned metric. Input: float64 [n (n − 1) / 2, 3], one row per pair.

The columns are `COLUMNS`, from all-MiniLM-L6-v2's vectors and token states of the responses and the prompt
(equivalence/learned/features.py). Two responses to one prompt are similar because both are about it; removing the
prompt's part shows their other content. Pairs of equal texts have similarities of exactly 1.
"""

import json
import math
from functools import lru_cache, partial
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Metric, Unscorable, Version, metric

COLUMNS = ("relevance", "cosine_beside_prompt", "content_cosine")
"""The mean cosine of both responses' vectors with the prompt's; the cosine of the parts of both vectors that are
orthogonal to the prompt's; the cosine of the means of both texts' token states, weighted by content: words of the
prompt count a tenth, stop words less than other words, and punctuation does not count."""

Pairs = NDArray[np.float64]


def distance_beside_prompt(pairs: Pairs) -> float:
    """Compute one minus the mean cosine of pairs of responses, without the parts along the prompt's vector.

    >>> distance_beside_prompt(np.array([[0.5, 0.25, 0.5]]))
    0.75
    """
    if len(pairs) == 0:
        raise Unscorable("fewer than two responses")
    return max(1.0 - float(pairs[:, COLUMNS.index("cosine_beside_prompt")].mean()), 0.0)


def learned_diversity(pairs: Pairs) -> float:
    """Compute the probability that people wrote the set for high content diversity, by logistic regression.

    It depends on relevance and two distances. The weights were fitted on conTest, McDiv and McDiv_nuggets (`weights`);
    docs/metrics.md evaluates them on other sets.

    >>> learned_diversity(np.ones((3, 3)))
    0.0
    """
    if len(pairs) == 0:
        raise Unscorable("fewer than two responses")
    if (pairs[:, 1:] == 1).all():
        return 0.0
    intercept, (relevance, beside, content) = weights()
    means = pairs.mean(axis=0)
    log_odds = intercept + relevance * means[0] + beside * (1 - means[1]) + content * (1 - means[2])
    return 1 / (1 + math.exp(-float(log_odds)))


@lru_cache(maxsize=1)
def weights() -> tuple[float, Pairs]:
    """Return the intercept, and the log-odds per unit of relevance and both distances, in the order of `COLUMNS`."""
    text = (resources.files("benchmark.metrics") / "learned_diversity.json").read_text("utf-8")
    model = json.loads(text)
    return float(model["intercept"]), np.array([model["weights"][name] for name in COLUMNS], np.float64)


_FIRST = Version(1, "2026-11-23", "first version")

_metric = partial(metric, reads="pairs:beside_prompt", direction=+1, needs=2, family="meaning", history=(_FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric("learned_diversity", learned_diversity, bounds=(0, 1), parameters={"weights": "tevet-1"}),
    _metric("distance_beside_prompt", distance_beside_prompt, bounds=(0, 2)),
)
