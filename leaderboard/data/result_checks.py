"""Checks untrusted results before they are shown, and fetches results from a store."""

import json
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.metrics import METRICS
from benchmark.metrics.metric import Missing
from benchmark.scoring.per_prompt import FACTS_FIELD as FACTS
from benchmark.scoring.per_prompt import per_prompt_schema
from benchmark.scoring.results import MAX_RESULT_BYTES, PER_PROMPT_FILE, RESULT_FILE, Result, read_result
from divbench.core.files import atomic_folder
from submissions.storage.file_store import FileStore, LocalDiskFault, disk_faults
from submissions.untrusted.findings import MAX_FILE_BYTES, Findings
from submissions.untrusted.parquet_files import read_parquet

SCHEMA_VERSION = Result.model_fields["schema_version"].default
_ALWAYS = {"prompt_id", "category", "answers", "missing"}  # columns of every result
_TEXTS = {"prompt", "responses"}
_AGAIN = "score the submission again"


class _NotWhole(Exception):
    """Raised if the fetched files are not a valid result; the message is the reason."""


def checked_result(
    folder: Path, submissions: frozenset[str] | None = None, *, inside: bool = False
) -> Result | Missing:
    """Read the result in a folder if its files are complete, consistent and have the columns that a board reads.

    Args:
        submissions: Ids of the submissions that it may belong to; None: any.
        inside: Decode the table in a separate process first, which is needed once for an untrusted file.
    """
    found = read_result(folder)
    if isinstance(found, Missing):
        return Missing(_other_layout(folder) or found.reason)
    if submissions is not None and found.submission_id not in submissions:
        return Missing(f"it belongs to another submission, {found.submission_id}: tell the operator of the service")
    table = folder / PER_PROMPT_FILE
    reason = (_decoding_fault(table) if inside else None) or _table_fault(table, found)
    return Missing(reason) if reason else found


def _other_layout(folder: Path) -> str | None:
    """The reason, with a hint, for a result with another schema version; None if the version is not the problem."""
    with suppress(OSError, ValueError, RecursionError):
        path = folder / RESULT_FILE
        known = json.loads(path.read_bytes()) if path.stat().st_size <= MAX_RESULT_BYTES else None
        version = known.get("schema_version") if isinstance(known, dict) else None
        if type(version) is int and not 1 <= version <= SCHEMA_VERSION:
            newer = version > SCHEMA_VERSION
            hint = (
                "update divbench to show it"
                if newer
                else "score the submission again: divbench submissions rescore, or score"
            )
            return f"{RESULT_FILE} has layout {version}, but this divbench reads layouts 1 to {SCHEMA_VERSION}: {hint}"
    return None


def _table_fault(path: Path, result: Result) -> str | None:
    """The fault that a table's footer reveals; None if there is none."""
    try:
        with pq.ParquetFile(path) as file:
            rows, schema = file.metadata.num_rows, file.schema_arrow
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        return f"{PER_PROMPT_FILE}: {' '.join(str(error).split())[:200]}"
    if rows != result.prompts:
        return f"{PER_PROMPT_FILE} has {rows:,} rows, but {RESULT_FILE} counts {result.prompts:,} prompts"
    reason = _columns_fault(schema, {score.metric for score in result.scores})
    return f"{PER_PROMPT_FILE}: the column {reason}: {_AGAIN}" if reason else None


def _columns_fault(schema: pa.Schema, metrics: set[str]) -> str | None:
    """The first column that is missing, is repeated, or has another type than in `per_prompt_schema`."""
    text_free = FACTS.name in schema.names and not any(name in schema.names for name in _TEXTS)
    needed = _ALWAYS | ({FACTS.name} if text_free else _TEXTS) | metrics
    known = {field.name: field for field in (*per_prompt_schema(METRICS), FACTS)}
    known |= {name: pa.field(name, pa.float64()) for name in sorted(metrics - {*known})}  # metrics of other versions
    for name, wanted in known.items():
        if name not in needed and name not in schema.names:
            continue
        at = schema.get_field_index(name)  # −1 if there are none or several
        if at < 0:
            return f"{name} does not occur exactly once"
        found = schema.field(at)
        if not found.type.equals(wanted.type):
            return f"{name} has the type {found.type}, expected {wanted.type}"
        if found.nullable and not wanted.nullable:
            return f"{name} must not have nulls"
    return None


def fetch_result(
    store: FileStore, commit: str, result_id: str, text: bytes, folder: Path, submissions: frozenset[str]
) -> Result | Missing:
    """Fetch a result into a folder if it is complete and passes the checks; otherwise write nothing.

    Args:
        text: Content of its `result.json`.
        folder: Folder to create or replace.
        submissions: Ids of the submissions that it may belong to.

    Raises:
        StoreFault: The table cannot be read.
        LocalDiskFault: The folder cannot be written.
    """
    try:
        with disk_faults(folder, LocalDiskFault), atomic_folder(folder, replace=True) as made:
            (made / RESULT_FILE).write_bytes(text)
            store.fetch(commit, f"results/{result_id}/{PER_PROMPT_FILE}", made / PER_PROMPT_FILE, MAX_FILE_BYTES)
            found = checked_result(made, submissions, inside=True)
            if isinstance(found, Missing):
                raise _NotWhole(found.reason)
            if found.result_id != result_id:
                raise _NotWhole(f"it has the id {found.result_id}: tell the operator of the service")
    except _NotWhole as error:
        return Missing(str(error))
    return found


def _decoding_fault(path: Path) -> str | None:
    """The reason why a fetched table could not be decoded in a separate process; None if it could."""
    findings = Findings()
    table = read_parquet(path, findings)
    for _ in () if table is None else table.batches(findings):
        pass
    return f"{PER_PROMPT_FILE}: {findings.problems[0].message}" if findings.problems else None
