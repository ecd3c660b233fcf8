"""JSON Lines: what is taken, how it is ordered, and which facts of the system come from the file."""

from dataclasses import replace
from pathlib import Path

import pytest

from divbench.core.errors import ConfigurationError
from divbench.core.files import sha256_of
from submissions.checking.validate import Report
from submissions.importing.importers import import_submission
from submissions.untrusted.findings import Rejected
from tests.cases import each
from tests.conftest import TOY, toy_rows
from tests.submissions.conftest import (
    KNOWN,
    Json,
    a_prompt_a_row,
    a_response_a_row,
    find_toy,
    imported,
    jsonl,
    places,
    rejected,
)


def rows_of(report: Report) -> list[tuple[str, str | None, tuple[str, ...]]]:
    assert report.submission is not None
    return [(row.prompt_id, row.prompt, row.responses) for row in report.submission.rows()]


EXPECTED = [(row.prompt_id, row.prompt, row.responses) for row in toy_rows()]


@each("rows", [a_prompt_a_row(), a_response_a_row()], ids=["a-prompt-a-row", "a-response-a-row"])
@each("order", [1, -1], ids=["in-order", "reversed"])
def test_rows_come_out_in_the_order_of_the_suite_and_of_the_samples(
    tmp_path: Path, rows: list[Json], order: int
) -> None:
    report, unused_fields = imported(jsonl(tmp_path / "in.jsonl", rows[::order]))
    assert rows_of(report) == EXPECTED
    assert report.findings.problems == []
    assert unused_fields == set()


def test_responses_without_a_sample_index_count_in_the_order_of_the_file(tmp_path: Path) -> None:
    rows = [{key: value for key, value in row.items() if key != "sample_idx"} for row in a_response_a_row()]
    interleaved = sorted(rows, key=lambda row: str(row["response"]))
    assert rows_of(imported(jsonl(tmp_path / "in.jsonl", interleaved))[0]) == EXPECTED


@each("names", [{"prompt_id": "id"}, {"responses": "generations"}], ids=str)
def test_the_names_that_others_use_are_understood(tmp_path: Path, names: dict[str, str]) -> None:
    rows = [{names.get(key, key): value for key, value in row.items()} for row in a_prompt_a_row()]
    assert rows_of(imported(jsonl(tmp_path / "in.jsonl", rows))[0]) == EXPECTED


def test_the_prompt_text_may_be_left_out(tmp_path: Path) -> None:
    rows = [{key: row[key] for key in ("prompt_id", "responses")} for row in a_prompt_a_row()]
    report, _ = imported(jsonl(tmp_path / "in.jsonl", rows))
    assert rows_of(report) == [(name, None, responses) for name, _, responses in EXPECTED]


def test_a_byte_order_mark_and_blank_lines_do_no_harm(tmp_path: Path) -> None:
    first, *rest = a_prompt_a_row()
    path = jsonl(tmp_path / "in.jsonl", [first, b"", b"  ", *rest])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert rows_of(imported(path)[0]) == EXPECTED


def test_finish_reasons_are_kept_with_their_responses(tmp_path: Path) -> None:
    rows = a_response_a_row()
    rows[1]["finish_reason"] = "length"
    report, _ = imported(jsonl(tmp_path / "a" / "in.jsonl", rows[::-1]))
    assert report.submission is not None
    kept = [row.finish_reasons for row in report.submission.rows()]
    assert kept == [(None, "length", None), None, None, None]
    assert report.counts.cut_off == 1

    whole = [row | {"finish_reasons": ["stop", None, "length"]} for row in a_prompt_a_row()]
    report, _ = imported(jsonl(tmp_path / "b" / "in.jsonl", whole))
    assert report.submission is not None
    assert {row.finish_reasons for row in report.submission.rows()} == {("stop", None, "length")}
    assert report.counts.cut_off == 4


def test_what_the_file_says_of_the_system_goes_into_the_manifest(tmp_path: Path) -> None:
    facts = {"model": "org/model", "temperature": 1, "top_p": 0.9, "max_new_tokens": 100, "seed": 42}
    path = jsonl(tmp_path / "in.jsonl", [row | facts for row in a_prompt_a_row()])
    report, _ = imported(path)
    assert report.manifest is not None
    assert report.manifest.system.model_id == "org/model"
    assert report.manifest.generation.model_dump(exclude_defaults=True) == {
        "k": 3,
        "temperature": 1.0,
        "top_p": 0.9,
        "max_tokens": 100,
        "seed": 42,
    }
    assert report.manifest.origin is not None
    assert report.manifest.origin.format == "jsonl"
    assert report.manifest.origin.sha256 == sha256_of(path)


def test_what_is_given_comes_before_what_the_file_says(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "in.jsonl", [row | {"model": "in file", "seed": 1} for row in a_prompt_a_row()])
    report, _ = imported(path, system={"type": "model", "model_id": "given"}, generation={"seed": 2})
    assert report.manifest is not None
    assert (report.manifest.system.model_id, report.manifest.generation.seed) == ("given", 2)


def test_what_differs_between_rows_is_no_fact_of_the_system(tmp_path: Path) -> None:
    report, _ = imported(jsonl(tmp_path / "in.jsonl", [r | {"seed": i} for i, r in enumerate(a_response_a_row())]))
    assert report.manifest is not None
    assert report.manifest.generation.seed is None


def test_fields_that_are_not_used_are_reported(tmp_path: Path) -> None:
    rows = [row | {"stage": "base", "\ud800": 1} for row in a_prompt_a_row()]
    assert imported(jsonl(tmp_path / "in.jsonl", rows))[1] == {"stage", "\ud800"}


def test_an_existing_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert rows_of(imported(jsonl(tmp_path / "in.jsonl", a_prompt_a_row()))[0]) == EXPECTED


def test_problems_are_told_by_the_rows_and_fields_of_the_file_that_was_given(tmp_path: Path) -> None:
    # In the suite's order these rows are others; and a response has a row of its own.
    rows = a_response_a_row()[::-1]
    rows[1]["response"] = "  "
    rows[4]["prompt"] = rows[3]["prompt"] = rows[5]["prompt"] = "Say thing 2!"
    rows[11]["response"], rows[10]["response"], rows[9]["response"] = (rows[i]["response"] for i in (8, 7, 6))
    problems = rejected(jsonl(tmp_path / "in.jsonl", rows))
    assert places(problems) == [
        ("duplicates", 9, "responses"),
        ("prompt_text", 6, "prompt"),
        ("blanks", 2, "response"),
    ]
    assert {p.file for p in problems} == {"in.jsonl"}
    assert problems[0].message == "the same responses as in row 12"


def test_the_counts_of_an_import_are_those_of_the_file_however_many_there_are(tmp_path: Path) -> None:
    rows = [row | {"responses": [" "] * 300} for row in a_prompt_a_row()]
    report, _ = imported(jsonl(tmp_path / "in.jsonl", rows))
    assert report.findings.count("warning") == 1200
    assert len(report.findings.problems) == 200


def test_a_folder_in_use_is_left_as_it_is(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "in.jsonl", a_prompt_a_row())
    imported(path)
    before = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    with pytest.raises(ConfigurationError, match=r"out already exists \(choose another folder with --out"):
        imported(path)
    assert {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()} == before


@each("name,said", [("no-such-file", "there is no file .*no-such-file"), ("a-folder", "a-folder is a folder")])
def test_a_file_that_is_not_there_is_the_callers_mistake(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "a-folder").mkdir()
    with pytest.raises(ConfigurationError, match=said):
        imported(tmp_path / name)


def test_a_manifest_field_that_is_given_wrong_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"manifest would be invalid: name: .*invisible.*\(fix the options"):
        imported(jsonl(tmp_path / "in.jsonl", a_prompt_a_row()), name="a\u202eb")
    assert not (tmp_path / "out").exists()


def test_an_unknown_suite_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no suite 'no-such-suite'"):
        imported(jsonl(tmp_path / "in.jsonl", a_prompt_a_row()), suite="no-such-suite")


def test_the_given_k_is_what_each_prompt_must_have(tmp_path: Path) -> None:
    problems = rejected(jsonl(tmp_path / "in.jsonl", a_prompt_a_row()), generation={"k": 5})
    assert places(problems) == [("k", row, "responses") for row in (1, 2, 3, 4)]
    assert problems[0].message == "3 responses, but k is 5"


def test_a_refusal_names_the_file_and_the_number_of_problems(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "in.jsonl", a_prompt_a_row()[:3])
    with pytest.raises(Rejected) as caught:
        import_submission(path, "jsonl", tmp_path / "out", KNOWN, find_toy)
    assert caught.value.message.endswith("in.jsonl was rejected: 1 problem")


def test_the_suite_that_is_found_is_the_one_that_is_checked_against(tmp_path: Path) -> None:
    other = replace(TOY, prompts=TOY.prompts[:3])
    path = jsonl(tmp_path / "in.jsonl", a_prompt_a_row()[:3])
    report, _ = import_submission(path, "jsonl", tmp_path / "out", KNOWN, lambda name: other)
    assert rows_of(report) == EXPECTED[:3]
