"""The learned backend's model as arrays: boosted trees and linear parts, computed with numpy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.equivalence.backend import Floats
from benchmark.models.boosted_trees import BoostedTrees, trees_from

LONG = 20  # words of the shorter one of two responses from which `SetModel.alone` is used
CLIP = 4.0  # standard deviations to which the linear part's features are limited


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

    trees: BoostedTrees
    linear: Linear
    share: Floats  # weight of the trees, in [0, 1]

    def log_odds(self, features: Floats) -> Floats:
        """Return the log-odds of each row, float64 [rows], from features [rows, features]."""
        return self.share * self.trees.predict(features) + (1 - self.share) * self.linear.log_odds(features)


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
    arrays |= model.pairs.trees.arrays("trees.")
    for part, values in (("linear", model.pairs.linear), ("alone", model.alone)):
        arrays |= {f"{part}.{field.name}": getattr(values, field.name) for field in fields(values)}
    np.savez_compressed(path, allow_pickle=False, **arrays)


def load_set_model(path: Path) -> SetModel:
    """Read a file written by `save_set_model`."""
    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    trees = trees_from(arrays, "trees.")
    linear, alone = (
        Linear(**{field.name: arrays[f"{part}.{field.name}"] for field in fields(Linear)})
        for part in ("linear", "alone")
    )
    names = tuple(arrays["names"].tolist())
    if trees.feature.max() >= len(names) or len(linear.mean) != len(names):
        raise ValueError(f"{path} does not name its features")
    return SetModel(names, PairModel(trees, linear, arrays["share"]), alone, arrays["generic"])
