"""Tevet & Berant's two tests of a metric against sampling temperature (decTest; arXiv:2004.02990, 6.3 and C.1).

Their code has neither test; where the paper is ambiguous, the docstrings state our choice. A set without a finite score
is left out.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.analysis.metaeval import agreement

Floats = NDArray[np.float64]
_DRAWS = 100


@dataclass(frozen=True, slots=True)
class Draws:
    """A measure over random draws of sets."""

    mean: float  # mean over draws; NaN if a draw has no value, such as the correlation of a constant
    # Standard deviation over draws, ddof 1. Draws share sets, so it is smaller than the measure's standard error.
    sd: float


def resampled_spearman(scores: Floats, labels: Floats, *, draws: int = 100, size: int = 200, seed: int = 0) -> Draws:
    """Compute Spearman's rho with the temperature on random subsets of the sets, as in the paper's Table 2.

    The paper draws 200 of about 1,000 sets a hundred times, and says both that it draws two sets per temperature and
    that it draws any. Here any are drawn, without replacement. The mean then lies 0.002 to 0.003 below rho of all sets
    (measured on the released columns over 1,000 draws), which the mean of two per temperature does not.

    Args:
        scores: [sets].
        labels: [sets], temperatures.
        draws: Number of draws, at least 2.

    Raises:
        ValueError: There are fewer sets than a draw needs.
    """
    x, y = _finite(scores, labels)
    if len(x) < size:
        raise ValueError(f"{size} sets cannot be drawn from {len(x)}")
    chosen = np.tile(np.arange(len(x)) < size, (draws, 1)).astype(np.float64)
    return _over(agreement.spearman(x, y, np.random.default_rng(seed).permuted(chosen, axis=1)))


@dataclass(frozen=True, slots=True)
class Ranking:
    """How well differences in scores predict which of two sets has the higher temperature."""

    spearman: Draws
    accuracy: Draws  # the share of pairs whose differences have the same sign; equal scores are a miss
    pairs: int  # smallest number of pairs in a draw


def ranking_test(scores: Floats, labels: Floats, *, pairs: int = 200, seed: int = 0) -> Ranking:
    """Run the ranking test of the paper's Table 5, on pairs across contexts.

    It is not comparable with that table, where the two sets of a pair share a context and have five responses each;
    those data were not released. The released sets have different contexts and ten responses, so a difference in scores
    also reflects a difference in contexts. The pairs of a draw share no set, and their temperatures differ; with few
    sets, a draw may have fewer than two such pairs and is then left out.

    Args:
        scores: [sets].
        labels: [sets], temperatures.
        pairs: Maximum number of pairs per draw.

    Raises:
        ValueError: Fewer than two draws give two pairs.
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
        rho.append(agreement.spearman(of_scores, of_labels, agreement.ones(len(first)))[0])
        accuracy.append(np.mean(np.sign(of_scores) == np.sign(of_labels)))
    if len(rho) < 2:
        raise ValueError(f"no two pairs of different temperatures among {len(x)} sets")
    return Ranking(_over(np.array(rho)), _over(np.array(accuracy)), fewest)


def _finite(scores: Floats, labels: Floats) -> tuple[Floats, Floats]:
    there = np.isfinite(scores) & np.isfinite(labels)
    return scores[there], labels[there]


def _rounded(differences: Floats, values: Floats) -> Floats:
    """Round differences of values, so that equal ones are ties: 0.6 - 0.4 and 0.4 - 0.2 are not equal as floats."""
    return np.asarray(np.round(differences / max(float(np.abs(values).max()), 1e-300), 12))


def _over(draws: Floats) -> Draws:
    return Draws(float(np.mean(draws)), float(np.std(draws, ddof=1)))
