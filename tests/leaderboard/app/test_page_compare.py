"""The page that compares systems in a real browser: differences, prompts, answers, permalinks."""

from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import pytest

from leaderboard.app import components
from leaderboard.app.pages.compare import filled_up
from leaderboard.data.board import Board
from leaderboard.data.scores import BoardScores
from leaderboard.tables.compare import (
    FEWEST,
    MOST,
    about_compare,
    compare,
    compare_table,
    differing,
    differing_table,
    explore_link,
    headline,
    side_by_side,
)
from leaderboard.tables.models import columns_of
from leaderboard.tables.page_text import FIGURES
from leaderboard.tables.systems import places_of, system_ids, system_labels
from tests.leaderboard.app.test_page_tradeoff import any_file, drawn, shows
from tests.leaderboard.app.test_stale_choices import pick, settle, toasts
from tests.leaderboard.boards import load_boards
from tests.leaderboard.conftest import console_errors, open_page, shown_anew, until
from tests.leaderboard.page_reading import described, displayed, gaps, query, rows, selects, value

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def board(results: Path) -> Board:
    return load_boards(results)[0][0]


def ids_of(board: Board, *names: str) -> list[str]:
    by_name = dict(zip([e.result.manifest.name for e in board.entries], system_ids(board), strict=True))
    return [by_name[name] for name in names]


def responses_are(browser: Any, board: Board, ids: list[str], prompt: str) -> None:
    """The responses on the page come to be those of the systems to the prompt."""
    beside = side_by_side(board, places_of(board, ids), prompt)
    wanted = [[" ".join(cell.split()) for cell in row] for row in beside.rows]

    def there() -> bool:
        return [[" ".join(cell.split()) for cell in row] for row in rows(browser, "responses")] == wanted

    until(there, f"the responses are not {wanted[0]} …")
    assert value(browser, "asked") == beside.prompt


def test_tables_hold_the_numbers_of_the_pure_functions(site_address: str, browser: Any, board: Board) -> None:
    ids = ids_of(board, "varied", "collapsed", "repeated")
    open_page(browser, f"{site_address}/compare?systems={quote(','.join(ids))}&show=diversity&by=self_bleu")
    places, scores = places_of(board, ids), BoardScores(board)
    found = compare(scores, places, columns_of(board, "diversity", ())[0])
    labels = [system_labels(board)[place] for place in places]
    view = compare_table(board, places, found)
    shows(browser, "gaps", view)
    assert {row[1] for row in view.texts} >= {"varied more diverse", "no significant difference"}
    assert value(browser, "headline") == headline(found, labels)
    assert value(browser, "note") == about_compare(found)
    assert gaps(browser) == []
    assert selects(browser) == ([], [])
    by = next(column for column in board.columns if column.label == "self_bleu")
    prompts = differing(scores, places, by)
    view = differing_table(prompts, labels)
    first = view.texts[0][0]
    until(
        lambda: [row[0] for row in rows(browser, "prompts")][:5] == [row[0] for row in view.texts[:5]], "other prompts"
    )
    assert rows(browser, "prompts")[0] == list(view.texts[0])
    responses_are(browser, board, ids, first)  # those of the first prompt, unless another is asked for
    figure = drawn(browser, "forest")
    assert all(
        pair in figure for pair in ("varied − collapsed", "varied − repeated", "collapsed − repeated", "self_bleu")
    )
    assert described(browser) == {"forest": FIGURES["forest"]}
    with shown_anew(browser):  # the link then had the prompt, but not the table
        browser.find_element("css selector", "#prompts [role=gridcell]").click()
    assert {*query(browser)} >= {"table", "systems", "by", "prompt"}
    assert console_errors(browser) == []


@pytest.mark.thorough
def test_a_permalink_restores_every_choice_and_leads_on(site_address: str, browser: Any, board: Board) -> None:
    ids = ids_of(board, "paraphrased", "varied")
    asked = f"systems={quote(','.join(ids))}&show=everything&by=ead&prompt=demo-17"
    open_page(browser, f"{site_address}/compare?{asked}")
    responses_are(browser, board, ids, "demo-17")
    assert value(browser, "prompt") == "demo-17"
    assert value(browser, "show") == "everything"
    assert value(browser, "by") == "words: ead"
    links = [link for link in browser.find_elements("css selector", "[id^=explore-]") if link.is_displayed()]
    assert [link.text for link in links] == ["Explore paraphrased", "Explore varied"]
    wanted = [f"{site_address}/{explore_link(board, place, 'demo-17')}" for place in places_of(board, ids)]
    assert [link.get_property("href") for link in links] == wanted


def test_a_row_of_a_prompt_shows_its_answers_and_goes_into_the_address(
    site_address: str, browser: Any, board: Board
) -> None:
    ids = ids_of(board, "paraphrased", "varied")
    open_page(browser, f"{site_address}/compare?systems={quote(','.join(ids))}&by=ead")
    until(lambda: len(rows(browser, "prompts")) > 3, "there are no prompts")
    third = rows(browser, "prompts")[2][0]
    with shown_anew(browser):
        browser.find_element("css selector", "#prompts [role=gridcell][data-row='2'][data-col='1']").click()
    responses_are(browser, board, ids, third)
    until(lambda: query(browser).get("prompt") == [third], "not in the address")
    open_page(browser, browser.current_url)
    responses_are(browser, board, ids, third)
    assert console_errors(browser) == []


def test_without_a_comparison_there_is_no_empty_box(site_address: str, browser: Any, board: Board) -> None:
    for ids in ([], ids_of(board, "varied")):
        open_page(browser, f"{site_address}/compare?systems={','.join(ids)}")
        until(lambda: value(browser, "headline") == "Choose 2 to 4 systems.", "no hint")
        until(lambda: displayed(browser, "forest", "note", "gaps", "prompts", "prompt", "asked") == [], "an empty box")
    open_page(browser, f"{site_address}/compare")
    assert displayed(browser, "forest", "note", "prompt", "asked") == ["forest", "note", "prompt", "asked"]


def test_a_link_with_too_many_systems_says_how_many_are_shown(site_address: str, browser: Any, board: Board) -> None:
    open_page(browser, f"{site_address}/compare?systems={quote(','.join(system_ids(board)[:6]))}")
    assert "Only the first 4 of 6 are shown." in browser.find_element("id", "systems").text
    assert len(browser.find_elements("css selector", "#systems .token")) == MOST


def test_another_table_keeps_its_systems_and_fills_up_with_its_first(reference_address: str, browser: Any) -> None:
    assert filled_up([], ["a", "b"]) == ["a", "b"]
    assert filled_up(["b"], ["a", "b"]) == ["b", "a"]
    assert filled_up(["c", "d", "e"], ["a", "b"]) == ["c", "d", "e"]
    open_page(browser, f"{reference_address}/compare")
    old = query(browser).get("systems")
    pick(browser, "table", "alpacaeval-200, k 10, offline")
    settle(browser)
    assert "Not in this table: 2 of 2 chosen systems." in browser.find_element("id", "systems").text
    assert len(browser.find_elements("css selector", "#systems .token")) == FEWEST
    assert query(browser).get("systems") != old
    until(lambda: len(rows(browser, "gaps")) > 0, "nothing is compared")
    drawn(browser, "forest")
    assert displayed(browser, "prompt") == ["prompt"]
    assert toasts(browser) == []


@pytest.mark.thorough
def test_one_system_is_not_compared_and_strange_addresses_show_the_default(
    site_address: str, browser: Any, board: Board
) -> None:
    open_page(browser, f"{site_address}/compare?systems={ids_of(board, 'varied')[0]}")
    assert value(browser, "headline") == "Choose 2 to 4 systems."
    assert rows(browser, "gaps") == []
    open_page(browser, f"{site_address}/compare?systems=%3Cb%3E&table=x&by=%3Cscript%3E&show=cost&prompt=%3Csvg%3E")
    assert value(browser, "headline") == "Choose 2 to 4 systems."
    text = browser.find_element("css selector", "body").text
    assert components.GONE in text
    assert "Not in this table: 1 of 1 chosen system." in text
    open_page(browser, f"{site_address}/compare?by=%3Cscript%3E&prompt=%3Csvg%3E")
    until(lambda: len(rows(browser, "gaps")) > 0, "nothing is compared")
    assert browser.find_element("tag name", "body").text.count(components.GONE) == 2
    assert console_errors(browser) == []


@pytest.mark.thorough
def test_downloads_equal_the_table(site_address: str, browser: Any, board: Board, tmp_path: Path) -> None:
    ids = ids_of(board, "varied", "collapsed")
    open_page(browser, f"{site_address}/compare?systems={quote(','.join(ids))}")
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    for kind in ("csv", "parquet"):
        browser.find_element("css selector", f"#{kind}").click()
        until(partial(any_file, tmp_path, kind), f"no {kind} was downloaded")
    places = places_of(board, ids)
    found = compare(BoardScores(board), places, columns_of(board, "overview", ())[0])
    wanted = compare_table(board, places, found).frame()
    pd.testing.assert_frame_equal(pd.read_parquet(next(tmp_path.glob("*.parquet"))), wanted)
    pd.testing.assert_frame_equal(pd.read_csv(next(tmp_path.glob("*.csv"))), wanted, check_dtype=False)
