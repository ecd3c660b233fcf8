"""The page of post-training in a real browser: the numbers of the tables, permalinks, and pages without a series."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmark.metrics.metric import Missing
from leaderboard.app.components import GONE
from leaderboard.data.board import Board
from leaderboard.data.scores import BoardScores
from leaderboard.tables.stages import (
    METRICS,
    contrasts,
    contrasts_table,
    curves_table,
    find_series,
    quantiles_table,
    stage_curves,
    values_of,
)
from tests.leaderboard.app.test_page_explore import same
from tests.leaderboard.boards import load_boards
from tests.leaderboard.conftest import console_errors, open_page, until
from tests.leaderboard.injections import assert_inert
from tests.leaderboard.page_reading import query, value
from tests.leaderboard.read_results import stage_results
from tests.leaderboard.servers import serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stage_results(tmp_path_factory.mktemp("stages"))


@pytest.fixture(scope="module")
def board(folder: Path) -> Board:
    return load_boards(folder)[0][0]


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with serving(folder) as url:
        yield f"{url}/post-training"


def _there(browser: Any, selector: str) -> bool:
    return bool(browser.find_elements("css selector", selector))


def shows(browser: Any, board: Board, metric: str) -> None:
    """The page has the tables of a metric."""
    (series,) = find_series(board)
    scores = BoardScores(board)
    column = next(column for column in board.columns if column.label == metric)
    values = values_of(series, board, scores.matrix(column))
    found = contrasts(series, scores.prompts, values, column)
    same(browser, "contrasts", contrasts_table(found, column))
    same(browser, "quantiles", quantiles_table(series, values))
    curves = stage_curves(series, board.k)
    assert not isinstance(curves, Missing)
    same(browser, "places", curves_table(curves))


def test_the_page_shows_the_series_with_its_curves_and_contrasts(address: str, browser: Any, board: Board) -> None:
    open_page(browser, address)
    shows(browser, board, METRICS[0])
    for figure in ("curves", "spread"):
        drawn = f"#{figure} .js-plotly-plot .trace"
        until(partial(_there, browser, drawn), f"{figure} is not drawn")
    note = value(browser, "note")
    assert "base: Toy-1B-BASE, SFT: Toy-1B-SFT, DPO: Toy-1B-DPO." in note
    assert "23 prompts; 1 without a complete curve in every stage are left out" in note
    assert console_errors(browser) == []


@pytest.mark.thorough
def test_a_permalink_restores_the_choices(address: str, browser: Any, board: Board) -> None:
    open_page(browser, f"{address}?metric=ead")
    shows(browser, board, "ead")
    assert query(browser)["metric"] == ["ead"]


@pytest.mark.thorough
def test_an_address_of_what_is_not_there_shows_the_first(address: str, browser: Any, board: Board) -> None:
    open_page(browser, f"{address}?table=gone&series=<script>window.hacked=1</script>&metric=gone")
    shows(browser, board, METRICS[0])
    assert browser.find_element("tag name", "body").text.count(GONE) == 3
    assert browser.execute_script("return window.hacked") is None


@pytest.mark.thorough
def test_where_there_is_no_series_the_page_says_so(site_address: str, browser: Any) -> None:
    open_page(browser, f"{site_address}/post-training")
    assert "No table here includes several training stages of one model" in value(browser, "note")
    assert_inert(browser)
    assert console_errors(browser) == []
