"""Page Diversity × quality: the Pareto front, and curves over the number of responses and the reader's patience."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr
import numpy as np
from numpy.typing import NDArray

from benchmark.scoring.estimate import FLOAT32_ROUNDING, Estimate, Floats
from divbench.core.errors import need
from divbench.core.tables import Table, listed
from leaderboard.app import components
from leaderboard.app.components import Choices
from leaderboard.app.downloads import Downloads
from leaderboard.app.permalinks import chosen, chosen_several, wire
from leaderboard.data.board import Board, Column
from leaderboard.data.live_results import LiveResults
from leaderboard.pages import page_text
from leaderboard.pages.curves import Curve, curves_figure, curves_table, distinct_curves, patience_curves
from leaderboard.pages.figures import GREY, Point, axis_title, systems_figure
from leaderboard.pages.systems import (
    better_end,
    board_choices,
    column_choices,
    first_systems,
    heading,
    indices_of,
    score_cells,
    system_choices,
    system_ids,
    system_labels,
)

# The first metric that a board has is the default axis. Neither utility_k, which includes diversity, nor coherence,
# which depends on the language model, is a default.
DIVERSITY_AXES = (
    *("valid_distinct_k", "distinct_k", "embedding_diversity", "valid_distinct_k_reported", "distinct_k_reported"),
    "distinct_n",
)
QUALITY_AXES = ("mean_head_quality", "mean_head_quality_reported", "estimated_quality", "valid_share", "first_quality")
MOST_LINES = 12
_MOST_NAMED = 20  # maximum number of systems on the front that the caption names
_ELIGIBLE = [("all but baselines and base models", "systems"), ("all systems", "all")]
_WIDTHS = (850.0, 1100.0)  # plot widths in pixels on which no names overlap
_RANGE = "[95% interval]"


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """Systems on two axes."""

    x: Column
    y: Column
    # Systems with a value on both axes: points on the front first, then the others, then those that are not eligible,
    # each in the board's order.
    points: tuple[Point, ...]
    absent: tuple[str, ...]  # labels of the other systems
    has_front: bool  # whether there is a front, which needs a direction on both axes
    baselines: bool  # whether known-bad baselines are Pareto-eligible


def default_axes(board: Board) -> tuple[Column, Column] | None:
    """Return a diversity and a quality metric, or other metrics if the board lacks them; None without metrics."""
    if not board.columns:
        return None
    x = _first(board, DIVERSITY_AXES) or board.columns[0]
    others = [column for column in board.columns if column is not x]
    return x, _first(board, QUALITY_AXES) or (others[0] if others else x)


def _first(board: Board, metrics: Sequence[str]) -> Column | None:
    columns = [column for column in board.columns if column.metric in metrics]
    return min(columns, key=lambda column: metrics.index(column.metric), default=None)


def tradeoff(board: Board, x: Column, y: Column, *, baselines: bool = False) -> Tradeoff:
    """Return the systems of a board on two metrics, and the Pareto front of their means."""
    types = [entry.result.manifest.system.type for entry in board.entries]
    labels = system_labels(board)
    cells = [[entry.cells.get(column.signature) for entry in board.entries] for column in (x, y)]
    means = np.array([[np.nan if c is None or c.value is None else c.value for c in row] for row in cells], np.float64)
    valid: NDArray[np.bool_] = np.asarray(np.isfinite(means).all(axis=0))
    ends = better_end(x), better_end(y)
    has_front = 0 not in ends and bool(valid.any())
    eligible = valid & np.array([baselines or kind not in ("baseline", "base model") for kind in types], np.bool_)
    on_front = np.zeros(len(types), bool)
    if has_front and eligible.any():
        on_front[eligible] = pareto(ends[0] * means[0, eligible], ends[1] * means[1, eligible])

    def estimate(axis: int, index: int) -> Estimate:
        cell = cells[axis][index]
        return Estimate(None) if cell is None else Estimate(cell.value, cell.low, cell.high)

    points = [
        Point(
            index,
            labels[index],
            types[index],
            estimate(0, index),
            estimate(1, index),
            bool(on_front[index]) if has_front and eligible[index] else None,
        )
        for index in np.flatnonzero(valid).tolist()
    ]
    points.sort(key=lambda point: ((True, False, None).index(point.on_front), point.index))
    absent = tuple(label for label, is_valid in zip(labels, valid.tolist(), strict=True) if not is_valid)
    return Tradeoff(x, y, tuple(points), absent, has_front, baselines)


def pareto(x: Floats, y: Floats) -> NDArray[np.bool_]:
    """Whether each system [systems] is on the Pareto front: no other is as good on both axes and better on one.

    Higher values are better; equal up to floating-point errors counts as equal.
    """
    first, second = (np.round(axis / ((np.abs(axis).max() or 1.0) * FLOAT32_ROUNDING)) for axis in (x, y))
    as_good = (first[:, None] >= first) & (second[:, None] >= second)  # [better, worse]
    better = (first[:, None] > first) | (second[:, None] > second)
    return np.asarray(~(as_good & better).any(axis=0), np.bool_)


def tradeoff_table(board: Board, view: Tradeoff) -> Table:
    """Return the systems as a table."""
    cells = [score_cells(board, column) for column in (view.x, view.y)]
    words = {True: "yes", False: "no", None: "not eligible"}
    rows = [
        (point.label, cells[0][point.index], cells[1][point.index], point.type, words[point.on_front])
        for point in view.points
    ]
    return Table("", ("system", heading(view.x), heading(view.y), "type", "on front"), rows)


def about_tradeoff(board: Board, view: Tradeoff) -> str:
    """Describe the table and the figure."""
    lines = []
    if _first(board, QUALITY_AXES) is None:
        lines.append(
            "This table has no quality metric, because its profile has neither a reward model nor a language model. "
            "Two diversity metrics are shown."
        )
    unclear = [column.label for column in (view.x, view.y) if better_end(column) == 0]
    if unclear:
        lines.append(f"There is no front, since no direction is defined for {' and '.join(dict.fromkeys(unclear))}.")
    elif view.has_front:
        on_front = [point.label for point in view.points if point.on_front]
        lines += [
            "On the Pareto front, where no other system is as good on both axes and better on one: "
            f"{listed(on_front, _MOST_NAMED)}."
            if on_front
            else "No system is on the front: all systems with both values are known-bad baselines.",
            "The front is of means, which leave one of two equal systems off it by chance.",
            "Known-bad baselines are eligible."
            if view.baselines
            else "Known-bad baselines are shown but not eligible: noise is diverse, too.",
        ]
    if view.absent:
        lines.append(f"{len(view.absent)} of {len(board.entries)} systems do not have a value on both axes.")
    return " ".join(lines)


def tradeoff_figure(view: Tradeoff) -> Any:
    """Draw the systems on two metrics with 95% intervals, and the Pareto front as a line."""
    graph = need("plotly.graph_objects", "board")
    front = sorted(point.at for point in view.points if point.on_front)
    traces = []
    if front:
        # Steps: the region that a system dominates ends at the worse corner between it and the next.
        line = {"color": GREY, "width": 2, "dash": "dash", "shape": "vh" if better_end(view.x) > 0 else "hv"}
        x, y = map(list, zip(*front, strict=True))
        traces = [graph.Scatter(x=x, y=y, mode="lines", line=line, name="Pareto front", hoverinfo="skip")]

    def description(point: Point) -> str:
        words = {True: "on the front", False: "not on the front", None: "not eligible for the front"}
        return words[point.on_front]

    return systems_figure(view.points, (axis_title(view.x), axis_title(view.y)), _WIDTHS, description, traces)


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page: two metrics of a board plotted against each other, and curves of chosen systems."""
    downloads = Downloads()
    gr.Markdown(page_text.TRADEOFF, elem_classes="lead")
    with gr.Row(equal_height=False):
        table = gr.Dropdown([], label="Table", elem_id="table", scale=2)
        x = gr.Dropdown([], label="x-axis: diversity", elem_id="x", scale=2)
        y = gr.Dropdown([], label="y-axis: quality", elem_id="y", scale=2)
        front = gr.Radio(_ELIGIBLE, value="systems", label="Pareto-eligible systems", elem_id="front", scale=1)
    plot = components.figure("tradeoff")
    note = components.note("note")
    shown = components.table("Data of the figure: mean over prompts [95% interval]", "points", pinned_columns=1)
    taken = components.downloads()
    gr.Markdown(f"## More responses, more patience\n\n{page_text.CURVES}")
    systems = gr.Dropdown(
        [], multiselect=True, max_choices=MOST_LINES, label="Systems in the curves", elem_id="systems"
    )
    with gr.Row(equal_height=False):
        with gr.Column(min_width=320):
            classes_plot = components.figure("classes-plot")
        with gr.Column(min_width=320):
            patience_plot = components.figure("patience-plot")
    classes = components.table(f"Expected different valid responses among m {_RANGE}", "classes", pinned_columns=1)
    patience = components.table(f"Utility by the reader's patience p {_RANGE}", "patience", pinned_columns=1)
    lacking = components.note("no-patience", text=page_text.NO_PATIENCE)
    wire(
        page,
        live,
        (table, x, y, front, systems),
        partial(_controls, live),
        partial(_shown, live, downloads),
        [plot, note, shown, *taken, classes_plot, classes, patience_plot, patience, lacking],
        nothing=_nothing,
        cascade=("table",),
    )


def _controls(live: LiveResults, choices: Choices) -> list[Any]:
    """Fill the controls with choices, and select those in the permalink if they are offered."""
    snapshot = live.snapshot()
    board = snapshot.board(choices.get("table"))
    axes = default_axes(board) if board else None
    if board is None or axes is None:
        nothing = components.no_choice
        return [nothing(), nothing(), nothing(), gr.Radio(visible=False), nothing()]
    labels = column_choices(board)
    ids = system_ids(board)
    first = [ids[index] for index in first_systems(board)]
    curved = chosen_several(choices, "systems", ids, first)[:MOST_LINES]
    if choices.changed == "table" and not curved:
        curved = first
    x, y = (
        chosen(choices, name, [label for _, label in labels], axis.label) for name, axis in zip("xy", axes, strict=True)
    )
    hint = partial(components.missing_hint, choices)
    return [
        gr.Dropdown(board_choices(snapshot.boards), value=board.name, info=hint("table", board.name)),
        gr.Dropdown(labels, value=x, info=hint("x", x)),
        gr.Dropdown(labels, value=y, info=hint("y", y)),
        chosen(choices, "front", [value for _, value in _ELIGIBLE], "systems"),
        gr.Dropdown(
            system_choices(board),
            value=curved,
            info=components.several_missing_hint(choices, "systems", ids, MOST_LINES),
        ),
    ]


def _shown(live: LiveResults, downloads: Downloads, choices: Mapping[str, Any]) -> list[Any]:
    board = live.snapshot().board(choices["table"])
    if board is None:
        return _nothing(page_text.NO_RESULTS)
    axes = default_axes(board)
    if axes is None:
        return _nothing(page_text.NO_RANKS)
    x, y = (board.column(choices[name]) or default for name, default in zip("xy", axes, strict=True))
    if x is y:
        return _nothing(f"Both axes show {x.label}: choose two different metrics.")
    view = tradeoff(board, x, y, baselines=choices["front"] == "all")
    table = tradeoff_table(board, view)
    indices = indices_of(board, choices["systems"] or ())[:MOST_LINES]
    names = [system_labels(board)[index] for index in indices]
    utilities = patience_curves(board, indices)
    return [
        components.drawn(tradeoff_figure(view)),
        about_tradeoff(board, view),
        components.filled(table, label=f"Mean over prompts [95% interval], k = {board.k}"),
        *components.files(downloads.write(table.frame(), f"{board.name}-tradeoff")),
        *_curve_views(distinct_curves(board, indices), names, "responses m", "expected different valid responses"),
        *_curve_views(utilities, names, "patience p", "utility (0 to 10)"),
        gr.Textbox(page_text.NO_PATIENCE, visible=not utilities),
    ]


def _curve_views(curves: Sequence[Curve], systems: Sequence[str], x_title: str, y_title: str) -> list[Any]:
    """Return a figure and its table; both hidden if there is no curve."""
    if not curves:
        return [components.drawn(None), components.no_table()]
    symbol = x_title.rsplit(maxsplit=1)[-1]
    figure = curves_figure(curves, x_title, y_title, systems=systems, diagonal=symbol == "m")
    return [components.drawn(figure), components.filled_curves(curves_table(curves, symbol))]


def _nothing(reason: str) -> list[Any]:
    curves = [components.drawn(None), components.no_table()] * 2
    hidden = [components.no_table(), *components.no_files()]
    return [components.drawn(None), reason, *hidden, *curves, gr.Textbox(visible=False)]
