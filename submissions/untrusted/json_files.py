"""Parse untrusted JSON strictly: JSON Lines files and manifests.

File content never raises an exception: problems are added to `Findings`.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from divbench.core.errors import first_fault
from submissions.schema import Manifest, Problem
from submissions.untrusted.findings import Findings
from submissions.untrusted.limits import byte_lines, file_error, openable

MAX_MANIFEST_BYTES = 64 * 2**10
MAX_NESTING = 8
T = TypeVar("T")

# The closing quote is optional and the quantifier possessive, so that matching takes linear time on any text.
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


def strict_json(text: str) -> Any:
    """Parse strict JSON: no NaN or Infinity, no repeated key, no deep nesting.

    A number too large for a float, such as 1e999, is valid JSON and becomes infinite; callers must check their fields.

    Raises:
        ValueError: It is not such JSON; the message says why.
    """
    if text.count("[") + text.count("{") > MAX_NESTING and _nesting(text) > MAX_NESTING:
        raise ValueError(f"nested more than {MAX_NESTING} deep")
    return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_no_repeats)


def strict_model(content: bytes, parse: Callable[[bytes], T]) -> T:
    """Parse strict JSON with a method of pydantic, whose own parser takes the last of repeated keys.

    Raises:
        ValueError: It is not such JSON, or not such a document; the message names the first wrong field.
    """
    try:
        strict_json(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    try:
        return parse(content)
    except ValidationError as error:
        raise ValueError(first_fault(error)) from error


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
    """Yield the objects of a JSON Lines file with their line numbers; a bad line is reported and skipped."""
    for number, line in byte_lines(path, findings):
        if number == 1 and (line.lstrip().startswith(b"[") or line.strip() == b"{"):
            what = "array" if line.lstrip().startswith(b"[") else "object over several lines"
            message = f"a JSON {what}, which JSON Lines is not"
            findings.add(file_error("json", path.name, number, message, "write one JSON object per line"))
            return
        value = _parse_line(line, path, number, findings)
        if value is not None:
            yield number, value


def _parse_line(line: bytes, path: Path, number: int, findings: Findings) -> dict[str, Any] | None:
    if not line.strip():
        return None
    try:
        value = strict_json(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte 0x{line[error.start]:02x} at offset {error.start}"
        findings.add(file_error("encoding", path.name, number, message, "save the file as UTF-8"))
        return None
    except (ValueError, RecursionError) as error:
        findings.add(file_error("json", path.name, number, f"not JSON: {error}", "write one JSON object per line"))
        return None
    if not isinstance(value, dict):
        message = f"a JSON {type(value).__name__}, expected an object"
        findings.add(file_error("json", path.name, number, message, "write one JSON object per line"))
        return None
    return value


def read_manifest(path: Path, findings: Findings) -> Manifest | None:
    """Read the manifest; if it is invalid, report all its problems and return None."""
    if not openable(path, findings, MAX_MANIFEST_BYTES):
        return None
    try:
        text = path.read_bytes().decode("utf-8")
        strict_json(text)  # pydantic's parser takes the last of repeated keys
        return Manifest.model_validate_json(text)
    except UnicodeDecodeError as error:
        findings.add(file_error("encoding", path.name, None, f"not UTF-8 at byte {error.start}", "save it as UTF-8"))
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=False):
            field = ".".join(str(part) for part in item["loc"])
            unknown = item["type"] == "extra_forbidden"
            hint = (
                "remove it: a manifest has only the known fields"
                if unknown
                else "docs/submissions.md lists the fields of a manifest"
            )
            message = "unknown field" if unknown else item["msg"].removeprefix("Value error, ")
            findings.add(Problem("manifest", "error", path.name, None, field, message, hint))
    except (ValueError, RecursionError) as error:
        findings.add(file_error("json", path.name, None, f"not JSON: {error}", "write one JSON object"))
    return None
