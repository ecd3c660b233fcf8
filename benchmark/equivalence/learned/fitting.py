"""Fits the learned model, and computes its probabilities with prompts and systems held out."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.equivalence.backend import Floats
from benchmark.equivalence.learned.features import FEATURES, LINEAR
from benchmark.equivalence.learned.pair_model import PairModel, as_pair_model
from benchmark.equivalence.learned.training_sets import LabelledSet

Mask = NDArray[np.bool_]
FOLDS = 3
# Chosen with prompts and systems held out. The linear part keeps the ranking of sets right for responses unlike those
# trained on: alone, it is worse than the trees in domain and better out of domain.
TREES_SHARE = 0.7
_TREES = {"max_iter": 70, "learning_rate": 0.12, "max_leaf_nodes": 10, "min_samples_leaf": 60, "l2_regularization": 5.0}


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPairs:
    """The pairs of several sets, concatenated."""

    features: Floats  # [pairs, features]
    without_openings: Floats  # [pairs, features], features without empty openings; not trained on
    published: Mask  # [pairs], whether both are in one published class
    corrected: Mask  # [pairs], the label to train with
    identical: Mask  # [pairs], whether the texts are equal once normalised
    system: NDArray[np.str_]  # [pairs], the system; empty for texts without one
    fold: NDArray[np.int64]  # [pairs], the fold of the prompt, by its hash; −1 for texts without one

    @staticmethod
    def of(sets: Sequence[LabelledSet], features: Floats, without_openings: Floats) -> "LabelledPairs":
        """Collect the labels of all pairs of the sets, in the order of the features."""
        sizes = [len(each.published()) for each in sets]
        return LabelledPairs(
            features,
            without_openings,
            np.array([label for each in sets for label in each.published()], np.bool_),
            np.array([label for each in sets for label in each.corrected()], np.bool_),
            np.array([label for each in sets for label in each.identical()], np.bool_),
            np.repeat([each.system for each in sets], sizes),
            np.repeat([fold_of(each.prompt_id) for each in sets], sizes),
        )


def fold_of(prompt_id: str) -> int:
    """Return the fold of a prompt, by the hash of its id; −1 if there is no id."""
    return hashlib.sha256(f"fold/{prompt_id}".encode()).digest()[0] % FOLDS if prompt_id else -1


def fit(pairs: LabelledPairs, chosen: Mask | None = None) -> PairModel:
    """Fit the trees and the linear part separately; deterministic.

    Args:
        pairs: The pairs; identical ones are left out.
        chosen: [pairs], those to train on; None: all.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    kept = ~pairs.identical if chosen is None else chosen & ~pairs.identical
    features, labels = pairs.features[kept], pairs.corrected[kept]
    trees = HistGradientBoostingClassifier(
        **_TREES, monotonic_cst=[direction for _, direction in FEATURES], early_stopping=False, random_state=0
    ).fit(features, labels)
    first = features[:, :LINEAR]
    mean, sd = first.mean(axis=0), first.std(axis=0)
    logistic = LogisticRegression(C=0.1, max_iter=1000).fit((first - mean) / sd, labels)
    slopes = logistic.coef_[0] / sd
    return as_pair_model(trees, np.append(slopes, logistic.intercept_[0] - slopes @ mean), TREES_SHARE)


def held_out_probabilities(pairs: LabelledPairs) -> Floats:
    """Return the probability of each pair by a model that saw neither its system nor its prompt, float64 [pairs].

    Texts without a system are used for training unless their prompt is held out; their own probabilities are NaN.
    """
    made = np.full(len(pairs.features), np.nan)
    for system in sorted(set(pairs.system.tolist()) - {""}):
        for fold in range(FOLDS):
            tested = (pairs.system == system) & (pairs.fold == fold)
            model = fit(pairs, (pairs.system != system) & (pairs.fold != fold))
            made[tested] = model.higher_probabilities(pairs.features[tested], pairs.without_openings[tested])
    made[pairs.identical & ~np.isnan(made)] = 1.0
    return made
