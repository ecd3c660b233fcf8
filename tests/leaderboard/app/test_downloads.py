"""Tables as files, and the temporary folders that killed boards leave."""

import os
import tempfile
import time
from io import BytesIO
from pathlib import Path

import pandas as pd
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from divbench.core.errors import InputError
from divbench.core.tables import Table, to_csv
from leaderboard.app.temporary_folder import LEFT_SECONDS, TemporaryFolder
from leaderboard.data.board import Board
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import BoardScores
from leaderboard.data.sources import FolderSource
from leaderboard.pages.export import ranked_frame
from leaderboard.routes import routes


def test_what_a_killed_board_has_left_is_deleted_a_day_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    now = time.time()
    for name, age in (("divbench-intake-old", LEFT_SECONDS + 60), ("divbench-intake-new", 60), ("other", 1e6)):
        (tmp_path / name / "inside").mkdir(parents=True)
        os.utime(tmp_path / name, (now - age, now - age))
    TemporaryFolder("divbench-intake-").path()
    left = {path.name for path in tmp_path.iterdir()}
    assert {"divbench-intake-new", "other"} <= left
    assert "divbench-intake-old" not in left


def test_files_hold_the_table_or_ask_for_another_try_if_a_result_was_withdrawn(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(board: Board) -> BoardScores:
        raise InputError(f"a result of {board.name} is gone", "try again")

    live = LiveResults(FolderSource(results), refresh=None)
    board = live.snapshot().boards[0]
    client = TestClient(Starlette(routes=list(routes(live, str))))
    answers = {ending: client.get(f"/board.{ending}", params={"table": board.name}) for ending in ("csv", "parquet")}
    assert answers["csv"].text == to_csv(Table.of_frame(ranked_frame(board)))
    pd.testing.assert_frame_equal(pd.read_parquet(BytesIO(answers["parquet"].content)), ranked_frame(board))
    monkeypatch.setattr(live, "scores", gone)
    client = TestClient(Starlette(routes=list(routes(live, str))))
    answer = client.get("/board.csv", params={"table": board.name})
    assert (answer.status_code, answer.text) == (503, "The results are changing; retry in a minute.\n")
