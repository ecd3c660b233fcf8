"""The page of one system as plain HTML: its rank, its scores, how it was sampled, and its most telling prompts.

The application serves it at /system, where it loads at once and needs no script: a Gradio page would take a second.
`divbench board export --html` writes it, too.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

import numpy as np
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from benchmark.analysis.ranking import Standing
from benchmark.scoring.estimate import Floats
from datasets_build.sources.source import divbench_citation
from divbench.core.errors import DivBenchError
from divbench.core.tables import Cell, Table, estimate_cell
from leaderboard.app.components import FIGURES, error_line
from leaderboard.app.navigation import footer
from leaderboard.app.permalinks import MAX_VALUE
from leaderboard.data.board import REFERENCE_TYPES, Board, Column, Entry, facts, ranking_column
from leaderboard.data.kinds import KINDS, cut_of, kind_of, model_link
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import BoardScores, prompt_row
from leaderboard.pages import page_text
from leaderboard.pages.curves import curves_figure, curves_table, distinct_curves
from leaderboard.pages.figures import TINTS
from leaderboard.pages.plain_html import Figure, HtmlTable, Page, Part, asset_address, render
from leaderboard.pages.ranking import score_text
from leaderboard.pages.responses import make_view
from leaderboard.pages.systems import (
    board_choices,
    direction_text,
    fact_text,
    find_entry,
    first_entry,
    group_name,
    overview,
    rank_text,
    system_ids,
    system_labels,
)
from submissions.untrusted.plain_text import cut

PATH = "system"
OTHER_SHOWN = "The table that the link asks for is not here. Another one is shown."
NO_SYSTEM = "The system that the link asks for is not here: it was withdrawn, or the link is incomplete."
_CURVE = "classes-plot"
_RANKED = 10**5  # systems × prompts up to which all overview metrics are ranked; above, that takes seconds
_FEWEST = 3  # minimum number of prompts for a correlation
_EXTREMES = 3  # maximum number of prompts shown as most, and as least, diverse
_NEAREST = 5  # number of systems shown as correlated
_LETTERS = 300  # maximum number of characters of a response in the table
_FACTS = {
    "type": "system type",
    "model": "model",
    "mode": "sampling mode",
    "temperature": "temperature",
    "top_k": "top-k",
    "top_p": "top-p",
    "max_tokens": "maximum tokens per response",
    "chat_template": "chat template",
    "prompt_template": "prompt template",
    "system_prompt": "system prompt",
    "thinking": "thinking",
    "stop": "stops at",
    "software": "software",
    "open_weights": "weights",
    "licence": "licence",
    "parameters": "parameters",
    "responses": "responses scored",
    "not_answered": "blank, placeholder or refused",
    "cut_off": "truncated, by finish reason",
    "submitter": "submitted by",
    "date": "generated on",
    "notes": "notes",
    "origin": "result",
    "submission_id": "submission id",
    "result_id": "result id",
}
# Fields of the manifest about the generation; like counts, the origin and the notes, left out if they are not stated.
_GENERATION = (
    *("top_k", "top_p", "max_tokens", "chat_template", "prompt_template", "system_prompt", "thinking", "stop"),
    "software",
)
_IF_STATED = (*_GENERATION, "responses", "not_answered", "cut_off", "origin", "notes")
_MODES: Mapping[str, str] = {
    "resample": "the same prompt each time",
    "paraphrase": "paraphrases of the prompt",
    "system-prompt": "a system prompt asks for novel responses",
    "in-context": "one chat that grows with each response",
    "verbalized": "one call asks for k responses with their probabilities",
    "verbalized-tail": "one call asks for k unlikely responses",
}


def facts_table(board: Board, index: int) -> Table:
    """Return how a system was sampled and who submitted it, one fact per row, with `unknown` for unknown facts."""
    entry = board.entries[index]
    manifest, known = entry.result.manifest, facts(entry)
    known |= {name: _stated(getattr(manifest.generation, name)) for name in _GENERATION}
    known["notes"] = manifest.notes
    if known["mode"] is not None:
        known["mode"] += f": {_MODES[known['mode']]}"
    names = [name for name in _FACTS if name not in _IF_STATED or known[name] not in (None, "")]
    rows = [(_FACTS[name], fact_text(name, known[name]) or "unknown") for name in names]
    title = "How it was sampled, and where its result comes from"
    return Table(title, ("fact", "value"), [*rows, ("suite", f"{board.suite}, {board.terms}")])


def _stated(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(repr, value)) if isinstance(value, tuple) else str(value)


def scores_table(board: Board, index: int, standing: Sequence[tuple[Column, Standing | None]]) -> Table:
    """Return the scores of a system, one row per metric, with its standing in the columns that are ranked."""
    entry = board.entries[index]
    rows: list[tuple[Cell, ...]] = []
    for column, stands in standing:
        cell = entry.cells.get(column.signature)
        if cell is None:
            continue
        mean = estimate_cell(cell.value, cell.low, cell.high)
        rank = "" if stands is None else rank_text(stands)
        missing = sum(cell.missing.values()) or None
        rows.append((column.label, mean, rank, direction_text(column), missing, str(column.signature)))
    columns = ("metric", "mean [95% interval]", "rank", "direction", "prompts without a value", "signature")
    return Table(f"Mean over prompts [95% interval], k = {board.k}", columns, rows)


def extreme_prompts(values: Floats, direction: int) -> tuple[list[int], list[int]]:
    """Return the indices of the prompts on which a system is most and least diverse, the most extreme first."""
    order = np.argsort(-(direction or 1) * values, kind="stable")  # NaN last
    finite = [int(i) for i in order if np.isfinite(values[i])]
    count = min(_EXTREMES, len(finite) // 2)  # none is in both
    return finite[:count], finite[::-1][:count]


def nearest_systems(
    values: Floats, index: int, count: int = _NEAREST, *, excluded: Collection[int] = ()
) -> list[tuple[int, float]]:
    """Find the systems with values [prompts, systems] most correlated with one system's over prompts (Spearman's rho).

    A pair is compared over the prompts for which both have a value.
    """
    from scipy.stats import spearmanr

    finite = np.isfinite(values)
    near = []
    for i in sorted(set(range(values.shape[1])) - {index, *excluded}):
        shared = finite[:, index] & finite[:, i]
        first, second = values[shared, index], values[shared, i]
        if len(first) >= _FEWEST and np.ptp(first) and np.ptp(second):
            near.append((i, float(spearmanr(first, second).statistic)))
    return sorted(near, key=lambda system: -system[1])[:count]


def nearest(scores: BoardScores, index: int) -> list[tuple[int, float]]:
    """Return the systems with the most correlated scores over prompts, without baselines, with Spearman's rho."""
    main = ranking_column(scores.board)
    if main is None:
        return []
    types = [entry.result.manifest.system.type for entry in scores.board.entries]
    baselines = [i for i, kind in enumerate(types) if kind == "baseline" and i != index]
    return nearest_systems(scores.matrix(main), index, excluded=baselines)


@dataclass(frozen=True, slots=True)
class Extreme:
    """A prompt on which a system is most or least diverse, with the responses grouped by class."""

    prompt: str  # text of the prompt; untrusted
    value: float
    responses: tuple[str, ...]  # responses, sorted by class; untrusted
    groups: tuple[int | None, ...]  # class of each response; None if it is in none
    invalid: tuple[bool, ...]  # whether each response was judged not valid


def extremes(
    board: Board, entry: Entry, prompts: Sequence[str], values: Floats, direction: int
) -> tuple[list[Extreme], list[Extreme]]:
    """Return the prompts, by ids and values [prompts], on which a system is most and least diverse."""

    def read(index: int) -> Extreme | None:
        row = prompt_row(entry, prompts[index])
        if row is None:
            return None
        view = make_view(board, entry, row)
        responses = view.by_class
        return Extreme(
            view.prompt.text,
            float(values[index]),
            tuple(cut(response.text, _LETTERS) for response in responses),
            tuple(response.group for response in responses),
            tuple(response.is_valid is False for response in responses),
        )

    most, least = ([prompt for i in indices if (prompt := read(i))] for indices in extreme_prompts(values, direction))
    return most, least


def extremes_table(title: str, prompts: Sequence[Extreme]) -> Table:
    """Return the prompts with their responses, one response per row, with the letter of its class."""
    rows: list[tuple[Cell, ...]] = []
    for extreme in prompts:
        responses = zip(extreme.responses, extreme.groups, extreme.invalid, strict=True)
        for i, (text, group, is_invalid) in enumerate(responses):
            letter = [] if group is None else [group_name(group + 1)]
            label = ", ".join([*letter, *["not valid"] * is_invalid])
            rows.append((None if i else extreme.value, "" if i else extreme.prompt, label, text))
    return Table(title, ("value", "prompt", "class", "response"), rows)


def _tints(prompts: Sequence[Extreme]) -> list[str]:
    """Return a CSS class for each response: equivalent responses share a colour, and the others have none."""
    tints = []
    for extreme in prompts:
        shared = [group for group, size in sorted(Counter(extreme.groups).items(), key=str) if size > 1]
        colours = {group: f"tint-{i % len(TINTS)}" for i, group in enumerate(shared)}
        tints += ["" if group is None else colours.get(group, "") for group in extreme.groups]
    return tints


def system_page(
    scores: BoardScores,
    index: int,
    *,
    near: Sequence[tuple[int, float]] = (),
    links: Sequence[tuple[str, str]] = (),
    script: bool = True,
) -> Page:
    """Return the page of a system; with `script`, also the figure and its most and least diverse prompts."""
    board, main = scores.board, ranking_column(scores.board)
    if main is None:
        raise ValueError(f"{board.name} has no column to rank by")
    values = scores.matrix(main)
    ranked = (main, *(overview(board) if values.size <= _RANKED else ()))
    standing = [(c, scores.standings(c)[index] if c in ranked else None) for c in board.columns]
    about, entry = headline(scores, main, index), board.entries[index]
    link = model_link(entry)
    model = () if link is None else (("The model on the Hub", link),)
    parts = [
        Part(lines=(about, *filter(None, [cut_of(entry)])), links=(*links, *model)),
        Part("All metrics", tables=(HtmlTable("scores", scores_table(board, index, standing)),)),
    ]
    people = [i for i, entry in enumerate(board.entries) if entry.result.manifest.system.type == REFERENCE_TYPES[0]]
    curves = distinct_curves(board, dict.fromkeys([index, *people[:1]]))
    if curves:
        title = "Expected different valid responses among m"
        figure = Figure(_CURVE, FIGURES[_CURVE], 380, curves_figure(curves).to_json(engine="json")) if script else None
        table = HtmlTable("curve-table", replace(curves_table(curves), title=title))
        parts.append(Part(title, figure=figure, tables=(table,)))
    parts.append(Part("Sampling and provenance", tables=(HtmlTable("facts", facts_table(board, index)),)))
    if script:
        ends = extremes(board, entry, scores.prompts, values[:, index], main.direction)
        for name, prompts in zip(("most", "least"), ends, strict=True):
            if prompts:
                view = extremes_table(f"{main.label} of each, and the responses by class", prompts)
                tables = (HtmlTable(name, view, _tints(prompts)),)
                parts.append(Part(f"{name.capitalize()} diverse prompts", tables=tables))
    if near:
        title = "Systems whose scores rise and fall on the same prompts; their means may be far apart"
        rows = [(system_labels(board)[i], rho) for i, rho in near]
        table = HtmlTable("near", Table(title, ("system", "Spearman's rho over prompts"), rows))
        parts.append(Part("Most correlated systems", tables=(table,)))
    parts.append(Part(codes=(("Cite", divbench_citation()),)))
    return Page(system_labels(board)[index], tuple(parts), about)


def headline(scores: BoardScores, main: Column, index: int) -> str:
    """Return a system's score and rank in the column that ranks its board, with its untrusted name."""
    board, label = scores.board, system_labels(scores.board)[index]
    standing = scores.standings(main)
    stands, ranked = standing[index], sum(other.rank is not None for other in standing)
    cell = board.entries[index].cells.get(main.signature)
    value = None if cell is None else cell.value
    between = "" if stands.low is None else f" (95% interval {stands.low}–{stands.high})"
    is_reference = board.entries[index].result.manifest.system.type in REFERENCE_TYPES
    unranked = "a reference, not ranked" if is_reference else "not ranked"
    rank = f"rank {stands.rank}{between} of {ranked}" if stands.rank else unranked
    return f"{label}: {score_text(main, board.k, value)}; {rank} on {board.suite}, {board.terms}."


def system_routes(live: LiveResults, navigation: Callable[[], Any]) -> list[Route]:
    """Return the route of the page."""
    _answer(live, {"table": "", "system": ""}, "")  # imports libraries and fills caches before the first visitor

    def page(request: Request) -> Response:
        choices = {name: request.query_params.get(name, "")[:MAX_VALUE] for name in ("table", "system")}
        return _answer(live, choices, navigation())

    return [Route(f"/{PATH}", page)]


def _answer(live: LiveResults, choices: Mapping[str, str], navigation: Any) -> Response:
    snapshot = live.snapshot()
    frame = partial(render, address=asset_address(), navigation=navigation, warnings=snapshot.warnings)
    offered = [board for board in snapshot.boards if ranking_column(board) is not None]
    # A link may name a table that has been replaced: the system is looked for in the others.
    boards = [board for board in offered if board.name == choices["table"]] or offered
    having = [(board, entry) for board in boards if (entry := find_entry(board, choices["system"]))]
    if not boards or (choices["system"] and not having):
        reason = NO_SYSTEM if boards else page_text.NO_RESULTS
        part = Part(lines=(reason,), links=(("All systems, with a search", "./"),))
        return HTMLResponse(frame(Page("No such system", (part,))), 404)
    board, entry = having[0] if having else (boards[0], first_entry(boards[0]))
    groups: dict[str, list[tuple[str, str, bool]]] = {kind.plural: [] for kind in KINDS}
    for label, system_id, other in zip(system_labels(board), system_ids(board), board.entries, strict=True):
        groups[kind_of(other).plural].append((label, system_id, other is entry))
    systems = {name: options for name, options in groups.items() if options}
    tables = {"": [(label, name, name == board.name) for label, name in board_choices(offered)]}
    picker = [("table", "Table", tables), ("system", "System", systems)]
    frame = partial(frame, footer=footer(snapshot, {"table": board.name}), picker=picker, action=PATH)
    try:
        page = _page(live, board, board.entries.index(entry))
    except DivBenchError as error:  # the result's files no longer exist
        return HTMLResponse(frame(Page("System", (Part(lines=(error_line(error),)),))), 404)
    if choices["table"] not in ("", board.name):
        page = replace(page, parts=(Part(lines=(OTHER_SHOWN,)), *page.parts))
    return HTMLResponse(frame(page))


def _page(live: LiveResults, board: Board, index: int) -> Page:
    scores, ids = live.scores(board), system_ids(board)
    near = nearest(scores, index)
    links = [("Read its responses", f"explore?{urlencode({'table': board.name, 'system': ids[index]})}")]
    if near:
        query = urlencode({"table": board.name, "systems": f"{ids[index]},{ids[near[0][0]]}"})
        links.append(("Compare with the most correlated system", f"compare?{query}"))
    links.append(("All systems", f"./?{urlencode({'table': board.name})}"))
    return system_page(scores, index, near=near, links=links)
