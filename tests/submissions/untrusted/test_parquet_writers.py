"""Parquet files as honest people's programs write them: taken, or rejected with a hint that says what to change.

`samples/` holds the toy submission as other programs wrote it in November 2026, each from a table of strings and lists
of strings: polars 2.1 (`write_parquet`), DuckDB 2.0 (`COPY … TO`, PARQUET_VERSION V1 and V2), fastparquet 2026.9
(`write`), DataFusion 55 (`write_parquet`), arrow-rs 59 (version 2 of its writer, with dictionaries and without) and
Spark 4.3 with parquet-mr 1.17 (parquet.writer.version v1 and v2).
"""

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from submissions.schema import GENERATIONS
from submissions.storage.submission_folders import GENERATIONS_FILE
from submissions.untrusted.findings import Findings
from submissions.untrusted.table_files import read_table
from tests.cases import each
from tests.conftest import toy_rows, write_toy
from tests.submissions.conftest import Json, check
from tests.submissions.ordinary_files import pyarrow_options

SAMPLES = Path(__file__).parents[1] / "samples"
TAKEN = ("datafusion", "duckdb-v1", "duckdb-v2", "polars", "rust-v2", "rust-v2-plain", "spark-v1", "spark-v2")
NO_JSON = "write that type, not JSON: in pandas with engine='pyarrow'"
REFUSED = {"fastparquet": [("schema", "responses", NO_JSON), ("schema", "finish_reasons", NO_JSON)]}
ROWS: list[Json] = [
    {"prompt_id": r.prompt_id, "prompt": r.prompt, "responses": list(r.responses), "finish_reasons": None}
    for r in toy_rows()
]
TABLE = pa.Table.from_pylist(ROWS, schema=GENERATIONS)
VIEW, LIST_OF_VIEWS = pa.string_view(), pa.list_(pa.string_view())
VIEWS = pa.schema([(field.name, LIST_OF_VIEWS if pa.types.is_list(field.type) else VIEW) for field in GENERATIONS])
OPTIONS = pyarrow_options(pq)


def refusals(folder: Path) -> list[tuple[str, str, str]]:
    """For each problem its check, field and mend."""
    report = check(folder)
    assert report.submission is None
    return [(p.check, p.field, p.hint) for p in report.findings.problems]


def is_toy(folder: Path) -> None:
    """The folder is taken, and holds what we would have written."""
    report, ours = check(folder), check(write_toy(folder.parent / "ours"))
    assert report.findings.problems == []
    assert report.submission is not None
    assert ours.submission is not None
    assert report.submission.id == ours.submission.id


def write(folder: Path, table: pa.Table, **options: Any) -> Path:
    write_toy(folder)
    pq.write_table(table, folder / GENERATIONS_FILE, **options)
    return folder


def sample(folder: Path, name: str) -> Path:
    write_toy(folder)
    (folder / GENERATIONS_FILE).write_bytes((SAMPLES / f"{name}.parquet").read_bytes())
    return folder


def test_each_sample_is_tried() -> None:
    assert sorted(path.stem for path in SAMPLES.iterdir()) == sorted((*TAKEN, *REFUSED))


@each("name", TAKEN)
def test_what_other_programs_write_is_taken(tmp_path: Path, name: str) -> None:
    is_toy(sample(tmp_path / "other", name))


@each(("name", "expected"), REFUSED.items(), ids=REFUSED)
def test_what_cannot_be_taken_is_rejected_with_what_to_change(
    tmp_path: Path, name: str, expected: list[tuple[str, str, str]]
) -> None:
    found = refusals(sample(tmp_path / "other", name))
    assert [(kind, field) for kind, field, _ in found] == [(kind, field) for kind, field, _ in expected]
    assert all(hint.startswith(start) for (_, _, hint), (_, _, start) in zip(found, expected, strict=True))


@each("options", OPTIONS.values(), ids=OPTIONS)
@each("schema", [GENERATIONS, VIEWS], ids=["strings", "views"])
def test_every_way_of_pyarrow_is_taken(tmp_path: Path, schema: pa.Schema, options: Json) -> None:
    is_toy(write(tmp_path / "other", pa.Table.from_pylist(ROWS, schema=schema), **options))


def test_a_column_of_nothing_may_be_of_no_type(tmp_path: Path) -> None:
    # So pandas and polars write a column in which they never saw a value.
    is_toy(write(tmp_path / "other", TABLE.set_column(3, "finish_reasons", pa.nulls(len(TABLE)))))


def test_a_column_that_must_have_values_may_not_be_of_no_type(tmp_path: Path) -> None:
    folder = write(tmp_path / "other", TABLE.set_column(2, "responses", pa.nulls(len(TABLE))))
    assert refusals(folder) == [("schema", "responses", "write that type")]


@each("dictionary", [True, False], ids=["dictionary", "plain"])
def test_views_that_are_not_utf8_are_rejected_by_row_and_field(tmp_path: Path, dictionary: bool) -> None:
    rows = [ROWS[0], ROWS[1] | {"prompt": "é" * 40}, *ROWS[2:]]
    table = pa.Table.from_pylist(rows, schema=VIEWS)
    folder = write(tmp_path / "other", table, compression="none", use_dictionary=dictionary, write_statistics=False)
    path = folder / GENERATIONS_FILE
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xe9\xe9"))
    (problem,) = check(folder).findings.problems
    assert (problem.check, problem.row, problem.field) == ("encoding", 2, "prompt")


def test_categories_and_arrays_are_taken_and_imported(tmp_path: Path) -> None:
    # As pandas and polars write a column of few texts, and one whose lists are all of one length.
    table = TABLE.set_column(0, "prompt_id", TABLE["prompt_id"].dictionary_encode())
    table = table.set_column(2, "responses", TABLE["responses"].cast(pa.list_(pa.string(), 3)))
    folder = write(tmp_path / "other", table)
    is_toy(folder)
    findings = Findings()
    made = read_table(folder / GENERATIONS_FILE, TABLE.column_names, findings)
    assert findings.problems == []
    assert made is not None
    assert [row for _, row in made.rows] == ROWS


def test_the_index_of_pandas_is_ignored(tmp_path: Path) -> None:
    indexes: Json = {"numbers": [2, 0, 3, 1], "times": pd.to_datetime(["2026-01-01"] * 4)}
    for name, index in indexes.items():
        folder = write_toy(tmp_path / name / "other")
        TABLE.to_pandas().set_index(pd.Index(index)).to_parquet(folder / GENERATIONS_FILE)
        assert pq.read_schema(folder / GENERATIONS_FILE).names[-1] == "__index_level_0__"
        is_toy(folder)
        submission = check(folder).submission
        assert submission is not None
        assert list(submission.rows()) == toy_rows()
