"""Parquet files from outside: limits before decoding, and a named problem for each way in which a file can be bad.

Nothing raises for what a file contains: problems are added to `Findings`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from submissions.schema import Problem
from submissions.untrusted.findings import Findings
from submissions.untrusted.limits import file_error, first_line, openable, within_row_limit
from submissions.untrusted.parquet_layout import PageHeaders, read_layout
from submissions.untrusted.parquet_memory import BATCH_BYTES, MemoryEstimator, streamed
from submissions.untrusted.thrift import WRITE_AGAIN, LimitExceeded, Malformed

MAX_DECODED_BYTES = 4 * 2**30
ROWS_A_BATCH = 64


def parquet_file(path: Path, findings: Findings) -> tuple[pq.ParquetFile, pa.Schema] | None:
    """A Parquet file with its schema, or None with the reason among the findings. Only the footer is read."""
    if not openable(path, findings):
        return None
    try:
        read_layout(path)  # pyarrow believes what a footer says, and some damaged ones end the whole process
        file = pq.ParquetFile(path)
        return file, file.schema_arrow
    except LimitExceeded as error:
        findings.add(file_error("sizes", path.name, None, str(error), error.hint))
    except (Malformed, pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last: a column's name
        message = f"not a valid Parquet file: {first_line(error)}"
        findings.add(file_error("parquet", path.name, None, message, WRITE_AGAIN))
    return None


def open_parquet(path: Path, schema: pa.Schema, findings: Findings) -> pq.ParquetFile | None:
    """A Parquet file of exactly this schema, or None with the reason among the findings. Only the footer is read."""
    opened = parquet_file(path, findings)
    if opened is None:
        return None
    file, found = opened
    good = True
    for field in schema:
        place = found.get_field_index(field.name)
        if place < 0:  # there are none, or several
            twice = field.name in found.names
            message, hint = (
                ("two columns have this name", "rename one") if twice else ("the column is missing", "add it")
            )
            findings.add(Problem("schema", "error", path.name, None, field.name, message, hint))
            good = False
        elif not _fits(found.field(place).type, field):
            kind = found.field(place).type
            message = f"type {kind}, expected {field.type}"
            findings.add(Problem("schema", "error", path.name, None, field.name, message, _retyped(kind)))
            good = False
    for name in sorted(set(found.names) - set(schema.names)):
        hint = "write without pandas' index: index=False" if name.startswith("__index_level_") else "remove it"
        findings.add(Problem("schema", "error", path.name, None, name, "unknown column", hint))
        good = False
    few = within_row_limit(file.metadata.num_rows, path.name, findings)
    return file if good and few else None


def _fits(found: pa.DataType, wanted: "pa.Field[Any]") -> bool:
    """Whether a column is of a field's type; one of nothing but nulls may be of their type, as pandas writes it."""
    return _same_type(found, wanted.type) or (wanted.nullable and pa.types.is_null(found))


def _retyped(found: pa.DataType) -> str:
    """How to come from a type to that which is wanted."""
    if pa.types.is_dictionary(found):
        return "convert it: in pandas with astype(str), in polars with cast(pl.String)"
    if pa.types.is_fixed_size_list(found):
        return "convert it: in polars with arr.to_list(), in datasets without a length"
    if isinstance(found, pa.JsonType):
        return "write that type, not JSON: in pandas with engine='pyarrow'; fastparquet cannot write lists"
    return "write that type"


def _same_type(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Equal, but for how strings and the offsets of lists are kept in memory, and the name of a list's items."""
    if pa.types.is_string(wanted):
        return pa.types.is_string(found) or pa.types.is_large_string(found) or pa.types.is_string_view(found)
    if pa.types.is_list(wanted):
        lists = pa.types.is_list(found) or pa.types.is_large_list(found)
        return lists and _same_type(getattr(found, "value_type"), getattr(wanted, "value_type"))  # noqa: B009 - untyped in the stubs
    return bool(found == wanted)


def parquet_rows(
    path: Path, findings: Findings, columns: Sequence[str] | None = None, limit: int | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a Parquet file with their numbers, read by small batches, up to a limit of decoded bytes.

    A field that is not UTF-8 is a problem, and its row lacks it.

    Args:
        path: The file, opened by `open_parquet` or `parquet_file`.
        findings: Collector of problems.
        columns: Columns to read, of texts, numbers, or lists of them; None: all.
        limit: Limit on decoded bytes; None: `MAX_DECODED_BYTES`.
    """
    number = weight = 0
    most = MAX_DECODED_BYTES if limit is None else limit
    chosen = None if columns is None else list(columns)
    try:
        groups = read_layout(path)
        file = streamed(path)
        with path.open("rb") as raw:
            estimator = MemoryEstimator(path, file.metadata, PageHeaders(raw), chosen)
            for place, group in enumerate(groups):
                if group.rows == 0:
                    continue
                weight, heaviest = estimator.measure(place, group, weight, most)
                rows = max(1, min(ROWS_A_BATCH, BATCH_BYTES // max(1, heaviest)))
                last = number + group.rows
                for batch in file.iter_batches(batch_size=rows, row_groups=[place], columns=chosen):
                    for row in _decoded(batch, number, path.name, findings):
                        number += 1
                        yield number, row
                if number != last:
                    raise Malformed(f"{last:,} rows up to here are declared, {number:,} are present")
    except LimitExceeded as error:
        findings.add(file_error("sizes", path.name, number + error.row, str(error), error.hint))
    except MemoryError:
        message = f"cannot be read after row {number} in the available memory"
        findings.add(file_error("sizes", path.name, number + 1, message, "write fewer rows per row group"))
    except (Malformed, pa.ArrowException, OSError) as error:
        message = f"cannot be read after row {number}: {first_line(error)}"
        hint = error.hint if isinstance(error, Malformed) else WRITE_AGAIN
        findings.add(file_error("parquet", path.name, number + 1, message, hint))


def _decoded(batch: pa.RecordBatch, before: int, name: str, findings: Findings) -> Iterator[dict[str, Any]]:
    try:
        rows = batch.to_pylist()
    except UnicodeDecodeError:
        rows = [_row(batch, place, before, name, findings) for place in range(batch.num_rows)]
    yield from rows


def _row(batch: pa.RecordBatch, place: int, before: int, name: str, findings: Findings) -> dict[str, Any]:
    """One row of a batch, with a problem in place of each field that is not UTF-8."""
    made: dict[str, Any] = {}
    for field, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            made[field] = column[place].as_py()
        except UnicodeDecodeError:
            message, hint = "not UTF-8", "write strings as UTF-8"
            findings.add(Problem("encoding", "error", name, before + place + 1, field, message, hint))
    return made
