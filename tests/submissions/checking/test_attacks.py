"""Every hostile submission ends as it must: for the right reason, soon, in little memory, and nothing of it runs."""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from random import Random

import pytest

from divbench.core.errors import ConfigurationError
from submissions.checking.validate import validate
from submissions.untrusted.findings import KEPT_PER_CHECK
from tests.cases import each
from tests.conftest import divbench, write_toy
from tests.forked import of_module, run_forked
from tests.submissions import attacks
from tests.submissions.attack import SHOWN, Attack, G
from tests.submissions.attack_runs import Outcome, find_suite, make_apart
from tests.submissions.attacks import ATTACKS
from tests.submissions.conftest import jsonl, rejected

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

ROOT = Path(__file__).parents[3]
SECONDS = 10  # of the processor, on a slow machine; `--report` prints what it takes on this one
MEGABYTES = 300
BY_NAME = {attack.name: attack for attack in ATTACKS}
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
MADE = [attack for attack in ATTACKS if AS_ROOT or not attack.needs_root]


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The program in an interpreter of its own, whose peak of memory begins low."""
    words = [sys.executable, "-m", "tests.submissions.attacks", *map(str, arguments)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)


def command_by_fork(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run_forked(of_module("tests.submissions.attacks"), arguments, os.environ, ROOT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attacks") / "out"


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[str, Outcome]:
    """What comes of each, as the command tells it."""
    ended = command(folder, "--json")
    assert ended.returncode in {0, 1}, ended.stderr
    return {name: Outcome(**values) for name, values in json.loads(ended.stdout).items()}


def test_there_are_many_and_each_has_a_folder(folder: Path, found: dict[str, Outcome]) -> None:
    assert len(ATTACKS) == len(BY_NAME) > 300
    assert sorted(path.name for path in folder.iterdir()) == sorted(attack.name for attack in MADE) == sorted(found)


@each("attack", MADE, ids=lambda attack: attack.name)
def test_an_attack_ends_for_the_right_reason(found: dict[str, Outcome], attack: Attack) -> None:
    outcome = found[attack.name]
    assert outcome.ended == ""
    assert [tuple(place) for place in outcome.found] == list(attack.found)
    assert attack.says in outcome.message
    assert outcome.accepted == attack.accepted
    assert (outcome.errors == 0) == attack.accepted
    assert outcome.raw == "", "letters that drive a terminal are printed"
    assert 0 < outcome.seconds < SECONDS
    assert 20 < outcome.megabytes < MEGABYTES
    assert outcome.as_expected(attack)


def test_every_kind_of_outcome_is_among_them() -> None:
    assert sum(attack.accepted and not attack.found for attack in ATTACKS) > 20
    assert sum(attack.accepted and bool(attack.found) for attack in ATTACKS) > 8
    checks = {attack.found[0][0] for attack in ATTACKS if attack.found}
    assert checks == {
        *("file", "sizes", "parquet", "schema", "json", "encoding", "manifest", "prompt_ids", "prompt_text", "k"),
        *("nulls", "blanks", "placeholders", "duplicates", "reported"),
    }


def contents(folder: Path) -> Iterator[tuple[str, str]]:
    """Each thing under a folder with what it is; files by their first megabyte."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            yield str(path.relative_to(folder)), str(path.readlink())
        elif path.is_file():
            with path.open("rb") as file:
                yield str(path.relative_to(folder)), hashlib.sha256(file.read(2**20)).hexdigest()
        else:
            yield str(path.relative_to(folder)), oct(path.lstat().st_mode)


@pytest.mark.thorough  # of the attacks, not of what they attack
def test_the_same_seed_makes_the_same_attacks(tmp_path: Path, folder: Path, found: dict[str, Outcome]) -> None:
    assert command_by_fork(tmp_path / "other", "--seed", 1).returncode == 0
    others = {Path(name).parts[0] for name, _ in set(contents(tmp_path / "other")) ^ set(contents(folder))}
    assert others == {"noise", "noise-in-the-data"}  # all others are the same whatever the seed
    make_apart([BY_NAME[name] for name in sorted(others)], tmp_path / "again", 0)
    for name in others:
        assert list(contents(tmp_path / "again" / name)) == list(contents(folder / name))


def test_they_are_small(folder: Path, found: dict[str, Outcome]) -> None:
    taken = {attack.name: sum(p.lstat().st_blocks for p in (folder / attack.name).rglob("*")) * 512 for attack in MADE}
    assert max(taken.values()) < 2 * 2**20
    assert sum(taken.values()) < 16 * 2**20
    assert taken["a-terabyte-of-zeros"] < 2**16
    assert (folder / "one-text-in-every-row" / G).stat().st_size < 1000  # 20 GB


def test_nothing_of_them_runs(folder: Path, found: dict[str, Outcome]) -> None:
    assert not [*folder.rglob("was-run"), *ROOT.glob("was-run")]


def test_the_folder_must_be_new(tmp_path: Path) -> None:
    ended = command_by_fork(tmp_path, "--report")
    assert ended.returncode == 2
    assert "is already there" in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_table_tells_outcome_reason_seconds_and_memory(
    found: dict[str, Outcome], capsys: pytest.CaptureFixture[str]
) -> None:
    attacks.print_table(found | {"a-pickle": Outcome(ended="was ended by SIGSEGV")})
    lines = capsys.readouterr().out.splitlines()

    def line(name: str) -> str:
        return next(line for line in lines if re.search(rf"\b{name} ", line))

    numbers = r"│ +\d+\.\d{3} │ +\d+ │"
    assert re.search(
        rf"│ rejected +│ sizes: generations.parquet row 1: cannot be read .*{numbers}", line("a-billion-nulls")
    )
    assert "accepted, warnings" in line("blank-answers")
    assert re.search(r"│ accepted +│ ", line("a-name-as-a-path"))
    assert re.search(r"│ was ended by.*│ UNEXPECTED", line("a-pickle"))
    assert sum("UNEXPECTED" in line for line in lines) == 1


def test_the_table_in_markdown_has_a_line_for_each(found: dict[str, Outcome]) -> None:
    heads, _, *lines = attacks.as_markdown(found | {"a-pickle": Outcome(ended="was ended by SIGSEGV")}).splitlines()
    assert len(lines) == len(ATTACKS)
    assert {line.count(" | ") for line in (heads, *lines)} == {4}
    (pickle,) = (line for line in lines if line.startswith("| a-pickle |"))
    assert "was ended by SIGSEGV UNEXPECTED" in pickle
    assert all(re.search(r" \| (`[^`]+`)? \|", line) for line in lines)


def nothing(folder: Path, rng: Random) -> None:
    """Changes nothing."""


RIGHT = Outcome(errors=1, found=[["k", G, 2, "responses"]], message="2 responses, but 3", seconds=0.1, megabytes=100.0)
ATTACK = Attack("x", nothing, (("k", G, 2, "responses"),), "2 responses")


@each(
    "other",
    [
        replace(RIGHT, accepted=True),
        replace(RIGHT, found=[]),
        replace(RIGHT, found=[["k", G, 3, "responses"]]),
        replace(RIGHT, found=[*RIGHT.found, ["k", G, 3, "responses"]]),
        replace(RIGHT, message="4 responses"),
        replace(RIGHT, raw="\\x1b"),
        replace(RIGHT, ended="was ended by SIGABRT"),
    ],
    ids=lambda outcome: str(asdict(outcome)),
)
def test_another_outcome_is_not_the_expected_one(other: Outcome) -> None:
    assert RIGHT.as_expected(ATTACK)
    assert not other.as_expected(ATTACK)


FORKS = """
import json, os, signal, time
from tests.submissions import attack_runs
attack_runs.HANGS = 1
works = {
    "well": lambda: [1, "two"],
    "killed": lambda: signal.raise_signal(signal.SIGKILL),
    "hangs": lambda: time.sleep(60),
    "raises": lambda: next(iter(())),
    "takes all": lambda: bytearray(2**40),
}
print(json.dumps({name: attack_runs.forked(work) for name, work in works.items()}))
"""


def test_a_process_that_ends_or_hangs_or_raises_says_so() -> None:
    # Not in this process: it has threads, and a fork has them not.
    ended = run_forked(FORKS, [], os.environ, ROOT)
    assert json.loads(ended.stdout) == {
        "well": ["", [1, "two"]],
        "killed": ["was ended by SIGKILL", None],
        "hangs": ["was ended by SIGALRM", None],
        "raises": ["raised StopIteration: ''", None],
        "takes all": ["raised MemoryError: ''", None],
    }


LOUD = ("a-column-named-by-escapes", "a-field-named-by-escapes", "reported-an-id-of-escapes")


@each("name", LOUD)
def test_no_terminal_gets_a_letter_that_drives_it(folder: Path, found: dict[str, Outcome], name: str) -> None:
    # A terminal is claimed, so that all that rich may write to one is written: colours and the moves of a progress bar.
    for options in ([], ["--json"]):
        ended = divbench("validate", folder / name, *options, NO_COLOR="", FORCE_COLOR="1")
        written = re.sub(r"\x1b\[([0-9;]*m|\?25[lh]|2K|1A)|\r", "", ended.stdout + ended.stderr)
        assert ended.returncode == 1
        assert {letter for letter in written if not letter.isprintable()} <= {"\n"}
        assert re.search(r"\\(x1b|u001b)", written), "it is shown, as Python or JSON write it"


def test_after_ten_thousand_errors_the_rest_is_not_looked_at(folder: Path, found: dict[str, Outcome]) -> None:
    outcome = found["a-flood-of-nulls"]
    assert outcome.errors == 200_001  # those of the first of four rows, and that there are too many
    assert len(outcome.found) == SHOWN < KEPT_PER_CHECK


def test_a_list_that_no_row_needs_is_one_problem(tmp_path: Path) -> None:
    for values in ([0] * 10_001, [None] * 10_001):
        rows = [{"prompt_id": "toy-0", "responses": ["a"], "finish_reasons": values}]
        (problem,) = rejected(jsonl(tmp_path / "in.jsonl", rows))
        assert (problem.check, problem.row, problem.field) == ("json", 1, "finish_reasons")
        assert (problem.message, problem.hint) == ("10,001 values", "at most 10,000 are allowed")
    (problem,) = rejected(jsonl(tmp_path / "in.jsonl", [{"prompt_id": "toy-0", "responses": [0] * 2_000_000}]))
    assert (problem.field, problem.message) == ("responses", "2,000,000 values")


def test_what_may_not_be_looked_into_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_toy(tmp_path / "closed")

    def denied(path: Path, *arguments: object, **more: object) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", denied)
    problems = validate(folder, find_suite).findings.problems
    assert [(p.check, p.file, p.message) for p in problems] == [
        ("file", "manifest.json", "cannot be opened: Permission denied"),
        ("file", "generations.parquet", "cannot be opened: Permission denied"),
    ]
    monkeypatch.setattr(Path, "is_dir", denied)
    with pytest.raises(ConfigurationError, match="there is no folder"):
        validate(folder, find_suite)
