"""Read untrusted Parquet files: a limited process converts them to plain Arrow, whose schema and size are checked here.

The process can open no other file or socket. It writes uncompressed record batches of plain types, so that reading them
needs no more memory than their size. File content never raises an exception: problems are added to `Findings`.
"""

import mmap
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import pyarrow as pa
import pyarrow.compute  # for casts; the limited process can import nothing
import pyarrow.parquet as pq

from divbench.core.errors import first_line
from submissions.untrusted.findings import MAX_ROWS, Findings, openable, within_row_limit
from submissions.untrusted.process import HOST_FAULTS, Limits, Stopped, run_limited

MAX_DECODED_BYTES = 2**30
BATCH_BYTES = 32 * 2**20  # limit on a batch, and so on a row; also on a schema with its metadata
MEMORY = 2 * 2**30
SECONDS = 120
_ROWS_A_BATCH = 256
_VALUE_BYTES = 64  # minimum overhead of a Python value besides its characters
_WRITE_AGAIN = "it may be truncated or damaged: write it again"
_SHORTER = "submit fewer or shorter responses"
_SMALLER = "write it again, in smaller row groups, with fewer or shorter responses"
_RETYPE = "write that type"
_NO_JSON = f"{_RETYPE}, not JSON: in pandas with engine='pyarrow'; fastparquet cannot write lists"
Field: TypeAlias = "pa.Field[Any]"


class Unreadable(Exception):
    """A file cannot be read, or only up to some row. Arguments: name of the check, problem, and suggested fix."""


@dataclass(frozen=True, slots=True)
class ParquetColumns:
    """The columns that were read from a Parquet file."""

    name: str
    schema: pa.Schema  # declared schema of all its columns
    count: int  # declared number of its rows
    _fault: tuple[int, list[str]] | None  # number of readable rows, and the arguments of `Unreadable`
    _written: pa.Buffer

    def batches(self, findings: Findings) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches of plain types of some megabytes each; none if one is unreadable."""
        if self._fault is not None:
            row, (check, message, hint) = self._fault
            findings.error(check, self.name, row + 1, "", f"cannot be read after row {row}: {message}", hint)
            return
        for batch in pa.ipc.open_stream(self._written):
            if batch.schema != plain_schema(self.schema, batch.schema.names) or batch.nbytes > BATCH_BYTES:
                raise ValueError(f"{self.name}: the limited process wrote other types or sizes than agreed")
            yield batch

    def rows(self, findings: Findings) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the rows with their numbers. A field that is not UTF-8 is reported and left out of its row."""
        before = 0
        for batch in self.batches(findings):
            yield from enumerate(_decoded(batch, before, self.name, findings), start=before + 1)
            before += batch.num_rows


def read_parquet(
    path: Path, findings: Findings, columns: Sequence[str] | None = None, limit: int | None = None
) -> ParquetColumns | None:
    """Read columns of a Parquet file, by default those of plain types; None if it is no Parquet or has too many rows.

    Damage after the footer is reported when the rows are read. An OSError means that this machine has no space.
    """
    if not openable(path, findings):
        return None
    most = limit or MAX_DECODED_BYTES
    request = {"columns": None if columns is None else list(columns), "most": most}
    limits = Limits(MEMORY, SECONDS, written=most + 2**26, files=0)
    with tempfile.TemporaryFile() as out, path.open("rb") as source:
        try:
            reply = run_limited(f"{__name__}:convert", request, limits, (source.fileno(), out.fileno()))
        except Stopped as error:
            reply = {"fault": ["limits", f"reading it {error}", _SMALLER]}
        size = out.seek(0, os.SEEK_END)
        written = pa.py_buffer(mmap.mmap(out.fileno(), size, access=mmap.ACCESS_READ) if size else b"")
    if "declared" not in reply:
        check, message, hint = reply["fault"]
        findings.error(check, path.name, None, "", f"not a valid Parquet file: {message}", hint)
        return None
    if not within_row_limit(reply["declared"], path.name, findings):
        return None
    stream = pa.BufferReader(written)
    schema = pa.ipc.read_schema(pa.ipc.read_message(stream))
    fault = (reply["rows"], reply["fault"]) if "fault" in reply else None
    return ParquetColumns(path.name, schema, reply["declared"], fault, written.slice(stream.tell()))


def open_parquet(
    path: Path,
    schema: pa.Schema,
    findings: Findings,
    limit: int | None = None,
    *,
    optional: Sequence[Field] = (),
    any_number: bool = False,
) -> ParquetColumns | None:
    """Read a Parquet file with exactly this schema; None if problems were found. A pandas index is ignored.

    It has all `optional` columns or none. With `any_number`, a column of floats may have integers, or other floats.
    """
    file = read_parquet(path, findings, [*schema.names, *(field.name for field in optional)], limit)
    if file is None:
        return None
    if any(field.name in file.schema.names for field in optional):
        schema = pa.schema([*schema, *optional])
    misfits = list(_misfits(file.schema, schema, any_number))
    for field, message, hint in misfits:
        findings.error("schema", path.name, None, field, message, hint)
    return None if misfits else file


def _misfits(declared: pa.Schema, wanted: pa.Schema, any_number: bool) -> Iterator[tuple[str, str, str]]:
    """Yield the columns that do not fit the schema: name, problem and suggested fix."""
    for field in wanted:
        kinds = [declared.field(i).type for i in declared.get_all_field_indices(field.name)]
        if not kinds:
            yield field.name, "the column is missing", "add it"
        elif len(kinds) > 1:
            yield field.name, "two columns have this name", "rename one"
        elif not _fits(kinds[0], field, any_number):
            hint = _NO_JSON if isinstance(kinds[0], pa.JsonType) else _RETYPE
            yield field.name, f"type {kinds[0]}, expected {field.type}", hint
    for name in sorted(set(declared.names) - set(wanted.names)):
        if not name.startswith("__index_level_"):  # the index of pandas, which is ignored
            yield name, "unknown column", "remove it"


def _fits(kind: pa.DataType, wanted: Field, any_number: bool) -> bool:
    """Whether a column has a field's type; a column of nulls may have the null type, as pandas writes it."""
    if pa.types.is_null(kind):
        return wanted.nullable
    if any_number and pa.types.is_floating(wanted.type):
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
    with suppress(TypeError):
        return plain_type(kind) == plain_type(wanted.type)
    return False


def _decoded(batch: pa.RecordBatch, before: int, name: str, findings: Findings) -> Iterator[dict[str, Any]]:
    with suppress(pa.ArrowInvalid):
        batch.validate(full=True)
        yield from batch.to_pylist()
        return
    for i in range(batch.num_rows):
        row: dict[str, Any] = {}
        for field, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                row[field] = column[i].as_py()
            except UnicodeDecodeError:
                findings.error("encoding", name, before + i + 1, field, "not UTF-8", "write strings as UTF-8")
        yield row


def plain_schema(schema: pa.Schema, columns: Sequence[str]) -> pa.Schema:
    """Return the schema of some columns with plain types; raise KeyError if one is missing or repeated."""
    return pa.schema([pa.field(name, plain_type(schema.field(name).type)) for name in columns])


def plain_type(kind: Any) -> pa.DataType:
    """Return a type without its memory layout: dictionaries, views, 64-bit offsets, fixed lengths.

    Raise TypeError for other types than strings, numbers, booleans, and lists and structs of them.
    """
    types = pa.types
    if types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(plain_type(kind.value_type))
    if types.is_struct(kind):
        return pa.struct([pa.field(field.name, plain_type(field.type)) for field in kind])
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind)):
        raise TypeError(f"type {kind}")
    return cast("pa.DataType", kind)


def is_plain(kind: Any) -> bool:
    """Whether `plain_type` knows a type."""
    with suppress(TypeError):
        plain_type(kind)
        return True
    return False


def convert(request: dict[str, Any], source: int, out: int) -> dict[str, Any]:
    """In the limited process: write a file's schema and the rows of its requested columns as plain Arrow.

    Return the number of rows, declared and written, and the fault if some cannot be read.
    """
    reply: dict[str, Any] = {"rows": 0}
    try:
        with open(source, "rb", closefd=False) as read, open(out, "wb", closefd=False) as write:
            # Page by page. Some writers, such as Spark's and ours, add checksums.
            file = pq.ParquetFile(read, pre_buffer=False, buffer_size=2**20, page_checksum_verification=True)
            schema, declared = file.schema_arrow, file.metadata.num_rows
            if declared < 0:
                raise Unreadable("parquet", "a negative number of rows", _WRITE_AGAIN)
            if schema.serialize().size > BATCH_BYTES:
                raise Unreadable("sizes", f"a schema of more than {BATCH_BYTES:,} bytes", "write less metadata")
            write.write(schema.serialize())
            reply["declared"] = declared
            every = [field.name for field in schema if is_plain(field.type) and schema.names.count(field.name) == 1]
            wanted = every if request["columns"] is None else request["columns"]
            columns = [name for name in wanted if schema.get_field_index(name) >= 0]
            with pa.ipc.new_stream(write, plain_schema(schema, columns)) as writer:
                for batch in _plain_batches(file, columns, request["most"]) if declared <= MAX_ROWS else ():
                    writer.write_batch(batch)
                    reply["rows"] += batch.num_rows
    except Unreadable as error:
        return reply | {"fault": error.args}
    except MemoryError:
        return reply | {"fault": ("sizes", "takes too much memory", "write fewer rows per row group")}
    except Exception as error:  # libraries may raise anything on malformed bytes
        if isinstance(error, OSError) and error.errno in HOST_FAULTS:
            raise
        return reply | {"fault": ("parquet", first_line(error), _WRITE_AGAIN)}
    return reply


def _plain_batches(file: pq.ParquetFile, columns: Sequence[str], most: int) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a Parquet file in batches of plain types of at most `BATCH_BYTES`, `most` bytes in all."""
    schema = plain_schema(file.schema_arrow, columns)
    total = rows = 0
    for batch in file.iter_batches(_ROWS_A_BATCH, columns=schema.names, use_threads=False):
        arrays = [batch.column(name) for name in schema.names]
        # Cast only if the types differ: pyarrow's cast breaks lists of nulls.
        plain = [
            array if array.type == kind else array.cast(kind) for array, kind in zip(arrays, schema.types, strict=True)
        ]
        whole = pa.RecordBatch.from_arrays(plain, schema=schema)
        for part in [whole] if _weight(whole) <= BATCH_BYTES else (whole.slice(i, 1) for i in range(whole.num_rows)):
            weight = _weight(part)
            if weight > BATCH_BYTES:
                raise Unreadable("sizes", f"a row of more than {BATCH_BYTES:,} bytes when decoded", _SHORTER)
            total += weight
            if total > most:
                raise Unreadable("sizes", f"more than {most:,} bytes when decoded", _SHORTER)
            rows += part.num_rows
            yield part
    if schema and rows != file.metadata.num_rows:
        message = f"{file.metadata.num_rows:,} rows are declared, {rows:,} are present"
        raise Unreadable("parquet", message, _WRITE_AGAIN)


def _weight(batch: pa.RecordBatch) -> int:
    return batch.nbytes + _VALUE_BYTES * sum(_values(column) for column in batch.columns)


def _values(column: Any) -> int:
    inner = [column.flatten()] if pa.types.is_list(column.type) else []
    return len(column) + sum(map(_values, column.flatten() if pa.types.is_struct(column.type) else inner))
