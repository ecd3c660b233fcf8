"""Progress where there is no terminal: lines with the time left, and none for what is soon done."""

import re

import pytest
from rich.table import Table
from rich.text import Text

from datasets_build import console


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
