"""Rows of responses in JSON Lines, CSV and Parquet are imported, or rejected by the row and field of the file."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from divbench.core.errors import ConfigurationError
from divbench.core.files import sha256_of
from submissions.checking.validate import Report
from submissions.choices import Format
from submissions.importing.imported import ImportOptions
from submissions.importing.importers import detect_format, import_submission
from tests.cases import each
from tests.conftest import TOY, toy_rows
from tests.submissions.conftest import (
    KNOWN,
    Json,
    Place,
    a_prompt_a_row,
    a_response_a_row,
    as_noveltybench,
    find_toy,
    imported,
    jsonl,
    places,
    rejected,
    with_line,
    with_row,
)

EXPECTED = [(row.prompt_id, row.responses) for row in toy_rows()]


def rows_of(report: Report) -> list[tuple[str, tuple[str, ...]]]:
    assert report.submission is not None
    return [(row.prompt_id, row.responses) for row in report.submission.rows()]


def renamed(rows: list[Json], **names: str | None) -> list[Json]:
    """Rows with other names of fields; None takes a field out."""
    return [{str(names.get(key, key)): value for key, value in row.items() if names.get(key, key)} for row in rows]


def table(path: Path, rows: list[Json]) -> Path:
    """Rows in the format of the file's extension."""
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        jsonl(path, rows)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return path


# What is imported


@each("rows", [a_prompt_a_row(), a_response_a_row()], ids=["lists", "responses"])
@each("ending", ["jsonl", "parquet"])
def test_rows_are_in_the_order_of_the_suite_and_of_the_samples(tmp_path: Path, rows: list[Json], ending: str) -> None:
    path = table(tmp_path / f"in.{ending}", [row | {"mood": "good"} for row in rows[::-1]])
    assert detect_format(path) == ending
    report, unused = imported(path, detect_format(path))
    assert rows_of(report) == EXPECTED
    assert report.submission is not None
    assert [row.prompt for row in report.submission.rows()] == [prompt.prompt for prompt in TOY.prompts]
    assert report.findings.problems == []
    assert unused == {"mood"}


@each(("delimiter", "name"), [(",", "in.csv"), (";", "in.csv"), ("\t", "in.tsv")])
def test_csv_has_typed_numbers_and_may_have_empty_cells(tmp_path: Path, delimiter: str, name: str) -> None:
    path = tmp_path / name
    fields = ["prompt", "sample_idx", "completion", "temperature", "finish_reason"]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields, delimiter=delimiter)
        writer.writer.writerow([f" {field.title()}" for field in fields])  # as a spreadsheet may have them
        for row in renamed(a_response_a_row(), prompt_id=None, response="completion")[::-1]:
            writer.writerow(row | {"temperature": "0.5"})
    assert detect_format(path) == "csv"
    report, _ = imported(path, "csv")
    assert rows_of(report) == EXPECTED
    assert report.submission is not None
    assert report.submission.manifest.generation.temperature == 0.5
    assert next(report.submission.rows()).finish_reasons is None


@each("name", ["generations", "outputs", "completions", "text", "output"])
def test_other_names_of_lists_of_responses_are_detected(tmp_path: Path, name: str) -> None:
    assert rows_of(imported(jsonl(tmp_path / "in.jsonl", renamed(a_prompt_a_row(), responses=name)))[0]) == EXPECTED


@each("name", ["output", "completion", "generation", "text", "answer", "responses", "generations"])
def test_other_names_of_single_responses_are_detected(tmp_path: Path, name: str) -> None:
    rows = [{key: value for key, value in row.items() if key != "sample_idx"} for row in a_response_a_row()]
    interleaved = sorted(renamed(rows, response=name), key=lambda row: str(row[name]))  # order of the file
    assert rows_of(imported(jsonl(tmp_path / "in.jsonl", interleaved))[0]) == EXPECTED


def test_a_named_field_is_read_even_beside_a_usual_one(tmp_path: Path) -> None:
    rows = [row | {"response": "a note", "generations": ["b"]} for row in a_prompt_a_row()]
    path = jsonl(tmp_path / "in.jsonl", rows)
    assert rows_of(imported(path)[0]) == EXPECTED
    report, unused = import_submission(path, "jsonl", tmp_path / "b", KNOWN, find_toy, ImportOptions(field="response"))
    assert {texts for _, texts in rows_of(report)} == {("a note",)}
    assert unused == {"responses", "generations"}


def test_a_byte_order_mark_and_blank_lines_are_ignored(tmp_path: Path) -> None:
    first, *rest = renamed(a_prompt_a_row(), prompt_id="id")
    path = jsonl(tmp_path / "in.jsonl", [first, b"", b"  ", *rest])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert rows_of(imported(path)[0]) == EXPECTED


def test_prompts_are_identified_by_their_texts_if_ids_are_missing_or_are_numbers_of_rows(tmp_path: Path) -> None:
    rows = renamed(a_prompt_a_row(), prompt_id=None)
    rows[1]["prompt"] += " \n"
    report, _ = imported(jsonl(tmp_path / "in.jsonl", rows[::-1]))
    assert rows_of(report) == EXPECTED
    (warning,) = report.findings.problems
    assert (warning.severity, warning.message) == (
        "warning",
        "white space at the ends differs from the suite's in 1 prompt",
    )
    own = jsonl(tmp_path / "own" / "in.jsonl", [*rows, rows[1] | {"prompt": "Say thing 1."}][:4])
    assert [name for name, _ in rows_of(imported(own, suite="own")[0])] == ["p0001", "p0002", "p0003", "p0004"]
    numbered = [row | {"id": i} for i, row in enumerate(rows, start=7)]
    assert rows_of(imported(jsonl(tmp_path / "numbered" / "in.jsonl", numbered))[0]) == EXPECTED


def test_finish_reasons_are_kept_with_their_responses(tmp_path: Path) -> None:
    rows = a_response_a_row()
    rows[1]["finish_reason"] = "length"
    report, _ = imported(jsonl(tmp_path / "a" / "in.jsonl", rows[::-1]))
    assert report.submission is not None
    assert [row.finish_reasons for row in report.submission.rows()] == [(None, "length", None), None, None, None]
    assert report.counts.cut_off == 1
    lists = [row | {"finish_reason": ["stop", None, "length"]} for row in a_prompt_a_row()]
    report, unused = imported(jsonl(tmp_path / "b" / "in.jsonl", lists))
    assert report.submission is not None
    assert {row.finish_reasons for row in report.submission.rows()} == {("stop", None, "length")}
    assert not unused


def test_what_the_file_states_of_the_system_is_in_the_manifest_unless_stated_otherwise(tmp_path: Path) -> None:
    facts = {"model": "org/model", "temperature": 1, "top_p": 0.9, "max_new_tokens": 100, "system_prompt": "Be brief."}
    path = jsonl(tmp_path / "in.jsonl", [row | facts | {"seed": i} for i, row in enumerate(a_prompt_a_row())])
    report, unused = imported(path, system={"type": "model", "model_id": "given"})
    assert report.manifest is not None
    assert report.manifest.system.model_id == "given"
    assert report.manifest.generation.model_dump(exclude_defaults=True) == {
        "k": 3,
        "temperature": 1.0,
        "top_p": 0.9,
        "max_tokens": 100,
        "system_prompt": "Be brief.",
    }
    assert report.findings.problems == []  # a seed for each row is usual
    assert unused == {"seed"}
    assert report.manifest.origin is not None
    assert (report.manifest.origin.format, report.manifest.origin.sha256) == ("jsonl", sha256_of(path))


@each("field", ["temperature", "system_prompt"])
def test_a_setting_that_varies_over_rows_is_not_recorded(tmp_path: Path, field: str) -> None:
    values: list[Json] = [{}, *({field: value} for value in (["a", "a", "a"] if field != "temperature" else [0, 1, 0]))]
    rows = [row | value for row, value in zip(a_prompt_a_row(), values, strict=True)]
    report, unused = imported(jsonl(tmp_path / "in.jsonl", rows))
    assert report.manifest is not None
    assert getattr(report.manifest.generation, field) is None
    assert unused == {field}
    (problem,) = report.findings.problems  # the responses of a sweep would be mixed in one set
    assert (problem.severity, problem.field) == ("warning", field)
    assert "no setting is recorded" in problem.message


def test_k_keeps_the_first_responses_of_each_prompt(tmp_path: Path) -> None:
    rows = [
        {"prompt": "p", "responses": ["a", "b", "c"], "finish_reasons": ["stop", "eos", "stop"]},
        {"prompt": "q", "responses": ["d", "e"]},
    ]
    (problem,) = rejected(jsonl(tmp_path / "all" / "in.jsonl", rows), suite="own")
    assert (problem.row, problem.message) == (2, "2 responses, but k is 3")
    assert problem.hint == "give k responses to every prompt, or keep only the first 2 of each: divbench import --k 2"
    report, _ = imported(jsonl(tmp_path / "two" / "in.jsonl", rows), suite="own", generation={"k": 2})
    assert rows_of(report) == [("p0001", ("a", "b")), ("p0002", ("d", "e"))]
    assert report.submission is not None
    assert [row.finish_reasons for row in report.submission.rows()] == [("stop", "eos"), None]
    assert "only the first 2 responses were kept in 1 prompt" in [p.message for p in report.findings.problems]


def test_the_given_suite_is_the_one_that_is_checked(tmp_path: Path) -> None:
    other = replace(TOY, prompts=TOY.prompts[:3])
    path = jsonl(tmp_path / "in.jsonl", a_prompt_a_row()[:3])
    (tmp_path / "out").mkdir()  # an empty folder is filled
    report, _ = import_submission(path, "jsonl", tmp_path / "out", KNOWN, lambda name: other)
    assert rows_of(report) == EXPECTED[:3]


def test_formats_are_detected_by_the_first_row(tmp_path: Path) -> None:
    assert detect_format(jsonl(tmp_path / "a.jsonl", as_noveltybench())) == "noveltybench"
    assert detect_format(jsonl(tmp_path / "c.jsonl", [{"doc": {}, "resps": [["a"]]}])) == "lm-eval"
    assert detect_format(jsonl(tmp_path / "d.jsonl", [{"custom_id": "a", "response": {}}])) == "openai-batch"
    assert detect_format(jsonl(tmp_path / "e.json", [b"{", b'  "version": 2,', b'  "status": "success"'])) == "inspect"
    assert detect_format(jsonl(tmp_path / "f.json", a_prompt_a_row())) == "json"
    assert detect_format(jsonl(tmp_path / "g.jsonl", [b"{"])) == "json"


# What is rejected

LONE = "half \ud800 a letter"


def raw(text: str) -> bytes:
    """The second good row with its responses written by hand."""
    return f'{{"prompt_id": "toy-1", "responses": {text}}}'.encode()


def with_sample(number: int, **changes: Any) -> list[object]:
    """The good rows of single responses with one changed."""
    return [row | changes if i == number else row for i, row in enumerate(a_response_a_row(), start=1)]


BAD: dict[str, tuple[list[object], list[Place], str]] = {
    "null response": (
        with_row(2, responses=["a", None, "c"]),
        [("json", 2, "responses[1]")],
        "null, expected a string",
    ),
    "no responses": (with_row(2, responses=...), [("json", 2, "responses")], "the field is missing"),
    "no id": (
        with_row(2, prompt_id=..., prompt=...),
        [("json", 2, "prompt_id")],
        "the field is missing",
    ),
    "numbers": (
        with_row(2, responses=["a", 5, True]),
        [("json", 2, "responses[1]"), ("json", 2, "responses[2]")],
        "a whole number, expected a string",
    ),
    "surrogate": (with_row(2, responses=["a", LONE, "c"]), [("json", 2, "responses[1]")], "has an unpaired surrogate"),
    "ten thousand values": (
        with_row(2, responses=["a"] * 10_001),
        [("json", 2, "responses")],
        "10,001 values",
    ),
    "not UTF-8": (
        with_line(2, raw('["café", "b", "c"]').decode().encode("latin-1")),
        [("encoding", 2, "")],
        "not UTF-8: byte 0xe9 at offset 41",
    ),
    "half a line": (with_line(2, raw('["a", "b')[:-1]), [("json", 2, "")], "not JSON: "),
    "no object": (with_line(2, b'["toy-1"]'), [("json", 2, "")], "a JSON list, expected an object"),
    "huge integer": (with_line(2, raw("9" * 5000)), [("json", 2, "")], "not JSON: Exceeds the limit"),
    "sample twice": (
        with_sample(5, sample_idx=0),
        [("json", 4, "sample_idx"), ("json", 5, "sample_idx")],
        "toy-1 has sample_idx 0 2 times",
    ),
    "sample of 400 digits": (
        with_sample(5, sample_idx=10**400),
        [("json", 5, "sample_idx")],
        "a whole number, expected a whole number of at most 31 bits",
    ),
    "two texts for one id": (
        with_sample(5, prompt="Other."),
        [("json", 5, "prompt")],
        "differs from toy-1's text in row 4",
    ),
    "one sample too few": ([*a_response_a_row()[:-1]], [("k", 10, "response")], "2 responses, but k is 3"),
    "two models": (
        [row | {"model": f"m-{i // 6}"} for i, row in enumerate(a_response_a_row())],
        [("manifest", 7, "model")],
        "'m-1' here, but 'm-0' in row 1",
    ),
    "wrong temperature": (
        [row | {"temperature": "hot"} for row in a_prompt_a_row()],
        [("manifest", 1, "temperature")],
        "Input should be a valid number",
    ),
    "no usual name": (
        [*renamed(a_prompt_a_row(), responses="said")],
        [("json", None, "responses")],
        "which field holds the responses? 4 rows have 'said'",
    ),
    "two usual names": (
        [row | {"outputs": ["a"], "text": "b"} for row in renamed(a_prompt_a_row(), responses=None)],
        [("json", None, "responses")],
        "which field holds the responses? 4 rows have 'outputs', 4 rows have 'text'",
    ),
    "no prompt": (
        [*renamed(a_prompt_a_row(), prompt=None, prompt_id="n")],
        [("json", None, "prompt_id")],
        "rows have neither an id nor the text of their prompt; they have 'n', 'responses'",
    ),
    "another suite": (
        [{"prompt": f"Something else {i}", "responses": ["a"]} for i in range(100)],
        [("prompt_text", None, "prompt")],
        "100 rows have prompts not in toy: 1, 2, 3, 4, 5, …",
    ),
    "other ids": (
        [*renamed([row | {"id": i} for i, row in enumerate(a_prompt_a_row())], prompt=None, prompt_id=None)],
        [("prompt_ids", None, "id")],
        "no row has a prompt id of toy; the first is '0'",
    ),
    "array": ([b"[", b"{}", b"]"], [("json", 1, "")], "a JSON array, which JSON Lines is not"),
    "object over lines": ([b"{", b'"a": 1', b"}"], [("json", 1, "")], "a JSON object over several lines, which JSON"),
    "no rows": ([b""], [("json", None, "")], "no rows"),
}


@each(("rows", "expected", "message"), BAD.values(), ids=BAD)
def test_bad_rows_are_rejected_and_nothing_is_written(
    tmp_path: Path, rows: list[object], expected: list[Place], message: str
) -> None:
    problems = rejected(jsonl(tmp_path / "in.jsonl", rows))
    assert places(problems) == expected
    assert message in problems[0].message
    assert {p.file for p in problems} == {"in.jsonl"}
    assert len(problems[0].message) < 600


def test_problems_have_the_rows_and_fields_of_the_imported_file(tmp_path: Path) -> None:
    # In the suite's order these rows are others; and a response has a row of its own.
    rows = a_response_a_row()[::-1]
    rows[1]["response"] = "  "
    rows[4]["prompt"] = rows[3]["prompt"] = rows[5]["prompt"] = "Say thing 2!"
    rows[11]["response"], rows[10]["response"], rows[9]["response"] = (rows[i]["response"] for i in (8, 7, 6))
    problems = rejected(jsonl(tmp_path / "in.jsonl", rows))
    assert places(problems) == [
        ("duplicates", 9, "response"),
        ("prompt_text", 6, "prompt"),
        ("blanks", 2, "response"),
    ]
    assert problems[0].message == "the same responses as in row 12"


@each("kind", ["jsonl", "csv", "parquet"])
def test_a_question_with_two_contexts_is_two_prompts(tmp_path: Path, kind: Format) -> None:
    rows = [
        {"question": "Who?", "context": context, "response": text}
        for context, text in (("Of Rome.", "Nero"), ("Of Rome.", "Titus"), ("Of Greece.", "Solon"), ("Of Greece.", "X"))
    ]
    first, second = rejected(table(tmp_path / f"in.{kind}", rows), kind, suite="own")
    assert (first.row, first.field) == (4 if kind == "csv" else 3, "context")
    assert "which has the same 'question', so they have different prompts" in first.message
    assert second.row == (5 if kind == "csv" else 4)
    one = imported(table(tmp_path / "one" / f"in.{kind}", rows[:2]), kind, suite="own")[0]
    assert rows_of(one) == [("p0001", ("Nero", "Titus"))]


@each("name", ["responses", "outputs", "text"])
def test_a_list_that_pandas_wrote_as_a_text_is_not_one_response(tmp_path: Path, name: str) -> None:
    rows = [{"prompt": row.prompt, name: str([*row.responses])} for row in toy_rows()]
    (problem,) = rejected(table(tmp_path / "in.csv", rows), "csv")
    assert (problem.row, problem.field) == (None, name)
    assert problem.message.startswith("each row has a list that was written as a text, such as \"['")


def test_cells_that_are_not_numbers_are_rejected(tmp_path: Path) -> None:
    rows = [{"prompt": "p", "response": "a", "sample_idx": "x", "temperature": "1" * 41}]
    assert places(rejected(table(tmp_path / "in.csv", rows), "csv", suite="own"))[:2] == [
        ("csv", 2, "sample_idx"),
        ("csv", 2, "temperature"),
    ]


# Mistakes of the call


@each(
    ("name", "options", "known", "message"),
    [
        ("none.jsonl", {}, {}, r"there is no file .*none.jsonl \(did you mean .*one.jsonl"),
        ("folder", {}, {}, "folder is a folder"),
        ("one.jsonl", {}, {"name": "a\u202eb"}, r"manifest would be invalid: name: .*invisible.*\(fix the options"),
        ("one.jsonl", {}, {"suite": "no-such-suite"}, "there is no suite 'no-such-suite'"),
        ("one.jsonl", {}, {"reported": "deberta"}, "has no reported partition that 'deberta' could have made"),
    ],
)
def test_mistakes_of_the_call_are_errors(tmp_path: Path, name: str, options: Json, known: Json, message: str) -> None:
    (tmp_path / "folder").mkdir()
    jsonl(tmp_path / "one.jsonl", a_prompt_a_row())
    with pytest.raises(ConfigurationError, match=message):
        import_submission(tmp_path / name, "jsonl", tmp_path / "out", KNOWN | known, find_toy, ImportOptions(**options))
    assert not (tmp_path / "out").exists()


def test_a_field_cannot_be_named_in_a_format_that_fixes_it(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "in.jsonl", as_noveltybench())
    with pytest.raises(ConfigurationError, match="choose with --from one of jsonl"):
        import_submission(path, "noveltybench", tmp_path / "out", KNOWN, find_toy, ImportOptions(field="notes"))


def test_a_folder_in_use_is_left_unchanged(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "in.jsonl", a_prompt_a_row())
    imported(path)
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    with pytest.raises(ConfigurationError, match=r"out already exists \(choose another folder with --out"):
        imported(path)
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before
