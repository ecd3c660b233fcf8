"""Parquet files from outside, read in a process of their own, and a named problem for each way in which one can be bad.

`parquet_reader` reads the file and writes it again as plain Arrow: here the schema and the sizes of that are checked,
and nothing else is read. Nothing raises for what a file contains: problems are added to `Findings`.
"""

import atexit
import base64
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
from pathlib import Path
from typing import Any

import pyarrow as pa

from submissions.schema import Problem
from submissions.untrusted import parquet_reader as reader
from submissions.untrusted.findings import Findings
from submissions.untrusted.limited_process import environment, first_line, reason
from submissions.untrusted.limits import file_error, openable, within_row_limit

MAX_DECODED_BYTES = 2**30
_SMALLER = "write it again, in smaller row groups, with fewer or shorter responses"
_MAX_REPLY = 64 * 2**20
_HAS_FORK = hasattr(os, "fork") and hasattr(socket, "send_fds")  # Windows reads in this process


@dataclass(frozen=True, slots=True)
class ParquetTable:
    """What was read of a Parquet file.

    Attributes:
        name: Name of the file.
        schema: Schema of all that it has, as it says.
        count: Number of its rows, as it says.
    """

    name: str
    schema: pa.Schema
    count: int
    _said: reader.Asked
    _written: pa.Buffer

    def batches(self, findings: Findings) -> Iterator[pa.RecordBatch]:
        """The rows in batches of plain types, each of some megabytes; none if one is unreadable."""
        if "message" in self._said:
            row = self._said["rows"]
            message = f"cannot be read after row {row}: {self._said['message']}"
            findings.add(file_error(self._said["check"], self.name, row + 1, message, self._said["hint"]))
            return
        for batch in pa.ipc.open_stream(self._written) if self._written.size else ():
            kept = reader.plain_schema(self.schema, batch.schema.names)
            if batch.schema != kept or batch.nbytes > reader.BATCH_BYTES:
                raise ValueError(f"{self.name} was read as something else")
            yield batch

    def rows(self, findings: Findings) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows with their numbers. A field that is not UTF-8 is a problem, and its row lacks it."""
        number = 0
        for batch in self.batches(findings):
            for row in _decoded(batch, number, self.name, findings):
                number += 1
                yield number, row


def read_parquet(
    path: Path, findings: Findings, columns: Sequence[str] | None = None, limit: int | None = None
) -> ParquetTable | None:
    """Read a Parquet file in a process of its own.

    Args:
        path: The file.
        findings: Collector of problems.
        columns: Columns to read, of those that it has; None: all.
        limit: Limit on decoded bytes; None: `MAX_DECODED_BYTES`.

    Returns:
        The table; None if it is no Parquet file or has too many rows. What is wrong behind its footer is told with the
        rows.

    Raises:
        OSError: This machine has no room for the rows.
    """
    if not openable(path, findings):
        return None
    asked = {"columns": None if columns is None else list(columns), "most": limit or MAX_DECODED_BYTES}
    said, written = _read_apart(path, asked)
    if "schema" not in said:
        message = f"not a valid Parquet file: {said['message']}"
        findings.add(file_error(said["check"], path.name, None, message, said["hint"]))
        return None
    if not within_row_limit(said["declared"], path.name, findings):
        return None
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(said["schema"])))
    return ParquetTable(path.name, schema, said["declared"], said, written)


def open_parquet(
    path: Path, schema: pa.Schema, findings: Findings, limit: int | None = None, *, optional: pa.Schema | None = None
) -> ParquetTable | None:
    """Read a Parquet file of exactly this schema, as `read_parquet` does; None with the reason among the findings.

    Args:
        path: The file.
        schema: Its columns.
        findings: Collector of problems.
        limit: Limit on decoded bytes, as in `read_parquet`.
        optional: Columns that it may have besides: all of them or none.
    """
    besides = [] if optional is None else list(optional)
    file = read_parquet(path, findings, [*schema.names, *(field.name for field in besides)], limit)
    if file is None:
        return None
    found = file.schema
    if any(field.name in found.names for field in besides):
        schema = pa.schema([*schema, *besides])
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
    return file if good else None


def _fits(found: pa.DataType, wanted: "pa.Field[Any]") -> bool:
    """Whether a column is of a field's type; one of nothing but nulls may be of their type, as pandas writes it."""
    if pa.types.is_null(found):
        return wanted.nullable
    with suppress(TypeError):
        return reader.plain_type(found) == reader.plain_type(wanted.type)
    return False


def _retyped(found: pa.DataType) -> str:
    """How to come from a type to that which is wanted."""
    if isinstance(found, pa.JsonType):
        return "write that type, not JSON: in pandas with engine='pyarrow'; fastparquet cannot write lists"
    return "write that type"


def _decoded(batch: pa.RecordBatch, before: int, name: str, findings: Findings) -> Iterator[dict[str, Any]]:
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        yield from (_row(batch.slice(place, 1), before + place + 1, name, findings) for place in range(batch.num_rows))
    else:
        yield from batch.to_pylist()


def _row(row: pa.RecordBatch, number: int, name: str, findings: Findings) -> dict[str, Any]:
    """One row, with a problem in place of each field that is not UTF-8."""
    made: dict[str, Any] = {}
    for field, column in zip(row.schema.names, row.columns, strict=True):
        try:
            made[field] = column[0].as_py()
        except UnicodeDecodeError:
            findings.add(Problem("encoding", "error", name, number, field, "not UTF-8", "write strings as UTF-8"))
    return made


def _read_apart(path: Path, asked: reader.Asked) -> tuple[reader.Asked, pa.Buffer]:
    """What a process of its own says of a file, and what it wrote: in memory only as far as it is looked at.

    Raises:
        OSError: This machine has no room for that.
    """
    with ExitStack() as stack:
        talk, out, errors = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        try:
            source = stack.enter_context(path.open("rb"))
        except OSError as error:  # it was there
            return reader.fault("file", first_line(error), "allow reading it"), pa.py_buffer(b"")
        if not _HAS_FORK:
            said = reader.reply(asked, source, out)
        else:
            talk.write(json.dumps(asked).encode())
            talk.seek(0)
            status = _PROCESS.read(talk.fileno(), source.fileno(), out.fileno(), errors.fileno())
            talk.seek(0)
            errors.seek(0)
            if status == 0:
                said = json.loads(talk.read(_MAX_REPLY))
            else:
                said = reader.fault("limits", f"reading it {reason(status, errors.read(_MAX_REPLY))}", _SMALLER)
        if "host" in said:
            raise OSError(said["host"], os.strerror(said["host"]))
        size = out.seek(0, os.SEEK_END)
        return said, pa.py_buffer(mmap.mmap(out.fileno(), size, access=mmap.ACCESS_READ) if size else b"")


class _Process:
    """The process that forks for each file: started once, used by all threads and forks of this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def read(self, *fds: int) -> int:
        """How the fork ended that read a file, given what it shall have open."""
        ended, telling = os.pipe()
        with os.fdopen(ended, "rb") as status:
            try:
                self._send(telling, *fds)
            finally:
                os.close(telling)
            said = status.read()
        if not said:
            raise OSError(errno.ECHILD, "the reader of Parquet files has ended")
        return int(said)

    def _send(self, *fds: int) -> None:
        with self._lock:
            try:
                socket.send_fds(self._socket or self._start(), [b"."], fds)
            except BrokenPipeError:  # somebody ended it
                socket.send_fds(self._start(), [b"."], fds)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - this interpreter, with a module of ours
                [sys.executable, "-P", "-m", reader.__name__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=environment(),
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for us
            )
        if self._socket is not None:
            self._socket.close()
        self._socket = ours
        atexit.register(_end, process, ours, os.getpid())
        return ours


def _end(process: "subprocess.Popen[bytes]", ours: socket.socket, parent: int) -> None:
    ours.close()
    if os.getpid() == parent:  # not a fork of it
        process.terminate()
        process.wait()


_PROCESS = _Process()
