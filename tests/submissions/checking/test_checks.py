"""Each check of a submission folder finds what it is for, and nothing in a good one."""

from collections.abc import Callable
from pathlib import Path

from submissions.checking.checks import CHECKS, MAX_RESPONSE_BYTES
from tests.cases import each
from tests.conftest import write_toy
from tests.submissions.conftest import Json, Place, add_reported, change_manifest, check, places, rewrite

TOKEN = "hf_" + "aB3" * 8


def one(number: int, **changes: object) -> Callable[[Json], Json]:
    """Changes one prompt's row."""
    return lambda row: row | changes if row["prompt_id"] == f"toy-{number - 1}" else row


# check: the change, where it is found, message, mend. Errors first, then warnings.
ERRORS: dict[str, tuple[Callable[[Json], Json | None], list[Place], str, str]] = {
    "unknown prompt": (
        one(2, prompt_id="toy-7"),
        [("prompt_ids", 2, "prompt_id"), ("prompt_ids", None, "prompt_id")],
        "'toy-7' is not a prompt id of toy",
        "ids range from toy-0 to toy-3",
    ),
    "prompt twice": (
        one(2, prompt_id="toy-0", prompt="Say thing 0."),
        [("prompt_ids", 2, "prompt_id"), ("prompt_ids", None, "prompt_id")],
        "'toy-0' already appears in row 1",
        "write one row for each prompt",
    ),
    "missing prompt": (
        lambda row: row if row["prompt_id"] != "toy-2" else None,
        [("prompt_ids", None, "prompt_id")],
        "no responses to 1 of 4 prompts: toy-2",
        "give responses to every prompt of the suite",
    ),
    "changed text": (
        one(4, prompt="Say  thing 3."),
        [("prompt_text", 4, "prompt")],
        "the text of toy-3 differs from the suite's at character 5",
        "the suite's text continues 'thing 3.'",
    ),
    "too many": (
        one(1, responses=["a", "b", "c", "d"]),
        [("k", 1, "responses")],
        "4 responses, but k is 3",
        "give k responses to every prompt",
    ),
    "reasons": (
        one(1, finish_reasons=["stop"] * 4),
        [("k", 1, "finish_reasons")],
        "4 finish reasons for 3 responses",
        "give one per response, or null",
    ),
    "too long": (
        one(3, responses=["a", "é" * (MAX_RESPONSE_BYTES // 2 + 1), "x" * MAX_RESPONSE_BYTES]),
        [("sizes", 3, "responses[1]")],
        "262,146 bytes; at most 262,144 are allowed",
        "lower max_tokens",
    ),
    "null in the list": (
        one(2, responses=["a", None, None]),
        [("nulls", 2, "responses[1]"), ("nulls", 2, "responses[2]")],
        "null response",
        'an empty response is the empty string ""',
    ),
}
WARNINGS: dict[str, tuple[Callable[[Json], Json | None], list[Place], str, str]] = {
    "blank": (
        one(2, responses=["", " \n\t", "\u200b\ufeff"]),
        [("blanks", 2, f"responses[{i}]") for i in range(3)],
        "blank",
        "it is counted separately and never scored as novel",
    ),
    "placeholder": (
        one(2, responses=["[Blocked]", " [refused]\n", "<EMPTY>"]),
        [("placeholders", 2, f"responses[{i}]") for i in range(3)],
        "'[Blocked]' is a placeholder for a missing response",
        "resample it, or leave it",
    ),
    "trace of a tool": (
        one(2, responses=["a", "b<|im_end|>", "c"]),
        [("artefacts", 2, "responses")],
        "1 of 12 responses contain control tokens of a chat template: 'b<|im_end|>'",
        "remove it: import with --clean",
    ),
    "lost letter": (
        one(2, responses=["a", "b\ufffd", "c"]),
        [("encoding", 2, "responses[1]")],
        "contains U+FFFD: a character was lost in decoding",
        "decode the model's bytes as UTF-8",
    ),
    "control character": (
        one(2, responses=["line\r\n\tline\f", "b", "bell\a"]),
        [("encoding", 2, "responses[2]")],
        "contains a control character",
        "remove it unless the system wrote it",
    ),
    "same responses": (
        one(4, responses=[f"answer {j} to thing 1" for j in range(3)]),
        [("duplicates", 4, "responses")],
        "the same responses as in row 2",
        "check whether rows were mixed up",
    ),
    "truncated": (
        one(2, finish_reasons=["stop", "length", "length"]),
        [("truncated", None, "finish_reasons")],
        "2 of 12 responses are truncated",
        "sample again with a higher max_tokens",
    ),
    "another language": (
        lambda row: row | {"responses": [f"Das ist nicht {i} und {row['prompt_id']}." for i in range(3)]},
        [("language", None, "responses")],
        "4 of 4 prompts or their responses are in a language other than English",
        "classes, validity and embeddings read English",
    ),
}


def test_a_good_submission_has_nothing_to_complain_of(tmp_path: Path) -> None:
    report = check(write_toy(tmp_path / "good"))
    assert report.findings.problems == []
    assert report.submission is not None
    assert (report.submission.prompts, report.counts.prompts, report.counts.responses) == (4, 4, 12)
    assert report.suite is not None
    assert report.suite.name == "toy"


@each(("change", "where", "message", "hint"), ERRORS.values(), ids=ERRORS)
def test_an_error_refuses(
    tmp_path: Path, change: Callable[[Json], Json | None], where: list[Place], message: str, hint: str
) -> None:
    report = check(rewrite(write_toy(tmp_path / "bad"), change))
    assert report.submission is None
    assert {p.severity for p in report.findings.problems} == {"error"}
    assert {p.file for p in report.findings.problems} == {"generations.parquet"}
    assert places(report.findings.problems) == where
    assert message in report.findings.problems[0].message
    assert hint in report.findings.problems[0].hint


@each(("change", "where", "message", "hint"), WARNINGS.values(), ids=WARNINGS)
def test_a_warning_is_shown_and_does_not_refuse(
    tmp_path: Path, change: Callable[[Json], Json | None], where: list[Place], message: str, hint: str
) -> None:
    report = check(rewrite(write_toy(tmp_path / "odd"), change))
    assert report.submission is not None
    assert {p.severity for p in report.findings.problems} == {"warning"}
    assert places(report.findings.problems) == where
    assert message in report.findings.problems[0].message
    assert hint in report.findings.problems[0].hint


def test_every_check_has_a_name_of_its_own_and_finds_something_here() -> None:
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    tables = [places for _, places, *_ in (*ERRORS.values(), *WARNINGS.values())]
    tested = {name for places in tables for name, *_ in places} | {"secrets"}  # below
    assert set(names) <= tested


@each(
    ("changes", "field"),
    [
        ({"notes": f"made with {TOKEN}"}, "notes"),
        (
            {"submitter": {"name": "me", "date": "2026-01-02", "links": [f"https://x.org/?t={TOKEN}"]}},
            "submitter.links[0]",
        ),
    ],
    ids=["notes", "a link"],
)
def test_a_token_in_a_manifest_refuses_it_and_is_not_repeated(tmp_path: Path, changes: Json, field: str) -> None:
    report = check(change_manifest(write_toy(tmp_path / "secret"), **changes))
    assert report.submission is None
    assert places(report.findings.problems) == [("secrets", None, field)]
    assert TOKEN not in str(report.findings.problems)


def test_words_that_begin_like_tokens_are_none(tmp_path: Path) -> None:
    report = check(
        change_manifest(write_toy(tmp_path / "fine"), notes="hf_hub and sk-learn, gho_, a task-oriented-dialogue-model")
    )
    assert report.submission is not None


def test_problems_of_several_kinds_are_listed_at_once(tmp_path: Path) -> None:
    changes: list[Json | None] = [
        {"responses": ["a", None, " "]},
        {"prompt": "Other.", "responses": [" ", "[Blocked]"]},
        {"prompt_id": "toy-9", "finish_reasons": []},
        None,
    ]

    def change(row: Json) -> Json | None:
        changed = changes[int(row["prompt_id"][-1])]
        return None if changed is None else row | changed

    without_manifest = change_manifest(rewrite(write_toy(tmp_path / "bad"), change), unknown=1)
    assert places(check(without_manifest).findings.problems) == [  # neither k nor the suite is known
        ("manifest", None, "unknown"),
        ("nulls", 1, "responses[1]"),
        ("blanks", 2, "responses[0]"),
        ("placeholders", 2, "responses[1]"),
        ("k", 3, "finish_reasons"),
    ]


def test_many_missing_prompts_are_counted_not_listed(tmp_path: Path) -> None:
    folder = change_manifest(write_toy(tmp_path / "bad"), suite="demo")
    last = check(folder).findings.problems[-1]
    shown = ", ".join(f"demo-{i:02}" for i in range(5))
    assert last.message == f"no responses to 24 of 24 prompts: {shown}, …"


def test_the_responses_are_counted_by_kind(tmp_path: Path) -> None:
    folder = write_toy(tmp_path / "odd")
    rewrite(folder, one(1, responses=["a", "a", "a"], finish_reasons=["stop", "length", None]))
    rewrite(folder, one(2, responses=["", "[empty]", " "]))
    counts = check(folder).counts
    found = (counts.prompts, counts.responses, counts.blank, counts.placeholder, counts.cut_off, counts.repeated)
    assert found == (4, 12, 2, 1, 1, 2)


def test_half_of_the_texts_in_another_language_are_not_most(tmp_path: Path) -> None:
    folder = write_toy(tmp_path / "half")
    for i in (1, 2):
        rewrite(folder, one(i, responses=[f"Das ist nicht {i} und {j}." for j in range(3)]))
    assert check(folder).findings.problems == []


REPORTED: dict[str, tuple[Json, list[Place], str]] = {
    "unknown prompt": ({"prompt_id": "toy-9"}, [("reported", 1, "prompt_id")], "'toy-9' has no responses"),
    "prompt twice": ({"prompt_id": "toy-1"}, [("reported", 2, "prompt_id")], "or is repeated"),
    "not canonical": ({"partition": [1, 0, 0]}, [("reported", 1, "partition")], "labels [1, 0, 0]"),
    "labels": ({"partition": [0, 1]}, [("reported", 1, "partition")], "2 labels for 3 responses"),
    "distinct": ({"distinct": 3}, [("reported", 1, "distinct")], "distinct is 3, but the partition has 2 classes"),
    "utility": ({"utility": -0.1}, [("reported", 1, "utility")], "-0.1 is not between 0 and 10"),
    "scores": ({"generation_scores": [7.0]}, [("reported", 1, "generation_scores")], "1 score for 3 responses"),
    "score NaN": (
        {"generation_scores": [float("nan"), 3.0, 0.0]},
        [("reported", 1, "generation_scores[0]")],
        "nan; the first response of a class scores 1 to 10",
    ),
    "score of a second": (
        {"generation_scores": [7.0, 3.0, 3.0]},
        [("reported", 1, "generation_scores[2]")],
        "3.0; the first response of a class scores 1 to 10, the others 0",
    ),
    "label null": ({"partition": [0, None, 1]}, [("reported", 1, "partition")], "null where a value is required"),
    "all at once": (
        {"partition": [0, 2, 2], "utility": 11.0, "generation_scores": [0.0, 3.0, 0.0]},
        [("reported", 1, "partition"), ("reported", 1, "utility"), ("reported", 1, "generation_scores[0]")],
        "labels [0, 2, 2]",
    ),
}


@each(("values", "where", "message"), REPORTED.values(), ids=REPORTED)
def test_reported_values_that_contradict_are_rejected(
    tmp_path: Path, values: Json, where: list[Place], message: str
) -> None:
    report = check(add_reported(write_toy(tmp_path / "bad"), **values))
    assert report.submission is None
    assert places(report.findings.problems) == where
    assert message in report.findings.problems[0].message
    assert {p.file for p in report.findings.problems} == {"reported.parquet"}
    assert all(p.hint for p in report.findings.problems)


def test_reported_values_that_fit_are_taken(tmp_path: Path) -> None:
    report = check(add_reported(write_toy(tmp_path / "good")))
    assert report.findings.problems == []
    assert report.submission is not None
    assert report.submission.reported()["1.0"]["toy-3"].distinct == 2
