"""Write a submission as a folder of files, read it back and name it by its content.

A submission is `manifest.json`, `generations.parquet` and, if values were submitted with the texts, `reported.parquet`.
"""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from divbench.core.errors import first_line
from divbench.core.files import canonical_json, readable_json
from submissions.schema import GENERATIONS, REPORTED, Manifest, Reported, Row
from submissions.untrusted.findings import Findings, Rejected, openable
from submissions.untrusted.json_files import strict_json

MANIFEST_FILE = "manifest.json"
GENERATIONS_FILE = "generations.parquet"
REPORTED_FILE = "reported.parquet"
FIRST_VERSION = "1.0"  # version of the values in files without the column
MAX_MANIFEST_BYTES = 64 * 2**10
ROWS_A_GROUP = 1024
ROWS_A_BATCH = 256
_WRITTEN: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}  # else damage may pass for other texts


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission that passed its checks, with what the checks found in one pass over its rows."""

    folder: Path
    manifest: Manifest
    id: str  # 16 hex digits that identify its content: the manifest and the rows, in any order
    prompts: int
    rows_digest: str  # SHA-256 of its generations alone: the same under another manifest or with other reported values
    in_suite_order: bool  # whether the rows are known to be in the suite's order

    def rows(self) -> Iterator[Row]:
        """Decode the rows, streamed. They were checked when the submission was opened."""
        for number, row in _rows(self.folder / GENERATIONS_FILE, GENERATIONS.names):
            yield as_row(number, row)

    def prompt_rows(self) -> Iterator[Row]:
        """Decode the prompts alone: rows without responses, streamed."""
        for number, row in _rows(self.folder / GENERATIONS_FILE, ("prompt_id", "prompt")):
            yield Row(number, row["prompt_id"], row["prompt"], ())

    def reported(self) -> dict[str, dict[str, Reported]]:
        """Return the values submitted with the generations, by version (the newest first) and prompt id."""
        path = self.folder / REPORTED_FILE
        values: dict[str, dict[str, Reported]] = {}
        for _, row in _rows(path, REPORTED.names) if path.exists() else ():
            reported = as_reported(row)
            values.setdefault(reported.version, {})[row["prompt_id"]] = reported
        return {version: values[version] for version in sorted(values, key=_release, reverse=True)}

    def newest_reported(self) -> str | None:
        """Return the newest version of the values submitted with the generations; None if there are none."""
        path = self.folder / REPORTED_FILE
        rows = _rows(path, ("prompt_id", "version")) if path.exists() else ()
        return max((row.get("version", FIRST_VERSION) for _, row in rows), key=_release, default=None)


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, by which versions are ordered."""
    return tuple(map(int, version.split(".")))


def _rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a checked file, which needs no limits any more; raise `Rejected` if it was damaged since."""
    number = 0
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for batch in file.iter_batches(ROWS_A_BATCH, columns=list(columns)):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        findings = Findings()
        message = f"cannot be read after row {number}: {first_line(error)}"
        findings.error("parquet", path.name, number + 1, "", message, "it was changed since its check: write it again")
        raise Rejected(str(path), findings) from error


def as_row(number: int, row: dict[str, Any]) -> Row:
    """Convert a row of the generations file."""
    reasons = row["finish_reasons"]
    return Row(
        number=number,
        prompt_id=row["prompt_id"],
        prompt=row["prompt"],
        responses=tuple(row["responses"]),
        finish_reasons=None if reasons is None else tuple(reasons),
    )


def as_reported(row: dict[str, Any]) -> Reported:
    """Convert a row of the reported file."""
    scores = row["generation_scores"]
    return Reported(
        partition=tuple(row["partition"]),
        generation_scores=None if scores is None else tuple(scores),
        distinct=row["distinct"],
        utility=row["utility"],
        version=row.get("version", FIRST_VERSION),
        unscored=row.get("unscored", False),
    )


class RowsDigest:
    """One SHA-256 over rows, independent of their order and of the program that wrote their file."""

    def __init__(self) -> None:
        self._rows: list[bytes] = []

    def add(self, row: Row) -> None:
        """Add a row."""
        self._add("row", row.prompt_id, row.prompt, row.responses, row.finish_reasons)

    def add_reported(self, prompt_id: str, reported: Reported) -> None:
        """Add a reported row. What older files lack is left out if it has their values, so that ids do not change."""
        later = [reported.version, reported.unscored]
        values = (reported.partition, reported.generation_scores, reported.distinct, reported.utility)
        self._add("reported", prompt_id, *values, *(later if later != [FIRST_VERSION, False] else ()))

    def _add(self, *values: Any) -> None:
        self._rows.append(hashlib.sha256(canonical_json(values)).digest())

    def hex(self) -> str:
        """Return the digest of all rows so far."""
        return hashlib.sha256(b"".join(sorted(self._rows))).hexdigest()


def write_submission(
    folder: Path, manifest: Manifest, rows: Iterable[Row], reported: Sequence[tuple[str, Reported]] = ()
) -> None:
    """Write the files of a submission into an existing folder, the manifest last."""
    remaining = iter(rows)
    with pq.ParquetWriter(folder / GENERATIONS_FILE, GENERATIONS, **_WRITTEN) as writer:
        while group := list(itertools.islice(remaining, ROWS_A_GROUP)):
            records = [{name: getattr(row, name) for name in GENERATIONS.names} for row in group]
            writer.write_table(pa.Table.from_pylist(records, schema=GENERATIONS))
    if reported:
        records = [{"prompt_id": key, **asdict(values)} for key, values in reported]
        pq.write_table(pa.Table.from_pylist(records, schema=REPORTED), folder / REPORTED_FILE, **_WRITTEN)
    (folder / MANIFEST_FILE).write_text(readable_json(manifest.model_dump(mode="json")), encoding="utf-8")


def read_manifest(path: Path, findings: Findings) -> Manifest | None:
    """Read a manifest; if it is invalid, report all its problems and return None."""
    if not openable(path, findings, MAX_MANIFEST_BYTES):
        return None
    try:
        text = path.read_bytes().decode("utf-8")
        strict_json(text)  # pydantic's parser takes the last of repeated keys
        return Manifest.model_validate_json(text)
    except UnicodeDecodeError as error:
        findings.error("encoding", path.name, None, "", f"not UTF-8 at byte {error.start}", "save it as UTF-8")
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=False):
            field = ".".join(str(part) for part in item["loc"])
            message, hint = item["msg"].removeprefix("Value error, "), "docs/submissions.md lists the manifest's fields"
            if item["type"] == "extra_forbidden":
                message, hint = "unknown field", "remove it: a manifest has only the known fields"
            findings.error("manifest", path.name, None, field, message, hint)
    except (ValueError, RecursionError) as error:
        findings.error("json", path.name, None, "", f"not JSON: {error}", "write one JSON object")
    return None
