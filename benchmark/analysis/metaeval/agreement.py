"""Measures of agreement between scores and labels, each computed for many resamples at once.

A resample is a row of weights: how often each set occurs in it (`estimate.resample_weights`). A row of ones is the
original data. Scores and labels are [rows] and finite, weights [resamples, rows]. Scores are sorted once for all
resamples, so intervals are cheap. An undefined measure, such as the correlation of a constant, is NaN: missing, not 0.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_RATERS = 10  # of each set in the released data
_BLOCK = 2000  # columns of the sign matrix at once
_DRAWS = 100


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """Rows sorted by value, in runs of equal values."""

    values: Floats  # [groups], rising
    order: Integers  # [rows]
    starts: Integers  # [groups]
    group_of: Integers  # [rows]

    def sums(self, weights: Floats) -> Floats:
        """Return the weight of each group, [resamples, groups]."""
        return np.asarray(np.add.reduceat(weights[:, self.order], self.starts, axis=1))


def _groups(values: Floats) -> _Groups:
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    is_new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    group_of = np.empty(len(values), np.int64)
    group_of[order] = np.cumsum(is_new) - 1
    return _Groups(ordered[is_new], order, np.flatnonzero(is_new), group_of)


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
    """Compute Pearson's r in each resample, [resamples]; x and y are [rows] or [resamples, rows]."""
    total = weights.sum(axis=1)
    # Squares must not overflow.
    x, y = (values / 1e200 if np.max(np.abs(values), initial=0.0) > 1e100 else values for values in (x, y))

    def centred(values: Floats) -> Floats:
        rows = np.broadcast_to(values, weights.shape)
        with np.errstate(invalid="ignore"):  # a resample may have no row with a score, so no correlation
            return np.asarray(rows - (np.einsum("br,br->b", weights, rows) / total)[:, None])

    cx, cy = centred(x), centred(y)
    weighted = weights * cx
    xx, xy = np.einsum("br,br->b", weighted, cx), np.einsum("br,br->b", weighted, cy)
    yy = np.einsum("br,br,br->b", weights, cy, cy)
    # The variance of a constant is not exactly zero, because of rounding.
    floor = 1e-24 * total
    flat = (xx <= floor * _scale(x)) | (yy <= floor * _scale(y))
    with np.errstate(invalid="ignore", divide="ignore"):
        r = xy / np.sqrt(xx * yy)
    return np.where(flat, np.nan, np.clip(r, -1.0, 1.0))


def _scale(values: Floats) -> float:
    return max(float(np.max(np.abs(values))) ** 2, 1e-280) if values.size else 1.0


def spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Compute Spearman's rho of x and y [rows] with average ranks in each resample, [resamples]."""
    return pearson(ranks(x, weights), ranks(y, weights), weights)


def partial(xy: Floats, xz: Floats, yz: Floats) -> Floats:
    """Compute the partial correlation of x and y given z from the three correlations; of ranks: partial Spearman."""
    with np.errstate(invalid="ignore", divide="ignore"):
        unexplained = (1 - xz**2) * (1 - yz**2)
        return np.where(unexplained > 1e-12, (xy - xz * yz) / np.sqrt(unexplained), np.nan)


def kendall(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Compute Kendall's tau-b of x and y [rows] in each resample, [resamples]; copies of a row are ties.

    For two labels it follows in closed form from the concordant pairs; otherwise from the signs of all pairs.
    """
    of_x, of_y = _groups(x), _groups(y)
    if len(of_y.values) == 2:
        above, below = _concordant(of_x, y == of_y.values[1], weights)
        excess = above - below
    else:
        excess = np.zeros(len(weights))
        for start in range(0, len(x), _BLOCK):
            block = slice(start, start + _BLOCK)
            # Signs and counts are small whole numbers, exact in float32 below 2^24.
            signs = np.sign(np.subtract.outer(x, x[block])) * np.sign(np.subtract.outer(y, y[block]))
            sums = weights.astype(np.float32) @ signs.astype(np.float32)
            excess += np.einsum("br,br->b", sums.astype(np.float64), weights[:, block])
        excess /= 2

    def untied(groups: _Groups) -> Floats:
        total, sums = weights.sum(axis=1), groups.sums(weights)
        return np.asarray((total * (total - 1) - (sums * (sums - 1)).sum(axis=1)) / 2)

    with np.errstate(invalid="ignore", divide="ignore"):
        tau = excess / np.sqrt(untied(of_x) * untied(of_y))
    return np.where(np.isfinite(tau), np.clip(tau, -1.0, 1.0), np.nan)


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
    """Compute the optimal classification accuracy (OCA) of one threshold, [resamples]; NaN if all labels are equal.

    *Directional* is the definition of Tevet & Berant 2021 (section 4.2): a set is high if its score is above the
    threshold. *Folded* is their code: the better of that and its opposite, so it is equal for a metric and its
    negation, and at least the share of the larger class; a score must exceed the threshold by a slack of 1e-5 there.
    """
    groups = _groups(scores)
    highs, lows = (np.cumsum(groups.sums(weights * mask), axis=1) for mask in (high, ~high))
    below = np.searchsorted(groups.values, groups.values + slack, side="right") - 1
    total_high, total = highs[:, -1:], weights.sum(axis=1, keepdims=True)
    correct = total_high - highs[:, below] + lows[:, below]  # if high is above the threshold
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.concatenate([total_high, correct], axis=1) / total  # first: a threshold under all scores
    best = shares.max(axis=1)
    accuracy = np.maximum(best, 1 - shares.min(axis=1)) if folded else best
    has_both = (total_high > 0) & (total_high < total)
    return np.where(has_both[:, 0], accuracy, np.nan)


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
    pairs = [(a, b) for rows in rows_of.values() if len(rows) > 1 for a in rows for b in rows if labels[a] > labels[b]]
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    return Pairs(first, second)


def pair_accuracy(scores: Floats, pairs: Pairs, weights: Floats) -> Floats:
    """Compute the share of pairs in the right order, ties as half, [resamples]; pairs are within clusters."""
    sign = np.sign(scores[pairs.first] - scores[pairs.second])
    of_pairs = weights[:, pairs.first]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(of_pairs @ ((sign + 1) / 2) / of_pairs.sum(axis=1))


def reliability(means: Floats, spreads: Floats, weights: Floats, raters: Floats | None = None) -> Floats:
    """Compute the reliability of mean ratings, [resamples]: the share of their variance not due to rater disagreement.

    Its square root bounds the correlation that a metric can reach with the mean ratings (Spearman 1904). `spreads` are
    standard deviations over raters with ddof 0, `raters` the numbers of ratings, at least 2 (None: ten); all [rows].
    """
    total = weights.sum(axis=1)
    centred = means - ((weights @ means) / total)[:, None]
    variance = (weights * centred**2).sum(axis=1) / np.maximum(total - 1, 1)
    error = (weights @ (spreads**2 / ((_RATERS if raters is None else raters) - 1))) / total
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(variance > 0, np.clip(1 - error / variance, 0.0, 1.0), np.nan)


# Tevet & Berant's two tests of a metric against sampling temperature (decTest; arXiv:2004.02990, 6.3 and C.1). Their
# code has neither; where the paper is ambiguous, the docstrings state our choice. Sets without a score are left out.


@dataclass(frozen=True, slots=True)
class Draws:
    """A measure over random draws of sets."""

    mean: float  # mean over draws; NaN if a draw has no value, such as the correlation of a constant
    # Standard deviation over draws, ddof 1. Draws share sets, so it is smaller than the measure's standard error.
    sd: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """How well differences in scores predict which of two sets has the higher temperature."""

    spearman: Draws
    accuracy: Draws  # the share of pairs whose differences have the same sign; equal scores are a miss
    pairs: int  # smallest number of pairs in a draw


def resampled_spearman(scores: Floats, labels: Floats, *, draws: int = _DRAWS, size: int = 200, seed: int = 0) -> Draws:
    """Compute Spearman's rho with the temperature on random subsets of the sets, as in the paper's Table 2.

    The paper draws 200 of about 1,000 sets a hundred times, and says both that it draws two sets per temperature and
    that it draws any. Here any are drawn, without replacement. The mean then lies 0.002 to 0.003 below rho of all sets
    (measured on the released columns over 1,000 draws), which the mean of two per temperature does not.
    """
    x, y = _finite(scores, labels)
    if len(x) < size:
        raise ValueError(f"{size} sets cannot be drawn from {len(x)}")
    chosen = np.tile(np.arange(len(x)) < size, (draws, 1)).astype(np.float64)
    return _over(spearman(x, y, np.random.default_rng(seed).permuted(chosen, axis=1)))


def ranking_test(scores: Floats, labels: Floats, *, pairs: int = 200, seed: int = 0) -> Ranking:
    """Run the ranking test of the paper's Table 5, on at most `pairs` pairs across contexts per draw.

    It is not comparable with that table, where the two sets of a pair share a context and have five responses each;
    those data were not released. The released sets have different contexts and ten responses, so a difference in scores
    also reflects a difference in contexts. The pairs of a draw share no set, and their temperatures differ; with few
    sets, a draw may have fewer than two such pairs and is then left out.
    """
    x, y = _finite(scores, labels)
    rng = np.random.default_rng(seed)
    rho, accuracy, fewest = [], [], pairs
    for _ in range(_DRAWS):
        couples = rng.permutation(len(x))[: len(x) // 2 * 2].reshape(-1, 2)
        first, second = couples[y[couples[:, 0]] != y[couples[:, 1]]][:pairs].T
        if len(first) < 2:
            continue
        fewest = min(fewest, len(first))
        of_scores, of_labels = (_rounded(values[first] - values[second], values) for values in (x, y))
        rho.append(spearman(of_scores, of_labels, ones(len(first)))[0])
        accuracy.append(np.mean(np.sign(of_scores) == np.sign(of_labels)))
    if len(rho) < 2:
        raise ValueError(f"no two pairs of different temperatures among {len(x)} sets")
    return Ranking(_over(np.array(rho)), _over(np.array(accuracy)), fewest)


def _finite(scores: Floats, labels: Floats) -> tuple[Floats, Floats]:
    finite = np.isfinite(scores) & np.isfinite(labels)
    return scores[finite], labels[finite]


def _rounded(differences: Floats, values: Floats) -> Floats:
    """Round differences of values, so that equal ones are ties: 0.6 - 0.4 and 0.4 - 0.2 are not equal as floats."""
    return np.asarray(np.round(differences / max(float(np.abs(values).max()), 1e-300), 12))


def _over(values: Floats) -> Draws:
    return Draws(float(np.mean(values)), float(np.std(values, ddof=1)))
