"""Convert a Parquet file to plain Arrow, in a separate process.

`python -m submissions.untrusted.parquet_reader` imports its libraries and waits. It forks for each file. The fork
receives the opened file, limits its own resources, and can open no other file or socket. It writes uncompressed record
batches of plain types, so that reading them needs no more memory than their size.
"""

import errno
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.compute  # for casts; a fork can import nothing
import pyarrow.parquet as pq

from submissions.untrusted.limited_process import MAX_ROWS, first_line, limit

MEMORY = 2 * 2**30  # address space, including what pyarrow reserves at the start
SECONDS = 60
BATCH_BYTES = 32 * 2**20  # limit on a batch, and so on a row; also on a schema with its metadata
VALUE_BYTES = 64  # minimum overhead of a Python value besides its characters
WRITE_AGAIN = "it may be truncated or damaged: write it again"
SHORTER = "submit fewer or shorter responses"
_ROWS_A_BATCH = 256
# EFBIG: a limit set from outside; the limit set here is larger than what a file may decode to.
HOST_FAULTS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ECHILD}
Asked = dict[str, Any]


class Unreadable(Exception):
    """A file cannot be read, or only up to some row. Arguments: name of the check, problem, and suggested fix."""


def plain_schema(schema: pa.Schema, columns: Sequence[str]) -> pa.Schema:
    """Return the schema of some columns with plain types.

    Raises:
        KeyError: A column is missing or repeated.
        TypeError: A column has other types than strings, numbers, booleans, and lists and structs of them.
    """
    return pa.schema([pa.field(name, plain_type(schema.field(name).type)) for name in columns])


def plain_type(kind: Any) -> pa.DataType:
    """Return a type without its memory layout: dictionaries, views, 64-bit offsets, fixed lengths."""
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


def plain_batches(file: pq.ParquetFile, columns: Sequence[str], most: int) -> Iterator[pa.RecordBatch]:
    """Yield some columns of a Parquet file in batches of plain types of at most `BATCH_BYTES`.

    Raises:
        Unreadable: The file contradicts itself, has a larger row, or decodes to more than `most` bytes in all.
        Exception: Any error of pyarrow for a bad file.
    """
    schema = plain_schema(file.schema_arrow, columns)
    weight = rows = 0
    for batch in file.iter_batches(_ROWS_A_BATCH, columns=schema.names, use_threads=False):
        found = [(batch.column(field.name), field.type) for field in schema]
        # Cast only if the types differ: pyarrow's cast breaks lists of nulls.
        kept = [column if column.type == kind else column.cast(kind) for column, kind in found]
        whole = pa.RecordBatch.from_arrays(kept, schema=schema)
        for part in [whole] if _weight(whole) <= BATCH_BYTES else (whole.slice(i, 1) for i in range(whole.num_rows)):
            if (own := _weight(part)) > BATCH_BYTES:
                raise Unreadable("sizes", f"a row of more than {BATCH_BYTES:,} bytes when decoded", SHORTER)
            weight += own
            if weight > most:
                raise Unreadable("sizes", f"more than {most:,} bytes when decoded", SHORTER)
            rows += part.num_rows
            yield part
    if schema and rows != file.metadata.num_rows:
        message = f"{file.metadata.num_rows:,} rows are declared, {rows:,} are present"
        raise Unreadable("parquet", message, WRITE_AGAIN)


def _weight(batch: pa.RecordBatch) -> int:
    return batch.nbytes + VALUE_BYTES * sum(_values(column) for column in batch.columns)


def _values(column: Any) -> int:
    inner = [column.flatten()] if pa.types.is_list(column.type) else []
    return len(column) + sum(map(_values, column.flatten() if pa.types.is_struct(column.type) else inner))


def reply(asked: Asked, source: IO[bytes], out: Any) -> Asked:
    """Write a file's schema and the rows of its requested columns; return what was read or the fault."""
    made: Asked = {"rows": 0}
    try:
        # Page by page. Some writers, such as Spark's and ours, add checksums.
        file = pq.ParquetFile(source, pre_buffer=False, buffer_size=2**20, page_checksum_verification=True)
        schema, declared = file.schema_arrow, file.metadata.num_rows
        if declared < 0:
            raise Unreadable("parquet", "a negative number of rows", WRITE_AGAIN)
        if schema.serialize().size > BATCH_BYTES:
            raise Unreadable("sizes", f"a schema of more than {BATCH_BYTES:,} bytes", "write less metadata")
        out.write(schema.serialize())
        out.flush()
        made["declared"] = declared
        wanted = schema.names if asked["columns"] is None else asked["columns"]
        there = [name for name in wanted if schema.get_field_index(name) >= 0]
        with pa.ipc.new_stream(out, plain_schema(schema, there)) as writer:
            for batch in plain_batches(file, there, asked["most"]) if declared <= MAX_ROWS else ():
                writer.write_batch(batch)
                made["rows"] += batch.num_rows
        out.flush()
    except Unreadable as error:
        return made | fault(*error.args)
    except MemoryError:
        return made | fault("sizes", "takes too much memory", "write fewer rows per row group")
    except Exception as error:  # libraries may raise anything on malformed bytes
        if isinstance(error, OSError) and error.errno in HOST_FAULTS:  # a fault of this machine
            return {"host": error.errno}
        return made | fault("parquet", first_line(error), WRITE_AGAIN)
    return made


def fault(check: str, message: str, hint: str) -> Asked:
    """Return the reply for a file that cannot be read."""
    return {"check": check, "message": message[:1000], "hint": hint}


def _serve(parent: socket.socket) -> None:
    """Fork for each file that the parent sends, and report the exit status of each fork."""
    at_work: dict[int, int] = {}  # forks, and the pipes that expect their exit status
    ended, telling = os.pipe()
    os.set_blocking(telling, False)
    signal.set_wakeup_fd(telling)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler, nothing would be written there
    while True:
        ready, _, _ = select.select([parent.fileno(), ended], [], [])
        if ended in ready:
            os.read(ended, 4096)
            _report(at_work)
        if parent.fileno() in ready:
            fds = socket.recv_fds(parent, 1, 5)[1]
            if not fds:
                return
            status, *files = fds
            child = os.fork()
            if child == 0:
                for fd in (status, *at_work.values()):
                    os.close(fd)
                _work(*files)
            at_work[child] = status
            for fd in files:
                os.close(fd)


def _report(at_work: dict[int, int]) -> None:
    """Report the exit status of each fork that has ended."""
    for child in [*at_work]:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            with os.fdopen(at_work.pop(child), "wb", 0) as pipe, suppress(BrokenPipeError):  # nobody waits any more
                pipe.write(str(os.waitstatus_to_exitcode(status)).encode())


def _work(talk: int, source: int, out: int) -> None:
    """In the fork: read the file, and never return."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(talk, 2)  # the last output of a library that aborts is the reason
    with os.fdopen(talk, "r+b") as said, os.fdopen(source, "rb") as file, os.fdopen(out, "wb") as rows:
        asked = json.loads(said.read())
        signal.alarm(2 * SECONDS)
        limit(MEMORY, SECONDS, asked["most"] + 2**26, files=0)
        said.write(b"\n" + json.dumps(reply(asked, file, rows)).encode())
        said.flush()
        os._exit(0)


if __name__ == "__main__":
    pa.set_memory_pool(pa.system_memory_pool())  # other pools reserve more address space than they use
    _serve(socket.socket(fileno=int(sys.argv[1])))
