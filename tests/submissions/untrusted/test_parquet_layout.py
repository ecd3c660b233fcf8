"""What footers and page headers promise is read as pyarrow reads it, and what rows weigh is what they take."""

from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from submissions.schema import GENERATIONS
from submissions.untrusted import parquet_files, parquet_memory, thrift
from submissions.untrusted.findings import Findings
from submissions.untrusted.parquet_files import parquet_rows
from submissions.untrusted.parquet_layout import PageHeaders, read_layout
from submissions.untrusted.parquet_memory import VALUE_BYTES, MemoryEstimator, streamed
from submissions.untrusted.table_files import read_table
from submissions.untrusted.thrift import (
    BINARY,
    DOUBLE,
    FALSE,
    I32,
    I64,
    LIST,
    MAP,
    SET,
    STRUCT,
    TRUE,
    Malformed,
    read_struct,
)
from tests.cases import each
from tests.submissions.conftest import Json, places
from tests.submissions.crafted import file_of, generations, struct, toy_chunks

ROWS: list[Json] = [
    {
        "prompt_id": f"p{i}",
        "prompt": None if i % 7 == 0 else f"prompt {i % 5}" * (i % 3),
        "responses": [("é" * (i % 90), f"an answer {i % 4}", None, "")[(i + j) % 4] for j in range(i % 6)],
        "finish_reasons": None if i % 3 else ["stop", None],
    }
    for i in range(400)
]
LOOSE = pa.schema([pa.field(field.name, field.type) for field in GENERATIONS])
LARGE_LISTS = pa.large_list(pa.large_string())
LARGE = pa.schema([(f.name, LARGE_LISTS if pa.types.is_list(f.type) else pa.large_string()) for f in LOOSE])
NUMBERS = pa.schema([("a", pa.float64()), ("b", pa.list_(pa.int32())), ("c", pa.bool_()), ("d.e", pa.string())])
OPTIONS: dict[str, Json] = {
    "default": {},
    "plain": {"use_dictionary": False, "compression": "none"},
    "dictionary given up": {"dictionary_pagesize_limit": 500, "data_page_size": 300},
    "version 2": {"data_page_version": "2.0", "compression": "zstd", "data_page_size": 200},
    "small groups": {
        "row_group_size": 33,
        "compression": "gzip",
        "write_page_index": True,
        "write_page_checksum": True,
    },
}
written_in_each_way = each("options", OPTIONS.values(), ids=OPTIONS)


def write(path: Path, rows: list[Json], schema: pa.Schema, options: Json) -> Path:
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, **options)
    return path


@written_in_each_way
@each("schema", [LOOSE, LARGE], ids=["strings", "large strings"])
def test_a_layout_is_what_pyarrow_says(tmp_path: Path, schema: pa.Schema, options: Json) -> None:
    path = write(tmp_path / "x.parquet", ROWS, schema, options)
    about = pq.ParquetFile(path).metadata
    groups = read_layout(path)
    assert [group.rows for group in groups] == [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    for i, group in enumerate(groups):
        columns = [about.row_group(i).column(j) for j in range(about.num_columns)]
        assert [c.column.path for c in group.chunks] == [column.path_in_schema for column in columns]
        assert [c.values for c in group.chunks] == [column.num_values for column in columns]
        assert [c.end - c.start for c in group.chunks] == [column.total_compressed_size for column in columns]
        assert all(c.column.is_bytes for c in group.chunks)


@written_in_each_way
def test_pages_hold_what_the_footer_promises(tmp_path: Path, options: Json) -> None:
    path = write(tmp_path / "x.parquet", ROWS, LOOSE, options)
    about = pq.ParquetFile(path).metadata
    with path.open("rb") as file:
        headers = PageHeaders(file)
        for i, group in enumerate(read_layout(path)):
            for j, chunk in enumerate(group.chunks):
                pages = list(headers.of(chunk))
                column = about.row_group(i).column(j)
                assert sum(page.values for page in pages if not page.is_dictionary) == column.num_values
                assert sum(page.size for page in pages) <= column.total_uncompressed_size
                assert sum(page.is_dictionary for page in pages) == column.has_dictionary_page


def test_columns_of_any_type_have_a_layout(tmp_path: Path) -> None:
    row = {"a": 0.5, "b": [1, 2], "c": None, "d.e": "x"}
    groups = read_layout(write(tmp_path / "x.parquet", [row, row], NUMBERS, {}))
    assert [(c.column.path, c.column.is_bytes, c.values) for c in groups[0].chunks] == [
        ("a", False, 2),
        ("b.list.element", False, 4),
        ("c", False, 2),
        ("d.e", True, 2),
    ]


def test_a_file_without_rows_has_a_layout(tmp_path: Path) -> None:
    assert sum(group.rows for group in read_layout(write(tmp_path / "x.parquet", [], LOOSE, {}))) == 0
    assert list(parquet_rows(tmp_path / "x.parquet", Findings())) == []


def takes(row: Json) -> int:
    """The bytes of a row by definition: those of its letters, and some for each value."""
    values = [row["prompt_id"], row["prompt"], *row["responses"], *(row["finish_reasons"] or ())]
    return sum(VALUE_BYTES + len((value or "").encode()) for value in values)


@written_in_each_way
@each("schema", [LOOSE, LARGE], ids=["strings", "large strings"])
@each("rows", [1, 7, 1000])
@each("numbered", [False, True], ids=["as texts", "in numbers"])
def test_rows_weigh_what_they_take(tmp_path: Path, schema: pa.Schema, options: Json, rows: int, numbered: bool) -> None:
    path = write(tmp_path / "x.parquet", ROWS, schema, options)
    with path.open("rb") as file:
        estimator = MemoryEstimator(path, streamed(path).metadata, PageHeaders(file), None)
        names = [chunk.column.path for chunk in read_layout(path)[0].chunks] if numbered else []
        found = [w for place in range(len(read_layout(path))) for w in estimator.weights(place, names, rows)]
    assert np.concatenate(found).tolist() == [takes(row) for row in ROWS]


@written_in_each_way
def test_what_is_read_is_what_was_written(tmp_path: Path, options: Json) -> None:
    findings = Findings()
    found = list(parquet_rows(write(tmp_path / "x.parquet", ROWS, LOOSE, options), findings))
    assert found == list(enumerate(ROWS, start=1))
    assert findings.problems == []


@written_in_each_way
@each("numbered", [False, True], ids=["as texts", "in numbers"])
def test_the_row_that_is_too_heavy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: Json, numbered: bool
) -> None:
    heaviest = max(range(len(ROWS)), key=lambda i: takes(ROWS[i]))
    monkeypatch.setattr(parquet_memory, "MAX_ROW_BYTES", takes(ROWS[heaviest]) - 1)
    monkeypatch.setattr(parquet_memory, "BATCH_BYTES", 0 if numbered else 2000)
    findings = Findings()
    before = len(list(parquet_rows(write(tmp_path / "x.parquet", ROWS, LOOSE, options), findings)))
    assert places(findings.problems) == [("sizes", heaviest + 1, "")]
    assert before == (heaviest // 33 * 33 if "row_group_size" in options else 0)
    assert findings.problems[0].message.startswith("a row of more than ")


def test_a_group_at_the_limit_is_taken_and_one_over_it_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(generations())
    with path.open("rb") as file:
        headers = PageHeaders(file)
        pages = [page for chunk in read_layout(path)[0].chunks for page in headers.of(chunk)]
    promised = sum(page.size + VALUE_BYTES * page.values for page in pages)
    monkeypatch.setattr(parquet_memory, "MAX_GROUP_BYTES", promised)
    assert len(list(parquet_rows(path, Findings()))) == 4
    monkeypatch.setattr(parquet_memory, "MAX_GROUP_BYTES", promised - 1)
    findings = Findings()
    assert list(parquet_rows(path, findings)) == []
    assert findings.problems[0].hint == "write fewer rows per row group"


def test_columns_that_are_not_asked_for_are_not_weighed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "x.parquet", ROWS, LOOSE, {"use_dictionary": False})
    monkeypatch.setattr(parquet_memory, "MAX_GROUP_BYTES", 400 * VALUE_BYTES + 5000)
    findings = Findings()
    assert len(list(parquet_rows(path, findings, ["prompt_id"]))) == 400
    assert findings.problems == []
    assert list(parquet_rows(path, findings, ["prompt_id", "responses"])) == []
    assert places(findings.problems) == [("sizes", 1, "")]


@each(
    ("longest", "batch", "in_numbers"),
    [
        pytest.param(50, 10**9, False, id="it cannot swell"),
        pytest.param(50, 50_000, False, id="no entry is long"),
        pytest.param(5000, 50_000, True, id="one entry is long"),
        pytest.param(50, 10**6, True, id="few texts are outside of it"),
    ],
)
@each("kind", [pa.string(), pa.list_(pa.string())], ids=str)
def test_texts_are_read_in_numbers_only_where_a_dictionary_could_swell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: pa.DataType, longest: int, batch: int, in_numbers: bool
) -> None:
    # The first 1024 texts stand in the dictionary, the other 5000 outside of it.
    texts = [f"{i:050}" for i in range(6024)]
    texts[10] = "x" * longest
    rows = [{"a": text if kind == pa.string() else [text]} for text in texts]
    path = write(tmp_path / "x.parquet", rows, pa.schema([("a", kind)]), {"dictionary_pagesize_limit": 1000})
    seen: list[list[str]] = []
    weights = MemoryEstimator.weights

    def watched(estimator: MemoryEstimator, place: int, names: list[str], number: int) -> Any:
        seen.append(names)
        return weights(estimator, place, names, number)

    monkeypatch.setattr(MemoryEstimator, "weights", watched)
    monkeypatch.setattr(parquet_memory, "BATCH_BYTES", batch)
    findings = Findings()
    assert [row for _, row in parquet_rows(path, findings)] == rows
    assert findings.problems == []
    assert [bool(names) for names in seen] == [in_numbers]


@each("name", ["a", "a.b", "é.list.element", "", "list", "\x1b"])
def test_a_bomb_in_a_table_is_found_whatever_its_column_is_called(tmp_path: Path, name: str) -> None:
    # pyarrow names columns by paths with dots. What it did not find under its name would be decoded.
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 2000, pa.int32()), pa.array(["x" * 2**20]))
    pq.write_table(pa.table([texts], names=[name]), tmp_path / "x.parquet", store_schema=False)
    findings = Findings()
    read_table(tmp_path / "x.parquet", [name], findings)
    assert places(findings.problems) == [("sizes", 1, "")]
    assert findings.problems[0].message == "more than 536,870,912 bytes when decoded"


def test_memory_that_is_not_there_is_a_problem_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: Any, **more: Any) -> None:
        raise pa.ArrowMemoryError("malloc of size 1 failed")

    path = write(tmp_path / "x.parquet", ROWS, LOOSE, {})
    monkeypatch.setattr(parquet_files, "_decoded", fails)
    findings = Findings()
    assert list(parquet_rows(path, findings)) == []
    assert places(findings.problems) == [("sizes", 1, "")]
    assert findings.problems[0].message == "cannot be read after row 0 in the available memory"


def test_thrift_is_read_as_it_is_written() -> None:
    inner = struct([(1, I32, -5), (3, TRUE, False)])
    data = struct(
        [
            (1, I32, -(2**31)),
            (2, I64, 2**63 - 1),
            (3, BINARY, b"\xff" * 300),
            (4, TRUE, True),
            (40, STRUCT, inner),
            (41, LIST, (STRUCT, [inner] * 20)),
            (42, LIST, (I32, [1, -1])),
        ]
    )
    found, place = read_struct(b"before" + data + b"after", 6)
    assert place == 6 + len(data)
    assert (found.i32(1), found.i64(2), found.binary(3), found.i32(9)) == (-(2**31), 2**63 - 1, b"\xff" * 300, None)
    assert found.fields[4] == (TRUE, True)
    assert found.struct(40) == found.structs(41)[19] == read_struct(inner)[0]
    assert found.fields[42] == (LIST, (I32, [1, -1]))
    for wrong in (lambda: found.i64(1), lambda: found.binary(40), lambda: found.struct(41), lambda: found.structs(42)):
        with pytest.raises(Malformed, match="of another type"):
            wrong()


@each(
    ("data", "says"),
    [
        (b"", "it is truncated"),
        (b"\x15", "it is truncated"),
        (b"\x15\x80", "it is truncated"),
        (b"\x15\xff\xff\xff\xff\x1f\0", "a number of more than 32 bits"),
        (b"\x16" + b"\xff" * 9 + b"\x02\0", "a number of more than 64 bits"),
        (b"\x16" + b"\xff" * 10 + b"\x01\0", "a number of more than 64 bits"),
        (b"\x18\x05abcd", "it declares more data than it contains"),
        (b"\x17\0\0\0", "it declares more data than it contains"),
        (b"\x19\x55\x02\0", "it declares more data than it contains"),
        (b"\x1b\x03\x55\x02\0", "it declares more data than it contains"),
        (b"\x15\x02\x05\x02\x02\0", "field 1 is repeated"),
        (b"\x05\x01\x02\0", "is repeated or invalid"),
        (b"\x1d\0\0", "13 is not a type"),
        (b"\x1c" * 40, "nested too deep"),
        (b"\x19" + b"\x19" * 40, "nested too deep"),
    ],
    ids=repr,
)
def test_thrift_that_another_reader_would_read_otherwise_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(Malformed, match=says):
        read_struct(data)


def test_thrift_of_all_types_is_read() -> None:
    assert read_struct(b"\x17" + bytes(8) + b"\x1b\0\x1b\x01\x55\x02\x04\x1a\x15\x06\x19\x21\x01\x02\0")[0].fields == {
        1: (DOUBLE, bytes(8)),
        2: (MAP, []),
        3: (MAP, [(1, 2)]),
        4: (SET, (I32, [3])),
        5: (LIST, (TRUE, [1, 2])),
    }
    assert FALSE == 2


def test_more_values_than_are_taken_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (b"\x15\x02" * 10 + b"\0", b"\x19\xa5" + b"\x02" * 10 + b"\0", b"\x1b\x05\x55" + b"\x02" * 10 + b"\0"):
        monkeypatch.setattr(thrift, "MAX_VALUES", 11)
        read_struct(data)
        monkeypatch.setattr(thrift, "MAX_VALUES", 9)
        with pytest.raises(thrift.LimitExceeded, match="more than 9 values in a header"):
            read_struct(data)


@given(st.binary(max_size=60))
@example(b"\x1c" * 20)
def test_any_bytes_are_a_struct_or_malformed(data: bytes) -> None:
    with suppress(Malformed):
        _, place = read_struct(data)
        assert 0 < place <= len(data)


@given(st.integers(0, len(generations())), st.binary(min_size=1, max_size=3))
def test_a_changed_footer_has_a_layout_or_is_malformed(
    tmp_path_factory: pytest.TempPathFactory, at: int, other: bytes
) -> None:
    good = generations()
    path = tmp_path_factory.getbasetemp() / "changed.parquet"
    path.write_bytes(good[:at] + other + good[at + len(other) :])
    with suppress(Malformed, UnicodeDecodeError):
        chunks = [chunk for group in read_layout(path) for chunk in group.chunks if chunk.values]
        assert all(4 <= chunk.start <= chunk.end < len(good) for chunk in chunks)


def test_files_made_by_hand_are_read_by_pyarrow_too() -> None:
    table = pq.read_table(BytesIO(generations()))
    assert table.column("responses").to_pylist()[3] == [f"answer {i} to thing 3" for i in range(3)]
    assert pq.read_table(BytesIO(file_of(toy_chunks(2), rows=2))).column("prompt_id").to_pylist() == ["toy-0", "toy-1"]
