"""A system's responses to one prompt, with the scores, classes and surprisals in its result.

Texts are untrusted: they are passed on verbatim, cut to the length that a page can show, and must be shown as plain
text. Files are untrusted, too: a value with the wrong shape counts as missing.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.scoring.per_prompt import CLASSES, FACTS, SURPRISALS
from benchmark.scoring.results import PER_PROMPT_FILE
from divbench.core.errors import InputError, counted
from divbench.core.tables import Table
from leaderboard.data.board import Board, Column, Entry
from leaderboard.tables.prompts import ListedPrompt
from submissions.checking.response_kinds import is_blank, is_placeholder, is_refusal, is_scorable

MOST_LETTERS = 20_000  # maximum number of characters of a response on a page
_REASON = 100  # characters of a reason from a file
RESPONSE_COLUMNS = (
    *("class", "response", "#", "note"),
    *("bits/byte alone", "quality of class", "reward of class", "bytes"),
)
NO_TEXTS = (
    "Reference results include no texts, which belong to their owners. The texts are shown if DIVBENCH_MIRROR names a "
    "folder with the released files."
)
_ALWAYS = frozenset({"#", "response", "bytes"})
# Invisible characters that are not part of words but can hide text or reverse its direction.
_HIDING = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2060\u202a-\u202e\u2066-\u2069\ufeff]"
)


@dataclass(frozen=True, slots=True)
class ShownResponse:
    """A response on a page."""

    number: int  # position in sampling order, from 1
    text: str
    notes: tuple[str, ...]  # notes such as blank, refused, not valid or truncated
    is_valid: bool | None  # whether it was judged valid; None if validity was not judged
    group: int | None  # index of its equivalence class; None if it is in none
    quality: float | None  # quality of the first response of its class, 1 to 10; None if it was not rated
    reward: float | None  # raw reward of the first response of its class; None if it was not rated
    bits: float | None  # surprisal given only the prompt, in bits; None if it was not scored
    size: int  # length in bytes of UTF-8

    @property
    def rate(self) -> float | None:
        """Surprisal given only the prompt, in bits/byte."""
        return None if self.bits is None or self.size == 0 else self.bits / self.size


@dataclass(frozen=True, slots=True)
class PositionCurve:
    """The a_k curve of one prompt."""

    # a_k for k = 1 … n in bits/byte: surprisal of the response at position k given the k − 1 before it.
    rate: tuple[float, ...]
    error: tuple[float, ...]  # standard errors due to the choice of orders; NaN if unknown


@dataclass(frozen=True, slots=True)
class Score:
    """A metric's value for one prompt."""

    column: Column
    value: float | None
    reason: str
    system_mean: float | None  # mean of the system over its prompts
    ranked_mean: float | None  # mean over the means of the ranked systems; see `Board.ranked_means`


@dataclass(frozen=True, slots=True)
class PromptView:
    """The part of a result that belongs to one prompt."""

    prompt: ListedPrompt
    responses: tuple[ShownResponse, ...]  # responses in sampling order
    sizes: tuple[int, ...]  # number of responses in each equivalence class
    has_classes: bool
    curve: PositionCurve | None
    scores: tuple[Score, ...]  # scores in the order of the board's columns
    text_free: bool = False  # whether the result has no texts, so that each response is a placeholder


def make_view(board: Board, entry: Entry, row: Mapping[str, Any]) -> PromptView:
    """Make the view of a row of a result's per-prompt table.

    Args:
        row: Row from `scores.prompt_row`.

    Raises:
        InputError: The row has no list of responses.
    """
    asked = ListedPrompt(*(_text(row.get(name)) for name in ("prompt_id", "category", "prompt")))
    texts = row.get("responses")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(
            f"{entry.folder.name}: {PER_PROMPT_FILE}, {asked.prompt_id!r}: responses is not a list of texts",
            "score the submission again",
        )
    labels = _labels(row, len(texts))
    groups = max((label for label in labels if label is not None), default=-1) + 1
    sizes = tuple(labels.count(group) for group in range(groups))
    return PromptView(
        prompt=asked,
        responses=_responses(row, texts, labels, groups),
        sizes=sizes,
        has_classes=any(label is not None for label in labels),
        curve=_curve(row),
        scores=_scores(board, entry, row),
        text_free=row.get("text_free") is True,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _part(row: Mapping[str, Any], column: str, field: str) -> list[Any] | None:
    part = row.get(column)
    found = part.get(field) if isinstance(part, dict) else None
    return found if isinstance(found, list) else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _numbers(values: list[Any] | None, length: int) -> list[float | None]:
    """The numbers in a list; all None if the list has another length."""
    return [None] * length if values is None or len(values) != length else [_number(value) for value in values]


def _labels(row: Mapping[str, Any], k: int) -> list[int | None]:
    found = _part(row, CLASSES, "labels")
    if found is None or len(found) != k:
        return [None] * k
    return [label if isinstance(label, int) and 0 <= label < k else None for label in found]


def _responses(
    row: Mapping[str, Any], texts: Sequence[str], labels: Sequence[int | None], groups: int
) -> tuple[ShownResponse, ...]:
    reasons = row.get("finish_reasons")
    ended = reasons if isinstance(reasons, list) and len(reasons) == len(texts) else [None] * len(texts)
    # Only the first response of a class is rated.
    qualities = _numbers(_part(row, CLASSES, "qualities"), groups)
    rewards = _numbers(_part(row, CLASSES, "rewards"), groups)
    absent = row.get("text_free") is True
    known = _part(row, FACTS, "scored") if absent else [is_scorable(text) for text in texts]
    invalid = row.get("invalid")
    why = invalid if isinstance(invalid, list) and len(invalid) == len(texts) else [None] * len(texts)
    places = [place for place, scored in enumerate(known or ()) if scored]  # responses that the language model scored
    sizes = _numbers(_part(row, FACTS, "bytes"), len(texts))
    bits = dict(zip(places, _numbers(_part(row, SURPRISALS, "unconditional_bits"), len(places)), strict=True))
    first: dict[str, int] = {}
    made = []
    for place, (text, group) in enumerate(zip(texts, labels, strict=True)):
        made.append(
            ShownResponse(
                number=place + 1,
                text=text,
                notes=tuple(
                    notes_of(
                        text,
                        ended[place],
                        place + 1 if absent else first.setdefault(text, place + 1),
                        place + 1,
                        _text(why[place]),
                    )
                ),
                is_valid=None if why is not invalid else why[place] is None,
                group=group,
                quality=None if group is None else qualities[group],
                reward=None if group is None else rewards[group],
                bits=bits.get(place),
                size=int(sizes[place] or 0) if absent else len(text.encode("utf-8", errors="replace")),
            )
        )
    return tuple(made)


def notes_of(text: str, reason: str | None, first: int, number: int, invalid: str = "") -> list[str]:
    """Notes about a response.

    Args:
        first: Number of the first response with the same text.
        invalid: Why the response is not valid; empty if it is, or if validity was not judged.
    """
    found = []
    if is_blank(text):
        found.append("blank, not scored")
    elif is_placeholder(text):
        found.append("placeholder, not scored")
    elif is_refusal(text):
        found.append("refused, never counted as distinct")
    elif invalid:
        found.append(f"not valid: {invalid[:_REASON]}")
    if reason == "length":
        found.append("truncated")
    if first < number:
        found.append(f"repeats {first}")
    if hidden := len(_HIDING.findall(text)):
        found.append(f"{hidden} invisible characters")
    if len(text) > MOST_LETTERS:
        found.append(f"first {MOST_LETTERS:,} of {len(text):,} characters")
    return found


def _curve(row: Mapping[str, Any]) -> PositionCurve | None:
    given = _part(row, SURPRISALS, "curve_rate")
    rate = [] if given is None else [x for x in map(_number, given) if x is not None]
    if given is None or not rate or len(rate) < len(given):
        return None
    errors = _numbers(_part(row, SURPRISALS, "curve_rate_se"), len(rate))
    return PositionCurve(tuple(rate), tuple(math.nan if x is None else x for x in errors))


def _scores(board: Board, entry: Entry, row: Mapping[str, Any]) -> tuple[Score, ...]:
    missing = row.get("missing")
    why = {
        _text(item.get("metric")): _text(item.get("reason"))
        for item in (missing if isinstance(missing, list) else ())
        if isinstance(item, dict)
    }
    made = []
    for column in board.columns:
        own = entry.cells.get(column.signature)
        if own is None:  # the file's column of that name has another signature
            continue
        value = _number(row.get(column.metric))
        reason = "" if value is not None else why.get(column.metric) or "not computed"
        made.append(Score(column, value, reason, own.value, board.ranked_means[column.signature]))
    return tuple(made)


def shared_classes(view: PromptView) -> dict[int, int]:
    """The classes with more than one response, numbered from 0 to choose their colours."""
    return {group: place for place, group in enumerate(g for g, size in enumerate(view.sizes) if size > 1)}


def class_words(response: ShownResponse, view: PromptView) -> str:
    """The class of a response in words, such as `2 of 3: 4 equivalent`."""
    if response.group is None:
        return "none" if view.has_classes else ""
    count = view.sizes[response.group]
    return f"{response.group + 1} of {len(view.sizes)}: {f'{count} equivalent' if count > 1 else 'unique'}"


def by_class(view: PromptView) -> tuple[ShownResponse, ...]:
    """The responses grouped by class, in sampling order within a class; responses without a class come last."""
    return tuple(sorted(view.responses, key=lambda r: (r.group is None, r.group or 0, r.number)))


def responses_table(view: PromptView) -> Table:
    """The responses as a table grouped by class, one row each; columns without any value are left out."""
    rows = [
        (
            class_words(response, view),
            response.text[:MOST_LETTERS],
            response.number,
            "; ".join(response.notes),
            response.rate,
            response.quality,
            response.reward,
            response.size,
        )
        for response in by_class(view)
    ]
    kept = [
        place
        for place, name in enumerate(RESPONSE_COLUMNS)
        if name in _ALWAYS or any(row[place] not in {"", None} for row in rows)
    ]
    return Table("", [RESPONSE_COLUMNS[place] for place in kept], [[row[place] for place in kept] for row in rows])


def scores_table(view: PromptView) -> Table:
    """The scores as a table with one row per metric."""
    rows = [(s.column.label, s.value, s.system_mean, s.ranked_mean, s.column.unit, s.reason) for s in view.scores]
    numbers = ("this prompt", "system mean", "mean of ranked systems")
    return Table("", ("metric", *numbers, "unit", "missing because"), rows)


def curve_table(view: PromptView) -> Table:
    """The a_k curve as a table with one row per position; empty if there is no curve."""
    curve = view.curve or PositionCurve((), ())
    rows = [
        (place, rate, None if math.isnan(error) else error)
        for place, (rate, error) in enumerate(zip(curve.rate, curve.error, strict=True), 1)
    ]
    return Table("", ("position k", "a_k (bits/byte)", "standard error"), rows)


def summary(view: PromptView) -> str:
    """How many responses, classes and valid ones there are, such as `8 responses in 8 classes, 1 of them valid.`"""
    classes = f" in {counted(len(view.sizes), 'class', 'classes')}" if view.has_classes else ""
    valid = sum(response.is_valid is True for response in view.responses)
    judged = any(response.is_valid is not None for response in view.responses)
    which = "all" if valid == len(view.responses) else f"{valid} of them"
    return f"{counted(len(view.responses), 'response')}{classes}{f', {which} valid' if judged else ''}."


def remarks(view: PromptView, profile: str) -> list[str]:
    """Sentences about what is missing, with the reasons."""
    said = [NO_TEXTS] if view.text_free else []
    if not view.has_classes:
        without = f"the profile {profile} has no equivalence backend"
        said.append(f"No classes: {_reasons(view, 'distinct_k') or without}.")
    elif all(response.quality is None for response in view.responses):
        said.append(f"No quality: the profile {profile} has no reward model.")
    if view.curve is None:
        unread = f"the profile {profile} has no language model that scores the whole curve"
        said.append(f"No curve: {_reasons(view, 'a_n', 'd_can') or unread}.")
    return said


def _reasons(view: PromptView, *metrics: str) -> str:
    """Why metrics are missing here; empty if they are not, or are not on the board."""
    return ", ".join(sorted({each.reason for each in view.scores if each.column.metric in metrics and each.reason}))
