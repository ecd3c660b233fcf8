"""Read untrusted Parquet files in a separate process, and report each kind of damage as a problem.

The process (`parquet_reader`) converts the file to plain Arrow. This module reads only that, after checking its schema
and size. File content never raises an exception: problems are added to `Findings`.
"""

import atexit
import errno
import json
import mmap
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from submissions.schema import Problem
from submissions.untrusted import parquet_reader as reader
from submissions.untrusted.findings import Findings
from submissions.untrusted.limited_process import environment, first_line, reason
from submissions.untrusted.limits import file_error, openable, within_row_limit

MAX_DECODED_BYTES = 2**30
_SMALLER = "write it again, in smaller row groups, with fewer or shorter responses"
_MAX_REPLY = 2**20
Field: TypeAlias = "pa.Field[Any]"
_HAS_FORK = hasattr(os, "fork") and hasattr(socket, "send_fds")  # Windows reads in this process
_LOCK = threading.Lock()
_RETYPE = "write that type"
_NO_JSON = f"{_RETYPE}, not JSON: in pandas with engine='pyarrow'; fastparquet cannot write lists"


@dataclass(frozen=True, slots=True)
class ParquetTable:
    """The contents of a Parquet file."""

    name: str
    schema: pa.Schema  # declared schema of all its columns
    count: int  # declared number of its rows
    _said: reader.Asked
    _written: pa.Buffer

    def batches(self, findings: Findings) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches of plain types of some megabytes each; none if one is unreadable."""
        if "message" in self._said:
            row = self._said["rows"]
            message = f"cannot be read after row {row}: {self._said['message']}"
            findings.add(file_error(self._said["check"], self.name, row + 1, message, self._said["hint"]))
            return
        for batch in pa.ipc.open_stream(self._written):
            kept = reader.plain_schema(self.schema, batch.schema.names)
            if batch.schema != kept or batch.nbytes > reader.BATCH_BYTES:
                raise ValueError(f"{self.name}: the reader process wrote other types or sizes than agreed")
            yield batch

    def rows(self, findings: Findings) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the rows with their numbers. A field that is not UTF-8 is reported and left out of its row."""
        before = 0
        for batch in self.batches(findings):
            yield from enumerate(_decoded(batch, before, self.name, findings), start=before + 1)
            before += batch.num_rows


def read_parquet(
    path: Path, findings: Findings, columns: Sequence[str] | None = None, limit: int | None = None
) -> ParquetTable | None:
    """Read a Parquet file in a separate process.

    Args:
        columns: Columns to read if the file has them; None: all.
        limit: Limit on decoded bytes; None: `MAX_DECODED_BYTES`.

    Returns:
        The table; None if the file is not Parquet or has too many rows. Damage after its footer is reported when the
        rows are read.

    Raises:
        OSError: This machine has no space for the rows.
    """
    if not openable(path, findings):
        return None
    asked = {"columns": None if columns is None else list(columns), "most": limit or MAX_DECODED_BYTES}
    said, written = _read_apart(path, asked)
    if "declared" not in said:
        message = f"not a valid Parquet file: {said['message']}"
        findings.add(file_error(said["check"], path.name, None, message, said["hint"]))
        return None
    if not within_row_limit(said["declared"], path.name, findings):
        return None
    stream = pa.BufferReader(written)
    schema = pa.ipc.read_schema(pa.ipc.read_message(stream))
    return ParquetTable(path.name, schema, said["declared"], said, written.slice(stream.tell()))


def open_parquet(
    path: Path,
    schema: pa.Schema,
    findings: Findings,
    limit: int | None = None,
    *,
    optional: Sequence[Field] = (),
    any_number: bool = False,
) -> ParquetTable | None:
    """Read a Parquet file with exactly this schema, as `read_parquet` does; None if problems were found.

    Args:
        schema: Its columns; a pandas index is ignored.
        limit: Limit on decoded bytes, as in `read_parquet`.
        optional: Additional columns: the file has all of them or none.
        any_number: Whether a column of floats may have integers, or floats of another size.
    """
    file = read_parquet(path, findings, [*schema.names, *(field.name for field in optional)], limit)
    if file is None:
        return None
    if any(field.name in file.schema.names for field in optional):
        schema = pa.schema([*schema, *optional])
    misfits = _misfits(file.schema, schema, any_number)
    problems = [Problem("schema", "error", path.name, None, *each) for each in misfits]
    for problem in problems:
        findings.add(problem)
    return None if problems else file


def _misfits(found: pa.Schema, wanted: pa.Schema, any_number: bool) -> Iterator[tuple[str, str, str]]:
    """Yield the columns that do not fit the schema: name, problem and suggested fix."""
    for field in wanted:
        kinds = [found.field(place).type for place in found.get_all_field_indices(field.name)]
        if not kinds:
            yield field.name, "the column is missing", "add it"
        elif len(kinds) > 1:
            yield field.name, "two columns have this name", "rename one"
        elif not _fits(kinds[0], field, any_number):
            hint = _NO_JSON if isinstance(kinds[0], pa.JsonType) else _RETYPE
            yield field.name, f"type {kinds[0]}, expected {field.type}", hint
    for name in sorted(set(found.names) - set(wanted.names)):
        if not name.startswith("__index_level_"):  # the index of pandas, which is ignored
            yield name, "unknown column", "remove it"


def _fits(found: pa.DataType, wanted: Field, any_number: bool) -> bool:
    """Whether a column has a field's type; a column of nulls may have the null type, as pandas writes it."""
    if pa.types.is_null(found):
        return wanted.nullable
    if any_number and pa.types.is_floating(wanted.type):
        return bool(pa.types.is_integer(found) or pa.types.is_floating(found))
    with suppress(TypeError):
        return reader.plain_type(found) == reader.plain_type(wanted.type)
    return False


def _decoded(batch: pa.RecordBatch, before: int, name: str, findings: Findings) -> Iterator[dict[str, Any]]:
    with suppress(pa.ArrowInvalid):
        batch.validate(full=True)
        yield from batch.to_pylist()
        return
    for place in range(batch.num_rows):
        row: dict[str, Any] = {}
        for field, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                row[field] = column[place].as_py()
            except UnicodeDecodeError:
                hint = "write strings as UTF-8"
                findings.add(Problem("encoding", "error", name, before + place + 1, field, "not UTF-8", hint))
        yield row


def _read_apart(path: Path, asked: reader.Asked) -> tuple[reader.Asked, pa.Buffer]:
    """Read a file in a separate process; return its reply and a memory map of what it wrote."""
    with ExitStack() as stack:
        talk, out = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        try:
            source = stack.enter_context(path.open("rb"))
        except OSError as error:  # it was readable a moment ago
            return reader.fault("file", first_line(error), "allow reading it"), pa.py_buffer(b"")
        if not _HAS_FORK:
            said = reader.reply(asked, source, out)
        else:
            given = talk.write(json.dumps(asked).encode())
            talk.seek(0)
            status = _ended(talk.fileno(), source.fileno(), out.fileno())
            talk.seek(max(given, talk.seek(0, os.SEEK_END) - _MAX_REPLY))
            told = talk.read()
            if status == 0:
                said = json.loads(told.splitlines()[-1])
            else:
                said = reader.fault("limits", f"reading it {reason(status, told)}", _SMALLER)
        if "host" in said:
            raise OSError(said["host"], os.strerror(said["host"]))
        size = out.seek(0, os.SEEK_END)
        return said, pa.py_buffer(mmap.mmap(out.fileno(), size, access=mmap.ACCESS_READ) if size else b"")


def _ended(*fds: int) -> int:
    """Let a fork read a file, given its file descriptors, and return its exit status."""
    ended, telling = os.pipe()
    with os.fdopen(ended, "rb") as status:
        with os.fdopen(telling, "wb"), _LOCK:
            try:
                socket.send_fds(_server(), [b"."], [telling, *fds])
            except BrokenPipeError:  # the server was killed
                _server().close()
                _server.cache_clear()
                socket.send_fds(_server(), [b"."], [telling, *fds])
        said = status.read()
    if not said:
        raise OSError(errno.ECHILD, "the reader of Parquet files has ended")
    return int(said)


@cache
def _server() -> socket.socket:
    """The process that forks for each file: started once, used by all threads and forks of this one."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(  # noqa: S603 - this interpreter, with a module of ours
            [sys.executable, "-P", "-m", reader.__name__, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=environment(),
            pass_fds=[theirs.fileno()],
            start_new_session=True,  # Ctrl-C goes to this process alone
        )
    for end in (process.wait, process.terminate, ours.close):  # called in reverse order
        atexit.register(end)
    return ours
