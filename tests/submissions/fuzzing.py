"""What is fuzzed: good files to start from, and what must hold of whatever is made of them."""

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from divbench.core.errors import DivBenchError
from submissions.checking.validate import Report, validate
from submissions.schema import GENERATIONS, REPORTED
from submissions.storage.submission_folders import GENERATIONS_FILE, MANIFEST_FILE, REPORTED_FILE
from tests.conftest import TOY, toy_manifest, toy_rows
from tests.submissions.attack_runs import find_suite, raw_letters
from tests.submissions.crafted import generations
from tests.submissions.fuzz_parsers import PARSERS, Check, parser_seeds

SECONDS = 10.0  # of the processor that no file may take
FILES = (MANIFEST_FILE, GENERATIONS_FILE, REPORTED_FILE)
_WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"compression": "none", "use_dictionary": False},
    {"compression": "zstd", "data_page_version": "2.0", "row_group_size": 1},
    {"compression": "none", "dictionary_pagesize_limit": 10, "data_page_size": 10, "store_schema": False},
    {"compression": "gzip", "data_page_version": "2.0", "use_dictionary": False},
    {"compression": "brotli", "write_page_index": True},
    {"compression": "lz4", "store_schema": False},
)


VIEWS = pa.schema(
    [(f.name, pa.list_(pa.string_view()) if pa.types.is_list(f.type) else pa.string_view()) for f in GENERATIONS]
)


@cache
def good_files() -> dict[str, tuple[bytes, ...]]:
    """For each file of a submission good ones, written in several ways."""
    texts = [
        {
            "prompt_id": row.prompt_id,
            "prompt": row.prompt,
            "responses": list(row.responses),
            "finish_reasons": ["stop", None, "length"] if row.number % 2 else None,
        }
        for row in toy_rows()
    ]
    right = {"partition": [0, 1, 1], "generation_scores": [7.0, 3.0, 0.0], "distinct": 2, "utility": 2.5}
    values = [{"prompt_id": prompt.prompt_id} | right for prompt in TOY.prompts]
    manifest = toy_manifest().model_dump_json().encode()
    return {
        MANIFEST_FILE: (manifest, json.dumps(json.loads(manifest), indent=2).encode()),
        GENERATIONS_FILE: (
            *_written(texts, GENERATIONS),
            *_written(texts, VIEWS, _WAYS[:2]),
            _nothing(),
            generations(),
        ),
        REPORTED_FILE: tuple(_written(values, REPORTED)),
    }


def _nothing() -> bytes:
    """Finish reasons of the type null, as pandas writes what has no value."""
    rows = [{"prompt_id": row.prompt_id, "prompt": row.prompt, "responses": list(row.responses)} for row in toy_rows()]
    schema = GENERATIONS.set(3, pa.field("finish_reasons", pa.null()))
    return next(_written(rows, schema))


def _written(
    rows: list[dict[str, Any]], schema: pa.Schema, ways: tuple[dict[str, Any], ...] = _WAYS
) -> Iterator[bytes]:
    for way in ways:
        out = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), out, **way)
        yield out.getvalue().to_pybytes()


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder in memory, where the system has such a place."""
    shared = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield Path(folder)


def check_submission(folder: Path, changed: dict[str, bytes]) -> Report | None:
    """Validate a good submission with other bytes in some files, and look at all that must hold.

    Returns:
        The report; None where the caller is told of a mistake.
    """
    for name, contents in good_files().items():
        (folder / name).write_bytes(changed.get(name, contents[0]))
    start = time.process_time()
    try:
        report = validate(folder, find_suite)
    except DivBenchError:
        return None
    assert time.process_time() - start < SECONDS, "too slow"
    assert (report.submission is None) == report.findings.rejected()
    assert all(p.check and p.message and p.hint and p.file in FILES for p in report.findings.problems)
    assert raw_letters(report) == ""
    if report.submission is not None:
        rows = list(report.submission.rows())
        assert len(rows) == report.submission.prompts > 0
        assert all(len(row.responses) == report.submission.manifest.generation.k for row in rows)
        assert set(report.submission.reported()) <= {row.prompt_id for row in rows}
    return report


def with_true_length(parquet: bytes, footer: int) -> bytes:
    """A changed Parquet file whose footer begins at a place: its length is told as it is now, so that it is read."""
    length = max(0, len(parquet) - 8 - footer)
    return parquet[:-8] + length.to_bytes(4, "little") + parquet[-4:]


def footer_of(parquet: bytes) -> int:
    """Where the footer of a good file begins."""
    return len(parquet) - 8 - int.from_bytes(parquet[-8:-4], "little")


TARGETS: dict[str, Check] = {
    "generations": lambda folder, data: check_submission(folder, {GENERATIONS_FILE: data}),
    "reported": lambda folder, data: check_submission(folder, {REPORTED_FILE: data}),
    **PARSERS,
}
"""What can be fuzzed, by name: the tables of a submission that is validated and printed whole, and parsers alone."""


def seeds(target: str) -> list[bytes]:
    """Good bytes for a target."""
    files = good_files()
    if target == "parquet":
        return [*files[GENERATIONS_FILE], *files[REPORTED_FILE]]
    name = {"generations": GENERATIONS_FILE, "reported": REPORTED_FILE}.get(target)
    return parser_seeds(target) if name is None else list(files[name])
