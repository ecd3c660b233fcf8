"""Strengths of systems from votes: Davidson's model on weighted votes, with intervals over voters and prompts.

Votes by one voter are correlated, and so are votes on one prompt. A bootstrap that draws voters and prompts together
counts the noise of a single vote three times (Owen 2007), so its intervals are far too wide. A consistent estimate is
the covariance over voters, plus that over prompts, minus that over single votes (Cameron, Gelbach & Miller 2011), each
computed from sums of the votes' influences: what bootstraps over only voters, prompts or votes would estimate.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from benchmark.analysis.votes.ballots import Ballots, Booleans, Floats, Integers, totals
from benchmark.analysis.votes.davidson import Davidson, fit_votes, outcome_chances, slopes
from benchmark.analysis.votes.weights import Weights, weigh
from benchmark.scoring.resampling import LEVEL, Interval, holm

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


@dataclass(frozen=True, slots=True)
class Strength:
    """A system's strength according to people's votes."""

    system: str
    votes: float  # sum of the weights of the votes on it
    strength: float  # natural log-odds; the mean of all systems is 0
    interval: Interval | None  # interval of the strength; None with fewer than two voters or prompts
    points: float  # points per vote against a system of strength 0; a tie is half a point
    points_interval: Interval | None  # interval of `points`; None in the same case
    rank: int  # one more than the number of stronger systems
    ranks: tuple[int, int] | None  # best and worst rank in its interval; None in the same case


@dataclass(frozen=True, slots=True)
class Strengths:
    """The strengths of systems according to the votes on one question."""

    question: str
    systems: tuple[Strength, ...]  # strengths, the strongest first
    # Systems that no vote links with these, directly or through others, so that their strength is unknown.
    apart: tuple[str, ...]
    votes: int  # number of votes on this question, without checks
    counted: float  # sum of their weights
    voters: int
    prompts: int
    tie: float  # probability that two equal systems tie


def strengths(ballots: Ballots, *, question: str, weights: Weights | None = None) -> Strengths:
    """Estimate the strengths of systems from the votes on one question.

    Args:
        weights: Weights of the votes, from `weigh`, which both questions share; None: they are computed here.

    Returns:
        The strengths; without systems if no vote counts.

    Raises:
        ValueError: There is no such question.
    """
    weights = weights or weigh(ballots)
    given = weights.votes
    asked = ballots.on(question) & (given > 0)
    linked = _largest_linked(ballots, asked)
    chosen = asked & np.isin(ballots.left, linked)
    apart = sorted(
        {ballots.systems[i] for i in np.union1d(ballots.left[asked], ballots.right[asked])}
        - {ballots.systems[i] for i in linked}
    )
    if not len(linked):
        return Strengths(question, (), (), int(ballots.on(question).sum()), 0.0, 0, 0, float("nan"))
    kept = _only(ballots, linked)
    model = fit_votes(kept, chosen, given)
    covariance = covariance_of(model, kept, chosen, given, weights.careful)
    freedom = freedom_of(kept.voter[chosen], kept.prompt[chosen])
    far = reach(freedom)
    errors = None if covariance is None else np.sqrt(np.diag(covariance))
    ranks = None if covariance is None else _rank_intervals(model.strengths, covariance, freedom)
    places = 1 + (model.strengths[None, :] > model.strengths[:, None] + 1e-9).sum(axis=1)
    sides = np.concatenate([kept.left[chosen], kept.right[chosen]])
    counted = totals(sides, np.tile(given[chosen], 2), len(linked))

    def points(value: float) -> float:
        chances = outcome_chances(np.array(value), model.log_tie)
        return float(chances[0] + chances[2] / 2)

    made = []
    for i in np.lexsort((np.arange(len(linked)), -model.strengths)).tolist():
        value = float(model.strengths[i])
        interval = None if errors is None else Interval(value - far * float(errors[i]), value + far * float(errors[i]))
        made.append(
            Strength(
                kept.systems[i],
                float(counted[i]),
                value,
                interval,
                points(value),
                None if interval is None else Interval(points(interval.low), points(interval.high)),
                int(places[i]),
                None if ranks is None else (int(ranks[0][i]), int(ranks[1][i])),
            )
        )
    return Strengths(
        question,
        tuple(made),
        tuple(apart),
        int(ballots.on(question).sum()),
        float(given[chosen].sum()),
        len(np.unique(kept.voter[chosen])),
        len(np.unique(kept.prompt[chosen])),
        float(outcome_chances(np.array(0.0), model.log_tie)[2]),
    )


def covariance_of(
    model: Davidson, ballots: Ballots, chosen: Booleans, weights: Floats, careful: Floats | None = None
) -> Floats | None:
    """Estimate the covariance of strengths over voters and prompts, [systems, systems]; None with under two of each.

    Args:
        chosen: [votes], the votes to which the model was fitted.
        careful: [voters], probability that each is careful, a factor of the weights; None: the weights are known.
            Unknown weights reduce the information in the votes (Louis 1982).
    """
    inverse = model.inverse if careful is None else observed_inverse(model, ballots, chosen, weights, careful)

    def sums(groups: Integers) -> Floats:
        return np.asarray((slopes(model, ballots, chosen, weights, groups) @ inverse)[:, :-1])

    return two_way_covariance(sums, ballots.voter[chosen], ballots.prompt[chosen])


def observed_inverse(model: Davidson, ballots: Ballots, chosen: Booleans, weights: Floats, careful: Floats) -> Floats:
    """Return the inverse of the information if carefulness is estimated, [systems + 1, systems + 1] (Louis 1982).

    Args as in `covariance_of`.
    """
    shares = careful[ballots.voter]
    sure = np.divide(weights, shares, out=np.zeros(len(weights)), where=shares > 0)
    each = slopes(model, ballots, chosen, sure, ballots.voter[chosen])
    known = careful[: len(each), None]
    left = np.linalg.inv(model.inverse) - (each * known * (1 - known)).T @ each
    if np.linalg.eigvalsh(left)[0] <= 0:  # too little information for this estimate
        return model.inverse
    return np.asarray(np.linalg.inv(left), np.float64)


def _rank_intervals(values: Floats, covariance: Floats, freedom: int) -> tuple[Integers, Integers]:
    """Return the best and the worst rank of each system that its differences from the others leave possible.

    Each of its differences is tested with Student's t and Holm's correction over them (Mogstad, Romano, Shaikh and
    Wilhelm 2024). Ranks of drawn strengths would cover too little where systems are about equal.
    """
    from scipy.special import stdtr

    variances = np.diag(covariance)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(np.maximum(variances[:, None] + variances - 2 * covariance, 0))
        t = (values[:, None] - values) / spread  # NaN, so not a test, between a system and itself
    differs = np.array([holm(row) for row in 2 * stdtr(freedom, -np.abs(t))]) < 1 - LEVEL
    return 1 + (differs & (t < 0)).sum(axis=1), len(values) - (differs & (t > 0)).sum(axis=1)


def _largest_linked(ballots: Ballots, chosen: Booleans) -> Integers:
    """Return the systems of the largest group linked by votes, in increasing order."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    systems = len(ballots.systems)
    left, right = ballots.left[chosen], ballots.right[chosen]
    if not len(left):
        return np.zeros(0, np.int64)
    _, groups = connected_components(coo_array((np.ones(len(left)), (left, right)), (systems, systems)), directed=False)
    return np.flatnonzero(groups == np.bincount(groups).argmax())


def _only(ballots: Ballots, systems: Integers) -> Ballots:
    """Return the ballots with only these systems numbered; the caller must leave out votes on other systems."""
    from dataclasses import replace

    place = np.full(len(ballots.systems) + 1, -1)  # the last is for −1
    place[systems] = np.arange(len(systems))
    return replace(
        ballots,
        systems=tuple(ballots.systems[i] for i in systems),
        left=place[ballots.left],
        right=place[ballots.right],
    )
