"""Mean curves of systems: different valid responses among m, and utility by the reader's patience."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.metrics.metric import Unscorable
from benchmark.metrics.partition import Partition, utility_curve, valid_distinct_curve
from benchmark.scoring.estimate import Estimate, Floats, bootstrap_means
from benchmark.scoring.per_prompt import CLASSES, INVALID, REPORTED_CLASSES
from divbench.core.errors import need
from divbench.core.tables import Cell, Table, estimate_cell, interval, number_cell
from leaderboard.data.board import Board, Entry, ranking_column
from leaderboard.data.scores import plausible, read_columns
from leaderboard.pages.figures import COLOURS, DASHES, GREY, LINES, NAME, SYMBOLS, inert_name, wide_figure
from leaderboard.pages.systems import system_labels

PATIENCES = tuple(tenth / 10 for tenth in range(11))
_HEADLINE = "valid_distinct_k"
COLUMNS = 10  # maximum number of points of a curve in a table


@dataclass(frozen=True, slots=True)
class Curve:
    """A system's mean curve over prompts."""

    label: str
    at: tuple[float, ...]  # positions on the x-axis: numbers of responses, or patiences
    points: tuple[Estimate, ...]  # mean at each position, over the prompts with a value there
    judge: str = ""  # *reported* if the values came with the submission, from another judge, with their version

    @property
    def name(self) -> str:
        """The label, marked if the values are reported."""
        return f"{self.label} ({self.judge})" if self.judge else self.label

    @property
    def end(self) -> float:
        """The last mean."""
        return self.points[-1].value or 0.0


def class_curves(board: Board) -> dict[str, tuple[float, ...]]:
    """Return the mean expected number of different valid responses among 1, 2, … k (rarefaction), by system label.

    Systems without the headline by which the board is ranked are left out.
    """
    curves = {}
    for label, entry in zip(system_labels(board), board.entries, strict=True):
        values = _expected_classes(board, entry)
        if values.size:
            curves[label] = tuple(np.nanmean(values, axis=0).tolist())
    return curves


def distinct_curves(board: Board, indices: Iterable[int]) -> tuple[Curve, ...]:
    """Return rarefaction curves with intervals over prompts; the value at k is the headline.

    Systems without the headline by which the board is ranked have no curve: their validity was not judged, or was
    judged by another model.
    """
    return _curves(board, indices, lambda entry: (_expected_classes(board, entry), ""), range(1, board.k + 1))


def patience_curves(board: Board, indices: Iterable[int]) -> tuple[Curve, ...]:
    """Return NoveltyBench's utility by the reader's patience (`PATIENCES`), with intervals over prompts.

    If no reward model or judge rated a system's responses here, its curve is computed from the classes and qualities in
    the submission; without these, the system has no curve.
    """
    return _curves(board, indices, _utilities, PATIENCES)


def _curves(
    board: Board, indices: Iterable[int], values_of: Callable[[Entry], tuple[Floats, str]], at: Iterable[float]
) -> tuple[Curve, ...]:
    labels, positions = system_labels(board), tuple(map(float, at))
    curves = []
    for index in indices:
        values, judge = values_of(board.entries[index])
        if values.size:  # resampled as the scorer does, so the last point has the headline's interval
            curves.append(Curve(labels[index], positions, tuple(bootstrap_means(values)), judge))
    return tuple(curves)


def _expected_classes(board: Board, entry: Entry) -> Floats:
    """Return the expected classes [prompts, k] of the prompts with a headline; empty without such a headline."""
    column = ranking_column(board)
    if column is None or column.metric != _HEADLINE or column.signature not in entry.cells:
        return np.empty((0, 0))
    table = read_columns(entry, CLASSES, INVALID)
    if not {CLASSES, INVALID}.issubset(table.column_names):
        return np.empty((0, 0))
    k = entry.result.k
    rows = []
    for classes, reasons in zip(table[CLASSES].to_pylist(), table[INVALID].to_pylist(), strict=True):
        if classes is None or reasons is None:
            continue  # as in the headline, where a prompt whose responses cannot be grouped or judged is missing
        valid = [label for label, why in zip(classes["labels"] or (), reasons, strict=False) if why is None]
        sizes = Counter(label for label in valid[:k] if label is not None)
        rows.append(valid_distinct_curve(tuple(sizes.values()), k))
    return np.array(rows).reshape(len(rows), k)


def _utilities(entry: Entry) -> tuple[Floats, str]:
    """Return the utilities [prompts, patiences] of the prompts with class qualities, and the judge if reported."""
    values = _utilities_of(_classes(entry, CLASSES))
    if values.size:
        return values, ""
    versions = (dict(signature.parameters).get("reported-version") for signature in entry.cells)
    version = next(filter(None, versions), None)
    return _utilities_of(_classes(entry, REPORTED_CLASSES)), f"reported, {version}" if version else "reported"


def _utilities_of(rows: Sequence[Mapping[str, Any]]) -> Floats:
    utilities = []
    for row in rows:
        partition = Partition(tuple(row["labels"] or ()))
        if row["qualities"] is None:
            continue
        judged = dict(zip(partition.heads, row["qualities"], strict=False))
        qualities = tuple(judged.get(position) for position in range(len(partition.labels)))
        try:
            utilities.append(utility_curve(Partition(partition.labels, qualities), PATIENCES))
        except Unscorable:
            continue
    return plausible(np.array(utilities).reshape(len(utilities), len(PATIENCES)))


def _classes(entry: Entry, column: str) -> list[dict[str, Any]]:
    """Return the partitions in a column, without the prompts that have none."""
    table = read_columns(entry, column)
    rows = table[column].to_pylist() if column in table.column_names else []
    return [row for row in rows if row is not None]


def shown_points(count: int) -> list[int]:
    """Return the indices of the points of a curve that a table shows; the last one, the headline, is among them.

    >>> shown_points(11), [1 + index for index in shown_points(100)]
    ([0, 2, 4, 6, 8, 10], [1, 2, 5, 10, 20, 50, 100])
    """
    if count <= COLUMNS:
        return list(range(count))
    round_sizes = (digit * 10**power for power in range(len(str(count))) for digit in (1, 2, 5))
    indices = range(0, count, 2) if count <= 2 * COLUMNS else (size - 1 for size in round_sizes)
    return sorted({index for index in indices if index < count} | {count - 1})


def curves_table(curves: Sequence[Curve], symbol: str) -> Table:
    """Return the curves as a table, one row per system, with at most `COLUMNS` points; the symbol is of the x-axis."""
    longest = max((curve.at for curve in curves), key=len, default=())
    indices = shown_points(len(longest))
    rows: list[tuple[Cell, ...]] = []
    for curve in curves:
        points = [curve.points[i] if i < len(curve.at) else Estimate(None) for i in indices]
        counts = [point.n or 0 for point in curve.points]
        most, least = max(counts), min(counts)
        prompts = number_cell(most, f"{most}" if most == least else f"{most}, {least} at the end")
        rows.append((curve.name, *(estimate_cell(p.value, p.low, p.high, 2) for p in points), prompts))
    return Table("", ("system", *(f"{symbol} = {longest[i]:g}" for i in indices), "prompts"), rows)


def curves_figure(
    curves: Sequence[Curve], x_title: str, y_title: str, *, systems: Sequence[str] = (), diagonal: bool = False
) -> Any:
    """Draw one line per system with its own colour, dash and symbol; the one that ends highest is first in the legend.

    A system looks the same in all figures of a page, whose systems are given, also where others have no curve.
    """
    graph = need("plotly.graph_objects", "board")
    traces = []
    longest = max((curve.at for curve in curves), key=len, default=())
    if diagonal and longest:
        ends, line = list(longest), {"color": GREY, "width": 1}
        traces.append(graph.Scatter(x=ends, y=ends, mode="lines", line=line, name="all distinct", hoverinfo="skip"))
    order = list(systems) or [curve.label for curve in curves]
    for curve in sorted(curves, key=lambda curve: -curve.end):
        i = order.index(curve.label)
        traces.append(
            graph.Scatter(
                x=list(curve.at),
                y=[point.value for point in curve.points],
                customdata=[interval(point.low, point.high, 3) for point in curve.points],
                mode="lines+markers",
                line={"color": LINES[i % COLOURS], "dash": DASHES[i % len(DASHES)], "width": 2},
                marker={"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 8},
                name=inert_name(curve.name, NAME),
                hovertemplate="%{x}: %{y:.3f} %{customdata}<extra></extra>",
            )
        )
    figure = wide_figure(traces, 480)
    has_few = diagonal and len(longest) <= 10  # numbers of responses, of which there are no halves
    figure.update_xaxes(title_text=x_title, zeroline=False, dtick=1 if has_few else None)
    figure.update_yaxes(title_text=y_title, rangemode="tozero", zeroline=False)
    return figure
