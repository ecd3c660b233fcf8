"""The record of judged responses: vectors and scores, by prompt and system, without the texts.

A judge scored the first response of each equivalence class from 1 to 10 (NoveltyBench, metric version 1.1): 4 is a weak
attempt that still answers, 1 to 3 fail the ask. The record of a prompt shows which responses to it are good, and which
fail. What ships was computed from the published judgements of systems whose texts are published, too.
"""

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from benchmark.validity.text_statistics import Floats
from divbench.core.errors import InputError
from divbench.core.files import atomic_file

SHIPPED = Path(__file__).with_name("record.npz")
JUDGED_SUITE = "noveltybench-curated"  # the suite whose prompts the shipped record has
VALID_FROM = 4  # the lowest score of a response that does what was asked
HIGHEST = 10
_SHORTEST = 4  # words; a shorter response has no frame


@dataclass(frozen=True, slots=True, eq=False)
class JudgedResponses:
    """The judged responses to one prompt."""

    vectors: Floats  # [responses, dimensions], unit vectors
    scores: Floats  # [responses], 1 to 10


@dataclass(frozen=True, slots=True)
class Judgement:
    """One judged response."""

    prompt: str  # key of the prompt
    system: str
    vector: tuple[int, ...]  # [dimensions], in steps of `quantised`
    score: int


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """Judged responses to several prompts, sorted by prompt and system."""

    prompts: NDArray[np.str_]  # keys of the prompts, sorted
    systems: NDArray[np.str_]  # names of the systems, sorted
    prompt: NDArray[np.int32]  # [responses], index of the prompt, ascending
    system: NDArray[np.int16]  # [responses], index of the system
    score: NDArray[np.int8]  # [responses], 1 to 10
    vectors: NDArray[np.int8]  # [responses, dimensions]

    def judged(self, prompt: str, without: Collection[str] = ()) -> JudgedResponses | None:
        """Return the judged responses to a prompt, without some systems'; None if the record lacks the prompt."""
        key = prompt_key(prompt)
        position = int(np.searchsorted(self.prompts, key))
        if position == len(self.prompts) or self.prompts[position] != key:
            return None
        rows = np.arange(*np.searchsorted(self.prompt, [position, position + 1]))
        if without:
            rows = rows[~np.isin(self.systems[self.system[rows]], sorted(without))]
        vectors = self.vectors[rows].astype(np.float64)
        return JudgedResponses(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), self.score[rows].astype(float))

    def has_all(self, prompts: Iterable[str]) -> bool:
        """Whether there are judged responses to all of these prompts."""
        return set(map(prompt_key, prompts)) <= set(self.prompts.tolist())

    def judgements(self) -> list[Judgement]:
        """Return all judgements, sorted."""
        return [
            Judgement(str(self.prompts[prompt]), str(self.systems[system]), tuple(vector.tolist()), int(score))
            for prompt, system, vector, score in zip(self.prompt, self.system, self.vectors, self.score, strict=True)
        ]


_ASKS_FOR_A_TEXT = re.compile(
    r"\b(?:story|poem|haiku|riddle|joke|fable|essay|write|describe|list|recipe|song|lyrics|explain|plan|dialogue|letter|"
    r"sentences?|imagine|limerick|pun)\b",
    re.I,
)
_BOLD, _QUOTED = re.compile(r"\*\*(.+?)\*\*"), re.compile(r'["“]([^"”\n]{2,80})["”]')
_PREDICATE = re.compile(
    r"(?:\b(?:is|are|was|be|choose|recommend|suggest|pick|try|consider)\b|:)\s+"
    r"(?:called |named |probably |definitely )?([^.!?\n:]{2,60})[.!?]?$",
    re.I,
)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
ASSENT = re.compile(r"(?:sure|okay|ok|certainly|of course|absolutely|here)\b", re.I)
_LONGEST_BARE = 25  # words of a first sentence


def bare_answer(prompt: str, text: str) -> str | None:
    """Return what a response says without its frame, as people would write it; None if that is not clear.

    It is the words in bold or quotation marks, the end of the first sentence, or that sentence, unless the prompt asks
    for a text, such as a story, of which a part is not a response.

    >>> bare_answer("Name a boxer.", "Sure! One boxer is **Claressa Shields**. She has won twice.")
    'Claressa Shields'
    >>> bare_answer("Name a planet.", "One planet I like is Mars.")
    'Mars'
    """
    if _ASKS_FOR_A_TEXT.search(prompt) or len(text.split()) <= _SHORTEST:
        return None
    if (bold := _BOLD.search(text)) and len(bold[1].split()) <= 2 * _SHORTEST:
        return bold[1].strip(" :.") or None
    sentences = [part.strip() for part in SENTENCE_END.split(text.strip()) if part.strip()]
    first = next((part for part in sentences if not ASSENT.match(part)), sentences[0])
    if (quoted := _QUOTED.search(first)) and len(quoted[1].split()) <= 3 * _SHORTEST:
        return quoted[1].strip(" .,") or None
    if len(first.split()) > _LONGEST_BARE:
        return None
    if end := _PREDICATE.search(first):
        return end[1].strip() or None
    return first if len(sentences) > 1 else None


def prompt_key(prompt: str) -> str:
    """Return the key of a prompt: the beginning of its hash, since the record has no texts."""
    return hashlib.sha256(" ".join(prompt.split()).encode()).hexdigest()[:16]


def quantised(vector: Floats) -> tuple[int, ...]:
    """Return a vector in steps of 1/127 of its largest component; its cosines change by less than 0.001."""
    return tuple(np.rint(127 * vector / np.abs(vector).max()).astype(int).tolist())


def record_of(judgements: Iterable[Judgement]) -> Record:
    """Make a record; of several scores of one response of a system, the last one counts."""
    rows = {(one.prompt, one.system, one.vector): one.score for one in judgements}
    keys = sorted(rows)
    prompts, prompt = np.unique([key[0] for key in keys], return_inverse=True)
    systems, system = np.unique([key[1] for key in keys], return_inverse=True)
    return Record(
        prompts,
        systems,
        prompt.astype(np.int32),
        system.astype(np.int16),
        np.array([rows[key] for key in keys], np.int8),
        np.array([key[2] for key in keys], np.int8),
    )


def save_record(record: Record, path: Path) -> None:
    """Write a record as an .npz file; the same record gives the same bytes."""
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(
            file, allow_pickle=False, **{field.name: getattr(record, field.name) for field in fields(Record)}
        )


@lru_cache(maxsize=4)
def load_record(path: Path = SHIPPED) -> Record:
    """Read a record.

    Raises:
        InputError: It is no record, or it is damaged.
    """
    hint = "make it with `divbench metrics record`"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            record = Record(**{field.name: arrays[field.name] for field in fields(Record)})
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise InputError(f"{path} is no record of judged responses: {error}", hint) from error
    sizes = {len(record.prompt), len(record.system), len(record.score), len(record.vectors)}
    if len(sizes) > 1 or record.vectors.ndim != 2 or not np.isin(record.score, range(1, HIGHEST + 1)).all():
        raise InputError(f"{path}: the record is damaged", hint)
    return record
