"""Page System: one system with its scores, its sampling, its neighbours, and where it is most and least diverse."""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import gradio as gr

from datasets_build.errors import DivBenchError
from leaderboard.app import components
from leaderboard.app.permalinks import chosen, wire
from leaderboard.data.board import REFERENCE_TYPES, Board, ranking_column
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import BoardScores
from leaderboard.data.sources import Snapshot
from leaderboard.figures.board_plots import system_curves_figure
from leaderboard.figures.response_plots import TINTS
from leaderboard.tables import page_text
from leaderboard.tables.about import divbench_citation
from leaderboard.tables.curves import curves_table, distinct_curves
from leaderboard.tables.forest import score_text
from leaderboard.tables.models import columns_of
from leaderboard.tables.prompts import find_entry, first_entry, system_choices
from leaderboard.tables.system_card import (
    Extreme,
    extremes,
    extremes_table,
    facts_table,
    nearest_systems,
    neighbours_table,
    system_scores,
)
from leaderboard.tables.systems import system_ids, system_labels

CHOICES = ("table", "system")
_RANKED = 10**5  # systems × prompts up to which all metrics of the overview are ranked: more take seconds
LINKS = ("Compare with the nearest system", "Read its responses")


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page."""
    with gr.Row(equal_height=False):
        table = gr.Dropdown([], label="Table", elem_id="table", scale=2)
        system = gr.Dropdown([], label="System", elem_id="system", scale=2)
    headline = components.headline()
    with gr.Row(elem_classes="downloads"):
        links = [gr.Button(label, size="sm", elem_id=f"link-{i}", scale=0) for i, label in enumerate(LINKS)]
    scores = components.table("All metrics: mean over prompts [95% interval]", "scores", height=560)
    with gr.Row(equal_height=False):
        with gr.Column(min_width=320):
            curve = components.figure("classes-plot", "Expected distinct responses among m")
        with gr.Column(min_width=320):
            facts = components.table("Sampling and provenance", "facts", height=560, wrap=True)
    numbers = components.table("Data of the figure", "curve-table", height=220, pinned_columns=1, wrap=True)
    most = components.table("Most diverse prompts", "most", height=640, wrap=True)
    least = components.table("Least diverse prompts", "least", height=640, wrap=True)
    near = components.table("Systems whose scores go up and down over the same prompts", "near", height=260)
    gr.Code(divbench_citation(), label="Cite", language=None, interactive=False, elem_id="cite")
    outputs = [headline, *links, scores, curve, numbers, facts, most, least, near]
    wire(
        page,
        live,
        dict(zip(CHOICES, (table, system), strict=True)),
        lambda asked: _controls(live.snapshot(), asked),
        lambda given: _shown(live, given),
        outputs,
        nothing=_nothing,
        cascade=("table",),
    )


def _controls(snapshot: Snapshot, asked: Mapping[str, str]) -> list[Any]:
    """The controls with their choices, set to what the permalink asks for if they offer it."""
    offered = components.board_choices(snapshot.boards)
    there = [name for _, name in offered]
    name = chosen(asked, "table", there, there[0] if there else None)
    board = snapshot.board(name)
    if board is None:
        return [components.no_choice() for _ in CHOICES]
    wanted = find_entry(board, asked.get("system"))
    entry = wanted or first_entry(board)
    return [
        gr.Dropdown(offered, value=name, info=components.gone(asked, "table", name)),
        gr.Dropdown(
            system_choices(board),
            value=system_ids(board)[board.entries.index(entry)],
            info=components.GONE if asked.get("system") and not wanted else "",
        ),
    ]


def _nothing(why: str) -> list[Any]:
    hidden = components.no_table()
    buttons = [gr.Button(visible=False) for _ in LINKS]
    return [why, *buttons, hidden, components.drawn(None), hidden, hidden, hidden, hidden, hidden]


def _shown(live: LiveResults, given: Mapping[str, Any]) -> list[Any]:
    """All outputs for a system.

    Raises:
        DivBenchError: It is gone, or its files are.
    """
    snapshot = live.snapshot()
    board = next((each for each in snapshot.boards if each.name == given["table"]), None)
    entry = None if board is None else find_entry(board, given["system"])
    if board is None or entry is None:
        why = "This system is gone; reload the page." if snapshot.boards else page_text.NO_RESULTS
        raise DivBenchError(why)
    place, scores, main = board.entries.index(entry), live.scores(board), ranking_column(board)
    if main is None:
        raise DivBenchError(page_text.NO_RANKS)
    values = scores.matrix(main)
    overview = columns_of(board, "overview", ())[0] if values.size <= _RANKED else ()
    standing = [(c, scores.standings(c)[place] if c in (main, *overview) else None) for c in board.columns]
    near = nearest_systems(values, place)
    people = [i for i, each in enumerate(board.entries) if each.result.manifest.system.type == REFERENCE_TYPES[0]]
    curves = distinct_curves(board, dict.fromkeys([place, *people[:1]]))
    ends = extremes(board, entry, scores.prompts, values[:, place], main.direction)
    return [
        _headline(board, scores, place),
        *_links(board, place, near[0][0] if near else None),
        components.filled(system_scores(board, place, standing)),
        components.drawn(system_curves_figure(curves, "m", "expected classes", diagonal=True) if curves else None),
        components.filled_curves(curves_table(curves, "m")) if curves else components.no_table(),
        components.filled(facts_table(board, place)),
        *(_extremes(each) for each in ends),
        components.filled(neighbours_table(board, near)) if near else components.no_table(),
    ]


def _headline(board: Board, scores: BoardScores, place: int) -> str:
    """Where a system stands, as plain text: its name is untrusted."""
    main = ranking_column(board)
    label = system_labels(board)[place]
    if main is None:
        return label
    stands = scores.standings(main)[place]
    ranked = sum(each.rank is not None for each in scores.standings(main))
    cell = board.entries[place].cells.get(main.signature)
    value = None if cell is None else cell.value
    between = "" if stands.low is None else f" (95% interval {stands.low}–{stands.high})"
    rank = f"rank {stands.rank}{between} of {ranked}" if stands.rank else "a reference, not ranked"
    return f"{label}: {score_text(main, board.k, value)}; {rank} on {board.suite}, {board.terms}."


def _links(board: Board, place: int, other: int | None) -> list[Any]:
    ids = system_ids(board)
    compare = {} if other is None else {"table": board.name, "systems": f"{ids[place]},{ids[other]}"}
    return [
        gr.Button(link=f"compare?{urlencode(compare)}" if compare else None, visible=bool(compare)),
        gr.Button(link=f"explore?{urlencode({'table': board.name, 'system': ids[place]})}", visible=True),
    ]


def _extremes(found: tuple[Extreme, ...]) -> Any:
    """The prompts at one end, equivalent responses in the colour of their class; hidden if there are none."""
    if not found:
        return components.no_table()
    view, tints = extremes_table(found), []
    for each in found:
        shared = [group for group, size in sorted(Counter(each.groups).items(), key=str) if size > 1]
        colours = {group: f"background: {TINTS[i % len(TINTS)]}" for i, group in enumerate(shared)}
        tints += ["" if group is None else colours.get(group, "") for group in each.groups]
    return components.filled(view, styling=[[tint] * len(view.headers) for tint in tints])
