"""Davidson's model: Bradley-Terry with ties (Davidson 1970), fitted by Newton's method.

With strengths s (natural log-odds) and d = s_i − s_j: i wins with probability e^(d/2) / Z, j with e^(−d/2) / Z, and
they tie with t / Z, where Z is the sum of the three numerators. Without ties it is Bradley-Terry. The likelihood is
concave; weak normal priors keep the strength of a system finite that has won or lost all comparisons.
"""

from dataclasses import dataclass

import numpy as np

from benchmark.analysis.votes.ballots import LEFT, TIE, Ballots, Booleans, Floats, Integers, totals

PRIOR_SD = 3.0  # of a strength, and of log t: negligible compared with ten votes
_LONGEST_STEP = 2.0
_CLOSE = 1e-10
_MOST_STEPS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Davidson:
    """A fitted model."""

    strengths: Floats  # [systems], natural log-odds with mean 0
    log_tie: float  # log t; two equal systems tie with probability t / (2 + t)
    inverse: Floats  # [systems + 1, systems + 1], inverse of the information; the last row and column belong to log t

    def chances(self, left: Integers, right: Integers) -> Floats:
        """Return the probabilities of left, right and tie, [votes, 3], in the order of `ANSWERS`."""
        return outcome_chances(self.strengths[left] - self.strengths[right], self.log_tie)


def outcome_chances(gaps: Floats, log_tie: float) -> Floats:
    """Return the probabilities that the first wins, that the second wins, and that they tie, [..., 3].

    Args:
        gaps: [...], strength of the first minus that of the second.
    """
    logits = np.stack([gaps / 2, -gaps / 2, np.full(gaps.shape, log_tie)], axis=-1)
    made = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(made / made.sum(axis=-1, keepdims=True))


def fit(wins: Floats, ties: Floats) -> Davidson:
    """Estimate the strengths that make a table of comparisons most likely.

    Args:
        wins: [systems, systems], weighted number of times that the row's system beat the column's.
        ties: [systems, systems], symmetric, weighted number of ties; the diagonals are 0.
    """
    systems = len(wins)
    played = wins + wins.T + ties
    precision = PRIOR_SD**-2
    strengths: Floats = np.zeros(systems)
    log_tie = 0.0
    inverse: Floats = np.empty((systems + 1, systems + 1))
    for _ in range(_MOST_STEPS):
        chances = outcome_chances(strengths[:, None] - strengths[None, :], log_tie)
        lead, tie = chances[..., 0] - chances[..., 1], chances[..., 2]
        slope = np.append(
            ((wins - wins.T) - played * lead).sum(axis=1) / 2 - precision * strengths,
            (ties - played * tie).sum() / 2 - precision * log_tie,  # each comparison is in the table twice
        )
        bend = played * (chances[..., 0] + chances[..., 1] - lead**2) / 4
        cross = -(played * lead * tie).sum(axis=1) / 2
        information = np.empty_like(inverse)
        information[:systems, :systems] = np.diag(bend.sum(axis=1) + precision) - bend
        information[:systems, systems] = information[systems, :systems] = cross
        information[systems, systems] = (played * tie * (1 - tie)).sum() / 2 + precision
        inverse = np.asarray(np.linalg.inv(information), np.float64)
        step = inverse @ slope
        size = float(np.abs(step).max())
        share = min(1.0, _LONGEST_STEP / max(size, _LONGEST_STEP))
        strengths = np.asarray(strengths + share * step[:systems], np.float64)
        log_tie += share * float(step[systems])
        if size < _CLOSE:
            break
    return Davidson(strengths - strengths.mean(), log_tie, inverse)


def fit_votes(ballots: Ballots, chosen: Booleans, weights: Floats) -> Davidson:
    """Fit the model to votes.

    Args:
        chosen: [votes], which votes to use; no checks.
        weights: [votes].
    """
    systems = len(ballots.systems)
    left, right, answer = ballots.left[chosen], ballots.right[chosen], ballots.answer[chosen]
    tied = answer == TIE
    winner, loser = np.where(answer == LEFT, left, right), np.where(answer == LEFT, right, left)
    cells = totals(winner * systems + loser, weights[chosen] * ~tied, systems**2)
    halves = totals(left * systems + right, weights[chosen] * tied, systems**2).reshape(systems, systems)
    return fit(cells.reshape(systems, systems), halves + halves.T)


def slopes(model: Davidson, ballots: Ballots, chosen: Booleans, weights: Floats, groups: Integers) -> Floats:
    """Return the gradient of the log-likelihood by group of votes, [groups, systems + 1]; log t is the last column.

    Args:
        groups: [chosen votes], the group of each, from 0.
    """
    left, right, answer = (each[chosen] for each in (ballots.left, ballots.right, ballots.answer))
    given = weights[chosen]
    chances = model.chances(left, right)
    result = np.select([answer == LEFT, answer == TIE], [0.5, 0.0], -0.5)
    pull = given * (result - (chances[:, 0] - chances[:, 1]) / 2)
    columns = len(ballots.systems) + 1
    count = int(groups.max()) + 1 if len(groups) else 0

    def summed(column: Integers, values: Floats) -> Floats:
        return totals(groups * columns + column, values, count * columns).reshape(count, columns)

    of_ties = given * ((answer == TIE) - chances[:, 2])
    return summed(left, pull) - summed(right, pull) + summed(np.full(len(left), columns - 1), of_ties)
