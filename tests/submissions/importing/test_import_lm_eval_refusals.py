"""Samples of lm-evaluation-harness that are wrong or hostile: told with row, field and mend, and nothing is written."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from datasets_build.schema import Prompt, Suite
from submissions.importing import lm_eval
from submissions.importing.importers import ImportOptions, LmEvalOptions, import_submission
from submissions.importing.lm_eval import DEFAULT_OPTIONS, read_lm_eval
from submissions.untrusted import limits
from submissions.untrusted.findings import Findings, Rejected
from tests.cases import each
from tests.conftest import TOY
from tests.submissions.conftest import KNOWN, Json, Place, find_toy, jsonl, places
from tests.submissions.lm_eval_samples import asked, sample, samples

BY_PLACE = LmEvalOptions(id_field="doc_id")


def refusal(tmp_path: Path, rows: list[object], documents: LmEvalOptions = DEFAULT_OPTIONS) -> Rejected:
    path = jsonl(tmp_path / "in.jsonl", rows)
    with pytest.raises(Rejected) as caught:
        import_submission(path, "lm-eval", tmp_path / "out", KNOWN, find_toy, ImportOptions(documents=documents))
    assert sorted(tmp_path.iterdir()) == [path]
    assert all(problem.message and problem.hint for problem in caught.value.findings.problems)
    return caught.value


BY_KEY = LmEvalOptions(id_field="key")
BAD: list[tuple[str, list[object], LmEvalOptions, list[Place], str, str]] = [
    # name, rows, how they are read, where the problems are, the first one's message and mend
    (
        "no such prompt",
        samples(of=2, doc={"question": "Say thing 9."}, arguments=...),
        LmEvalOptions(),
        [("prompt_ids", 2, "doc")],
        "the prompt cannot be identified: it contains no prompt of toy",
        "--id-field",
    ),
    (
        "two prompts",
        samples(of=2, doc={}, arguments=asked("Say thing 0. Say thing 3.")),
        LmEvalOptions(),
        [("prompt_ids", 2, "doc")],
        "it may be any of toy-0, toy-3",
        "--id-field",
    ),
    (
        "no such field of ids",
        samples(of=2, doc={"question": "x", "name": "y"}),
        BY_KEY,
        [("prompt_ids", row, "doc.key") for row in (1, 2, 3, 4)],
        "the field is missing",
        "doc has level, question: name one of them with --id-field",
    ),
    (
        "an id that is no text",
        [sample(i, doc={"key": [i]}) for i in range(4)],
        BY_KEY,
        [("json", row, "doc.key") for row in (1, 2, 3, 4)],
        "a list, expected a string",
        "--help for formats",
    ),
    (
        "unknown id",
        [sample(i, doc={"prompt_id": f"toy-{i + (i == 3)}"}) for i in range(4)],
        LmEvalOptions(),
        [("prompt_ids", 4, "doc.prompt_id"), ("prompt_ids", None, "doc.prompt_id")],
        "'toy-4' is not a prompt id of toy",
        "ids range from toy-0 to toy-3",
    ),
    (
        "another text under an id",
        [sample(i, doc={"prompt_id": p.prompt_id, "prompt": p.prompt.upper()}) for i, p in enumerate(TOY.prompts)],
        LmEvalOptions(),
        [("prompt_text", row, "doc.prompt") for row in (1, 2, 3, 4)],
        "the text of toy-0 differs from the suite's at character 2",
        "cannot be compared",
    ),
    (
        "places of another order",
        [sample(i, doc_id=3 - i, doc={}) for i in range(4)],
        BY_PLACE,
        [("prompt_ids", row, "doc_id") for row in (1, 2, 3, 4)],
        "3 is toy-3 in toy, whose text is not in the request",
        "leave out --id-field",
    ),
    (
        "places beyond the suite",
        samples(of=1, doc_id=4),
        BY_PLACE,
        [("prompt_ids", 1, "doc_id")],
        "4, but toy has 4 prompts",
        "counted from 0",
    ),
    (
        "a place that is none",
        samples(of=1, doc_id=True),
        BY_PLACE,
        [("prompt_ids", 1, "doc_id")],
        "not a whole number from 0",
        "counted from 0",
    ),
    ("no place", samples(of=1, doc_id=...), BY_PLACE, [("prompt_ids", 1, "doc_id")], "is missing", "counted from 0"),
    (
        "no document",
        samples(of=3, doc=...),
        LmEvalOptions(),
        [("json", 3, "doc")],
        "missing, expected an object",
        "--log_sa",
    ),
    (
        "no object",
        samples(of=3, doc=["x"]),
        LmEvalOptions(),
        [("json", 3, "doc")],
        "a JSON list, expected",
        "--log_samples",
    ),
    (
        "the same document twice",
        [*samples(), sample(1)],
        LmEvalOptions(),
        [("prompt_ids", 5, "doc"), ("duplicates", 5, "resps[0]")],
        "'toy-1' already appears in row 2",
        "write one row for each prompt",
    ),
    (
        "other answers under another filter",
        [*samples(), sample(1, "other", resps=[["a", "b", "c"]])],
        LmEvalOptions(),
        [("json", 5, "resps")],
        "different responses to toy-1 than in row 2, under another filter",
        "--filter",
    ),
    (
        "no such filter",
        samples(),
        LmEvalOptions(filter="strict"),
        [("json", None, "filter")],
        "no row has the filter 'strict'",
        "there are none",
    ),
    (
        "no filters",
        samples(filter=...),
        LmEvalOptions(filter="strict"),
        [("json", None, "filter")],
        "no row has the filter 'strict'",
        "leave out --filter",
    ),
    (
        "a filter that is no text",
        samples(of=2, filter=5),
        LmEvalOptions(),
        [("json", 2, "filter")],
        "a whole number, expected a string",
        "--help for formats",
    ),
    (
        "choices, not answers",
        samples(of=2, resps=[[["-1.5", "False"]], [["-2.5", "False"]]]),
        LmEvalOptions(),
        [("json", 2, "resps")],
        "2 requests, expected one",
        "generate_until",
    ),
    (
        "a logarithm, not an answer",
        samples(of=2, resps=[[["-1.5", "False"]]]),
        LmEvalOptions(),
        [("json", 2, "resps[0][0]")],
        "a list, expected a string",
        "--help for formats",
    ),
    (
        "a text for the repeats",
        samples(of=2, resps=["one"]),
        LmEvalOptions(),
        [("json", 2, "resps[0]")],
        "a string, expected a list",
        "--help for formats",
    ),
    (
        "no answers",
        samples(of=2, resps=...),
        LmEvalOptions(),
        [("json", 2, "resps")],
        "the field is missing",
        "every row",
    ),
    (
        "null",
        samples(of=2, resps=None),
        LmEvalOptions(),
        [("json", 2, "resps")],
        "null, expected a list",
        "--help for formats",
    ),
    (
        "a null answer",
        samples(of=2, resps=[["a", None, "c"]]),
        LmEvalOptions(),
        [("json", 2, "resps[0][1]")],
        "null, expected a string",
        "empty string",
    ),
    (
        "half a letter",
        samples(of=2, resps=[["a", "\ud800", "c"]]),
        LmEvalOptions(),
        [("json", 2, "resps[0][1]")],
        "unpaired surrogate",
        "complete characters",
    ),
    (
        "one repeat too few",
        samples(of=4, resps=[["a", "b"]]),
        LmEvalOptions(),
        [("k", 4, "resps[0]")],
        "2 responses, but k is",
        "k responses to every prompt",
    ),
    (
        "a temperature that is none",
        samples(arguments={"gen_args_0": {"arg_0": "x", "arg_1": {"temperature": "hot"}}}),
        LmEvalOptions(),
        [("manifest", 1, "arguments.gen_args_0.arg_1.temperature")],
        "Input should be a valid number",
        "fix the file",
    ),
]


@each(("rows", "documents", "where", "message", "hint"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_what_is_wrong_is_told_with_its_row_and_field(
    tmp_path: Path, rows: list[object], documents: LmEvalOptions, where: list[Place], message: str, hint: str
) -> None:
    problems = refusal(tmp_path, rows, documents).findings.problems
    assert places(problems) == where
    assert message in problems[0].message
    assert hint in problems[0].hint


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    rows: list[object] = [
        sample(0, resps=...),
        sample(1, doc=...),
        b"{",
        sample(3, resps=[["a", 1]], doc={}, arguments=...),
    ]
    found = places(refusal(tmp_path, rows).findings.problems)
    assert found == [
        ("json", 1, "resps"),
        ("json", 2, "doc"),
        ("json", 3, ""),
        ("json", 4, "resps[0][1]"),
        ("prompt_ids", 4, "doc"),
    ]


def line(**changes: str) -> bytes:
    """The second row with fields written by hand."""
    made = {key: json.dumps(value) for key, value in sample(1).items()} | changes
    return ("{" + ", ".join(f'"{key}": {value}' for key, value in made.items()) + "}").encode()


@each(
    ("made", "message"),
    [
        pytest.param(lambda: line(bypass="NaN"), "NaN is not a JSON value", id="NaN"),
        pytest.param(lambda: line(resps="[[-Infinity]]"), "-Infinity is not a JSON value", id="infinity"),
        pytest.param(lambda: line(doc="[" * 100_000), "nested more than 8 deep", id="100,000 brackets"),
        pytest.param(lambda: line(doc='{"a":' * 9 + "0" + "}" * 9), "nested more than 8 deep", id="ten deep"),
        pytest.param(lambda: line(doc='{"a": 1, "a": 2}'), "the key 'a' is repeated", id="a key twice"),
        pytest.param(lambda: line(doc_id="9" * 5000), "Exceeds the limit", id="a huge number"),
        pytest.param(lambda: line(doc='"' + "\\" * 999_999), "not JSON", id="backslashes"),
        pytest.param(lambda: b'["doc"]', "a JSON list, expected an object", id="a list"),
        pytest.param(lambda: b"\xff\xfe", "not UTF-8", id="UTF-16"),
    ],
)
def test_hostile_lines_are_rejected_like_any_other(tmp_path: Path, made: Callable[[], bytes], message: str) -> None:
    rows = samples()
    rows[1] = made()
    problems = refusal(tmp_path, rows).findings.problems
    assert [problem.row for problem in problems] == [2]
    assert message in problems[0].message
    assert len(problems[0].message) < 600


def test_a_line_over_the_limit_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", 2000)
    problems = refusal(tmp_path, samples(of=3, target="x" * 3000)).findings.problems
    assert places(problems) == [("sizes", 3, "")]


@each("doc", [{"k" * 100_000: "v"}, {f"key {i}": 0 for i in range(50_000)}, {"question": "x" * 1_000_000}])
def test_messages_stay_short_whatever_a_document_is(tmp_path: Path, doc: Json) -> None:
    problems = refusal(tmp_path, samples(of=1, doc=doc, arguments=...), BY_KEY).findings.problems
    assert all(len(problem.message) <= 501 and len(problem.hint) < 800 for problem in problems)


def test_no_file_makes_the_search_for_prompts_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = Suite("s", "s", tuple(Prompt(f"p{i}", "c", f"{'ab' * 50}{i}") for i in range(200)))

    def problems(texts: list[str]) -> Findings:
        rows = [sample(0, doc={}, arguments=asked(text)) for text in texts]
        findings = Findings()
        assert read_lm_eval(jsonl(tmp_path / "in.jsonl", rows), findings, suite).rows == []
        assert findings.count("error") == len(texts)
        return findings

    monkeypatch.setattr(lm_eval, "MAX_LOOKED", 200 * 4000)
    found = problems([f"{place} {'ab' * 500}" for place in range(50)]).problems
    assert [p.field for p in found] == ["doc"] * 3 + ["arguments"] * 47
    assert "it contains no prompt of s" in found[0].message
    assert "too long to search for 200 prompts" in found[3].message
    assert [p.field for p in problems(["the same " * 100] * 50).problems] == ["doc"] * 50  # which is looked into once
    monkeypatch.undo()
    [problem] = problems([" ".join(prompt.prompt for prompt in suite.prompts)]).problems
    assert "it may be any of p0, p1, p10" in problem.message
