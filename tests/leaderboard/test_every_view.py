"""No result takes the board down: those at the edges of the schema are shown, damaged ones are left out by name."""

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmark.metrics.metric import Missing
from benchmark.scoring.results import RESULT_FILE
from leaderboard.data.result_checks import checked_result
from leaderboard.data.sources import FolderSource
from tests.leaderboard.extremes import extreme_results
from tests.leaderboard.fuzzed_store import damage
from tests.leaderboard.views import every_view


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.thorough)])
def test_each_field_at_its_extremes_is_shown_in_every_view(results: Path, tmp_path: Path, out: Path, step: int) -> None:
    given = next(path.parent for path in sorted(results.glob("*/per_prompt.parquet")))
    # A field without a range, a length or a number of items ends this with a KeyError.
    places = extreme_results(given, tmp_path / "results", step)
    found = {folder: checked_result(folder) for folder in (tmp_path / "results").iterdir()}
    refused = {folder: each.reason for folder, each in found.items() if isinstance(each, Missing)}
    assert all("per_prompt.parquet" in reason for reason in refused.values())  # another number of prompts, or metric
    assert every_view(tmp_path / "results", out) == len(places) - len(refused) > len(places) - 6


@pytest.mark.parametrize("runs", [range(1), pytest.param(range(1, 20), marks=pytest.mark.thorough)], ids=str)
def test_a_fuzzed_store_leaves_every_view_answering(results: Path, tmp_path: Path, out: Path, runs: range) -> None:
    for run in runs:
        folder = tmp_path / f"{run}"
        damage(results, folder, Random(run), copies=100)  # noqa: S311
        (out / f"{run}").mkdir()
        shown = every_view(folder, out / f"{run}")
        left_out = FolderSource(folder).read().unreadable
        assert shown + len(left_out) == 100
        assert all(each.reason for each in left_out.values())
        assert shown > 2


@pytest.mark.parametrize(
    "run",
    [{"model": "x" * 2001}, {"fallbacks": ["x"] * 1001}, {"prompts": -1}, {"prompts": 2**31}, {"batch_tokens": -1}],
    ids=str,
)
def test_how_a_model_ran_has_ranges_too(results: Path, tmp_path: Path, run: dict[str, Any]) -> None:
    given = next(path.parent for path in sorted(results.glob("*/per_prompt.parquet")))
    document = json.loads((given / RESULT_FILE).read_bytes())
    good = {"model": "m", "device": "cpu", "prompts": 3, "batch_tokens": 4, "fallbacks": ["slow"]}
    for each, taken in ((good, True), (good | run, False)):
        shutil.copytree(given, tmp_path / "own", dirs_exist_ok=True)
        (tmp_path / "own" / RESULT_FILE).write_text(json.dumps(document | {"provenance": [each]}), encoding="utf-8")
        found = checked_result(tmp_path / "own")
        assert isinstance(found, Missing) != taken
        assert taken or "provenance" in getattr(found, "reason", "")
