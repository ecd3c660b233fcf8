"""Files for visitors to take away: what they hold, and how long they are kept."""

import csv
import os
import shutil
import tempfile
import time
from pathlib import Path
from threading import Thread

import pandas as pd
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from divbench.core.errors import InputError
from leaderboard.app.downloads import KEPT_SECONDS, LEFT_SECONDS, Downloads
from leaderboard.data.board import Board
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import BoardScores
from leaderboard.data.sources import FolderSource
from leaderboard.routes import routes

FRAME = pd.DataFrame({"system": ["=1+1", "plain"], "value": [0.5, None]})


def test_files_hold_the_frame_and_no_formula() -> None:
    text, table = Downloads().write(FRAME, "board")
    assert (text.name, table.name) == ("board.csv", "board.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(table), FRAME)
    with text.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["value"] for row in rows] == ["0.5", ""]
    assert rows[1]["system"] == "plain"
    assert rows[0]["system"] != "=1+1"
    assert rows[0]["system"].endswith("=1+1")


def test_a_file_goes_when_nobody_has_asked_for_it_in_a_while_and_never_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [time.time()]
    monkeypatch.setattr(time, "time", lambda: now[0])
    downloads = Downloads()
    asked, *_ = downloads.write(FRAME, "asked-again")
    others = [downloads.write(FRAME, f"other-{place}")[0] for place in range(100)]
    now[0] += KEPT_SECONDS - 1
    assert downloads.write(FRAME, "asked-again")[0] == asked
    assert all(other.is_file() for other in others)
    now[0] += 2
    downloads.write(FRAME, "new")
    assert asked.is_file()
    assert not any(other.exists() for other in others)


def test_files_are_made_anew_after_a_cleaner_of_temporary_files_and_after_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    downloads = Downloads()
    downloads.write(FRAME, "board")
    shutil.rmtree(next(tmp_path.iterdir()))
    with monkeypatch.context() as full:
        full.setattr("leaderboard.app.downloads.pq.write_table", _no_space)
        assert downloads.write(FRAME, "board") == ()
    text, table = downloads.write(FRAME, "board")
    assert text.is_file()
    pd.testing.assert_frame_equal(pd.read_parquet(table), FRAME)


def _no_space(*arguments: object, **named: object) -> None:
    raise OSError(28, "No space left on device")


def test_what_a_killed_board_has_left_is_deleted_a_day_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    now = time.time()
    for name, age in (("divbench-board-old", LEFT_SECONDS + 60), ("divbench-board-new", 60), ("other", 1e6)):
        (tmp_path / name / "inside").mkdir(parents=True)
        os.utime(tmp_path / name, (now - age, now - age))
    Downloads().write(FRAME, "board")
    left = {path.name for path in tmp_path.iterdir()}
    assert {"divbench-board-new", "other"} <= left
    assert "divbench-board-old" not in left


def test_several_visitors_may_ask_for_the_same_file_at_once() -> None:
    downloads, found = Downloads(), list[Path]()

    def ask() -> None:
        found.append(downloads.write(FRAME, "same")[1])

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
    pd.testing.assert_frame_equal(pd.read_parquet(found[0]), FRAME)


def test_a_table_whose_result_was_withdrawn_since_it_was_read_asks_for_another_try(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(board: Board) -> BoardScores:
        raise InputError(f"a result of {board.name} is gone", "try again")

    live = LiveResults(FolderSource(results), refresh=None)
    board = live.snapshot().boards[0]
    client = TestClient(Starlette(routes=list(routes(live, str))))
    assert client.get("/board.csv", params={"table": board.name}).status_code == 200
    monkeypatch.setattr(live, "scores", gone)
    client = TestClient(Starlette(routes=list(routes(live, str))))
    answer = client.get("/board.csv", params={"table": board.name})
    assert (answer.status_code, answer.text) == (503, "The results are changing; retry in a minute.\n")
