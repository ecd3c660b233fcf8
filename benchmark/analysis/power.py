"""Computes how many prompts and responses a comparison of two systems needs, from the power of the paired t-test. Pure.

The input is the classes of known systems' responses, `LABELS[system, prompt, response]`, with -1 for invalid responses.
Mean and variance of the number of different valid responses of k are computed in closed form over all k-subsets of the
responses (sampling without replacement; Hurlbert 1971 for the mean), so nothing is sampled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
ALPHA = 0.05
MOST_PROMPTS = 100_000


@dataclass(frozen=True, slots=True)
class Headline:
    """The headline metric of systems at k responses, over the k-subsets of their responses."""

    k: int
    means: Floats  # expected number of different valid responses of k, [systems, prompts]
    sampling: Floats  # variance of that number over subsets, [systems, prompts]
    # Covariance of that number with that of the other responses, if these are also k, [systems, prompts]; otherwise
    # NaN.
    halves: Floats

    def pair_deviations(self) -> Floats:
        """Return the standard deviation over prompts of the difference of two systems sampled k times, [pairs].

        By the law of total variance: the variance of the expectations plus the mean variance from sampling.
        """
        made = []
        for a, b in combinations(range(len(self.means)), 2):
            added = (self.sampling[a] + self.sampling[b]).mean()
            made.append(np.sqrt((self.means[a] - self.means[b]).var(ddof=1) + added))
        return np.array(made)


@dataclass(frozen=True, slots=True)
class Components:
    """Components of the variance of a system's headline metric over prompts."""

    prompts: float  # variance shared by all systems: prompts differ in how many valid responses they allow
    interaction: float  # variance of a system's own deviation on a prompt
    sampling: float  # variance from drawing other responses of the same system


def headline_at(labels: Labels, k: int) -> Headline:
    """Compute mean and variance of the number of different valid responses over all k-subsets.

    Args:
        labels: Classes of the responses, [systems, prompts, responses]; -1 for an invalid one.
        k: Size of the subsets, at most the number of responses.
    """
    systems, prompts, responses = labels.shape
    cells = [_of_set(labels[s, p], k, responses) for s in range(systems) for p in range(prompts)]
    mean, variance, halves = np.array(cells, np.float64).reshape(systems, prompts, 3).transpose(2, 0, 1)
    return Headline(k, mean, variance, halves)


def _of_set(labels: Labels, k: int, responses: int) -> tuple[float, float, float]:
    """Return mean and variance of the number of classes in a k-subset, and its covariance with the other half."""
    sizes = np.unique(labels[labels >= 0], return_counts=True)[1].tolist()
    subsets = comb(responses, k)
    absent = [comb(responses - size, k) / subsets for size in sizes]
    variance, covariance = sum(q * (1 - q) for q in absent), -sum(q * q for q in absent)
    for (one, q_one), (other, q_other) in combinations(zip(sizes, absent, strict=True), 2):
        variance += 2 * (comb(responses - one - other, k) / subsets - q_one * q_other)
        # Probability that one class is absent here and the other in the rest: all responses of the other are here.
        apart = sum(comb(responses - one - other, k - there) for there in (one, other) if there <= k) / subsets
        covariance += apart - 2 * q_one * q_other
    return len(sizes) - sum(absent), variance, covariance if 2 * k == responses else float("nan")


def components(headline: Headline) -> Components:
    """Compute the variance components over prompts, if k is half of the number of responses.

    Two halves of a system's responses to a prompt are independent samples, so half their mean squared difference is the
    variance from sampling.

    Raises:
        ValueError: k is not half of the number of responses.
    """
    if np.isnan(headline.halves).any():
        raise ValueError("the variance of sampling is only known for half of the responses")
    sampling = float((headline.sampling - headline.halves).mean())
    interaction = float((headline.pair_deviations() ** 2).mean()) / 2 - sampling
    total = float((headline.means.var(axis=1, ddof=1) + headline.sampling.mean(axis=1)).mean())
    return Components(total - interaction - sampling, interaction, sampling)


def power(effect: float, deviation: float, prompts: int) -> float:
    """Compute the power of the two-sided paired t-test at 5%, by the noncentral t distribution.

    Args:
        deviation: Standard deviation over prompts of the difference.
        prompts: Number of prompts, at least 2.
    """
    from scipy.stats import nct, t

    freedom = prompts - 1
    limit = t.ppf(1 - ALPHA / 2, freedom)
    shift = effect * np.sqrt(prompts) / deviation
    against = nct.cdf(-limit, freedom, shift)  # NaN in scipy if it is below 1e-20
    return float(nct.sf(limit, freedom, shift) + np.nan_to_num(against))


def prompts_needed(effect: float, deviation: float, wanted: float = 0.8) -> int | None:
    """Return the smallest number of prompts with the desired power; None if it is over `MOST_PROMPTS`."""
    low, high = 1, 2
    while power(effect, deviation, high) < wanted:
        if high == MOST_PROMPTS:
            return None
        low, high = high, min(2 * high, MOST_PROMPTS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(effect, deviation, middle) >= wanted else (middle, high)
    return high


def smallest_effect(deviation: float, prompts: int, wanted: float = 0.8) -> float:
    """Return the smallest difference of means that is detected with the desired power, for a number of prompts."""
    from scipy.optimize import brentq

    return float(brentq(lambda effect: power(effect, deviation, prompts) - wanted, 0.0, 100 * deviation))


@dataclass(frozen=True, slots=True)
class PlanRow:
    """Requirements of comparisons at k responses per prompt."""

    k: int
    mean: float
    effect: float  # difference to detect, in responses of k
    deviation: float  # median over pairs of the standard deviation of the difference over prompts
    prompts: int | None  # number of prompts for the desired power, at the median pair; None: more than `MOST_PROMPTS`
    prompts_hard: int | None  # the same for the pair at the 90th percentile of the deviation
    smallest: float  # smallest difference detected with `given` prompts at the median pair, as a share of the mean


def plan(labels: Labels, share: float, ks: Sequence[int], given: int, wanted: float = 0.8) -> list[PlanRow]:
    """Plan a comparison of two systems: the number of prompts needed for each k.

    Args:
        share: Difference to detect, as a share of the mean, such as 0.1: a tenth more different responses.
        given: Number of prompts for `smallest`.
    """
    made = []
    for k in ks:
        headline = headline_at(labels, k)
        deviations, mean = headline.pair_deviations(), float(headline.means.mean())
        middle, hard = (float(np.quantile(deviations, q)) for q in (0.5, 0.9))
        needed = [prompts_needed(share * mean, each, wanted) for each in (middle, hard)]
        smallest = smallest_effect(middle, given, wanted) / mean
        made.append(PlanRow(k, mean, share * mean, middle, needed[0], needed[1], smallest))
    return made
