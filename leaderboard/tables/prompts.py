"""The choices on the page Explore: the prompts of a system, by category and words, and the systems of a board."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.scoring.results import PER_PROMPT_FILE
from divbench.core.errors import InputError
from leaderboard.data.board import REFERENCE_TYPES, Board, Entry
from leaderboard.data.reference.systems import suite_prompts
from leaderboard.tables.systems import system_ids, system_labels
from submissions.untrusted.plain_text import shortened

ANY = "any"
LABEL = 70  # maximum number of characters of a prompt in a dropdown
BLOCK = 500  # maximum number of prompts in a dropdown
FEWEST_DIGITS = 6  # minimum number of digits of an id in a permalink


@dataclass(frozen=True, slots=True)
class ListedPrompt:
    """A prompt of a result."""

    prompt_id: str
    category: str
    text: str


def prompts_of(entry: Entry) -> tuple[ListedPrompt, ...]:
    """The prompts of a system's result, in the suite's order.

    Raises:
        InputError: The result's file is gone or was replaced.
    """
    return _prompts(entry.folder / PER_PROMPT_FILE, entry.result.per_prompt_sha256, entry.result.suite)


@lru_cache(maxsize=8)
def _prompts(path: Path, sha256: str, suite: str) -> tuple[ListedPrompt, ...]:
    """Read the prompts; `sha256` invalidates the cache if the file is replaced.

    If a result has no texts, those of the suite are used if they are available.
    """
    try:
        with pq.ParquetFile(path) as file:
            names = [name for name in ("prompt_id", "category", "prompt") if name in file.schema_arrow.names]
            rows = file.read(names, use_threads=False).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"{path.parent.name}: its prompts cannot be read", "the result is gone; reload the page"
        ) from error
    texts = {} if "prompt" in names else suite_prompts(suite)
    return tuple(
        ListedPrompt(
            name := str(row["prompt_id"] or ""),
            str(row["category"] or ""),
            str(row.get("prompt") or texts.get(name, "")),
        )
        for row in rows
    )


def categories_of(prompts: Sequence[ListedPrompt]) -> list[str]:
    """The categories, in the order of their first prompts."""
    return list(dict.fromkeys(each.category for each in prompts))


def matching(prompts: Sequence[ListedPrompt], category: str = ANY, words: str = "") -> list[ListedPrompt]:
    """The prompts of a category with all words in their id, category or text; case is ignored."""
    wanted = dict.fromkeys(words.casefold().split())  # each once: only a browser limits the length of a search
    return [each for each in prompts if category in (ANY, each.category) and _has_all(each, wanted)]


def _has_all(prompt: ListedPrompt, words: Iterable[str]) -> bool:
    text = f"{prompt.prompt_id} {prompt.category} {prompt.text}".casefold()
    return all(word in text for word in words)


def block_of(
    prompts: Sequence[ListedPrompt], prompt_id: str | None, size: int = BLOCK
) -> tuple[int, list[ListedPrompt]]:
    """The block of prompts that contains a prompt, and the index of the block's first prompt."""
    place = place_of(prompts, prompt_id) or 0
    start = place // size * size
    return start, list(prompts[start : start + size])


def place_of(prompts: Sequence[ListedPrompt], prompt_id: str | None) -> int | None:
    """The index of a prompt; None if it is not among them."""
    return next((place for place, each in enumerate(prompts) if each.prompt_id == prompt_id), None)


def stepped(prompts: Sequence[ListedPrompt], prompt_id: str | None, by: int) -> str | None:
    """The id of the prompt `by` positions further on, cyclically; the first if the prompt is not among them."""
    place = place_of(prompts, prompt_id)
    if not prompts:
        return None
    return prompts[0 if place is None else (place + by) % len(prompts)].prompt_id


def prompt_choices(prompts: Sequence[ListedPrompt]) -> list[tuple[str, str]]:
    """Label and id of each prompt, for a dropdown."""
    return [(f"{shortened(p.prompt_id, 40)} · {shortened(p.text, LABEL)}", p.prompt_id) for p in prompts]


def system_choices(board: Board) -> list[tuple[str, str]]:
    """Label and permalink id of each system, for a dropdown."""
    return [(shortened(label, 80), own) for label, own in zip(system_labels(board), system_ids(board), strict=True)]


def first_entry(board: Board) -> Entry:
    """The system to show first: the best one that is neither people nor a known-bad baseline."""
    types = [entry.result.manifest.system.type for entry in board.entries]
    return board.entries[next((i for i, kind in enumerate(types) if kind not in REFERENCE_TYPES), 0)]


def find_entry(board: Board, start: str | None) -> Entry | None:
    """The system whose submission or result id begins with `start`; permalinks use ids because names are not unique."""
    if start is None or len(start) < FEWEST_DIGITS:
        return None
    for entry in board.entries:
        if entry.result.submission_id.startswith(start):
            return entry
    for entry in board.entries:
        if any(own.startswith(start) for own in entry.results):
            return entry
    return None
