"""The measurement of the board runs and finds what it looks for; how long that takes is no matter here."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmark.metrics.metric import Missing
from benchmark.perf import board
from benchmark.perf.synthetic_results import make_results
from leaderboard.data.result_checks import checked_result
from tests.benchmark.results import read_results

if TYPE_CHECKING:
    from selenium.webdriver import Chrome


def test_made_up_results_are_whole_and_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one", "other"):
        make_results(tmp_path / name, 3, 70, 30)
    one, other = (list(read_results(tmp_path / name)) for name in ("one", "other"))
    assert len(one) == 3
    for (folder, result), (_, again) in zip(one, other, strict=True):
        assert not isinstance(result, Missing)
        assert result == again
        assert checked_result(folder, inside=True) == result
        assert (result.prompts, len(result.scores)) == (70, 30)


@pytest.mark.thorough
@pytest.mark.browser
def test_the_measurement_tells_all_numbers(
    browser: "Chrome", tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board, "_SETTLED", 0.0)  # seconds: how long anything takes is not looked at
    sizes = ("--submissions", "12", "--prompts", "70", "--metrics", "3", "--times", "1")
    board.main([*sizes, "--work", str(tmp_path)])
    found = json.loads(capsys.readouterr().out)
    assert (found["submissions"], found["prompts"], found["metrics"]) == (12, 70, 3)
    for name in ("start_without_index_s", "start_with_index_s", "first_page_fresh_s", "all_columns_s", "peak_mb"):
        assert found[name] > 0, name
    for name, number in (("first_page_warm_s", 1), ("search_s", 3), ("prompt_row_s", 1)):
        assert len(found[name]) == number
        assert min(found[name]) > 0, name
