"""What the statistics of votes reach on simulated boards: recovery, coverage, resistance, votes that it takes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmark.analysis.votes.simulation import Board, Simulated, simulate
from benchmark.analysis.votes.strengths import Strength, strengths
from benchmark.analysis.votes.weights import Weights, plain, weigh

QUESTION = "more_different"
HIGH = 0.98
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Recovery:
    """How well strengths come back, over simulated boards.

    Attributes:
        boards: Number of boards.
        correlation: Mean Spearman correlation of strengths with the truth.
        worst_correlation: The least of them.
        high_correlations: Share of boards on which it is at least .98.
        coverage: Share of 95% intervals that hold the truth.
        coverage_error: Standard error of that share, over boards.
        half_width: Mean half width of the intervals, in log-odds.
        points: Mean half width of a median system's interval, in points per 100 votes against an average one.
        ranks: Mean width of intervals of ranks.
        slope: Slope of strengths on the truth; below 1 where careless votes pull them together.
        careless_weight: Mean weight of careless voters; careful_weight: that of careful ones.
        accused: Mean number of voters whom the second rule leaves out although they push nobody.
    """

    boards: int
    correlation: float
    worst_correlation: float
    high_correlations: float
    coverage: float
    coverage_error: float
    half_width: float
    points: float
    ranks: float
    slope: float
    careless_weight: float
    careful_weight: float
    accused: float


@dataclass(frozen=True, slots=True)
class Resistance:
    """What hostile voters move, over simulated boards, each beside itself with these voters careful.

    Attributes:
        boards: Number of boards.
        moved: Mean number of ranks by which the target rises.
        most_moved: The most.
        interval: Mean width of the target's interval of ranks, without the attack.
        within: Share of boards on which the target moves by less than that width.
        strength: Mean change of its strength, in log-odds.
        caught: Mean share of hostile voters who count less than half.
    """

    boards: int
    moved: float
    most_moved: float
    interval: float
    within: float
    strength: float
    caught: float


def recovery(
    board: Board, boards: int, *, weighted: bool = True, seed: int = 0, progress: Progress | None = None
) -> Recovery:
    """Simulate boards and compare what comes back with what is true.

    Args:
        board: The board.
        boards: Number of boards to simulate.
        weighted: Whether votes are weighed; else each counts 1.
        seed: Random seed of the first board; the next has the next.
        progress: Called with the number of boards done.
    """
    from scipy.stats import spearmanr

    rows = []
    for number in range(boards):
        made = simulate(board, seed + number)
        weights = weigh(made.ballots)
        found = _in_order(made, weights if weighted else _plain(made, weights))
        values = np.array([each.strength for each in found])
        ends = np.array([[each.interval.low, each.interval.high] for each in found if each.interval])
        points = [each.points_interval for each in found if each.points_interval]
        middle = points[int(np.argsort(values)[len(values) // 2])]
        honest = ~made.careless & ~made.hostile
        rows.append(
            (
                float(spearmanr(values, made.truth).statistic),
                float(np.mean((ends[:, 0] <= made.truth) & (made.truth <= ends[:, 1]))),
                float(np.mean(ends[:, 1] - ends[:, 0])) / 2,
                100 * (middle.high - middle.low) / 2,
                float(np.mean([each.ranks[1] - each.ranks[0] for each in found if each.ranks])),
                float(values @ made.truth / (made.truth @ made.truth)),
                float(weights.careful[made.careless].mean()) if made.careless.any() else float("nan"),
                float(weights.careful[honest].mean()),
                float((weights.hostile & ~made.hostile).sum()),
            )
        )
        if progress is not None:
            progress(number + 1)
    table = np.array(rows)
    means = table.mean(axis=0).tolist()
    error = float(table[:, 1].std(ddof=1) / np.sqrt(boards)) if boards > 1 else float("nan")
    worst, high = float(table[:, 0].min()), float((table[:, 0] >= HIGH).mean())
    return Recovery(boards, means[0], worst, high, means[1], error, *means[2:])


def resistance(
    board: Board, boards: int, *, weighted: bool = True, seed: int = 0, progress: Progress | None = None
) -> Resistance:
    """Simulate boards with hostile voters, and each again with these voters careful.

    Args:
        board: The board, with hostile voters.
        boards: Number of boards to simulate.
        weighted: Whether votes are weighed; else each counts 1.
        seed: Random seed of the first board.
        progress: Called with the number of boards done.
    """
    rows = []
    for number in range(boards):
        attacked = simulate(board, seed + number)
        # The same draws: the hostile voters of one board are careful ones of the other.
        quiet = simulate(replace(board, hostile=0.0, attack="loyal"), seed + number)
        weights = weigh(attacked.ballots)
        calm = weigh(quiet.ballots)
        after = _in_order(attacked, weights if weighted else _plain(attacked, weights))[attacked.target]
        before = _in_order(quiet, calm if weighted else _plain(quiet, calm))[attacked.target]
        width = before.ranks[1] - before.ranks[0] if before.ranks else 0
        small = (weights.careful < 0.5) | weights.hostile
        rows.append(
            (
                before.rank - after.rank,
                width,
                abs(before.rank - after.rank) < width,
                after.strength - before.strength,
                float(small[attacked.hostile].mean()) if attacked.hostile.any() else float("nan"),
            )
        )
        if progress is not None:
            progress(number + 1)
    table = np.array(rows, np.float64)
    moved, interval, within, strength, caught = table.mean(axis=0).tolist()
    return Resistance(boards, moved, float(np.abs(table[:, 0]).max()), interval, within, strength, caught)


def planning(
    systems: Sequence[int], votes: Sequence[int], boards: int, *, board: Board | None = None, seed: int = 0
) -> dict[tuple[int, int], Recovery]:
    """What intervals so many votes give for so many systems, by both."""
    base = board or Board()
    return {
        (count, number): recovery(replace(base, systems=count, votes=number), boards, seed=seed)
        for count in systems
        for number in votes
    }


def _in_order(made: Simulated, weights: Weights) -> list[Strength]:
    found = {each.system: each for each in strengths(made.ballots, question=QUESTION, weights=weights).systems}
    return [found[name] for name in made.ballots.systems]


def _plain(made: Simulated, weights: Weights) -> Weights:
    return replace(weights, votes=plain(made.ballots), careful=np.ones(len(weights.careful)))
