"""Read the rows of an untrusted file in any common format, compressed or not, whose fields may have any names.

JSON Lines, JSON, CSV, Parquet and spreadsheets are told by their content, or else by the extension. Sizes and depths
are limited before anything is parsed. File content never raises an exception: problems are added to `Findings`.
"""

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from divbench.core.errors import ConfigurationError, first_line
from submissions.untrusted.findings import MAX_FILE_BYTES, Findings, openable, within_row_limit
from submissions.untrusted.json_files import MAX_LINE_BYTES, loose_json, read_jsonl
from submissions.untrusted.parquet_files import read_parquet
from submissions.untrusted.process import Limits, Stopped, run_limited
from submissions.untrusted.table_files import MAX_KEPT_BYTES, of_csv

Kind = Literal["jsonl", "json", "csv", "parquet", "xlsx"]
MAX_DOCUMENT_BYTES = 256 * 2**20  # of one JSON document
LIMITS = Limits(memory=2 * 2**30, seconds=120)  # for a spreadsheet
# Fields of numbers for each token, which nothing here reads.
IGNORED = frozenset(
    ("logprobs", "top_logprobs", "prompt_logprobs", "token_ids", "prompt_token_ids", "logprobs_result", "tokens")
)
Codec = Literal["gzip", "zstd", "bz2"]
_COMPRESSED: dict[bytes, Codec] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
_ENDINGS = (".gz", ".zst", ".zstd", ".bz2")
_CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class Records:
    """The rows of a file, with their numbers: lines, rows of a table (a header is row 1), or items of a document."""

    name: str
    kind: Kind
    rows: list[tuple[int, dict[str, Any]]]


def kind_of(path: Path) -> Kind:
    """Return the format of a file by its first bytes, or else its extension; an unreadable file counts as *jsonl*."""
    ending = _ending(path)
    start = _start(path)
    if start.startswith(b"PAR1") or ending == ".parquet":
        return "parquet"
    if ending in (".csv", ".tsv"):
        return "csv"
    if ending in (".xlsx", ".xlsm"):
        return "xlsx"
    start = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if ending == ".json" or start.startswith(b"["):
        return "json"
    first = start.split(b"\n", 1)[0]
    return "json" if first.strip() == b"{" else "jsonl"


def read_records(
    path: Path, findings: Findings, rows_of: Callable[[Any], list[Any]], kind: Kind | None = None
) -> Records:
    """Read the rows of a file; `rows_of` finds those of a JSON document."""
    name = path.name
    compression = next(
        (codec for start, codec in _COMPRESSED.items() if _start(path, raw=True).startswith(start)), None
    )
    kind = kind or kind_of(path)
    if compression is None:
        return Records(name, kind, _rows(path, kind, name, findings, rows_of))
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / name
        if not openable(path, findings) or not _decompressed(path, compression, plain, findings):
            return Records(name, kind, [])
        return Records(name, kind, _rows(plain, kind, name, findings, rows_of))


def _ending(path: Path) -> str:
    endings = [ending.lower() for ending in path.suffixes]
    return next((ending for ending in reversed(endings) if ending not in _ENDINGS), "")


def _start(path: Path, *, raw: bool = False) -> bytes:
    """Return the first bytes of a file, decompressed; none if they cannot be read."""
    try:
        with path.open("rb") as file:
            start = file.read(4096)
        codec = next((codec for mark, codec in _COMPRESSED.items() if start.startswith(mark)), None)
        if codec is None or raw:
            return start
        with pa.CompressedInputStream(pa.OSFile(str(path), "rb"), codec) as stream:
            return bytes(stream.read(4096))
    except (OSError, pa.ArrowException):
        return b""


def _decompressed(path: Path, codec: Codec, plain: Path, findings: Findings) -> bool:
    """Write a file decompressed; report it if it is damaged or too large."""
    size = 0
    try:
        with pa.CompressedInputStream(pa.OSFile(str(path), "rb"), codec) as stream, plain.open("wb") as out:
            while chunk := stream.read(_CHUNK):
                size += out.write(chunk)
                if size > MAX_FILE_BYTES:
                    hint = f"at most {MAX_FILE_BYTES:,} are allowed"
                    findings.error("sizes", path.name, None, "", f"more than {MAX_FILE_BYTES:,} bytes", hint)
                    return False
    except (pa.ArrowException, OSError) as error:
        message = f"cannot be decompressed: {first_line(error)}"
        findings.error("file", path.name, None, "", message, "compress it again, or give it decompressed")
        return False
    return True


def _rows(
    path: Path, kind: Kind, name: str, findings: Findings, rows_of: Callable[[Any], list[Any]]
) -> list[tuple[int, dict[str, Any]]]:
    if kind == "csv":
        table = of_csv(path, None, findings) if openable(path, findings) else None
        return [] if table is None else list(table.rows)
    if kind == "parquet":
        columns = read_parquet(path, findings, None, MAX_KEPT_BYTES)
        return [] if columns is None else list(columns.rows(findings))
    if kind == "xlsx":
        return _of_spreadsheet(path, findings)
    if kind == "json":
        return _of_document(path, name, findings, rows_of)
    rows = []
    for number, row in read_jsonl(path, findings, name, IGNORED):
        rows.append((number, row))
        if not within_row_limit(len(rows), name, findings):
            break
    return [(i, row) for i, row in enumerate(rows_of(rows[0][1]), 1)] if len(rows) == 1 else rows


def _of_document(
    path: Path, name: str, findings: Findings, rows_of: Callable[[Any], list[Any]]
) -> list[tuple[int, dict[str, Any]]]:
    """Read a JSON document, or else JSON Lines under its extension."""
    if not openable(path, findings, MAX_DOCUMENT_BYTES, name):
        return []
    content = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        document = loose_json(content.decode("utf-8"), IGNORED)
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte 0x{content[error.start]:02x} at offset {error.start}"
        findings.error("encoding", name, None, "", message, "save the file as UTF-8")
        return []
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) and error.msg == "Extra data" and content.lstrip()[:1] == b"{":
            return list(read_jsonl(path, findings, name, IGNORED))
        what = str(error) if str(error).startswith(("nested", "the key")) else f"not JSON: {error}"
        findings.error("json", name, None, "", what, "write a JSON array of objects, or one object per line")
        return []
    found = rows_of(document)
    rows = [(number, row) for number, row in enumerate(found, start=1) if isinstance(row, dict)]
    if len(rows) < len(found):
        message = f"{len(found) - len(rows)} of {len(found)} items are no objects"
        findings.error("json", name, None, "", message, "write a JSON array of objects")
    return rows if within_row_limit(len(rows), name, findings) else []


def _of_spreadsheet(path: Path, findings: Findings) -> list[tuple[int, dict[str, Any]]]:
    """Read the first sheet of a spreadsheet, in a limited process."""
    if find_spec("openpyxl") is None:
        hint = 'save it as CSV, or install the reader: pip install "divbench[xlsx]"'
        raise ConfigurationError(f"{path.name} is a spreadsheet, and openpyxl is not installed", hint)
    if not openable(path, findings):
        return []
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / path.name
        try:
            reply = run_limited(f"{__name__}:convert", {"file": str(path.absolute()), "out": str(written)}, LIMITS)
        except Stopped as error:
            reply = {"unreadable": str(error)}
        if "unreadable" in reply:
            message = f"no readable spreadsheet: {reply['unreadable']}"
            findings.error("file", path.name, None, "", message, "save it as CSV")
            return []
        rows = read_jsonl(written, findings) if written.stat().st_size else ()
        return [(number + 1, row) for number, row in rows]


def convert(request: dict[str, Any]) -> dict[str, Any]:
    """In the limited process: write a line of JSON for each row of a spreadsheet's first sheet."""
    from openpyxl import load_workbook

    try:
        sheet = load_workbook(request["file"], read_only=True, data_only=True).worksheets[0]
        rows = sheet.iter_rows(values_only=True)
        names = [str(name) if name is not None else "" for name in next(rows, ())]
        with Path(request["out"]).open("w", encoding="ascii") as file:
            for row in rows:
                cells = {name: cell for name, cell in zip(names, row, strict=False) if name and cell is not None}
                file.write(f"{json.dumps(cells, default=str)[:MAX_LINE_BYTES]}\n")
    except MemoryError:
        return {"unreadable": "it takes too much memory"}
    except Exception as error:
        return {"unreadable": first_line(error)}
    return {}
