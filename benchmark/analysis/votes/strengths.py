"""Strengths of systems from votes: Davidson's model on weighted votes, with intervals over voters and prompts."""

from dataclasses import dataclass

import numpy as np

from benchmark.analysis.votes.ballots import Ballots, Booleans, Floats, Integers, totals
from benchmark.analysis.votes.davidson import Davidson, fit_votes, outcome_chances, slopes
from benchmark.analysis.votes.two_way import freedom_of, reach, two_way_covariance
from benchmark.analysis.votes.weights import Weights, weigh
from benchmark.scoring.resampling import LEVEL, Interval, holm


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
