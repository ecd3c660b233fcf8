"""The table of systems: filters, ranks and choice of columns."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from benchmark.analysis.ranking import Standing
from divbench.core.errors import counted
from divbench.core.tables import Cell, Table, estimate_cells, listed, number_cell
from leaderboard.data.board import Board, Column, Entry, facts, ranking_column
from leaderboard.tables.systems import system_labels

ANY = "any"
QUALITY = ("utility_k", "utility_k_reported", "mean_head_quality", "valid_share", "first_quality", "coherence")
DIVERSITY = (
    "valid_distinct_k",
    "distinct_k",
    "distinct_k_reported",
    "embedding_diversity",
    "vendi_score",
    "d_can",
    "a_n",
    "retained_surprise",
    "e_average",
    "distinct_n",
    "self_bleu",
)
COST = ("parameters", "responses", "bytes_a_response", "not_answered", "cut_off")
FACTS = ("type", "mode", "open_weights", "licence", "date")
# The metrics and facts that each preset shows; metrics that the board lacks are left out.
PRESETS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # Without d_can and a_n, because results of the bundled language model should not be published.
    "overview": ((*DIVERSITY[:5], *QUALITY[:2], "valid_share"), ("type", "mode")),
    "diversity": (DIVERSITY, ("type", "mode")),
    "quality": ((*QUALITY, "distinct_k", "distinct_k_reported"), ("type", "mode")),
    "cost": (("distinct_k", "embedding_diversity", "utility_k"), ("type", *COST)),
    "everything": ((), (*FACTS, *COST, "older_results", "signature")),
}
OWN = "custom"
DIRECTIONS: Mapping[int, str] = {1: "higher is more diverse", -1: "lower is more diverse", 0: "no direction"}
_DATE = re.compile(r"([0-9]{4}(-[0-9]{2}){0,2})?")  # none, a year, a month or a day
_NAMED = 12  # maximum number of systems named below the table
# Maximum number of parameters of each choice.
SIZES: Mapping[str, int] = {"1B": 10**9, "3B": 3 * 10**9, "10B": 10**10, "40B": 4 * 10**10, "100B": 10**11}


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

    def takes(self, entry: Entry) -> bool:
        """Whether the filter keeps an entry."""
        manifest = entry.result.manifest
        system, generation, submitter = manifest.system, manifest.generation, manifest.submitter
        searched = (manifest.name, system.model_id, submitter.name, system.licence)
        there = " ".join(filter(None, searched)).casefold()
        return (
            all(word in there for word in self.text.casefold().split())
            and (not self.types or system.type in self.types)
            and (not self.modes or generation.mode in self.modes)
            and (self.weights == ANY or system.open_weights is (self.weights == "open"))
            and (self.size not in SIZES or (system.parameters is not None and system.parameters <= SIZES[self.size]))
            and self.licence in (ANY, system.licence)
            and (not self.since or (submitter.date is not None and submitter.date.isoformat() >= self.since))
        )


@dataclass(frozen=True, slots=True)
class ModelsTable:
    """A table of systems."""

    table: Table
    entries: tuple[Entry, ...]
    beside: tuple[str, ...]  # names of the facts in the last columns, in their order


def columns_of(board: Board, preset: str, own: Sequence[str]) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """The metric columns and the facts of a preset; `own` has the labels of the columns of the custom preset."""
    if preset == OWN:
        labels = set(own)
        return tuple(column for column in board.columns if column.label in labels), ("type", "mode")
    metrics, beside = PRESETS.get(preset, PRESETS["overview"])
    if not metrics:
        return board.columns, beside
    ordered = sorted((c for c in board.columns if c.metric in metrics), key=lambda c: metrics.index(c.metric))
    return tuple(ordered), beside


def models_table(
    board: Board,
    ranked_by: Column,
    standing: Sequence[Standing],
    columns: Sequence[Column],
    beside: Sequence[str],
    keep: Filter,
    bytes_a_response: Callable[[], Sequence[float]],
) -> ModelsTable:
    """The systems of a board that a filter keeps, the best first.

    Ranks and tie groups are those of the whole board: a filter hides systems but does not change ranks.

    Args:
        bytes_a_response: Function that returns the mean length of each entry's responses; called only if shown.
    """
    labels = system_labels(board)
    lengths = bytes_a_response() if "bytes_a_response" in beside else [float("nan")] * len(board.entries)
    main = ranking_column(board)
    known = [_known(entry, length, main) for entry, length in zip(board.entries, lengths, strict=True)]
    beside = [name for name in beside if any(each[name] is not None for each in known)]  # leaves out empty columns
    scores = [score_cells(board, column) for column in columns]
    places = [place for place, entry in enumerate(board.entries) if keep.takes(entry)]
    places.sort(key=lambda place: (standing[place].rank is None, standing[place].rank or 0, labels[place]))
    headers = ("system", f"rank by {ranked_by.label}", *(heading(c) for c in columns), *beside)
    rows = [
        (
            labels[place],
            number_cell(standing[place].rank, rank_text(standing[place])),
            *(cells[place] for cells in scores),
            *(_fact_cell(name, known[place][name]) for name in beside),
        )
        for place in places
    ]
    return ModelsTable(Table("", headers, rows), tuple(board.entries[place] for place in places), tuple(beside))


def _fact_cell(name: str, value: Any) -> Cell:
    text = fact_text(name, value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return number_cell(value, text) if is_number else text or None


def _known(entry: Entry, length: float, main: Column | None) -> dict[str, Any]:
    """The facts about a system; None for unknown ones."""
    signature = None if main is None or main.signature not in entry.cells else str(main.signature)
    return facts(entry) | {"bytes_a_response": None if isnan(length) else length, "signature": signature}


def heading(column: Column) -> str:
    """The heading of a column, which says if lower is more diverse.

    It has no arrow, since an arrow on a heading shows how the table is sorted.
    """
    return f"{column.label} (lower = more diverse)" if column.direction < 0 else column.label


def score_cells(board: Board, column: Column) -> list[Cell]:
    """The value of each entry in a column, shown with its interval, such as `2.89 [2.50, 3.31]`."""
    cells = [entry.cells.get(column.signature) for entry in board.entries]
    return estimate_cells([(None, None, None) if cell is None else (cell.value, cell.low, cell.high) for cell in cells])


def about_models(board: Board, made: ModelsTable, most: int | None = None, since: str = "") -> str:
    """The caption of the table, which contains untrusted names.

    Args:
        most: Number of rows shown; None: all.
        since: Date of the filter, as typed; a text that is no date is pointed out, since it matches no system.
    """
    entries = board.entries
    prompts = counted(entries[0].result.prompts, "prompt")
    lines = [] if _DATE.fullmatch(since) else ["“Generated on or after” needs a date such as 2026-01-31."]
    lines += [
        f"{len(made.entries)} of {counted(len(entries), 'system')} on {board.suite} ({prompts}, "
        f"revision {board.revision}). Higher is more diverse unless a heading says otherwise; click one to sort. "
        "Ranks are over the whole table, with 95% intervals. Columns with _reported in their names contain values that "
        "came with the submission; all others are computed here from the texts."
    ]
    if most is not None and len(made.entries) > most:
        lines.append(f"Only the first {most} systems by rank are shown; the downloads contain all of them.")
    for kind, said in (("baseline", "Known-bad baselines, for calibration"), ("human", "Written by people")):
        names = [each.result.manifest.name for each in made.entries if each.result.manifest.system.type == kind]
        if names:
            lines.append(f"{said}: {listed(names, _NAMED)}.")
    return " ".join(lines)


def columns_table(board: Board) -> Table:
    """The meaning, source and signature of each column of a board, one row per column."""
    headers = ("column", "description", "unit", "direction", "origin", "source", "version", "signature")
    rows = [
        (c.label, c.title, c.unit, direction_text(c), c.origin, c.paper, c.version, str(c.signature))
        for c in board.columns
    ]
    return Table("", headers, rows)


def direction_text(column: Column) -> str:
    """The direction in which a column is better or more diverse."""
    return "higher is better" if not column.direction and column.metric in QUALITY else DIRECTIONS[column.direction]


def rank_text(standing: Standing) -> str:
    """A rank with its interval and tie group, such as `3 [2–5] C`; systems sharing a letter are statistically tied."""
    if standing.rank is None or standing.group is None:
        return ""
    interval = "" if standing.low is None else f" [{standing.low}–{standing.high}]"
    return f"{standing.rank}{interval} {group_name(standing.group)}"


def group_name(group: int) -> str:
    """The letters of tie group 1, 2, …: A, B, …, Z, AA, AB, …

    >>> [group_name(n) for n in (1, 26, 27, 52, 53)]
    ['A', 'Z', 'AA', 'AZ', 'BA']
    """
    name = ""
    while group:
        group, letter = divmod(group - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def fact_text(name: str, value: Any) -> str:
    """A fact as display text; empty if unknown."""
    if value is None:
        return ""
    if name == "parameters":
        scale, unit = (10**9, "B") if value >= 10**9 else (10**6, "M")
        return f"{value / scale:.3g}{unit}"
    if name == "bytes_a_response":
        return f"{value:,.0f}"
    return {True: "open", False: "closed"}[value] if isinstance(value, bool) else str(value)


def facets(board: Board) -> dict[str, list[str]]:
    """The values in the board's manifests that each filter can select."""
    manifests = [entry.result.manifest for entry in board.entries]
    return {
        "types": sorted({m.system.type for m in manifests}),
        "modes": sorted({m.generation.mode for m in manifests if m.generation.mode is not None}),
        "licences": sorted({m.system.licence for m in manifests if m.system.licence is not None}),
    }
