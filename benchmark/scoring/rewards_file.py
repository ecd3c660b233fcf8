"""Reads what was decided elsewhere of each response: a reward, or whether it is valid."""

import math
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from benchmark.validity.stated import StatedValidity, stated_by_rewards
from divbench.core.errors import ConfigurationError
from submissions.untrusted.findings import Findings, Problem, Rejected
from submissions.untrusted.table_files import Columns, lacks_column, read_columns

_TRUE_OR_FALSE = {"true": 1.0, "1": 1.0, "1.0": 1.0, "false": 0.0, "0": 0.0, "0.0": 0.0}


def read_rewards(path: Path, prompt_ids: Collection[str], k: int) -> dict[str, list[float | None]]:
    """Read the rewards of responses by prompt id from rows of `prompt_id`, `index` and `reward`."""
    return _values(path, _table(path), "reward", prompt_ids, k)


def read_stated(
    path: Path, prompt_ids: Collection[str], k: int, threshold: float | None, quantile: float | None
) -> StatedValidity:
    """Read which responses are valid from rows of `prompt_id`, `index` and either `valid` or `reward`."""
    table, source = _table(path), re.sub(r"[^\w.-]", "-", path.stem)[:60]
    if "valid" not in table.names:
        rewards = _values(path, table, "reward", prompt_ids, k)
        return stated_by_rewards(rewards, source, threshold, quantile)
    if threshold is not None or quantile is not None:
        raise ConfigurationError(f"{path} says what is valid", "leave out --threshold and --quantile")
    values = _values(path, table, "valid", prompt_ids, k)
    verdicts = {name: tuple(None if v is None else bool(v) for v in row) for name, row in values.items()}
    return StatedValidity(source, verdicts)


def _table(path: Path) -> Columns:
    findings = Findings()
    table = read_columns(path, ("prompt_id", "index", "reward", "valid"), findings)
    if table is None:
        raise Rejected(str(path), findings)
    return table


def _values(
    path: Path, table: Columns, column: str, prompt_ids: Collection[str], k: int
) -> dict[str, list[float | None]]:
    findings = Findings()
    if [name for name in ("prompt_id", "index", column) if lacks_column(table, name, findings)]:
        raise Rejected(str(path), findings)
    expected = "a finite number" if column == "reward" else "true or false"
    read = _number if column == "reward" else _verdict
    values: dict[str, list[float | None]] = {}
    first: dict[tuple[str, float | None], int] = {}
    for number, row in table.rows:
        name, index, value = str(row.get("prompt_id")), _number(row.get("index")), read(row.get(column))
        if name not in prompt_ids:
            field, message = "prompt_id", f"{name[:40]!r} is not a prompt id of the submission"
        elif index is None or index not in range(k):
            field, message = "index", f"{str(row.get('index'))[:40]!r}, expected a whole number in 0 … {k - 1}"
        elif value is not None and not math.isfinite(value):
            field, message = column, f"{str(row[column])[:40]!r}, expected {expected}"
        elif (earlier := first.setdefault((name, index), number)) != number:
            field, message = "index", f"response {index:g} of {name!r} already appears in row {earlier}"
        else:
            values.setdefault(name, [None] * k)[int(index)] = value
            continue
        hint = f"write one row for each response, counted from 0, with {expected} or null"
        findings.add(Problem("rewards", "error", path.name, number, field, message, hint))
    values = {name: row for name, row in values.items() if any(value is not None for value in row)}
    if not values and not findings.rejected():
        message = f"no response has a {column}" if column == "reward" else "nothing is said of any response"
        findings.add(Problem("rewards", "error", path.name, None, "", message, "write one row each"))
    if findings.rejected():
        raise Rejected(str(path), findings)
    return values


def _number(value: Any) -> float | None:
    """Return a cell as a number; None if it is empty, NaN if it is no number."""
    if value is None or value == "":
        return None
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _verdict(value: Any) -> float | None:
    """Return a cell as 1 or 0; None if it is empty, NaN if it is neither true nor false."""
    return None if value is None or value == "" else _TRUE_OR_FALSE.get(str(value).strip().lower(), math.nan)
