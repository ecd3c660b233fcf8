"""Reading strangers' files: limits before parsing, and a named problem for each way in which a file can be bad.

In: paths. Out: plain values, and problems added to `Findings`. Nothing here raises for what a file contains.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from submissions.schema import Manifest, Problem
from submissions.untrusted.findings import Findings
from submissions.untrusted.parquet_layout import PageHeaders, read_layout
from submissions.untrusted.parquet_memory import BATCH_BYTES, Scales, streamed
from submissions.untrusted.thrift import WRITE_AGAIN, Malformed, TooMuch

MAX_FILE_BYTES = 512 * 2**20
MAX_MANIFEST_BYTES = 64 * 2**10
MAX_LINE_BYTES = 8 * 2**20
MAX_DECODED_BYTES = 4 * 2**30
MAX_ROWS = 1_000_000
MAX_NESTING = 8
ROWS_A_BATCH = 64

# The closing quote may lack and nothing is given back, so that no text takes more than one pass.
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


def _error(check: str, file: str, row: int | None, message: str, hint: str) -> Problem:
    return Problem(check, "error", file, row, "", message, hint)


def _first_line(error: Exception) -> str:
    """What an error says, without the path of what it was about; its name where it says nothing."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return next(iter(said.splitlines()), type(error).__name__)


def openable(path: Path, findings: Findings, limit: int = MAX_FILE_BYTES) -> bool:
    """Whether a file is there, is a plain file, has bytes, and not too many."""
    try:
        if not path.is_file() or path.is_symlink():
            findings.add(_error("file", path.name, None, f"there is no plain file {path.name}", "add it"))
            return False
        with path.open("rb") as file:
            size = file.seek(0, 2)
    except OSError as error:
        findings.add(_error("file", path.name, None, f"cannot be opened: {_first_line(error)}", "allow reading it"))
        return False
    if size == 0:
        findings.add(_error("file", path.name, None, "the file is empty", "write it again"))
        return False
    if size > limit:
        findings.add(_error("sizes", path.name, None, f"{size:,} bytes", f"at most {limit:,} are taken"))
        return False
    return True


def strict_json(text: str) -> Any:
    """Parse JSON that means one thing: no NaN or Infinity, no repeated key, no deep nesting.

    A number that no float holds, such as 1e999, is JSON, and infinite in Python: that is for the field's check.

    Raises:
        ValueError: It is not such JSON; the message says why.
    """
    if text.count("[") + text.count("{") > MAX_NESTING and _nesting(text) > MAX_NESTING:
        raise ValueError(f"nested more than {MAX_NESTING} deep")
    return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_no_repeats)


def _nesting(text: str) -> int:
    depth = deepest = 0
    for letter in _STRINGS.sub("", text):
        if letter in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif letter in "]}":
            depth -= 1
    return deepest


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {next(key for key, count in counts.items() if count > 1)!r} is repeated")
    return made


def read_jsonl(path: Path, findings: Findings) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file with their line numbers; a bad line is a problem and is passed over."""
    if not openable(path, findings):
        return
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                hint = f"a line may have {MAX_LINE_BYTES:,} bytes"
                findings.add(_error("sizes", path.name, number, "the line is too long", hint))
                return
            value = _parse_line(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, path, number, findings)
            if value is not None:
                yield number, value


def _parse_line(line: bytes, path: Path, number: int, findings: Findings) -> dict[str, Any] | None:
    if not line.strip():
        return None
    try:
        value = strict_json(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte 0x{line[error.start]:02x} at place {error.start}"
        findings.add(_error("encoding", path.name, number, message, "save the file as UTF-8"))
        return None
    except (ValueError, RecursionError) as error:
        findings.add(_error("json", path.name, number, f"not JSON: {error}", "one JSON object a line"))
        return None
    if not isinstance(value, dict):
        message = f"a JSON {type(value).__name__}, wanted an object"
        findings.add(_error("json", path.name, number, message, "one JSON object a line"))
        return None
    return value


def read_manifest(path: Path, findings: Findings) -> Manifest | None:
    """The manifest, or None with everything that is wrong with it among the findings."""
    if not openable(path, findings, MAX_MANIFEST_BYTES):
        return None
    try:
        text = path.read_bytes().decode("utf-8")
        strict_json(text)  # pydantic's parser takes the last of repeated keys
        return Manifest.model_validate_json(text)
    except UnicodeDecodeError as error:
        findings.add(_error("encoding", path.name, None, f"not UTF-8 at byte {error.start}", "save it as UTF-8"))
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=False):
            field = ".".join(str(part) for part in item["loc"])
            unknown = item["type"] == "extra_forbidden"
            hint = (
                "remove it: a manifest has only the known fields" if unknown else "see the manifest's fields in README"
            )
            message = "unknown field" if unknown else item["msg"]
            findings.add(Problem("manifest", "error", path.name, None, field, message, hint))
    except (ValueError, RecursionError) as error:
        findings.add(_error("json", path.name, None, f"not JSON: {error}", "write one JSON object"))
    return None


def parquet_file(path: Path, findings: Findings) -> tuple[pq.ParquetFile, pa.Schema] | None:
    """A Parquet file with its schema, or None with the reason among the findings. Only the footer is read."""
    if not openable(path, findings):
        return None
    try:
        read_layout(path)  # pyarrow believes what a footer says, and some damaged ones end the whole process
        file = pq.ParquetFile(path)
        return file, file.schema_arrow
    except TooMuch as error:
        findings.add(_error("sizes", path.name, None, str(error), error.hint))
    except (Malformed, pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last: a column's name
        message = f"not a whole Parquet file: {_first_line(error)}"
        findings.add(_error("parquet", path.name, None, message, WRITE_AGAIN))
    return None


def few_rows(rows: int, name: str, findings: Findings) -> bool:
    """Whether a file has no more rows than are taken."""
    if rows > MAX_ROWS:
        findings.add(_error("sizes", name, None, f"{rows:,} rows", f"at most {MAX_ROWS:,} are taken"))
    return rows <= MAX_ROWS


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
            message = f"type {kind}, wanted {field.type}"
            findings.add(Problem("schema", "error", path.name, None, field.name, message, _retyped(kind)))
            good = False
    for name in sorted(set(found.names) - set(schema.names)):
        hint = "write without pandas' index: index=False" if name.startswith("__index_level_") else "remove it"
        findings.add(Problem("schema", "error", path.name, None, name, "unknown column", hint))
        good = False
    few = few_rows(file.metadata.num_rows, path.name, findings)
    return file if good and few else None


def _fits(found: pa.DataType, wanted: "pa.Field[Any]") -> bool:
    """Whether a column is of a field's type; one of nothing but nulls may be of their type, as pandas writes it."""
    return _same_type(found, wanted.type) or (wanted.nullable and pa.types.is_null(found))


def _retyped(found: pa.DataType) -> str:
    """How to come from a type to that which is wanted."""
    if pa.types.is_dictionary(found):
        return "write that type: in pandas by astype(str), in polars by cast(pl.String)"
    if pa.types.is_fixed_size_list(found):
        return "write that type: in polars by arr.to_list(), in datasets without a length"
    if isinstance(found, pa.JsonType):
        return "write that type, not JSON: in pandas with engine='pyarrow', as fastparquet writes no lists"
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
        findings: Takes the problems.
        columns: To read, of texts, numbers, or lists of them; None: all.
        limit: Of decoded bytes; None: `MAX_DECODED_BYTES`.
    """
    number = weight = 0
    most = MAX_DECODED_BYTES if limit is None else limit
    chosen = None if columns is None else list(columns)
    try:
        groups = read_layout(path)
        file = streamed(path)
        with path.open("rb") as raw:
            scales = Scales(path, file.metadata, PageHeaders(raw), chosen)
            for place, group in enumerate(groups):
                if group.rows == 0:
                    continue
                weight, heaviest = scales.weigh(place, group, weight, most)
                rows = max(1, min(ROWS_A_BATCH, BATCH_BYTES // max(1, heaviest)))
                last = number + group.rows
                for batch in file.iter_batches(batch_size=rows, row_groups=[place], columns=chosen):
                    for row in _decoded(batch, number, path.name, findings):
                        number += 1
                        yield number, row
                if number != last:
                    raise Malformed(f"{last:,} rows up to here are promised, {number:,} are there")
    except TooMuch as error:
        findings.add(_error("sizes", path.name, number + error.row, str(error), error.hint))
    except MemoryError:
        message = f"cannot be read after row {number} in the memory that there is"
        findings.add(_error("sizes", path.name, number + 1, message, "write fewer rows in one group"))
    except (Malformed, pa.ArrowException, OSError) as error:
        message = f"cannot be read after row {number}: {_first_line(error)}"
        hint = error.hint if isinstance(error, Malformed) else WRITE_AGAIN
        findings.add(_error("parquet", path.name, number + 1, message, hint))


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
