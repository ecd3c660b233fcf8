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

from benchmark.metrics.metric import Metric, Unscorable, Version

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
_SEES = (
    "It depends on all-MiniLM-L6-v2, which reads English and the first 256 tokens of a response; with other embedders "
    "it is missing."
)
_PROMPT = "It depends on the prompt: rewording the prompt changes the value of the same responses."

_metric = partial(Metric, reads="pairs:beside_prompt", direction=+1, needs=2, family="meaning", history=(_FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric(
        "learned_diversity",
        "probability of high content diversity, learned from labelled sets",
        learned_diversity,
        bounds=(0, 1),
        unit="probability",
        paper="DivBench, 2026; fitted to the sets of Tevet & Berant 2021, arXiv:2004.02990",
        parameters={"weights": "tevet-1"},
        formula="1 / (1 + exp(−(w₀ + w₁ r + w₂ d + w₃ c))), r the mean cosine of a response with the prompt, d the "
        "distance_beside_prompt, c the mean distance of the pairs' content words",
        summary="The fitted probability that people wrote such a set to be diverse; high if responses differ in what "
        "they add to the prompt.",
        failures=(
            "Responses to other prompts score above every real system, and echoes of the prompt gain .70 of the "
            "distance between systems; random words gain .16.",
            "It was fitted on sets of five English sentences: for longer responses it is not a probability, and most "
            "sets are near 0 (gpt-4o .008, gpt-4o with all earlier responses in view .08, people .63, k = 8). Use "
            "distance_beside_prompt for degrees there.",
            "It was fitted on the labels of conTest, McDiv and McDiv_nuggets: it agrees a little less with other sets "
            "(docs/metrics.md), and less with people's own scores than sent-BERT does.",
            _PROMPT,
            _SEES,
        ),
    ),
    _metric(
        "distance_beside_prompt",
        "mean pairwise cosine distance of embeddings without the prompt's part",
        distance_beside_prompt,
        bounds=(0, 2),
        unit="cosine distance",
        paper="DivBench, 2026",
        formula="1 − mean over pairs i < j of cos(xᵢ − (xᵢ·p)p, xⱼ − (xⱼ·p)p), x the responses' unit vectors, p the "
        "prompt's",
        summary="How far apart responses are in what they add to the prompt; nothing is fitted.",
        failures=(
            "If responses only repeat the prompt, little but noise is left: such echoes gain .67 of the distance "
            "between systems, whereas they lose .16 under embedding_diversity.",
            "An exact echo of the prompt has no part beside it and keeps its own vector: it is at distance 1 from all "
            "other responses, and at 0 from another echo.",
            "Responses to other prompts gain the most (.98); refusals, book sentences, random prefixes and random "
            "words gain .34 to .57.",
            _PROMPT,
            _SEES,
        ),
    ),
)
