"""A Parquet file of strangers is whole, of the schema and of a decent size, or rejected; it never ends the process."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from submissions.schema import GENERATIONS, REPORTED
from submissions.untrusted import limits
from submissions.untrusted.parquet_reader import WRITE_AGAIN
from tests.cases import each
from tests.conftest import toy_rows, write_toy
from tests.submissions.conftest import Json, add_reported, check, places

GOOD: list[Json] = [
    {"prompt_id": r.prompt_id, "prompt": r.prompt, "responses": list(r.responses), "finish_reasons": None}
    for r in toy_rows()
]
LARGE = pa.schema(
    [
        ("prompt_id", pa.large_string()),
        ("prompt", pa.large_string()),
        ("responses", pa.large_list(pa.large_string())),
        ("finish_reasons", pa.large_list(pa.string())),
    ]
)


def write(folder: Path, rows: list[Json] = GOOD, schema: pa.Schema = GENERATIONS, **options: Any) -> Path:
    """A toy submission whose generations are written by somebody else's program."""
    write_toy(folder)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / "generations.parquet", **options)
    return folder


def test_damaged_texts_are_refused(tmp_path: Path) -> None:
    """Whoever wrote checksums; without them, they are other texts."""
    options: Json = {"use_dictionary": False, "compression": "none", "write_page_checksum": True}
    theirs, ours = write(tmp_path / "theirs", **options), write_toy(tmp_path / "ours")
    for folder, page in ((theirs, b"answer"), (ours, b"\x28\xb5\x2f\xfd")):  # zstd begins so
        path = folder / "generations.parquet"
        whole = path.read_bytes()
        assert check(folder).submission is not None
        at = whole.index(page) + 20
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        (problem,) = check(folder).findings.problems
        assert "CRC checksum verification failed" in problem.message
        assert problem.hint == WRITE_AGAIN


def with_field(name: str, kind: pa.DataType) -> pa.Schema:
    place = GENERATIONS.get_field_index(name)
    return GENERATIONS.set(place, pa.field(name, kind))


@each(
    ("schema", "options"),
    [
        pytest.param(LARGE, {}, id="64-bit offsets"),
        pytest.param(GENERATIONS, {"use_dictionary": False, "compression": "none"}, id="plain"),
        pytest.param(GENERATIONS, {"compression": "gzip", "row_group_size": 1}, id="a row a group"),
        pytest.param(GENERATIONS, {"data_page_version": "2.0", "store_schema": False}, id="pages of version 2"),
        pytest.param(GENERATIONS, {"dictionary_pagesize_limit": 10, "data_page_size": 10}, id="dictionary given up"),
        pytest.param(pa.schema([*reversed(list(GENERATIONS))]), {}, id="other order of columns"),
    ],
)
def test_how_a_file_is_written_does_not_matter(tmp_path: Path, schema: pa.Schema, options: Json) -> None:
    report = check(write(tmp_path / "other", schema=schema, **options))
    ours = check(write_toy(tmp_path / "ours"))
    assert report.findings.problems == []
    assert report.submission is not None
    assert ours.submission is not None
    assert report.submission.id == ours.submission.id
    assert list(report.submission.rows()) == toy_rows()


SCHEMAS: dict[str, tuple[list[Json], pa.Schema, list[tuple[str, str, str]]]] = {
    # rows, schema, and for each problem its field, message and mend
    "numbers as ids": (
        [row | {"prompt_id": i} for i, row in enumerate(GOOD)],
        with_field("prompt_id", pa.int64()),
        [("prompt_id", "type int64, expected string", "write that type")],
    ),
    "text as responses": (
        [row | {"responses": "a"} for row in GOOD],
        with_field("responses", pa.string()),
        [("responses", "type string, expected list<item: string>", "write that type")],
    ),
    "numbers as responses": (
        [row | {"responses": [1.5]} for row in GOOD],
        with_field("responses", pa.list_(pa.float64())),
        [("responses", "type list<element: double>, expected list<item: string>", "write that type")],
    ),
    "bytes as responses": (
        [row | {"responses": [b"a"]} for row in GOOD],
        with_field("responses", pa.list_(pa.binary())),
        [("responses", "type list<element: binary>, expected list<item: string>", "write that type")],
    ),
    "one more column": (
        [row | {"score": 1} for row in GOOD],
        GENERATIONS.append(pa.field("score", pa.int64())),
        [("score", "unknown column", "remove it")],
    ),
    "one column less": (
        GOOD,
        GENERATIONS.remove(GENERATIONS.get_field_index("finish_reasons")),
        [("finish_reasons", "the column is missing", "add it")],
    ),
    "another table": (
        [{"id": "a", "text": "b"}],
        pa.schema([("id", pa.string()), ("text", pa.string())]),
        [
            *((field.name, "the column is missing", "add it") for field in GENERATIONS),
            ("id", "unknown column", "remove it"),
            ("text", "unknown column", "remove it"),
        ],
    ),
}


@each(("rows", "schema", "expected"), SCHEMAS.values(), ids=SCHEMAS)
def test_another_schema_is_rejected_by_column(
    tmp_path: Path, rows: list[Json], schema: pa.Schema, expected: list[tuple[str, str, str]]
) -> None:
    report = check(write(tmp_path / "bad", rows, schema))
    assert report.submission is None
    assert len(report.findings.problems) == len(expected)
    for problem, (field, message, hint) in zip(report.findings.problems, expected, strict=True):
        assert (problem.check, problem.file, problem.field) == ("schema", "generations.parquet", field)
        assert message in problem.message
        assert hint in problem.hint


NULLABLE = pa.schema([pa.field(field.name, field.type) for field in GENERATIONS])


@each(
    ("changes", "where", "hint"),
    [
        ({"responses": ["a", None, "c"]}, [("nulls", 3, "responses[1]")], 'an empty response is the empty string ""'),
        ({"responses": None}, [("nulls", 3, "responses")], "write the value"),
        ({"prompt_id": None}, [("nulls", 3, "prompt_id"), ("prompt_ids", None, "prompt_id")], "write the value"),
        (
            {"prompt_id": None, "responses": [None]},
            [("nulls", 3, "prompt_id"), ("nulls", 3, "responses[0]"), ("prompt_ids", None, "prompt_id")],
            "write the value",
        ),
    ],
    ids=str,
)
def test_nulls_are_rejected_by_row_and_place(
    tmp_path: Path, changes: Json, where: list[tuple[str, int | None, str]], hint: str
) -> None:
    rows = [row | changes if i == 2 else row for i, row in enumerate(GOOD)]
    problems = check(write(tmp_path / "bad", rows, NULLABLE)).findings.problems
    assert places(problems) == where
    assert problems[0].hint == hint


def test_bytes_that_are_not_utf8_are_rejected_by_row_and_field(tmp_path: Path) -> None:
    # A writer that does not look: the bytes of Latin-1 under the name of a string.
    rows = [
        GOOD[0],
        GOOD[1] | {"responses": ["a", "café", "c"]},
        GOOD[2] | {"prompt": "été"},
        GOOD[3] | {"responses": ["a"]},
    ]
    folder = write(tmp_path / "bad", rows, compression="none")
    path = folder / "generations.parquet"
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xe9\xe9"))
    problems = check(folder).findings.problems
    assert places(problems) == [("encoding", 2, "responses"), ("encoding", 3, "prompt"), ("k", 4, "responses")]
    assert (problems[0].message, problems[0].hint) == ("not UTF-8", "write strings as UTF-8")


def test_reported_bytes_that_are_not_utf8_are_rejected_by_row_and_field(tmp_path: Path) -> None:
    folder = add_reported(write_toy(tmp_path / "bad"), prompt_id="é-0")
    path = folder / "reported.parquet"
    path.write_bytes(path.read_bytes().replace("é-0".encode(), b"\xe9\xe9-0"))
    problems = check(folder).findings.problems
    assert places(problems) == [("encoding", 1, "prompt_id")]
    assert problems[0].file == "reported.parquet"


def test_a_column_whose_name_is_not_utf8_is_rejected(tmp_path: Path) -> None:
    schema = GENERATIONS.append(pa.field("éé", pa.string()))
    folder = write(tmp_path / "bad", [row | {"éé": "x"} for row in GOOD], schema, store_schema=False)
    path = folder / "generations.parquet"
    path.write_bytes(path.read_bytes().replace("éé".encode(), b"\xe9\xe9\xe9\xe9"))
    (problem,) = check(folder).findings.problems
    assert problem.check == "parquet"
    assert problem.message.startswith("not a valid Parquet file: 'utf-8' codec can't decode")


def cut(share: float) -> Callable[[bytes], bytes]:
    return lambda content: content[: int(len(content) * share)]


def without(first: int, last: int) -> Callable[[bytes], bytes]:
    """The footer stays and promises data that are gone."""
    return lambda content: content[:first] + content[last:]


@each(
    ("damage", "kind"),
    [
        pytest.param(lambda content: b"", "file", id="empty"),
        pytest.param(lambda content: content[:3], "parquet", id="three bytes"),
        pytest.param(lambda content: b"PAR1", "parquet", id="the magic alone"),
        pytest.param(lambda content: b"PAR1PAR1", "parquet", id="the magic twice"),
        pytest.param(lambda content: b"PAR1\xff\xff\xff\x7fPAR1", "parquet", id="a footer of two gigabytes"),
        pytest.param(cut(0.1), "parquet", id="a tenth"),
        pytest.param(cut(0.5), "parquet", id="half"),
        pytest.param(lambda content: content[:-4], "parquet", id="without the last magic"),
        pytest.param(lambda content: content[:-1], "parquet", id="without the last byte"),
        pytest.param(without(20, 120), "parquet", id="a hole in the data"),
        pytest.param(lambda content: content[:40] + bytes(200) + content[240:], "parquet", id="zeros in the data"),
        pytest.param(lambda content: b"\n" + content, "parquet", id="shifted"),
        pytest.param(lambda content: b'{"prompt_id": "toy-0"}\n', "parquet", id="JSON"),
    ],
)
def test_a_damaged_file_is_rejected(tmp_path: Path, damage: Callable[[bytes], bytes], kind: str) -> None:
    folder = write_toy(tmp_path / "bad")
    path = folder / "generations.parquet"
    path.write_bytes(damage(path.read_bytes()))
    report = check(folder)
    assert report.submission is None
    # What is missing because the file broke off is not complained of: only the damage is.
    assert [(p.check, p.file) for p in report.findings.problems] == [(kind, "generations.parquet")]
    assert report.findings.problems[0].hint


def test_damage_behind_whole_rows_is_told_by_its_place(tmp_path: Path) -> None:
    rows = [GOOD[0] | {"prompt_id": f"p{i}", "prompt": f"Say thing {i}."} for i in range(300)]
    folder = write(tmp_path / "bad", rows, row_group_size=128, compression="none", use_dictionary=False)
    path = folder / "generations.parquet"
    content = path.read_bytes()
    place = content.index(b"Say thing 256.") - 40  # the header of the page, in the third group of rows
    path.write_bytes(content[:place] + bytes(40) + content[place + 40 :])
    (problem,) = check(folder).findings.problems
    assert (problem.check, problem.row) == ("parquet", 257)
    assert problem.message.startswith("cannot be read after row 256: ")
    assert problem.hint == WRITE_AGAIN


@each("seed", range(2))
def test_random_damage_is_rejected_or_harmless_and_never_an_exception(tmp_path: Path, seed: int) -> None:
    # Some such files made pyarrow end the whole process, or raise what no caller expects.
    rng = random.Random(seed)  # noqa: S311
    folder = write_toy(tmp_path / "bad")
    path = folder / "generations.parquet"
    content = path.read_bytes()
    refusals = 0
    for _ in range(25):
        damaged = bytearray(content)
        for _ in range(rng.choice([1, 1, 2, 5])):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(damaged)
        report = check(folder)
        assert (report.submission is None) == report.findings.rejected()
        refusals += report.findings.rejected()
    assert refusals > 10


@each("file", ["generations.parquet", "reported.parquet"])
def test_a_link_is_rejected(tmp_path: Path, file: str) -> None:
    folder = add_reported(write_toy(tmp_path / "bad"))
    (folder / file).rename(tmp_path / "elsewhere")
    (folder / file).symlink_to(tmp_path / "elsewhere")
    (problem,) = check(folder).findings.problems
    assert (problem.check, problem.message) == ("file", f"{file} is missing or is not a regular file")


def test_a_folder_in_place_of_the_file_is_rejected(tmp_path: Path) -> None:
    folder = write_toy(tmp_path / "bad")
    (folder / "generations.parquet").unlink()
    (folder / "generations.parquet").mkdir()
    assert [p.check for p in check(folder).findings.problems] == ["file"]


def test_a_reported_file_of_another_schema_is_rejected(tmp_path: Path) -> None:
    folder = write_toy(tmp_path / "bad")
    wrong = REPORTED.set(REPORTED.get_field_index("distinct"), pa.field("distinct", pa.int64()))
    rows = [{"prompt_id": "toy-0", "partition": [0, 0, 0], "generation_scores": None, "distinct": 1, "utility": None}]
    pq.write_table(pa.Table.from_pylist(rows, schema=wrong), folder / "reported.parquet")
    (problem,) = check(folder).findings.problems
    assert (problem.check, problem.file, problem.field) == ("schema", "reported.parquet", "distinct")
    assert problem.message == "type int64, expected int32"


def test_too_many_rows_are_rejected_by_the_footer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_ROWS", 3)
    (problem,) = check(write_toy(tmp_path / "bad")).findings.problems
    assert (problem.check, problem.message, problem.hint) == ("sizes", "4 rows", "at most 3 are allowed")
    monkeypatch.setattr(limits, "MAX_ROWS", 4)
    assert check(write_toy(tmp_path / "good")).findings.problems == []
