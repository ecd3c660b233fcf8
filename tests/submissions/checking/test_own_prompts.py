"""Prompts that no suite of ours has: a submission's own rows make its suite, and a file of one's own can be read."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.analysis.contrast.systems import open_systems
from benchmark.scoring.shards import shards_of
from datasets_build.schema import Prompt, Suite
from divbench.core.errors import ConfigurationError
from submissions.checking import checks
from submissions.checking.prompts import MAX_PROMPT_BYTES, own_suite, read_prompts
from submissions.checking.validate import Report, open_submission, validate
from submissions.gaming.attacks import ATTACKS
from submissions.gaming.derive import write_baseline
from submissions.schema import Generation, Manifest, Row
from submissions.storage.submission_folders import write_submission
from tests.cases import each
from tests.conftest import divbench, document, toy_manifest
from tests.submissions.conftest import (
    Json,
    a_prompt_a_row,
    a_response_a_row,
    add_reported,
    as_noveltybench,
    imported,
    jsonl,
    places,
    rejected,
    rewrite,
    with_row,
)

# In no order that sorting would give.
TEXTS = {"zebra": "Name a zebra.", "ant #1": "Name an ant.\nA small one.", "é/ü": "Nenne ein Tier: é.", "7": "Name 7."}


def own_rows(k: int = 3) -> list[Row]:
    return [
        Row(i + 1, name, text, tuple(f"answer {j} to {name}" for j in range(k)))
        for i, (name, text) in enumerate(TEXTS.items())
    ]


def own_manifest(k: int = 3, name: str = "mine") -> Manifest:
    return toy_manifest().model_copy(update={"suite": "own", "name": name, "generation": Generation(k=k)})


def write_own(folder: Path, rows: Sequence[Row] | None = None, name: str = "mine") -> Path:
    """A submission to prompts of its own."""
    folder.mkdir(parents=True)
    write_submission(folder, own_manifest(name=name), own_rows() if rows is None else rows)
    return folder


def no_suite(name: str) -> Suite:
    raise AssertionError(f"the suite {name} is looked up")


def check(folder: Path) -> Report:
    return validate(folder, no_suite)


def changed(number: int, **changes: object) -> Callable[[Json], Json]:
    name = list(TEXTS)[number - 1]
    return lambda row: row | changes if row["prompt_id"] == name else row


def test_the_suite_is_what_stands_in_the_file(tmp_path: Path) -> None:
    submission, suite, report = open_submission(write_own(tmp_path / "own"), no_suite)
    expected = Suite("own", "own prompts", tuple(Prompt(name, "own", text) for name, text in sorted(TEXTS.items())))
    assert suite == expected == own_suite(submission.rows())
    assert suite.revision == expected.revision
    assert report.findings.problems == []
    assert submission.prompts == 4


def test_the_revision_is_that_of_the_prompts_alone(tmp_path: Path) -> None:
    def revision(name: str, rows: Sequence[Row]) -> str:
        return open_submission(write_own(tmp_path / name, rows), no_suite)[1].revision

    rows = own_rows()
    first = revision("first", rows)
    answered_else = [Row(row.number, row.prompt_id, row.prompt, ("x", row.prompt_id, "z")) for row in rows]
    assert revision("other answers", answered_else) == revision("other order", rows[::-1]) == first
    for name, others in {
        "other text": [Row(1, "zebra", "Name a zebra!", rows[0].responses), *rows[1:]],
        "other id": [Row(1, "horse", "Name a zebra.", rows[0].responses), *rows[1:]],
        "fewer": rows[:3],
    }.items():
        assert revision(name, others) != first


def test_rows_in_another_order_are_the_same_submission_and_are_scored_in_one_order(tmp_path: Path) -> None:
    scored = []
    for name, rows in (("one", own_rows()), ("other", own_rows()[::-1])):
        submission, suite, _ = open_submission(write_own(tmp_path / name, rows), no_suite)
        shards = list(shards_of(submission, suite, 2, None))
        scored.append((submission.id, [(row.prompt_id, row.responses) for shard in shards for row in shard.rows]))
    assert scored[0] == scored[1]
    assert [prompt_id for prompt_id, _ in scored[0][1]] == sorted(TEXTS)


# change, where the problems are, and the first one's message and mend.
BAD: dict[str, tuple[Callable[[Json], Json | None], list[tuple[str, int | None, str]], str, str]] = {
    "no text": (
        changed(2, prompt=None),
        [("prompt_text", 2, "prompt")],
        "the prompt's text is missing",
        "no suite has it",
    ),
    "blank": (changed(1, prompt=" \n\u200b"), [("prompt_text", 1, "prompt")], "blank", "write a prompt"),
    "long": (
        changed(3, prompt="é" * (MAX_PROMPT_BYTES // 2 + 1)),
        [("prompt_text", 3, "prompt")],
        "262,146 bytes",
        "at most 262,144 are allowed",
    ),
    "id twice, of another text": (
        changed(3, prompt_id="zebra"),
        [("prompt_ids", 3, "prompt_id")],
        "'zebra' already appears in row 1",
        "write one row for each prompt",
    ),
    "id with a space at its end": (
        changed(2, prompt_id="a "),
        [("prompt_ids", 2, "prompt_id")],
        "'a ' is not a valid id: must not be blank, or begin or end with white space",
        "at most 200 printable characters",
    ),
    "long id": (
        changed(2, prompt_id="a" * 201),
        [("prompt_ids", 2, "prompt_id")],
        "String should have at most 200 characters",
        "at most 200",
    ),
    "invisible id": (
        changed(4, prompt_id="a\u200bb"),
        [("prompt_ids", 4, "prompt_id")],
        "has a control, invisible or unassigned character",
        "printable",
    ),
    "empty id": (changed(4, prompt_id=""), [("prompt_ids", 4, "prompt_id")], "'' is not a valid id", "printable"),
    "no rows": (
        lambda row: None,
        [("prompt_ids", None, "prompt_id")],
        "there are no rows",
        "write one row for each prompt",
    ),
    "null response": (changed(1, responses=["a", None, "c"]), [("nulls", 1, "responses[1]")], "null response", "empty"),
    "k": (changed(1, responses=["a"]), [("k", 1, "responses")], "1 response, but k is", "give k responses"),
}


@each(("change", "where", "message", "hint"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_said_and_nothing_else(
    tmp_path: Path,
    change: Callable[[Json], Json | None],
    where: list[tuple[str, int | None, str]],
    message: str,
    hint: str,
) -> None:
    report = check(rewrite(write_own(tmp_path / "bad"), change))
    assert report.submission is None
    assert report.suite is None
    assert places(report.findings.problems) == where
    assert message in report.findings.problems[0].message
    assert hint in report.findings.problems[0].hint


def test_problems_of_several_rows_are_told_at_once(tmp_path: Path) -> None:
    folder = write_own(tmp_path / "bad")
    for change in (changed(1, prompt=None), changed(3, prompt=" "), changed(4, prompt_id="\t")):
        rewrite(folder, change)
    assert places(check(folder).findings.problems) == [
        ("prompt_text", 1, "prompt"),
        ("prompt_text", 3, "prompt"),
        ("prompt_ids", 4, "prompt_id"),
    ]


def test_a_file_that_breaks_off_is_told_by_its_damage_alone(tmp_path: Path) -> None:
    path = write_own(tmp_path / "bad") / "generations.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    assert [p.check for p in check(path.parent).findings.problems] == ["parquet"]


def test_bytes_that_are_no_utf8_are_told_by_row(tmp_path: Path) -> None:
    folder = write_own(tmp_path / "bad")
    table = pq.read_table(folder / "generations.parquet")
    pq.write_table(table, folder / "generations.parquet", compression="none")
    path = folder / "generations.parquet"
    path.write_bytes(path.read_bytes().replace("Tier: é".encode(), b"Tier: \xe9\xe9"))
    assert places(check(folder).findings.problems) == [("encoding", 3, "prompt")]


def test_prompts_in_all_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_own(tmp_path / "own")
    size = sum(len(text.encode()) for text in TEXTS.values())
    monkeypatch.setattr(checks, "MAX_PROMPTS_BYTES", size)
    assert check(folder).findings.problems == []
    monkeypatch.setattr(checks, "MAX_PROMPTS_BYTES", size - 1)
    assert places(check(folder).findings.problems) == [("sizes", None, "prompt")]


def test_reported_values_may_come_with_own_prompts(tmp_path: Path) -> None:
    rows = [Row(i + 1, f"toy-{i}", f"Say thing {i}.", ("a", f"b {i}", f"c {i}")) for i in range(4)]
    report = check(add_reported(write_own(tmp_path / "own", rows)))
    assert report.findings.problems == []
    assert report.submission is not None
    assert len(report.submission.reported()) == 4


@each("rows", [a_prompt_a_row(), a_response_a_row()], ids=["a-prompt-a-row", "a-response-a-row"])
def test_own_prompts_are_imported_in_the_order_of_their_ids(tmp_path: Path, rows: list[Json]) -> None:
    report, _ = imported(jsonl(tmp_path / "in.jsonl", rows[::-1]), suite="own")
    assert report.suite is not None
    assert [prompt.prompt_id for prompt in report.suite.prompts] == ["toy-0", "toy-1", "toy-2", "toy-3"]
    assert report.suite.prompts[0].prompt == "Say thing 0."
    submission, suite, _ = open_submission(tmp_path / "out", no_suite)
    assert suite == report.suite
    assert [row.responses[0] for row in submission.rows()] == [f"answer 0 to thing {i}" for i in range(4)]


def test_noveltybenchs_files_may_have_own_prompts(tmp_path: Path) -> None:
    report, _ = imported(jsonl(tmp_path / "in.jsonl", as_noveltybench()), "noveltybench", suite="own")
    assert report.submission is not None
    assert len(report.submission.reported()) == 4


@each(
    ("rows", "where"),
    [
        (with_row(2, prompt=...), [("prompt_text", 2, "prompt")]),
        (with_row(3, prompt=" "), [("prompt_text", 3, "prompt")]),
        (with_row(3, prompt_id="toy-0", prompt="Else."), [("prompt_ids", 3, "prompt_id")]),
        (with_row(3, prompt_id="a\nb"), [("prompt_ids", 3, "prompt_id")]),
        ([row | {"prompt": None} for row in a_prompt_a_row()], [("json", i, "prompt") for i in (1, 2, 3, 4)]),
        (
            [{key: value for key, value in row.items() if key != "prompt"} for row in a_response_a_row(2)],
            [("prompt_text", i, "prompt") for i in (1, 3, 5, 7)],
        ),
    ],
    ids=["no text", "blank", "twice", "odd id", "null", "a response a row"],
)
def test_a_file_that_lacks_own_prompts_is_rejected(
    tmp_path: Path, rows: list[object], where: list[tuple[str, int | None, str]]
) -> None:
    problems = rejected(jsonl(tmp_path / "in.jsonl", rows), suite="own")
    assert places(problems) == where
    assert {p.file for p in problems} == {"in.jsonl"}


def test_a_baseline_answers_the_same_own_prompts(tmp_path: Path) -> None:
    submission, suite, _ = open_submission(write_own(tmp_path / "own"), no_suite)
    for attack in ATTACKS[:4]:
        write_baseline(attack, submission, suite, tmp_path / attack.name)
        assert open_submission(tmp_path / attack.name, no_suite)[1] == suite


def test_systems_are_compared_where_their_own_prompts_are_the_same(tmp_path: Path) -> None:
    one, two = write_own(tmp_path / "one", name="one"), write_own(tmp_path / "two", name="two")
    found = open_systems([str(one), str(two)])
    assert [prompt.prompt_id for prompt in found.prompts] == sorted(TEXTS)
    reversed_ = write_own(tmp_path / "reversed", own_rows()[::-1], name="reversed")
    assert open_systems([str(one), str(reversed_)]).responses["reversed"] == found.responses["one"]
    other = write_own(tmp_path / "other", [replace(own_rows()[0], prompt_id="horse"), *own_rows()[1:]], name="other")
    wanted = "their own prompts, which differ in ids or texts: prompt 3 is zebra and horse"
    with pytest.raises(ConfigurationError, match=wanted):
        open_systems([str(one), str(other)])
    fewer = write_own(tmp_path / "fewer", own_rows()[:-1], name="fewer")
    with pytest.raises(ConfigurationError, match=f"one has {len(TEXTS)} prompts, another {len(TEXTS) - 1}"):
        open_systems([str(one), str(two), str(fewer)])


def test_own_prompts_go_the_whole_way(tmp_path: Path) -> None:
    rows = [{"id": n, "prompt": t, "responses": [f"{n} a", f"{n} b c", "d"]} for n, t in TEXTS.items()]
    path, out = jsonl(tmp_path / "in.jsonl", rows), tmp_path / "subs" / "mine"
    options = ("--from", "jsonl", "--name", "mine", "--submitter", "me", "--suite", "own", "--out", out)
    ended = divbench("import", path, *options)
    assert ended.returncode == 0, ended.stderr
    assert "suite own, k = 3" in ended.stdout
    assert document(divbench("validate", out, "--json"))["accepted"]
    results = tmp_path / "results"
    scored = document(divbench("score", out, "--profile", "lexical", "--out", results, "--json"))["results"][0][
        "result"
    ]
    suite = open_submission(out, no_suite)[1]
    assert (scored["suite"], scored["suite_revision"], scored["prompts"]) == ("own", suite.revision, 4)
    assert all(score["signature"]["suite"] == f"own@{suite.revision}" for score in scored["scores"])
    [board] = document(divbench("board", "show", "--results", results, "--json"))
    assert (board["suite"], board["suite_revision"]) == ("own", suite.revision)
    explained = divbench("metrics", "explain", out, "--prompt", "zebra", "--json")
    assert explained.returncode == 0, explained.stderr


def test_the_importer_says_which_row_lacks_its_prompt(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "in.jsonl", with_row(2, prompt=...))
    options = ("--from", "jsonl", "--name", "mine", "--submitter", "me", "--suite", "own", "--out", tmp_path / "out")
    ended = divbench("import", path, *options, "--json")
    assert ended.returncode == 1
    [problem] = document(ended)["problems"]
    assert (problem["file"], problem["row"], problem["field"]) == ("in.jsonl", 2, "prompt")
    assert not (tmp_path / "out").exists()


def test_one_text_under_several_ids_is_a_warning(tmp_path: Path) -> None:
    rows = [Row(i, f"row-{i}", "Say something." if i < 4 else "Sing.", ("a", f"b{i}", "c")) for i in range(1, 5)]
    report = check(write_own(tmp_path / "rows", rows))
    assert report.submission is not None
    [problem] = report.findings.problems
    assert (problem.severity, problem.message[:20]) == ("warning", "3 prompts share thei")


@settings(max_examples=60)
@given(
    texts=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.isprintable).filter(str.strip),
        min_size=1,
        max_size=5,
    )
)
def test_what_is_read_may_be_handed_in(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asked = read_prompts(jsonl(folder / "p.jsonl", [{"prompt": text} for text in texts]))
        rows = [Row(i + 1, p.prompt_id, p.prompt, ("a", "b", "c")) for i, p in enumerate(asked)]
        _, suite, _ = open_submission(write_own(folder / "own", rows), no_suite)
        assert suite.prompts == asked
