"""Parse untrusted JSON strictly. File content never raises an exception: problems are added to `Findings`."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

from divbench.core.errors import first_fault
from submissions.untrusted.findings import Findings, openable

MAX_NESTING = 8
MAX_LOOSE_NESTING = 100
MAX_LINE_BYTES = 8 * 2**20
_NOT_TEXT = {  # first bytes of files that are not text, and what to do
    b"\x1f\x8b": ("compressed with gzip", "decompress it: gunzip FILE"),
    b"PAR1": ("a Parquet file", "give it the extension .parquet"),
    b"PK\x03\x04": ("a ZIP archive, such as a spreadsheet", "unpack it, or save the spreadsheet as CSV"),
}
T = TypeVar("T")
_NO_BRACKETS = re.compile(r"[^\[\]{}]+")

# The closing quote is optional and the quantifier possessive, so that matching takes linear time on any text.
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


def strict_json(text: str) -> Any:
    """Parse JSON without NaN, repeated keys or deep nesting; raise ValueError, or RecursionError, for other text.

    A number too large for a float, such as 1e999, is valid JSON and becomes infinite; callers must check their fields.
    """
    if text.count("[") + text.count("{") > MAX_NESTING and _nesting(text) > MAX_NESTING:
        raise ValueError(f"nested more than {MAX_NESTING} deep")
    return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_no_repeats)


def loose_json(text: str, ignored: Collection[str] = ()) -> Any:
    """Parse JSON as tools write it, with NaN and 100 levels; raise ValueError, or RecursionError, for other text.

    The values of ignored fields, which may be large, become null.
    """
    if text.count("[") + text.count("{") > MAX_LOOSE_NESTING and _nesting(text) > MAX_LOOSE_NESTING:
        raise ValueError(f"nested more than {MAX_LOOSE_NESTING} deep")

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        return {key: None if key in ignored else value for key, value in _no_repeats(items).items()}

    return json.loads(text, object_pairs_hook=pairs)


def strict_model(content: bytes, parse: Callable[[bytes], T]) -> T:
    """Parse strict JSON with a method of pydantic, whose own parser takes the last of repeated keys.

    A ValueError names the first wrong field.
    """
    from pydantic import ValidationError

    try:
        strict_json(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    try:
        return parse(content)
    except ValidationError as error:
        raise ValueError(first_fault(error)) from error


def _nesting(text: str) -> int:
    depths = accumulate(1 if letter in "[{" else -1 for letter in _NO_BRACKETS.sub("", _STRINGS.sub("", text)))
    return max(depths, default=0)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    counts = Counter(key for key, _ in pairs)
    if len(counts) != len(pairs):
        raise ValueError(f"the key {next(key for key, count in counts.items() if count > 1)!r} is repeated")
    return dict(pairs)


def read_object(path: Path, findings: Findings, limit: int, name: str) -> dict[str, Any]:
    """Read a small file with one object; empty if it has problems."""
    if not openable(path, findings, limit, name):
        return {}
    try:
        value = strict_json(path.read_bytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        findings.error("json", name, None, "", f"not JSON: {error}", "write one JSON object, or remove the file")
        return {}
    if not isinstance(value, dict):
        findings.error("json", name, None, "", "not a JSON object", "write one, or remove the file")
    return value if isinstance(value, dict) else {}


def byte_lines(path: Path, findings: Findings, name: str = "") -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, without a byte order mark; stop at a line over the limit."""
    name = name or path.name
    if not openable(path, findings, name=name):
        return
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            binary = next((what for start, what in _NOT_TEXT.items() if number == 1 and line.startswith(start)), None)
            if binary is not None:
                findings.error("file", name, None, "", *binary)
                return
            if len(line) > MAX_LINE_BYTES:
                hint = f"a line may have at most {MAX_LINE_BYTES:,} bytes"
                findings.error("sizes", name, number, "", "the line is too long", hint)
                return
            yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def read_jsonl(
    path: Path, findings: Findings, name: str = "", ignored: Collection[str] = ()
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON Lines file with their line numbers; a bad line is reported and skipped."""
    hint, name = "write one JSON object per line", name or path.name
    for number, line in byte_lines(path, findings, name):
        if number == 1 and (line.lstrip().startswith(b"[") or line.strip() == b"{"):
            what = "array" if line.lstrip().startswith(b"[") else "object over several lines"
            findings.error("json", name, number, "", f"a JSON {what}, which JSON Lines is not", hint)
            return
        if not line.strip():
            continue
        try:
            value = loose_json(line.decode("utf-8"), ignored)
        except UnicodeDecodeError as error:
            message = f"not UTF-8: byte 0x{line[error.start]:02x} at offset {error.start}"
            findings.error("encoding", name, number, "", message, "save the file as UTF-8")
        except (ValueError, RecursionError) as error:
            what = str(error) if str(error).startswith(("nested", "the key")) else f"not JSON: {error}"
            findings.error("json", name, number, "", what, hint)
        else:
            if isinstance(value, dict):
                yield number, value
            else:
                message = f"a JSON {type(value).__name__}, expected an object"
                findings.error("json", name, number, "", message, hint)
