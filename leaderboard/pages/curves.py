"""Mean curves of systems: how many different valid responses to expect among m (rarefaction)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.metrics.partition import valid_distinct_curve
from benchmark.scoring.estimate import Estimate, Floats, bootstrap_means
from benchmark.scoring.per_prompt import CLASSES, INVALID
from divbench.core.errors import need
from divbench.core.tables import Cell, Table, estimate_cell, interval
from leaderboard.data.board import Board, Entry, ranking_column
from leaderboard.data.scores import read_columns
from leaderboard.pages.figures import COLOURS, DASHES, GREY, LINES, NAME, SYMBOLS, inert_name, wide_figure
from leaderboard.pages.systems import system_labels

_HEADLINE = "valid_distinct_k"
COLUMNS = 10  # maximum number of points of a curve in a table


@dataclass(frozen=True, slots=True)
class Curve:
    """A system's mean curve over prompts."""

    label: str
    points: tuple[Estimate, ...]  # mean among 1, 2, … responses, over the prompts with a headline

    @property
    def end(self) -> float:
        """The last mean."""
        return self.points[-1].value or 0.0


def distinct_curves(board: Board, indices: Iterable[int]) -> tuple[Curve, ...]:
    """Return rarefaction curves with intervals over prompts; the value at k is the headline.

    Systems without the headline by which the board is ranked have no curve: their validity was not judged, or was
    judged by another model.
    """
    labels, curves = system_labels(board), []
    for index in indices:
        values = _expected_classes(board, board.entries[index])
        if values.size:  # resampled as the scorer does, so the last point has the headline's interval
            curves.append(Curve(labels[index], tuple(bootstrap_means(values))))
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


def curves_table(curves: Sequence[Curve]) -> Table:
    """Return the curves as a table, one row per system, with at most `COLUMNS` points."""
    indices = shown_points(max((len(curve.points) for curve in curves), default=0))
    rows: list[tuple[Cell, ...]] = []
    for curve in curves:
        points = [curve.points[i] if i < len(curve.points) else Estimate(None) for i in indices]
        rows.append((curve.label, *(estimate_cell(p.value, p.low, p.high, 2) for p in points), curve.points[0].n or 0))
    return Table("", ("system", *(f"m = {i + 1}" for i in indices), "prompts"), rows)


def curves_figure(curves: Sequence[Curve]) -> Any:
    """Draw one line per system with its own colour, dash and symbol, the one that ends highest first in the legend."""
    graph = need("plotly.graph_objects", "board")
    sizes = list(range(1, max(len(curve.points) for curve in curves) + 1))
    line = {"color": GREY, "width": 1}
    traces = [graph.Scatter(x=sizes, y=sizes, mode="lines", line=line, name="all distinct", hoverinfo="skip")]
    for i, curve in enumerate(sorted(curves, key=lambda curve: -curve.end)):
        traces.append(
            graph.Scatter(
                x=sizes[: len(curve.points)],
                y=[point.value for point in curve.points],
                customdata=[interval(point.low, point.high, 3) for point in curve.points],
                mode="lines+markers",
                line={"color": LINES[i % COLOURS], "dash": DASHES[i % len(DASHES)], "width": 2},
                marker={"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 8},
                name=inert_name(curve.label, NAME),
                hovertemplate="%{x}: %{y:.3f} %{customdata}<extra></extra>",
            )
        )
    figure = wide_figure(traces, 480)
    figure.update_xaxes(title_text="responses m", zeroline=False, dtick=1 if len(sizes) <= 10 else None)
    figure.update_yaxes(title_text="expected different valid responses", rangemode="tozero", zeroline=False)
    return figure
