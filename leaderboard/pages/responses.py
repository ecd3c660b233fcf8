"""The prompts of a system, and its responses to one prompt with the scores, classes and surprisals in its result.

Texts are untrusted: they are passed on verbatim, cut to the length that a page can show, and must be shown as plain
text. Files are untrusted, too: a value with the wrong shape counts as missing.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.metrics.partition import VALID_SCORE
from benchmark.scoring.per_prompt import CLASSES, FACTS, REPORTED_CLASSES, SURPRISALS
from benchmark.scoring.reported import NEWEST, judged_version
from benchmark.scoring.results import PER_PROMPT_FILE
from divbench.core.errors import InputError, counted
from divbench.core.tables import Table
from leaderboard.data.board import Board, Column, Entry
from leaderboard.data.reference.systems import suite_prompts
from leaderboard.data.texts import NO_TEXTS
from submissions.checking.response_kinds import is_blank, is_placeholder, is_refusal, is_scorable

MOST_LETTERS = 20_000  # maximum number of characters of a response on a page
_REASON = 100  # characters of a reason from a file
_COLUMNS = ("class", "response", "#", "note", "bits/byte alone", "quality of class", "reward of class", "bytes")
_ALWAYS = frozenset({"#", "response", "bytes"})
# Invisible characters that are not part of words but can hide text or reverse its direction.
_HIDING = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2060\u202a-\u202e\u2066-\u2069\ufeff]"
)


@dataclass(frozen=True, slots=True)
class ListedPrompt:
    """A prompt of a result."""

    prompt_id: str
    category: str
    text: str


def prompts_of(entry: Entry) -> tuple[ListedPrompt, ...]:
    """Return the prompts of a system's result, in the suite's order."""
    suite = entry.result.suite
    has_texts = bool(suite_prompts(suite))  # they may be downloaded while the board serves
    return _prompts(entry.folder / PER_PROMPT_FILE, entry.result.per_prompt_sha256, suite, has_texts)


@lru_cache(maxsize=8)
def _prompts(path: Path, sha256: str, suite: str, has_texts: bool) -> tuple[ListedPrompt, ...]:
    """Read the prompts, with the suite's texts if a result has none; the hash invalidates the cache of another file."""
    try:
        with pq.ParquetFile(path) as file:
            names = [name for name in ("prompt_id", "category", "prompt") if name in file.schema_arrow.names]
            rows = file.read(names, use_threads=False).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"{path.parent.name}: its prompts cannot be read", "the result is gone; reload the page"
        ) from error
    texts = suite_prompts(suite) if has_texts and "prompt" not in names else {}
    return tuple(
        ListedPrompt(
            prompt_id := _text(row["prompt_id"]),
            _text(row["category"]),
            _text(row.get("prompt")) or texts.get(prompt_id, ""),
        )
        for row in rows
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

    @property
    def by_class(self) -> list[ShownResponse]:
        """The responses by class, in sampling order within a class; those without a class come last."""
        return sorted(self.responses, key=lambda r: (r.group is None, r.group or 0, r.number))

    @property
    def shared_classes(self) -> dict[int, int]:
        """The classes with more than one response, numbered from 0 to choose their colours."""
        return {group: i for i, group in enumerate(g for g, size in enumerate(self.sizes) if size > 1)}


def make_view(board: Board, entry: Entry, row: Mapping[str, Any]) -> PromptView:
    """Make the view of a row of a result's per-prompt table, as from `scores.prompt_row`."""
    prompt = ListedPrompt(*(_text(row.get(name)) for name in ("prompt_id", "category", "prompt")))
    texts = row.get("responses")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError(
            f"{entry.folder.name}: {PER_PROMPT_FILE}, {prompt.prompt_id!r}: responses is not a list of texts",
            "score the submission again",
        )
    judged = judged_version(board.profile)
    classes = CLASSES if judged is None else REPORTED_CLASSES
    labels = [
        label if isinstance(label, int) and 0 <= label < len(texts) else None
        for label in _list_of(_field(row, classes, "labels"), len(texts))
    ]
    groups = max((label for label in labels if label is not None), default=-1) + 1
    return PromptView(
        prompt=prompt,
        responses=_responses(row, texts, labels, groups, judged),
        sizes=tuple(labels.count(group) for group in range(groups)),
        has_classes=any(label is not None for label in labels),
        curve=_curve(row),
        scores=_scores(board, entry, row),
        text_free=row.get("text_free") is True,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _field(row: Mapping[str, Any], column: str, name: str) -> object:
    part = row.get(column)
    return part.get(name) if isinstance(part, dict) else None


def _list_of(value: object, length: int) -> list[Any]:
    """Return a list; one of None if it is no list or has another length."""
    return value if isinstance(value, list) and len(value) == length else [None] * length


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _responses(
    row: Mapping[str, Any], texts: Sequence[str], labels: Sequence[int | None], groups: int, judged: str | None
) -> tuple[ShownResponse, ...]:
    count = len(texts)
    text_free = row.get("text_free") is True
    finish_reasons, reasons = _list_of(row.get("finish_reasons"), count), _list_of(row.get("invalid"), count)
    is_judged = reasons is row.get("invalid")
    # Only the first response of a class is rated.
    classes = CLASSES if judged is None else REPORTED_CLASSES
    qualities, rewards = (
        list(map(_number, _list_of(_field(row, classes, name), groups))) for name in ("qualities", "rewards")
    )
    if judged == NEWEST and None not in qualities:  # a score of its class says if it is valid; 1.0 has another scale
        scores = [None if group is None else qualities[group] for group in labels]
        reasons = [None if score is None or score >= VALID_SCORE else f"scored {score:g} of 10" for score in scores]
        is_judged = True
    scored = _list_of(_field(row, FACTS, "scored"), count) if text_free else list(map(is_scorable, texts))
    positions = [position for position, is_scored in enumerate(scored) if is_scored]
    bits = dict(zip(positions, _list_of(_field(row, SURPRISALS, "unconditional_bits"), len(positions)), strict=True))
    sizes = _list_of(_field(row, FACTS, "bytes"), count)
    first: dict[str, int] = {}
    responses = []
    for i, (text, group) in enumerate(zip(texts, labels, strict=True)):
        repeated = i + 1 if text_free else first.setdefault(text, i + 1)
        responses.append(
            ShownResponse(
                number=i + 1,
                text=text,
                notes=tuple(notes_of(text, finish_reasons[i], repeated, i + 1, _text(reasons[i]))),
                is_valid=reasons[i] is None if is_judged else None,
                group=group,
                quality=None if group is None else qualities[group],
                reward=None if group is None else rewards[group],
                bits=_number(bits.get(i)),
                size=int(_number(sizes[i]) or 0) if text_free else len(text.encode("utf-8", errors="replace")),
            )
        )
    return tuple(responses)


def notes_of(text: str, finish_reason: str | None, first: int, number: int, invalid: str = "") -> list[str]:
    """Return notes about a response, with the number of the first with its text, and why it is not valid, if judged."""
    notes = []
    if is_blank(text):
        notes.append("blank, not scored")
    elif is_placeholder(text):
        notes.append("placeholder, not scored")
    elif is_refusal(text):
        notes.append("refused, never counted as distinct")
    elif invalid:
        notes.append(f"not valid: {invalid[:_REASON]}")
    if finish_reason == "length":
        notes.append("truncated")
    if first < number:
        notes.append(f"repeats {first}")
    if hidden := len(_HIDING.findall(text)):
        notes.append(f"{hidden} invisible characters")
    if len(text) > MOST_LETTERS:
        notes.append(f"first {MOST_LETTERS:,} of {len(text):,} characters")
    return notes


def _curve(row: Mapping[str, Any]) -> PositionCurve | None:
    values = _field(row, SURPRISALS, "curve_rate")
    if not isinstance(values, list):
        return None
    rate = [number for number in map(_number, values) if number is not None]
    if not rate or len(rate) < len(values):
        return None
    errors = map(_number, _list_of(_field(row, SURPRISALS, "curve_rate_se"), len(rate)))
    return PositionCurve(tuple(rate), tuple(math.nan if error is None else error for error in errors))


def _scores(board: Board, entry: Entry, row: Mapping[str, Any]) -> tuple[Score, ...]:
    missing = row.get("missing")
    items = [item for item in (missing if isinstance(missing, list) else ()) if isinstance(item, dict)]
    reasons = {_text(item.get("metric")): _text(item.get("reason")) for item in items}
    scores = []
    for column in board.columns:
        cell = entry.cells.get(column.signature)
        if cell is None:  # the file's column of that name has another signature
            continue
        value = _number(row.get(column.metric))
        reason = "" if value is not None else reasons.get(column.metric) or "not computed"
        scores.append(Score(column, value, reason, cell.value, board.ranked_means[column.signature]))
    return tuple(scores)


def class_words(response: ShownResponse, view: PromptView) -> str:
    """Return the class of a response in words, such as `2 of 3: 4 equivalent`."""
    if response.group is None:
        return "none" if view.has_classes else ""
    count = view.sizes[response.group]
    return f"{response.group + 1} of {len(view.sizes)}: {f'{count} equivalent' if count > 1 else 'unique'}"


def responses_table(view: PromptView) -> Table:
    """Return the responses grouped by class, one row each; columns without any value are left out."""
    rows = [
        (
            class_words(response, view),
            response.text[:MOST_LETTERS],
            response.number,
            "; ".join(response.notes),
            response.rate,
            response.quality,
            response.reward,
            response.size or (None if view.text_free else 0),
        )
        for response in view.by_class
    ]
    shown = [i for i, name in enumerate(_COLUMNS) if name in _ALWAYS or any(row[i] not in {"", None} for row in rows)]
    return Table("", [_COLUMNS[i] for i in shown], [[row[i] for i in shown] for row in rows])


def scores_table(view: PromptView) -> Table:
    """Return the scores, one row per metric."""
    rows = [(s.column.label, s.value, s.system_mean, s.ranked_mean, s.column.unit, s.reason) for s in view.scores]
    numbers = ("this prompt", "system mean", "mean of ranked systems")
    return Table("", ("metric", *numbers, "unit", "missing because"), rows)


def curve_table(curve: PositionCurve) -> Table:
    """Return the a_k curve, one row per position."""
    errors = (None if math.isnan(error) else error for error in curve.error)
    rows = list(zip(range(1, len(curve.rate) + 1), curve.rate, errors, strict=True))
    return Table("", ("position k", "a_k (bits/byte)", "standard error"), rows)


def summary(view: PromptView) -> str:
    """Return the counts of responses, classes and valid ones, such as `8 responses in 8 classes, 1 of them valid.`"""
    classes = f" in {counted(len(view.sizes), 'class', 'classes')}" if view.has_classes else ""
    valid = sum(response.is_valid is True for response in view.responses)
    is_judged = any(response.is_valid is not None for response in view.responses)
    which = "all" if valid == len(view.responses) else f"{valid} of them"
    return f"{counted(len(view.responses), 'response')}{classes}{f', {which} valid' if is_judged else ''}."


def remarks(view: PromptView, profile: str) -> list[str]:
    """Return sentences about what is missing, with the reasons."""
    sentences = [NO_TEXTS] if view.text_free else []
    if not view.has_classes:
        without = f"the profile {profile} has no equivalence backend"
        sentences.append(f"No classes: {_reasons(view, 'distinct_k') or without}.")
    elif all(response.quality is None for response in view.responses):
        without = f"the profile {profile} has no reward model or judge"
        sentences.append(f"No quality: {_reasons(view, 'mean_head_quality') or without}.")
    if view.curve is None and judged_version(profile) is None:
        without = f"the profile {profile} has no language model that scores the whole curve"
        sentences.append(f"No curve: {_reasons(view, 'a_n', 'd_can') or without}.")
    return sentences


def _reasons(view: PromptView, *metrics: str) -> str:
    """Return why metrics are missing here; empty if they are not, or are not on the board."""
    return ", ".join(sorted({score.reason for score in view.scores if score.column.metric in metrics and score.reason}))
