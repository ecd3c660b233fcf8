"""Progress where there is no terminal: lines with the time left, and none for what is soon done."""

import json
import re
import signal
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from datasets_build import commands, load
from datasets_build.schema import Prompt, Suite
from divbench.core import console
from divbench.core.console import termination_signals

ROOT = Path(__file__).parents[3]
# What writes past the console, and what: nothing of it is others' text, but for JSON in ASCII.
DIRECT = {
    "benchmark/analysis/metaeval/commands.py",  # sends what a user's function prints to stderr
    "benchmark/cluster/session.py",  # sends what Ray writes to stderr
    "benchmark/service/commands.py",  # events as JSON
    "datasets_build/commands.py",  # prompts as JSON; the dataset card
    "divbench/core/console.py",
    "divbench/command_line.py",  # the version
    "leaderboard/routes.py",  # only in an example that it shows
}


def test_lines_of_progress_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with console.progress() as bar:
        task = bar.add_task("quick [red]", total=2)
        bar.update(task, completed=2)
    assert capsys.readouterr() == ("", "")
    times = iter(range(0, 1000, 10))
    monkeypatch.setattr(console, "monotonic", lambda: float(next(times)))
    with console.progress() as bar:
        task = bar.add_task("slow [red]", total=4)
        for done in range(1, 5):
            bar.update(task, completed=done)
    out, err = capsys.readouterr()
    assert out == ""
    assert "slow [red]: " in err
    assert 1 <= len(err.splitlines()) <= 3


def test_each_step_has_a_time_left_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(console, "monotonic", lambda: now)
    monkeypatch.setattr("rich.console.monotonic", lambda: now)
    with console.steps() as show:
        for step in ("comparing", "scoring"):
            for done in range(1, 5):
                now += 100.0
                show(step, done, 4)
    lines = capsys.readouterr().err.splitlines()
    assert {"comparing: 2 of 4, about 0:03:20 left", "scoring: 2 of 4, about 0:03:20 left"} <= set(lines)
    assert lines[-1] == "scoring: 4 of 4, about 0:00:00 left"


def test_no_text_drives_the_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    hostile = "\x1b[2J\x1b]0;t\x07\u202e\u2066\x9b31m é 漢"
    table = Table("x\x1b[2J")
    table.add_row(hostile)
    for text in (hostile, Text(hostile), table):
        console.err().print(text, markup=False)
        console.out().print(text, style="red")
    said = capsys.readouterr()
    for shown in (said.out, said.err):
        left = re.sub(r"\x1b\[[0-9;]*m", "", shown)  # rich's own colours
        assert {letter for letter in left if not letter.isprintable()} == {"\n"}
        assert "é 漢" in left
        assert r"\x1b]0;t" in left


def test_only_the_console_writes_others_texts_to_the_terminal() -> None:
    direct = re.compile(
        r"\bsys\.(?:stdout|stderr)\b|\btyper\.s?echo\b|(?<!>>> )(?<![.\w])print\(|(?<!\w)Console\((?!file=)"
    )
    files = [
        path
        for name in ("benchmark", "datasets_build", "divbench", "leaderboard", "submissions")
        for path in (ROOT / name).rglob("*.py")
        if "perf" not in path.parts
    ]
    found = {path.relative_to(ROOT).as_posix() for path in files if direct.search(path.read_text(encoding="utf-8"))}
    assert found <= DIRECT


def test_prompts_on_stdout_are_json_that_drives_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    hostile = "\x1b[2J\u202e\x9b31m\u2028 é"
    suite = Suite(name="toy", title="Toy", prompts=(Prompt("toy-0", "", hostile),))
    monkeypatch.setattr(load, "load_suite", lambda name, mirror=None: suite)
    commands.prompts("toy")
    shown = capsys.readouterr().out
    assert shown.isascii()
    assert {letter for letter in shown if not letter.isprintable()} == {"\n"}
    assert json.loads(shown) == {"prompt_id": "toy-0", "prompt": hostile}
    commands.prompts("toy", tmp_path / "prompts.jsonl")
    assert "é" in (tmp_path / "prompts.jsonl").read_text(encoding="utf-8")


def test_a_closed_terminal_ends_a_server_unless_it_was_started_by_nohup() -> None:
    before = signal.getsignal(signal.SIGHUP)
    try:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert termination_signals() == (signal.SIGTERM, signal.SIGHUP)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        assert termination_signals() == (signal.SIGTERM,)
    finally:
        signal.signal(signal.SIGHUP, before)
