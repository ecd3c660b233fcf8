"""The ranking of a board: the answer in one sentence, and the ranked systems as a forest plot in an HTML table.

People and known-bad baselines are not ranked; they are reference lines. Positions in the plot are attributes of SVG
elements rather than inline styles, so that the table works under the strictest Content-Security-Policy.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

from markupsafe import Markup

from benchmark.analysis.ranking import Standing
from divbench.core.errors import counted, need
from divbench.core.tables import interval, listed, number, places_for
from leaderboard.data.board import REFERENCE_TYPES, Board, Column, Entry, is_roughly_estimated
from leaderboard.data.reference.systems import SHOWN_ATTACKS
from leaderboard.pages.systems import direction_text, system_ids, system_labels

QUALITY = ("mean_head_quality", "valid_share")
_MARGIN = 0.04  # share of the scale left free on both sides, so that no whisker ends at the edge
_AGAIN = "Scores of other versions or models of the metric are not comparable: to be ranked, score these again."
_NAMED = 3  # maximum number of systems named as tied with the first
_LISTED = 5  # maximum number of systems named as having no value
_CLOSE = 22  # distance in percent of the scale below which two labels would overlap
_SCORES = {  # descriptions of the scores of headline metrics
    "valid_distinct_k": "different valid responses of {k}",
    "distinct_k": "different responses of {k}",
}
Link = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Mark:
    """A value with its interval, and their positions on the scale in percent."""

    text: str
    interval: str  # the interval as text, such as `[4.70, 5.52]`; empty if there is none
    at: float
    low: float | None
    high: float | None
    value: float
    ends: tuple[float, float] | None  # the interval itself


@dataclass(frozen=True, slots=True)
class ForestRow:
    """A ranked system, or people or a known-bad baseline, which have no rank and are lines across all rows."""

    system: str  # its label; untrusted
    id: str
    type: str
    mode: str  # sampling mode; empty if unknown; untrusted
    rank: int  # 0: not ranked
    ranks: str  # interval of the rank, such as `3–5`; empty if there is none or it has only one rank
    group: int  # number of the tie group; systems in the same group are statistically tied
    mark: Mark
    quality: str  # quality as text; empty if it was not judged
    origin: str  # note on the result's origin; empty if there is none
    opens: bool = False  # whether the row is the first of its tie group
    closes: bool = False  # whether the row is the last of its tie group
    # Whether its row is shown only on demand, as for most of the package's many attacks, but never for the known-bad
    # baseline that does best.
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Forest:
    """The ranking of a board."""

    sentence: str  # the answer; contains untrusted names
    metric: str
    title: str  # title of the column, with its direction and what *valid* means
    quality: str  # title of the quality column; empty if the board has no quality metric
    rows: tuple[ForestRow, ...]  # ranked systems, the best first
    references: tuple[ForestRow, ...]  # people, then baselines, each by value
    ticks: tuple[tuple[float, str], ...]  # position in percent and text of each tick of the scale
    zero: float | None  # position of 0 in percent, where bars begin; None if the scale does not include 0
    lacking: tuple[str, ...]  # systems without a value; untrusted
    again: str  # what to do about them if the board has the metric under other signatures, too; otherwise empty
    partial: tuple[str, ...]  # systems with a value for some of the prompts only, such as `mine (66 of 100)`; untrusted


def forest(
    board: Board,
    column: Column,
    standing: Sequence[Standing],
    indices: Sequence[int] | None = None,
) -> Forest:
    """Make the forest plot of a column of a board, of all entries or some."""
    shown = range(len(board.entries)) if indices is None else indices
    labels = system_labels(board)
    cells = {index: board.entries[index].cells.get(column.signature) for index in shown}
    valued = {index: cell for index, cell in cells.items() if cell is not None and cell.value is not None}
    ranked = [index for index in valued if standing[index].rank is not None]
    ranked.sort(key=lambda index: (standing[index].rank or 0, labels[index]))
    prompts = {index: board.entries[index].result.prompts for index in valued}
    partial = sorted(
        (index for index in valued if valued[index].n < prompts[index]), key=lambda i: standing[i].rank is None
    )
    scale = _Scale.over([e for cell in valued.values() for e in (cell.value, cell.low, cell.high) if e is not None])
    digits = places_for(c.high - c.low for c in valued.values() if c.low is not None and c.high is not None)
    quality = next((c for metric in QUALITY for c in board.columns if c.metric == metric), None)

    def row(index: int) -> ForestRow:
        entry, cell, stands = board.entries[index], valued[index], standing[index]
        return ForestRow(
            labels[index],
            system_ids(board)[index],
            entry.result.manifest.system.type,
            entry.result.manifest.generation.mode or "",
            stands.rank or 0,
            "" if stands.low is None or stands.low == stands.high else f"{stands.low}–{stands.high}",
            stands.group or 0,
            scale.mark(cell.value or 0.0, cell.low, cell.high, digits),
            _quality(entry, quality),
            entry.origin,
            folded=entry.result.manifest.system.type == "baseline" and is_folded(entry),
        )

    rows = _with_groups([row(index) for index in ranked])
    references = [row(index) for index in valued if standing[index].rank is None]
    references = [reference for reference in references if reference.type in REFERENCE_TYPES]
    references.sort(key=lambda r: (REFERENCE_TYPES.index(r.type), -r.mark.at * (column.direction or 1)))
    best = next((i for i, reference in enumerate(references) if reference.type == "baseline"), None)
    if best is not None:  # a line across all rows marks it
        references[best] = replace(references[best], folded=False)
    lacking = tuple(labels[index] for index in shown if index not in valued)
    with_score = len(rows) if lacking else None
    return Forest(
        _sentence(board, column, rows, references, with_score, filtered=len(shown) < len(board.entries)),
        column.label,
        f"{column.title}; {direction_text(column)}{judged_by(column)}",
        ("" if quality is None else "valid" if quality.metric == "valid_share" else "quality"),
        rows,
        tuple(references),
        scale.ticks(),
        scale.at(0.0) if scale.low <= 0 <= scale.high else None,
        lacking,
        _AGAIN if lacking and sum(other.metric == column.metric for other in board.columns) > 1 else "",
        tuple(f"{labels[index]} ({valued[index].n} of {prompts[index]})" for index in partial),
    )


def _with_groups(rows: Sequence[ForestRow]) -> tuple[ForestRow, ...]:
    """Mark the first and last row of each tie group."""
    groups = [0, *(row.group for row in rows), 0]
    return tuple(
        replace(row, opens=i == 1 or groups[i - 1] != row.group, closes=i == len(rows) or groups[i + 1] != row.group)
        for i, row in enumerate(rows, 1)
    )


def judged_by(column: Column) -> str:
    """Say how validity is decided: by a judge's score, by comparison with judged responses, or by a rough estimate."""
    judge = next((model for model in column.signature.models if model.startswith("validity-")), "")
    if lowest := judge.partition(",")[0].partition("validity-from-")[2]:
        return f". Responses are valid if a judge scores the first of their class {lowest} or more of 10"
    if not judge.startswith("validity-v"):
        return ""
    known = (
        "a rough estimate" if is_roughly_estimated(column.signature) else "comparison with others that a judge scored"
    )
    return f". Valid responses do what was asked, by {known}; whether they are true or safe is not judged"


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

    def mark(self, value: float, low: float | None, high: float | None, digits: int) -> Mark:
        ends = None if low is None or high is None else (low, high)
        start, end = (None, None) if ends is None else map(self.at, ends)
        return Mark(number(value, digits), interval(low, high, digits), self.at(value), start, end, value, ends)

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
    """Return a share as a rounded percentage; only 0 and 1 become 0% and 100%.

    >>> [_percent(share) for share in (0.0, 0.005, 0.986, 0.995, 1.0)]
    ['0%', '<1%', '99%', '>99%', '100%']
    """
    if 0 < share <= 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def score_text(column: Column, k: int, value: float | None) -> str:
    """Return a system's score in words, such as `5.06 different valid responses of 8`."""
    if value is None:
        return f"no value of {column.title}"
    words = _SCORES.get(column.metric)
    return f"{value:.2f} by {column.title}" if words is None else f"{value:.2f} {words.format(k=k)}"


def _sentence(
    board: Board,
    column: Column,
    rows: Sequence[ForestRow],
    references: Sequence[ForestRow],
    with_score: int | None,  # number of ranked systems with a value if others have none
    *,
    filtered: bool,
) -> str:
    """Say which system is most diverse, compared with people if there are any."""
    if not rows:
        return "No ranked system matches the filters." if filtered else "No system has a value here yet."
    prompts = board.entries[0].result.prompts
    words = _SCORES.get(column.metric, f"{column.title}" if column.direction else column.label).format(k=board.k)
    is_count = column.metric in _SCORES
    best = rows[0]
    people = next((reference for reference in references if reference.type == "human"), None)
    start = f"On {prompts} open prompt{'' if prompts == 1 else 's'}, "
    if people is not None:
        start += f"people give {people.mark.text} {words}" if is_count else f"people reach {people.mark.text} ({words})"
        start += "; "
    name = f"{best.system} ({best.mode})" if best.mode else best.system
    if len(rows) > 1:
        field = "system" if with_score is None else f"of the {with_score} systems with this score"
        field = f"of the {len(rows)} systems shown" if best.rank > 1 else field
        name = f"the {'most diverse' if column.direction else 'highest-scoring'} {field}, {name},"
    tail = "" if people is not None else f" {words}" if is_count else f" ({words})"
    line = f"{start}{name} {'gives' if is_count else 'reaches'} {best.mark.text}{tail}"
    tied = [row.system for row in rows[1:] if row.group == best.group]
    if tied:
        line += f", statistically tied with {listed(tied, _NAMED)}"
    return line + "."


@cache
def template(name: str) -> Any:
    """Load a template; its line ends and indentation are left out of the page, and all values are escaped."""
    jinja = need("jinja2", "board")
    lines = (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8").splitlines()
    environment = jinja.Environment(autoescape=True, undefined=jinja.StrictUndefined)
    return environment.from_string("".join(map(str.strip, lines)))


def forest_table(view: Forest, link: Link | None = None) -> Markup:
    """Render the sentence and the table of systems, whose names link to an address by permalink id."""
    origins = Counter(row.origin for row in (*view.rows, *view.references) if row.origin)
    people = [reference for reference in view.references if reference.type == "human"][:1]
    baselines = [reference for reference in view.references if reference.type == "baseline"][:1]
    return Markup(  # noqa: S704 - the template escapes
        template("forest.html").render(
            forest=view,
            link=link,
            lines=[*people, *baselines],  # across all rows: the first people and the best baseline
            origins=sorted(origins.items()),
            close=_CLOSE,
            named=_LISTED,
        )
    )


def other_boards(board: Board, boards: Sequence[Board], address: Callable[..., str]) -> Markup:
    """Count the systems that only other boards of the suite have, with links to these boards."""
    present = {entry.result.submission_id for entry in board.entries}
    sentences = []
    for other in boards:
        systems = {entry.result.submission_id for entry in other.entries}
        more = len(systems - present)
        if other.suite != board.suite or not more:
            continue
        differences = {
            f"at k = {other.k}": other.k != board.k,
            f"with profile {other.profile}": other.profile != board.profile,
            f"at revision {other.revision[:6]}": other.revision != board.revision,
        }
        terms = " ".join(term for term, differs in differences.items() if differs)
        link = Markup('<a href="{}">the table {}</a>').format(address(table=other.name), terms)
        end = "."
        if present <= systems:
            end = ", beside all of these."
        elif other.revision == board.revision:
            options = [f"--k {other.k}"] * (other.k != board.k)
            options += [f"--profile {other.profile}"] * (other.profile != board.profile)
            end = Markup(" (to join it, run <code>divbench score {}</code>).").format(" ".join(options))
        verb = "is" if more == 1 else "are"
        sentences.append(Markup("{} {} in {}{}").format(counted(more, "more system"), verb, link, end))
    return Markup('<p class="elsewhere">{}</p>').format(Markup(" ").join(sentences)) if sentences else Markup("")
