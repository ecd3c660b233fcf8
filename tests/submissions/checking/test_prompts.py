"""A user's own prompts: in the rows of a submission, or in a separate file."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from datasets_build.schema import Prompt, Suite
from submissions.checking import checks, prompts
from submissions.checking.prompts import MAX_PROMPT_BYTES, own_suite, read_prompts
from submissions.checking.validate import open_submission, validate
from submissions.schema import Generation, Row
from submissions.storage.submission_folders import write_submission
from submissions.untrusted import findings, json_files, table_files
from submissions.untrusted.findings import Problem, Rejected
from tests.cases import each
from tests.conftest import toy_manifest
from tests.submissions.conftest import Json, Place, jsonl, places, rewrite

# In no order that sorting would give.
TEXTS = {"zebra": "Name a zebra.", "ant #1": "Name an ant.\nA small one.", "é/ü": "Nenne ein Tier: é.", "7": "Name 7."}


def own_rows() -> list[Row]:
    items = enumerate(TEXTS.items(), start=1)
    return [Row(i, name, text, tuple(f"answer {j} to {name}" for j in range(3))) for i, (name, text) in items]


def write_own(folder: Path, rows: Sequence[Row] | None = None) -> Path:
    """A submission to prompts of its own."""
    folder.mkdir(parents=True)
    manifest = toy_manifest().model_copy(update={"suite": "own", "generation": Generation(k=3)})
    write_submission(folder, manifest, own_rows() if rows is None else rows)
    return folder


def no_suite(name: str) -> Suite:
    raise AssertionError(f"the suite {name} is looked up")


def changed(number: int, **changes: object) -> Callable[[Json], Json]:
    name = list(TEXTS)[number - 1]
    return lambda row: row | changes if row["prompt_id"] == name else row


def test_rows_state_the_suite_whose_revision_is_that_of_the_prompts_alone(tmp_path: Path) -> None:
    def opened(name: str, rows: Sequence[Row]) -> tuple[str, Suite]:
        submission, suite, report = open_submission(write_own(tmp_path / name, rows), no_suite)
        assert report.findings.problems == []
        assert suite == own_suite(submission.rows())
        return submission.id, suite

    rows = own_rows()
    name, suite = opened("first", rows)
    assert suite == Suite("own", "own prompts", tuple(Prompt(name, "own", TEXTS[name]) for name in sorted(TEXTS)))
    assert opened("other order", rows[::-1]) == (name, suite)
    answers = [Row(row.number, row.prompt_id, row.prompt, ("x", row.prompt_id, "z")) for row in rows]
    other, same = opened("other answers", answers)
    assert (other != name, same.revision) == (True, suite.revision)
    for title, others in {
        "other text": [Row(1, "zebra", "Name a zebra!", rows[0].responses), *rows[1:]],
        "other id": [Row(1, "horse", "Name a zebra.", rows[0].responses), *rows[1:]],
        "fewer": rows[:3],
    }.items():
        assert opened(title, others)[1].revision != suite.revision


BAD: dict[str, tuple[Callable[[Json], Json | None], Place, str]] = {
    "no text": (changed(2, prompt=None), ("prompt_text", 2, "prompt"), "the prompt's text is missing"),
    "blank": (changed(1, prompt=" \n\u200b"), ("prompt_text", 1, "prompt"), "blank"),
    "long": (changed(3, prompt="é" * (MAX_PROMPT_BYTES // 2 + 1)), ("prompt_text", 3, "prompt"), "262,146 bytes"),
    "id twice": (changed(3, prompt_id="zebra"), ("prompt_ids", 3, "prompt_id"), "'zebra' already appears in row 1"),
    "space": (changed(2, prompt_id="a "), ("prompt_ids", 2, "prompt_id"), "'a ' is not a valid id: must not be blank"),
    "long id": (changed(2, prompt_id="a" * 201), ("prompt_ids", 2, "prompt_id"), "should have at most 200 characters"),
    "invisible": (changed(4, prompt_id="a\u200bb"), ("prompt_ids", 4, "prompt_id"), "a control, invisible or unass"),
    "no rows": (lambda row: None, ("prompt_ids", None, "prompt_id"), "there are no rows"),
}


@each(("change", "place", "message"), BAD.values(), ids=BAD)
def test_wrong_own_prompts_are_rejected(
    tmp_path: Path, change: Callable[[Json], Json | None], place: Place, message: str
) -> None:
    report = validate(rewrite(write_own(tmp_path / "bad"), change), no_suite)
    assert (report.submission, report.suite) == (None, None)
    assert places(report.findings.problems) == [place]
    assert message in report.findings.problems[0].message


def test_own_prompts_together_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_own(tmp_path / "own")
    size = sum(len(text.encode()) for text in TEXTS.values())
    monkeypatch.setattr(checks, "MAX_PROMPTS_BYTES", size)
    assert validate(folder, no_suite).findings.problems == []
    monkeypatch.setattr(checks, "MAX_PROMPTS_BYTES", size - 1)
    assert places(validate(folder, no_suite).findings.problems) == [("sizes", None, "prompt")]


def test_one_text_under_several_ids_is_a_warning(tmp_path: Path) -> None:
    rows = [Row(i, f"row-{i}", "Say something." if i < 4 else "Sing.", ("a", f"b{i}", "c")) for i in range(1, 5)]
    report = validate(write_own(tmp_path / "rows", rows), no_suite)
    assert report.submission is not None
    [problem] = report.findings.problems
    assert (problem.severity, problem.message) == (
        "warning",
        "3 prompts share their texts with others, under different ids",
    )


# A separate file

ASKED = ("Name a zebra.", "Name an ant.", 'Say "é", twice.')
NAMED = tuple(Prompt(f"q{i}", "own", text) for i, text in enumerate(ASKED))
NUMBERED = tuple(Prompt(f"p000{i}", "own", text) for i, text in enumerate(ASKED, start=1))
ROWS = [{"prompt_id": f"q{i}", "prompt": text, "more": i} for i, text in enumerate(ASKED)]
AS_CSV = 'prompt_id,more,prompt\nq0,0,Name a zebra.\nq1,1,Name an ant.\nq2,2,"Say ""é"", twice."\n'


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
    problems = caught.value.findings.problems
    assert {p.file for p in problems} == {path.name}
    assert all(p.message and p.hint and p.severity == "error" for p in problems)
    return problems


@each(
    ("name", "content", "expected"),
    [
        ("p.jsonl", ROWS, NAMED),
        ("p.parquet", ROWS, NAMED),
        ("p.csv", "\ufeff" + AS_CSV.replace("\n", "\r\n") + "\r\n", NAMED),
        ("p.txt", '\ufeffName a zebra.\r\n\n \nName an ant.\nSay "é", twice.', NUMBERED),
        ("p.jsonl", [{"prompt": text} for text in ASKED], NUMBERED),
        ("p.csv", 'id,prompt\na,"one\r\ntwo, three\n"\n', (Prompt("a", "own", "one\r\ntwo, three\n"),)),
        ("p.parquet", [{"prompt": "a", "paraphrases": ["b"], "z": [[1]]}], (Prompt("p0001", "own", "a", ("b",)),)),
    ],
)
def test_a_file_of_prompts_is_read(
    tmp_path: Path, name: str, content: str | Sequence[object], expected: tuple[Prompt, ...]
) -> None:
    assert read_prompts(write(tmp_path / name, content)) == expected


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", "message_id,instruction,prompt\n0,Name a zebra.,no\n")
    assert read_prompts(path, prompt_column="instruction", id_column="message_id") == (
        Prompt("0", "own", "Name a zebra."),
    )


def test_everything_that_is_wrong_with_a_file_is_said_at_once(tmp_path: Path) -> None:
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
    problems = problems_of(write(tmp_path / "p.jsonl", rows))
    assert places(problems) == [
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


@each(
    ("name", "content", "place", "message"),
    [
        ("p.csv", "id,prompt\na,b\nc\n", ("csv", 3, ""), "1 cells under 2 column names"),
        ("p.csv", 'id,prompt\na,"b\n', ("csv", None, ""), "not CSV, near line 2"),
        ("p.csv", b"id,prompt\na,b\xe9\n", ("encoding", 2, ""), "not UTF-8: byte 0xe9 in line 2"),
        ("p.csv", "id,text\na,b\n", ("schema", None, "prompt"), "there is no such column"),
        ("p.csv", "prompt,prompt\na,b\n", ("schema", None, "prompt"), "two columns have this name"),
        ("p.csv", "id,prompt\n", ("prompt_text", None, ""), "there are no prompts"),
        ("p.csv", "", ("file", None, ""), "the file is empty"),
        ("p.csv", "prompt,paraphrases\na,\"['b']\"\n", ("prompt_text", 2, "paraphrases"), "type str, expected a li"),
        ("p.csv", "prompt\n" + "x" * (MAX_PROMPT_BYTES + 1) + "\n", ("prompt_text", 2, "prompt"), "262,145 bytes"),
        ("p.csv", "," * 1000 + "\n", ("sizes", None, ""), "1,001 columns"),
        ("p.xlsx", "prompt\n", ("file", None, ""), "does not end in any of .csv, .tsv, .jsonl, .parquet, .txt"),
        ("p.txt", "a\n" + "x" * (MAX_PROMPT_BYTES + 1), ("prompt_text", 2, ""), "262,145 bytes"),
        ("p.jsonl", '{"prompt": NaN}\n', ("prompt_text", 1, "prompt"), "a value of type float"),
        ("p.jsonl", [{"prompt": "b", "system": "Rhyme."}], ("schema", None, "system"), "cannot have its own instru"),
        ("p.parquet", "PAR1", ("parquet", None, ""), "not a valid Parquet file"),
        ("p.parquet", [{"prompt": 3}], ("prompt_text", 1, "prompt"), "a value of type int, expected text"),
        ("p.parquet", [{"prompt": {"text": "a"}}], ("schema", None, "prompt"), "type struct<text: string>"),
        ("p.parquet", [{"prompt": b"a"}], ("schema", None, "prompt"), "type binary"),
    ],
)
def test_a_wrong_file_of_prompts_is_rejected(
    tmp_path: Path, name: str, content: str | bytes | Sequence[object], place: Place, message: str
) -> None:
    problems = problems_of(write(tmp_path / name, content))
    assert places(problems) == [place]
    assert message in problems[0].message


def test_a_missing_file_and_a_link_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(write(tmp_path / "p.csv", AS_CSV))
    for name in ("nowhere.csv", "link.csv", "nowhere.txt"):
        [problem] = problems_of(tmp_path / name)
        assert problem.message == f"{name} is missing or is not a regular file"


@each("ending", ["jsonl", "csv", "parquet", "txt"])
def test_rows_and_lines_have_limits(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    contents: dict[str, str | Sequence[object]] = {"csv": AS_CSV, "txt": "\n\n".join(ASKED)}
    path = write(tmp_path / f"p.{ending}", contents.get(ending, ROWS))
    monkeypatch.setattr(findings, "MAX_ROWS", 2)
    problem = problems_of(path)[0]
    assert (problem.check, problem.message) == ("sizes", "3 rows")
    monkeypatch.setattr(findings, "MAX_ROWS", 3)
    assert len(read_prompts(path)) == 3
    if ending != "parquet":
        monkeypatch.setattr(json_files, "MAX_LINE_BYTES", 10)
        assert "sizes" in {p.check for p in problems_of(path)}


def test_prompts_of_a_file_together_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_any_bytes_are_read_or_rejected(ending: str, content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / f"any{ending}"
    path.write_bytes(content)
    try:
        read = read_prompts(path)
    except Rejected as refusal:
        json.dumps(refusal.as_json())
    else:
        assert read
        assert len({prompt.prompt_id for prompt in read}) == len(read)
