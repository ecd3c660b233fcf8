"""Read chosen columns of an untrusted table (CSV, JSON Lines or Parquet) whose columns may have any names.

Sizes are limited before anything is parsed. File content never raises an exception: problems are added to `Findings`.
Rows are kept in memory, so the limits are lower than for submissions.
"""

import csv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from submissions.schema import Problem
from submissions.untrusted.findings import Findings
from submissions.untrusted.json_files import read_jsonl
from submissions.untrusted.limits import byte_lines, openable, within_row_limit
from submissions.untrusted.parquet_files import read_parquet
from submissions.untrusted.parquet_reader import plain_type

ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")
MAX_KEPT_BYTES = 512 * 2**20
MAX_COLUMNS = 1000
Rows = Iterator[tuple[int, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a file."""

    name: str
    columns: tuple[str, ...]  # names of all its columns; for JSON Lines, the fields of all rows
    # Number of each row in the file, and its values in the requested columns, without absent fields. In CSV all values
    # are strings, and the header is row 1.
    rows: tuple[tuple[int, dict[str, Any]], ...]


def read_table(
    path: Path,
    wanted: Sequence[str],
    findings: Findings,
    *,
    endings: Sequence[str] = ENDINGS,
    ending: str | None = None,
) -> Table | None:
    """Read the wanted columns of a file.

    Args:
        path: File whose extension, one of `ENDINGS` in any case, names its format.
        wanted: Names of columns. A missing one is not a problem; see `lacks_column`.
        endings: Extensions to name in the problem of an unknown extension.
        ending: One of `ENDINGS` to read the file as; None: its own.

    Returns:
        The table, without invalid rows; None if nothing can be read.
    """
    readers = {".csv": _of_csv, ".tsv": _of_csv, ".jsonl": _of_jsonl, ".parquet": _of_parquet}
    ending = path.suffix.lower() if ending is None else ending
    if not path.exists():
        openable(path, findings)  # reports it: a missing file has no wrong extension
        return None
    if ending not in readers:
        message = f"{path.name} does not end in any of {', '.join(endings)}"
        findings.add(Problem("file", "error", path.name, None, "", message, "give it the extension of its format"))
        return None
    made = readers[ending](path, frozenset(wanted), findings)
    return made if made is not None and (made.columns or not findings.rejected()) else None


def lacks_column(table: Table, column: str, findings: Findings) -> bool:
    """Whether a table lacks a column, which is then reported."""
    if column in table.columns:
        return False
    shown = ", ".join(table.columns[:20]) + (", …" if len(table.columns) > 20 else "")
    hint = f"the file has {shown}: name one of them" if table.columns else "it has none"
    findings.add(Problem("schema", "error", table.name, None, column, "there is no such column", hint))
    return True


def rows_with_ids(table: Table, column: str, findings: Findings) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield the rows that have a unique id, and report the others.

    Args:
        column: Column of the ids: strings or whole numbers.

    Yields:
        The row's number, its id, and its values.
    """
    first: dict[str, int] = {}
    for number, row in table.rows:
        name = _as_id(row.get(column))
        if name is None:
            message, hint = "the id is missing", "give each row a unique text or whole number"
        elif name in first:
            message, hint = f"{name!r} already appears in row {first[name]}", "write one row for each prompt"
        else:
            first[name] = number
            yield number, name, row
            continue
        findings.add(Problem("prompt_ids", "error", table.name, number, column, message, hint))


def _as_id(value: Any) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 2**63 else None
    return value if isinstance(value, str) and value else None


def text_lines(path: Path, findings: Findings) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 file with their numbers and line ends; stop at one that is too long or not UTF-8."""
    for number, line in byte_lines(path, findings):
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            message = f"not UTF-8: byte 0x{line[error.start]:02x} in line {number}"
            findings.add(Problem("encoding", "error", path.name, number, "", message, "save the file as UTF-8"))
            return


def _of_csv(path: Path, wanted: frozenset[str], findings: Findings) -> Table | None:
    rows: list[tuple[int, dict[str, Any]]] = []
    heads: list[str] = []
    lines = (line for _, line in text_lines(path, findings))
    head = next(lines, "")
    records = csv.reader(chain([head], lines), delimiter=delimiter_of(head), strict=True)
    try:
        heads = next(records, [])
        if _too_many_columns(len(heads), path.name, findings):
            return None
        heads = _as_wanted(heads, wanted)
        if not _good_heads(heads, wanted, path.name, findings):
            return None
        for number, cells in enumerate(records, start=2):
            if not cells:
                continue  # a blank line
            if len(cells) != len(heads):
                message, hint = (
                    f"{len(cells)} cells under {len(heads)} column names",
                    "quote cells that contain the delimiter",
                )
                findings.add(Problem("csv", "error", path.name, number, "", message, hint))
                continue
            rows.append((number, {head: cell for head, cell in zip(heads, cells, strict=True) if head in wanted}))
            if not within_row_limit(len(rows), path.name, findings):
                break
    except csv.Error as error:
        message = f"not CSV, near line {records.line_num}: {error}"
        hint = f"quote cells as RFC 4180 does; a cell may have up to {csv.field_size_limit():,} characters"
        findings.add(Problem("csv", "error", path.name, None, "", message, hint))
    return Table(path.name, tuple(heads), tuple(rows))


def delimiter_of(head: str) -> str:
    r"""Return the delimiter of a table's first line: a comma if it has one, or else a tab or a semicolon.

    >>> [delimiter_of(head) for head in ("prompt,response;score\n", "prompt\tresponse\n", "prompt;response\n")]
    [',', '\t', ';']
    """
    return next((mark for mark in ",\t;" if mark in head), ",")


def _too_many_columns(count: int, name: str, findings: Findings) -> bool:
    """Whether a table has too many columns, which is then reported; names are compared only in a table that has not."""
    if count > MAX_COLUMNS:
        message = f"{count:,} columns"
        findings.add(Problem("sizes", "error", name, None, "", message, f"at most {MAX_COLUMNS:,} are allowed"))
    return count > MAX_COLUMNS


def _good_heads(heads: Sequence[str], wanted: frozenset[str], name: str, findings: Findings) -> bool:
    """Whether the wanted columns have unique names, and the table does not have too many columns."""
    if _too_many_columns(len(heads), name, findings):
        return False
    twice = sorted(head for head in wanted if heads.count(head) > 1)
    for head in twice:
        findings.add(Problem("schema", "error", name, None, head, "two columns have this name", "rename one"))
    return not twice


def _as_wanted(heads: list[str], wanted: frozenset[str]) -> list[str]:
    """Return the names of columns: a wanted name where a header differs from it only in case or surrounding spaces.

    >>> _as_wanted(["ID", " Prompt", "Response", "response"], frozenset({"id", "prompt", "response"}))
    ['id', 'prompt', 'Response', 'response']
    """
    plain = [head.strip().lower() for head in heads]
    return [
        name if head not in wanted and name in wanted and plain.count(name) == 1 else head
        for head, name in zip(heads, plain, strict=True)
    ]


def _of_jsonl(path: Path, wanted: frozenset[str], findings: Findings) -> Table | None:
    rows: list[tuple[int, dict[str, Any]]] = []
    columns: dict[str, None] = {}
    for number, raw in read_jsonl(path, findings):
        if len(columns) < MAX_COLUMNS:  # only messages need them
            columns |= dict.fromkeys(raw)
        rows.append((number, {key: value for key, value in raw.items() if key in wanted}))
        columns |= dict.fromkeys(rows[-1][1])
        if not within_row_limit(len(rows), path.name, findings):
            break
    return Table(path.name, tuple(columns), tuple(rows))


def _of_parquet(path: Path, wanted: frozenset[str], findings: Findings) -> Table | None:
    file = read_parquet(path, findings, sorted(wanted), MAX_KEPT_BYTES)
    if file is None:
        return None
    schema = file.schema
    there = [head for head in schema.names if head in wanted]
    good = _good_heads(schema.names, wanted, path.name, findings)
    for field in schema:
        # pyarrow regards a column `a.b` as a part of `a`, and reads it, too.
        if any(field.name == head or field.name.startswith(f"{head}.") for head in there) and not _plain(field.type):
            message, hint = f"type {field.type}", "write texts, numbers, booleans, or lists of these"
            findings.add(Problem("schema", "error", path.name, None, field.name, message, hint))
            good = False
    if not good:
        return None
    if not there:  # no columns to read, but the same number of rows
        return Table(path.name, tuple(schema.names), tuple((i + 1, {}) for i in range(file.count)))
    return Table(path.name, tuple(schema.names), tuple(file.rows(findings)))


def _plain(kind: pa.DataType) -> bool:
    """Whether a type is a string, number, boolean, or list of these."""
    with suppress(TypeError):
        made = plain_type(kind)
        return not pa.types.is_nested(made) or (pa.types.is_list(made) and not pa.types.is_nested(made.value_type))
    return False
