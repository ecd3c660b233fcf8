"""Measures of agreement between scores and labels, each computed for many resamples at once.

A resample is a row of weights: how often each set occurs in it (`resampling.resample_weights`). A row of ones is the
original data. Scores and labels are [rows] and finite, weights [resamples, rows]. Scores are sorted once for all
resamples, so intervals are cheap. An undefined measure, such as the correlation of a constant, is NaN: missing, not 0.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_RATERS = 10  # of each set in the released data
Integers = NDArray[np.int64]
_BLOCK = 2000  # columns of the sign matrix at once


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """Rows sorted by value, in runs of equal values."""

    values: Floats  # [groups], rising
    order: Integers  # [rows]
    starts: Integers  # [groups]
    group_of: Integers  # [rows]

    def sums(self, weights: NDArray[np.float64]) -> Floats:
        """Return the weight of each group, [resamples, groups]."""
        return np.asarray(np.add.reduceat(weights[:, self.order], self.starts, axis=1))


def _groups(values: Floats) -> _Groups:
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    group_of = np.empty(len(values), np.int64)
    group_of[order] = np.cumsum(new) - 1
    return _Groups(ordered[new], order, np.flatnonzero(new), group_of)


def ones(rows: int) -> Floats:
    """Return the weights of the original data, [1, rows]."""
    return np.ones((1, rows))


def ranks(values: Floats, weights: Floats) -> Floats:
    """Rank the rows of each resample from 1, ties by average, [resamples, rows]: `scipy.stats.rankdata` with copies."""
    groups = _groups(values)
    sums = groups.sums(weights)
    middle = np.cumsum(sums, axis=1) - sums + (sums + 1) / 2
    return np.asarray(middle[:, groups.group_of])


def pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Compute Pearson's r in each resample, [resamples]; values whose squares would overflow are scaled down first.

    Args:
        x: [rows] or [resamples, rows].
        y: The other variable, [rows] or [resamples, rows].
    """
    total = weights.sum(axis=1)
    x, y = (values / 1e200 if np.max(np.abs(values), initial=0.0) > 1e100 else values for values in (x, y))

    def centred(values: Floats) -> Floats:
        given = np.broadcast_to(values, weights.shape)
        with np.errstate(invalid="ignore"):  # a resample may have no row with a score, so no correlation
            return np.asarray(given - (np.einsum("br,br->b", weights, given) / total)[:, None])

    cx, cy = centred(x), centred(y)
    weighted = weights * cx
    xx, xy = np.einsum("br,br->b", weighted, cx), np.einsum("br,br->b", weighted, cy)
    yy = np.einsum("br,br,br->b", weights, cy, cy)
    # The variance of a constant is not exactly zero, because of rounding.
    floor = 1e-24 * total
    flat = (xx <= floor * _scale(x)) | (yy <= floor * _scale(y))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = xy / np.sqrt(xx * yy)
    return np.where(flat, np.nan, np.clip(found, -1.0, 1.0))


def _scale(values: Floats) -> float:
    return max(float(np.max(np.abs(values))) ** 2, 1e-280) if values.size else 1.0


def spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Compute Spearman's rho with average ranks, [resamples]. Args as in `pearson`, x and y [rows]."""
    return pearson(ranks(x, weights), ranks(y, weights), weights)


def partial(xy: Floats, xz: Floats, yz: Floats) -> Floats:
    """Compute the partial correlation of x and y given z from the three correlations; of ranks: partial Spearman."""
    with np.errstate(invalid="ignore", divide="ignore"):
        left = (1 - xz**2) * (1 - yz**2)
        return np.where(left > 1e-12, (xy - xz * yz) / np.sqrt(left), np.nan)


def kendall(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Compute Kendall's tau-b, [resamples]. Copies of a row in a resample are ties. Args as in `spearman`.

    For two labels it follows in closed form from the concordant pairs; otherwise from the signs of all pairs.
    """
    of_x, of_y = _groups(x), _groups(y)
    if len(of_y.values) == 2:
        above, below = _concordant(of_x, y == of_y.values[1], weights)
        excess = above - below
    else:
        excess = np.zeros(len(weights))
        for start in range(0, len(x), _BLOCK):
            part = slice(start, start + _BLOCK)
            # Signs and counts are small whole numbers, exact in float32 below 2^24.
            signs = np.sign(np.subtract.outer(x, x[part])) * np.sign(np.subtract.outer(y, y[part]))
            reached = weights.astype(np.float32) @ signs.astype(np.float32)
            excess += np.einsum("br,br->b", reached.astype(np.float64), weights[:, part])
        excess /= 2

    def untied(groups: _Groups) -> Floats:
        total, sums = weights.sum(axis=1), groups.sums(weights)
        return np.asarray((total * (total - 1) - (sums * (sums - 1)).sum(axis=1)) / 2)

    with np.errstate(invalid="ignore", divide="ignore"):
        found = excess / np.sqrt(untied(of_x) * untied(of_y))
    return np.where(np.isfinite(found), np.clip(found, -1.0, 1.0), np.nan)


def _concordant(of_scores: _Groups, high: NDArray[np.bool_], weights: Floats) -> tuple[Floats, Floats]:
    """Return the weights of concordant pairs (the high row has the higher score) and of discordant pairs."""
    highs, lows = of_scores.sums(weights * high), of_scores.sums(weights * ~high)
    before = np.cumsum(lows, axis=1) - lows
    after = lows.sum(axis=1, keepdims=True) - before - lows
    return (highs * before).sum(axis=1), (highs * after).sum(axis=1)


def roc_auc(scores: Floats, high: NDArray[np.bool_], weights: Floats) -> Floats:
    """Compute the area under the ROC curve, [resamples]: P(a high set outscores a low one), ties as half."""
    above, below = _concordant(_groups(scores), high, weights)
    pairs = (weights @ high.astype(np.float64)) * (weights @ (~high).astype(np.float64))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(pairs > 0, 0.5 + (above - below) / (2 * pairs), np.nan)


def optimal_accuracy(
    scores: Floats, high: NDArray[np.bool_], weights: Floats, *, folded: bool, slack: float = 0.0
) -> Floats:
    """Compute the optimal classification accuracy (OCA) of one threshold, [resamples].

    *Directional* is the definition of Tevet & Berant 2021 (section 4.2): a set is high if its score is above the
    threshold. *Folded* is their code: the better of that and its opposite, so it is equal for a metric and its
    negation, and at least the share of the larger class. NaN where all rows have one label.

    Args:
        folded: Whether to return the accuracy above or below the threshold, whichever is better, as in their code.
        slack: Amount by which a score must exceed the threshold; 1e-5 in their code.
    """
    groups = _groups(scores)
    highs, lows = (np.cumsum(groups.sums(weights * mask), axis=1) for mask in (high, ~high))
    reached = np.searchsorted(groups.values, groups.values + slack, side="right") - 1
    total_high, total = highs[:, -1:], weights.sum(axis=1, keepdims=True)
    above = total_high - highs[:, reached] + lows[:, reached]  # correct if high is above the threshold
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.concatenate([total_high, above], axis=1) / total  # first: a threshold under all scores
    best = shares.max(axis=1)
    found = np.maximum(best, 1 - shares.min(axis=1)) if folded else best
    has_both = (total_high > 0) & (total_high < total)
    return np.where(has_both[:, 0], found, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of rows where the first should score higher."""

    first: Integers  # [pairs], rows
    second: Integers  # [pairs]


def pairs_within(groups: Sequence[Hashable], labels: Floats) -> Pairs:
    """Return all pairs of rows in the same group with different labels, the higher label first."""
    rows_of: dict[Hashable, list[int]] = {}
    for row, name in enumerate(groups):
        rows_of.setdefault(name, []).append(row)
    found = [(a, b) for rows in rows_of.values() if len(rows) > 1 for a in rows for b in rows if labels[a] > labels[b]]
    made = np.array(found, np.int64).reshape(-1, 2)
    return Pairs(made[:, 0], made[:, 1])


def pair_accuracy(scores: Floats, pairs: Pairs, weights: Floats) -> Floats:
    """Compute the share of pairs in the right order, ties as half, [resamples].

    Both rows of a pair must belong to one cluster, so that a resample has both or neither.
    """
    difference = np.sign(scores[pairs.first] - scores[pairs.second])
    of_pairs = weights[:, pairs.first]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(of_pairs @ ((difference + 1) / 2) / of_pairs.sum(axis=1))


def reliability(means: Floats, spreads: Floats, weights: Floats, raters: Floats | None = None) -> Floats:
    """Compute the reliability of mean ratings, [resamples]: the share of their variance not due to rater disagreement.

    Its square root bounds the correlation that a metric can reach with the mean ratings (Spearman 1904).

    Args:
        spreads: [rows], standard deviation of its ratings over raters, assumed to have ddof 0.
        raters: [rows], number of ratings of each set, at least 2; None: ten.
    """
    total = weights.sum(axis=1)
    centred = means - ((weights @ means) / total)[:, None]
    variance = (weights * centred**2).sum(axis=1) / np.maximum(total - 1, 1)
    error = (weights @ (spreads**2 / ((_RATERS if raters is None else raters) - 1))) / total
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(variance > 0, np.clip(1 - error / variance, 0.0, 1.0), np.nan)
