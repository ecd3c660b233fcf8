"""The candidates of the learned metric: features of a set, and a model to fit on them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from divbench.core.errors import need

Floats = NDArray[np.float64]
Kind = Literal["logistic", "trees"]

THREE = ("relevance", "cosine_beside_prompt_distance", "content_cosine_distance")
"""Features of the metric `learned_diversity`."""
FOUR = (
    "cosine_distance",
    "cosine_beside_prompt_distance",
    "content_cosine_distance",
    "content_alignment_lower_distance",
)
NINE = (
    *FOUR,
    *("alignment_lower_distance", "content_alignment_distance", "content_alignment_higher_distance"),
    *("unmatched_higher", "unmatched_lower"),
)
MEANING: tuple[tuple[str, ...], ...] = (
    ("embedding_diversity",),
    ("embedding_diversity", "hill_number_q2", "bottleneck", "diameter"),
    ("cosine_beside_prompt_distance",),
    THREE,
    FOUR,
    NINE,
)
SURPRISE: tuple[tuple[str, ...], ...] = (
    (),
    ("retained_surprise",),
    ("retained_surprise", "log_bits_alone", "log_bytes"),
    ("tail_retained", "bits_alone", "bytes"),
)
WORDS: tuple[tuple[str, ...], ...] = (
    (),
    ("rouge_l_similarity", "compression_ratio", "cosine_diversity_tevet", "type_token_ratio", "class_entropy"),
)
NOT_DIVERSITY = frozenset({"log_bits_alone", "log_bytes", "bits_alone", "bytes"})
"""Features in which trees need not be monotone: how long and how likely responses are by themselves."""
STRENGTHS = (0.1, 1.0)  # inverse weight of the L2 penalty on standardised features


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model to fit."""

    features: tuple[str, ...]
    # *logistic* regression with an L2 penalty, or few small boosted *trees*, monotone in every feature that is a
    # measure of diversity.
    kind: Kind = "logistic"
    strength: float = 1.0  # inverse weight of the penalty; unused for trees

    def __str__(self) -> str:
        """Return the features and the model."""
        return f"{' + '.join(self.features)} ({self.kind}, {self.strength:g})"


def candidates(always: tuple[str, ...] = (), *, surprise: bool = True) -> tuple[Candidate, ...]:
    """Return all candidates for one version of the metric.

    Args:
        always: Features of every candidate, such as sent-BERT's released score.
        surprise: Whether features of a causal language model may be used.
    """
    surprises = SURPRISE if surprise else SURPRISE[:1]
    sets = [(*always, *(f for part in parts for f in part)) for parts in product(MEANING, surprises, WORDS)]
    made = [Candidate(features, "logistic", strength) for features in sets for strength in STRENGTHS]
    return (*made, Candidate(sets[-1], "trees"))


VERSIONS: Mapping[str, tuple[Candidate, ...]] = {
    "open": candidates(surprise=False),
    "surprisals": candidates(),
    "sent-bert": candidates(("released:sent_bert",)),
}
"""Candidates by version: with all-MiniLM-L6-v2 and words; also surprisals; also sent-BERT's scores."""

Fitted = Callable[[Floats], Floats]
"""Function from features [rows, features] to the log-odds of high diversity [rows]."""


def fit(candidate: Candidate, features: Floats, high: NDArray[np.bool_]) -> Fitted:
    """Fit a candidate.

    Args:
        features: [rows, features], in the candidate's order, larger for more diverse.
        high: [rows], which sets have the high label.
    """
    if candidate.kind == "trees":
        signs = [0 if name in NOT_DIVERSITY else 1 for name in candidate.features]
        trees: Any = need("sklearn.ensemble", "score").HistGradientBoostingClassifier(
            max_iter=60, max_leaf_nodes=5, min_samples_leaf=10, monotonic_cst=signs, early_stopping=False
        )
        trees.fit(features, high)
        return lambda rows: np.asarray(trees.decision_function(rows), np.float64)
    intercept, weights = logistic(candidate.strength, features, high)
    return lambda rows: np.asarray(rows @ weights + intercept)


def logistic(strength: float, features: Floats, high: NDArray[np.bool_]) -> tuple[float, Floats]:
    """Return the intercept, and the weight per unit of each feature; the penalty is on standardised features."""
    mean, sd = features.mean(axis=0), features.std(axis=0)
    sd = np.where(sd > 0, sd, 1.0)
    model: Any = need("sklearn.linear_model", "score").LogisticRegression(C=strength, max_iter=1000)
    model.fit((features - mean) / sd, high)
    weights = np.asarray(model.coef_[0], np.float64) / sd
    return float(model.intercept_[0] - weights @ mean), weights


def simplest(found: Sequence[tuple[Candidate, float]]) -> Candidate:
    """Return the candidate with the fewest features among the nearly best; ties go to the better one."""
    floor = max(value for _, value in found) - 0.005
    able = [(each, value) for each, value in found if value >= floor]
    return min(able, key=lambda pair: (len(pair[0].features), pair[0].kind == "trees", -pair[1]))[0]
