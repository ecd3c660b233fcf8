"""Files as people have them: other names of fields, no ids, tables; and one message where a whole file is wrong."""

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from divbench.core.errors import ConfigurationError
from submissions.checking.validate import Report
from submissions.importing.importers import Format, ImportOptions, detect_format, import_submission
from submissions.untrusted.findings import Rejected
from tests.cases import each
from tests.conftest import toy_rows
from tests.submissions.conftest import (
    KNOWN,
    Json,
    a_prompt_a_row,
    a_response_a_row,
    as_noveltybench,
    find_toy,
    imported,
    jsonl,
    rejected,
)

EXPECTED = [(row.prompt_id, row.responses) for row in toy_rows()]


def rows_of(report: Report) -> list[tuple[str, tuple[str, ...]]]:
    assert report.submission is not None
    return [(row.prompt_id, row.responses) for row in report.submission.rows()]


def renamed(rows: list[Json], **names: str | None) -> list[Json]:
    """Rows with other names of fields; None takes a field out."""
    return [{str(names.get(key, key)): value for key, value in row.items() if names.get(key, key)} for row in rows]


def test_other_names_of_the_responses_are_found(tmp_path: Path) -> None:
    for name in ("outputs", "completions", "samples", "texts", "text", "output"):
        path = jsonl(tmp_path / name / "in.jsonl", renamed(a_prompt_a_row(), responses=name))
        assert rows_of(imported(path)[0]) == EXPECTED, name
    for name in ("output", "completion", "generation", "text", "answer", "responses", "generations", "outputs"):
        path = jsonl(tmp_path / f"one-{name}" / "in.jsonl", renamed(a_response_a_row(), response=name))
        assert rows_of(imported(path)[0]) == EXPECTED, name
    own = jsonl(tmp_path / "own" / "in.jsonl", renamed(a_prompt_a_row(), responses="what_it_said"))
    report, _ = import_submission(own, "jsonl", tmp_path / "out", KNOWN, find_toy, ImportOptions(field="what_it_said"))
    assert rows_of(report) == EXPECTED


def test_where_it_is_not_clear_one_line_says_how_to_name_the_field(tmp_path: Path) -> None:
    both = [row | {"text": "a note"} for row in renamed(a_prompt_a_row(), responses="outputs")]
    (problem,) = rejected(jsonl(tmp_path / "both" / "in.jsonl", both))
    assert problem.message == "which field holds the responses? 4 rows have 'outputs', 4 rows have 'text'"
    assert problem.hint == "name it: --field outputs or --field text"
    none = renamed(a_prompt_a_row(), responses="said")
    (problem,) = rejected(jsonl(tmp_path / "none" / "in.jsonl", none))
    assert (problem.row, problem.message) == (None, "which field holds the responses? 4 rows have 'said'")
    (problem,) = rejected(
        jsonl(tmp_path / "neither" / "in.jsonl", renamed(a_prompt_a_row(), prompt=None, prompt_id="n"))
    )
    assert (problem.row, problem.field) == (None, "prompt_id")
    assert "rows have neither an id nor the text of their prompt; they have 'n', 'responses'" in problem.message


def test_a_reference_answer_is_not_taken_for_the_responses(tmp_path: Path) -> None:
    rows = [{"question": f"Q{i}?", "answer": "gold", "prediction": f"x{i}"} for i in range(2)]
    for kind in ("jsonl", "csv", "parquet"):
        (problem,) = rejected(table(tmp_path / kind / f"in.{kind}", rows), kind, suite="own")
        assert problem.message == "which field holds the responses? 2 rows have 'answer', 2 rows have 'prediction'"
        assert problem.hint == "name it: --field answer or --field prediction"
    path, options = table(tmp_path / "named" / "in.jsonl", rows), ImportOptions(field="prediction")
    report, _ = import_submission(path, "jsonl", tmp_path / "out", KNOWN | {"suite": "own"}, find_toy, options)
    assert [texts for _, texts in rows_of(report)] == [("x0",), ("x1",)]


def test_rows_of_several_models_are_refused_whatever_the_field_is_called(tmp_path: Path) -> None:
    for name in ("model", "model_id", "model_name"):
        rows = [{"prompt": "p", "response": "a", name: model} for model in ("x", "y")]
        (problem,) = rejected(jsonl(tmp_path / name / "in.jsonl", rows), suite="own")
        assert (problem.row, problem.field, problem.message) == (2, name, "'y' here, but 'x' in row 1")
        (report, _) = imported(jsonl(tmp_path / f"one-{name}" / "in.jsonl", rows[:1]), suite="own")
        assert report.submission is not None
        assert report.submission.manifest.system.model_id == "x"


def test_white_space_at_the_ends_of_own_prompts_makes_no_other_prompt(tmp_path: Path) -> None:
    rows = [{"prompt": text, "response": "a"} for text in ("Name a pet.", "Name a pet.\n")]
    assert rows_of(imported(jsonl(tmp_path / "in.jsonl", rows), suite="own")[0]) == [("p0001", ("a", "a"))]


def test_a_prompt_of_a_wrong_type_is_one_problem(tmp_path: Path) -> None:
    rows = [{"prompt": [{"role": "user", "content": "Hi"}], "response": "a"}]
    (problem,) = rejected(jsonl(tmp_path / "in.jsonl", rows), suite="own")
    assert problem.message == "a list, expected a string"


def test_finish_reasons_may_be_named_in_the_singular(tmp_path: Path) -> None:
    rows = [{"prompt": "p", "responses": ["a", "b"], "finish_reason": ["stop", "length"]}]
    report, unused = imported(jsonl(tmp_path / "in.jsonl", rows), suite="own")
    assert report.submission is not None
    assert [row.finish_reasons for row in report.submission.rows()] == [("stop", "length")]
    assert not unused


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
    (problem,) = rejected(jsonl(tmp_path / "few" / "in.jsonl", rows[:1]), suite="own", generation={"k": 4})
    assert problem.message == "3 responses, but k is 4"


def test_a_json_array_is_one_problem(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('[\n  {\n    "prompt": "p",\n    "response": "a"\n  }\n]\n')
    (problem,) = rejected(path, suite="own")
    assert (problem.row, problem.message) == (1, "a JSON array, which JSON Lines is not")
    path.write_text('{\n  "p": [\n    "a",\n    "b"\n  ]\n}\n')
    (problem,) = rejected(path, suite="own")
    assert (problem.row, problem.message) == (1, "a JSON object over several lines, which JSON Lines is not")


def test_a_column_per_response_is_not_named_as_the_field(tmp_path: Path) -> None:
    """Reading one of them would drop the others."""
    row: Json = {"prompt": "p", "response_1": "a", "response_2": "b"}
    kinds: tuple[Format, ...] = ("jsonl", "csv")
    for kind in kinds:
        (problem,) = rejected(table(tmp_path / f"in.{kind}", [row]), kind, suite="own")
        assert problem.hint.startswith("write one row per response instead of one column")


def table(path: Path, rows: list[Json]) -> Path:
    """Rows as the file's ending says."""
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        jsonl(path, rows)
    else:
        with path.open("w", newline="") as file:
            made = csv.DictWriter(file, list(rows[0]))
            made.writeheader()
            made.writerows(rows)
    return path


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
    with_ids = [{"id": row["context"]} | row for row in rows]
    found = rows_of(imported(table(tmp_path / "ids" / f"in.{kind}", with_ids), kind, suite="own")[0])
    assert [len(texts) for _, texts in found] == [2, 2]
    assert rows_of(imported(table(tmp_path / "one" / f"in.{kind}", rows[:2]), kind, suite="own")[0]) == [
        ("p0001", ("Nero", "Titus"))
    ]


def test_prompts_are_known_by_their_texts_where_there_are_no_ids(tmp_path: Path) -> None:
    rows = renamed(a_prompt_a_row(), prompt_id=None)
    rows[1]["prompt"] += " \n"
    report, _ = imported(jsonl(tmp_path / "in.jsonl", rows[::-1]))
    assert rows_of(report) == EXPECTED
    (warning,) = report.findings.problems
    assert (warning.severity, warning.message[-9:]) == ("warning", " 1 prompt")
    own = jsonl(tmp_path / "own" / "in.jsonl", rows)
    assert [name for name, _ in rows_of(imported(own, suite="own")[0])] == ["p0001", "p0002", "p0003", "p0004"]


def test_rows_with_numbers_of_their_own_are_known_by_their_texts(tmp_path: Path) -> None:
    for name in ("id", "prompt_id"):
        rows = [row | {name: i} for i, row in enumerate(renamed(a_prompt_a_row(), prompt_id=None), start=7)]
        assert rows_of(imported(jsonl(tmp_path / name / "in.jsonl", rows))[0]) == EXPECTED
        (problem,) = rejected(jsonl(tmp_path / f"{name}-only" / "in.jsonl", renamed(rows, prompt=None)))
        assert (problem.field, problem.message) == (name, "no row has a prompt id of toy; the first is '7'")


@pytest.mark.parametrize("name", ["responses", "outputs", "text"])
def test_a_list_that_pandas_wrote_as_a_text_is_not_one_response(tmp_path: Path, name: str) -> None:
    rows = [{"prompt": row.prompt, name: str([*row.responses])} for row in toy_rows()]
    (problem,) = rejected(table(tmp_path / "in.csv", rows), "csv")
    assert (problem.row, problem.field) == (None, name)
    assert problem.message.startswith("each row has a list that was written as a text, such as \"['")
    assert problem.hint == "write one row per response, or JSON Lines"


def test_a_file_of_another_suite_is_one_problem(tmp_path: Path) -> None:
    rows = [{"prompt": f"Something else {i}", "responses": ["a", "b", "c"]} for i in range(100)]
    problems = rejected(jsonl(tmp_path / "in.jsonl", rows))
    assert [p.message for p in problems if "not in" in p.message] == [
        "100 rows have prompts not in toy: 1, 2, 3, 4, 5, …"
    ]
    assert "--suite" in problems[0].hint
    assert len(problems) == 1


@each("rows", [a_prompt_a_row(), a_response_a_row()], ids=["lists", "responses"])
def test_parquet_is_read(tmp_path: Path, rows: list[Json]) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.Table.from_pylist([row | {"mood": "good"} for row in rows]), path)
    assert detect_format(path) == "parquet"
    report, unused = imported(path, "parquet")
    assert rows_of(report) == EXPECTED
    assert unused == {"mood"}


@each(("delimiter", "name"), [(",", "in.csv"), (";", "in.csv"), ("\t", "in.tsv")])
def test_csv_has_typed_numbers_and_may_have_empty_cells(tmp_path: Path, delimiter: str, name: str) -> None:
    path = tmp_path / name
    fields = ["prompt", "sample_idx", "completion", "temperature", "finish_reason"]
    with path.open("w", newline="") as file:
        made = csv.DictWriter(file, fields, delimiter=delimiter)
        made.writer.writerow([f" {field.title()}" for field in fields])  # as a spreadsheet may have them
        for row in renamed(a_response_a_row(), prompt_id=None, response="completion")[::-1]:
            made.writerow(row | {"temperature": "0.5"})
    assert detect_format(path) == "csv"
    report, _ = imported(path, "csv")
    assert rows_of(report) == EXPECTED
    assert report.submission is not None
    assert report.submission.manifest.generation.temperature == 0.5
    assert next(report.submission.rows()).finish_reasons is None


def test_formats_are_detected_by_their_first_row(tmp_path: Path) -> None:
    assert detect_format(jsonl(tmp_path / "a.jsonl", as_noveltybench())) == "noveltybench"
    assert detect_format(jsonl(tmp_path / "b.jsonl", a_prompt_a_row())) == "jsonl"
    assert detect_format(jsonl(tmp_path / "c.jsonl", [{"doc": {}, "resps": [["a"]]}])) == "lm-eval"
    assert detect_format(jsonl(tmp_path / "d.jsonl", [b"{"])) == "jsonl"
    assert detect_format(jsonl(tmp_path / "e.json", [b"{", b'  "version": 2,', b'  "status": "success"'])) == "inspect"
    assert detect_format(jsonl(tmp_path / "f.json", a_prompt_a_row())) == "jsonl"


def test_a_file_that_is_not_there_is_looked_for_beside(tmp_path: Path) -> None:
    jsonl(tmp_path / "samples.jsonl", a_prompt_a_row())
    with pytest.raises(ConfigurationError) as caught:
        imported(tmp_path / "sample.jsonl")
    assert "did you mean" in str(caught.value.hint)
    assert "samples.jsonl" in str(caught.value.hint)


def test_a_file_without_rows_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("prompt,response\n")
    with pytest.raises(Rejected):
        imported(path, "csv")


def test_the_named_field_is_read_beside_another_of_ours(tmp_path: Path) -> None:
    rows = [row | {"response": "a note", "generations": ["b"]} for row in a_prompt_a_row()]
    path = jsonl(tmp_path / "in.jsonl", rows)
    assert rows_of(imported(path)[0]) == EXPECTED
    noted = import_submission(path, "jsonl", tmp_path / "b", KNOWN, find_toy, ImportOptions(field="response"))
    assert {texts for _, texts in rows_of(noted[0])} == {("a note",)}
    assert noted[1] == {"responses", "generations"}
    blank = jsonl(tmp_path / "c" / "in.jsonl", [row | {"response": None} for row in a_prompt_a_row()])
    assert rows_of(imported(blank)[0]) == EXPECTED


def test_a_field_cannot_be_named_in_a_format_that_fixes_it(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "in.jsonl", as_noveltybench())
    with pytest.raises(ConfigurationError, match="--from jsonl"):
        import_submission(path, "noveltybench", tmp_path / "out", KNOWN, find_toy, ImportOptions(field="notes"))


def test_the_format_that_is_named_is_read_and_recorded(tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    with path.open("w", newline="") as file:
        made = csv.DictWriter(file, list(a_response_a_row()[0]))
        made.writeheader()
        made.writerows(a_response_a_row())
    assert rows_of(imported(path, "csv")[0]) == EXPECTED
    assert detect_format(path.rename(tmp_path / "TABLE.CSV")) == "csv"
    rows = jsonl(tmp_path / "rows" / "in.jsonl", a_prompt_a_row())
    assert [p.check for p in rejected(rows, "parquet")] == ["parquet"]


def test_a_value_that_varies_over_rows_is_named_as_not_used(tmp_path: Path) -> None:
    rows = [row | {"temperature": i, "seed": 1} for i, row in enumerate(a_prompt_a_row())]
    path = jsonl(tmp_path / "in.jsonl", rows)
    report, unused = imported(path)
    assert report.submission is not None
    assert (report.submission.manifest.generation.temperature, unused) == (None, {"temperature"})
    (problem,) = report.findings.problems  # the responses of a sweep would be mixed in one set
    assert (problem.severity, problem.row, problem.field) == ("warning", 2, "temperature")
    assert problem.message == "1 here, but 0 in row 1: no setting is recorded"
    given = KNOWN | {"generation": {"temperature": 1.0}}
    report, unused = import_submission(path, "jsonl", tmp_path / "given", given, find_toy)
    assert (report.findings.problems, unused) == ([], set())
    seeds = jsonl(tmp_path / "seeds" / "in.jsonl", [row | {"seed": i} for i, row in enumerate(a_prompt_a_row())])
    assert imported(seeds)[0].findings.problems == []  # a seed for each row is usual


def test_columns_are_named_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id," + ",".join(f"said_{i}" for i in range(9)) + "\n0" + ",a" * 9 + "\n")
    (problem,) = rejected(path, "csv")
    assert ", ".join(f"'said_{i}'" for i in range(9)) in problem.message
    assert "no field has a usual name of responses" in problem.message


def test_a_system_prompt_in_some_rows_only_is_not_the_submissions(tmp_path: Path) -> None:
    rows = a_prompt_a_row()
    some = [row | ({"system_prompt": "Be brief."} if i else {}) for i, row in enumerate(rows)]
    for name, given, expected in (
        ("every", [row | {"system_prompt": "Be brief."} for row in rows], "Be brief."),
        ("none", rows, None),
        ("some", some, None),
    ):
        report, _ = imported(jsonl(tmp_path / name / "in.jsonl", given))
        assert report.submission is not None
        assert report.submission.manifest.generation.system_prompt == expected, name
