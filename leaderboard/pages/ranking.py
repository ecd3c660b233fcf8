"""The ranking of a board: the answer in one sentence, the ranked systems, and those that are shown without a rank.

People, base models and known-bad baselines calibrate a board: each kind is a group of its own. Systems that the board
lacks, but another board of the suite has, stand beside the ranking by that board's value, never in it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil, floor, log10
from pathlib import Path
from types import MappingProxyType
from typing import Any

from markupsafe import Markup

from benchmark.analysis.ranking import Standing
from benchmark.scoring.reported import judged_version
from divbench.core.errors import counted, need
from divbench.core.tables import interval, listed, number, places_for
from leaderboard.data.board import Board, Column, Entry, facts, is_roughly_estimated, is_stated
from leaderboard.data.kinds import KINDS, Kind, asked, cut_of, kind_of, size_of, weights_of
from leaderboard.pages.systems import direction_text, system_labels

QUALITY: Mapping[str, str] = {  # the metrics of quality, the best evidence first, with their headings
    "mean_head_quality_reported": "quality, 1–10",
    "mean_head_quality": "quality, 1–10",
    "estimated_quality": "quality, 1–10",
    "valid_share": "valid",
}
USEFUL = ("valid_distinct_k", "valid_distinct_k_reported")
_ANSWERS: Mapping[str, str] = {  # what a headline metric counts
    **dict.fromkeys(USEFUL, "useful different answers"),
    **dict.fromkeys(("distinct_k", "distinct_k_reported"), "different answers"),
}
INDEPENDENT, DIFFERENT, OTHERWISE, PEOPLE = "independently", "for a different one", "in another way", "people"
# Profiles with the same scale: the second estimates what the first judges.
_BESIDE = {"noveltybench-1.1", "offline"}
_MARGIN = 0.04  # share of the scale left free on both sides, so that no whisker ends at the edge
_AGAIN = "Scores of other versions or models of the metric are not comparable: to be ranked, score these again."
MOST = 40  # ranked systems that are shown at first, and as many beside them
_LISTED = 5  # maximum number of systems named in a note
_NAMED = 3  # maximum number of systems named as tied with the first
_FEWEST = 2  # systems of a year about which the sentence speaks
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "June", "July", "Aug", "Sep", "Oct", "Nov", "Dec")
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
Link = Callable[[str, str], str]


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
class Line:
    """A system with its value."""

    entry: Entry
    system: str  # its label; untrusted
    id: str
    board: str  # name of the board that the value is on
    kind: Kind
    asked: str  # how it was asked: one of the four above
    facts: str  # what kind it is, if no chat model, its size, weights and date, and responses without an answer
    cut: str  # how its responses were cut short, in one sentence; empty if they were not
    mark: Mark
    quality: float | None
    quality_text: str  # empty if it was not judged
    of: int  # number of responses per prompt
    measured: str  # *judged* or *estimated*
    is_aside: bool = False  # whether it is measured otherwise than the systems of the board
    rank: int = 0  # 0: not ranked
    ranks: str = ""  # interval of the rank, such as `3–5`; empty if there is none or it has only one rank
    group: int = 0  # number of the tie group; systems in the same group are statistically tied
    opens: bool = False  # whether the line is the first of its tie group
    closes: bool = False  # whether the line is the last of its tie group


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ranking of a board by a column."""

    sentence: str  # the answer; contains untrusted names
    metric: str  # label of the column
    heading: str  # what is counted, in words
    title: str  # title of the column, with its direction and what *valid* means
    quality: str  # heading of the quality column; empty if the board has no quality metric
    quality_metric: str
    lines: tuple[Line, ...]  # ranked systems, the best first
    of: int  # number of responses per prompt
    aside: str  # how the systems beside it are measured
    beside: tuple[Line, ...]  # systems that only another board of the suite has, the highest value first
    groups: tuple[tuple[Kind, tuple[Line, ...]], ...]  # systems without a rank by kind, each the highest value first
    ticks: tuple[tuple[float, str], ...]  # position in percent and text of each tick of the scale
    lacking: tuple[str, ...]  # systems without a value; untrusted
    again: str  # what to do about them if the board has the metric under other signatures, too; otherwise empty
    partial: tuple[str, ...]  # systems with a value for some of the prompts only, such as `mine (66 of 100)`; untrusted

    @property
    def everyone(self) -> tuple[Line, ...]:
        """All lines: ranked systems, those beside them, and the groups."""
        return (*self.lines, *self.beside, *(line for _, lines in self.groups for line in lines))


def ranking(
    board: Board,
    column: Column,
    standing: Sequence[Standing],
    keep: Callable[[Entry], bool] = lambda entry: True,
    others: Sequence[tuple[Board, Column]] = (),
) -> Ranking:
    """Rank the entries of a board that a filter keeps; `others` are boards whose systems stand beside them."""
    labels = system_labels(board)
    shown = [index for index, entry in enumerate(board.entries) if keep(entry)]
    cells = {index: board.entries[index].cells.get(column.signature) for index in shown}
    valued = {index: cell for index, cell in cells.items() if cell is not None and cell.value is not None}
    aside = [
        (other, their, index)
        for other, their, index in _only_on(others, board)
        if keep(other.entries[index]) and _value(other.entries[index], their) is not None
    ]
    every = [(board, column, index) for index in valued] + aside
    scores = [b.entries[i].cells[c.signature] for b, c, i in every]
    scale = (
        _Scale.of_counts(board.k)
        if column.metric in _ANSWERS
        else _Scale.over([e for cell in scores for e in (cell.value, cell.low, cell.high) if e is not None])
    )
    digits = places_for(cell.high - cell.low for cell in scores if cell.low is not None and cell.high is not None)
    named = {b.name: system_labels(b) for b in (board, *(other for other, _ in others))}
    measured = _measured(board)
    lines = {(b.name, i): _line(b, c, i, scale, digits, named[b.name][i], measured) for b, c, i in every}
    ranked = [index for index in valued if standing[index].rank is not None]
    ranked.sort(key=lambda index: (standing[index].rank or 0, labels[index]))
    rows = _with_groups([_ranked(lines[board.name, index], standing[index]) for index in ranked])
    rest = [lines[b.name, i] for b, _, i in every if b is not board or i not in ranked]
    rest.sort(key=lambda line: -line.mark.value * (column.direction or 1))
    prompts = {index: board.entries[index].result.prompts for index in valued}
    partial = sorted(
        (index for index in valued if valued[index].n < prompts[index]), key=lambda i: standing[i].rank is None
    )
    lacking = tuple(labels[index] for index in shown if index not in valued)
    quality = quality_column(board)
    groups = [(kind, tuple(line for line in rest if line.kind is kind)) for kind in KINDS if not kind.is_ranked]
    people = [line for line in rest if line.asked == PEOPLE and line.of == board.k]
    whole = len(shown) == len(board.entries)
    return Ranking(
        _sentence(board, column, rows, people, lacking=bool(lacking), filtered=not whole),
        column.label,
        f"{_ANSWERS[column.metric]} of {board.k}" if column.metric in _ANSWERS else column.title,
        f"{column.title}; {direction_text(column)}{judged_by(column)}",
        "" if quality is None else QUALITY[quality.metric],
        "" if quality is None else quality.label,
        rows,
        board.k,
        "estimated, not judged" if judged_version(board.profile) else "judged, not estimated",
        tuple(line for line in rest if line.kind.is_ranked),
        tuple((kind, of_kind) for kind, of_kind in groups if of_kind),
        scale.ticks(),
        lacking,
        _AGAIN if lacking and sum(other.metric == column.metric for other in board.columns) > 1 else "",
        tuple(f"{labels[index]} ({valued[index].n} of {prompts[index]})" for index in partial),
    )


def beside(boards: Sequence[Board], board: Board, column: Column) -> list[tuple[Board, Column]]:
    """Return the boards whose systems stand beside a ranking of useful answers: judged ones beside estimates, and back.

    Version 1.0 of the judgements has another scale, so nothing stands beside it but its own other numbers of answers.
    """
    if column.metric not in USEFUL:
        return []
    others = []
    for other in boards:
        useful = next((c for c in other.columns if c.metric in USEFUL), None)
        if useful is None or other is board or (other.suite, other.revision) != (board.suite, board.revision):
            continue
        if other.profile == board.profile or {other.profile, board.profile} == _BESIDE:
            others.append((other, useful))
    return sorted(others, key=lambda pair: pair[0].k != board.k)


def quality_column(board: Board) -> Column | None:
    """Return the column with the best evidence of quality; None if the board has none."""
    return next((c for metric in QUALITY for c in board.columns if c.metric == metric), None)


def _only_on(others: Sequence[tuple[Board, Column]], board: Board) -> list[tuple[Board, Column, int]]:
    """Return the entries of other boards whose systems neither the board nor an earlier one has.

    At another number of responses only people are taken, who gave fewer than systems.
    """
    known = {entry.system for entry in board.entries}
    only = []
    for other, column in others:
        for index, entry in enumerate(other.entries):
            if entry.system not in known and (other.k == board.k or entry.result.manifest.system.type == "human"):
                only.append((other, column, index))
        known |= {other.entries[index].system for other, _, index in only}
    return only


def _value(entry: Entry, column: Column | None) -> float | None:
    cell = None if column is None else entry.cells.get(column.signature)
    return None if cell is None else cell.value


def _line(board: Board, column: Column, index: int, scale: "_Scale", digits: int, label: str, measured: str) -> Line:
    entry, cell = board.entries[index], board.entries[index].cells[column.signature]
    quality, kind = quality_column(board), kind_of(entry)
    value = _value(entry, quality)
    text = "" if value is None else _percent(value) if quality and quality.metric == "valid_share" else f"{value:.1f}"
    how = INDEPENDENT if entry.result.manifest.generation.mode is None else OTHERWISE
    known = (size_of(entry), weights_of(entry), _month(entry), _unanswered(entry))
    return Line(
        entry,
        label,
        entry.system,
        board.name,
        kind,
        PEOPLE if kind.type == "human" else asked(entry) or how,
        " · ".join(filter(None, ("" if kind is KINDS[0] else kind.name, *known))),
        cut_of(entry) or "",
        scale.mark(cell.value or 0.0, cell.low, cell.high, digits),
        value,
        text,
        board.k,
        _measured(board),
        _measured(board) != measured,
    )


def _measured(board: Board) -> str:
    return "judged" if judged_version(board.profile) else "estimated"


def _month(entry: Entry) -> str:
    """Return when the responses were sampled, such as `Sep 2026`; empty if it is not known."""
    date = entry.result.manifest.submitter.date
    return "" if date is None else f"{_MONTHS[date.month - 1]} {date.year}"


def _unanswered(entry: Entry) -> str:
    """Return how many responses are blank, placeholders or refusals; empty if none is, or if that is not known."""
    known = facts(entry)
    count, total = known["not_answered"], known["responses"]
    return f"{count:,} of {total:,} without an answer" if count else ""


def _ranked(line: Line, stands: Standing) -> Line:
    interval = "" if stands.low is None or stands.low == stands.high else f"{stands.low}–{stands.high}"
    return replace(line, rank=stands.rank or 0, ranks=interval, group=stands.group or 0)


def _with_groups(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Mark the first and last line of each tie group."""
    groups = [0, *(line.group for line in lines), 0]
    return tuple(
        replace(
            line, opens=i == 1 or groups[i - 1] != line.group, closes=i == len(lines) or groups[i + 1] != line.group
        )
        for i, line in enumerate(lines, 1)
    )


def judged_by(column: Column) -> str:
    """Say how validity is decided: by a judge's score, by comparison with judged responses, or by a rough estimate."""
    judge = next((model for model in column.signature.models if model.startswith("validity-")), "")
    if lowest := judge.partition(",")[0].partition("validity-from-")[2]:
        return f". Responses are valid if a judge scores the first of their class {lowest} or more of 10"
    if is_stated(column.signature):
        return (
            ". Responses are valid as their scorer stated, by the rule in the signature; nobody here has checked that"
        )
    if not judge.startswith("validity-v"):
        return ""
    known = (
        "a rough estimate" if is_roughly_estimated(column.signature) else "comparison with others that a judge scored"
    )
    return f". Valid responses do what was asked, by {known}; whether they are true or safe is not judged"


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float

    @classmethod
    def of_counts(cls, k: int) -> "_Scale":
        return cls(0.0, k + _MARGIN * k)

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


def _percent(share: float) -> str:
    """Return a share as a rounded percentage; only 0 and 1 become 0% and 100%.

    >>> [_percent(share) for share in (0.0, 0.005, 0.986, 0.995, 1.0)]
    ['0%', '<1%', '99%', '>99%', '100%']
    """
    if 0 < share <= 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def score_text(column: Column, k: int, value: float | None) -> str:
    """Return a system's score in words, such as `5.06 useful different answers of 8`."""
    if value is None:
        return f"no value of {column.title}"
    words = _ANSWERS.get(column.metric)
    return f"{value:.2f} by {column.title}" if words is None else f"{value:.2f} {words} of {k}"


def _sentence(
    board: Board,
    column: Column,
    lines: Sequence[Line],
    people: Sequence[Line],
    *,
    lacking: bool,
    filtered: bool,
) -> str:
    """Say what the newest systems give, asked independently and for a different answer; else which gives the most."""
    if not lines:
        return "No ranked system matches the filters." if filtered else "No system has a value here yet."
    words = _ANSWERS.get(column.metric)
    if words and not filtered and (newest := _of_the_newest_year(lines, words, board.k)):
        return newest
    best, shown = lines[0], f"the {counted(len(lines), 'system')} {'with this score' if lacking else 'shown'}"
    times = f"Asked {_word(board.k)} time{'' if board.k == 1 else 's'}, "
    if words is None:
        most = "highest" if column.direction >= 0 else "lowest"
        text = (
            f"{column.title[:1].upper()}{column.title[1:]}: {most} of {shown} is {best.system}, with {best.mark.text}"
        )
    elif len(lines) == 1:
        text = f"{times}{best.system} gives {best.mark.text} {words}"
    else:
        name = f"{best.system}," if "," in best.system else best.system
        text = f"{times}{name} gives the most {words} of {shown}, {best.mark.text}"
    tied = [line.system for line in lines[1:] if line.group == best.group]
    if tied:
        text += f", statistically tied with {listed(tied, _NAMED)}"
    if people:
        text += f"; people{authors(people[0])} {'give' if words else 'score'} {people[0].mark.text}"
    return text + "."


def authors(people: Line) -> str:
    """Say in brackets how many people answered; empty for people of others' results."""
    return f" ({people.of} authors, one answer each)" if people.entry.origin else ""


def _of_the_newest_year(lines: Sequence[Line], words: str, k: int) -> str:
    """Say what the systems of the newest year give; empty if fewer than two that ship with the package have a date.

    They are called the best models if each has a higher quality than every earlier system that was asked alike.
    """
    dated = [line for line in lines if line.entry.origin and line.entry.result.manifest.submitter.date]
    years = {line.id: line.entry.result.manifest.submitter.date.year for line in dated}  # type: ignore[union-attr]
    year = max(years.values(), default=0)
    alike = [line for line in lines if line.asked == INDEPENDENT]
    new = [line for line in alike if years.get(line.id) == year]
    if len(new) < _FEWEST:
        return ""
    before = [line.quality for line in alike if line not in new]
    qualities = [line.quality for line in new]
    known = [quality for quality in (*before, *qualities) if quality is not None]
    is_best = len(known) == len(alike) > len(new) and min(known[len(before) :]) > max(known[: len(before)])
    who = f"the best models of {year}" if is_best else f"the {_word(len(new))} models sampled in {year}"
    values = [line.mark.value for line in new]
    ends = f" ({min(values):.1f} to {max(values):.1f})"
    text = f"Asked {_word(k)} times, {who} give {_about(values)} {words}{ends}"
    different = [line.mark.value for line in lines if line.asked == DIFFERENT and years.get(line.id) == year]
    if len(different) >= _FEWEST:
        text += f"; asked each time for a different one, {_about(different)}"
    return text + "."


def _about(values: Sequence[float]) -> str:
    """Return the range of some numbers of answers in rounded words.

    >>> _about([2.64, 3.1]), _about([8.1, 9.38])
    ('about three', 'eight to nine')
    """
    low, high = round(min(values)), round(max(values))
    return f"about {_word(low)}" if low == high else f"{_word(low)} to {_word(high)}"


def _word(number: int) -> str:
    return _WORDS[number] if number < len(_WORDS) else str(number)


@cache
def template(name: str) -> Any:
    """Load a template; its line ends and indentation are left out of the page, and all values are escaped."""
    jinja = need("jinja2", "board")
    folder = Path(__file__).parent / "templates"
    loader = jinja.FunctionLoader(
        lambda name: "".join(map(str.strip, (folder / name).read_text(encoding="utf-8").splitlines()))
    )
    return jinja.Environment(autoescape=True, undefined=jinja.StrictUndefined, loader=loader).get_template(name)


def ranking_table(
    view: Ranking,
    link: Link | None = None,
    prompt: str = "",
    examples: Mapping[tuple[str, str], Sequence[str]] = MappingProxyType({}),
    notes: Sequence[Markup | str] = (),
    *,
    compare: bool = False,
) -> Markup:
    """Render the systems, whose names link to an address, with their first answers to a prompt."""
    origins = Counter(line.entry.origin for line in view.everyone if line.entry.origin)
    every = len(view.everyone)
    sentences = [
        *notes,
        *(f"{'All' if n == every else f'{n} of {every}'} systems: {o}." for o, n in sorted(origins.items())),
    ]
    if view.lacking:
        verb = "system has" if len(view.lacking) == 1 else "systems have"
        sentences.append(f"{len(view.lacking)} {verb} no such score: {listed(view.lacking, _LISTED)}. {view.again}")
    if view.partial:
        sentences.append(f"Means over fewer prompts, those with a value: {listed(view.partial, _LISTED)}.")
    rendered = template("ranking.html").render(
        view=view,
        of=view.of,
        link=link,
        prompt=prompt,
        examples=examples,
        notes=list(filter(None, sentences)),
        compare=compare,
        most=MOST,
        columns=5 + compare + bool(view.quality) + bool(prompt),
    )
    return Markup(rendered)  # noqa: S704 - the template escapes
