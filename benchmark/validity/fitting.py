"""From measured responses to the parameters of the discriminator; deterministic."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmark.validity.discriminator import Discriminator, Logistic, judge, suspicions
from benchmark.validity.evidence import FEATURES, Features, Reason

Judged = Sequence[Sequence[Features]]  # response sets


def fit_reason(real: Sequence[tuple[float, ...]], none: Sequence[tuple[float, ...]]) -> Logistic:
    """Fit the log-odds of being junk of one reason against being an answer, as if both were equally common.

    Args:
        real: Features of answers.
        none: Features of junk.
    """
    from sklearn.linear_model import LogisticRegression

    x = np.array([*real, *none])
    y = np.array([0] * len(real) + [1] * len(none))
    low, high = np.quantile(x, [0.002, 0.998], axis=0)
    x = np.clip(x, low, high)
    mean, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-9)
    model = LogisticRegression(C=1.0, class_weight="balanced", max_iter=1000).fit((x - mean) / scale, y)
    weights = model.coef_[0] / scale
    intercept = float(model.intercept_[0] - weights @ mean)
    return Logistic(
        round(intercept, 4),
        tuple(round(float(w), 4) for w in weights),
        tuple(round(float(v), 4) for v in low),
        tuple(round(float(v), 4) for v in high),
    )


def fit(
    real: Judged, junk: Mapping[str, Judged], reason_of: Mapping[str, Reason], given: Discriminator
) -> Discriminator:
    """Fit the weights of every reason that some junk has.

    Args:
        real: Response sets of answers.
        junk: Response sets of each kind of junk.
        reason_of: The reason that is right for each kind.
        given: Parameters, of which the weights are replaced.
    """
    weights = {}
    for reason in FEATURES:
        kinds = [kind for kind in junk if reason_of[kind] == reason]
        answers = [f for own in real for each in own if (f := each.get(reason)) is not None]
        bad = [f for kind in kinds for own in junk[kind] for each in own if (f := each.get(reason)) is not None]
        weights[reason] = fit_reason(answers, bad)
    return replace(given, weights=weights)


def refused_share(sets: Judged, given: Discriminator) -> float:
    """The share of the responses that are refused."""
    found = [reason is not None for own in sets for reason in judge(own, given)]
    return float(np.mean(found)) if found else 0.0


def calibrate(systems: Mapping[str, Judged], given: Discriminator, most: float) -> Discriminator:
    """Lower the thresholds until few of every system's responses are refused.

    Args:
        systems: Response sets of each real system.
        given: Parameters, of which the thresholds are replaced.
        most: Highest share of a system's responses to be refused; for one reason, half of it.
    """
    suspected = [[each for own in sets for each in suspicions(own, given)] for sets in systems.values()]
    thresholds: dict[Reason, float] = {}
    for reason in FEATURES:
        thresholds[reason] = 0.5
        for own in suspected:
            ranked = sorted(answer for why, answer in own if why == reason)
            allowed = int(len(own) * most / 2)
            if len(ranked) > allowed:  # the next one has to be spared
                thresholds[reason] = min(thresholds[reason], ranked[allowed])
    while any(sum(p < thresholds[why] for why, p in own) > most * len(own) for own in suspected):
        thresholds = {reason: 0.97 * threshold for reason, threshold in thresholds.items()}
    return replace(given, thresholds={reason: math.floor(1e4 * t) / 1e4 for reason, t in thresholds.items()})
