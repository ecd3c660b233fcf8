"""Statistics of people's votes: strengths of systems, and how well metrics and other people predict the votes.

Strengths follow Davidson's model (1970), Bradley and Terry's with ties: with strengths s in log-odds and d = s_i − s_j,
i wins with probability e^(d/2) / Z, j with e^(−d/2) / Z, and they tie with t / Z, where Z is the sum of the three
numerators. Weak normal priors keep the strength of a system finite that has won or lost all comparisons.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import stdtr

from benchmark.scoring.estimate import LEVEL, Estimate, Floats, estimate, holm, weights_with_original
from submissions.judgements.votes import ANSWERS, QUESTIONS, Question, Vote

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
_Name = TypeVar("_Name")
LEFT, RIGHT, TIE = (ANSWERS.index(name) for name in ("left", "right", "tie"))
MAX_VOTES = 100
RULE = (
    "Visitors who failed at least half of their checks are left out, the votes of one visitor on a question count as "
    f"at most {MAX_VOTES}, and intervals are from a bootstrap over visitors."
)
RESAMPLES = 500
PRIOR_SD = 3.0  # of a strength and of log t: negligible beside ten votes
_MAX_STEP = 2.0
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Ballots:
    """Votes as columns, with numbered names."""

    systems: tuple[str, ...]
    prompts: tuple[tuple[str, str], ...]  # suite and prompt id
    voters: tuple[str, ...]
    left: Integers  # [votes], system on the left; −1 for a check
    right: Integers  # [votes], system on the right; −1 for a check
    prompt: Integers  # [votes]
    voter: Integers  # [votes]
    question: Integers  # [votes], index in `QUESTIONS`
    answer: Integers  # [votes], index in `ANSWERS`
    expected: Integers  # [votes], answer that passes a check; −1 if unknown
    shown: Integers  # [votes], number of the pair of response sets, the same for both arrangements of the sides

    def asked(self, question: Question) -> Booleans:
        """Return which votes answer a question about two systems, [votes]; checks do not."""
        return np.asarray((self.question == QUESTIONS.index(question)) & (self.left >= 0))

    @property
    def checks(self) -> Integers:
        """Number of checks that each voter answered, [voters]."""
        return np.bincount(self.voter[self.expected >= 0], minlength=len(self.voters))

    @property
    def passed(self) -> Integers:
        """Number of checks that each voter passed, [voters]."""
        right = (self.expected >= 0) & (self.answer == self.expected)
        return np.bincount(self.voter[right], minlength=len(self.voters))

    @property
    def careless(self) -> Booleans:
        """Which voters failed at least half of their checks, [voters]."""
        return np.asarray((self.checks > 0) & (2 * self.passed <= self.checks))

    def weights(self, question: Question) -> Floats:
        """Return the weight of each vote on a question by `RULE`, [votes]; 0 for votes on anything else."""
        asked = self.asked(question)
        counts = np.bincount(self.voter[asked], minlength=len(self.voters))
        weights = np.where(self.careless, 0.0, np.minimum(1.0, MAX_VOTES / np.maximum(counts, 1)))
        return np.asarray(weights[self.voter] * asked)


@dataclass(frozen=True, slots=True)
class Strength:
    """A system's strength according to people's votes."""

    system: str
    votes: float  # weighted number of votes on it
    log_odds: Estimate  # the mean of all systems is 0
    points: Estimate  # points per vote against a system of strength 0; a tie is half a point
    rank: int  # one more than the number of stronger systems
    ranks: tuple[int, int] | None  # best and worst rank in its interval; None with a single voter


@dataclass(frozen=True, slots=True)
class Strengths:
    """The strengths of systems according to the votes on one question."""

    systems: tuple[Strength, ...] = ()  # the strongest first; empty if no vote counts
    apart: tuple[str, ...] = ()  # systems that no chain of votes links with these: their strength is unknown


@dataclass(frozen=True, slots=True)
class Agreement:
    """The share of people's votes that one metric predicts."""

    metric: str
    share: Estimate  # weighted share of votes for a side that has the higher score; equal scores count half
    votes: int  # number of such votes on two sets with scores
    missing: int  # number of votes for a side on sets without a score


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Agreement of people with each other, from pairs of voters who were shown the same two sets."""

    people: Estimate  # share of pairs of votes for a side that name the same one: what another person predicts
    # Upper bound of the share that any predictor from the two sets could reach. If q is the share of all people who
    # would name one side, two agree with probability q² + (1 − q)² = ½ + 2(q − ½)², and the best guess is right with
    # ½ + |q − ½|, on average at most ½ + √((people − ½) / 2) (Jensen).
    most: Estimate
    pairs: int  # number of pairs of votes
    shown: int  # number of pairs of sets with at least two such votes by different voters


def ballots_of(votes: Iterable[Vote], label: Callable[[str, str], str] = lambda name, result: name) -> Ballots:
    """Number the names in unique votes, whatever their order; `label` names a system from its name and result id."""
    rows = sorted(votes, key=lambda vote: vote.vote_id)
    sides = [(label(vote.left, vote.left_result), label(vote.right, vote.right_result)) for vote in rows]
    systems, voters = _Numbers[str](), _Numbers[str]()
    prompts, shown = _Numbers[tuple[str, str]](), _Numbers[Hashable]()
    for name in sorted({name for vote, pair in zip(rows, sides, strict=True) if not vote.check for name in pair}):
        systems[name]
    columns = [
        (
            -1 if vote.check else systems[left],
            -1 if vote.check else systems[right],
            prompts[vote.suite, vote.prompt_id],
            voters[vote.voter],
            QUESTIONS.index(vote.question),
            ANSWERS.index(vote.answer),
            ANSWERS.index(vote.expected) if vote.expected else -1,
            shown[
                vote.suite,
                vote.prompt_id,
                frozenset({(vote.left_result, vote.left_positions), (vote.right_result, vote.right_positions)}),
            ],
        )
        for vote, (left, right) in zip(rows, sides, strict=True)
    ]
    return Ballots(tuple(systems), tuple(prompts), tuple(voters), *np.array(columns, np.int64).reshape(-1, 8).T)


class _Numbers(dict[_Name, int]):
    """Numbers of names, in the order in which they are first looked up."""

    def __missing__(self, name: _Name) -> int:
        self[name] = len(self)
        return self[name]


def outcome_chances(gaps: Floats, log_tie: float) -> Floats:
    """Return the probabilities of left, right and tie, [..., 3], from left's strength minus right's, [...]."""
    logits = np.stack([gaps / 2, -gaps / 2, np.full(gaps.shape, log_tie)], axis=-1)
    chances = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=-1, keepdims=True))


def fit(wins: Floats, ties: Floats, start: Floats | None = None) -> Floats:
    """Fit Davidson's model by Newton's method: [systems + 1], strengths of mean 0, then log t.

    `wins` are the weighted wins of the row's system over the column's, and `ties` are symmetric, [systems, systems].
    """
    systems, precision = len(wins), PRIOR_SD**-2
    played = wins + wins.T + ties
    model = np.zeros(systems + 1) if start is None else start
    for _ in range(200):
        chances = outcome_chances(model[:systems, None] - model[None, :systems], float(model[systems]))
        lead, tie = chances[..., 0] - chances[..., 1], chances[..., 2]
        slope = np.append(
            ((wins - wins.T) - played * lead).sum(axis=1) / 2,
            (ties - played * tie).sum() / 2,  # each comparison is in the table twice
        )
        bend = played * (chances[..., 0] + chances[..., 1] - lead**2) / 4
        information = precision * np.eye(systems + 1)
        information[:systems, :systems] += np.diag(bend.sum(axis=1)) - bend
        information[:systems, systems] = information[systems, :systems] = -(played * lead * tie).sum(axis=1) / 2
        information[systems, systems] += (played * tie * (1 - tie)).sum() / 2
        step = np.linalg.solve(information, slope - precision * model)
        size = float(np.abs(step).max())
        model = model + step * min(1.0, _MAX_STEP / max(size, _TOLERANCE))
        if size < _TOLERANCE:
            break
    model[:systems] -= model[:systems].mean()
    return model


def strengths(ballots: Ballots, question: Question) -> Strengths:
    """Estimate the strengths of systems from the votes on one question."""
    weights = ballots.weights(question)
    chosen = np.flatnonzero(weights > 0)
    if not len(chosen):
        return Strengths()
    size = len(ballots.systems)
    links = coo_array((np.ones(len(chosen)), (ballots.left[chosen], ballots.right[chosen])), (size, size))
    groups = connected_components(links, directed=False)[1]
    linked = np.flatnonzero(groups == np.bincount(groups).argmax())
    apart = np.setdiff1d(np.append(ballots.left[chosen], ballots.right[chosen]), linked)
    chosen = chosen[np.isin(ballots.left[chosen], linked)]
    left, right = (np.searchsorted(linked, side[chosen]) for side in (ballots.left, ballots.right))
    voters, voter = np.unique(ballots.voter[chosen], return_inverse=True)
    answer = ballots.answer[chosen]
    cells = np.where(answer == RIGHT, right * len(linked) + left, left * len(linked) + right)
    models = _resampled_models(cells, answer == TIE, weights[chosen], voter, len(linked))
    log_odds = models[:, :-1]
    chances = np.array([outcome_chances(model[:-1], float(model[-1])) for model in models])
    points = chances[..., 0] + chances[..., 2] / 2
    ranks = None if len(voters) < 2 else _rank_intervals(log_odds, len(voters) - 1)
    votes = np.bincount(np.append(left, right), np.tile(weights[chosen], 2), len(linked))
    systems = [
        Strength(
            ballots.systems[system],
            float(votes[i]),
            _estimate(log_odds[:, i], len(voters)),
            _estimate(points[:, i], len(voters)),
            1 + int((log_odds[0] > log_odds[0, i] + 1e-9).sum()),
            None if ranks is None else (int(ranks[0][i]), int(ranks[1][i])),
        )
        for i, system in enumerate(linked.tolist())
    ]
    ordered = sorted(systems, key=lambda system: (system.rank, system.system))
    return Strengths(tuple(ordered), tuple(ballots.systems[system] for system in apart.tolist()))


def _resampled_models(cells: Integers, tied: Booleans, weights: Floats, voter: Integers, systems: int) -> Floats:
    """Fit the model to all votes and to resamples of voters, [1 + resamples, systems + 1].

    `cells` are the votes' places in the table of winners (rows) and losers; `voter` is numbered from 0.
    """
    models: list[Floats] = []
    for counts in weights_with_original(int(voter.max()) + 1, resamples=RESAMPLES):
        counted = weights * counts[voter]
        wins, ties = (
            np.bincount(cells, counted * which, systems**2).reshape(systems, systems).astype(np.float64)
            for which in (~tied, tied)
        )
        models.append(fit(wins, ties + ties.T, models[0] if models else None))
    return np.array(models)


def _rank_intervals(draws: Floats, freedom: int) -> tuple[Integers, Integers]:
    """Return the best and worst rank of each system by t-tests of its differences, with Holm's correction over them.

    Ranks of resampled strengths would cover too little where systems are about equal (Mogstad, Romano, Shaikh and
    Wilhelm 2024).
    """
    gaps = draws[:, :, None] - draws[:, None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        t = gaps[0] / np.where(np.ptp(gaps, axis=0) > _TOLERANCE, gaps[1:].std(axis=0), np.nan)
    differs = np.array([holm(row) for row in 2 * stdtr(freedom, -np.abs(t))]) < 1 - LEVEL
    return 1 + (differs & (t < 0)).sum(axis=1), len(t) - (differs & (t > 0)).sum(axis=1)


def _estimate(draws: Floats, voters: int) -> Estimate:
    """Return an estimate without interval if all resamples are alike: a few votes do not show how far it varies."""
    return estimate(draws if np.ptp(draws) > _TOLERANCE else draws[:1], clusters=voters)


def metric_agreement(
    ballots: Ballots, scores: Mapping[str, Mapping[tuple[str, str, str], float]], question: Question
) -> list[Agreement]:
    """Compute the share of votes for a side that each metric predicts.

    `scores` are by metric, then by system, suite and prompt; greater is more diverse, and NaN is missing.
    """
    weights = ballots.weights(question)
    chosen = np.flatnonzero((weights > 0) & (ballots.answer != TIE))
    sides = ballots.left[chosen].tolist(), ballots.right[chosen].tolist()
    prompts = [ballots.prompts[prompt] for prompt in ballots.prompt[chosen].tolist()]
    sign = np.where(ballots.answer[chosen] == LEFT, 1.0, -1.0)
    agreements = []
    for metric, values in scores.items():
        left, right = (
            np.array([values.get((ballots.systems[i], *at), np.nan) for i, at in zip(side, prompts, strict=True)])
            for side in sides
        )
        with np.errstate(invalid="ignore"):
            gap = left - right
        known = np.isfinite(gap)
        votes = chosen[known]
        correct = (1 + np.sign(gap[known]) * sign[known]) / 2
        voters, voter = np.unique(ballots.voter[votes], return_inverse=True)
        counts = weights_with_original(len(voters), resamples=RESAMPLES)
        parts, totals = (
            counts @ np.bincount(voter, weights[votes] * which, len(voters)) for which in (correct, np.ones(len(votes)))
        )
        share = _share(parts, totals, len(voters))
        agreements.append(Agreement(metric, share, len(votes), int((~known).sum())))
    return agreements


def ceiling(ballots: Ballots, question: Question) -> Ceiling:
    """Compute how far voters agree who were shown the same two response sets."""
    weights = ballots.weights(question)
    chosen = np.flatnonzero((weights > 0) & (ballots.answer != TIE))
    rows = chosen[np.argsort(ballots.shown[chosen], kind="stable")]
    starts = np.flatnonzero(np.diff(ballots.shown[rows])) + 1
    pairs = np.hstack([same[np.array(np.triu_indices(len(same), 1))] for same in np.split(rows, starts)])
    one, other = pairs[:, ballots.voter[pairs[0]] != ballots.voter[pairs[1]]]
    side = np.where(ballots.answer == LEFT, ballots.left, ballots.right)  # by system: the sides may be swapped
    voters, voter = np.unique(ballots.voter[np.append(one, other)], return_inverse=True)
    counts = weights_with_original(len(voters), resamples=RESAMPLES)
    size = len(voters), len(voters)
    agree, total = (
        # A resample has a pair of votes as many times as the product of its two voters.
        ((coo_array((values, voter.reshape(2, -1)), size).tocsr().T @ counts.T).T * counts).sum(axis=1)
        for values in (weights[one] * weights[other] * (side[one] == side[other]), weights[one] * weights[other])
    )
    people = _share(agree, total, len(voters))
    low, value, high = (
        None if share is None else 0.5 + float(np.sqrt(max(0.0, share - 0.5) / 2))
        for share in (people.low, people.value, people.high)
    )
    return Ceiling(people, Estimate(value, low, high), len(one), len(np.unique(ballots.shown[one])))


def _share(parts: Floats, totals: Floats, voters: int) -> Estimate:
    """Return a share from its numerators and denominators [1 + resamples]; NaN where a resample has no vote."""
    with np.errstate(invalid="ignore"):
        draws = parts / totals
    if not np.isfinite(draws[0]):
        return Estimate(None)
    return _estimate(draws[np.isfinite(draws)], voters)
