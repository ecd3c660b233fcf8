"""Data types for the contrast of two groups of prompts, and threshold classifiers.

Group 1 has the label, group 0 does not; t and d are of group 1 minus group 0 in the metric's own values. Welch's t is
in scoring/estimate.py, AUROC and correlations are in metaeval/agreement.py; this module measures how well a threshold
on a score classifies held-out prompts. A resample is a row of weights, as in those modules. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.analysis.metaeval import agreement
from benchmark.scoring.estimate import Estimate, Floats
from benchmark.scoring.inputs import Value
from divbench.core.errors import need

Truths = NDArray[np.bool_]
FOLDS = 5
_ROUNDING = 1e-12  # relative: sums of equal values in another order differ by this much


@dataclass(frozen=True, slots=True)
class MetricScores:
    """The values of one metric on all prompts."""

    metric: str
    version: int
    direction: int
    origin: str  # *computed*, or *reported*: from values that came with the submission
    signature: str  # signature of the values: what they depend on besides the texts
    values: tuple[Value, ...]  # values in the order of the prompts, numbers or the reasons why they are missing


@dataclass(frozen=True, slots=True, eq=False)
class PromptScores:
    """The scores of a system's prompts."""

    system: str
    submission_id: str
    result_id: str
    suite: str
    profile: str
    k: int
    prompt_ids: tuple[str, ...]  # [prompts]
    prompt_bytes: Floats  # [prompts], UTF-8 bytes of each prompt
    metrics: tuple[MetricScores, ...]


@dataclass(frozen=True, slots=True)
class Labels:
    """The two groups of prompts."""

    source: str  # file and column of the labels
    group_1: str  # description of group 1
    group_0: str  # description of group 0
    is_1: Mapping[str, bool]  # whether a prompt is in group 1, by prompt id; prompts in neither group are absent
    left_out: Mapping[str, int]  # number of prompts in neither group, by reason
    columns: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Classifier:
    """Accuracy of a threshold on held-out prompts."""

    folds: int  # number of cross-validation folds; fewer than five where a group has fewer prompts
    # Share of prompts classified correctly, each by the threshold chosen on the other folds. Intervals resample prompts
    # with their fixed predictions.
    accuracy: Estimate
    majority: float  # share of the larger group: the accuracy of always predicting it
    macro_f1: Estimate  # mean of the F1 of both groups, on the same predictions
    threshold: float | None  # best threshold on all prompts; None where every prompt is on one side of it
    above: bool  # whether group 1 lies above the threshold


@dataclass(frozen=True, slots=True)
class Correlation:
    """Correlations of a metric with a numeric column, over the prompts of both groups."""

    column: str
    n: int  # prompts that have both
    left_out: int  # prompts of the groups that lack one
    pearson: Estimate  # Pearson's correlation with the metric's own values; intervals resample prompts
    spearman: Estimate  # Spearman's correlation with the same values
    partial_pearson: Estimate  # partial correlation, controlling linearly for the prompt's UTF-8 bytes
    partial_spearman: Estimate  # the same for ranks
    untested: str | None


@dataclass(frozen=True, slots=True)
class LabelContrast:
    """Two groups of prompts compared by one metric."""

    metric: str
    version: int
    direction: int
    origin: str
    signature: str
    n1: int  # prompts of group 1 that have a value; all statistics below are over these and the `n0` prompts of group 0
    n0: int  # prompts of group 0 that have a value
    left_out: int  # prompts of the groups that have no value
    reasons: dict[str, int]  # reasons for missing values, and their counts
    mean1: float | None  # mean of group 1; None where n1 is 0
    mean0: float | None  # mean of group 0; None where n0 is 0
    t: float | None  # Welch's t, of group 1 minus group 0 in the metric's own values; None where untested
    df: float | None  # Satterthwaite's degrees of freedom; None where untested
    p: float | None  # two-sided p-value; None where untested
    p_holm: float | None  # p adjusted over all metrics by Holm's method; None where untested
    stars: str  # significance of p: one star under .05, two under .01, three under .001
    d: float | None  # Cohen's d, with the pooled standard deviation of both groups; None where untested
    # Probability that a prompt of group 1 is more diverse than one of group 0, ties as half, by direction × value (by
    # the value where the direction is 0).
    auroc: Estimate
    classifier: Classifier | None  # threshold classifier; None where a group is too small or the metric constant
    untested: str | None
    correlations: tuple[Correlation, ...]


@dataclass(frozen=True, slots=True)
class Threshold:
    """A classifier by one score: group 1 lies above the cut, or at and below it."""

    cut: float
    above: bool

    def predict(self, scores: Floats) -> Truths:
        """Whether each score [prompts] is predicted to be of group 1."""
        return np.asarray((scores > self.cut) == self.above)


def stars(p: float | None) -> str:
    """Return the stars of a p-value, as in the paper's tables.

    >>> [stars(p) for p in (0.2, 0.05, 0.049, 0.0099, 0.0001, None)]
    ['', '', '*', '**', '***', '']
    """
    return "" if p is None else "*" * sum(p < bound for bound in (0.05, 0.01, 0.001))


def is_constant(values: Floats) -> bool:
    """Whether values of any shape are all equal up to rounding; True if there are none."""
    return values.size == 0 or bool(np.ptp(values) <= _ROUNDING * np.max(np.abs(values)))


def best_threshold(scores: Floats, is_1: Truths) -> Threshold:
    """Return the threshold, and its side, with the highest accuracy.

    Every cut between two neighbouring scores classifies alike, so the cut is their midpoint. Among several equally good
    gaps the middle one is taken (of two, the lower). Group 1 lies below the cut only if that beats every cut with group
    1 above.

    Args:
        scores: [prompts].
        is_1: [prompts].
    """
    values, place = np.unique(scores, return_inverse=True)
    ones = np.bincount(place, is_1, len(values))
    zeros = np.bincount(place, ~is_1, len(values))
    # Number classified correctly if group 1 lies above the gap before each value; last, above all values.
    right = ones.sum() - np.concatenate([[0], np.cumsum(ones)]) + np.concatenate([[0], np.cumsum(zeros)])
    wrong = len(scores) - right
    above = bool(right.max() >= wrong.max())
    counts = right if above else wrong
    tied = np.flatnonzero(counts == counts.max())
    gap = int(tied[(len(tied) - 1) // 2])
    if gap in (0, len(values)):
        return Threshold(-np.inf if gap == 0 else np.inf, above)
    low, high = float(values[gap - 1]), float(values[gap])
    middle = low + (high - low) / 2
    return Threshold(middle if middle < high else low, above)  # between neighbouring floats there is nothing


def held_out_predictions(scores: Floats, is_1: Truths, *, folds: int = FOLDS, seed: int = 0) -> Truths:
    """Predict the group of each prompt [prompts] by the threshold that is best on the other folds.

    Args:
        scores: [prompts].
        is_1: [prompts]; either group has at least as many prompts as there are folds.
        folds: Each with the groups in the same shares.
    """
    model_selection = need("sklearn.model_selection", "score")
    splitter = model_selection.StratifiedKFold(folds, shuffle=True, random_state=seed % 2**32)
    predicted = np.zeros(len(scores), bool)
    for train, rest in splitter.split(scores, is_1):
        predicted[rest] = best_threshold(scores[train], is_1[train]).predict(scores[rest])
    return predicted


def macro_f1(is_1: Truths, predicted: Truths, weights: Floats) -> Floats:
    """Return the mean F1 of both groups [resamples], as in scikit-learn, for many resamples; the F1 of no prompts is 0.

    Args:
        is_1: [prompts].
        predicted: [prompts].
        weights: [resamples, prompts].
    """
    wrong = weights @ (is_1 != predicted)
    found = []
    for group in (True, False):
        twice = 2 * (weights @ ((is_1 == group) & (predicted == group)))
        found.append(np.divide(twice, twice + wrong, out=np.zeros_like(twice), where=twice > 0))
    return np.asarray((found[0] + found[1]) / 2)


def correlations(x: Floats, y: Floats, z: Floats, weights: Floats) -> list[Floats]:
    """Return Pearson's and Spearman's correlation of x and y, then both controlling for z, each [resamples].

    Args:
        x: [prompts].
        y: Second variable [prompts].
        z: Variable to control for [prompts].
        weights: [resamples, prompts].
    """
    made = []
    for own in ([x, y, z], [agreement.ranks(each, weights) for each in (x, y, z)]):
        xy, xz, yz = (agreement.pearson(own[a], own[b], weights) for a, b in ((0, 1), (0, 2), (1, 2)))
        made.append((xy, agreement.partial(xy, xz, yz)))
    return [made[0][0], made[1][0], made[0][1], made[1][1]]
