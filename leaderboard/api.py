"""The HTTP API of the board, described in docs/api.md: endpoints of the application that return lists and objects.

An invalid request gets an error with a hint, never an empty result.
"""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import gradio as gr
from gradio.events import api

from divbench.core.errors import ConfigurationError, DivBenchError
from divbench.core.files import plain_json
from leaderboard.data.board import Board, Column, Entry, facts, ranking_column
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import prompt_row
from leaderboard.pages.export import ranks
from leaderboard.pages.systems import system_labels

Rows = list[dict[str, Any]]


ENDPOINTS = ("boards", "columns", "board", "per_prompt", "responses")


class Endpoints:
    """The endpoints, one public method each; the application shows their type hints and docstrings."""

    def __init__(self, live: LiveResults) -> None:
        self._live = live

    def boards(self) -> Rows:
        """List the boards, those with the most systems first."""
        names = ("name", "suite", "revision", "k", "profile")
        return [
            {name: getattr(board, name) for name in names}
            | {"systems": len(board.entries), "columns": [column.label for column in board.columns]}
            for board in self._live.snapshot().boards
        ]

    def columns(self, name: str) -> Rows:
        """List the columns of a board with their descriptions."""
        return [column.as_json() for column in self._board(name).columns]

    def board(self, name: str, rank_by: str = "") -> Rows:
        """List the systems of a board by their rank in a column, with all scores and intervals."""
        board = self._board(name)
        column = ranking_column(board) if rank_by == "" else self._column(board, rank_by)
        if column is None:
            raise ConfigurationError("no metric of this board has a value", "choose another board from /boards")
        rows = []
        standing = self._live.scores(board).standings(column)
        for label, entry, stands in zip(system_labels(board), board.entries, standing, strict=True):
            cells = {c.label: entry.cells[c.signature] for c in board.columns if c.signature in entry.cells}
            scores = {label: cell.model_dump(mode="json") for label, cell in cells.items()}
            rows.append({"label": label, **facts(entry), "ranked_by": column.label, **ranks(stands), "scores": scores})
        return sorted(rows, key=lambda row: row["rank"] or math.inf)

    def per_prompt(self, name: str, system: str, metric: str) -> Rows:
        """List a system's values in a column by prompt."""
        board = self._board(name)
        entry, scores = self._entry(board, system), self._live.scores(board)
        values = scores.matrix(self._column(board, metric))[:, board.entries.index(entry)].tolist()
        return [{"prompt_id": p, "value": v} for p, v in zip(scores.prompts, plain_json(values), strict=True)]

    def responses(self, name: str, system: str, prompt_id: str) -> dict[str, Any]:
        """Get a system's responses to a prompt with their scores, partition and surprisals."""
        entry = self._entry(self._board(name), system)
        row = prompt_row(entry, str(prompt_id))
        if row is None:
            raise ConfigurationError("the system has no such prompt", "/per_prompt lists them")
        return {"system": entry.result.manifest.name, "result_id": entry.result.result_id, **plain_json(row)}

    def _board(self, name: str) -> Board:
        board = next((board for board in self._live.snapshot().boards if board.name == name), None)
        if board is None:
            raise ConfigurationError("there is no such board", "/boards lists them")
        return board

    def _column(self, board: Board, label: str) -> Column:
        column = board.column(label)
        if column is None:
            raise ConfigurationError("the board has no such column", "/columns lists them")
        return column

    def _entry(self, board: Board, system: str) -> Entry:
        for label, entry in zip(system_labels(board), board.entries, strict=True):
            if system in (label, entry.result.result_id, entry.result.submission_id):
                return entry
        raise ConfigurationError("the board has no such system", "/board lists them with their ids")


def register(live: LiveResults) -> None:
    """Add the endpoints to the application; call this inside its `gr.Blocks`."""
    endpoints = Endpoints(live)
    for name in ENDPOINTS:
        api(_reporting(getattr(endpoints, name)), api_name=name, concurrency_limit=4, concurrency_id="tables")


def _reporting(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Make an endpoint report its errors over HTTP."""

    @wraps(endpoint)
    def reporting(*arguments: Any, **named: Any) -> Any:
        try:
            return endpoint(*arguments, **named)
        except DivBenchError as error:
            raise gr.Error(str(error), print_exception=False) from error

    return reporting
