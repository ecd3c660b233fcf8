"""Page Diversity × quality: the Pareto front, and curves over the number of responses and the reader's patience."""

from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

from leaderboard.app import components
from leaderboard.app.asked import Asked
from leaderboard.app.downloads import Downloads
from leaderboard.app.permalinks import chosen, chosen_several, wire
from leaderboard.data.board import Board
from leaderboard.data.live_results import LiveResults
from leaderboard.data.sources import Snapshot
from leaderboard.figures.board_plots import system_curves_figure, tradeoff_figure
from leaderboard.tables import page_text
from leaderboard.tables.curves import Curve, curves_table, distinct_curves, patience_curves
from leaderboard.tables.systems import first_systems, places_of, system_ids, system_labels
from leaderboard.tables.tradeoff import about_tradeoff, default_axes, tradeoff, tradeoff_table

FIELDS = [("all but baselines", "systems"), ("all systems", "all")]
MOST_LINES = 12
_RANGE = "[95% interval]"


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page: two metrics of a board plotted against each other, and curves of chosen systems."""
    downloads = Downloads()
    gr.Markdown(page_text.TRADEOFF, elem_classes="lead")
    with gr.Row(equal_height=False):
        table = gr.Dropdown([], label="Table", elem_id="table", scale=2)
        x = gr.Dropdown([], label="x-axis: diversity", elem_id="x", scale=2)
        y = gr.Dropdown([], label="y-axis: quality", elem_id="y", scale=2)
        front = gr.Radio(FIELDS, value="systems", label="Pareto-eligible systems", elem_id="front", scale=1)
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
    classes = components.table(
        f"Expected different valid responses among m {_RANGE}", "classes", pinned_columns=1, wrap=True
    )
    patience = components.table(f"Utility by the reader's patience p {_RANGE}", "patience", pinned_columns=1, wrap=True)
    lacking = components.note("no-patience", text=page_text.NO_PATIENCE)
    outputs = [plot, note, shown, *taken, classes_plot, classes, patience_plot, patience, lacking]

    def show(given: Mapping[str, Any]) -> list[Any]:
        board = live.snapshot().board(given["table"])
        return _nothing(page_text.NO_RESULTS) if board is None else _shown(live, downloads, board, given)

    def restore(asked: Asked) -> list[Any]:
        return _controls(live.snapshot(), asked)

    wire(page, live, (table, x, y, front, systems), restore, show, outputs, nothing=_nothing, cascade=("table",))


def _controls(snapshot: Snapshot, asked: Asked) -> list[Any]:
    """Fill the controls with choices, and select those in the permalink if they are offered."""
    board = snapshot.board(asked.get("table"))
    axes = default_axes(board) if board else None
    if board is None or axes is None:
        nothing = components.no_choice
        return [nothing(), nothing(), nothing(), gr.Radio(visible=False), nothing()]
    labels = components.column_choices(board)
    offered = [label for _, label in labels]
    ids = system_ids(board)
    systems = list(zip(system_labels(board), ids, strict=True))
    drawn = [ids[place] for place in first_systems(board)]
    curved = chosen_several(asked, "systems", ids, drawn)[:MOST_LINES]
    if asked.changed == "table" and not curved:
        curved = drawn
    x, y = (chosen(asked, name, offered, axis.label) for name, axis in zip("xy", axes, strict=True))
    table = components.gone(asked, "table", board.name)
    return [
        gr.Dropdown(components.board_choices(snapshot.boards), value=board.name, info=table),
        gr.Dropdown(labels, value=x, info=components.gone(asked, "x", x)),
        gr.Dropdown(labels, value=y, info=components.gone(asked, "y", y)),
        chosen(asked, "front", [value for _, value in FIELDS], "systems"),
        gr.Dropdown(
            systems,
            value=curved,
            info=components.several_gone(asked, "systems", ids, MOST_LINES),
        ),
    ]


def _shown(live: LiveResults, downloads: Downloads, board: Board, given: Mapping[str, Any]) -> list[Any]:
    axes = default_axes(board)
    if axes is None:
        return _nothing(page_text.NO_RANKS)
    x, y = (board.column(given[name]) or default for name, default in zip("xy", axes, strict=True))
    if x is y:
        return _nothing(f"Both axes show {x.label}: choose two different metrics.")
    made = tradeoff(live.scores(board), x, y, baselines=given["front"] == "all")
    view = tradeoff_table(board, made)
    files = downloads.write(view.frame(), f"{board.name}-tradeoff")
    places = places_of(board, given["systems"] or ())[:MOST_LINES]
    names = [system_labels(board)[place] for place in places]
    expected = "expected different valid responses"
    return [
        components.drawn(tradeoff_figure(made)),
        about_tradeoff(board, made),
        components.filled(view),
        *components.files(files),
        *_curve_views(distinct_curves(board, places), names, "responses m", expected, "m"),
        *_curve_views(found := patience_curves(board, places), names, "patience p", "utility (0 to 10)", "p"),
        gr.Textbox(page_text.NO_PATIENCE, visible=not found),
    ]


def _curve_views(curves: Sequence[Curve], systems: Sequence[str], at: str, of: str, letter: str) -> list[Any]:
    """A figure and its table; both hidden if there is no curve."""
    if not curves:
        return [components.drawn(None), components.no_table()]
    figure = system_curves_figure(curves, at, of, systems=systems, diagonal=letter == "m")
    return [components.drawn(figure), components.filled_curves(curves_table(curves, letter))]


def _nothing(why: str) -> list[Any]:
    curves = [components.drawn(None), components.no_table()] * 2
    return [
        components.drawn(None),
        why,
        components.no_table(),
        *components.no_files(),
        *curves,
        gr.Textbox(visible=False),
    ]
