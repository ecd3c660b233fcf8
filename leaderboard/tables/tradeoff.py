"""The page Diversity × quality: systems on two metrics, and the Pareto front."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.scoring.estimate import FLOAT32_ROUNDING, Floats
from divbench.core.tables import Table, listed
from leaderboard.data.board import Board, Column
from leaderboard.data.scores import BoardScores
from leaderboard.tables.models import QUALITY, heading, score_cells
from leaderboard.tables.systems import system_labels

# The first metric that a board has is the default axis. Neither utility_k, which includes diversity, nor coherence,
# which depends on the language model, is a default.
DIVERSITY_AXES = ("valid_distinct_k", "distinct_k", "embedding_diversity", "distinct_k_reported", "distinct_n")
QUALITY_AXES = ("mean_head_quality", "valid_share", "first_quality")
MOST_POINTS = 500  # maximum number in the figure; with more, marks and error bars hide each other
_MOST_NAMED = 20  # maximum number of systems on the front that the caption names


@dataclass(frozen=True, slots=True)
class Point:
    """A system on both axes."""

    place: int
    label: str
    type: str
    x: float  # mean over prompts on the x-axis
    x_range: tuple[float, float] | None  # 95% interval of x; None if there is none
    y: float  # mean over prompts on the y-axis
    y_range: tuple[float, float] | None
    # Whether no eligible system is at least as good on both axes and better on one. None if the system is not eligible
    # or an axis has no direction.
    on_front: bool | None


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """Systems on two axes."""

    x: Column
    y: Column
    points: tuple[Point, ...]  # systems with a value on both axes, in the board's order
    absent: tuple[str, ...]  # labels of the other systems
    front: bool  # whether there is a front, which needs a direction on both axes
    baselines: bool  # whether known-bad baselines are Pareto-eligible

    def ordered(self) -> list[Point]:
        """The points in the order of the table: points on the front first, each group in the board's order."""
        first = (True, False, None)
        return sorted(self.points, key=lambda p: (first.index(p.on_front), p.place))

    def drawn(self) -> list[Point]:
        """The points in the figure: the first `MOST_POINTS` of the table, in the board's order."""
        return sorted(self.ordered()[:MOST_POINTS], key=lambda p: p.place)


def end_of(column: Column) -> int:
    """The direction in which a column is better: +1 higher, as for quality; −1 lower; 0 none."""
    return column.direction or (1 if column.metric in QUALITY else 0)


def default_axes(board: Board) -> tuple[Column, Column] | None:
    """A diversity metric and a quality metric, or other metrics if the board lacks them; None if it has no metrics."""
    if not board.columns:
        return None
    x = _first(board, DIVERSITY_AXES) or board.columns[0]
    others = [column for column in board.columns if column is not x]
    return x, _first(board, QUALITY_AXES) or (others[0] if others else x)


def has_quality(board: Board) -> bool:
    """Whether the board has a quality metric."""
    return _first(board, QUALITY_AXES) is not None


def _first(board: Board, metrics: Sequence[str]) -> Column | None:
    found = [column for column in board.columns if column.metric in metrics]
    return min(found, key=lambda column: metrics.index(column.metric), default=None)


def tradeoff(
    scores: BoardScores,
    x: Column,
    y: Column,
    *,
    baselines: bool = False,
) -> Tradeoff:
    """The systems of a board on two metrics, and the Pareto front of their means.

    Args:
        baselines: Whether known-bad baselines can be on the front.
    """
    board = scores.board
    types = [entry.result.manifest.system.type for entry in board.entries]
    labels = system_labels(board)
    of_x, of_y = scores.matrix(x), scores.matrix(y)
    there = _any(of_x) & _any(of_y)
    ends = end_of(x), end_of(y)
    front = 0 not in ends and bool(there.any())
    field = there & np.array([baselines or kind != "baseline" for kind in types], np.bool_)
    on_front = np.zeros(len(types), bool)
    if front and field.any():
        good = (end * np.nanmean(of[:, field], axis=0) for end, of in zip(ends, (of_x, of_y), strict=True))
        on_front[field] = pareto(*good)
    points = []
    for place in np.flatnonzero(there).tolist():
        entry, judged = board.entries[place], front and bool(field[place])
        one, other = entry.cells[x.signature], entry.cells[y.signature]
        points.append(
            Point(
                place=place,
                label=labels[place],
                type=types[place],
                x=float(np.nanmean(of_x[:, place])),
                x_range=_range(one.low, one.high),
                y=float(np.nanmean(of_y[:, place])),
                y_range=_range(other.low, other.high),
                on_front=bool(on_front[place]) if judged else None,
            )
        )
    absent = tuple(label for label, here in zip(labels, there.tolist(), strict=True) if not here)
    return Tradeoff(x, y, tuple(points), absent, front, baselines)


def _any(values: Floats) -> NDArray[np.bool_]:
    """Whether each column has any value."""
    return np.asarray(np.isfinite(values).any(axis=0), np.bool_)


def _range(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def pareto(x: Floats, y: Floats) -> NDArray[np.bool_]:
    """Whether each system is on the Pareto front: no other is at least as good on both axes and better on one.

    Args:
        x: Values [systems] on one axis, higher is better; NaN if missing.
        y: Values on the other axis, in the same shape.
    """
    valid = np.isfinite(x) & np.isfinite(y)
    one, other = (_comparable(np.where(valid, axis, -np.inf)) for axis in (x, y))
    as_good = (one[:, None] >= one) & (other[:, None] >= other)  # [better, worse]
    better = (one[:, None] > one) | (other[:, None] > other)
    return np.asarray(valid & ~(as_good & better).any(axis=0), np.bool_)


def _comparable(values: Floats) -> Floats:
    """Round values, so that values that differ only by floating-point errors are equal."""
    finite = np.abs(values[np.isfinite(values)])
    scale = float(finite.max()) if finite.size else 0.0
    if scale == 0.0:
        return values
    step = scale * FLOAT32_ROUNDING
    with np.errstate(invalid="ignore"):
        return np.asarray(np.round(values / step), np.float64)


def tradeoff_table(board: Board, made: Tradeoff) -> Table:
    """The systems as a table, in the order of `Tradeoff.ordered`."""
    cells = {column.signature: score_cells(board, column) for column in (made.x, made.y)}
    heads = tuple(heading(column) for column in (made.x, made.y))
    headers = ("system", "type", *heads, "on front")
    words = {True: "yes", False: "no", None: "not eligible"}
    rows = [
        (
            point.label,
            point.type,
            cells[made.x.signature][point.place],
            cells[made.y.signature][point.place],
            words[point.on_front],
        )
        for point in made.ordered()
    ]
    return Table("", headers, rows)


def about_tradeoff(board: Board, made: Tradeoff) -> str:
    """The caption of the table and the figure."""
    lines = []
    if not has_quality(board):
        lines.append(
            "This table has no quality metric, because its profile has neither a reward model nor a language model. "
            "Two diversity metrics are shown."
        )
    unclear = [column.label for column in (made.x, made.y) if end_of(column) == 0]
    if unclear:
        lines.append(f"There is no front, since no direction is defined for {' and '.join(dict.fromkeys(unclear))}.")
    elif made.front:
        on = [point.label for point in made.points if point.on_front]
        named = listed(on, _MOST_NAMED)
        lines.append(
            f"On the Pareto front, where no other system is as good on both axes and better on one: {named}."
            if on
            else "No system is on the front: all systems with both values are known-bad baselines."
        )
        lines.append("The front is of means, which leave one of two equal systems off it by chance.")
        lines.append(
            "Known-bad baselines are eligible."
            if made.baselines
            else "Known-bad baselines are shown but not eligible: noise is diverse, too."
        )
    if len(made.points) > MOST_POINTS:
        lines.append(f"The figure shows the first {MOST_POINTS:,} of {len(made.points):,} systems in the table.")
    if made.absent:
        lines.append(f"{len(made.absent)} of {len(board.entries)} systems do not have a value on both axes.")
    return " ".join(lines)
