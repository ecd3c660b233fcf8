"""A file of one's own prompts is read, or rejected with all that is wrong with it."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from datasets_build.schema import Prompt
from submissions.checking import prompts
from submissions.checking.prompts import MAX_PROMPT_BYTES, read_prompts
from submissions.schema import Problem
from submissions.untrusted import limits, table_files
from submissions.untrusted.findings import Rejected
from tests.cases import each
from tests.submissions.conftest import jsonl, places

ASKED = ("Name a zebra.", "Name an ant.", 'Say "é", twice.')
NAMED = tuple(Prompt(f"q{i}", "own", text) for i, text in enumerate(ASKED))
NUMBERED = tuple(Prompt(f"p000{i}", "own", text) for i, text in enumerate(ASKED, start=1))


def write(path: Path, content: str | bytes | Sequence[object]) -> Path:
    """Text, bytes, rows of JSON Lines or, by the file's ending, of Parquet."""
    if isinstance(content, str | bytes):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(content), path)  # type: ignore[arg-type]
    else:
        jsonl(path, content)
    return path


def problems_of(path: Path, **options: Any) -> list[Problem]:
    with pytest.raises(Rejected) as caught:
        read_prompts(path, **options)
    found = caught.value.findings.problems
    assert {p.file for p in found} == {path.name}
    assert all(p.message and p.hint and p.severity == "error" for p in found)
    return found


ROWS = [{"prompt_id": f"q{i}", "prompt": text, "more": i} for i, text in enumerate(ASKED)]
AS_CSV = 'prompt_id,more,prompt\nq0,0,Name a zebra.\nq1,1,Name an ant.\nq2,2,"Say ""é"", twice."\n'


@each(
    ("name", "content", "expected"),
    [
        ("p.jsonl", ROWS, NAMED),
        ("p.parquet", ROWS, NAMED),
        ("p.csv", AS_CSV, NAMED),
        ("p.csv", "\ufeff" + AS_CSV.replace("\n", "\r\n") + "\r\n", NAMED),
        ("p.txt", '\ufeffName a zebra.\r\n\n \nName an ant.\nSay "é", twice.', NUMBERED),
        ("p.jsonl", [{"prompt": text} for text in ASKED], NUMBERED),
        ("p.parquet", [{"prompt": text} for text in ASKED], NUMBERED),
    ],
    ids=["jsonl", "parquet", "csv", "csv of Windows", "txt", "jsonl without ids", "parquet without ids"],
)
def test_a_file_of_prompts_is_read(
    tmp_path: Path, name: str, content: str | Sequence[object], expected: tuple[Prompt, ...]
) -> None:
    assert read_prompts(write(tmp_path / name, content)) == expected


@each("ending", ["jsonl", "csv", "parquet"])
def test_columns_may_have_other_names(tmp_path: Path, ending: str) -> None:
    rows = [{"message_id": i, "instruction": text, "prompt": "no"} for i, text in enumerate(ASKED)]
    path = tmp_path / f"rifts.{ending}"
    if ending == "csv":
        write(path, 'message_id,instruction,prompt\n0,Name a zebra.,no\n1,Name an ant.,no\n2,"Say ""é"", twice.",no\n')
    else:
        write(path, rows)
    found = read_prompts(path, prompt_column="instruction", id_column="message_id")
    assert found == tuple(Prompt(str(i), "own", text) for i, text in enumerate(ASKED))


def test_the_column_id_is_the_second_choice(tmp_path: Path) -> None:
    rows = [{"id": "x", "prompt": "a"}, {"id": "y", "prompt": "b"}]
    assert [p.prompt_id for p in read_prompts(write(tmp_path / "a.jsonl", rows))] == ["x", "y"]
    both = [row | {"prompt_id": f"{row['id']}{row['id']}"} for row in rows]
    assert [p.prompt_id for p in read_prompts(write(tmp_path / "b.jsonl", both))] == ["xx", "yy"]


@each("column", ["messages", "system", "system_prompt"])
def test_instructions_in_another_column_are_not_ignored(tmp_path: Path, column: str) -> None:
    path = write(tmp_path / "p.jsonl", [{"prompt": "a"}, {"prompt": "b", column: "Answer in rhymes."}])
    (problem,) = problems_of(path)
    assert (problem.check, problem.field) == ("schema", column)
    assert "--system-prompt" in problem.hint
    (found,) = read_prompts(write(tmp_path / "named.jsonl", [{column: "c"}]), prompt_column=column)
    assert found.prompt == "c"


@each("ending", ["jsonl", "parquet"])
def test_other_wordings_are_kept(tmp_path: Path, ending: str) -> None:
    rows = [{"prompt": "a", "paraphrases": ["b", "c"]}, {"prompt": "d", "paraphrases": None}]
    found = read_prompts(write(tmp_path / f"p.{ending}", rows))
    assert [(p.prompt, p.paraphrases) for p in found] == [("a", ("b", "c")), ("d", ())]


def test_a_cell_may_have_several_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", 'id,prompt\na,"one\r\ntwo, three\n"\nb,x\n')
    assert [p.prompt for p in read_prompts(path)] == ["one\r\ntwo, three\n", "x"]


def test_all_that_is_wrong_with_a_file_is_told_at_once(tmp_path: Path) -> None:
    rows: list[object] = [
        {"prompt_id": "a", "prompt": None},
        {"prompt_id": "a", "prompt": "x"},
        {"prompt_id": "c\t", "prompt": " ", "paraphrases": ["fine", "", 3]},
        {"prompt": "y"},
        b"{",
        {"prompt_id": True, "prompt": "z"},
        {"prompt_id": "g", "prompt": ["x"], "paraphrases": "one"},
        {"prompt_id": "h", "prompt": "\ud800"},
        {"prompt_id": "fine", "prompt": "fine"},
    ]
    found = problems_of(write(tmp_path / "p.jsonl", rows))
    assert places(found) == [
        ("json", 5, ""),
        ("prompt_text", 1, "prompt"),
        ("prompt_ids", 2, "prompt_id"),
        ("prompt_ids", 3, "prompt_id"),
        ("prompt_text", 3, "prompt"),
        ("prompt_text", 3, "paraphrases[1]"),
        ("prompt_text", 3, "paraphrases[2]"),
        ("prompt_ids", 4, "prompt_id"),
        ("prompt_ids", 6, "prompt_id"),
        ("prompt_text", 7, "paraphrases"),
        ("prompt_text", 7, "prompt"),
        ("prompt_text", 8, "prompt"),
    ]
    assert found[1].message == "the prompt's text is missing"
    assert found[2].message == "'a' already appears in row 1"


CSV_FAULTS: dict[str, tuple[str | bytes, list[tuple[str, int | None, str]], str]] = {
    "ragged": ("id,prompt\na,b\nc\nd,e,f\n", [("csv", 3, ""), ("csv", 4, "")], "1 cells under 2 column names"),
    "open quote": ('id,prompt\na,"b\n', [("csv", None, "")], "not CSV, near line 2"),
    "quote inside": ('id,prompt\na,"b"c\n', [("csv", None, "")], "not CSV, near line 2"),
    "Latin-1": (b"id,prompt\na,b\xe9\n", [("encoding", 2, "")], "not UTF-8: byte 0xe9 in line 2"),
    "no such column": ("id,text\na,b\n", [("schema", None, "prompt")], "there is no such column"),
    "column twice": ("prompt,prompt\na,b\n", [("schema", None, "prompt")], "two columns have this name"),
    "heads alone": ("id,prompt\n", [("prompt_text", None, "")], "there are no prompts"),
    "empty": ("", [("file", None, "")], "the file is empty"),
    "blank": ("\n", [("schema", None, "prompt")], "there is no such column"),
    "list in a cell": (
        "prompt,paraphrases\na,\"['b']\"\n",
        [("prompt_text", 2, "paraphrases")],
        "type str, expected a li",
    ),
    "long cell": ("prompt\n" + "x" * 131_073 + "\n", [("csv", None, "")], "field larger than field limit (131072)"),
    "many columns": ("," * 1000 + "\n", [("sizes", None, "")], "1,001 columns"),
}


@each(("content", "where", "message"), CSV_FAULTS.values(), ids=CSV_FAULTS)
def test_what_is_wrong_with_a_csv_file_is_said(
    tmp_path: Path, content: str | bytes, where: list[tuple[str, int | None, str]], message: str
) -> None:
    found = problems_of(write(tmp_path / "p.csv", content))
    assert places(found) == where
    assert message in found[0].message


@each(
    ("name", "content", "check", "message"),
    [
        ("p.xlsx", "prompt\n", "file", "p.xlsx does not end in any of .csv, .tsv, .jsonl, .parquet, .txt"),
        ("p.txt", " \n\n", "prompt_text", "there are no prompts"),
        ("p.txt", b"\xff\xfeN\x00", "encoding", "not UTF-8: byte 0xff in line 1"),
        ("p.txt", "a\n" + "x" * (MAX_PROMPT_BYTES + 1), "prompt_text", "262,145 bytes"),
        ("p.jsonl", "\n", "schema", "there is no such column"),
        ("p.jsonl", '{"prompt": NaN}\n', "json", "not JSON: NaN is not a JSON value"),
        ("p.parquet", "PAR1", "parquet", "not a valid Parquet file"),
        ("p.parquet", [{"prompt": 3}], "prompt_text", "a value of type int, expected text"),
        ("p.parquet", [{"prompt": {"text": "a"}}], "schema", "type struct<text: string>"),
        ("p.parquet", [{"prompt": b"a"}], "schema", "type binary"),
        ("p.parquet", [{"prompt": [["a"]]}], "schema", "type list<element: list<element: string>>"),
    ],
)
def test_what_is_wrong_with_other_files_is_said(
    tmp_path: Path, name: str, content: str | bytes | Sequence[object], check: str, message: str
) -> None:
    found = problems_of(write(tmp_path / name, content))
    assert [p.check for p in found] == [check]
    assert message in found[0].message


def test_columns_of_other_kinds_do_no_harm(tmp_path: Path) -> None:
    rows = [{"prompt": "a", "prompt2": {"x": [1]}, "z": [[1]], "when": None, "b": b"x"}]
    assert [p.prompt for p in read_prompts(write(tmp_path / "p.parquet", rows))] == ["a"]
    table = pa.table({"prompt": pa.array(["a", "b"]).dictionary_encode(), "id": pa.array([1, 2], pa.int8())})
    pq.write_table(table, tmp_path / "p.parquet")
    assert [p.prompt_id for p in read_prompts(tmp_path / "p.parquet")] == ["1", "2"]


def test_a_file_that_is_not_there_or_a_link_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(write(tmp_path / "p.csv", AS_CSV))
    for name in ("nowhere.csv", "link.csv", "nowhere.txt"):
        [problem] = problems_of(tmp_path / name)
        assert problem.message == f"{name} is missing or is not a regular file"


def test_a_file_that_unpacks_to_gigabytes_is_rejected_before_it_does(tmp_path: Path) -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), pa.array(["x" * 2**20]))
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"prompt": texts}), path, store_schema=False)
    assert path.stat().st_size < 10**6
    peak = pa.default_memory_pool().max_memory() or 0
    assert [p.check for p in problems_of(path)] == ["sizes"]
    assert (pa.default_memory_pool().max_memory() or 0) <= max(peak, 10**8)


@each("ending", ["jsonl", "csv", "parquet", "txt"])
def test_rows_have_a_limit(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    contents: dict[str, str | Sequence[object]] = {"csv": AS_CSV, "txt": "\n\n".join(ASKED)}
    path = write(tmp_path / f"p.{ending}", contents.get(ending, ROWS))
    monkeypatch.setattr(limits, "MAX_ROWS", 2)
    found = problems_of(path)
    assert (found[0].check, found[0].message) == ("sizes", "3 rows")
    monkeypatch.setattr(limits, "MAX_ROWS", 3)
    assert read_prompts(path) == (NUMBERED if ending == "txt" else NAMED)


@each("name", ["p.jsonl", "p.csv", "p.txt"])
def test_a_line_has_a_limit(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", 50)
    content = {"p.jsonl": '{"prompt": "%s"}\n', "p.csv": "prompt\n%s\n", "p.txt": "a\n%s\n"}[name] % ("x" * 51)
    assert "sizes" in {p.check for p in problems_of(write(tmp_path / name, content))}


def test_all_prompts_together_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "p.jsonl", [{"prompt": "abc", "paraphrases": ["de"]}, {"prompt": "é"}])
    monkeypatch.setattr(prompts, "MAX_PROMPTS_BYTES", 7)
    assert len(read_prompts(path)) == 2
    monkeypatch.setattr(prompts, "MAX_PROMPTS_BYTES", 6)
    assert places(problems_of(path)) == [("sizes", None, "prompt")]


@pytest.mark.parametrize("ending", [*table_files.ENDINGS, ".txt"])
@settings(max_examples=60)
@given(content=st.binary(max_size=200) | st.text('prompt,"\n\r1{}[]:é', max_size=60).map(lambda text: text.encode()))
@example(content=b"prompt\n\x00\n")
@example(content=b'prompt\n"\r"\r"\n')
@example(content=b'{"prompt": "a", "id": 1' + b"0" * 5000 + b"}")
def test_any_bytes_are_read_or_rejected(ending: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"p{ending}"
        path.write_bytes(content)
        try:
            found = read_prompts(path)
        except Rejected as refusal:
            json.dumps(refusal.as_json())
        else:
            assert found
            assert len({p.prompt_id for p in found}) == len(found)
