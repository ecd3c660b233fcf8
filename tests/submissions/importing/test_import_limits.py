"""Files that hold no rows, or are made to be too large or too slow, are rejected like any other; nothing is written."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from submissions.untrusted import limits
from tests.cases import each
from tests.submissions.conftest import a_prompt_a_row, jsonl, places, rejected, with_line, with_row


@each(
    ("content", "check", "message"),
    [
        (b"", "file", "the file is empty"),
        (b"\n \n\n", "json", "no rows"),
        (b"\xef\xbb\xbf", "json", "no rows"),
        (b"\x00" * 50, "json", "not JSON"),
        (b"\xff\xfe{\x00}\x00", "encoding", "not UTF-8: byte 0xff at offset 0"),
        (b"PAR1\x15\x04\x15", "file", "a Parquet file"),
        (b"\x1f\x8b\x08\x00", "file", "compressed with gzip"),
        (b"PK\x03\x04", "file", "a ZIP archive"),
    ],
    ids=["empty", "blank lines", "byte order mark", "zeros", "UTF-16", "Parquet", "gzip", "ZIP"],
)
def test_a_file_that_holds_no_rows_is_rejected(tmp_path: Path, content: bytes, check: str, message: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(content)
    problems = rejected(path)
    assert [p.check for p in problems] == [check]
    assert message in problems[0].message


def test_a_link_to_a_file_is_rejected(tmp_path: Path) -> None:
    # What lies on this machine beside the submission is not the submitter's to show.
    (tmp_path / "link.jsonl").symlink_to(jsonl(tmp_path / "in.jsonl", a_prompt_a_row()))
    problems = rejected(tmp_path / "link.jsonl")
    assert [p.check for p in problems] == ["file"]
    assert problems[0].message == "link.jsonl is missing or is not a regular file"


def test_a_line_over_the_limit_is_rejected_without_reading_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", 1000)
    problems = rejected(jsonl(tmp_path / "in.jsonl", with_row(3, responses=["x" * 2000, "b", "c"])))
    assert places(problems) == [("sizes", 3, "")]
    assert problems[0].message == "the line is too long"
    assert "1,000 bytes" in problems[0].hint


def test_a_file_over_the_limit_is_rejected_unread(tmp_path: Path) -> None:
    # A sparse file: it claims half a gibibyte and a byte more, and takes no room.
    path = tmp_path / "in.jsonl"
    with path.open("wb") as file:
        file.truncate(limits.MAX_FILE_BYTES + 1)
    problems = rejected(path)
    assert [p.check for p in problems] == ["sizes"]
    assert problems[0].message == "536,870,913 bytes"


@each(
    "line",
    [
        # Each took minutes or more with a parser that goes back over what it has read.
        pytest.param(lambda: b"[" * 9 + b'"' + rb"\"" * 1_000_000, id="escaped quotes without an end"),
        pytest.param(
            lambda: b"{" + b",".join(b'"%d":0' % min(i, 99_999) for i in range(100_001)) + b"}", id="repeated keys"
        ),
        pytest.param(lambda: b"[" * 9 + b'"\\' * 1_000_000, id="quotes and backslashes"),
    ],
)
def test_a_line_made_to_be_slow_is_rejected_like_any_other(tmp_path: Path, line: Callable[[], bytes]) -> None:
    problems = rejected(jsonl(tmp_path / "in.jsonl", with_line(2, line())))
    assert places(problems) == [("json", 2, "")]
    assert len(problems[0].message) < 600


def test_problems_that_quote_the_file_are_cut(tmp_path: Path) -> None:
    rows = with_row(2, prompt_id="x" * 1_000_000)
    rows[2] = json.dumps({"k" * 100_000: 1})[:-1].encode() + b', "' + b"k" * 100_000 + b'": 2}'
    problems = rejected(jsonl(tmp_path / "in.jsonl", rows))
    assert all(len(p.message) <= 501 for p in problems)


def test_a_header_of_very_many_columns_is_rejected_before_they_are_compared(tmp_path: Path) -> None:
    # Those with a usual name in capitals were counted for each of them: a line of 8 MiB took days.
    path = tmp_path / "in.csv"
    path.write_text("ID," * 2**20 + "prompt\n", encoding="utf-8")
    assert [(p.check, p.message) for p in rejected(path, "csv")] == [("sizes", "1,048,577 columns")]
