"""Tests the statistics of votes on simulated boards: recovery, coverage, and resistance to attacks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmark.analysis.votes.simulation import Board, Simulated, simulate
from benchmark.analysis.votes.strengths import Strength, strengths
from benchmark.analysis.votes.weights import Weights, plain, weigh
from divbench.core.tables import Table

QUESTION = "more_different"
HIGH = 0.98
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Recovery:
    """How well strengths are recovered, over simulated boards."""

    boards: int
    correlation: float  # mean Spearman correlation of strengths with the truth
    worst_correlation: float  # lowest of these correlations
    high_correlations: float  # share of boards on which it is at least .98
    coverage: float  # share of 95% intervals that contain the truth
    coverage_error: float  # standard error of that share, over boards
    half_width: float  # mean half width of the intervals, in log-odds
    points: float  # mean half width of a median system's interval, in points per 100 votes against an average one
    ranks: float
    slope: float  # slope of strengths on the truth; below 1 if careless votes shrink the differences
    careless_weight: float  # mean weight of careless voters
    careful_weight: float  # mean weight of careful voters
    accused: float  # mean number of voters whom the second rule excludes although they promote nobody


@dataclass(frozen=True, slots=True)
class Resistance:
    """The effect of hostile voters, over simulated boards, each beside the same board with these voters careful."""

    boards: int
    moved: float  # mean number of ranks by which the target rises
    most_moved: float
    interval: float  # mean number of ranks in the target's interval, without the attack
    within: float  # share of boards on which the target moves by fewer ranks than its interval has
    strength: float  # mean change of its strength, in log-odds
    caught: float  # mean share of hostile voters whose weight is below one half


def recovery(
    board: Board, boards: int, *, weighted: bool = True, seed: int = 0, progress: Progress | None = None
) -> Recovery:
    """Simulate boards and compare the estimated strengths with the truth.

    Args:
        weighted: Whether votes are weighted; otherwise each counts 1.
        seed: Random seed of the first board; later boards have the following ones.
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
                float(np.mean([each.ranks[1] - each.ranks[0] + 1 for each in found if each.ranks])),
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
    """Simulate boards with hostile voters, and each of them again with these voters careful."""
    rows = []
    for number in range(boards):
        attacked = simulate(board, seed + number)
        # The same random draws: the hostile voters of one board are careful on the other.
        quiet = simulate(replace(board, hostile=0.0, attack="loyal"), seed + number)
        weights = weigh(attacked.ballots)
        calm = weigh(quiet.ballots)
        after = _in_order(attacked, weights if weighted else _plain(attacked, weights))[attacked.target]
        before = _in_order(quiet, calm if weighted else _plain(quiet, calm))[attacked.target]
        width = before.ranks[1] - before.ranks[0] + 1 if before.ranks else 0
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


def _in_order(made: Simulated, weights: Weights) -> list[Strength]:
    found = {each.system: each for each in strengths(made.ballots, question=QUESTION, weights=weights).systems}
    return [found[name] for name in made.ballots.systems]


def _plain(made: Simulated, weights: Weights) -> Weights:
    return replace(weights, votes=plain(made.ballots), careful=np.ones(len(weights.careful)))


def recovery_table(found: Sequence[tuple[str, Recovery]]) -> Table:
    """Return a table with one row per simulated board."""
    columns = (
        "board",
        "boards",
        "rank correlation",
        "least",
        "coverage",
        "± (points)",
        "± (log-odds)",
        "ranks",
        "slope",
    )
    rows = [
        (
            name,
            each.boards,
            f"{each.correlation:.3f}",
            f"{each.worst_correlation:.3f}",
            f"{each.coverage:.1%}",
            f"{each.points:.1f}",
            f"{each.half_width:.2f}",
            f"{each.ranks:.1f}",
            f"{each.slope:.2f}",
        )
        for name, each in found
    ]
    return Table("", columns, rows)


def resistance_table(found: Sequence[tuple[str, Resistance]]) -> Table:
    """Return a table with one row per simulated attack."""
    columns = ("attack", "boards", "ranks moved", "most", "rank interval", "moved by less", "log-odds", "caught")
    rows = [
        (
            name,
            each.boards,
            f"{each.moved:.1f}",
            f"{each.most_moved:.0f}",
            f"{each.interval:.1f}",
            f"{each.within:.0%}",
            f"{each.strength:+.2f}",
            f"{each.caught:.0%}",
        )
        for name, each in found
    ]
    return Table("", columns, rows)
