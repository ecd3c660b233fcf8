"""Every bad JSON Lines file is rejected with its row, field and mend, all problems at once, and nothing is written."""

from pathlib import Path

import pytest

from tests.cases import each
from tests.submissions.conftest import (
    Place,
    a_prompt_a_row,
    a_response_a_row,
    jsonl,
    places,
    rejected,
    with_line,
    with_row,
)

ID = {"prompt_id": "toy-1"}
LONE = "half \ud800 a letter"


def raw(text: str) -> bytes:
    """The second good row with its responses written by hand."""
    return f'{{"prompt_id": "toy-1", "responses": {text}}}'.encode()


BAD_ROWS: list[tuple[str, list[object], list[Place], str, str]] = [
    # name, rows, where the problems are, the first one's message and mend
    (
        "unknown prompt id",
        with_row(2, prompt_id="toy-9", prompt="Say thing 9."),
        [("prompt_ids", 2, "prompt_id"), ("prompt_ids", None, "prompt_id")],
        "'toy-9' is not a prompt id of toy",
        "ids range from toy-0 to toy-3",
    ),
    (
        "changed prompt text",
        with_row(3, prompt="Say thing 3."),
        [("prompt_text", 3, "prompt")],
        "the text of toy-2 differs from the suite's at character 11",
        "the suite's text continues '2.'",
    ),
    (
        "prompt text with more at its end",
        with_row(3, prompt="Say thing 2. Now."),
        [("prompt_text", 3, "prompt")],
        "differs from the suite's at character 13",
        "responses to another prompt cannot be compared",
    ),
    (
        "missing prompts",
        [*a_prompt_a_row()[1:2]],
        [("prompt_ids", None, "prompt_id")],
        "no responses to 3 of 4 prompts: toy-0, toy-2, toy-3",
        "give responses to every prompt of the suite",
    ),
    (
        "prompt id twice",
        [*a_prompt_a_row(), *a_prompt_a_row()[1:2]],
        [("prompt_ids", 5, "prompt_id"), ("duplicates", 5, "responses")],
        "'toy-1' already appears in row 2",
        "write one row for each prompt",
    ),
    (
        "one response too few",
        with_row(4, responses=["a", "b"]),
        [("k", 4, "responses")],
        "2 responses, but k is 3",
        "give k responses to every prompt",
    ),
    (
        "finish reasons of another number",
        with_row(4, finish_reasons=["stop"]),
        [("k", 4, "finish_reasons")],
        "1 finish reason for 3 responses",
        "give one per response, or null",
    ),
    (
        "null response",
        with_row(2, responses=["a", None, "c"]),
        [("json", 2, "responses[1]")],
        "null, expected a string",
        'an empty response is the empty string ""',
    ),
    ("null list", with_row(2, responses=None), [("json", 2, "responses")], "null, expected a list", "--help for"),
    ("no responses", with_row(2, responses=...), [("json", 2, "responses")], "the field is missing", "give responses"),
    ("no prompt id", with_row(2, prompt_id=...), [("json", 2, "prompt_id")], "the field is missing", "give prompt_id"),
    (
        "number as response",
        with_row(2, responses=["a", 5, True]),
        [("json", 2, "responses[1]"), ("json", 2, "responses[2]")],
        "a whole number, expected a string",
        "--help for formats",
    ),
    (
        "text as responses",
        with_row(2, responses="abc"),
        [("json", 2, "responses")],
        "a string, expected a lis",
        "--help for formats",
    ),
    (
        "object as prompt id",
        with_row(2, prompt_id={"id": "toy-1"}),
        [("json", 2, "prompt_id")],
        "an object, expected a string",
        "--help for formats",
    ),
    ("null prompt", with_row(2, prompt=None), [("json", 2, "prompt")], "null, expected a string", "empty string"),
    (
        "finish reasons that are no list",
        with_row(2, finish_reasons="stop"),
        [("json", 2, "finish_reasons")],
        "a string, expected a lis",
        "--help for formats",
    ),
    (
        "finish reason that is no string",
        with_row(2, finish_reasons=["stop", 1, None]),
        [("json", 2, "finish_reasons[1]")],
        "a whole number, expected a string",
        "--help for formats",
    ),
    (
        "half a surrogate pair in a response",
        with_row(2, responses=["a", LONE, "c"]),
        [("json", 2, "responses[1]")],
        "has an unpaired surrogate, which UTF-8 cannot encode",
        "write complete characters",
    ),
    (
        "half a surrogate pair in a prompt id",
        with_row(2, prompt_id=LONE),
        [("json", 2, "prompt_id")],
        "unpaired surrogate",
        "write complete characters",
    ),
    (
        "not UTF-8",
        with_line(2, raw('["café", "b", "c"]').decode().encode("latin-1")),
        [("encoding", 2, "")],
        "not UTF-8: byte 0xe9 at offset 41",
        "save the file as UTF-8",
    ),
    (
        "NaN",
        with_line(2, raw("[NaN]")),
        [("json", 2, "")],
        "not JSON: NaN is not a JSON value",
        "write one JSON object per line",
    ),
    (
        "infinity",
        with_line(2, raw("[-Infinity]")),
        [("json", 2, "")],
        "-Infinity is not a JSON value",
        "one JSON object",
    ),
    (
        "repeated key",
        with_line(2, b'{"prompt_id": "toy-1", "responses": ["a"], "responses": ["b"]}'),
        [("json", 2, "")],
        "the key 'responses' is repeated",
        "write one JSON object per line",
    ),
    (
        "half a line",
        with_line(2, raw('["a", "b')[:-1]),
        [("json", 2, "")],
        "not JSON: ",
        "write one JSON object per line",
    ),
    ("no object", with_line(2, b'["toy-1"]'), [("json", 2, "")], "a JSON list, expected an object", "one JSON object"),
    (
        "a number",
        with_line(2, b"5"),
        [("json", 2, "")],
        "a JSON int, expected an object",
        "write one JSON object per line",
    ),
    (
        "100,000 brackets",
        with_line(2, raw("[" * 100_000 + "]" * 100_000)),
        [("json", 2, "")],
        "not JSON: nested more than 8 deep",
        "write one JSON object per line",
    ),
    ("100,000 open brackets", with_line(2, b"[" * 100_000), [("json", 2, "")], "nested more than 8 deep", "one JSON"),
    ("100,000 braces", with_line(2, b'{"a":' * 100_000), [("json", 2, "")], "nested more than 8 deep", "one JSON"),
    (
        "huge integer",
        with_line(2, raw("9" * 5000)),
        [("json", 2, "")],
        "not JSON: Exceeds the limit",
        "one JSON object",
    ),
]
BAD_SAMPLES: list[tuple[str, list[object], list[Place], str, str]] = [
    (
        "sample index twice",
        [{**row, "sample_idx": 0} if i == 4 else row for i, row in enumerate(a_response_a_row())],
        [("json", 4, "sample_idx"), ("json", 5, "sample_idx")],
        "toy-1 has sample_idx 0 2 times",
        "number the samples of a prompt 0, 1, 2",
    ),
    (
        "sample index that is no number",
        [{**row, "sample_idx": "1"} if i == 4 else row for i, row in enumerate(a_response_a_row())],
        [("json", 5, "sample_idx")],
        "a string, expected a whole number of at most 31 bits",
        "--help for formats",
    ),
    (
        "sample index of 400 digits",
        [{**row, "sample_idx": 10**400} if i == 4 else row for i, row in enumerate(a_response_a_row())],
        [("json", 5, "sample_idx")],
        "a whole number, expected a whole number of at most 31 bits",
        "--help for formats",
    ),
    (
        "two prompt texts for one id",
        [{**row, "prompt": "Other."} if i == 4 else row for i, row in enumerate(a_response_a_row())],
        [("json", 5, "prompt")],
        "differs from toy-1's text in row 4",
        "give one text for each prompt id",
    ),
    (
        "null response of a row",
        [{**row, "response": None} if i == 4 else row for i, row in enumerate(a_response_a_row())],
        [("json", 5, "response")],
        "null, expected a string",
        'an empty response is the empty string ""',
    ),
    (
        "finish reason of a row that is no string",
        [{**row, "finish_reason": 7} if i == 4 else row for i, row in enumerate(a_response_a_row())],
        [("json", 5, "finish_reason")],
        "a whole number, expected a string",
        "--help for formats",
    ),
    (
        "one sample too few",
        [*a_response_a_row()[:-1]],
        [("k", 10, "responses")],
        "2 responses, but k is 3",
        "give k responses to every prompt",
    ),
    (
        "two models",
        [{**row, "model": f"m-{i // 6}"} for i, row in enumerate(a_response_a_row())],
        [("manifest", 7, "model")],
        "'m-1' here, but 'm-0' in row 1",
        "a submission has one system: split the file",
    ),
    (
        "two steps of training",
        [{**row, "global_step": 100 * (i // 6)} for i, row in enumerate(a_response_a_row())],
        [("manifest", 7, "global_step")],
        "100 here, but 0 in row 1",
        "a submission has one system: split the file",
    ),
]
BAD_FACTS: list[tuple[str, list[object], list[Place], str, str]] = [
    (
        f"{name} {str(value)[:12]!r}",
        [row | {name: value} for row in a_prompt_a_row()],
        [("manifest", 1, name)],
        message,
        "fix the file, or set the right value with an option",
    )
    for name, value, message in (
        ("temperature", -1, "greater than or equal to 0"),
        ("temperature", True, "valid number"),
        ("temperature", "hot", "valid number"),
        ("top_p", 1.5, "less than or equal to 1"),
        ("max_tokens", 10.5, "valid integer"),
        ("max_new_tokens", 0, "greater than 0"),
        ("model", "two\nlines", "control, invisible"),
        ("model", LONE, "valid string"),
        ("model", "m" * 201, "at most 200 characters"),
    )
]


@each(
    ("rows", "where", "message", "hint"),
    [pytest.param(*case[1:], id=case[0]) for case in BAD_ROWS + BAD_SAMPLES + BAD_FACTS],
)
def test_bad_rows_are_rejected_and_nothing_is_written(
    tmp_path: Path, rows: list[object], where: list[Place], message: str, hint: str
) -> None:
    problems = rejected(jsonl(tmp_path / "in.jsonl", rows))
    assert places(problems) == where
    assert message in problems[0].message
    assert hint in problems[0].hint
    assert {p.file for p in problems} == {"in.jsonl"}
    assert len(problems[0].message) < 600


def test_each_kind_of_bad_file_has_a_message_of_its_own(tmp_path: Path) -> None:
    messages = [rejected(jsonl(tmp_path / f"{i}" / "in.jsonl", case[1]))[0].message for i, case in enumerate(BAD_ROWS)]
    same = {message for message in messages if messages.count(message) > 1}
    # These are one fault in two places each; the field tells them apart.
    assert {message[:24] for message in same} == {
        "the field is missing",
        "has an unpaired surrogat",
        "null, expected a string",
        "a string, expected a lis",
        "a whole number, expected",
        "not JSON: nested more th",
    }


def test_a_model_given_by_the_caller_does_not_hide_that_there_are_two(tmp_path: Path) -> None:
    rows = [row | {"model": f"m-{i // 2}"} for i, row in enumerate(a_prompt_a_row())]
    system = {"type": "model", "model_id": "given"}
    assert places(rejected(jsonl(tmp_path / "in.jsonl", rows), system=system)) == [("manifest", 3, "model")]


def test_a_number_of_responses_out_of_bounds_is_the_files_fault(tmp_path: Path) -> None:
    nothing = jsonl(tmp_path / "a" / "in.jsonl", [row | {"responses": []} for row in a_prompt_a_row()])
    many = jsonl(tmp_path / "b" / "in.jsonl", [row | {"responses": ["x"] * 1001} for row in a_prompt_a_row()])
    for path, message in ((nothing, "greater than or equal to 1"), (many, "less than or equal to 1000")):
        problems = rejected(path)
        assert places(problems) == [("manifest", 1, "responses")]
        assert message in problems[0].message


def test_all_problems_of_a_file_are_listed_at_once(tmp_path: Path) -> None:
    rows = with_row(1, responses=["a", None, 5])
    rows[1] = b"{not json"
    rows[2] = b'{"prompt_id": "\xff"}'
    rows += [{"prompt_id": [7], "responses": [LONE]}, b"[]"]
    assert places(rejected(jsonl(tmp_path / "in.jsonl", rows))) == [
        ("json", 1, "responses[1]"),
        ("json", 1, "responses[2]"),
        ("json", 2, ""),
        ("encoding", 3, ""),
        ("json", 5, "prompt_id"),
        ("json", 5, "responses[0]"),
        ("json", 6, ""),
    ]


def test_all_problems_of_the_content_are_listed_at_once(tmp_path: Path) -> None:
    rows = with_row(1, prompt="Other.", responses=["x", " ", "[Blocked]", "4"])
    rows[1:2] = [ID | {"prompt_id": "toy-x", "responses": ["lost \ufffd", "b", "c"]}]
    assert places(rejected(jsonl(tmp_path / "in.jsonl", rows))) == [
        ("prompt_text", 1, "prompt"),
        ("k", 1, "responses"),
        ("blanks", 1, "responses[1]"),
        ("placeholders", 1, "responses[2]"),
        ("prompt_ids", 2, "prompt_id"),
        ("encoding", 2, "responses[0]"),
        ("prompt_ids", None, "prompt_id"),
    ]
