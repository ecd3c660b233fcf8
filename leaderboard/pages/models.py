"""Page Models: the answer in one sentence and one picture, the ranking with examples; an accordion has the rest."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from math import isnan
from typing import Any
from urllib.parse import urlencode

import gradio as gr
from markupsafe import Markup

from benchmark.analysis.ranking import Standing
from benchmark.metrics.metric import Missing
from divbench.core.errors import DivBenchError, InputError, counted
from divbench.core.tables import Cell, Table, number_cell
from leaderboard.app import components
from leaderboard.app.components import Choices
from leaderboard.app.permalinks import (
    QUIET,
    chosen,
    chosen_or_first,
    chosen_several,
    count_on,
    plain_value,
    remember,
    wire,
)
from leaderboard.data.board import Board, Column, Entry, facts, ranking_column
from leaderboard.data.live_results import LiveResults
from leaderboard.data.measurements import Measurement, is_best, measured_by
from leaderboard.data.reference.systems import is_matched
from leaderboard.data.scores import prompt_row
from leaderboard.data.sources import Snapshot
from leaderboard.data.texts import NO_TEXTS, texts_of
from leaderboard.pages import page_text
from leaderboard.pages.accuracy import IN_RECORD, accuracy, accuracy_line
from leaderboard.pages.picture import picture
from leaderboard.pages.ranking import MOST, Ranking, beside, ranking, ranking_table
from leaderboard.pages.responses import ListedPrompt, prompts_of
from leaderboard.pages.systems import (
    column_choices,
    direction_text,
    fact_text,
    heading,
    overview,
    rank_text,
    score_cells,
    system_labels,
)
from submissions.untrusted.plain_text import shortened

ANY = "any"
AS_ABOVE = "as measured above"
FRONT = ("suite", "k", "measured", "q", "prompt", "table")  # controls above the table; the others are in the accordion
# Maximum number of parameters of each choice.
SIZES: Mapping[str, int] = {"1B": 10**9, "3B": 3 * 10**9, "10B": 10**10, "40B": 4 * 10**10, "100B": 10**11}
FACTS = (  # about a system; the first two are always shown
    *("type", "mode", "open_weights", "licence", "date", "parameters", "responses", "bytes_a_response"),
    *("not_answered", "cut_off", "older_results", "signature"),
)
_NO_LICENCE = "No system in this table has the chosen licence"
_DATE = re.compile(r"([0-9]{4}(-[0-9]{2}){0,2})?")  # none, a year, a month or a day
_EXAMPLES, _LETTERS = 3, 110  # responses of a system shown as examples, and characters of each
_PROMPTS = 200  # prompts to read examples of


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
    """Describe the table, and point out a filter's date that is no date, since it matches no system."""
    entries = board.entries
    prompts = counted(entries[0].result.prompts, "prompt")
    lines = [] if _DATE.fullmatch(since) else ["“Generated on or after” needs a date such as 2026-01-31."]
    lines += [
        f"{len(shown)} of {counted(len(entries), 'system')} on {board.suite} ({prompts}, "
        f"revision {board.revision}). Higher is more diverse unless a heading says otherwise; click one to sort. "
        "Ranks are over the whole table, with 95% intervals. Columns with _reported in their names contain values that "
        "came with the submission; all others are computed here from the texts."
    ]
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
    answer = gr.HTML("", elem_id="front", padding=False)
    with gr.Row(elem_classes="front", equal_height=False):
        measured = gr.Radio(
            [], label="Measured by", elem_classes="tabs-radio", elem_id="measured", min_width=330, scale=9
        )
        suite = gr.Dropdown([], label="Prompts", elem_id="suite", min_width=165, scale=2)
        k = gr.Dropdown([], label="Answers", elem_id="k", min_width=120, scale=1)
        query = gr.Textbox(label="Search", placeholder="Search", elem_id="q", min_width=120, scale=2, max_length=200)
        another = gr.Button("Other examples", size="sm", elem_id="another", min_width=110, scale=0)
    # The prompt of the examples, and the name of the board, are in the permalink; the footer needs the second.
    prompt, table = (gr.Textbox("", visible=False, elem_id=name) for name in ("prompt", "table"))
    systems = gr.HTML("", elem_id="ranking", padding=False)
    with gr.Accordion("All metrics and filters", open=False, elem_id="more") as more:
        with gr.Row(equal_height=False):
            other = gr.Dropdown([AS_ABOVE], label="Rank by", elem_id="by", min_width=220, scale=2)
            columns = gr.Radio(["overview", "everything"], value="overview", label="Columns", elem_id="show")
        with gr.Row(equal_height=False, elem_id="filters"):
            types = gr.Dropdown([], multiselect=True, label="System type", elem_id="types", elem_classes="keeps-all")
            modes = gr.Dropdown([], multiselect=True, label="Sampling mode", elem_id="modes", elem_classes="keeps-all")
            weights = gr.Dropdown([ANY, "open", "closed"], value=ANY, label="Weights", elem_id="weights")
            size = gr.Dropdown([ANY, *SIZES], value=ANY, label="Maximum parameters", elem_id="size")
            licence = gr.Dropdown([ANY], value=ANY, label="Licence", elem_id="licence")
            since = gr.Textbox(label="Generated on or after", placeholder="YYYY-MM-DD", elem_id="since", max_length=10)
        shown = components.table("Mean over prompts [95% interval]", "systems", height=720, pinned_columns=1)
        note = components.note("note")
        with gr.Accordion("Column descriptions", open=False, elem_id="meaning"):
            gr.Markdown(page_text.COLUMNS)
            meaning = components.table("Columns of this table", "columns-table")
    above = (suite, k, measured, query, prompt, table)
    every = (*above, other, columns, types, modes, weights, size, licence, since)
    names = [str(control.elem_id) for control in every]
    in_accordion = set(names[len(above) :])

    def unfolded(request: gr.Request) -> Any:
        """Open the accordion if the permalink uses one of its controls; hide it if there are no results."""
        return gr.Accordion(
            open=not in_accordion.isdisjoint(request.query_params), visible=bool(live.snapshot().boards)
        )

    page.load(unfolded, None, more, queue=False, **QUIET)
    # Another suite or measure has other systems, metrics and filter values; choices that it lacks are dropped.
    wire(
        page,
        live,
        every,
        partial(controls, live),
        partial(content, live),
        [answer, systems, another, shown, note, meaning],
        nothing=_nothing,
        cascade=("suite", "k", "measured", "by"),
    )

    def step(*values: Any) -> Any:
        choices = dict(zip(names, map(plain_value, values), strict=True))
        measure = _measurement(live.snapshot(), choices)
        prompts = [] if measure is None else [prompt.prompt_id for prompt in _prompts(measure.board)]
        if measure is None or not prompts:
            return gr.skip(), gr.skip()
        now = prompts.index(choices["prompt"]) if choices["prompt"] in prompts else -1
        asked = prompts[(now + 1) % len(prompts)]
        return asked, _rendered(live, measure, choices | {"prompt": asked})[1]

    stepped = another.click(
        step, list(every), [prompt, systems], trigger_mode="always_last", preprocess=False, queue=False, **QUIET
    )
    stepped.then(None, list(every), None, js=remember(names)).then(None, js=count_on("shown"))


def content(live: LiveResults, choices: Mapping[str, Any]) -> list[Any]:
    """Return the content of the page for the controls' values: answer, ranking, table, notes, columns."""
    measure = _measurement(live.snapshot(), choices)
    if measure is None:
        return _nothing(page_text.NO_RESULTS)
    board, column = measure.board, measure.board.column(choices["by"]) or measure.column
    scores, keep = live.scores(board), Filter.of(choices)
    shows_all = choices["show"] == "everything"
    columns, fact_names = (board.columns, FACTS) if shows_all else (overview(board), FACTS[:2])
    standing = scores.standings(column)
    systems = models_table(board, column, standing, columns, fact_names, keep, scores.bytes_a_response)
    return [
        *_rendered(live, measure, choices),
        gr.Button(visible=bool(_prompts(board))),
        components.filled(systems.table),
        about_models(board, systems.entries, choices["since"] or ""),
        components.filled(columns_table(board)),
    ]


def _rendered(live: LiveResults, measure: Measurement, choices: Mapping[str, Any]) -> tuple[str, str]:
    """Return the answer with its picture, and the ranking; what was rendered since the last refresh is reused."""
    column, asked = measure.board.column(choices["by"]) or measure.column, choices["prompt"]
    return _rendering(live, live.snapshot().as_of, measure.board.name, column.label, Filter.of(choices), asked)


@lru_cache(maxsize=32)  # the date stands for the results, and for texts that may be downloaded meanwhile
def _rendering(
    live: LiveResults, as_of: datetime, name: str, label: str, keep: Filter, prompt_id: str | None
) -> tuple[str, str]:
    snapshot = live.snapshot()
    boards, board = snapshot.boards, snapshot.board(name)
    column = None if board is None else board.column(label) or ranking_column(board)
    if board is None or column is None:  # the results changed meanwhile
        return "", ""
    standing, others = live.scores(board).standings(column), beside(boards, board, column)
    view = ranking(board, column, standing, keep.takes, others)
    sentence = Markup('<p class="answer"><bdi>{}</bdi></p>').format(view.sentence)
    prompt = next((p for p in _prompts(board) if p.prompt_id == prompt_id), None)
    answers, reason = ({}, NO_TEXTS) if prompt is None else examples(view, prompt.prompt_id)
    line = accuracy_line(accuracy(boards, board.suite, board.k))
    wrong = line and Markup('<a href="metrics">How wrong are we?</a> {} {}').format(line, IN_RECORD)
    asked = "" if prompt is None else shortened(prompt.text, _LETTERS)
    table = ranking_table(view, _system, asked, answers, [wrong, reason], compare=True)
    return str(sentence + picture(view, _system)), str(table)


def examples(view: Ranking, prompt_id: str) -> tuple[dict[tuple[str, str], tuple[str, ...]], str]:
    """Return the first responses to a prompt by board and system, and what to do for systems without texts."""
    answers, lacking = {}, 0
    people = [line for kind, lines in view.groups for line in lines if kind.type == "human"]
    for line in (*view.lines[:MOST], *view.beside[:MOST], *people):
        texts = _responses(line.entry, prompt_id)
        lacking += texts is None
        if texts:
            answers[line.board, line.id] = tuple(shortened(text, _LETTERS) for text in texts[:_EXAMPLES])
    return answers, f"{counted(lacking, 'system')} without answers to read: {NO_TEXTS}" if lacking else ""


def _responses(entry: Entry, prompt_id: str) -> Sequence[str] | None:
    """Return a system's responses to a prompt; none if it has no such prompt; None if the texts are not here."""
    if entry.origin:  # all files of a system are read once
        texts = texts_of(entry.system)
        return None if isinstance(texts, Missing) else texts.get(prompt_id, ())
    with suppress(InputError):  # the result was withdrawn
        row = prompt_row(entry, prompt_id)
        return () if row is None else None if row.get("text_free") else row["responses"]
    return ()


def _nothing(reason: str) -> list[Any]:
    sentence = Markup('<p class="answer">{}</p>').format(reason)
    return [
        str(sentence),
        "",
        gr.Button(visible=False),
        components.no_table(),
        "",
        components.no_table(),
    ]


def _system(board: str, system: str) -> str:
    return f"system?{urlencode({'table': board, 'system': system})}"


def measurements(boards: Sequence[Board], suite: str | None, k: int) -> list[Measurement]:
    """Return the ways of measuring a suite at k responses; boards of other profiles follow by their name."""
    listed = list(measured_by(boards, suite or "", k))
    for board in boards:
        column = ranking_column(board)
        if (board.suite, board.k) == (suite, k) and column and all(m.board is not board for m in listed):
            listed.append(Measurement(f"{board.profile}, {board.revision[:6]}", board, column))
    return listed


def _measurement(snapshot: Snapshot, choices: Mapping[str, Any]) -> Measurement | None:
    """Return the chosen way of measuring; None if there are no results."""
    board = snapshot.board(choices["table"])
    if board is None:
        return None
    of_board = [m for m in measurements(snapshot.boards, board.suite, board.k) if m.board is board]
    return next((m for m in of_board if m.label == choices["measured"]), next(iter(of_board), None))


def default_board(boards: Sequence[Board]) -> Board | None:
    """Return the board to open: the best evidence on the suite of the first board."""
    return next((b for b in boards if b.suite == boards[0].suite and is_best(b)), boards[0] if boards else None)


def _prompts(board: Board) -> list[ListedPrompt]:
    """Return prompts of a board to read examples of; only those with a text, as others are not told apart."""
    try:
        return [prompt for prompt in prompts_of(board.entries[0]) if prompt.text][:_PROMPTS]
    except DivBenchError:
        return []


def controls(live: LiveResults, choices: Choices) -> list[Any]:
    """Fill the controls with choices, and select those in the permalink if they are offered."""
    boards = live.snapshot().boards
    named = next((board for board in boards if board.name == choices.get("table")), None)
    linked = None if choices.changed in ("suite", "k", "measured") else named  # a table has one suite, k and measure
    start = linked or default_board(boards)
    suites = list(dict.fromkeys(b.suite for b in boards if not is_matched(b.suite) or b is named))
    suite = linked.suite if linked else chosen(choices, "suite", suites, start.suite if start else None)
    of_suite = [board for board in boards if board.suite == suite]
    start = start if start in of_suite else default_board(of_suite)
    ks = {board.k for board in of_suite}
    k = start.k if start else 0
    k = k if linked else int(chosen(choices, "k", list(map(str, ks)), str(k)) or k)
    measures = measurements(boards, suite, k)
    of_start = next((m.label for m in measures if m.board is start), measures[0].label if measures else None)
    fitting = [m.label for m in measures if linked is None or m.board is linked]
    measured = chosen(choices, "measured", fitting, of_start)
    board = next((m.board for m in measures if m.label == measured), start)
    labels = column_choices(board)
    names = [label for _, label in labels]
    known = facets(board)
    licence = chosen(choices, "licence", known["licences"], ANY)
    by = chosen(choices, "by", names, AS_ABOVE)
    prompt = chosen_or_first(choices, "prompt", [p.prompt_id for p in _prompts(board)] if board else [])
    hint, several = partial(components.missing_hint, choices), partial(components.several_missing_hint, choices)
    return [
        gr.Dropdown(suites, value=suite, visible=bool(suites), info=hint("suite", suite)),
        gr.Dropdown(list(map(str, sorted(ks))), value=str(k), visible=bool(ks)),
        gr.Radio(
            [measure.label for measure in measures],
            value=measured,
            visible=bool(measures),
            info=hint("table", named.name if named else None),
        ),
        choices.get("q", "")[:200],
        prompt or "",
        board.name if board else "",
        gr.Dropdown([AS_ABOVE, *labels], value=by, info=hint("by", by)),
        chosen(choices, "show", ["overview", "everything"], "overview"),
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
