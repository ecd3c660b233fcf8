"""Finds the response sets that the arena can show: results that include texts, as one contest per suite."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq

from benchmark.scoring.results import PER_PROMPT_FILE
from divbench.core.errors import InputError
from leaderboard.data.arena_pairs import SHOWN, Contest
from leaderboard.data.board import Board, Entry
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import prompt_row


@dataclass(frozen=True, slots=True, eq=False)
class Arena:
    """A suite's contest and the source of its texts."""

    board: Board
    contest: Contest
    entries: tuple[Entry, ...]  # [systems], the entries in the order of the contest

    def texts(self, system: int, prompt_id: str) -> Sequence[str] | None:
        """The responses of a system to a prompt; None if there are none or their file is gone."""
        return responses_of(self.entries[system], prompt_id)[1]

    def prompt(self, prompt_id: str) -> str:
        """The text of a prompt; empty if no result has it."""
        texts = (responses_of(entry, prompt_id)[0] for entry in self.entries)
        return next((text for text in texts if text), "")


def responses_of(entry: Entry, prompt_id: str) -> tuple[str | None, list[str] | None]:
    """The prompt and the responses in a result's row; each is None if it is missing or not text."""
    try:
        row = prompt_row(entry, prompt_id)
    except InputError:
        row = None
    if row is None or row.get("text_free"):
        return None, None
    prompt, found = row.get("prompt"), row.get("responses")
    good = isinstance(found, list) and all(isinstance(text, str) for text in found)
    return (prompt if isinstance(prompt, str) else None), (found if good else None)


def arenas(live: LiveResults) -> tuple[Arena, ...]:
    """The arenas of a snapshot: for each suite, the board with the most systems that have texts.

    Known-bad baselines are left out, because checks already test voters; reference results have no texts.
    """
    best: dict[str, tuple[Board, list[int]]] = {}
    for board in live.snapshot().boards:
        usable = [place for place, entry in enumerate(board.entries) if board.k >= SHOWN and _has_texts(entry)]
        names = {board.entries[place].result.manifest.name for place in usable}
        if len(names) >= 2 and len(usable) > len(best.get(board.suite, (board, []))[1]):
            best[board.suite] = board, usable
    made = []
    for board, usable in best.values():
        with suppress(InputError):  # its files are gone, which other pages report
            made.append(_arena(live, board, usable))
    return tuple(made)


def _has_texts(entry: Entry) -> bool:
    if entry.result.manifest.system.type == "baseline":
        return False
    try:
        return "responses" in pq.read_schema(entry.folder / PER_PROMPT_FILE).names
    except (OSError, ValueError):
        return False


def _arena(live: LiveResults, board: Board, usable: Sequence[int]) -> Arena:
    scores = live.scores(board)
    columns = [column for column in board.columns if column.direction]
    entries = tuple(board.entries[place] for place in usable)
    matrices = [scores.matrix(column)[:, list(usable)] * column.direction for column in columns]
    contest = Contest(
        suite=board.suite,
        names=tuple(entry.result.manifest.name for entry in entries),
        results=tuple(entry.result.result_id for entry in entries),
        prompts=scores.prompts,
        older=tuple(entry.older for entry in entries),
        scores=np.stack(matrices) if matrices else np.zeros((0, len(scores.prompts), len(entries))),
    )
    return Arena(board, contest, entries)
