"""Weights of votes: careless voters are weighted down, and the influence of hostile ones is limited.

The rules, as stated in docs/votes.md:

1. A voter is careful or careless. A careful one passes a check with probability `PASS` and votes by the strengths of
   the systems; a careless one answers in fixed shares, whatever is shown. A voter's votes are weighted by the
   probability of being careful, from all checks and votes on both questions (a mixture, fitted by EM).
2. A voter does not count if, on one question, `FEWEST_WITH` or more votes on one system depart by over `DEPARTURE`
   standard deviations to one side from the model of all votes, at the sharpness with which this voter judges.
3. Pairs are shown at random. The votes of a voter on one system count, together, at most as many as chance would have
   shown to all but one in a thousand voters, at the rate at which others were shown it, at that time or overall (new
   systems are shown more often for a while).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, logit

from benchmark.analysis.votes.ballots import Ballots, Booleans, Floats, Integers, totals
from benchmark.analysis.votes.davidson import Davidson, fit_votes
from submissions.judgements.votes import QUESTIONS

PASS = 0.95  # probability that a careful voter passes a check
FEWEST_WITH = 5
DEPARTURE = 3.5
_LEAST_SPREAD = 0.01  # share that remains where a system cannot be told from sharpness, as with two systems
_CARELESS = 0.1  # initial share, which also counts as much as _PRIOR voters, so that the share stays off 0 and 1
_PRIOR = 10.0
_SETTLED = 1e-4  # change of a voter's probability below which the fit has converged
_MOST_ROUNDS = 100
_MOST_TRIALS = 4
_TAIL = 0.999
_THEN = 200  # votes before and after, including those of the voter


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The weights of votes, and the reasons for them."""

    votes: Floats  # [votes], between 0 and 1; 0 for a check
    careful: Floats  # [voters], probability that a voter is careful
    hostile: Booleans  # [voters], whether a voter is excluded by the second rule
    checks: Integers  # [voters], number of checks answered
    passed: Integers  # [voters], number of checks passed
    capped: int  # number of votes that count less by the third rule

    @property
    def inattentive(self) -> int:
        """Number of voters whose weight is below one half because they seem careless."""
        return int(((self.careful < 0.5) & ~self.hostile).sum())

    @property
    def left_out(self) -> int:
        """Number of voters whose weight is below one half, for this or because the second rule excludes them."""
        return self.inattentive + int(self.hostile.sum())


def plain(ballots: Ballots) -> Floats:
    """Return weights of 1, and 0 for checks, [votes]."""
    return np.asarray((ballots.left >= 0).astype(np.float64))


def weigh(ballots: Ballots) -> Weights:
    """Weigh votes by the three rules above."""
    voters = len(ballots.voters)
    known = ballots.expected >= 0
    checks = np.bincount(ballots.voter[known], minlength=voters)
    passed = np.bincount(ballots.voter[known & (ballots.answer == ballots.expected)], minlength=voters)
    caps = _caps(ballots)
    hostile = np.zeros(voters, bool)
    careful = np.full(voters, 1 - _CARELESS)
    for _ in range(_MOST_TRIALS):
        careful, models = _careful(ballots, checks, passed, careful, caps, hostile)
        found = hostile | _departing(ballots, models)
        if (found == hostile).all():
            break
        hostile = found
    return Weights(
        plain(ballots) * caps * (careful * ~hostile)[ballots.voter],
        careful,
        hostile,
        checks,
        passed,
        int((caps < 1).sum()),
    )


def _careful(
    ballots: Ballots, checks: Integers, passed: Integers, careful: Floats, caps: Floats, hostile: Booleans
) -> tuple[Floats, dict[str, Davidson]]:
    """Estimate the probability that each voter is careful, and the models of both questions."""
    voters = len(ballots.voters)
    # A check has two wrong answers.
    attentive = passed * np.log(PASS) + (checks - passed) * np.log((1 - PASS) / 2)
    careless = _log_of_fixed_shares(ballots, ballots.left >= 0) + _log_of_fixed_shares(ballots, ballots.expected >= 0)
    chosen = {name: ballots.on(name) for name in QUESTIONS}
    chosen = {name: votes for name, votes in chosen.items() if votes.any()}
    share = _CARELESS
    models: dict[str, Davidson] = {}
    for _ in range(_MOST_ROUNDS):
        weights = caps * (careful * ~hostile)[ballots.voter]
        models = {name: fit_votes(ballots, votes, weights) for name, votes in chosen.items()}
        fits = attentive.astype(np.float64)
        for name, votes in chosen.items():
            chances = models[name].chances(ballots.left[votes], ballots.right[votes])
            likely = np.log(chances[np.arange(len(chances)), ballots.answer[votes]])
            fits = fits + totals(ballots.voter[votes], likely, voters)
        before, careful = careful, expit(fits - careless + logit(1 - share))
        share = float(((1 - careful).sum() + _PRIOR * _CARELESS) / (voters + _PRIOR))
        if np.abs(careful - before).max(initial=0) < _SETTLED:
            break
    return careful, models


def _log_of_fixed_shares(ballots: Ballots, chosen: Booleans) -> Floats:
    """Return the log probability of each voter's answers in order, if drawn in fixed shares with a uniform prior."""
    answers = np.bincount(ballots.voter[chosen] * 3 + ballots.answer[chosen], minlength=len(ballots.voters) * 3)
    counts = answers.reshape(-1, 3)
    return np.asarray(gammaln(3) - gammaln(3 + counts.sum(axis=1)) + gammaln(1 + counts).sum(axis=1))


def _departing(ballots: Ballots, models: dict[str, Davidson]) -> Booleans:
    """Return which voters [voters] the second rule excludes.

    Each question is tested by itself: the two answers to a pair of sets are alike, so they are not twice the evidence.
    A voter who judges more or less sharply than most deviates on all systems; this is no bias for one of them, so it is
    fitted (as a slope of the points on the strengths' difference) and taken off. Nobody judges less sharply than by
    chance, so a voter who does departs from chance.
    """
    systems, voters = len(ballots.systems), len(ballots.voters)
    far = np.zeros(voters * systems, bool)
    for name, model in models.items():
        votes = ballots.on(name)
        left, right, voter = ballots.left[votes], ballots.right[votes], ballots.voter[votes]
        chances = model.chances(left, right)
        expected = chances[:, 0] + chances[:, 2] / 2
        variance = chances[:, 0] + chances[:, 2] / 4 - expected**2
        beyond = ballots.points()[votes] - expected
        gaps = model.strengths[left] - model.strengths[right]
        cells = np.concatenate([voter * systems + left, voter * systems + right])
        known = totals(voter, variance * gaps**2, voters)
        shared = totals(cells, np.concatenate([variance * gaps, -variance * gaps]), len(far))
        slope = np.divide(totals(voter, beyond * gaps, voters), known, out=np.zeros(voters), where=known > 0)
        of = np.repeat(np.arange(voters), systems)
        surplus = totals(cells, np.concatenate([beyond, -beyond]), len(far)) - np.maximum(slope, -1)[of] * shared
        spread = totals(cells, np.tile(variance, 2), len(far))
        lost = np.divide(shared**2, known[of], out=np.zeros(len(far)), where=(known > 0)[of] & (slope > -1)[of])
        spread = np.maximum(spread - lost, _LEAST_SPREAD * spread)
        number = np.bincount(cells, minlength=len(far))
        far |= (number >= FEWEST_WITH) & (np.abs(surplus) > DEPARTURE * np.sqrt(spread))
    return np.asarray(far.reshape(voters, systems).any(axis=1))


def _caps(ballots: Ballots) -> Floats:
    """Return the factor [votes] by which the third rule scales each vote."""
    made = np.ones(len(ballots))
    for name in QUESTIONS:
        asked = np.flatnonzero(ballots.on(name))
        if len(asked):
            made[asked] = _caps_of(ballots, asked)
    return made


def _caps_of(ballots: Ballots, asked: Integers) -> Floats:
    """Return the same for the votes on one question, [asked]."""
    from scipy.stats import binom

    order = asked[np.argsort(ballots.turn[asked], kind="stable")]
    count, voters, voter = len(order), len(ballots.voters), ballots.voter[order]
    has = np.zeros((count + 1, len(ballots.systems)), np.int32)
    for side in (ballots.left[order], ballots.right[order]):
        has[np.arange(1, count + 1), side] += 1
    sums = has.cumsum(axis=0, dtype=np.int32)
    first, last = np.maximum(np.arange(count) - _THEN, 0), np.minimum(np.arange(count) + _THEN + 1, count)

    def by_voter(values: NDArray[np.int32]) -> Floats:
        return np.array([totals(voter, column.astype(np.float64), voters) for column in values.T]).T

    seen, own = by_voter(has[1:]), by_voter(np.ones((count, 1), np.int32))
    # Mean number of showings near a voter's votes; the voter's own votes are subtracted as if all of them were near.
    near, size = by_voter(sums[last] - sums[first]), by_voter((last - first)[:, None].astype(np.int32))
    with np.errstate(invalid="ignore", divide="ignore"):
        in_all = (sums[-1] - seen) / (count - own)
        then = np.where(size / own > own, np.maximum(near / own - seen, 0) / (size / own - own), np.nan)
        share = np.clip(np.fmax(in_all, then), 0, 1)
        most = np.maximum(1.0, binom.ppf(_TAIL, own, np.where(np.isfinite(share), share, 1.0)))
        scale = np.minimum(1.0, np.where(seen > 0, most / seen, 1.0))
    of = ballots.voter[asked]
    return np.asarray(np.minimum(scale[of, ballots.left[asked]], scale[of, ballots.right[asked]]))
