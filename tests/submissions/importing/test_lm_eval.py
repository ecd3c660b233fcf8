"""Samples of lm-evaluation-harness: documents are matched with prompts, and repeats are their responses."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datasets_build.schema import Prompt
from submissions.checking.validate import open_submission
from submissions.importing.imported import DEFAULT_OPTIONS, ImportOptions
from submissions.importing.importers import import_submission
from submissions.schema import Manifest, Row
from submissions.untrusted.findings import Rejected
from tests.cases import each
from tests.conftest import TOY, toy_rows
from tests.submissions.conftest import KNOWN, Json, Place, find_toy, jsonl, places

KWARGS: Json = {"until": ["\n\n", "Q:"], "do_sample": True, "temperature": 0.7, "top_p": 0.9, "max_gen_toks": 64}


def sample(i: int, name: str = "none", **changes: Any) -> Json:
    """A row as the harness writes it, of a task that asks the toy suite's prompts with `repeats: 3`; `...` removes."""
    prompt, row = TOY.prompts[i], toy_rows()[i]
    values: Json = {
        "doc_id": i,
        "doc": {"question": prompt.prompt, "level": i},
        "target": "",
        "arguments": {"gen_args_0": {"arg_0": f"Q: {prompt.prompt}\nA:", "arg_1": KWARGS}},
        "resps": [list(row.responses)],
        "filtered_resps": [row.responses[0]],
        "filter": name,
        "metrics": ["bypass"],
        "doc_hash": "0" * 64,
        "prompt_hash": "1" * 64,
        "target_hash": "2" * 64,
        "bypass": 999,
    }
    return {key: value for key, value in (values | changes).items() if value is not ...}


def samples(*, of: int | None = None, **changes: Any) -> list[object]:
    """All four rows, the changes in all of them or in one, by its number."""
    return [sample(i, **(changes if of in (None, i + 1) else {})) for i in range(4)]


def request(text: Any) -> Json:
    return {"gen_args_0": {"arg_0": text, "arg_1": KWARGS}}


def imported(
    tmp_path: Path,
    rows: list[object],
    options: ImportOptions = DEFAULT_OPTIONS,
    **known: Any,
) -> tuple[Manifest, list[Row]]:
    path = jsonl(tmp_path / "samples_toy_2026-01-21T03-44-18.458309.jsonl", rows)
    import_submission(path, "lm-eval", tmp_path / "out", KNOWN | known, find_toy, options)
    submission, _, _ = open_submission(tmp_path / "out", find_toy)
    return submission.manifest, list(submission.rows())


def answers(rows: list[Row]) -> dict[str, tuple[str, ...]]:
    return {row.prompt_id: row.responses for row in rows}


GOOD = answers(toy_rows())


def test_a_file_of_samples_is_imported_with_its_sampling(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "in.jsonl", samples()[::-1])
    report, unused = import_submission(path, "lm-eval", tmp_path / "out", KNOWN, find_toy)
    assert report.submission is not None
    rows = list(report.submission.rows())
    assert answers(rows) == GOOD
    assert [row.prompt for row in rows] == [prompt.prompt for prompt in TOY.prompts]
    sampling = report.submission.manifest.generation.model_dump(exclude_defaults=True)
    assert sampling == {"k": 3, "temperature": 0.7, "top_p": 0.9, "max_tokens": 64, "stop": ("\n\n", "Q:")}
    hashes = {"doc_hash", "prompt_hash", "target_hash"}
    assert unused == {"target", "filtered_resps", "metrics", "bypass", "arguments.gen_args_0.arg_1.do_sample", *hashes}


CHAT = [{"role": "system", "content": "x"}, {"role": "user", "content": "?"}]


@each(
    "changes",
    [
        lambda p: {"doc": {"prompt_id": p.prompt_id, "prompt": p.prompt}},
        lambda p: {"doc": {"text": f"\n{p.prompt} "}},
        lambda p: {"doc": {}, "arguments": request(p.prompt)},
        lambda p: {"doc": {}, "arguments": request(json.dumps(CHAT).replace("?", p.prompt))},
        lambda p: {"doc": {}, "arguments": request([json.dumps(CHAT[1:]).replace("?", p.prompt)])},
        lambda p: {"doc": {}, "arguments": [[p.prompt, KWARGS]]},
    ],
    ids=["id", "field", "request", "last message", "chat of a server", "lists"],
)
def test_ways_to_identify_a_document(tmp_path: Path, changes: Callable[[Prompt], Json]) -> None:
    _, rows = imported(tmp_path, [sample(i, **changes(prompt)) for i, prompt in enumerate(TOY.prompts)])
    assert answers(rows) == GOOD
    assert [row.prompt for row in rows] == [p.prompt for p in TOY.prompts]


@each("changes", [{}, {"arguments": ...}], ids=["with requests", "without"])
def test_ids_are_in_a_named_field_or_are_positions(tmp_path: Path, changes: Json) -> None:
    rows: list[object] = [
        sample(i, doc={"key": prompt.prompt_id, "question": "another"}, **changes)
        for i, prompt in enumerate(TOY.prompts)
    ]
    for name in ("key", "doc_id"):
        assert answers(imported(tmp_path / name, rows, ImportOptions(id_field=name))[1]) == GOOD


def test_own_prompts_are_identified_by_their_ids_or_numbers(tmp_path: Path) -> None:
    _, rows = imported(tmp_path / "a", samples(doc={"prompt": "The prompt"}), suite="own")
    assert [(row.prompt_id, row.prompt) for row in rows] == [(str(i), "The prompt") for i in range(4)]
    _, rows = imported(tmp_path / "b", samples(), suite="own")
    assert [row.prompt for row in rows] == [f"Q: {prompt.prompt}\nA:" for prompt in TOY.prompts]
    named: list[object] = [sample(i, doc={"prompt_id": f"n{i}", "prompt": "It"}) for i in range(4)]
    _, rows = imported(tmp_path / "d", named, suite="own")
    assert [(row.prompt_id, row.prompt) for row in rows] == [(f"n{i}", "It") for i in range(4)]


def test_rows_of_other_filters_repeat_a_document_and_filtered_responses_can_be_read(tmp_path: Path) -> None:
    both: list[object] = [sample(i, name, filtered_resps=[f"{i}"]) for name in ("strict", "flexible") for i in range(4)]
    assert answers(imported(tmp_path / "both", both)[1]) == GOOD
    unnamed: list[object] = [sample(i, filter=...) for _ in range(2) for i in range(4)]
    assert answers(imported(tmp_path / "unnamed", unnamed)[1]) == GOOD
    _, rows = imported(tmp_path / "filtered", both, ImportOptions(field="filtered_resps"))
    assert [row.responses for row in rows] == [(f"{i}",) for i in range(4)]


@each(
    ("kwargs", "expected"),
    [
        ({"do_sample": False, "temperature": 0.0}, {"temperature": 0.0}),
        ({"do_sample": False, "temperature": 0.8}, {}),  # which greedy search ignores
        ({"max_new_tokens": 5, "top_k": 3, "seed": 7}, {"max_tokens": 5, "top_k": 3, "seed": 7}),
        ({"until": ["x"] * 11}, {}),
        ({"until": "x"}, {}),
    ],
)
def test_sampling_parameters_are_in_the_manifest(tmp_path: Path, kwargs: Json, expected: Json) -> None:
    manifest, _ = imported(tmp_path, samples(arguments={"gen_args_0": {"arg_0": "x", "arg_1": kwargs}}))
    assert manifest.generation.model_dump(exclude_defaults=True) == {"k": 3} | expected


BY_POSITION, BY_KEY = "doc_id", "key"
BAD: dict[str, tuple[Any, ...]] = {  # rows, id field, places of the problems, message of the first
    "no such prompt": (
        samples(of=2, doc={"question": "Say thing 9."}, arguments=...),
        *(None, [("prompt_ids", 2, "doc")], "the prompt cannot be identified: no field of doc is a prompt of toy"),
    ),
    "two prompts": (
        samples(of=2, doc={"a": "Say thing 0.", "b": "Say thing 3."}, arguments=...),
        *(None, [("prompt_ids", 2, "doc")], "it may be any of toy-0, toy-3"),
    ),
    "no such field": (
        samples(of=2, doc={"question": "x", "name": "y"}),
        *(BY_KEY, [("prompt_ids", row, "doc.key") for row in (1, 2, 3, 4)], "the field is missing"),
    ),
    "list as an id": (
        [sample(i, doc={"key": [i]}) for i in range(4)],
        *(BY_KEY, [("prompt_ids", row, "doc.key") for row in (1, 2, 3, 4)], "the field is missing or is no id"),
    ),
    "other order": (
        [sample(i, doc_id=3 - i, doc={}) for i in range(4)],
        BY_POSITION,
        [("prompt_ids", row, "doc_id") for row in (1, 2, 3, 4)],
        "is toy-3 in toy, whose text is not in the request",
    ),
    "beyond the suite": (
        samples(of=1, doc_id=4), BY_POSITION, [("prompt_ids", 1, "doc_id")], "no position in the suite"
    ),
    "no position": (samples(of=1, doc_id=True), BY_POSITION, [("prompt_ids", 1, "doc_id")], "no position"),
    "no document": (samples(of=3, doc=...), None, [("prompt_ids", 3, "doc")], "the prompt cannot be"),
    "twice": (
        [*samples(), sample(1)],
        *(None, [("prompt_ids", 5, "doc"), ("duplicates", 5, "resps[0]")], "'toy-1' already appears in row 2"),
    ),
    "another filter": (
        [*samples(), sample(1, "other", resps=[["a", "b", "c"]])],
        *(None, [("json", 5, "resps")], "different responses to toy-1 than in row 2, under another filter"),
    ),
    "choices": (samples(of=2, resps=[[["-1.5"]], [["-2"]]]), None, [("json", 2, "resps")], "2 requests, expected one"),
    "logarithm": (samples(of=2, resps=[[["-1.5"]]]), None, [("json", 2, "resps[0][0]")], "a list, expected a string"),
    "text": (samples(of=2, resps=["one"]), None, [("json", 2, "resps[0]")], "a string, expected a list"),
    "no responses": (samples(of=2, resps=...), None, [("json", 2, "resps")], "no list, expected one"),
    "one too few": (samples(of=4, resps=[["a", "b"]]), None, [("k", 4, "resps[0]")], "2 responses, but k is"),
    "temperature": (
        samples(arguments={"gen_args_0": {"arg_0": "x", "arg_1": {"temperature": "hot"}}}),
        *(None, [("manifest", 1, "arguments.gen_args_0.arg_1.temperature")], "Input should be a valid number"),
    ),
    "long names": (
        samples(of=1, doc={"k" * 100_000: "v"}, arguments=...),
        *(BY_KEY, [("prompt_ids", row, "doc.key") for row in (1, 2, 3, 4)], "the field is missing"),
    ),
}  # fmt: skip


@each(("rows", "id_field", "expected", "message"), BAD.values(), ids=BAD)
def test_bad_samples_are_rejected_by_row_and_field(
    tmp_path: Path, rows: list[object], id_field: str | None, expected: list[Place], message: str
) -> None:
    with pytest.raises(Rejected) as caught:
        imported(tmp_path, rows, ImportOptions(id_field=id_field))
    problems = caught.value.findings.problems
    assert places(problems) == expected
    assert message in problems[0].message
    assert all(p.hint and len(p.message) <= 501 and len(p.hint) < 800 for p in problems)
    assert not (tmp_path / "out").exists()
