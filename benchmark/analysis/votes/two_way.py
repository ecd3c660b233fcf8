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


def reach(voters: Integers, prompts: Integers) -> float:
    """Return the half width of an interval in standard errors: Student's t with the fewer of voters and prompts."""
    freedom = max(1, min(len(np.unique(voters)), len(np.unique(prompts))) - 1)
    return float(stdtrit(freedom, (1 + LEVEL) / 2))


def _covariance(sums: Floats) -> Floats:
    groups = len(sums)
    return np.asarray(sums.T @ sums * (groups / max(groups - 1, 1)))
