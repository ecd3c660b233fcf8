"""The page of diversity and quality in a real browser: the numbers of the tables, permalinks, names as text."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import pytest

from divbench.core.tables import Table
from leaderboard.data.board import Board
from leaderboard.data.scores import BoardScores
from leaderboard.tables.curves import curves_table, distinct_curves, patience_curves
from leaderboard.tables.page_text import FIGURES
from leaderboard.tables.systems import places_of, system_ids
from leaderboard.tables.tradeoff import default_axes, tradeoff, tradeoff_table
from tests.leaderboard.boards import load_boards
from tests.leaderboard.conftest import HOSTILE_NAME, console_errors, on_a_phone, open_page, shown_anew, until
from tests.leaderboard.injections import assert_inert
from tests.leaderboard.judged import judged_results
from tests.leaderboard.page_reading import described, gaps, query, rows, selects, value
from tests.leaderboard.servers import serving

pytestmark = pytest.mark.browser

_NAMES = """
return [...document.querySelectorAll("#tradeoff .textpoint text")].map((e) => e.getBoundingClientRect())
  .filter((box) => box.width).map((box) => [box.left, box.top, box.right, box.bottom]);
"""
_CUT = """
return ["classes", "patience"].filter((id) => {
  const view = document.querySelector(`#${id} .virtual-table-viewport`);
  return view.scrollWidth > view.clientWidth + 1;
});
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged_results(tmp_path_factory.mktemp("judged"))


@pytest.fixture(scope="module")
def board(judged: Path) -> Board:
    return load_boards(judged)[0][0]


@pytest.fixture(scope="module")
def address(judged: Path) -> Iterator[str]:
    with serving(judged) as url:
        yield f"{url}/tradeoff"


def shows(browser: Any, table: str, view: Table) -> None:
    """The table on the page comes to hold what the table view does."""
    wanted = [[cell.strip() for cell in row] for row in view.texts]
    until(lambda: rows(browser, table) == wanted, f"{table} is not {wanted[0]} …")


def drawn(browser: Any, plot: str) -> str:
    """All text in a figure, once it is drawn."""
    script = "return document.querySelector(`#${arguments[0]} .js-plotly-plot .main-svg`)?.parentElement.textContent"
    until(lambda: bool(browser.execute_script(script, plot)), f"{plot} is not drawn")
    return str(browser.execute_script(script, plot))


def names_are_apart(browser: Any) -> None:
    """Some points have names, and no two names lie over each other."""
    until(lambda: bool(browser.execute_script(_NAMES)), "no name is shown")
    boxes = browser.execute_script(_NAMES)
    assert len(boxes) > 2
    for place, (left, top, right, bottom) in enumerate(boxes):
        assert not [b for b in boxes[:place] if b[0] < right and left < b[2] and b[1] < bottom and top < b[3]]


def any_file(folder: Path, kind: str) -> bool:
    return bool(list(folder.glob(f"*.{kind}")))


def test_tables_hold_the_numbers_of_the_pure_functions(address: str, browser: Any, board: Board) -> None:
    open_page(browser, address)
    axes = default_axes(board)
    assert axes is not None
    shows(browser, "points", tradeoff_table(board, tradeoff(BoardScores(board), *axes)))
    shows(browser, "classes", curves_table(distinct_curves(board, range(6)), "m"))
    shows(browser, "patience", curves_table(patience_curves(board, range(6)), "p"))
    assert "On the Pareto front" in value(browser, "note")
    assert not browser.find_elements("css selector", "#no-patience textarea")
    assert "mean_head_quality" in drawn(browser, "tradeoff")
    names_are_apart(browser)
    assert gaps(browser) == []
    assert browser.execute_script(_CUT) == []  # all numbers of the curves can be seen
    assert selects(browser) == ([], [])
    for plot in ("classes-plot", "patience-plot"):
        assert "shuffled-words" in drawn(browser, plot)
    assert described(browser) == {name: FIGURES[name] for name in ("tradeoff", "classes-plot", "patience-plot")}
    assert console_errors(browser) == []


def test_a_phone_shows_names_of_systems(address: str, browser: Any) -> None:
    with on_a_phone(browser):
        open_page(browser, address)
        names_are_apart(browser)


def test_one_metric_on_both_axes_is_told(address: str, browser: Any) -> None:
    open_page(browser, f"{address}?x=ead&y=ead")
    assert value(browser, "note") == "Both axes show ead: choose two different metrics."
    assert console_errors(browser) == []


@pytest.mark.thorough
def test_a_permalink_restores_every_choice(address: str, browser: Any, board: Board) -> None:
    ids = [system_ids(board)[place] for place in (3, 1)]
    open_page(browser, f"{address}?x=self_bleu&y=utility_k&front=all&systems={quote(','.join(ids))}")
    x, y = (next(c for c in board.columns if c.label == label) for label in ("self_bleu", "utility_k"))
    shows(browser, "points", tradeoff_table(board, tradeoff(BoardScores(board), x, y, baselines=True)))
    shows(browser, "classes", curves_table(distinct_curves(board, places_of(board, ids)), "m"))
    checked = browser.find_element("css selector", "#front input:checked")
    assert checked.get_property("value") == "all"


@pytest.mark.thorough
def test_choices_go_into_the_address_and_a_reload_keeps_them(address: str, browser: Any, board: Board) -> None:
    open_page(browser, address)
    with shown_anew(browser):
        browser.find_element("css selector", "#front input[value=all]").click()
    until(lambda: "front=all" in browser.current_url, "the choice is not in the address")
    assert "are eligible" in value(browser, "note")
    asked = query(browser)
    assert asked["table"] == [board.name]
    assert asked["systems"] == [",".join(system_ids(board))]
    open_page(browser, browser.current_url)
    assert "are eligible" in value(browser, "note")


@pytest.mark.thorough
def test_downloads_equal_the_table(address: str, browser: Any, board: Board, tmp_path: Path) -> None:
    open_page(browser, f"{address}?y=utility_k")
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    for kind in ("csv", "parquet"):
        browser.find_element("css selector", f"#{kind}").click()
        until(partial(any_file, tmp_path, kind), f"no {kind} was downloaded")
    x, y = (next(c for c in board.columns if c.label == label) for label in ("valid_distinct_k", "utility_k"))
    wanted = tradeoff_table(board, tradeoff(BoardScores(board), x, y)).frame()
    pd.testing.assert_frame_equal(pd.read_parquet(next(tmp_path.glob("*.parquet"))), wanted)
    pd.testing.assert_frame_equal(pd.read_csv(next(tmp_path.glob("*.csv"))), wanted)


def test_without_judged_quality_valid_responses_are_the_axis_and_names_are_text(
    site_address: str, browser: Any, results: Path
) -> None:
    open_page(browser, f"{site_address}/tradeoff?x=%3Cimg+src%3Dx%3E&systems=%3Cscript%3E&table=none&front=x")
    board = load_boards(results)[0][0]
    axes = default_axes(board)
    assert axes is not None
    shows(browser, "points", tradeoff_table(board, tradeoff(BoardScores(board), *axes)))
    assert [column.label for column in axes] == ["valid_distinct_k", "valid_share"]
    open_page(browser, f"{site_address}/tradeoff")
    shows(browser, "classes", curves_table(distinct_curves(board, range(7)), "m"))
    assert "no utility curve" in value(browser, "no-patience")
    assert HOSTILE_NAME in drawn(browser, "classes-plot")
    assert HOSTILE_NAME in {row[0] for row in rows(browser, "points")}
    assert_inert(browser)
    assert console_errors(browser) == []
