"""Page Models: the ranking in one sentence and a forest plot; an accordion has all metrics, filters and downloads."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Any
from urllib.parse import urlencode

import gradio as gr
from markupsafe import Markup

from benchmark.analysis.ranking import Standing
from divbench.core.errors import counted
from divbench.core.tables import Cell, Table, listed, number_cell
from leaderboard.app import components
from leaderboard.app.components import Choices
from leaderboard.app.downloads import Downloads
from leaderboard.app.permalinks import QUIET, chosen, chosen_or_first, chosen_several, wire
from leaderboard.data.board import Board, Column, Entry, facts, ranking_column
from leaderboard.data.live_results import LiveResults
from leaderboard.data.reference.systems import is_matched
from leaderboard.data.sources import Snapshot
from leaderboard.pages import page_text
from leaderboard.pages.ranking import forest, forest_table, other_boards
from leaderboard.pages.systems import (
    CUSTOM,
    PRESETS,
    board_choices,
    column_choices,
    columns_of,
    direction_text,
    fact_text,
    heading,
    rank_text,
    score_cells,
    system_labels,
)
from leaderboard.pages.trust import kinds_of_diversity

ANY = "any"
AS_ABOVE = "as measured above"
FRONT = ("suite", "rank")  # controls of the forest plot; the others are in the accordion
# Maximum number of parameters of each choice.
SIZES: Mapping[str, int] = {"1B": 10**9, "3B": 3 * 10**9, "10B": 10**10, "40B": 4 * 10**10, "100B": 10**11}
_NO_LICENCE = "No system in this table has the chosen licence"
_DATE = re.compile(r"([0-9]{4}(-[0-9]{2}){0,2})?")  # none, a year, a month or a day
_NAMED = 12  # maximum number of systems named below the table


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter of systems; an empty field or `ANY` keeps all."""

    text: str = ""  # words that must all occur in the name, model id, submitter or licence; case is ignored
    types: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    weights: str = ANY  # *open*, *closed* or `ANY`
    size: str = ANY  # maximum number of parameters, as a key of `SIZES`; it leaves out systems of unknown size
    licence: str = ANY
    since: str = ""  # earliest date of generation, as YYYY-MM-DD

    @classmethod
    def of(cls, choices: Mapping[str, Any]) -> "Filter":
        """Return the filter of the page's controls."""
        return cls(
            text=choices["q"] or "",
            types=tuple(choices["types"] or ()),
            modes=tuple(choices["modes"] or ()),
            weights=choices["weights"] or ANY,
            size=choices["size"] or ANY,
            licence=choices["licence"] or ANY,
            since=choices["since"] or "",
        )

    def takes(self, entry: Entry) -> bool:
        """Whether the filter keeps an entry."""
        manifest = entry.result.manifest
        system, generation, submitter = manifest.system, manifest.generation, manifest.submitter
        names = (manifest.name, system.model_id, submitter.name, system.licence)
        searched = " ".join(filter(None, names)).casefold()
        return (
            all(word in searched for word in self.text.casefold().split())
            and (not self.types or system.type in self.types)
            and (not self.modes or generation.mode in self.modes)
            and (self.weights == ANY or system.open_weights is (self.weights == "open"))
            and (self.size not in SIZES or (system.parameters is not None and system.parameters <= SIZES[self.size]))
            and self.licence in (ANY, system.licence)
            and (not self.since or (submitter.date is not None and submitter.date.isoformat() >= self.since))
        )


@dataclass(frozen=True, slots=True)
class ModelsTable:
    """A table of systems, the best first."""

    table: Table
    entries: tuple[Entry, ...]


def models_table(
    board: Board,
    ranked_by: Column,
    standing: Sequence[Standing],
    columns: Sequence[Column],
    fact_names: Sequence[str],
    keep: Filter,
    bytes_a_response: Callable[[], Sequence[float]],
) -> ModelsTable:
    """Return the systems of a board that a filter keeps, which changes no ranks; lengths are read only if shown."""
    labels = system_labels(board)
    lengths = bytes_a_response() if "bytes_a_response" in fact_names else [float("nan")] * len(board.entries)
    main = ranking_column(board)
    known = [_known(entry, length, main) for entry, length in zip(board.entries, lengths, strict=True)]
    fact_names = [name for name in fact_names if any(values[name] is not None for values in known)]
    scores = [score_cells(board, column) for column in columns]
    indices = [index for index, entry in enumerate(board.entries) if keep.takes(entry)]
    indices.sort(key=lambda index: (standing[index].rank is None, standing[index].rank or 0, labels[index]))
    headers = ("system", f"rank by {ranked_by.label}", *map(heading, columns), *fact_names)
    rows = [
        (
            labels[index],
            number_cell(standing[index].rank, rank_text(standing[index])),
            *(cells[index] for cells in scores),
            *(_fact_cell(name, known[index][name]) for name in fact_names),
        )
        for index in indices
    ]
    return ModelsTable(Table("", headers, rows), tuple(board.entries[index] for index in indices))


def _known(entry: Entry, length: float, main: Column | None) -> dict[str, Any]:
    """Return the facts about a system; None for unknown ones."""
    signature = None if main is None or main.signature not in entry.cells else str(main.signature)
    return facts(entry) | {"bytes_a_response": None if isnan(length) else length, "signature": signature}


def _fact_cell(name: str, value: Any) -> Cell:
    text = fact_text(name, value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return number_cell(value, text) if is_number else text or None


def about_models(board: Board, shown: Sequence[Entry], since: str = "") -> str:
    """Describe the table; the text contains untrusted names.

    A filter's date that is no date is pointed out, since it matches no system.
    """
    entries = board.entries
    prompts = counted(entries[0].result.prompts, "prompt")
    lines = [] if _DATE.fullmatch(since) else ["“Generated on or after” needs a date such as 2026-01-31."]
    lines += [
        f"{len(shown)} of {counted(len(entries), 'system')} on {board.suite} ({prompts}, "
        f"revision {board.revision}). Higher is more diverse unless a heading says otherwise; click one to sort. "
        "Ranks are over the whole table, with 95% intervals. Columns with _reported in their names contain values that "
        "came with the submission; all others are computed here from the texts."
    ]
    for kind, words in (("baseline", "Known-bad baselines, for calibration"), ("human", "Written by people")):
        manifests = (entry.result.manifest for entry in shown)
        names = [manifest.name for manifest in manifests if manifest.system.type == kind]
        if names:
            lines.append(f"{words}: {listed(names, _NAMED)}.")
    return " ".join(lines)


def columns_table(board: Board) -> Table:
    """Return the meaning, source and signature of each column of a board, one row per column."""
    headers = ("column", "description", "unit", "direction", "origin", "source", "version", "signature")
    rows = [
        (c.label, c.title, c.unit, direction_text(c), c.origin, c.paper, c.version, str(c.signature))
        for c in board.columns
    ]
    return Table("", headers, rows)


def facets(board: Board | None) -> dict[str, list[str]]:
    """Return the values in the board's manifests that each filter can select."""
    manifests = [entry.result.manifest for entry in board.entries] if board else []
    return {
        "types": sorted({m.system.type for m in manifests}),
        "modes": sorted({m.generation.mode for m in manifests if m.generation.mode is not None}),
        "licences": sorted({m.system.licence for m in manifests if m.system.licence is not None}),
    }


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
            preset = gr.Dropdown([*PRESETS, CUSTOM], value="overview", label="Columns", elem_id="show", min_width=130)
            query = gr.Textbox(
                label="Search", placeholder="name, model, submitter", elem_id="q", min_width=130, max_length=200
            )
        own = gr.Dropdown([], multiselect=True, label="Custom columns", visible=False, elem_id="columns")
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
    controls = (suite, rank, table, other, preset, own, query, types, modes, weights, size, licence, since)
    in_accordion = {str(control.elem_id) for control in controls} - set(FRONT)

    def unfolded(request: gr.Request) -> Any:
        """Open the accordion if the permalink uses one of its controls; hide it if there are no results."""
        return gr.Accordion(
            open=not in_accordion.isdisjoint(request.query_params), visible=bool(live.snapshot().boards)
        )

    page.load(unfolded, None, more, queue=False, **QUIET)
    # Another suite or table has other systems, metrics and filter values; choices that it lacks are dropped.
    wire(
        page,
        live,
        controls,
        partial(_controls, live),
        partial(_shown, live, downloads),
        [plot, shown, *taken, note, meaning],
        nothing=_nothing,
        cascade=("suite", "rank", "table", "by", "show"),
    )


def _shown(live: LiveResults, downloads: Downloads, choices: Mapping[str, Any]) -> list[Any]:
    snapshot = live.snapshot()
    board = snapshot.board(choices["table"])
    if board is None:
        return _nothing(page_text.NO_RESULTS)
    ranked_by = board.column(choices["by"]) or board.column(choices["rank"]) or ranking_column(board)
    if ranked_by is None:
        return _nothing(page_text.NO_RANKS)
    scores, keep = live.scores(board), Filter.of(choices)
    columns, fact_names = columns_of(board, choices["show"], choices["columns"] or ())
    standing = scores.standings(ranked_by)
    systems = models_table(board, ranked_by, standing, columns, fact_names, keep, scores.bytes_a_response)
    indices = [index for index, entry in enumerate(board.entries) if keep.takes(entry)]
    view = forest(board, ranked_by, standing, indices)
    front = forest_table(view, lambda system: f"system{_address(table=board.name, system=system)}")
    preset = choices["show"] if choices["show"] in PRESETS else CUSTOM
    return [
        str(front + other_boards(board, snapshot.boards, _address)),
        _tinted_table(systems),
        *components.files(downloads.write(systems.table.frame(), f"{board.name}-{preset}")),
        about_models(board, systems.entries, choices["since"] or ""),
        components.filled(columns_table(board)),
    ]


def _nothing(reason: str) -> list[Any]:
    sentence = Markup('<section class="forest"><p class="answer">{}</p></section>').format(reason)
    return [str(sentence), components.no_table(), *components.no_files(), "", components.no_table()]


def _address(**choices: str) -> str:
    """Return the address of this page with some choices."""
    return f"?{urlencode(choices)}"


def _tinted_table(systems: ModelsTable) -> Any:
    """Show the table; the rows of people and known-bad baselines are tinted, which their type says in words."""
    tints = {"human": components.tinted("#009e73", 13), "baseline": components.tinted("#e69f00", 15)}
    types = [entry.result.manifest.system.type for entry in systems.entries]
    styling = [[tints.get(kind, "")] * len(systems.table.columns) for kind in types]
    return components.filled(systems.table, styling=styling)


def _controls(live: LiveResults, choices: Choices) -> list[Any]:
    """Fill the controls with choices, and select those in the permalink if they are offered."""
    boards = live.snapshot().boards
    named = next((board for board in boards if board.name == choices.get("table")), None)
    suites, suite = _suites(live.snapshot(), named, choices)
    tables = board_choices([board for board in boards if board.suite == suite], suites=False)
    table = chosen_or_first(choices, "table", [name for _, name in tables])
    board = live.snapshot().board(table)
    labels = column_choices(board)
    names = [label for _, label in labels]
    kinds = kinds_of_diversity(board, live.studies.study) if board else ()
    front = [kind.column.label for kind in kinds]
    tab, other = _ranked_by(choices, front, names)
    known = facets(board)
    preset = chosen(choices, "show", [*PRESETS, CUSTOM], "overview")
    licence = chosen(choices, "licence", known["licences"], ANY)
    hint, several = partial(components.missing_hint, choices), partial(components.several_missing_hint, choices)
    return [
        gr.Radio(suites, value=suite, visible=bool(suites), info=hint("suite", suite)),
        gr.Radio(
            [(kind.label, kind.column.label) for kind in kinds],
            value=tab,
            visible=bool(front),
            info=hint("rank", choices.get("rank") if choices.get("rank") in names else tab),
        ),
        gr.Dropdown(tables, value=table, info=hint("table", named.name if named else None)),
        gr.Dropdown(
            [AS_ABOVE, *labels],
            value=other,
            info=hint("by", choices.get("by") if choices.get("by") in (AS_ABOVE, *names) else other),
        ),
        preset,
        gr.Dropdown(
            labels,
            value=chosen_several(choices, "columns", names, names[:5]),
            visible=preset == CUSTOM,
            info=several("columns", names, what="chosen column"),
        ),
        choices.get("q", "")[:200],
        *(
            gr.Dropdown(
                known[name],
                value=chosen_several(choices, name, known[name], []),
                info=several(name, known[name], what=f"chosen {what}"),
            )
            for name, what in (("types", "type"), ("modes", "mode"))
        ),
        chosen(choices, "weights", ["open", "closed"], ANY),
        chosen(choices, "size", list(SIZES), ANY),
        gr.Dropdown([ANY, *known["licences"]], value=licence, info=hint("licence", licence, missing=_NO_LICENCE)),
        choices.get("since", "")[:10],
    ]


def _suites(snapshot: Snapshot, named: Board | None, choices: Choices) -> tuple[list[str], str | None]:
    """Return the suites and the chosen one; length-matched stages, of Post-training, only if a permalink names them."""
    wanted = (choices.get("suite"), named.suite if named else None)
    boards = snapshot.boards
    suites = list(dict.fromkeys(b.suite for b in boards if not is_matched(b.suite) or b.suite in wanted))
    return suites, chosen(choices, "suite", suites, named.suite if named else suites[0] if suites else None)


def _ranked_by(choices: Choices, front: Sequence[str], names: Sequence[str]) -> tuple[str | None, str | None]:
    """Return the tab and the metric in the dropdown, which replace each other; a metric that has a tab selects it.

    A permalink may rank by any metric; one without a tab is selected in the dropdown.
    """
    asked = choices.get("rank")
    elsewhere = asked if asked in names and asked not in front else None
    other = AS_ABOVE if choices.changed == "rank" else chosen(choices, "by", names, elsewhere or AS_ABOVE)
    tab = chosen_or_first(choices, "rank", front) if other == AS_ABOVE else other if other in front else None
    return tab, other
