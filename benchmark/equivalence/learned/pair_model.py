"""The learned model of pairs: boosted trees and a linear part as plain arrays, evaluated with numpy."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.equivalence.backend import Floats
from benchmark.equivalence.learned.features import FEATURES, LINEAR


@dataclass(frozen=True, slots=True, eq=False)
class PairModel:
    """Computes probabilities; the log-odds are a weighted mean of those of the trees and of a linear model."""

    feature: NDArray[np.int16]  # [nodes], the feature that a node splits on; −1 for a leaf
    threshold: NDArray[np.float64]  # [nodes], values up to it go left
    missing_left: NDArray[np.bool_]  # [nodes], whether missing values go left
    left: NDArray[np.int32]  # [nodes], index of the left child; for a leaf, of itself
    right: NDArray[np.int32]  # [nodes], index of the right child; for a leaf, of itself
    value: NDArray[np.float64]  # [nodes], log-odds of a leaf
    roots: NDArray[np.int32]  # [trees], index of each tree's root
    baseline: Floats  # log-odds before any tree
    linear: Floats  # [LINEAR + 1], log-odds per unit of each of the first features, and the intercept
    share: Floats  # weight of the trees in the mean, in [0, 1]

    def probabilities(self, features: Floats) -> Floats:
        """Return the probability that each pair is equivalent, float64 [pairs], from features [pairs, features]."""
        log_odds = self.share * self.tree_log_odds(features) + (1 - self.share) * self.linear_log_odds(features)
        return np.asarray(1 / (1 + np.exp(-log_odds)))

    def higher_probabilities(self, whole: Floats, without_openings: Floats) -> Floats:
        """Return the higher of the two probabilities of each pair, float64 [pairs]."""
        return np.maximum(self.probabilities(whole), self.probabilities(without_openings))

    def tree_log_odds(self, features: Floats) -> Floats:
        """Return the log-odds of the trees alone, float64 [pairs]."""
        rows = np.arange(len(features))[:, None]
        at = np.tile(self.roots, (len(features), 1))  # [pairs, trees]
        while True:
            split = self.feature[at]
            inside = split >= 0
            if not inside.any():
                break
            values = features[rows, np.where(inside, split, 0)]
            goes_left = np.where(np.isnan(values), self.missing_left[at], values <= self.threshold[at])
            at = np.where(goes_left, self.left[at], self.right[at])  # both children of a leaf are itself
        return np.asarray(self.value[at].sum(axis=1) + self.baseline)

    def linear_log_odds(self, features: Floats) -> Floats:
        """Return the log-odds of the linear part alone, float64 [pairs]."""
        return np.asarray((features[:, :LINEAR] * self.linear[:-1]).sum(axis=1) + self.linear[-1])


def save_pair_model(model: PairModel, path: Path) -> None:
    """Write the arrays as an .npz file; the same model gives the same bytes."""
    np.savez(path, allow_pickle=False, **{each.name: getattr(model, each.name) for each in fields(PairModel)})


def load_pair_model(path: Path) -> PairModel:
    """Read a file written by `save_pair_model`."""
    with np.load(path, allow_pickle=False) as arrays:
        model = PairModel(**{each.name: arrays[each.name] for each in fields(PairModel)})
    if model.feature.max() >= len(FEATURES) or len(model.linear) != LINEAR + 1:
        raise ValueError(f"{path} was trained on other features")
    return model


def as_pair_model(trees: Any, linear: Floats, share: float) -> PairModel:
    """Convert a fitted HistGradientBoostingClassifier of scikit-learn."""
    forest = [one.nodes for [one] in trees._predictors]
    starts = np.cumsum([0, *(len(nodes) for nodes in forest[:-1])])
    nodes = np.concatenate(forest)
    first = np.repeat(starts, [len(own) for own in forest])
    leaf = nodes["is_leaf"].astype(bool)
    itself = np.arange(len(nodes))
    return PairModel(
        feature=np.where(leaf, -1, nodes["feature_idx"]).astype(np.int16),
        threshold=np.where(leaf, 0.0, nodes["num_threshold"]).astype(np.float64),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        left=np.where(leaf, itself, nodes["left"] + first).astype(np.int32),
        right=np.where(leaf, itself, nodes["right"] + first).astype(np.int32),
        value=np.where(leaf, nodes["value"], 0.0).astype(np.float64),
        roots=starts.astype(np.int32),
        baseline=np.asarray(trees._baseline_prediction, np.float64).reshape(()),
        linear=np.asarray(linear, np.float64),
        share=np.array(share),
    )
