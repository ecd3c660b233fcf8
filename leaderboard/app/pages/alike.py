"""Page Alike or different?: how similar systems' responses are, and how diverse two systems are together."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import gradio as gr

from divbench.core.errors import InputError
from leaderboard.app import components
from leaderboard.app.asked import Asked
from leaderboard.app.permalinks import chosen, chosen_or_first, wire
from leaderboard.data.board import Board
from leaderboard.data.live_results import LiveResults
from leaderboard.figures.heat_maps import alike_map
from leaderboard.tables import page_text
from leaderboard.tables.alike import MEASURES, about_alike, alone_table, pairs_table

_LABELS = {"similarity": "embedding similarity", "same_class": "equivalence"}


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page: the answer, the heat map, each system alone, all pairs."""
    gr.Markdown(page_text.ALIKE, elem_classes="lead")
    with gr.Row(equal_height=False):
        table = gr.Dropdown([], label="Table", elem_id="table", scale=2)
        measure = gr.Radio(
            [(_LABELS[name], name) for name in MEASURES], value="similarity", label="Alike by", elem_id="measure"
        )
    note = components.note("note", 4)
    with gr.Row(equal_height=False):
        with gr.Column(min_width=320):
            plot = components.figure("alike-plot")
        with gr.Column(min_width=320):
            alone = components.table("Each system alone: mean over prompts [95% interval]", "alone", height=480)
    pairs = components.table("Two systems combined, with half of the responses from each", "pairs", height=620)
    with gr.Accordion("How this is computed", open=False):
        gr.Markdown(page_text.ALIKE_METHOD)
    wire(
        page,
        live,
        (table, measure),
        lambda asked: _controls(live, asked),
        lambda given: _shown(live, given),
        [note, plot, alone, pairs],
        nothing=_nothing,
    )


def _boards(live: LiveResults) -> list[Board]:
    """The boards for which the responses of all systems were grouped jointly."""
    found = []
    for board in live.snapshot().boards:
        with suppress(InputError):  # its files no longer exist, which other pages report
            if live.scores(board).homogeneity is not None:
                found.append(board)
    return found


def _controls(live: LiveResults, asked: Asked) -> list[Any]:
    """Fill the controls with choices, and select those in the permalink if they are offered."""
    offered = components.board_choices(_boards(live))
    table = chosen_or_first(asked, "table", [name for _, name in offered])
    if table is None:
        return [components.no_choice(), gr.Radio(visible=False)]
    return [
        gr.Dropdown(offered, value=table, info=components.gone(asked, "table", table)),
        chosen(asked, "measure", list(MEASURES), "similarity"),
    ]


def _shown(live: LiveResults, given: Mapping[str, Any]) -> list[Any]:
    """All outputs for some choices."""
    board = next((each for each in live.snapshot().boards if each.name == given["table"]), None)
    found = None if board is None else live.scores(board).homogeneity
    if found is None:
        return _nothing(page_text.NOT_ALIKE)
    measure = given["measure"] if given["measure"] in MEASURES else "similarity"
    return [
        about_alike(found),
        components.drawn(alike_map(found, measure, MEASURES[measure].capitalize())),
        components.filled(alone_table(found)),
        components.filled(pairs_table(found)),
    ]


def _nothing(why: str) -> list[Any]:
    return [why, components.drawn(None), components.no_table(), components.no_table()]
