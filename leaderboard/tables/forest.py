"""Content of the first page: the answer in one sentence, and the ranked systems as a forest plot.

People and known-bad baselines are not ranked; they are shown as reference lines.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log10

from benchmark.analysis.ranking import Standing
from divbench.core.tables import listed, number, places_for
from leaderboard.data.board import REFERENCE_TYPES, Board, Column, Entry
from leaderboard.data.reference.systems import SHOWN_ATTACKS
from leaderboard.tables.models import direction_text
from leaderboard.tables.systems import system_ids, system_labels

_MARGIN = 0.04  # share of the scale left free on both sides, so that no whisker ends at the edge
_AGAIN = "Scores of other versions or models of the metric are not comparable: to be ranked, score these again."
_NAMED = 3  # maximum number of systems named as tied with the first
# Descriptions of the scores of headline metrics in the sentence.
_SAID = {
    "valid_distinct_k": "different valid responses of {k}",
    "distinct_k": "different responses of {k}",
}
QUALITY = ("mean_head_quality", "mean_head_quality_reported", "valid_share")


@dataclass(frozen=True, slots=True)
class Mark:
    """A value with its interval, and their positions on the scale."""

    text: str
    interval: str  # the interval as text, such as `[4.70, 5.52]`; empty if there is none
    at: float  # position of the value, in percent of the scale
    low: float | None  # position of the lower end
    high: float | None  # position of the upper end
    value: float
    ends: tuple[float, float] | None  # the interval itself


@dataclass(frozen=True, slots=True)
class ForestRow:
    """A ranked system."""

    system: str  # its label; untrusted
    id: str
    type: str
    mode: str  # sampling mode; empty if unknown; untrusted
    rank: int
    ranks: str  # interval of the rank, such as `3–5`; empty if there is none or it has only one rank
    group: int  # number of the tie group; systems in the same group are statistically tied
    opens: bool  # whether the row is the first of its tie group
    closes: bool  # whether the row is the last of its tie group
    mark: Mark
    quality: str  # quality as text; empty if it was not judged
    origin: str = ""  # note on the result's origin; empty if there is none


@dataclass(frozen=True, slots=True)
class Reference:
    """People or a known-bad baseline, drawn as a line across all rows."""

    system: str  # its label; untrusted
    id: str
    type: str
    mark: Mark
    quality: str  # quality as text; empty if it was not judged
    origin: str = ""  # note on the result's origin; empty if there is none
    # Whether its row is shown only on demand, as for most of the package's many attacks, but never for the known-bad
    # baseline that does best.
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Forest:
    """The content of a board's first page."""

    sentence: str  # the answer; contains untrusted names
    metric: str
    title: str  # title of the column, with its direction and what *valid* means
    quality: str  # title of the quality column; empty if the board has no quality metric
    rows: tuple[ForestRow, ...]  # ranked systems, the best first
    references: tuple[Reference, ...]  # people, then baselines, each by value
    ticks: tuple[tuple[float, str], ...]  # position in percent and text of each tick of the scale
    zero: float | None  # position of 0 in percent, where bars begin; None if the scale does not include 0
    lacking: tuple[str, ...]  # systems without a value; untrusted
    again: str  # what to do about them if the board has the metric under other signatures, too; otherwise empty
    partial: tuple[str, ...]  # systems with a value for some of the prompts only, such as `mine (66 of 100)`; untrusted
    more: int  # number of ranked systems after those in `rows`, which are left out


def forest(
    board: Board,
    column: Column,
    standing: Sequence[Standing],
    places: Sequence[int] | None = None,
    most: int | None = None,
) -> Forest:
    """The forest plot of a column of a board.

    Args:
        standing: Standing of each entry, in the board's order; references have no rank.
        places: Indices of the entries to show; None: all.
        most: Maximum number of ranked systems, the best ones; None: all. References are never left out.
    """
    shown = range(len(board.entries)) if places is None else places
    labels, ids = system_labels(board), system_ids(board)
    cells = {place: board.entries[place].cells.get(column.signature) for place in shown}
    valued = {place: cell for place, cell in cells.items() if cell is not None and cell.value is not None}
    lacking = tuple(labels[place] for place in shown if place not in valued)
    ranked = sorted(
        (place for place in valued if standing[place].rank is not None),
        key=lambda place: (standing[place].rank or 0, labels[place]),
    )
    left_out = set() if most is None else set(ranked[most:])
    ranked = ranked[:most]
    there = {place: cell for place, cell in valued.items() if place not in left_out}
    prompts = {place: board.entries[place].result.prompts for place in there}
    partial = [place for place in there if there[place].n < prompts[place]]
    partial.sort(key=lambda place: standing[place].rank is None)
    ends = [end for cell in there.values() for end in (cell.value, cell.low, cell.high) if end is not None]
    scale = _Scale.over(ends)
    digits = places_for(c.high - c.low for c in there.values() if c.low is not None and c.high is not None)
    quality = next((c for metric in QUALITY for c in board.columns if c.metric == metric), None)
    groups = [standing[place].group or 0 for place in ranked]
    rows = []
    for i, place in enumerate(ranked):
        entry, stands = board.entries[place], standing[place]
        rows.append(
            ForestRow(
                labels[place],
                ids[place],
                entry.result.manifest.system.type,
                entry.result.manifest.generation.mode or "",
                stands.rank or 0,
                "" if stands.low is None or stands.low == stands.high else f"{stands.low}–{stands.high}",
                groups[i],
                i == 0 or groups[i - 1] != groups[i],
                i + 1 == len(groups) or groups[i + 1] != groups[i],
                scale.mark(there[place].value, there[place].low, there[place].high, digits),
                _quality(entry, quality),
                entry.origin,
            )
        )
    references = [
        Reference(
            labels[place],
            ids[place],
            kind,
            scale.mark(cell.value, cell.low, cell.high, digits),
            _quality(board.entries[place], quality),
            board.entries[place].origin,
            kind == "baseline" and is_folded(board.entries[place]),
        )
        for place, cell in there.items()
        if standing[place].rank is None
        and (kind := board.entries[place].result.manifest.system.type) in REFERENCE_TYPES
    ]
    references.sort(key=lambda each: (REFERENCE_TYPES.index(each.type), -each.mark.at * (column.direction or 1)))
    best = next((i for i, each in enumerate(references) if each.type == "baseline"), None)
    if best is not None:  # a line across all rows marks it
        references[best] = replace(references[best], folded=False)
    with_score = len(rows) + len(left_out) if lacking else None
    return Forest(
        _sentence(board, column, rows, references, with_score, filtered=len(shown) < len(board.entries)),
        column.label,
        f"{column.title}; {direction_text(column)}{_judged_by(column)}",
        ("" if quality is None else "valid" if quality.metric == "valid_share" else "quality"),
        tuple(rows),
        tuple(references),
        scale.ticks(),
        scale.at(0.0) if scale.low <= 0 <= scale.high else None,
        lacking,
        _AGAIN if lacking and sum(each.metric == column.metric for each in board.columns) > 1 else "",
        tuple(f"{labels[place]} ({there[place].n} of {prompts[place]})" for place in partial),
        len(left_out),
    )


def _judged_by(column: Column) -> str:
    """What the discriminator does and does not look for, if it judges which responses are valid."""
    judge = next((model for model in column.signature.models if model.startswith("validity-v")), None)
    if judge is None:
        return ""
    judged, not_judged = ", about the prompt,", ""
    if judge.endswith(",texts"):  # without an embedder
        judged, not_judged = "", "about the prompt, "
    return (
        f". Valid responses are readable{judged} and neither an echo nor a refusal; "
        f"whether they are {not_judged}true or good is not judged"
    )


def is_folded(entry: Entry) -> bool:
    """Whether an entry is an attack of the package that the first page shows only on demand."""
    return bool(entry.origin) and entry.result.manifest.name not in SHOWN_ATTACKS


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float

    @classmethod
    def over(cls, values: Sequence[float]) -> "_Scale":
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        margin = _MARGIN * (high - low) or 0.5
        return cls(low - margin, high + margin)

    def at(self, value: float) -> float:
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    def mark(self, value: float | None, low: float | None, high: float | None, digits: int) -> Mark:
        assert value is not None  # noqa: S101 - callers pass only cells with a value
        if low is None or high is None:
            return Mark(number(value, digits), "", self.at(value), None, None, value, None)
        interval = f"[{number(low, digits)}, {number(high, digits)}]"
        ends = self.at(low), self.at(high)
        return Mark(number(value, digits), interval, self.at(value), *ends, value, (low, high))

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Three to six round numbers on the scale, with their positions."""
        rough = (self.high - self.low) / 4
        unit = 10.0 ** floor(log10(rough))
        step = unit * max(factor for factor in (1, 2, 5) if factor * unit <= rough)
        values = [step * i for i in range(ceil(self.low / step), floor(self.high / step) + 1)]
        return tuple((self.at(value), f"{value:.6g}") for value in values)


def _quality(entry: Entry, column: Column | None) -> str:
    cell = None if column is None else entry.cells.get(column.signature)
    if column is None or cell is None or cell.value is None:
        return ""
    return _percent(cell.value) if column.metric == "valid_share" else number(cell.value, 2)


def _percent(share: float) -> str:
    """A share as a rounded percentage; only 0 and 1 become 0% and 100%.

    >>> [_percent(share) for share in (0.0, 0.005, 0.986, 0.995, 1.0)]
    ['0%', '<1%', '99%', '>99%', '100%']
    """
    if 0 < share <= 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def score_text(column: Column, k: int, value: float | None) -> str:
    """A system's score in words, such as `5.06 different valid responses of 8`."""
    if value is None:
        return f"no value of {column.title}"
    said = _SAID.get(column.metric)
    return f"{value:.2f} by {column.title}" if said is None else f"{value:.2f} {said.format(k=k)}"


def _sentence(
    board: Board,
    column: Column,
    rows: Sequence[ForestRow],
    references: Sequence[Reference],
    with_score: int | None,
    *,
    filtered: bool,
) -> str:
    """Say which system is most diverse, compared with people if there are any.

    Args:
        with_score: Number of ranked systems with a value if others have none; else None.
    """
    if not rows:
        return "No ranked system matches the filters." if filtered else "No system has a value here yet."
    prompts = board.entries[0].result.prompts
    said = _SAID.get(column.metric, f"{column.title}" if column.direction else column.label).format(k=board.k)
    counted = column.metric in _SAID
    best = rows[0]
    people = next((each for each in references if each.type == "human"), None)
    start = f"On {prompts} open prompt{'' if prompts == 1 else 's'}, "
    if people is not None:
        start += f"people give {people.mark.text} {said}" if counted else f"people reach {people.mark.text} ({said})"
        start += "; "
    mode = f" ({best.mode})" if best.mode else ""
    verb = "gives" if counted else "reaches"
    tail = "" if people is not None else f" {said}" if counted else f" ({said})"
    who = f"{best.system}{mode}"
    if len(rows) > 1:
        of = "system" if with_score is None else f"of the {with_score} systems with this score"
        of = f"of the {len(rows)} systems shown" if best.rank > 1 else of
        who = f"the {'most diverse' if column.direction else 'highest-scoring'} {of}, {who},"
    line = f"{start}{who} {verb} {best.mark.text}{tail}"
    tied = [row.system for row in rows[1:] if row.group == best.group]
    if tied:
        line += f", statistically tied with {listed(tied, _NAMED)}"
    return line + "."
