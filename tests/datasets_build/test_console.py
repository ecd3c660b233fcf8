"""Progress where there is no terminal: lines with the time left, and none for what is soon done."""

import pytest

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
