"""The HTTP API of the board: typed endpoints of the application, described in docs/api.md.

The functions are pure: they turn a snapshot into lists and objects for JSON, and `register` adds them to the
application as endpoints. An invalid request gets an error with a hint, never an empty result.
"""

import math
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from divbench.core.errors import ConfigurationError, DivBenchError, InputError
from divbench.core.files import canonical_json, plain_json
from leaderboard.data.board import Board, Column, Entry, facts, ranking_column
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import prompt_row
from leaderboard.data.sources import Snapshot
from leaderboard.tables.export import ranks
from leaderboard.tables.systems import system_labels

MAX_ROWS = 1000  # rows in one response
MAX_BYTES = 8 * 2**20  # size limit of one prompt's responses
Row = dict[str, Any]
P = ParamSpec("P")
T = TypeVar("T")


def find_board(snapshot: Snapshot, name: str) -> Board:
    """Return the board with a name.

    Raises:
        ConfigurationError: There is no such board.
    """
    return _found((board for board in snapshot.boards if board.name == name), "there is no such board", "/boards")


def find_entry(board: Board, system: Any) -> Entry:
    """Return a system of a board.

    Args:
        system: Id of its result or submission, or its label on the board.

    Raises:
        ConfigurationError: There is no such system.
    """
    for label, entry in zip(system_labels(board), board.entries, strict=True):
        if system in (label, entry.result.result_id, entry.result.submission_id):
            return entry
    raise ConfigurationError("the board has no such system", "/board lists them with their ids")


def find_column(board: Board, label: str) -> Column:
    """Return the column of a board with a label.

    Raises:
        ConfigurationError: There is no such column.
    """
    return _found((each for each in board.columns if each.label == label), "the board has no such column", "/columns")


def _found(candidates: Iterator[T], fault: str, listed_by: str) -> T:
    for found in candidates:
        return found
    raise ConfigurationError(fault, f"{listed_by} lists them")


def _scores(board: Board, entry: Entry) -> Row:
    cells = {column.label: entry.cells.get(column.signature) for column in board.columns}
    return {
        label: {"value": cell.value, "low": cell.low, "high": cell.high, "n": cell.n, "missing": cell.missing}
        for label, cell in cells.items()
        if cell is not None
    }


def responses(entry: Entry, prompt_id: Any) -> Row:
    """Return everything that a result has for one prompt: responses, scores, partition and surprisals.

    Raises:
        ConfigurationError: The result has no such prompt.
        InputError: It is too large for one response, or the result no longer exists.
    """
    row = prompt_row(entry, prompt_id) if isinstance(prompt_id, str) else None
    if row is None:
        raise ConfigurationError("the system has no such prompt", "/per_prompt lists them")
    made: Row = {"system": entry.result.manifest.name, "result_id": entry.result.result_id} | plain_json(row)
    if len(canonical_json(made)) > MAX_BYTES:
        raise InputError(f"more than {MAX_BYTES:,} bytes", "read per_prompt.parquet of the result instead")
    return made


def page_of(rows: list[Row], offset: Any, limit: Any) -> list[Row]:
    """Return one page of rows.

    Raises:
        ConfigurationError: The offset or limit is not an integer or is out of range.
    """
    if any(isinstance(number, bool) or not isinstance(number, int) for number in (offset, limit)):
        raise ConfigurationError("offset and limit must be integers", f"such as 0 and {MAX_ROWS}")
    if offset < 0 or not 1 <= limit <= MAX_ROWS:
        raise ConfigurationError("offset or limit is out of range", f"offset is at least 0, limit from 1 to {MAX_ROWS}")
    return rows[offset : offset + limit]


def told(function: Callable[P, T]) -> Callable[P, T]:
    """Wrap a function so that its errors are reported over HTTP."""

    @wraps(function)
    def telling(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return function(*arguments, **named)
        except DivBenchError as error:
            from gradio import Error

            raise Error(str(error), print_exception=False) from error

    return telling


class Endpoints:
    """The endpoints, one method each; the application shows their type hints and docstrings."""

    def __init__(self, live: LiveResults) -> None:
        self._live = live

    @told
    def boards(self) -> list[dict[str, Any]]:
        """List the boards, those with the most systems first."""
        return [
            {
                "name": board.name,
                "suite": board.suite,
                "suite_revision": board.revision,
                "k": board.k,
                "profile": board.profile,
                "systems": len(board.entries),
                "prompts": max(entry.result.prompts for entry in board.entries),
                "columns": [column.label for column in board.columns],
            }
            for board in self._live.snapshot().boards
        ]

    @told
    def columns(self, name: str) -> list[dict[str, Any]]:
        """List the columns of a board with their descriptions."""
        return [column.as_json() for column in find_board(self._live.snapshot(), name).columns]

    @told
    def board(self, name: str, rank_by: str = "", offset: int = 0, limit: int = MAX_ROWS) -> list[dict[str, Any]]:
        """List the systems of a board by their rank in a column, with all scores and intervals."""
        found = find_board(self._live.snapshot(), name)
        ranked_by = ranking_column(found) if rank_by == "" else find_column(found, rank_by)
        if ranked_by is None:
            raise InputError("no metric of this board has a value", "choose another board from /boards")
        standing = self._live.scores(found).standings(ranked_by)
        named = zip(system_labels(found), found.entries, standing, strict=True)
        rows = [
            {"label": label, **facts(entry), "ranked_by": ranked_by.label, **ranks(place)}
            | {"scores": _scores(found, entry)}
            for label, entry, place in sorted(named, key=lambda each: each[2].rank or math.inf)
        ]
        return page_of(rows, offset, limit)

    @told
    def per_prompt(
        self, name: str, system: str, metric: str, offset: int = 0, limit: int = MAX_ROWS
    ) -> list[dict[str, Any]]:
        """List a system's values in a column by prompt."""
        found = find_board(self._live.snapshot(), name)
        entry, column = find_entry(found, system), find_column(found, metric)
        scores = self._live.scores(found)
        values = scores.matrix(column)[:, found.entries.index(entry)].tolist()
        rows = [{"prompt_id": prompt, "value": v} for prompt, v in zip(scores.prompts, plain_json(values), strict=True)]
        return page_of(rows, offset, limit)

    @told
    def responses(self, name: str, system: str, prompt_id: str) -> dict[str, Any]:
        """Get a system's responses to a prompt with their scores, partition and surprisals."""
        return responses(find_entry(find_board(self._live.snapshot(), name), system), prompt_id)


NAMES = ("boards", "columns", "board", "per_prompt", "responses")


def register(live: LiveResults) -> None:
    """Add the endpoints to the application; call this inside its `gr.Blocks`."""
    from gradio.events import api

    endpoints = Endpoints(live)
    for name in NAMES:
        api(getattr(endpoints, name), api_name=name, concurrency_limit=4, concurrency_id="tables")
