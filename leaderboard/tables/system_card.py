"""The page of a system: how it was sampled, all its scores, and the prompts on which it is most and least diverse."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.analysis.ranking import Standing
from benchmark.scoring.estimate import Floats
from divbench.core.tables import Cell, Table, estimate_cell
from leaderboard.data.board import Board, Column, Entry, facts
from leaderboard.data.scores import prompt_row
from leaderboard.tables.models import direction_text, fact_text, group_name, rank_text
from leaderboard.tables.responses import by_class, make_view
from leaderboard.tables.systems import system_labels
from submissions.untrusted.plain_text import cut

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
# Fields of the manifest about the generation; like the origin and the notes, they are left out if they are not stated.
_GENERATION = (
    "top_k",
    "top_p",
    "max_tokens",
    "chat_template",
    "prompt_template",
    "system_prompt",
    "thinking",
    "stop",
    "software",
)
_MODES: Mapping[str, str] = {
    "resample": "the same prompt each time",
    "paraphrase": "paraphrases of the prompt",
    "system-prompt": "a system prompt asks for novel responses",
    "in-context": "one chat that grows with each response",
    "verbalized": "one call asks for k responses with their probabilities",
    "verbalized-tail": "one call asks for k unlikely responses",
}
_FEWEST = 3  # minimum number of prompts for a correlation
_EXTREMES = 3  # maximum number of prompts shown as most, and as least, diverse
_CANDIDATES = 5  # number of systems that are compared exactly for each one that is shown
_LETTERS = 300  # maximum number of characters of a response in the table


def facts_table(board: Board, place: int) -> Table:
    """How a system was sampled and who submitted it, one fact per row, with `unknown` for unknown facts."""
    entry = board.entries[place]
    manifest, known = entry.result.manifest, facts(entry)
    known |= {name: _stated_text(getattr(manifest.generation, name)) for name in _GENERATION}
    known["notes"] = manifest.notes
    if known["mode"] is not None:
        known["mode"] += f": {_MODES[known['mode']]}"
    stated = [name for name in _FACTS if name not in (*_GENERATION, "origin", "notes") or known[name]]
    rows = [(_FACTS[name], fact_text(name, known[name]) or "unknown") for name in stated]
    return Table("", ("fact", "value"), [*rows, ("suite", f"{board.suite}, {board.terms}")])


def _stated_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(repr, value)) if isinstance(value, tuple) else str(value)


def system_scores(board: Board, place: int, standing: Sequence[tuple[Column, Standing | None]]) -> Table:
    """The scores of a system, one row per metric.

    Args:
        standing: Each column with the system's standing, or None if the column is not ranked.
    """
    entry = board.entries[place]
    rows: list[tuple[Cell, ...]] = []
    for column, stands in standing:
        cell = entry.cells.get(column.signature)
        if cell is None:
            continue
        mean = estimate_cell(cell.value, cell.low, cell.high)
        rank = "" if stands is None else rank_text(stands)
        lacking = sum(cell.missing.values())
        rows.append((column.label, mean, rank, direction_text(column), lacking or None, str(column.signature)))
    headers = ("metric", "mean [95% interval]", "rank", "direction", "prompts without a value", "signature")
    return Table("", headers, rows)


def extreme_prompts(values: Floats, direction: int) -> tuple[list[int], list[int]]:
    """Indices of the prompts on which a system is most and least diverse, the most extreme first; none is in both.

    Args:
        values: The system's values [prompts]; NaN if missing.
    """
    order = np.argsort(-(direction or 1) * values, kind="stable")  # NaN last
    there = [int(i) for i in order if np.isfinite(values[i])]
    count = min(_EXTREMES, len(there) // 2)
    return there[:count], there[::-1][:count]


def nearest_systems(
    values: Floats, ranks: Floats, place: int, count: int = 5, *, excluded: Collection[int] = ()
) -> list[tuple[int, float]]:
    """Find the systems with values most correlated with one system's values over prompts (Spearman's rho).

    Exact correlations with a thousand systems take a second. Approximate correlations are therefore computed first,
    from ranks over all prompts of each system, which ignore that other prompts may be missing in the other system; only
    the best candidates are compared exactly.

    Args:
        values: [prompts, systems]; NaN if missing. A pair is compared over the prompts for which both have a value.
        ranks: The `prompt_ranks` of the values.
        excluded: Indices of systems that are not candidates.
    """
    from scipy.stats import spearmanr

    there = np.isfinite(values)
    both = (there & there[:, [place]]).astype(np.float64)
    n = np.maximum(both.sum(axis=0), 1)
    own, others = ((each - (each * both).sum(axis=0) / n) * both for each in (ranks[:, [place]], ranks))
    with np.errstate(invalid="ignore"):
        rough = (own * others).sum(axis=0) / np.sqrt((own**2).sum(axis=0) * (others**2).sum(axis=0))
    rough[[place, *excluded]] = np.nan
    found = []
    for i in np.argsort(-rough, kind="stable")[: _CANDIDATES * count].tolist():
        here = both[:, i] > 0
        a, b = values[here, place], values[here, i]
        if np.isfinite(rough[i]) and len(a) >= _FEWEST and np.ptp(a) and np.ptp(b):
            found.append((i, float(spearmanr(a, b).statistic)))
    return sorted(found, key=lambda each: (-each[1], each[0]))[:count]


def neighbours_table(board: Board, near: Sequence[tuple[int, float]]) -> Table:
    """The systems from `nearest_systems`, one per row."""
    labels = system_labels(board)
    return Table("", ("system", "Spearman's rho over prompts"), [(labels[place], rho) for place, rho in near])


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
) -> tuple[tuple[Extreme, ...], tuple[Extreme, ...]]:
    """The prompts on which a system is most and least diverse, with its responses.

    Args:
        prompts: Prompt ids [prompts].
        values: The system's values [prompts]; NaN if missing.

    Raises:
        InputError: The result's file is gone or was replaced.
    """
    most, least = extreme_prompts(values, direction)
    return _read(board, entry, prompts, values, most), _read(board, entry, prompts, values, least)


def _read(
    board: Board, entry: Entry, prompts: Sequence[str], values: Floats, places: Sequence[int]
) -> tuple[Extreme, ...]:
    made = []
    for place in places:
        row = prompt_row(entry, prompts[place])
        if row is None:
            continue
        view = make_view(board, entry, row)
        ordered = by_class(view)
        texts = tuple(cut(each.text, _LETTERS) for each in ordered)
        groups, invalid = tuple(each.group for each in ordered), tuple(each.is_valid is False for each in ordered)
        made.append(Extreme(view.prompt.text, float(values[place]), texts, groups, invalid))
    return tuple(made)


def extremes_table(found: Sequence[Extreme]) -> Table:
    """The prompts with their responses, one response per row, with the letter of its class."""
    rows = [
        (each.value if i == 0 else None, each.prompt if i == 0 else "", _class(group, is_invalid=is_invalid), text)
        for each in found
        for i, (text, group, is_invalid) in enumerate(zip(each.responses, each.groups, each.invalid, strict=True))
    ]
    return Table("", ("value", "prompt", "class", "response"), rows)


def _class(group: int | None, *, is_invalid: bool) -> str:
    letter = [] if group is None else [group_name(group + 1)]
    return ", ".join([*letter, *["not valid"] * is_invalid])
