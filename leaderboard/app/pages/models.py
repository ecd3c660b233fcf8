"""Page Models: the ranking in one sentence and a forest plot; an accordion has all metrics, filters and downloads."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import gradio as gr
from markupsafe import Markup

from divbench.core.errors import DivBenchError
from leaderboard.app import components
from leaderboard.app.asked import Asked
from leaderboard.app.downloads import Downloads
from leaderboard.app.permalinks import QUIET, chosen, chosen_or_first, chosen_several, wire
from leaderboard.data.board import Board, Column, ranking_column
from leaderboard.data.live_results import LiveResults
from leaderboard.data.reference.systems import is_matched
from leaderboard.data.scores import BoardScores
from leaderboard.data.sources import Snapshot
from leaderboard.figures.forest_table import forest_table, other_boards
from leaderboard.tables import page_text
from leaderboard.tables.forest import forest
from leaderboard.tables.measures import Measure, measures
from leaderboard.tables.models import (
    ANY,
    OWN,
    PRESETS,
    SIZES,
    Filter,
    ModelsTable,
    about_models,
    columns_of,
    columns_table,
    facets,
    models_table,
)
from submissions.untrusted.plain_text import shortened

FEW, ALL = "first 250", "all"
MOST = 250  # maximum number of rows that a browser renders without delay
AS_ABOVE = "as measured above"
_NO_LICENCE = "No system in this table has the chosen licence"
FRONT = ("suite", "rank")  # controls of the forest plot; the others are in the accordion
CHOICES = (
    *FRONT,
    *("table", "by", "show", "columns", "rows", "q"),
    *("types", "modes", "weights", "size", "licence", "since"),
)


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page."""
    downloads = Downloads()
    with gr.Row(elem_classes="front"):
        suite = gr.Radio([], label="Suite", elem_classes="tabs-radio", elem_id="suite")
        rank = gr.Radio([], label="Measured by (agreement with people)", elem_classes="tabs-radio", elem_id="rank")
    plot = gr.HTML("", elem_id="forest", padding=False)
    with gr.Accordion("All metrics, filters and downloads", open=False, elem_id="more") as more:
        with gr.Row(equal_height=False):
            table = gr.Dropdown([], label="k and profile", elem_id="table", min_width=220, scale=2)
            other = gr.Dropdown([AS_ABOVE], label="Rank by", elem_id="by", min_width=220, scale=2)
            preset = gr.Dropdown(
                [*PRESETS, OWN], value="overview", label="Columns", elem_id="show", min_width=130, scale=1
            )
            query = gr.Textbox(
                label="Search",
                placeholder="name, model, submitter",
                elem_id="q",
                min_width=130,
                scale=2,
                max_length=200,
            )
        own = gr.Dropdown([], multiselect=True, label="Custom columns", visible=False, elem_id="columns")
        many = gr.Radio([FEW, ALL], value=FEW, label="Rows", visible=False, elem_id="rows")
        with gr.Row(equal_height=False, elem_id="filters"):
            types = gr.Dropdown([], multiselect=True, label="System type", elem_id="types", elem_classes="keeps-all")
            modes = gr.Dropdown([], multiselect=True, label="Sampling mode", elem_id="modes", elem_classes="keeps-all")
            weights = gr.Dropdown([ANY, "open", "closed"], value=ANY, label="Weights", elem_id="weights")
            size = gr.Dropdown([ANY, *SIZES], value=ANY, label="Maximum parameters", elem_id="size")
            licence = gr.Dropdown([ANY], value=ANY, label="Licence", elem_id="licence")
            since = gr.Textbox(label="Generated on or after", placeholder="YYYY-MM-DD", elem_id="since", max_length=10)
        shown = components.table("Mean over prompts [95% interval]", "systems", height=720, pinned_columns=1)
        taken = components.downloads()
        note = components.note("note")
        with gr.Accordion("Column descriptions", open=False, elem_id="meaning"):
            gr.Markdown(page_text.COLUMNS)
            meaning = components.table("Columns of this table", "columns-table", wrap=True)
    controls = (suite, rank, table, other, preset, own, many, query, types, modes, weights, size, licence, since)
    study = live.studies.study

    def show(given: Mapping[str, Any]) -> list[Any]:
        snapshot = live.snapshot()
        board = snapshot.board(given["table"])
        if board is None:
            return _nothing(page_text.NO_RESULTS)
        made = table_of(live, board, given)
        ranked_by = _ranked_by(board, given)
        if made is None or ranked_by is None:
            return _nothing(page_text.NO_RANKS)
        drawn = forest(board, ranked_by, live.scores(board).standings(ranked_by), _kept(board, given), MOST)
        front = forest_table(drawn, lambda own: f"system{_address(table=board.name, system=own)}")
        front += other_boards(board, snapshot.boards, _address)
        files = downloads.write(made.table.frame(), f"{board.name}-{given['show']}")
        most = None if given["rows"] == ALL else MOST
        said = about_models(board, made, most, given["since"] or "")
        return [str(front), _component(made, most), *components.files(files), said]

    def means(name: str | None) -> Any:
        board = live.snapshot().board(name)
        return components.no_table() if board is None else components.filled(columns_table(board))

    def unfolded(request: gr.Request) -> Any:
        """Open the accordion if the permalink uses one of its controls; hide it if there are no results."""
        asked = bool(set(request.query_params) & set(CHOICES) - set(FRONT))
        return gr.Accordion(open=asked, visible=bool(live.snapshot().boards))

    # Columns are described per table, whatever else is chosen.
    table.change(means, table, meaning, **QUIET)
    page.load(unfolded, None, more, queue=False, **QUIET)
    # Another suite or table has other systems, metrics and filter values; choices that it lacks are dropped.
    wire(
        page,
        live,
        controls,
        lambda asked: _controls(live.snapshot(), asked, study),
        show,
        [plot, shown, *taken, note],
        nothing=_nothing,
        cascade=("suite", "rank", "table", "by", "show"),
    )


def answer(live: LiveResults) -> str:
    """Return the sentence of the first board, for link previews; it contains untrusted names."""
    board = live.snapshot().board(None)
    column = ranking_column(board) if board else None
    if board is None or column is None:
        return page_text.NO_RESULTS
    try:
        return _sentence(live.scores(board), column)
    except DivBenchError:
        return page_text.NO_RANKS


@lru_cache(maxsize=4)
def _sentence(scores: BoardScores, column: Column) -> str:
    return shortened(forest(scores.board, column, scores.standings(column)).sentence, 300)


def _nothing(why: str) -> list[Any]:
    said = Markup('<section class="forest"><p class="answer">{}</p></section>').format(why)
    return [str(said), components.no_table(), *components.no_files(), ""]


def _address(**choices: str) -> str:
    """The address of this page with some choices."""
    return f"?{urlencode(choices)}"


def _ranked_by(board: Board, given: Mapping[str, Any]) -> Column | None:
    return board.column(given["by"]) or board.column(given["rank"]) or ranking_column(board)


def _filter(given: Mapping[str, Any]) -> Filter:
    return Filter(
        text=given["q"] or "",
        types=tuple(given["types"] or ()),
        modes=tuple(given["modes"] or ()),
        weights=given["weights"] or ANY,
        size=given["size"] or ANY,
        licence=given["licence"] or ANY,
        since=given["since"] or "",
    )


def _kept(board: Board, given: Mapping[str, Any]) -> list[int]:
    """Indices of the entries that the filter keeps."""
    keep = _filter(given)
    return [place for place, entry in enumerate(board.entries) if keep.takes(entry)]


def table_of(live: LiveResults, board: Board, given: Mapping[str, Any]) -> ModelsTable | None:
    """The table for some choices; None if no metric has a value.

    Raises:
        InputError: A result's files are gone.
    """
    ranked_by = _ranked_by(board, given)
    if ranked_by is None:
        return None
    scores = live.scores(board)
    columns, beside = columns_of(board, given["show"], given["columns"] or ())
    standing = scores.standings(ranked_by)
    return models_table(board, ranked_by, standing, columns, beside, _filter(given), scores.bytes_a_response)


def _controls(snapshot: Snapshot, asked: Asked, study: Any) -> list[Any]:
    """Fill the controls with choices, and select those in the permalink if they are offered."""
    boards = snapshot.boards
    named = next((board for board in boards if board.name == asked.get("table")), None)
    wanted = (asked.get("suite"), named.suite if named else None)
    # Length-matched stages belong to the page Post-training; here they are shown only if a permalink names them.
    suites = list(dict.fromkeys(b.suite for b in boards if not is_matched(b.suite) or b.suite in wanted))
    suite = chosen(asked, "suite", suites, named.suite if named else suites[0] if suites else None)
    offered = components.board_choices([each for each in boards if each.suite == suite], suites=False)
    table = chosen_or_first(asked, "table", [name for _, name in offered])
    board = snapshot.board(table)
    labels = components.column_choices(board)
    names = [label for _, label in labels]
    kinds: tuple[Measure, ...] = measures(board, study) if board else ()
    front = [each.column.label for each in kinds]
    # A permalink may rank by any metric; one without a radio button is selected in the dropdown.
    elsewhere = asked.get("rank") if asked.get("rank") in names and asked.get("rank") not in front else None
    # A tab and a metric in the dropdown replace each other; a metric that has a tab selects it.
    other = AS_ABOVE if asked.changed == "rank" else chosen(asked, "by", names, elsewhere or AS_ABOVE)
    tab = chosen_or_first(asked, "rank", front) if other == AS_ABOVE else other if other in front else None
    known = facets(board) if board else {"types": [], "modes": [], "licences": []}
    systems = len(board.entries) if board else 0
    preset = chosen(asked, "show", [*PRESETS, OWN], "overview")
    licence = chosen(asked, "licence", known["licences"], ANY)
    return [
        gr.Radio(suites, value=suite, visible=bool(suites), info=components.gone(asked, "suite", suite)),
        gr.Radio(
            [(each.label, each.column.label) for each in kinds],
            value=tab,
            visible=bool(front),
            info=components.gone(asked, "rank", asked.get("rank") if asked.get("rank") in names else tab),
        ),
        gr.Dropdown(offered, value=table, info=components.gone(asked, "table", named.name if named else None)),
        gr.Dropdown(
            [AS_ABOVE, *labels],
            value=other,
            info=components.gone(asked, "by", asked.get("by") if asked.get("by") in (AS_ABOVE, *names) else other),
        ),
        preset,
        gr.Dropdown(
            labels,
            value=chosen_several(asked, "columns", names, names[:5]),
            visible=preset == OWN,
            info=components.several_gone(asked, "columns", names, what="chosen column"),
        ),
        gr.Radio([FEW, ALL], value=chosen(asked, "rows", [ALL], FEW), visible=systems > MOST),
        asked.get("q", "")[:200],
        *(
            gr.Dropdown(
                known[name],
                value=chosen_several(asked, name, known[name], []),
                info=components.several_gone(asked, name, known[name], what=f"chosen {what}"),
            )
            for name, what in (("types", "type"), ("modes", "mode"))
        ),
        chosen(asked, "weights", ["open", "closed"], ANY),
        chosen(asked, "size", list(SIZES), ANY),
        gr.Dropdown(
            [ANY, *known["licences"]],
            value=licence,
            info=components.gone(asked, "licence", licence, missing=_NO_LICENCE),
        ),
        asked.get("since", "")[:10],
    ]


def _component(made: ModelsTable, most: int | None) -> Any:
    """Show the first rows of the table; the downloads have all rows."""
    table = replace(made.table, rows=made.table.rows[:most])
    # Colours for the rows of people and known-bad baselines; their type says the same in words.
    marks = {"human": components.tinted("#009e73", 13), "baseline": components.tinted("#e69f00", 15)}
    styling = [[marks.get(entry.result.manifest.system.type, "")] * len(table.columns) for entry in made.entries[:most]]
    return components.filled(table, styling=styling)
