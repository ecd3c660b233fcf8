"""Page: systems by metrics, with intervals, ranks and tie groups."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from datasets_build.errors import DivBenchError
from leaderboard.board import Board, Column, ranking_column
from leaderboard.downloads import Downloads
from leaderboard.links import chosen, chosen_several, wire
from leaderboard.site import Site, Snapshot
from leaderboard.tables.models import (
    ANY,
    OWN,
    PRESETS,
    SIZES,
    Filter,
    ModelsTable,
    columns_of,
    facets,
    models_table,
)

LEAD = """How diverse are the answers of a language model? Means over the prompts of a suite, with 95% intervals.
**Systems that share a letter behind their rank are not told apart.** Noise is diverse, too: known-bad baselines and
people stand among the systems, for calibration."""
NO_VALUES = "No metric has a value for any system of this table."
NONE_YET = "There are no results yet. `divbench score SUBMISSION --out RESULTS` makes one; the page Submit takes one."
FEW, ALL = "the first 250", "all"
MOST = 250  # rows that a browser shows at once without effort
CHOICES = (
    *("suite", "table", "rank", "show", "columns", "rows", "q"),
    *("types", "modes", "weights", "size", "licence", "since"),
)


def build(page: gr.Blocks, site: Site) -> None:
    """A board at a time, with facets, search, presets of columns and downloads."""
    downloads = Downloads()
    gr.Markdown(LEAD, elem_classes="lead")
    suite = gr.Radio([], label="Suite of prompts", elem_classes="tabs-radio", elem_id="suite")
    with gr.Row(equal_height=False):
        table = gr.Dropdown(
            [], label="Responses a prompt (k), profile and revision", elem_id="table", min_width=220, scale=2
        )
        rank = gr.Dropdown([], label="Rank by", elem_id="rank", min_width=220, scale=2)
        preset = gr.Dropdown([*PRESETS, OWN], value="overview", label="Columns", elem_id="show", min_width=130, scale=1)
        query = gr.Textbox(
            label="Search", placeholder="name, model, submitter", elem_id="q", min_width=130, scale=2, max_length=200
        )
    own = gr.Dropdown([], multiselect=True, label="Columns of your own choice", visible=False, elem_id="columns")
    many = gr.Radio([FEW, ALL], value=FEW, label="Rows", visible=False, elem_id="rows")
    with gr.Accordion("Filter systems", open=False, elem_id="filters"), gr.Row(equal_height=False):
        types = gr.Dropdown([], multiselect=True, label="Type", elem_id="types")
        modes = gr.Dropdown([], multiselect=True, label="Sampling mode", elem_id="modes")
        weights = gr.Dropdown([ANY, "open", "closed"], value=ANY, label="Weights", elem_id="weights")
        size = gr.Dropdown([ANY, *SIZES], value=ANY, label="Parameters, at most", elem_id="size")
        licence = gr.Dropdown([ANY], value=ANY, label="Licence", elem_id="licence")
        since = gr.Textbox(label="Answered since", placeholder="YYYY-MM-DD", elem_id="since", max_length=10)
    shown = gr.Dataframe(
        interactive=False,
        pinned_columns=1,
        max_height=720,
        buttons=["fullscreen", "copy"],
        label="Mean over prompts [95% interval]",
        show_label=True,
        elem_id="systems",
    )
    with gr.Row(elem_classes="downloads"):
        csv = gr.DownloadButton("Download this table as CSV", size="sm", elem_id="csv", scale=0, min_width=240)
        parquet = gr.DownloadButton("as Parquet", size="sm", elem_id="parquet", scale=0, min_width=120)
    note = gr.Textbox("", show_label=False, container=False, interactive=False, lines=3, elem_id="note")
    controls = dict(
        zip(
            CHOICES,
            (suite, table, rank, preset, own, many, query, types, modes, weights, size, licence, since),
            strict=True,
        )
    )

    def restore(asked: Mapping[str, str]) -> list[Any]:
        return _controls(site.now(), asked)

    def show(*values: Any) -> list[Any]:
        snapshot = site.now()
        given = dict(zip(CHOICES, values, strict=True))
        board = snapshot.board(given["table"])
        if board is None:
            return _nothing(NONE_YET)
        try:
            made = table_of(site, board, given)
        except DivBenchError as error:
            return _nothing(" ".join(str(error).split()))
        if made is None:
            return _nothing(NO_VALUES)
        files = downloads.write(made.frame(), f"{board.name}-{given['show']}")
        buttons = (gr.DownloadButton(value=str(file), visible=True) for file in files)
        most = None if given["rows"] == ALL else MOST
        return [_component(made, most), *buttons, about(board, made, most)]

    outputs = [shown, csv, parquet, note]
    # Another suite or table has other systems, metrics and facets: the choices that it does not offer are dropped.
    wire(page, controls, restore, show, outputs, cascade=("suite", "table", "show"))


def _nothing(why: str) -> list[Any]:
    hidden = [gr.DownloadButton(visible=False)] * 2
    return [gr.Dataframe(value=None, visible=False), *hidden, why]


def table_of(site: Site, board: Board, given: Mapping[str, Any]) -> ModelsTable | None:
    """The table for some choices; None where no metric has a value.

    Raises:
        InputError: The files of a result are gone.
    """
    ranked_by = _column(board, given["rank"])
    if ranked_by is None:
        return None
    scores = site.scores(board)
    columns, beside = columns_of(board, given["show"], given["columns"] or ())
    keep = Filter(
        text=given["q"] or "",
        types=tuple(given["types"] or ()),
        modes=tuple(given["modes"] or ()),
        weights=given["weights"] or ANY,
        size=given["size"] or ANY,
        licence=given["licence"] or ANY,
        since=given["since"] or "",
    )
    return models_table(board, ranked_by, scores.standings(ranked_by), columns, beside, keep, scores.bytes_a_response)


def _column(board: Board, label: str | None) -> Column | None:
    """The column of a label; the one that ranks where the board has none of it."""
    return next((column for column in board.columns if column.label == label), ranking_column(board))


def _controls(snapshot: Snapshot, asked: Mapping[str, str]) -> list[Any]:
    """The controls with what they offer, set to what is asked for where they offer it."""
    boards = snapshot.boards
    suites = list(dict.fromkeys(board.suite for board in boards))
    named = next((board for board in boards if board.name == asked.get("table")), None)
    suite = chosen(asked, "suite", suites, named.suite if named else suites[0] if suites else None)
    offered = [(f"k = {b.k}, {b.profile}, revision {b.revision[:6]}", b.name) for b in boards if b.suite == suite]
    there = [name for _, name in offered]
    table = chosen(asked, "table", there, there[0] if there else None)
    board = snapshot.board(table)
    labels = [(f"{column.label}: {column.title}", column.label) for column in board.columns] if board else []
    names = [label for _, label in labels]
    known = facets(board) if board else {"types": [], "modes": [], "licences": []}
    systems = len(board.entries) if board else 0
    preset = chosen(asked, "show", [*PRESETS, OWN], "overview")
    main = ranking_column(board) if board else None
    return [
        gr.Radio(suites, value=suite),
        gr.Dropdown(offered, value=table),
        gr.Dropdown(labels, value=chosen(asked, "rank", names, main.label if main else None)),
        preset,
        gr.Dropdown(labels, value=chosen_several(asked, "columns", names, names[:5]), visible=preset == OWN),
        gr.Radio([FEW, ALL], value=chosen(asked, "rows", [ALL], FEW), visible=systems > MOST),
        asked.get("q", "")[:200],
        gr.Dropdown(known["types"], value=chosen_several(asked, "types", known["types"], [])),
        gr.Dropdown(known["modes"], value=chosen_several(asked, "modes", known["modes"], [])),
        chosen(asked, "weights", ["open", "closed"], ANY),
        chosen(asked, "size", list(SIZES), ANY),
        gr.Dropdown([ANY, *known["licences"]], value=chosen(asked, "licence", known["licences"], ANY)),
        asked.get("since", "")[:10],
    ]


def _component(made: ModelsTable, most: int | None) -> Any:
    """The table with its first rows; all of them stand in the downloads."""
    made = replace(made, values=made.values[:most], shown=made.shown[:most], entries=made.entries[:most])
    value = made.value()
    value["metadata"]["styling"] = _styling(made)
    kinds: Any = list(made.kinds)
    return gr.Dataframe(value=value, datatype=kinds, column_widths=made.widths(), visible=True)


def _styling(made: ModelsTable) -> list[list[str]]:
    """People and known-bad systems stand out, by colour and by their type in words."""
    marks = {"human": "background: rgba(0, 158, 115, 0.13)", "baseline": "background: rgba(230, 159, 0, 0.15)"}
    return [[marks.get(entry.result.manifest.system.type, "")] * len(made.headers) for entry in made.entries]


def about(board: Board, made: ModelsTable, most: int | None) -> str:
    """What stands under the table."""
    entries = board.entries
    kinds = {
        kind: [e.result.manifest.name for e in entries if e.result.manifest.system.type == kind]
        for kind in ("baseline", "human")
    }
    lines = [
        f"{len(made.entries)} of {len(entries)} systems on {board.suite} ({entries[0].result.prompts} prompts, "
        f"revision {board.revision}). ↑ higher is more diverse, ↓ lower is; no arrow: neither. Ranks are those on the "
        "whole table, with the 95% interval of the rank. Columns ending in _reported hold values that came with the "
        "submission; all others are computed here from the texts."
    ]
    if most is not None and len(made.entries) > most:
        lines.append(f"Here are the first {most} by rank; the downloads have all.")
    if kinds["baseline"]:
        lines.append(f"Known-bad systems, for calibration: {_some(kinds['baseline'])}.")
    if kinds["human"]:
        lines.append(f"Written by people: {_some(kinds['human'])}.")
    return " ".join(lines)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
