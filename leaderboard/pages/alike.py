"""Page Alike or different?: how similar systems' responses are, and how diverse two systems are together."""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import gradio as gr

from benchmark.analysis.across import Homogeneity
from benchmark.scoring.estimate import Estimate
from divbench.core.errors import InputError
from divbench.core.tables import Cell, Table, estimate_cell, number, with_interval
from leaderboard.app import components
from leaderboard.app.components import Choices
from leaderboard.app.permalinks import chosen, chosen_or_first, wire
from leaderboard.data.board import Board
from leaderboard.data.live_results import LiveResults
from leaderboard.pages import page_text
from leaderboard.pages.figures import heat_map, inert_name
from leaderboard.pages.systems import board_choices
from submissions.untrusted.plain_text import shortened

_LABELS = {"similarity": "embedding similarity", "same_class": "equivalence"}
_NAME = 40  # characters of an untrusted name


def about_alike(study: Homogeneity) -> str:
    """Summarise the similarity of the systems in a few sentences, which contain untrusted names."""
    names = [shortened(name, _NAME) for name in study.systems]
    closest = max(study.pairs, key=lambda pair: pair.similarity.value or 0.0)
    widest = max(study.pairs, key=lambda pair: pair.together.value or 0.0)
    best = max(range(len(names)), key=lambda i: study.alone[i].distinct.value or 0.0)
    within = [number(study.alone[i].similarity.value, 2) for i in (closest.first, closest.second)]
    return (
        f"{study.size} responses from one ranked system include {_text(study.of_one)} different valid responses; one "
        f"response from each of {study.size} ranked systems gives {_text(study.of_several)}. The pair that covers most "
        f"is {names[widest.first]} with {names[widest.second]}: {study.k / 2:g} responses from each include "
        f"{_text(widest.together)}; {study.k} responses from {names[best]}, the best single system, "
        f"{_text(study.alone[best].distinct)}. The most similar pair is {names[closest.first]} with "
        f"{names[closest.second]}: the similarity of their responses is {number(closest.similarity.value, 2)} "
        f"between the two systems, and {within[0]} and {within[1]} within each. "
        f"{study.prompts} prompts; intervals are 95%, by bootstrap over prompts."
    )


def _text(estimate: Estimate) -> str:
    return with_interval(estimate.value, estimate.low, estimate.high, 1)


def _cell(estimate: Estimate) -> Cell:
    return estimate_cell(estimate.value, estimate.low, estimate.high, 2)


def pairs_table(study: Homogeneity) -> Table:
    """Return all pairs of systems, one per row, the one that covers most first."""
    rows = [
        (
            study.systems[pair.first],
            study.systems[pair.second],
            *map(_cell, (pair.together, pair.gain, pair.similarity, pair.same_class, pair.in_common)),
        )
        for pair in sorted(study.pairs, key=lambda pair: -(pair.together.value or 0.0))
    ]
    numbers = ("together", "more than the better alone", "similarity", "equivalent", "classes in common")
    return Table("", ("first", "second", *numbers), rows)


def alone_table(study: Homogeneity) -> Table:
    """Return each system's number of different responses, their similarity, and the most similar system."""
    rows = []
    for index in study.order:
        pairs = (pair for pair in study.pairs if index in (pair.first, pair.second))
        near = max(pairs, key=lambda pair: pair.similarity.value or 0.0)
        other = study.systems[near.second if near.first == index else near.first]
        alone = study.alone[index]
        numbers = map(_cell, (alone.distinct, alone.similarity, alone.same_class))
        rows.append((study.systems[index], *numbers, other, _cell(near.similarity)))
    names = ("different valid responses", "similarity to its own", "equivalent to its own")
    return Table("", ("system", *names, "most alike", "similarity to those"), rows)


def alike_figure(study: Homogeneity, measure: str) -> Any:
    """Draw systems by systems in clustered order, coloured by the similarity of their responses."""
    matrix = study.matrix(measure)
    values = [[matrix[i][j] for j in study.order] for i in study.order]
    names = [inert_name(study.systems[i], 28) for i in study.order]
    texts = [["" if value is None else f"{value:.3f}".replace("-", "−") for value in row] for row in values]
    # Four characters do not fit on a phone.
    labels = [["" if value is None else f"{value:.2f}".replace("0.", ".") for value in row] for row in values]
    style = {"colorscale": "Blues", "text": labels, "texttemplate": "%{text}", "textfont": {"size": 11}}
    figure = heat_map(values, texts, names, names, **style)
    for i in range(len(names)):
        line = {"width": 2, "color": "#222"}
        figure.add_shape(type="rect", x0=i - 0.5, x1=i + 0.5, y0=i - 0.5, y1=i + 0.5, line=line)
    return figure


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page: the answer, the heat map, each system alone, all pairs."""
    gr.Markdown(page_text.ALIKE, elem_classes="lead")
    with gr.Row(equal_height=False):
        table = gr.Dropdown([], label="Table", elem_id="table", scale=2)
        measure = gr.Radio(
            [(label, name) for name, label in _LABELS.items()], value="similarity", label="Alike by", elem_id="measure"
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
    outputs = [note, plot, alone, pairs]
    wire(page, live, (table, measure), partial(_controls, live), partial(_shown, live), outputs, nothing=_nothing)


def _controls(live: LiveResults, choices: Choices) -> list[Any]:
    """Offer the boards for which the responses of all systems were grouped jointly."""
    boards: list[Board] = []
    for board in live.snapshot().boards:
        with suppress(InputError):  # its files no longer exist, which other pages report
            boards += [board] if live.scores(board).homogeneity is not None else []
    name = chosen_or_first(choices, "table", [board.name for board in boards])
    if name is None:
        return [components.no_choice(), gr.Radio(visible=False)]
    return [
        gr.Dropdown(board_choices(boards), value=name, info=components.missing_hint(choices, "table", name)),
        chosen(choices, "measure", list(_LABELS), "similarity"),
    ]


def _shown(live: LiveResults, choices: Mapping[str, Any]) -> list[Any]:
    board = next((board for board in live.snapshot().boards if board.name == choices["table"]), None)
    study = None if board is None else live.scores(board).homogeneity
    if study is None:
        return _nothing(page_text.NOT_ALIKE)
    measure = choices["measure"] if choices["measure"] in _LABELS else "similarity"
    return [
        about_alike(study),
        components.drawn(alike_figure(study, measure)),
        components.filled(alone_table(study)),
        components.filled(pairs_table(study)),
    ]


def _nothing(reason: str) -> list[Any]:
    return [reason, components.drawn(None), components.no_table(), components.no_table()]
