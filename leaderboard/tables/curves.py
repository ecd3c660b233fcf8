"""Mean curves of systems: different valid responses among m, and utility by the reader's patience."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.metrics.metric import Unscorable
from benchmark.metrics.partition import Partition, utility_curve, valid_distinct_curve
from benchmark.scoring.estimate import Floats, bootstrap_means
from benchmark.scoring.per_prompt import CLASSES, INVALID, REPORTED_CLASSES
from divbench.core.tables import Cell, Table, estimate_cell, number_cell
from leaderboard.data.board import Board, Entry, ranking_column
from leaderboard.data.scores import plausible, read_columns
from leaderboard.tables.systems import system_labels

PATIENCES = tuple(place / 10 for place in range(11))
_HEADLINE = "valid_distinct_k"
COLUMNS = 10  # maximum number of points of a curve in a table


@dataclass(frozen=True, slots=True)
class Curve:
    """A system's mean curve over prompts."""

    label: str
    at: tuple[float, ...]  # positions on the x-axis: numbers of responses, or patiences
    mean: tuple[float, ...]  # mean at each position, over the prompts with a value there
    low: tuple[float | None, ...]  # lower end of the 95% interval over prompts; None if fewer than two have a value
    high: tuple[float | None, ...]
    prompts: tuple[int, ...]  # number of prompts with a value at each position
    reported: bool = False  # whether the values came with the submission, and hence from another judge

    @property
    def name(self) -> str:
        """The label, marked if the values are reported."""
        return f"{self.label} (reported)" if self.reported else self.label


def class_curves(board: Board) -> dict[str, tuple[float, ...]]:
    """Mean expected number of different valid responses among 1, 2, … k (rarefaction), by system label.

    Systems without the headline by which the board is ranked are left out.

    Raises:
        InputError: A result's files are gone.
    """
    made = {}
    for label, entry in zip(system_labels(board), board.entries, strict=True):
        values = _expected_classes(board, entry)
        if values.size:
            made[label] = tuple(np.nanmean(values, axis=0).tolist())
    return made


def distinct_curves(board: Board, places: Iterable[int]) -> tuple[Curve, ...]:
    """Expected number of different valid responses among 1, 2, … k (rarefaction), with intervals over prompts.

    The value at k is the headline.

    Args:
        places: Indices of the systems. Those without the headline by which the board is ranked have no curve: their
            validity was not judged, or was judged by another model.

    Raises:
        InputError: A result's files are gone.
    """
    return _curves(board, places, lambda entry: (_expected_classes(board, entry), False), range(1, board.k + 1))


def patience_curves(board: Board, places: Iterable[int]) -> tuple[Curve, ...]:
    """NoveltyBench's utility by the reader's patience (`PATIENCES`), with intervals over prompts.

    Args:
        places: Indices of the systems. If no reward model rated a system's responses here, its curve is computed from
            the classes and qualities in the submission; without these, the system has no curve.

    Raises:
        InputError: A result's files are gone.
    """
    return _curves(board, places, _utilities, PATIENCES)


def shown_points(count: int) -> list[int]:
    """The indices of the points of a curve that a table shows; the last one, which is the headline, is among them.

    >>> shown_points(11), [1 + index for index in shown_points(100)]
    ([0, 2, 4, 6, 8, 10], [1, 2, 5, 10, 20, 50, 100])
    """
    if count <= COLUMNS:
        return list(range(count))
    round_sizes = (digit * 10**power for power in range(len(str(count))) for digit in (1, 2, 5))
    kept = range(0, count, 2) if count <= 2 * COLUMNS else (size - 1 for size in round_sizes)
    return sorted({index for index in kept if index < count} | {count - 1})


def curves_table(curves: Sequence[Curve], of: str) -> Table:
    """The curves as a table, one row per system; only some points if there are more than `COLUMNS`.

    Args:
        of: Symbol of the x-axis, such as `m` or `p`.
    """
    longest = max((curve.at for curve in curves), key=len, default=())
    kept = shown_points(len(longest))
    headers = ("system", *(f"{of} = {longest[i]:g}" for i in kept), "prompts")
    rows: list[tuple[Cell, ...]] = []
    for curve in curves:
        there = [estimate_cell(curve.mean[i], curve.low[i], curve.high[i], 2) for i in kept if i < len(curve.at)]
        empty = [None] * (len(kept) - len(there))
        rows.append((curve.name, *there, *empty, number_cell(max(curve.prompts), _counts(curve.prompts))))
    return Table("", headers, rows)


def _counts(prompts: Sequence[int]) -> str:
    most, least = max(prompts), min(prompts)
    return f"{most}" if most == least else f"{most}, {least} at the end"


def _curves(
    board: Board,
    places: Iterable[int],
    values_of: Callable[[Entry], tuple[Floats, bool]],
    at: Iterable[float],
) -> tuple[Curve, ...]:
    labels, positions = system_labels(board), tuple(map(float, at))
    made = []
    for place in places:
        values, reported = values_of(board.entries[place])
        if not values.size:
            continue
        means = bootstrap_means(values)  # as the scorer does, so the last point has the headline's interval
        made.append(
            Curve(
                labels[place],
                positions,
                tuple(np.nanmean(values, axis=0).tolist()),
                tuple(mean.low for mean in means),
                tuple(mean.high for mean in means),
                tuple(np.isfinite(values).sum(axis=0).tolist()),
                reported,
            )
        )
    return tuple(made)


def _expected_classes(board: Board, entry: Entry) -> Floats:
    """Expected classes [prompts, k] for the prompts with a headline; empty if the result has no such headline."""
    column = ranking_column(board)
    if column is None or column.metric != _HEADLINE or column.signature not in entry.cells:
        return np.empty((0, 0))
    table = read_columns(entry, CLASSES, INVALID)
    if not {CLASSES, INVALID}.issubset(table.column_names):
        return np.empty((0, 0))
    k = entry.result.k
    made = []
    for classes, why in zip(table[CLASSES].to_pylist(), table[INVALID].to_pylist(), strict=True):
        if classes is None:
            continue  # as in the headline, where a prompt whose responses cannot be grouped is missing
        labels = classes["labels"] or ()
        valid = [label for label, reason in zip(labels, why or [None] * len(labels), strict=False) if reason is None]
        sizes = Counter(label for label in valid[:k] if label is not None)
        made.append(valid_distinct_curve(tuple(sizes.values()), k))
    return np.array(made).reshape(len(made), k)


def _utilities(entry: Entry) -> tuple[Floats, bool]:
    """Utilities [prompts, patiences] for the prompts with class qualities, and whether these are reported."""
    own = _utilities_of(_classes(entry, CLASSES))
    return (own, False) if own.size else (_utilities_of(_classes(entry, REPORTED_CLASSES)), True)


def _utilities_of(rows: Sequence[Mapping[str, Any]]) -> Floats:
    made = []
    for row in rows:
        part = Partition(tuple(row["labels"] or ()))
        if row["qualities"] is None:
            continue
        judged = dict(zip(part.heads, row["qualities"], strict=False))
        qualities = tuple(judged.get(place) for place in range(len(part.labels)))
        try:
            made.append(utility_curve(Partition(part.labels, qualities), PATIENCES))
        except Unscorable:
            continue
    return plausible(np.array(made).reshape(len(made), len(PATIENCES)))


def _classes(entry: Entry, column: str) -> list[dict[str, Any]]:
    """The partitions in a column; prompts without one are left out."""
    table = read_columns(entry, column)
    rows = table[column].to_pylist() if column in table.column_names else []
    return [row for row in rows if row is not None]
