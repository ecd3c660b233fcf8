"""Samples of lm-evaluation-harness: documents find their prompts, repeats are answers, and what is wrong is told."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datasets_build.schema import Prompt, Suite
from divbench.core.errors import ConfigurationError
from submissions.checking.validate import open_submission
from submissions.importing.importers import Format, ImportOptions, LmEvalOptions, import_submission
from submissions.importing.lm_eval import DEFAULT_OPTIONS, read_lm_eval
from submissions.schema import Manifest, Row
from submissions.untrusted.findings import Findings
from tests.cases import each
from tests.conftest import TOY, divbench, document, toy_rows
from tests.submissions.conftest import KNOWN, Json, find_toy, jsonl, rejected
from tests.submissions.lm_eval_samples import KWARGS, asked, sample, samples

BY_PLACE = LmEvalOptions(id_field="doc_id")


def imported(
    tmp_path: Path, rows: list[object], documents: LmEvalOptions = DEFAULT_OPTIONS, **known: Any
) -> tuple[Manifest, list[Row]]:
    path = jsonl(tmp_path / "samples_toy_2026-01-21T03-44-18.458309.jsonl", rows)
    import_submission(path, "lm-eval", tmp_path / "out", KNOWN | known, find_toy, ImportOptions(documents=documents))
    submission, _, _ = open_submission(tmp_path / "out", find_toy)
    return submission.manifest, list(submission.rows())


def answers(rows: list[Row]) -> dict[str, tuple[str, ...]]:
    return {row.prompt_id: row.responses for row in rows}


GOOD = answers(toy_rows())


def test_a_document_is_known_by_its_text_and_its_repeats_are_the_answers(tmp_path: Path) -> None:
    manifest, rows = imported(tmp_path, samples()[::-1])
    assert answers(rows) == GOOD
    assert [row.prompt for row in rows] == [prompt.prompt for prompt in TOY.prompts]
    assert manifest.origin is not None
    assert manifest.origin.format == "lm-eval"
    drawn = manifest.generation.model_dump(exclude_defaults=True)
    assert drawn == {"k": 3, "temperature": 0.7, "top_p": 0.9, "max_tokens": 64, "stop": ("\n\n", "Q:")}


@each(
    ("changes", "has_text"),
    [
        pytest.param(lambda p: {"doc": {"prompt_id": p.prompt_id, "prompt": p.prompt}}, True, id="id in doc"),
        pytest.param(lambda p: {"doc": {"text": f"\n{p.prompt} "}}, True, id="a field but for white space"),
        pytest.param(lambda p: {"doc": {}, "arguments": asked(p.prompt)}, True, id="what was asked"),
        pytest.param(lambda p: {"doc": {}}, False, id="within what was asked"),
        pytest.param(
            lambda p: {
                "doc": {},
                "arguments": asked(
                    json.dumps([{"role": "system", "content": "x"}, {"role": "user", "content": p.prompt}])
                ),
            },
            True,
            id="the last message of a chat",
        ),
        pytest.param(
            lambda p: {"doc": {}, "arguments": asked([json.dumps([{"role": "user", "content": p.prompt}])])},
            True,
            id="a chat as a server gets it",
        ),
        pytest.param(lambda p: {"doc": {}, "arguments": [[f"Q: {p.prompt}", KWARGS]]}, False, id="arguments as lists"),
    ],
)
def test_ways_to_know_a_document(tmp_path: Path, changes: Callable[[Prompt], Json], has_text: bool) -> None:
    _, rows = imported(tmp_path, [sample(i, **changes(prompt)) for i, prompt in enumerate(TOY.prompts)])
    assert answers(rows) == GOOD
    assert [row.prompt for row in rows] == [p.prompt if has_text else None for p in TOY.prompts]


@each("asked_too", [True, False])
def test_ids_may_stand_in_a_named_field_or_be_places(tmp_path: Path, asked_too: bool) -> None:
    other: Json = {} if asked_too else {"arguments": ...}
    rows: list[object] = [
        sample(i, doc={"key": prompt.prompt_id, "question": "another"}, **other) for i, prompt in enumerate(TOY.prompts)
    ]
    assert answers(imported(tmp_path / "named", rows, LmEvalOptions(id_field="key"))[1]) == GOOD
    assert answers(imported(tmp_path / "placed", rows, BY_PLACE)[1]) == GOOD


def test_prompts_within_others_are_told_apart(tmp_path: Path) -> None:
    texts = ["Tell a joke", "Tell a joke about cats", "Tell a joke about cats and dogs", "Name a color"]
    suite = Suite("s", "s", tuple(Prompt(f"p{i}", "c", text) for i, text in enumerate(texts)))

    def found(text: str) -> list[str]:
        path = jsonl(tmp_path / "in.jsonl", [sample(0, doc={}, arguments=asked(text))])
        return [row.prompt_id for row in read_lm_eval(path, Findings(), suite).rows]

    for place, text in enumerate(texts):
        assert found(f"Answer this.\n{text}.") == [f"p{place}"]
    assert found("Name a color. Tell a joke.") == []


def test_own_prompts_are_named_by_their_ids_or_numbers(tmp_path: Path) -> None:
    _, rows = imported(tmp_path / "a", samples(doc={"prompt": "The prompt"}), suite="own")
    assert [(row.prompt_id, row.prompt) for row in rows] == [(str(i), "The prompt") for i in range(4)]
    _, rows = imported(tmp_path / "b", samples(), suite="own")
    assert [row.prompt for row in rows] == [f"Q: {prompt.prompt}\nA:" for prompt in TOY.prompts]
    _, rows = imported(tmp_path / "c", samples(), LmEvalOptions(id_field="level"), suite="own")
    assert [row.prompt_id for row in rows] == ["0", "1", "2", "3"]
    named = [sample(i, doc={"prompt_id": f"n{i}", "prompt": "It"}) for i in range(4)]
    _, rows = imported(tmp_path / "d", [*named], suite="own")
    assert [(row.prompt_id, row.prompt) for row in rows] == [(f"n{i}", "It") for i in range(4)]


def test_rows_for_other_filters_repeat_a_document(tmp_path: Path) -> None:
    both = [sample(i, name, filtered_resps=["[invalid]"]) for name in ("strict", "flexible") for i in range(4)]
    assert answers(imported(tmp_path / "named", [*both])[1]) == GOOD
    before_filters_were_named: list[object] = [sample(i, filter=...) for _ in range(2) for i in range(4)]
    assert answers(imported(tmp_path / "not named", before_filters_were_named)[1]) == GOOD


def test_filtered_answers_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    kept: list[object] = [
        sample(i, name, filtered_resps=[[f"{name} {i} {j}" for j in range(2)]])
        for name in ("first", "second")
        for i in range(4)
    ]
    documents = LmEvalOptions(responses="filtered_resps", filter="second")
    manifest, rows = imported(tmp_path / "all", kept, documents)
    assert manifest.generation.k == 2
    assert rows[3].responses == ("second 3 0", "second 3 1")
    _, rows = imported(tmp_path / "one", samples(), LmEvalOptions(responses="filtered_resps"))
    assert answers(rows) == {name: texts[:1] for name, texts in GOOD.items()}


def test_what_is_known_of_the_sampling_goes_into_the_manifest(tmp_path: Path) -> None:
    def drawn(name: str, **kwargs: Any) -> Json:
        rows = samples(arguments={"gen_args_0": {"arg_0": "x", "arg_1": kwargs}})
        manifest, _ = imported(tmp_path / name, rows)
        return {
            key: value for key, value in manifest.generation.model_dump(exclude_defaults=True).items() if key != "k"
        }

    assert drawn("greedy", do_sample=False, temperature=0.0) == {"temperature": 0.0}
    assert drawn("greedy whatever it says", do_sample=False, temperature=0.8) == {}
    assert drawn("other names", max_new_tokens=5, top_k=3, seed=7) == {"max_tokens": 5, "top_k": 3, "seed": 7}
    assert drawn("no stops", until=[]) == drawn("too many stops", until=["x"] * 11) == {}
    assert drawn("no texts", until=["x", 3]) == drawn("one text", until="x") == {}


def test_what_is_given_comes_before_what_the_file_says(tmp_path: Path) -> None:
    manifest, _ = imported(tmp_path, samples(), generation={"temperature": 1.0, "k": 3})
    assert (manifest.generation.temperature, manifest.generation.top_p) == (1.0, 0.9)


@each("kind", ["jsonl", "noveltybench"])
def test_documents_are_of_this_format_alone(tmp_path: Path, kind: Format) -> None:
    path = jsonl(tmp_path / "in.jsonl", samples())
    with pytest.raises(ConfigurationError, match="has no documents"):
        import_submission(path, kind, tmp_path / "out", KNOWN, find_toy, ImportOptions(documents=BY_PLACE))


def test_fields_that_are_not_used_are_named(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "in.jsonl", samples())
    _, unused = import_submission(path, "lm-eval", tmp_path / "out", KNOWN, find_toy)
    hashes = {"doc_hash", "prompt_hash", "target_hash"}
    kwarg = "arguments.gen_args_0.arg_1.do_sample"
    assert unused == {"target", "filtered_resps", "metrics", "bypass", kwarg, *hashes}


def test_other_formats_still_refuse_such_a_file(tmp_path: Path) -> None:
    assert {p.field for p in rejected(jsonl(tmp_path / "in.jsonl", samples()))} == {"prompt_id"}


def test_the_command(tmp_path: Path) -> None:
    rows: list[object] = [
        sample(i % 4, name, doc_id=i, doc={"n": i, "id": f"demo-{i:02}"}, resps=[[f"a {i}", f"b {i}"]])
        for name in ("x", "y")
        for i in range(24)
    ]
    path = jsonl(tmp_path / "samples_demo_2026-01-01.jsonl", rows)
    options = ("--from", "lm-eval", "--suite", "demo", "--name", "mine", "--submitter", "me", "--date", "2026-01-02")
    one = divbench("import", path, *options, "--out", tmp_path / "one", "--id-field", "id", "--json")
    assert one.returncode == 0, one.stderr
    two = divbench(
        "import", path, *options, "--out", tmp_path / "two", "--id-field", "id", "--filter", "y", "--json"
    )  # fmt: skip
    assert two.returncode == 0, two.stderr
    assert document(one)["id"] == document(two)["id"]
    wrong = divbench("import", path, *options, "--out", tmp_path / "three", "--answers", "filtered_resps")
    assert wrong.returncode == 1
    assert "--id-field" in wrong.stderr
    assert not (tmp_path / "three").exists()
