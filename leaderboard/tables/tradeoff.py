"""The page Diversity × quality: systems on two metrics, and the Pareto front."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.scoring.resampling import FLOAT32_ROUNDING, Floats, resample_weights, weighted_means
from leaderboard.data.board import Board, Column
from leaderboard.data.scores import BoardScores
from leaderboard.tables.models import QUALITY, cell_texts, heading
from leaderboard.tables.systems import system_labels
from leaderboard.tables.table_view import TableView, listed, table_of

# The first metric that a board has is the default axis. Neither utility_k, which includes diversity, nor coherence,
# which depends on the language model, is a default.
DIVERSITY_AXES = ("valid_distinct_k", "distinct_k", "embedding_diversity", "distinct_k_reported", "distinct_n")
QUALITY_AXES = ("mean_head_quality", "valid_share", "first_quality")
RESAMPLES = 1000
MOST_POINTS = 500  # maximum number in the figure; with more, marks and error bars hide each other
_MOST_NAMED = 20  # maximum number of systems on the front that the caption names
_AT_ONCE = 2_000_000  # maximum size of an array [resamples, systems]


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
    share: float | None  # share of the resamples in which it is on the front; None in the same cases


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """Systems on two axes."""

    x: Column
    y: Column
    points: tuple[Point, ...]  # systems with a value on both axes, in the board's order
    absent: tuple[str, ...]  # labels of the other systems
    front: bool  # whether there is a front, which needs a direction on both axes
    baselines: bool  # whether known-bad baselines are Pareto-eligible
    resamples: int

    def ordered(self) -> list[Point]:
        """The points in the order of the table: points on the front first, each group by decreasing share."""
        first = (True, False, None)
        return sorted(self.points, key=lambda p: (first.index(p.on_front), -(p.share or 0.0), p.place))

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
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Tradeoff:
    """The systems of a board on two metrics, and the Pareto front with its bootstrap shares.

    A resample draws the same prompts for all systems and both axes. The means of a system are over those of the drawn
    prompts for which it has values.

    Raises:
        InputError: A result's files are gone.
    """
    board = scores.board
    types = [entry.result.manifest.system.type for entry in board.entries]
    labels = system_labels(board)
    of_x, of_y = scores.matrix(x), scores.matrix(y)
    there = _any(of_x) & _any(of_y)
    ends = end_of(x), end_of(y)
    front = 0 not in ends and bool(there.any())
    field = there & np.array([baselines or kind != "baseline" for kind in types], np.bool_)
    on_front, shares = np.zeros(len(types), bool), np.full(len(types), np.nan)
    if front and field.any():
        good = ends[0] * of_x[:, field], ends[1] * of_y[:, field]
        on_front[field] = _fronts(*good, np.ones((1, len(scores.prompts)), np.int64))[0][0]
        shares[field] = front_shares(*good, resamples=resamples, seed=seed)
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
                share=float(shares[place]) if judged and np.isfinite(shares[place]) else None,
            )
        )
    absent = tuple(label for label, here in zip(labels, there.tolist(), strict=True) if not here)
    return Tradeoff(x, y, tuple(points), absent, front, baselines, resamples)


def _any(values: Floats) -> NDArray[np.bool_]:
    """Whether each column has any value."""
    return np.asarray(np.isfinite(values).any(axis=0), np.bool_)


def _range(low: float | None, high: float | None) -> tuple[float, float] | None:
    return None if low is None or high is None else (low, high)


def front_shares(x: Floats, y: Floats, *, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
    """Share of bootstrap resamples over prompts in which each system is on the Pareto front.

    Args:
        x: Values [prompts, systems]; higher is better; NaN if missing.
        y: Values on the other axis, with the same shape.

    Returns:
        Shares [systems] of the resamples in which the system has a value on both axes; NaN if there are none, and for
        one prompt, whose resamples are all alike.
    """
    prompts, systems = x.shape
    if prompts < 2:
        return np.full(systems, np.nan)
    weights = resample_weights(prompts, resamples=resamples, seed=seed).astype(np.float64)
    step = max(1, _AT_ONCE // max(1, systems))
    on, there = np.zeros(systems), np.zeros(systems)
    for start in range(0, resamples, step):
        fronts, valid = _fronts(x, y, weights[start : start + step])
        on += fronts.sum(axis=0)
        there += valid.sum(axis=0)
    shares: Floats = np.divide(on, there, out=np.full(systems, np.nan), where=there > 0)
    return shares


def _fronts(x: Floats, y: Floats, weights: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether systems are on the front of the weighted means, and whether they have both, [resamples, systems] each."""
    of_x, of_y = weighted_means(x, weights), weighted_means(y, weights)
    valid = np.isfinite(of_x) & np.isfinite(of_y)
    return pareto(of_x, of_y), valid


def pareto(x: Floats, y: Floats) -> NDArray[np.bool_]:
    """Whether each system is on the Pareto front: no other is at least as good on both axes and better on one.

    Systems are sorted rather than compared in pairs, because a board can have a thousand of them, and the bootstrap has
    a thousand resamples.

    Args:
        x: Values [..., systems]; higher is better. A system with NaN is not on the front and dominates no other.
        y: Values on the other axis, with the same shape.

    Returns:
        Booleans [..., systems].

    >>> pareto(np.array([1.0, 2.0, 3.0, 2.0]), np.array([3.0, 2.0, 1.0, 1.0])).tolist()
    [True, True, True, False]
    """
    valid = np.isfinite(x) & np.isfinite(y)
    one, other = (_comparable(np.where(valid, axis, -np.inf)) for axis in (x, y))
    order = np.lexsort((-other, -one), axis=-1)  # by x, best first; ties by y
    sorted_x, sorted_y = np.take_along_axis(one, order, -1), np.take_along_axis(other, order, -1)
    highest = np.maximum.accumulate(sorted_y, axis=-1)
    places = np.broadcast_to(np.arange(one.shape[-1]), one.shape)
    rises = np.ones(one.shape, bool)
    rises[..., 1:] = sorted_y[..., 1:] > highest[..., :-1]
    first = np.maximum.accumulate(
        np.where(rises, places, 0), axis=-1
    )  # index of the first system with the highest y so far
    # No earlier system dominates one that raises the highest y, or one that equals the highest y at the same x.
    equals = (sorted_y == highest) & (sorted_x == np.take_along_axis(sorted_x, first, -1))
    made = np.zeros(one.shape, bool)
    np.put_along_axis(made, order, rises | equals, -1)
    return np.asarray(made & valid, np.bool_)


def _comparable(values: Floats) -> Floats:
    """Round values, so that values that differ only by floating-point errors are equal."""
    finite = np.abs(values[np.isfinite(values)])
    scale = float(finite.max()) if finite.size else 0.0
    if scale == 0.0:
        return values
    step = scale * FLOAT32_ROUNDING
    with np.errstate(invalid="ignore"):
        return np.asarray(np.round(values / step), np.float64)


def tradeoff_table(board: Board, made: Tradeoff) -> TableView:
    """The systems as a table, in the order of `Tradeoff.ordered`."""
    texts = {column.signature: cell_texts(board, column) for column in (made.x, made.y)}
    heads = tuple(heading(column) for column in (made.x, made.y))
    headers = ("system", "type", *heads, "on front", "share of resamples")
    words = {True: "yes", False: "no", None: "not eligible"}
    rows = [
        (
            point.label,
            point.type,
            (point.x, texts[made.x.signature][point.place]),
            (point.y, texts[made.y.signature][point.place]),
            words[point.on_front],
            (point.share, "" if point.share is None else f"{point.share:.1%}"),
        )
        for point in made.ordered()
    ]
    return table_of(headers, rows)


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
        if any(point.share is not None for point in made.points):
            lines.append(
                f"The share is the proportion of {made.resamples:,} bootstrap resamples of the prompts in which the "
                "system is on the front. The front is of means, which leave one of two equal systems off it by chance."
            )
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
