"""Page: diversity against quality, and what to expect of more answers and of more patience."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import gradio as gr

from datasets_build.errors import DivBenchError
from leaderboard.board import Board, Column
from leaderboard.downloads import Downloads
from leaderboard.figures.board_plots import system_curves_figure, tradeoff_figure
from leaderboard.links import chosen, chosen_several, wire
from leaderboard.site import Site, Snapshot
from leaderboard.tables.curves import Curve, curves_sheet, distinct_curves, patience_curves
from leaderboard.tables.sheets import Sheet
from leaderboard.tables.systems import first_systems, places_of, system_ids, system_labels
from leaderboard.tables.tradeoff import about_tradeoff, default_axes, tradeoff, tradeoff_sheet

LEAD = """Diversity is easy to have alone: noise is diverse. What is hard is **different answers that are good**. Each
system stands here with both; whiskers are 95% intervals over prompts. The dashed line is the Pareto front: systems
that no other one beats on both."""
CURVES = """### More answers, more patience

How many different answers to expect of m (rarefaction; what counts as the same is told on the page Metrics), and how
useful they are to a reader who asks on with probability p (NoveltyBench's utility: 0 wants the first answer alone, 1
reads all)."""
NONE_YET = "There are no results yet. `divbench score SUBMISSION --out RESULTS` makes one; the page Submit takes one."
NO_METRIC = "This table has no metric with a value."
NO_QUALITY = (
    "There is no curve of patience: none of these systems has answers whose quality a reward model judged here. "
    "Values that came with a submission are means for one patience, 0.8, and make no curve."
)
FIELDS = [("all but baselines", "systems"), ("everything", "all")]
MOST_LINES = 12
_remembered = lru_cache(maxsize=8)(tradeoff)  # another choice of curves is no reason to draw a thousand resamples again
CHOICES = ("table", "x", "y", "front", "systems")


def build(page: gr.Blocks, site: Site) -> None:
    """Two metrics of a board against each other, and curves of chosen systems."""
    downloads = Downloads()
    gr.Markdown(LEAD, elem_classes="lead")
    with gr.Row(equal_height=False):
        table = gr.Dropdown([], label="Table", elem_id="table", scale=2)
        x = gr.Dropdown([], label="Across: diversity", elem_id="x", scale=2)
        y = gr.Dropdown([], label="Up: quality", elem_id="y", scale=2)
        front = gr.Radio(FIELDS, value="systems", label="Who can be on the front", elem_id="front", scale=1)
    plot = gr.Plot(show_label=False, elem_id="tradeoff")
    note = gr.Textbox("", show_label=False, container=False, interactive=False, lines=3, elem_id="note")
    shown = _table("The figure in numbers: mean over prompts [95% interval]", "points")
    with gr.Row(elem_classes="downloads"):
        csv = gr.DownloadButton("Download this table as CSV", size="sm", elem_id="csv")
        parquet = gr.DownloadButton("as Parquet", size="sm", elem_id="parquet")
    gr.Markdown(CURVES)
    systems = gr.Dropdown([], multiselect=True, max_choices=MOST_LINES, label="Systems to draw", elem_id="systems")
    with gr.Row(equal_height=False):
        with gr.Column(min_width=320):
            classes_plot = gr.Plot(show_label=False, elem_id="classes-plot")
            classes = _table("Different answers to expect of m answers [95% interval]", "classes")
        with gr.Column(min_width=320):
            patience_plot = gr.Plot(show_label=False, elem_id="patience-plot")
            patience = _table("Utility by the reader's patience p [95% interval]", "patience")
            lacking = gr.Textbox(
                NO_QUALITY, show_label=False, container=False, interactive=False, lines=3, elem_id="no-patience"
            )
    controls = dict(zip(CHOICES, (table, x, y, front, systems), strict=True))
    outputs = [plot, note, shown, csv, parquet, classes_plot, classes, patience_plot, patience, lacking]

    def restore(asked: Mapping[str, str]) -> list[Any]:
        return _controls(site.now(), asked)

    def show(*values: Any) -> list[Any]:
        given = dict(zip(CHOICES, values, strict=True))
        board = site.now().board(given["table"])
        try:
            return _nothing(NONE_YET) if board is None else _shown(site, downloads, board, given)
        except DivBenchError as error:
            return _nothing(" ".join(str(error).split()))

    wire(page, controls, restore, show, outputs, cascade=("table",))


def _table(label: str, name: str) -> Any:
    return gr.Dataframe(
        interactive=False,
        pinned_columns=1,
        max_height=520,
        buttons=["fullscreen", "copy"],
        label=label,
        show_label=True,
        elem_id=name,
    )


def _controls(snapshot: Snapshot, asked: Mapping[str, str]) -> list[Any]:
    """The controls with what they offer, set to what is asked for where they offer it."""
    tables = [(board_label(board), board.name) for board in snapshot.boards]
    names = [name for _, name in tables]
    table = chosen(asked, "table", names, names[0] if names else None)
    board = snapshot.board(table)
    axes = default_axes(board) if board else None
    labels = [(f"{column.label}: {column.title}", column.label) for column in board.columns] if board else []
    offered = [label for _, label in labels]
    ids = system_ids(board) if board else ()
    systems = list(zip(system_labels(board), ids, strict=True)) if board else []
    drawn = [ids[place] for place in first_systems(board)] if board else []
    return [
        gr.Dropdown(tables, value=table),
        gr.Dropdown(labels, value=chosen(asked, "x", offered, axes[0].label if axes else None)),
        gr.Dropdown(labels, value=chosen(asked, "y", offered, axes[1].label if axes else None)),
        chosen(asked, "front", [value for _, value in FIELDS], "systems"),
        gr.Dropdown(systems, value=chosen_several(asked, "systems", ids, drawn)[:MOST_LINES]),
    ]


def board_label(board: Board) -> str:
    """A table as it is called where one is chosen."""
    return f"{board.suite}: k = {board.k}, {board.profile}, revision {board.revision[:6]}"


def _shown(site: Site, downloads: Downloads, board: Board, given: Mapping[str, Any]) -> list[Any]:
    axes = default_axes(board)
    if axes is None:
        return _nothing(NO_METRIC)
    x, y = (_column(board, given[name], default) for name, default in zip("xy", axes, strict=True))
    made = _remembered(site.scores(board), x, y, baselines=given["front"] == "all")
    sheet = tradeoff_sheet(board, made)
    files = downloads.write(sheet.frame(), f"{board.name}-tradeoff")
    places = places_of(board, given["systems"] or ())[:MOST_LINES]
    return [
        gr.Plot(tradeoff_figure(made), visible=True),
        about_tradeoff(board, made),
        frame_of(sheet),
        *(gr.DownloadButton(value=str(file), visible=True) for file in files),
        *_curve_views(distinct_curves(board, places), "answers m", "different answers expected", "m"),
        *_curve_views(found := patience_curves(board, places), "patience p", "utility, 0 to 10", "p"),
        gr.Textbox(NO_QUALITY, visible=not found),
    ]


def _curve_views(curves: Sequence[Curve], at: str, of: str, letter: str) -> list[Any]:
    """A figure and its table; both away where there is no curve."""
    if not curves:
        return [gr.Plot(visible=False), gr.Dataframe(visible=False)]
    figure = system_curves_figure(curves, at, of, diagonal=letter == "m")
    return [gr.Plot(figure, visible=True), frame_of(curves_sheet(curves, letter))]


def _column(board: Board, label: str | None, default: Column) -> Column:
    return next((column for column in board.columns if column.label == label), default)


def frame_of(sheet: Sheet) -> Any:
    """A table of the page, filled."""
    kinds: Any = list(sheet.kinds)
    return gr.Dataframe(value=sheet.value(), datatype=kinds, column_widths=sheet.widths(), visible=True)


def _nothing(why: str) -> list[Any]:
    hidden = [gr.DownloadButton(visible=False)] * 2
    views = [gr.Plot(visible=False), gr.Dataframe(visible=False)] * 2
    return [gr.Plot(visible=False), why, gr.Dataframe(visible=False), *hidden, *views, gr.Textbox(visible=False)]
