"""Reads rewards of a submission's responses from a user's file: JSON Lines, CSV or Parquet.

A row is one response (`prompt_id`, `index` from 0, `reward`) or one prompt (`prompt_id`, `rewards`: a list of one
number per response; in CSV that list is written as JSON). Other columns are ignored. Null, and in CSV an empty cell,
means that there is no reward.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from divbench.core.errors import counted
from submissions.schema import Problem
from submissions.untrusted.findings import Findings, Rejected
from submissions.untrusted.json_files import strict_json
from submissions.untrusted.table_files import Table, lacks_column, read_table

COLUMNS = ("prompt_id", "index", "reward", "rewards")
_QUOTED = 40  # characters of an invalid value shown in a message
_NUMBER_HINT = "write a finite number, or null where there is no reward"
Rewards = Mapping[str, tuple[float | None, ...]]
"""The rewards of each prompt's responses by prompt id, without prompts that have none."""


def read_rewards(path: Path, prompt_ids: Collection[str], k: int) -> Rewards:
    """Read the rewards in a file.

    Raises:
        Rejected: The file cannot be read or lacks columns, a prompt id is unknown, an index is not below k, a response
            is listed twice, a reward is not a finite number, a prompt does not have k rewards, or no response has one.
            All problems are listed.
    """
    findings = Findings()
    table = read_table(path, COLUMNS, findings)
    found: dict[str, tuple[float | None, ...]] = {}
    if table is not None and _has_its_columns(table, findings):
        file = _RewardFile(table, frozenset(prompt_ids), k, findings)
        made = _by_prompt(file) if "rewards" in table.columns else _by_response(file)
        found = {name: tuple(values) for name, values in made.items() if any(value is not None for value in values)}
        if not found and not findings.rejected():
            message = "no response has a reward"
            findings.add(
                Problem("rewards", "error", path.name, None, "", message, "write one row per response or prompt")
            )
    if findings.rejected():
        raise Rejected(str(path), findings)
    return found


class _RewardFile:
    """A table, the allowed contents of its rows, and its problems."""

    def __init__(self, table: Table, prompt_ids: frozenset[str], k: int, findings: Findings) -> None:
        self.table = table
        self.prompt_ids = prompt_ids
        self.k = k
        self.findings = findings
        self.is_csv = table.name.lower().endswith((".csv", ".tsv"))

    def problem(self, number: int, field: str, message: str, hint: str) -> None:
        check = "prompt_ids" if field == "prompt_id" else "rewards"
        self.findings.add(Problem(check, "error", self.table.name, number, field, message, hint))

    def named(self) -> Iterator[tuple[int, str | None, dict[str, Any]]]:
        """Yield the rows with their numbers and prompt ids; None for an unknown id, which is a problem."""
        for number, row in self.table.rows:
            name = row.get("prompt_id")
            if isinstance(name, int) and not isinstance(name, bool):
                name = str(name)
            if not isinstance(name, str) or name not in self.prompt_ids:
                message = f"{_quoted(name)} is not a prompt id of the submission"
                self.problem(number, "prompt_id", message, "use the ids in its generations")
                name = None
            yield number, name, _parsed(row) if self.is_csv else row

    def reward(self, number: int, field: str, value: Any) -> float | None:
        """Return a reward; None if there is none, or an invalid one, which is a problem."""
        if value is None:
            return None
        try:
            finite = not isinstance(value, bool | str) and math.isfinite(value)
        except (TypeError, OverflowError):  # not a number, or an integer too large for a float
            finite = False
        if not finite:
            self.problem(number, field, f"{_quoted(value)}, expected a finite number", _NUMBER_HINT)
        return float(value) if finite else None


def _by_response(file: _RewardFile) -> dict[str, list[float | None]]:
    made: dict[str, list[float | None]] = {}
    first: dict[tuple[str, int], int] = {}
    for number, name, row in file.named():
        if "reward" not in row:
            file.problem(number, "reward", "the field is missing", _NUMBER_HINT)
        reward = file.reward(number, "reward", row.get("reward"))
        position = row.get("index")
        if not isinstance(position, int) or isinstance(position, bool) or not 0 <= position < file.k:
            message = f"{_quoted(position)}, expected a whole number in 0 … {file.k - 1}"
            file.problem(number, "index", message, "count the responses of a prompt from 0")
        elif name is not None and (before := first.setdefault((name, position), number)) != number:
            message = f"response {position} of {name!r} already appears in row {before}"
            file.problem(number, "index", message, "write one row for each response")
        elif name is not None:
            made.setdefault(name, [None] * file.k)[position] = reward
    return made


def _by_prompt(file: _RewardFile) -> dict[str, list[float | None]]:
    made: dict[str, list[float | None]] = {}
    first: dict[str, int] = {}
    for number, name, row in file.named():
        if name is not None and (before := first.setdefault(name, number)) != number:
            message = f"{name!r} already appears in row {before}"
            file.problem(number, "prompt_id", message, "write one row for each prompt")
        values = row.get("rewards")
        if "rewards" not in row:
            file.problem(number, "rewards", "the field is missing", "write a list, or null where there are none")
        elif values is not None and not isinstance(values, list):
            message = f"{_quoted(values)}, expected a list of numbers"
            file.problem(number, "rewards", message, "write a list such as [0.5, 1.25, null]")
        elif values is not None:
            if len(values) != file.k:
                message = f"{counted(len(values), 'reward')} for {counted(file.k, 'response')}"
                file.problem(number, "rewards", message, "write one reward per response, null if there is none")
            rewards = [file.reward(number, f"rewards[{position}]", value) for position, value in enumerate(values)]
            if name is not None:
                made[name] = rewards
    return made


def _quoted(value: Any) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"


def _has_its_columns(table: Table, findings: Findings) -> bool:
    if {"reward", "rewards"} <= set(table.columns):
        message, hint = "there are both reward and rewards", "a row is one response or one prompt: keep one column"
        findings.add(Problem("schema", "error", table.name, None, "rewards", message, hint))
        return False
    if not table.columns and findings.rejected():  # nothing could be read, which is a problem already
        return False
    wanted = ("prompt_id", "rewards") if "rewards" in table.columns else ("prompt_id", "index", "reward")
    return not [column for column in wanted if lacks_column(table, column, findings)]


def _parsed(row: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of a CSV row's cells; a cell that cannot be parsed stays a text."""
    made: dict[str, Any] = {}
    for column, cell in row.items():
        made[column] = cell
        if column == "index" and cell.isascii() and cell.isdecimal() and len(cell) < 10:
            made[column] = int(cell)
        elif column in ("reward", "rewards"):
            made[column] = None if cell == "" else _value(cell, column)
    return made


def _value(cell: str, column: str) -> Any:
    try:
        return float(cell) if column == "reward" and "_" not in cell else strict_json(cell)
    except (ValueError, RecursionError):
        return cell
