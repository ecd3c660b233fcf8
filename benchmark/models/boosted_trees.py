"""Gradient-boosted trees as arrays: fitted with scikit-learn, evaluated with numpy, stored without pickle."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_AT_ONCE = 20_000  # rows that are followed through the trees at once


@dataclass(frozen=True, slots=True, eq=False)
class BoostedTrees:
    """Trees whose leaves add up to a prediction: log-odds, or a value."""

    feature: NDArray[np.int16]  # [nodes], the feature that a node splits on; −1 for a leaf
    threshold: NDArray[np.float64]  # [nodes], values up to it go left
    missing_left: NDArray[np.bool_]  # [nodes], whether missing values go left
    left: NDArray[np.int32]  # [nodes], index of the left child; for a leaf, of itself
    right: NDArray[np.int32]  # [nodes], index of the right child; for a leaf, of itself
    value: NDArray[np.float64]  # [nodes], contribution of a leaf
    roots: NDArray[np.int32]  # [trees], index of each tree's root
    baseline: Floats  # prediction before any tree

    def predict(self, features: Floats) -> Floats:
        """Return the predictions, float64 [rows], from features [rows, features], NaN where missing."""
        parts = [self._predict(features[at : at + _AT_ONCE]) for at in range(0, len(features), _AT_ONCE)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _predict(self, features: Floats) -> Floats:
        rows = np.arange(len(features))[:, None]
        at = np.tile(self.roots, (len(features), 1))  # [rows, trees]
        while (inside := (split := self.feature[at]) >= 0).any():
            values = features[rows, np.where(inside, split, 0)]
            goes_left = np.where(np.isnan(values), self.missing_left[at], values <= self.threshold[at])
            at = np.where(goes_left, self.left[at], self.right[at])  # both children of a leaf are itself
        return np.asarray(self.value[at].sum(axis=1) + self.baseline)

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, for an .npz file."""
        return {f"{prefix}{field.name}": getattr(self, field.name) for field in fields(self)}


def trees_from(arrays: Mapping[str, NDArray[Any]], prefix: str) -> BoostedTrees:
    """Return the trees that `BoostedTrees.arrays` named."""
    return BoostedTrees(**{field.name: arrays[f"{prefix}{field.name}"] for field in fields(BoostedTrees)})


def as_trees(fitted: Any) -> BoostedTrees:
    """Convert a fitted HistGradientBoostingClassifier (of two classes) or -Regressor of scikit-learn."""
    forest = [tree.nodes for [tree] in fitted._predictors]
    starts = np.cumsum([0, *(len(nodes) for nodes in forest[:-1])])
    nodes = np.concatenate(forest)
    first = np.repeat(starts, [len(tree) for tree in forest])
    leaf = nodes["is_leaf"].astype(bool)
    itself = np.arange(len(nodes))
    return BoostedTrees(
        feature=np.where(leaf, -1, nodes["feature_idx"]).astype(np.int16),
        threshold=np.where(leaf, 0.0, nodes["num_threshold"]).astype(np.float64),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        left=np.where(leaf, itself, nodes["left"] + first).astype(np.int32),
        right=np.where(leaf, itself, nodes["right"] + first).astype(np.int32),
        value=np.where(leaf, nodes["value"], 0.0).astype(np.float64),
        roots=starts.astype(np.int32),
        baseline=np.asarray(fitted._baseline_prediction, np.float64).reshape(()),
    )
