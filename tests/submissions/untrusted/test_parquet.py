"""A Parquet file is accepted whatever program wrote it, or rejected by column, row and field.

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
import pytest

from submissions.schema import GENERATIONS, REPORTED
from submissions.storage.submission_folders import GENERATIONS_FILE
from submissions.untrusted.findings import Findings
from submissions.untrusted.table_files import read_columns
from tests.cases import each
from tests.conftest import toy_rows, write_toy
from tests.submissions.conftest import Json, Place, check, places

SAMPLES = Path(__file__).parents[1] / "samples"
ACCEPTED = ("datafusion", "duckdb-v1", "duckdb-v2", "polars", "rust-v2", "rust-v2-plain", "spark-v1", "spark-v2")
ROWS: list[Json] = [
    {"prompt_id": r.prompt_id, "prompt": r.prompt, "responses": list(r.responses), "finish_reasons": None}
    for r in toy_rows()
]
TABLE = pa.Table.from_pylist(ROWS, schema=GENERATIONS)


def write(folder: Path, table: pa.Table = TABLE, **options: Any) -> Path:
    """A toy submission whose generations are written by another program."""
    write_toy(folder)
    pq.write_table(table, folder / GENERATIONS_FILE, **options)
    return folder


def is_toy(folder: Path) -> None:
    """The folder is accepted, and holds what we would have written."""
    report, ours = check(folder), check(write_toy(folder.parent / "ours"))
    assert report.findings.problems == []
    assert report.submission is not None
    assert ours.submission is not None
    assert report.submission.id == ours.submission.id
    assert list(report.submission.rows()) == toy_rows()


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_other_programs_write_is_accepted(tmp_path: Path, name: str) -> None:
    folder = write_toy(tmp_path / "other")
    (folder / GENERATIONS_FILE).write_bytes((SAMPLES / f"{name}.parquet").read_bytes())
    is_toy(folder)


def test_a_column_of_json_is_rejected_with_what_to_change(tmp_path: Path) -> None:
    folder = write_toy(tmp_path / "other")
    (folder / GENERATIONS_FILE).write_bytes((SAMPLES / "fastparquet.parquet").read_bytes())
    problems = check(folder).findings.problems
    assert places(problems) == [("schema", None, "responses"), ("schema", None, "finish_reasons")]
    assert all(p.hint.startswith("write that type, not JSON: in pandas with engine='pyarrow'") for p in problems)


LARGE = {"prompt_id": pa.large_string(), "responses": pa.large_list(pa.large_string())}
VIEWS = {"prompt_id": pa.string_view(), "responses": pa.list_(pa.string_view())}
FIXED = {"prompt_id": pa.dictionary(pa.int32(), pa.string()), "responses": pa.list_(pa.string(), 3)}


@pytest.mark.parametrize("types", [{}, LARGE, VIEWS, FIXED], ids=["ours", "64-bit offsets", "views", "fixed"])
@pytest.mark.parametrize(
    "options",
    [
        {"use_dictionary": False, "compression": "none"},
        {"compression": "gzip", "row_group_size": 1},
        {"data_page_version": "2.0", "store_schema": False},
        {"dictionary_pagesize_limit": 10, "data_page_size": 10, "compression": "lz4"},
    ],
    ids=str,
)
def test_how_a_file_is_written_does_not_matter(tmp_path: Path, types: Json, options: Json) -> None:
    table = TABLE
    for name, kind in types.items():
        values = pa.array(TABLE[name].to_pylist(), kind) if "view" in str(kind) else TABLE[name].cast(kind)
        table = table.set_column(table.schema.get_field_index(name), name, values)
    folder = write(tmp_path / "other", table.select(table.column_names[::-1]), **options)
    is_toy(folder)
    findings = Findings()
    columns = read_columns(folder / GENERATIONS_FILE, TABLE.column_names, findings)
    assert findings.problems == []
    assert columns is not None
    assert [row for _, row in columns.rows] == ROWS


def test_the_index_of_pandas_and_a_column_of_nulls_without_a_type_are_accepted(tmp_path: Path) -> None:
    indexes: Json = {"numbers": [2, 0, 3, 1], "times": pd.to_datetime(["2026-01-01"] * 4)}
    for name, index in indexes.items():
        folder = write_toy(tmp_path / name / "other")
        TABLE.to_pandas().set_index(pd.Index(index)).to_parquet(folder / GENERATIONS_FILE)
        assert pq.read_schema(folder / GENERATIONS_FILE).names[-1] == "__index_level_0__"
        is_toy(folder)
    is_toy(write(tmp_path / "other", TABLE.set_column(3, "finish_reasons", pa.nulls(len(TABLE)))))


def with_type(name: str, kind: pa.DataType, value: Any) -> pa.Table:
    schema = GENERATIONS.set(GENERATIONS.get_field_index(name), pa.field(name, kind))
    return pa.Table.from_pylist([row | {name: value} for row in ROWS], schema=schema)


SCHEMAS: dict[str, tuple[pa.Table, list[tuple[str, str, str]]]] = {
    "numbers as ids": (
        with_type("prompt_id", pa.int64(), 1),
        [("prompt_id", "type int64, expected string", "write that type")],
    ),
    "text as responses": (
        with_type("responses", pa.string(), "a"),
        [("responses", "type string, expected list<item: string>", "write that type")],
    ),
    "nothing as responses": (
        TABLE.set_column(2, "responses", pa.nulls(len(TABLE))),
        [("responses", "type null, expected list<item: string>", "write that type")],
    ),
    "another table": (
        pa.table({"prompt_id": ["a"], "prompt": ["b"], "responses": [["c"]], "text": ["d"]}),
        [("finish_reasons", "the column is missing", "add it"), ("text", "unknown column", "remove it")],
    ),
    "a column twice": (
        TABLE.append_column("prompt", TABLE["prompt"]),
        [("prompt", "two columns have this name", "rename one")],
    ),
}


@each(("table", "expected"), SCHEMAS.values(), ids=SCHEMAS)
def test_another_schema_is_rejected_by_column(
    tmp_path: Path, table: pa.Table, expected: list[tuple[str, str, str]]
) -> None:
    report = check(write(tmp_path / "bad", table))
    assert report.submission is None
    assert [(p.field, p.message, p.hint) for p in report.findings.problems] == expected
    assert {(p.check, p.file) for p in report.findings.problems} == {("schema", GENERATIONS_FILE)}


def test_a_reported_file_of_another_schema_is_rejected(tmp_path: Path) -> None:
    folder = write_toy(tmp_path / "bad")
    wrong = REPORTED.set(REPORTED.get_field_index("distinct"), pa.field("distinct", pa.int64()))
    rows = [{"prompt_id": "toy-0", "partition": [0, 0, 0], "distinct": 1, "version": "1.0", "unscored": False}]
    pq.write_table(pa.Table.from_pylist(rows, schema=wrong), folder / "reported.parquet")
    (problem,) = check(folder).findings.problems
    assert (problem.file, problem.field, problem.message) == (
        "reported.parquet",
        "distinct",
        "type int64, expected int32",
    )


@each(
    ("changes", "expected"),
    [
        ({"responses": ["a", None, "c"]}, [("nulls", 3, "responses[1]")]),
        ({"responses": None}, [("nulls", 3, "responses")]),
        ({"prompt_id": None}, [("nulls", 3, "prompt_id"), ("prompt_ids", None, "prompt_id")]),
    ],
)
def test_nulls_are_rejected_by_row_and_field(tmp_path: Path, changes: Json, expected: list[Place]) -> None:
    rows = [row | changes if i == 2 else row for i, row in enumerate(ROWS)]
    nullable = pa.schema([pa.field(field.name, field.type) for field in GENERATIONS])
    folder = write(tmp_path / "bad", pa.Table.from_pylist(rows, schema=nullable))
    assert places(check(folder).findings.problems) == expected


def replace(folder: Path, old: bytes, new: bytes) -> Path:
    path = folder / GENERATIONS_FILE
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))
    return folder


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view()])
def test_bytes_that_are_not_utf8_are_rejected_by_row_and_field(tmp_path: Path, kind: pa.DataType) -> None:
    # A writer that does not look: the bytes of Latin-1 under the name of a string.
    rows = [ROWS[0], ROWS[1] | {"responses": ["a", "café", "c"]}, ROWS[2] | {"prompt": "été" * 9}, ROWS[3]]
    table = pa.Table.from_pylist(rows, schema=GENERATIONS.set(1, pa.field("prompt", kind)))
    folder = write(tmp_path / "bad", table, compression="none", write_statistics=False)
    problems = check(replace(folder, "é".encode(), b"\xe9\xe9")).findings.problems
    assert places(problems) == [("encoding", 2, "responses"), ("encoding", 3, "prompt")]
    assert (problems[0].message, problems[0].hint) == ("not UTF-8", "write strings as UTF-8")


def test_damage_after_whole_rows_is_reported_by_its_row(tmp_path: Path) -> None:
    rows = [ROWS[0] | {"prompt_id": f"p{i}", "prompt": f"Say thing {i}."} for i in range(300)]
    table = pa.Table.from_pylist(rows, schema=GENERATIONS)
    folder = write(tmp_path / "bad", table, row_group_size=128, compression="none", use_dictionary=False)
    path = folder / GENERATIONS_FILE
    content = path.read_bytes()
    header = content.index(b"Say thing 256.") - 40  # of the page, in the third group of rows
    path.write_bytes(content[:header] + bytes(40) + content[header + 40 :])
    (problem,) = check(folder).findings.problems
    assert (problem.check, problem.row) == ("parquet", 257)
    assert problem.message.startswith("cannot be read after row 256: ")


def test_texts_that_do_not_fit_their_checksum_are_rejected(tmp_path: Path) -> None:
    folder = write(tmp_path / "bad", use_dictionary=False, compression="none", write_page_checksum=True)
    (problem,) = check(replace(folder, b"answer 1", b"answer 7")).findings.problems
    assert "CRC checksum verification failed" in problem.message
    assert problem.hint == "it may be truncated or damaged: write it again"
