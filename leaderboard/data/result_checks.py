"""One result, whoever made it: looked at before anything is shown of it; and fetched, where it is a store's."""

import json
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.metrics.metric import Missing
from benchmark.scoring.result_files import MAX_RESULT_BYTES, PER_PROMPT_FILE, RESULT_FILE, read_result
from benchmark.scoring.result_schema import Result
from datasets_build.files import atomic_folder
from submissions.storage.commits import LocalDiskFault, disk_faults
from submissions.storage.file_store import FileStore
from submissions.untrusted.limits import MAX_FILE_BYTES, MAX_ROWS
from submissions.untrusted.parquet_layout import PageHeaders, read_layout
from submissions.untrusted.parquet_memory import MemoryEstimator, streamed
from submissions.untrusted.thrift import LimitExceeded, Malformed

SCHEMA_VERSION = Result.model_fields["schema_version"].default
MAX_DECODED_BYTES = 2**30  # of a result's table
_COLUMNS = {"prompt_id": pa.string(), "prompt": pa.string(), "responses": pa.list_(pa.string())}


class _NotWhole(Exception):
    """What was fetched is no result; the message says why."""


def checked_result(
    folder: Path, submissions: frozenset[str] | None = None, *, inside: bool = False
) -> Result | Missing:
    """The result in a folder, if its files are whole, fit together and have the columns that a board reads.

    Args:
        folder: Of the result.
        submissions: The ids of those that it may be of; None: of any.
        inside: Look at the pages of the table, too, before pyarrow does: once for what a stranger may have written.
    """
    found = read_result(folder)
    if isinstance(found, Missing):
        return Missing(_other_layout(folder) or found.reason)
    if submissions is not None and found.submission_id not in submissions:
        return Missing(f"it is of another submission, {found.submission_id}: ask who runs the service")
    table = folder / PER_PROMPT_FILE
    reason = (_weight_fault(table) if inside else None) or _table_fault(table, found)
    return Missing(reason) if reason else found


def _other_layout(folder: Path) -> str | None:
    """What to do about a result of another version of the layout; None where it is something else that is wrong."""
    with suppress(OSError, ValueError, RecursionError):
        path = folder / RESULT_FILE
        known = json.loads(path.read_bytes()) if path.stat().st_size <= MAX_RESULT_BYTES else None
        version = known.get("schema_version") if isinstance(known, dict) else None
        if type(version) is int and version != SCHEMA_VERSION:
            newer = version > SCHEMA_VERSION
            hint = (
                "update divbench to show it"
                if newer
                else "score the submission again: divbench submissions rescore, or score"
            )
            return f"{RESULT_FILE} has layout {version}, and this version reads layout {SCHEMA_VERSION}: {hint}"
    return None


def _table_fault(path: Path, result: Result) -> str | None:
    """What is wrong with a result's table, by its footer; None where nothing is."""
    try:
        with pq.ParquetFile(path) as file:
            rows, schema = file.metadata.num_rows, file.schema_arrow
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        return f"{PER_PROMPT_FILE}: {' '.join(str(error).split())[:200]}"
    if rows != result.prompts:
        return f"{PER_PROMPT_FILE} has {rows:,} rows, and {RESULT_FILE} counts {result.prompts:,} prompts"
    for name, kind in {**_COLUMNS, **{score.metric: pa.float64() for score in result.scores}}.items():
        at = schema.get_field_index(name)  # −1 where there are none or several
        if at < 0 or not schema.field(at).type.equals(kind):
            found = "is not there once" if at < 0 else f"has the type {schema.field(at).type}, wanted {kind}"
            return f"{PER_PROMPT_FILE}: the column {name} {found}: score the submission again"
    return None


def fetch_result(
    store: FileStore, commit: str, result_id: str, text: bytes, folder: Path, submissions: frozenset[str]
) -> Result | Missing:
    """Fetch a result into a folder of its own. It is there whole and looked at, or not at all.

    Args:
        store: That has the table.
        commit: To fetch from.
        result_id: Which.
        text: Of its `result.json`.
        folder: To make; what is there is replaced.
        submissions: The ids of those that it may be of.

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
                raise _NotWhole(f"it calls itself {found.result_id}: ask who runs the service")
    except _NotWhole as error:
        return Missing(str(error))
    return found


def _weight_fault(path: Path) -> str | None:
    """Why a table is not to be decoded; None where it may be."""
    try:
        groups = read_layout(path)
        if sum(group.rows for group in groups) > MAX_ROWS:
            return f"{PER_PROMPT_FILE} has more than {MAX_ROWS:,} rows"
        weight = 0
        with streamed(path) as file, path.open("rb") as raw:
            estimator = MemoryEstimator(path, file.metadata, PageHeaders(raw), None)
            for place, group in enumerate(groups):
                weight, _ = estimator.measure(place, group, weight, MAX_DECODED_BYTES)
    except (LimitExceeded, Malformed, pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        return f"{PER_PROMPT_FILE}: {' '.join(str(error).split())[:200]}"
    return None
