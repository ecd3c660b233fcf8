"""Fits the parameters of the discriminator to the features of responses; deterministic."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from benchmark.validity.discriminator import Discriminator, Logistic, judge, suspicions
from benchmark.validity.evidence import FEATURES, Features, Reason

Judged = Sequence[Sequence[Features]]  # response sets
_DOUBT = 0.45  # highest threshold: in doubt, a response is an answer


def fit_reason(real: Sequence[Sequence[tuple[float, ...]]], none: Sequence[Sequence[tuple[float, ...]]]) -> Logistic:
    """Fit the log-odds of junk of one reason against answers, as if both were equally common.

    Args:
        real: Features of answers, by source; each source has the same weight, so that length alone is uninformative.
        none: Features of junk, by the same sources.
    """
    from sklearn.linear_model import LogisticRegression

    groups = [*real, *none]
    x = np.array([features for group in groups for features in group])
    y = np.repeat([0] * len(real) + [1] * len(none), [len(group) for group in groups])
    weight = np.repeat([1 / max(1, len(group)) for group in groups], [len(group) for group in groups])
    low, high = np.quantile(x, [0.002, 0.998], axis=0)
    x = np.clip(x, low, high)
    mean, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-9)
    model = LogisticRegression(C=1.0, max_iter=1000).fit((x - mean) / scale, y, weight * len(x) / weight.sum())
    weights = model.coef_[0] / scale
    intercept = float(model.intercept_[0] - weights @ mean)
    return Logistic(
        round(intercept, 4),
        tuple(round(float(w), 4) for w in weights),
        tuple(round(float(v), 4) for v in low),
        tuple(round(float(v), 4) for v in high),
    )


def fit(
    real: Sequence[Judged],
    junk: Mapping[str, Sequence[Judged]],
    reason_of: Mapping[str, Reason],
    given: Discriminator,
) -> Discriminator:
    """Fit the weights of every reason.

    The sources differ in length. Each has the same weight, so that short texts are not more likely to be junk. Only for
    "not about the prompt" are they pooled, because few answers are short: a short one must show what it is about.

    Args:
        real: Response sets of answers, by source.
        junk: Response sets of each kind of junk, by source.
        reason_of: The correct reason for each kind.
        given: Parameters, of which the weights are replaced.
    """
    weights = {}
    for reason in FEATURES:
        kinds = [kind for kind in junk if reason_of[kind] == reason]
        answers = [_features([source], reason) for source in real]
        bad = [_features([junk[kind][i] for kind in kinds], reason) for i in range(len(real))]
        if reason == "not about the prompt":
            answers, bad = [[*chain(*answers)]], [[*chain(*bad)]]
        weights[reason] = fit_reason(answers, bad)
    return replace(given, weights=weights)


def _features(sources: Sequence[Judged], reason: Reason) -> list[tuple[float, ...]]:
    return [f for sets in sources for own in sets for each in own if (f := each.get(reason)) is not None]


def refused_share(sets: Judged, given: Discriminator) -> float:
    """Return the share of responses that are rejected."""
    found = [reason is not None for own in sets for reason in judge(own, given)]
    return float(np.mean(found)) if found else 0.0


def calibrate(systems: Mapping[str, Judged], given: Discriminator, most: float) -> Discriminator:
    """Lower the thresholds until few of each system's responses are rejected.

    Args:
        systems: Response sets of each real system.
        given: Parameters, of which the thresholds are replaced.
        most: Maximum share of a system's responses that may be rejected; half of it for a single reason.
    """
    suspected = [[each for own in sets for each in suspicions(own, given)] for sets in systems.values()]
    thresholds: dict[Reason, float] = {}
    for reason in FEATURES:
        thresholds[reason] = _DOUBT
        for own in suspected:
            ranked = sorted(answer for why, answer in own if why == reason)
            allowed = int(len(own) * most / 2)
            if len(ranked) > allowed:  # the next one must be accepted
                thresholds[reason] = min(thresholds[reason], ranked[allowed])
    while any(sum(p < thresholds[why] for why, p in own) > most * len(own) for own in suspected):
        thresholds = {reason: 0.97 * threshold for reason, threshold in thresholds.items()}
    return replace(given, thresholds={reason: math.floor(1e4 * t) / 1e4 for reason, t in thresholds.items()})
