"""Agreement of metrics with people: the share of votes that each predicts, and the highest possible share."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmark.analysis.estimate import Estimate
from benchmark.analysis.votes.ballots import LEFT, TIE, Ballots, Floats, Integers, totals
from benchmark.analysis.votes.strengths import freedom_of, pair_variance, reach, two_way_covariance
from benchmark.analysis.votes.weights import Weights, weigh

Key = tuple[str, str, str]
"""System, suite, prompt."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The share of people's votes that one metric predicts."""

    metric: str
    # Weighted share of votes for a side in which the metric is higher on that side, equal scores as half.
    share: Estimate
    votes: int  # number of such votes on two sets with scores
    missing: int  # number of votes for a side on sets without a score


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Agreement of people with each other, from pairs of voters who were shown the same two sets."""

    people: Estimate  # share of pairs of votes for a side that name the same one: what a single other person predicts
    # Upper bound of the share that any predictor from the two sets could reach, from `people`. If q is the share of all
    # people who would name one side, two agree with probability q² + (1 − q)² = ½ + 2(q − ½)², and the best guess is
    # right with ½ + |q − ½|, on average at most ½ + √((people − ½) / 2) (Jensen).
    most: Estimate
    pairs: int
    shown: int  # number of pairs of sets with at least two such votes by different voters


def metric_agreement(
    ballots: Ballots,
    scores: Mapping[str, Mapping[Key, float]],
    *,
    question: str = "more_different",
    weights: Weights | None = None,
) -> list[Agreement]:
    """Compute the share of votes for a side that each metric predicts, with intervals over voters and prompts.

    Args:
        scores: Scores by metric, then by system, suite and prompt, greater for more diverse; missing scores and NaN are
            left out of that metric's share.
        weights: Weights of the votes, from `weigh`; None: they are computed here.

    Returns:
        The agreement of each metric, in the order of `scores`; the share has no value without a vote to predict, and no
        interval if it is the same for all votes.

    Raises:
        ValueError: There is no such question.
    """
    given = (weights or weigh(ballots)).votes
    chosen = np.flatnonzero(ballots.on(question) & (ballots.answer != TIE) & (given > 0))
    return [_agreement(ballots, name, own, chosen, given[chosen]) for name, own in scores.items()]


def _agreement(
    ballots: Ballots, metric: str, scores: Mapping[Key, float], chosen: Integers, weights: Floats
) -> Agreement:
    def column(side: Integers) -> Floats:
        names, prompts = ballots.systems, ballots.prompts
        pairs = zip(side[chosen].tolist(), ballots.prompt[chosen].tolist(), strict=True)
        return np.array([scores.get((names[i], *prompts[at]), np.nan) for i, at in pairs], np.float64)

    gap = column(ballots.left) - column(ballots.right)
    there = np.isfinite(gap)
    sign = np.where(ballots.answer[chosen] == LEFT, 1.0, -1.0)
    right = (1 + np.sign(gap[there]) * sign[there]) / 2
    rows = chosen[there]
    share = _share(right, weights[there], ballots.voter[rows], ballots.prompt[rows])
    return Agreement(metric, share, int(there.sum()), int((~there).sum()))


def _share(right: Floats, weights: Floats, voters: Integers, prompts: Integers) -> Estimate:
    total = float(weights.sum())
    if not total:
        return Estimate(None)
    mean = float(weights @ right) / total
    if np.ptp(right) == 0:  # such as when a metric predicts all of three votes: they do not tell how far a share varies
        return Estimate(mean)
    influence = weights * (right - mean) / total

    def sums(groups: Integers) -> Floats:
        return totals(groups, influence)[:, None]

    covariance = two_way_covariance(sums, voters, prompts)
    if covariance is None:
        return Estimate(mean)
    far = reach(freedom_of(voters, prompts)) * float(np.sqrt(covariance[0, 0]))
    return Estimate(mean, max(0.0, mean - far), min(1.0, mean + far))


def ceiling(ballots: Ballots, *, question: str = "more_different", weights: Weights | None = None) -> Ceiling:
    """Compute how far voters agree who were shown the same two response sets; intervals over voters and prompts.

    Raises:
        ValueError: There is no such question.
    """
    given = (weights or weigh(ballots)).votes
    chosen = np.flatnonzero(ballots.on(question) & (ballots.answer != TIE) & (given > 0))
    # The side that was named, by system, because the sides may have been swapped.
    named = np.where(ballots.answer[chosen] == LEFT, ballots.left[chosen], ballots.right[chosen])
    order = np.argsort(ballots.shown[chosen], kind="stable")
    rows, named = chosen[order], named[order]
    starts = np.flatnonzero(np.append(True, np.diff(ballots.shown[rows]) != 0)) if len(rows) else np.zeros(0, np.int64)
    pairs, shown = [np.zeros((2, 0), np.int64)], 0
    for part in np.split(np.arange(len(rows)), starts[1:]):
        two = part[np.array(np.triu_indices(len(part), 1))]
        two = two[:, ballots.voter[rows[two[0]]] != ballots.voter[rows[two[1]]]]
        pairs.append(two)
        shown += bool(two.size)
    one, other = np.concatenate(pairs, axis=1)
    weights_of_pairs = given[rows[one]] * given[rows[other]]
    total = float(weights_of_pairs.sum())
    if not total:
        return Ceiling(Estimate(None), Estimate(None), 0, 0)
    same = (named[one] == named[other]).astype(np.float64)
    people = float(weights_of_pairs @ same) / total
    voters, others, prompts = ballots.voter[rows[one]], ballots.voter[rows[other]], ballots.prompt[rows[one]]
    variance = pair_variance(weights_of_pairs * (same - people) / total, voters, others, prompts)
    if variance is None or np.ptp(same) == 0:  # as in `_share`
        found = Estimate(people)
    else:
        far = reach(freedom_of(np.concatenate([voters, others]), prompts)) * float(np.sqrt(variance))
        found = Estimate(people, max(0.0, people - far), min(1.0, people + far))
    return Ceiling(found, _bound(found), len(one), shown)


def _bound(people: Estimate) -> Estimate:
    def most(value: float | None) -> float | None:
        return None if value is None else 0.5 + float(np.sqrt(max(0.0, value - 0.5) / 2))

    return Estimate(most(people.value), most(people.low), most(people.high))
