"""Read chosen columns of an untrusted table (CSV, JSON Lines or Parquet) whose columns may have any names.

Sizes are limited before anything is parsed. File content never raises an exception: problems are added to `Findings`.
Rows are kept in memory, so the limits are lower than for submissions.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from submissions.untrusted.findings import Findings, openable, within_row_limit
from submissions.untrusted.json_files import MAX_LINE_BYTES, byte_lines, read_jsonl
from submissions.untrusted.parquet_files import plain_type, read_parquet

ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")
MAX_KEPT_BYTES = 512 * 2**20
MAX_COLUMNS = 1000
csv.field_size_limit(MAX_LINE_BYTES)  # of cells, for all readers of CSV in this process


@dataclass(frozen=True, slots=True)
class Columns:
    """The rows of a file, with the columns that were asked for."""

    name: str
    names: tuple[str, ...]  # names of all its columns; for JSON Lines, the fields of all rows
    # Number of each row in the file, and its values in the requested columns, without absent fields. In CSV all values
    # are strings, and the header is row 1.
    rows: tuple[tuple[int, dict[str, Any]], ...]


def read_columns(
    path: Path,
    wanted: Sequence[str],
    findings: Findings,
    *,
    endings: Sequence[str] = ENDINGS,
    ending: str | None = None,
) -> Columns | None:
    """Read the wanted columns of a file, without invalid rows; None if nothing can be read.

    The extension names its format, unless `ending` does; `endings` are those to name in a problem. A missing column is
    no problem here; see `lacks_column`.
    """
    readers = {".csv": of_csv, ".tsv": of_csv, ".jsonl": _of_jsonl, ".parquet": _of_parquet}
    ending = path.suffix.lower() if ending is None else ending
    if not path.exists():
        openable(path, findings)  # reports it: a missing file has no wrong extension
        return None
    if ending not in readers:
        message = f"{path.name} does not end in any of {', '.join(endings)}"
        findings.error("file", path.name, None, "", message, "give it the extension of its format")
        return None
    columns = readers[ending](path, frozenset(wanted), findings)
    return columns if columns is not None and (columns.names or not findings.rejected()) else None


def lacks_column(columns: Columns, name: str, findings: Findings) -> bool:
    """Whether a table lacks a column, which is then reported."""
    if name in columns.names:
        return False
    shown = ", ".join(columns.names[:20]) + (", …" if len(columns.names) > 20 else "")
    hint = f"the file has {shown}: name one of them" if columns.names else "it has none"
    findings.error("schema", columns.name, None, name, "there is no such column", hint)
    return True


def rows_with_ids(columns: Columns, column: str, findings: Findings) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield the rows that have a unique id, a string or whole number, as (number, id, values); report the others."""
    first: dict[str, int] = {}
    for number, row in columns.rows:
        name = as_id(row.get(column))
        if name is None:
            message, hint = "the id is missing", "give each row a unique text or whole number"
        elif name in first:
            message, hint = f"{name!r} already appears in row {first[name]}", "write one row for each prompt"
        else:
            first[name] = number
            yield number, name, row
            continue
        findings.error("prompt_ids", columns.name, number, column, message, hint)


def as_id(value: Any) -> str | None:
    """Return a string or whole number as an id; None for other values."""
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
            findings.error("encoding", path.name, number, "", message, "save the file as UTF-8")
            return


def of_csv(path: Path, wanted: frozenset[str] | None, findings: Findings) -> Columns | None:
    """Read the wanted columns of CSV; with None all, where a repeated name gets a number, as pandas gives it."""
    rows: list[tuple[int, dict[str, Any]]] = []
    names: list[str] = []
    lines = (line for _, line in text_lines(path, findings))
    head = next(lines, "")
    records = csv.reader(chain([head], lines), delimiter=delimiter_of(head), strict=True)
    try:
        head_names = next(records, [])
        names = _numbered(head_names) if wanted is None else _as_wanted(head_names, wanted)
        if not _good_names(names, wanted or frozenset(), path.name, findings):
            return None
        for number, cells in enumerate(records, start=2):
            if len(cells) == len(names):
                rows.append(
                    (
                        number,
                        {
                            name: cell
                            for name, cell in zip(names, cells, strict=True)
                            if wanted is None or name in wanted
                        },
                    )
                )
            elif cells:  # not a blank line
                message = f"{len(cells)} cells under {len(names)} column names"
                findings.error("csv", path.name, number, "", message, "quote cells that contain the delimiter")
            if not within_row_limit(len(rows), path.name, findings):
                break
    except csv.Error as error:
        message = f"not CSV, near line {records.line_num}: {error}"
        hint = f"quote cells as RFC 4180 does; a cell may have up to {csv.field_size_limit():,} characters"
        findings.error("csv", path.name, None, "", message, hint)
    return Columns(path.name, tuple(names), tuple(rows))


def _numbered(names: Sequence[str]) -> list[str]:
    """Return unique names of columns.

    >>> _numbered(["prompt", "response", "response", " response "])
    ['prompt', 'response', 'response.1', 'response.2']
    """
    seen: Counter[str] = Counter()
    unique = []
    for name in map(str.strip, names):
        unique.append(f"{name}.{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return unique


def delimiter_of(head: str) -> str:
    r"""Return the delimiter of a table's first line: a comma if it has one, or else a tab or a semicolon.

    >>> [delimiter_of(head) for head in ("prompt,response;score\n", "prompt\tresponse\n", "prompt;response\n")]
    [',', '\t', ';']
    """
    return next((mark for mark in ",\t;" if mark in head), ",")


def _good_names(names: Sequence[str], wanted: frozenset[str], file: str, findings: Findings) -> bool:
    """Whether the wanted columns have unique names, and the table does not have too many columns."""
    if len(names) > MAX_COLUMNS:
        findings.error("sizes", file, None, "", f"{len(names):,} columns", f"at most {MAX_COLUMNS:,} are allowed")
        return False
    twice = sorted(name for name in wanted if names.count(name) > 1)
    for name in twice:
        findings.error("schema", file, None, name, "two columns have this name", "rename one")
    return not twice


def _as_wanted(names: list[str], wanted: frozenset[str]) -> list[str]:
    """Return the names of columns: a wanted name where a header differs from it only in case or surrounding spaces.

    >>> _as_wanted(["ID", " Prompt", "Response", "response"], frozenset({"id", "prompt", "response"}))
    ['id', 'prompt', 'Response', 'response']
    """
    plain = [name.strip().lower() for name in names]
    counts = Counter(plain)
    return [
        name if head not in wanted and name in wanted and counts[name] == 1 else head
        for head, name in zip(names, plain, strict=True)
    ]


def _of_jsonl(path: Path, wanted: frozenset[str], findings: Findings) -> Columns | None:
    rows: list[tuple[int, dict[str, Any]]] = []
    names: dict[str, None] = {}
    for number, raw in read_jsonl(path, findings):
        if len(names) < MAX_COLUMNS:  # only messages need them
            names |= dict.fromkeys(raw)
        rows.append((number, {key: value for key, value in raw.items() if key in wanted}))
        names |= dict.fromkeys(rows[-1][1])
        if not within_row_limit(len(rows), path.name, findings):
            break
    return Columns(path.name, tuple(names), tuple(rows))


def _of_parquet(path: Path, wanted: frozenset[str], findings: Findings) -> Columns | None:
    file = read_parquet(path, findings, sorted(wanted), MAX_KEPT_BYTES)
    if file is None:
        return None
    names = file.schema.names
    present = [name for name in names if name in wanted]
    good = _good_names(names, wanted, path.name, findings)
    for field in file.schema:
        # pyarrow regards a column `a.b` as a part of `a`, and reads it, too.
        if any(field.name == name or field.name.startswith(f"{name}.") for name in present) and not _plain(field.type):
            hint = "write texts, numbers, booleans, or lists of these"
            findings.error("schema", path.name, None, field.name, f"type {field.type}", hint)
            good = False
    if not good:
        return None
    if not present:  # no columns to read, but the same number of rows
        return Columns(path.name, tuple(names), tuple((i + 1, {}) for i in range(file.count)))
    return Columns(path.name, tuple(names), tuple(file.rows(findings)))


def _plain(kind: pa.DataType) -> bool:
    """Whether a type is a string, number, boolean, or list of these."""
    with suppress(TypeError):
        plain = plain_type(kind)
        return not pa.types.is_nested(plain) or (pa.types.is_list(plain) and not pa.types.is_nested(plain.value_type))
    return False
