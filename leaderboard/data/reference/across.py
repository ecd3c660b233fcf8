"""The file of equivalence classes across the reference systems, for the page Alike or different?

It is written once from the texts, with one line per prompt: the class labels and the similarities. Whether a response
is valid is in the results.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.analysis.across import AcrossSystems, GroupedPrompt, Homogeneity, across_systems, homogeneity
from benchmark.scoring.per_prompt import INVALID
from benchmark.scoring.profiles import Profile
from divbench.core.files import atomic_file, canonical_json
from leaderboard.data.board import REFERENCE_TYPES, Board, Entry
from leaderboard.data.reference.results import FOLDER
from leaderboard.data.score_index import read_columns

ACROSS_FILE = "across.jsonl"
_DECIMALS = 4  # decimals of the similarities


class AcrossWriter:
    """Writes the file prompt by prompt; existing prompts are kept if submissions and models are the same.

    Args:
        path: Path of the file.
        submissions: Ids of the systems' submissions.
        profile: Profile whose embedder and equivalence backend are used.
    """

    def __init__(self, path: Path, submissions: Sequence[str], profile: Profile) -> None:
        specs = [spec.signature for spec in (profile.embedder, profile.partition) if spec is not None]
        head = canonical_json({"submissions": list(submissions), "models": specs})
        lines = path.read_bytes().splitlines() if path.is_file() else []
        self._path = path
        self._lines = {json.loads(line)["prompt_id"]: line for line in lines[1:]} if lines[:1] == [head] else {}
        self._head = head

    @property
    def done(self) -> frozenset[str]:
        """Ids of the prompts in the file."""
        return frozenset(self._lines)

    def add(self, prompt_id: str, grouped: GroupedPrompt) -> None:
        """Add a prompt and rewrite the file, sorted by prompt."""
        similarity = {
            str(k): [[None if np.isnan(x) else round(x, _DECIMALS) for x in row] for row in values.tolist()]
            for k, values in grouped.similarity.items()
        }
        record = {"prompt_id": prompt_id, "labels": grouped.labels, "similarity": similarity}
        self._lines[prompt_id] = canonical_json(record)
        lines = [self._head, *(self._lines[name] for name in sorted(self._lines))]
        with atomic_file(self._path) as path:
            path.write_bytes(b"".join(line + b"\n" for line in lines))


@lru_cache(maxsize=2)
def _read(path: Path) -> tuple[tuple[str, ...], dict[str, GroupedPrompt]] | None:
    """Ids of the submissions, and their responses by prompt; None if there is no such file."""
    if not path.is_file():
        return None
    head, *lines = map(json.loads, path.read_bytes().splitlines())
    return tuple(head["submissions"]), {line["prompt_id"]: _grouped(line) for line in lines}


def _grouped(line: dict[str, Any]) -> GroupedPrompt:
    similarity = {int(k): np.array(values, np.float64) for k, values in line["similarity"].items()}
    return GroupedPrompt(tuple(map(tuple, line["labels"])), similarity)


def board_across(board: Board) -> tuple[AcrossSystems, tuple[Entry, ...]] | None:
    """The reference systems of a board, with their responses grouped together; None if it has fewer than two.

    Args:
        board: Board; its results determine which responses are valid.

    Raises:
        InputError: A result's files are gone.
    """
    found = _read(FOLDER / ACROSS_FILE)
    if found is None:
        return None
    submissions, grouped = found
    entries = {entry.result.submission_id: entry for entry in board.entries}
    there = [i for i, name in enumerate(submissions) if name in entries]
    if len(there) < 2 or board.k not in next(iter(grouped.values())).similarity:
        return None
    chosen = [entries[submissions[i]] for i in there]
    part = {
        name: GroupedPrompt(
            tuple(each.labels[i] for i in there), {board.k: each.similarity[board.k][np.ix_(there, there)]}
        )
        for name, each in grouped.items()
    }
    valid = [_valid(entry) for entry in chosen]
    names = [entry.result.manifest.name for entry in chosen]
    return across_systems(names, board.k, part, valid), tuple(chosen)


def homogeneity_of(board: Board) -> Homogeneity | None:
    """Similarity of the reference systems of a board; None if it has fewer than two.

    The comparison of one system with several includes only ranked systems.

    Raises:
        InputError: As in `board_across`.
    """
    found = board_across(board)
    if found is None:
        return None
    across, entries = found
    ranked = [i for i, entry in enumerate(entries) if entry.result.manifest.system.type not in REFERENCE_TYPES]
    return homogeneity(across, ranked)


def _valid(entry: Entry) -> dict[str, list[bool]]:
    """Whether each response is valid, by prompt; all are if validity was not judged."""
    table = read_columns(entry, "prompt_id", INVALID)
    rows: Any = table.to_pylist()
    return {
        row["prompt_id"]: [reason is None for reason in row.get(INVALID) or [None] * entry.result.k] for row in rows
    }
