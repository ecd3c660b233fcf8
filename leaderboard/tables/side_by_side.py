"""The responses of several systems to one prompt, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.equivalence.partition_columns import COLUMN as CLASSES
from leaderboard.data.board import Board
from leaderboard.data.scores import prompt_row
from leaderboard.tables.systems import system_labels


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Responses of several systems to one prompt, as a table."""

    prompt: str  # text of the prompt; empty if no system has it
    # The number of the response, then for each system its response and, if it has a partition, the class.
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # one row per number, as texts; systems with fewer responses have empty cells
    texts: tuple[bool, ...]  # whether each column has responses


def side_by_side(board: Board, places: Sequence[int], prompt_id: str) -> SideBySide:
    """The responses of systems to a prompt, side by side.

    Raises:
        InputError: A result's files are gone.
    """
    found = [prompt_row(board.entries[place], prompt_id) for place in places]
    prompt = next((row["prompt"] for row in found if row is not None), "")
    headers, columns, texts = ["#"], [], [False]
    names = system_labels(board)
    for place, row in zip(places, found, strict=True):
        responses = [] if row is None else list(row["responses"])
        headers.append(names[place])
        columns.append(responses)
        texts.append(True)
        labels = _class_labels(row)
        if labels:
            headers.append("class")
            columns.append(["" if label is None else str(label + 1) for label in labels])
            texts.append(False)
    longest = max(map(len, columns), default=0)
    rows = [(str(i + 1), *(column[i] if i < len(column) else "" for column in columns)) for i in range(longest)]
    return SideBySide(prompt, tuple(headers), tuple(rows), tuple(texts))


def _class_labels(row: dict[str, Any] | None) -> list[int | None]:
    classes = None if row is None else row.get(CLASSES)
    return list(classes["labels"] or ()) if classes else []
