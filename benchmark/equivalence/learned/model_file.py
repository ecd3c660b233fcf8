"""The learned backend's model as arrays: boosted trees and linear parts, computed with numpy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.equivalence.backend import Floats

_AT_ONCE = 20_000  # pairs whose trees are followed at once
LONG = 20  # words of the shorter one of two responses from which `SetModel.alone` is used
CLIP = 4.0  # standard deviations to which the linear part's features are limited


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """Gradient-boosted trees of scikit-learn."""

    feature: NDArray[np.int16]  # [nodes], the feature that a node splits on; −1 for a leaf
    threshold: Floats  # [nodes], values up to it go left
    missing_left: NDArray[np.bool_]  # [nodes], whether missing values go left
    left: NDArray[np.int32]  # [nodes], index of the left child; for a leaf, of itself
    right: NDArray[np.int32]  # [nodes], index of the right child; for a leaf, of itself
    value: Floats  # [nodes], log-odds of a leaf
    roots: NDArray[np.int32]  # [trees], index of each tree's root
    baseline: Floats  # log-odds before any tree

    def log_odds(self, features: Floats) -> Floats:
        """Return the log-odds of each row, float64 [rows], from features [rows, features]."""
        parts = [self._log_odds(features[at : at + _AT_ONCE]) for at in range(0, len(features), _AT_ONCE)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _log_odds(self, features: Floats) -> Floats:
        rows = np.arange(len(features))[:, None]
        at = np.tile(self.roots, (len(features), 1))  # [rows, trees]
        while True:
            split = self.feature[at]
            inside = split >= 0
            if not inside.any():
                break
            values = features[rows, np.where(inside, split, 0)]
            goes_left = np.where(np.isnan(values), self.missing_left[at], values <= self.threshold[at])
            at = np.where(goes_left, self.left[at], self.right[at])  # both children of a leaf are itself
        return np.asarray(self.value[at].sum(axis=1) + self.baseline)

    @staticmethod
    def of(fitted: Any) -> "Trees":
        """Convert a fitted HistGradientBoostingClassifier."""
        forest = [tree.nodes for [tree] in fitted._predictors]
        starts = np.cumsum([0, *(len(nodes) for nodes in forest[:-1])])
        nodes = np.concatenate(forest)
        first = np.repeat(starts, [len(tree) for tree in forest])
        leaf = nodes["is_leaf"].astype(bool)
        itself = np.arange(len(nodes))
        return Trees(
            feature=np.where(leaf, -1, nodes["feature_idx"]).astype(np.int16),
            threshold=np.where(leaf, 0.0, nodes["num_threshold"]).astype(np.float64),
            missing_left=nodes["missing_go_to_left"].astype(bool),
            left=np.where(leaf, itself, nodes["left"] + first).astype(np.int32),
            right=np.where(leaf, itself, nodes["right"] + first).astype(np.int32),
            value=np.where(leaf, nodes["value"], 0.0).astype(np.float64),
            roots=starts.astype(np.int32),
            baseline=np.asarray(fitted._baseline_prediction, np.float64).reshape(()),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """A logistic regression; missing values count as 0, and features that are often missing have the weight 0."""

    mean: Floats  # [features]
    sd: Floats  # [features]
    weights: Floats  # [features + 1], per standard deviation, and the intercept

    def log_odds(self, features: Floats) -> Floats:
        """Return the log-odds of each row, float64 [rows], from features [rows, features]."""
        scaled = np.clip((np.nan_to_num(features) - self.mean) / self.sd, -CLIP, CLIP)
        return np.asarray((scaled * self.weights[:-1]).sum(axis=1) + self.weights[-1])


@dataclass(frozen=True, slots=True, eq=False)
class PairModel:
    """Log-odds as a weighted mean of those of trees and of a linear part."""

    trees: Trees
    linear: Linear
    share: Floats  # weight of the trees, in [0, 1]

    def log_odds(self, features: Floats) -> Floats:
        """Return the log-odds of each row, float64 [rows], from features [rows, features]."""
        return self.share * self.trees.log_odds(features) + (1 - self.share) * self.linear.log_odds(features)


@dataclass(frozen=True, slots=True, eq=False)
class SetModel:
    """The model of the pairs of a response set, and its table of generic words."""

    names: Sequence[str]  # features that the model reads, by name
    pairs: PairModel
    alone: Linear  # for a set of two long responses, as people judge them
    generic: NDArray[np.float32]  # [BUCKETS], how telling each word is, in [0, 1]

    def probabilities(self, features: Mapping[str, Floats]) -> Floats:
        """Return the probability that each pair of a set is equivalent, float64 [pairs]."""
        matrix = np.stack([features[name] for name in self.names], axis=1)
        long = len(matrix) == 1 and features["log_words_lower"][0] >= np.log1p(LONG)
        log_odds = self.alone.log_odds(matrix) if long else self.pairs.log_odds(matrix)
        return np.asarray(1 / (1 + np.exp(-log_odds)))


def save_set_model(model: SetModel, path: Path) -> None:
    """Write the arrays as an .npz file; the same model gives the same bytes."""
    arrays: dict[str, NDArray[Any]] = {
        "names": np.array(model.names),
        "generic": model.generic,
        "share": model.pairs.share,
    }
    for part, values in (("trees", model.pairs.trees), ("linear", model.pairs.linear), ("alone", model.alone)):
        arrays |= {f"{part}.{field.name}": getattr(values, field.name) for field in fields(values)}
    np.savez_compressed(path, allow_pickle=False, **arrays)


def load_set_model(path: Path) -> SetModel:
    """Read a file written by `save_set_model`."""
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    trees = Trees(**{field.name: arrays[f"trees.{field.name}"] for field in fields(Trees)})
    linear, alone = (
        Linear(**{field.name: arrays[f"{part}.{field.name}"] for field in fields(Linear)})
        for part in ("linear", "alone")
    )
    names = tuple(arrays["names"].tolist())
    if trees.feature.max() >= len(names) or len(linear.mean) != len(names):
        raise ValueError(f"{path} does not name its features")
    return SetModel(names, PairModel(trees, linear, arrays["share"]), alone, arrays["generic"])
