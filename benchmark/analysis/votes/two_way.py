"""Intervals for votes that share voters and share prompts: two-way clustered covariance.

Votes by one voter are correlated, and so are votes on one prompt. A bootstrap that draws voters and prompts together
counts the noise of a single vote three times (Owen 2007), so its intervals are far too wide. A consistent estimate is
the covariance over voters, plus that over prompts, minus that over single votes (Cameron, Gelbach & Miller 2011), each
computed from sums of the votes' influences: what bootstraps over only voters, prompts or votes would estimate.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import stdtrit

from benchmark.analysis.votes.ballots import Floats, Integers
from benchmark.scoring.resampling import LEVEL

FEWEST = 2  # voters, and prompts, needed for an interval


def two_way_covariance(sums: Callable[[Integers], Floats], voters: Integers, prompts: Integers) -> Floats | None:
    """Estimate the covariance of an estimate over voters and prompts, [columns, columns]; None with under two of each.

    Args:
        sums: Function from the groups of votes [votes] to their influences on the estimate, [groups, columns].
        voters: [votes], the voter of each.
        prompts: [votes], the prompt of each.
    """
    voter, prompt = (np.unique(each, return_inverse=True)[1] for each in (voters, prompts))
    both = np.unique(voter * (prompt.max(initial=0) + 1) + prompt, return_inverse=True)[1]
    if min(voter.max(initial=0), prompt.max(initial=0)) + 1 < FEWEST:
        return None
    by_voter, by_prompt, by_both = (_covariance(sums(groups)) for groups in (voter, prompt, both))
    total = by_voter + by_prompt - by_both
    if np.diag(total).min() <= 0:  # as happens with few votes; an interval of no width would claim certainty
        total = max(by_voter, by_prompt, by_both, key=np.trace)
    values, vectors = np.linalg.eigh(total)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T)  # the nearest positive semidefinite matrix


def freedom_of(voters: Integers, prompts: Integers) -> int:
    """Return the degrees of freedom of intervals: one less than the fewer of voters and prompts, at least 1."""
    return max(1, min(len(np.unique(voters)), len(np.unique(prompts))) - 1)


def reach(freedom: int) -> float:
    """Return the half width of an interval in standard errors, of Student's t."""
    return float(stdtrit(freedom, (1 + LEVEL) / 2))


def pair_variance(influence: Floats, one: Integers, other: Integers, prompts: Integers) -> float | None:
    """Estimate the variance over voters and prompts of a mean over pairs of votes; None with under two of each.

    Two pairs of votes are correlated if they share a voter or a prompt. The sums over voters contain each pair of
    voters twice, which is taken off once (Aronow, Samii & Assenova 2015).

    Args:
        influence: [pairs], influence of each pair of votes on the mean.
        one: [pairs], voter of the one vote.
        other: [pairs], voter of the other vote, a different one.
        prompts: [pairs], the prompt of both.
    """
    voters, numbered = np.unique(np.concatenate([one, other]), return_inverse=True)
    two = np.sort(numbered.reshape(2, -1), axis=0)
    place = np.unique(prompts, return_inverse=True)[1]
    number = int(place.max(initial=-1)) + 1
    if min(len(voters), number) < FEWEST:
        return None

    def squares(groups: Integers) -> float:
        return float(np.square(np.bincount(np.unique(groups, return_inverse=True)[1], influence)).sum())

    def of_voters(groups: Integers) -> float:
        both = np.concatenate([two[0] * number + groups, two[1] * number + groups])
        sums = np.bincount(np.unique(both, return_inverse=True)[1], np.tile(influence, 2))
        return float(np.square(sums).sum())

    pair = two[0] * len(voters) + two[1]
    by_voter = of_voters(np.zeros_like(place)) * len(voters) / (len(voters) - 1) - squares(pair)
    by_prompt = squares(place) * number / (number - 1)
    by_both = of_voters(place) - squares(pair * number + place)
    # The sums of a few voters or prompts may nearly cancel, which says little about others.
    return max(by_voter + by_prompt - by_both, by_prompt, float(np.square(influence).sum()))


def _covariance(sums: Floats) -> Floats:
    groups = len(sums)
    return np.asarray(sums.T @ sums * (groups / max(groups - 1, 1)))
