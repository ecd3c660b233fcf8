"""No text of others drives the terminal: each command, given texts that try to, prints none of what does.

A new command belongs into `FAST` or `SLOW`, with what makes it print others' texts, or into `QUIET`, with the reason.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

from divbench.command_line import build, main
from submissions.judgements.rating_study import RatedSet, make_study, write_study
from submissions.storage.file_store import FolderStore
from submissions.storage.submission_folders import write_submission
from submissions.work_queue.queue_files import submission_files
from tests.conftest import toy_manifest, toy_rows, write_toy
from tests.submissions.judgements.test_votes import a_vote
from tests.submissions.queueing import as_file

EVIL = "w\x1b[2J\x1b]0;t\x07\x9b31m\x08\u202e\u2066\u200b\u2028\u2029\x85\x0b\x0c\rz\n::forged"
"""Commands of a terminal, C1 controls, changes of direction, and every way to begin a line, with what it would say."""
ABOUT = ("--name", "mine", "--submitter", "me")
ID, OTHER = "0" * 16, "1" * 16  # of a damaged state, and of a submission to be rejected

# A command, its arguments, in which {} is the folder of `evil`, and its exit status.
Step = tuple[str, str, int]
FAST: tuple[Step, ...] = (
    ("import", "{}/own.jsonl --suite own --out {}/own", 0),  # a field's name
    ("import", "{}/batch.jsonl --suite demo --out {}/no", 1),  # a server's message
    ("import", "{}/table.csv --suite demo --out {}/no", 1),
    ("validate", "{}/bad", 1),  # values and keys of a manifest
    ("validate", "{}/columns", 1),
    ("validate", "{}/none/EVIL", 2),
    ("quick", "{}/EVIL.jsonl --name n", 2),
    ("generate", "offline --suite {}/EVIL.jsonl --out {}/no", 1),
    ("score", "{}/EVIL --profile lexical --out {}/no", 1),
    ("board show", "--results {}/results", 0),  # the name of a folder, and what is wrong in it
    ("board export", "--results {}/results --out {}/tables", 1),
    ("board serve", "--results {}/EVIL/none", 2),
    ("export dpo", "{}/EVIL --rewards {}/own.jsonl --diversity nll --out {}/no.jsonl", 1),
    ("export every-eval-ever", "{}/results/EVIL --out {}/no", 1),
    ("export dataset", "{}/results/EVIL --out {}/no", 1),
    ("export eval-results", "{}/results/EVIL --out {}/no --dataset org/name", 1),
    ("contrast", "{}/EVIL {}/EVIL", 1),
    ("metrics explain", "{}/set.json", 1),
    ("metrics baseline", "{}/EVIL --kind shuffled-words --out {}/no", 1),
    ("metrics gaming", "{}/EVIL --profile lexical", 1),
    ("metrics metaeval", "{}/EVIL.parquet --metric distinct_n", 2),
    ("people forms", "{}/EVIL --out {}/no", 1),
    ("people ratings", "{}/study {}/answers", 1),
    ("people votes", "{}/votes --results {}/results", 0),
    ("people export", "{}/votes --results {}/results --out {}/dataset", 0),
    ("submit", "{}/EVIL --to {}/no", 1),
    ("submissions list", "--store {}/queue", 1),
    ("submissions status", f"{ID} --store {{}}/queue", 1),
    ("submissions retry", f"{ID} --store {{}}/queue --by me", 1),
    ("submissions withdraw", f"{ID} --store {{}}/queue --submitter me", 1),
)
SLOW: tuple[Step, ...] = (
    ("metrics gss", "{}/results/EVIL", 1),
    ("board export", "--results {}/results --out {}/site --html", 1),
    ("metrics explain", "{}/odd.json", 0),  # prompt and responses, token by token
    ("metrics internals", "{}/EVIL --model org/name@" + "0" * 40, 1),
    ("submissions score", "--store {}/queue --profile lexical --once", 0),
)
_NUMBERS = "prints numbers, and names of our own"
_DATASETS = "prints names of our own datasets, and its arguments"
QUIET = {
    "demo": "reads nothing of others'",
    "data list": _DATASETS,
    "data build": _DATASETS,
    "data info": _DATASETS,
    "data card": _DATASETS,
    "data verify": _DATASETS,
    "data publish": _DATASETS,
    "data pull": _DATASETS,
    "data prompts": "prints JSON in ASCII: tests/datasets_build/test_console.py",
    "data solution-pairs": "names a row and one of our fields",
    "data lm-eval-tasks": "prints its argument",
    "board space": "prints its arguments",
    "board reference": "prints names of our own systems",
    "metrics list": _NUMBERS,
    "metrics record": "prints its argument and numbers",
    "metrics show": _NUMBERS,
    "metrics plan": _NUMBERS,
    "metrics reproduce": _NUMBERS,
    "metrics study": _NUMBERS,
    "submissions repair": "prints ids, paths and names, as submissions list does",
    "submissions rescore": "prints what submissions score prints, of submissions that were scored before",
}


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory, results: Path) -> Path:
    """Submissions, results, stores and files of others' in which each text drives a terminal if it can."""
    folder = tmp_path_factory.mktemp("evil")
    texts = [{"prompt_id": f"p{i}", "prompt": EVIL, "responses": [f"{i} {EVIL}", EVIL], EVIL: EVIL} for i in range(2)]
    (folder / "own.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in texts), encoding="utf-8")
    failed = {"custom_id": EVIL, "response": None, "error": {"code": EVIL, "message": EVIL}}
    (folder / "batch.jsonl").write_text(json.dumps(failed), encoding="utf-8")
    (folder / "table.csv").write_text(f'prompt_id,response,"{EVIL}"\n"{EVIL}",x,x\n', encoding="utf-8", newline="")
    (folder / "set.json").write_text(
        json.dumps({"prompt": EVIL, "responses": ["x", "y"], EVIL: EVIL}), encoding="utf-8"
    )
    odd = {"prompt": EVIL, "responses": [f"{EVIL} {i}" for i in range(2)]}
    (folder / "odd.json").write_text(json.dumps(odd), encoding="utf-8")
    write_toy(folder / "columns")
    path = folder / "columns" / "generations.parquet"
    table = pq.read_table(path)
    pq.write_table(table.append_column(EVIL, pa.array([EVIL] * len(table))), path)
    bad = {**toy_manifest().model_dump(mode="json"), "name": EVIL, EVIL: EVIL, "system": {"type": EVIL, EVIL: EVIL}}
    for name in ("bad", EVIL):
        shutil.copytree(folder / "columns", folder / name)
        (folder / name / "manifest.json").write_text(json.dumps(bad), encoding="utf-8")
    given = next(path.parent for path in sorted(results.glob("*/per_prompt.parquet")))
    shutil.copytree(given, folder / "results" / given.name)
    shutil.copytree(given, folder / "results" / EVIL)
    known = json.loads((given / "result.json").read_bytes())
    (folder / "results" / EVIL / "result.json").write_text(json.dumps(known | {EVIL: EVIL}), encoding="utf-8")
    damaged = {f"states/{ID}.json": as_file(**{EVIL: 1})}
    (folder / "ids").mkdir()
    rows = [replace(row, prompt_id=f"{EVIL}{row.number}") for row in toy_rows()]
    write_submission(folder / "ids", toy_manifest().model_copy(update={"suite": "demo"}), rows)
    waiting = submission_files(OTHER, folder / "ids") | {
        f"states/{OTHER}.json": as_file(submission_id=OTHER, suite="demo")
    }
    FolderStore(folder / "queue").commit("", damaged | waiting, (), "two submissions")
    vote = json.dumps(json.loads(a_vote().as_line()) | {EVIL: 1}).encode()
    FolderStore(folder / "votes").commit("", {"votes/2026-01-01.jsonl": vote}, (), "a vote")
    study = make_study("absolute", [RatedSet("a", EVIL, (EVIL, EVIL))], raters_per_item=1, per_rater=1, seed=1)
    (folder / "study").mkdir()
    write_study(study, folder / "study")
    (folder / "answers").mkdir()
    answer = {
        "study": study.study,
        "form": 1,
        "rater": EVIL,
        "answers": [{"item": EVIL, "question": EVIL, "answer": 1}],
    }
    (folder / "answers" / f"{EVIL}.json").write_text(json.dumps(answer), encoding="utf-8")
    return folder


def _leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[str]:
    for name, each in getattr(command, "commands", {}).items():
        yield from _leaves(each, (*words, name))
    if not hasattr(command, "commands"):
        yield " ".join(words)


def test_no_command_is_forgotten() -> None:
    tried = {command for command, _, _ in FAST + SLOW}
    assert tried | QUIET.keys() == set(_leaves(typer.main.get_command(build())))
    assert not tried & QUIET.keys()


@pytest.mark.parametrize("steps", [FAST, pytest.param(SLOW, marks=pytest.mark.thorough)], ids=["fast", "slow"])
def test_no_text_of_others_drives_the_terminal(
    steps: tuple[Step, ...], evil: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for command, given, status in steps:
        arguments = [each.replace("{}", str(evil)).replace("EVIL", EVIL) for each in given.split()]
        about = ABOUT if command == "import" else ()
        monkeypatch.setattr(sys, "argv", ["divbench", *command.split(), *arguments, *about])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        shown = said.out + said.err
        assert ended.value.code == status, (command, ascii(shown))
        assert {letter for letter in shown if not letter.isprintable()} <= {"\n"}, (command, ascii(shown))
        assert not re.search(r"^[\s│┃]*::forged", shown, re.MULTILINE), (command, shown)
        assert "[2J" in re.sub(r"[\s│┃]", "", shown), (command, shown)  # else it would show nothing of it


@pytest.mark.parametrize("typed", ["{}", "--{}", "board {}", "validate x {}", "validate --{}", "score --seed {} x"])
def test_no_word_of_the_command_line_drives_the_terminal(
    typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["divbench", *(word.replace("{}", EVIL) for word in typed.split())])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert {letter for letter in said.out + said.err if not letter.isprintable()} <= {"\n"}, ascii(said.err)
