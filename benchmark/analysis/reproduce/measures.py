"""The two measures of Tevet & Berant's tests as in their code, and n-gram metrics as in their released data."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from benchmark.analysis.metaeval import agreement
from benchmark.analysis.metaeval.labelled import Labelled
from benchmark.metrics.lexical import distinct_n, ngram_cosine_diversity, ngram_statistics, tevet_tokens

Floats = NDArray[np.float64]
MEASURES = ("rho", "OCA")


def rho(scores: Floats, labels: Floats) -> float:
    """Compute Spearman's rho of scores [sets] with labels [sets]."""
    return float(agreement.spearman(scores, labels, agreement.ones(len(scores)))[0])


def optimal_accuracy_as_coded(scores: Floats, labels: Floats) -> float:
    """Compute OCA as in their code: one threshold with a slack of 1e-5, in the better direction; at least 0.5."""
    weights = agreement.ones(len(scores))
    return float(agreement.optimal_accuracy(scores, labels == 1, weights, folded=True, slack=1e-5)[0])


def both(scores: Floats, labels: Floats) -> Mapping[str, float]:
    """Compute each of `MEASURES`."""
    return {"rho": rho(scores, labels), "OCA": optimal_accuracy_as_coded(scores, labels)}


def ngram_columns(task: Labelled) -> dict[str, Floats]:
    """Compute `distinct-n` and `cos-sim` of each set, [sets], by this package's metrics on the texts.

    Blank responses count, and values are rounded to 3 decimals, as in the released columns: rounding changes ties, and
    therefore rho by up to 0.001. (The scorer leaves blank responses out and does not round.)
    """
    found = ngram_statistics(task.responses, tevet_tokens)
    made = {"distinct-n": map(distinct_n, found), "cos-sim": map(ngram_cosine_diversity, found)}
    return {name: np.array([float(f"{value:.3f}") for value in values]) for name, values in made.items()}
