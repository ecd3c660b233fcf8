"""The page Explore in a real browser: the words of the submission, steps, permalinks, and hostile addresses."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from divbench.core.tables import Table
from leaderboard.data.board import Board, Entry
from leaderboard.data.scores import prompt_row
from leaderboard.tables.prompts import prompts_of
from leaderboard.tables.responses import curve_table, make_view, responses_table, scores_table
from submissions.checking.validate import open_submission
from tests.leaderboard.boards import load_boards
from tests.leaderboard.conftest import console_errors, open_page, shown_anew, until
from tests.leaderboard.injections import INJECTIONS, assert_inert
from tests.leaderboard.page_reading import displayed, query, rows, value
from tests.leaderboard.read_results import odd_results
from tests.leaderboard.servers import serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return odd_results(tmp_path_factory.mktemp("odd"))


@pytest.fixture(scope="module")
def board(odd: Path) -> Board:
    return load_boards(odd)[0][0]


@pytest.fixture(scope="module")
def address(odd: Path) -> Iterator[str]:
    with serving(odd) as url:
        yield f"{url}/explore"


def entry_of(board: Board, name: str) -> Entry:
    return next(entry for entry in board.entries if entry.result.manifest.name == name)


def flat(text: str) -> str:
    """A text as a browser lays it out."""
    return " ".join(text.split())


def same(browser: Any, table: str, wanted: Table) -> None:
    """The table on the page is the one that was made, as far as it is laid out."""
    found = rows(browser, table)
    assert found
    assert [[flat(cell) for cell in row] for row in found] == [
        [flat(c) for c in row] for row in wanted.texts[: len(found)]
    ]


# Responses that do not show their whole text on the page.
_HIDDEN = """
return [...document.querySelectorAll("#responses [role=gridcell][data-col='1']")].filter((cell) =>
  [cell, ...cell.querySelectorAll("*")].some((e) => e.scrollWidth > e.clientWidth + 2 && e.clientWidth
    && getComputedStyle(e).overflowX !== "visible") || cell.innerText.includes("…")).map((cell) => cell.innerText);
"""


def _linked(browser: Any, prompt_id: str) -> bool:
    return f"prompt={prompt_id}" in value(browser, "link")


@pytest.mark.parametrize(("name", "prompt_id"), [("varied", "demo-07"), ("odd", "demo-00")])
def test_a_link_shows_exactly_the_responses_of_the_submission(
    address: str, browser: Any, board: Board, odd: Path, name: str, prompt_id: str
) -> None:
    entry = entry_of(board, name)
    open_page(browser, f"{address}?{urlencode({'system': entry.result.submission_id[:8], 'prompt': prompt_id})}")
    submission, suite, _ = open_submission(odd.parent / "submissions" / name)
    responses = next(row.responses for row in submission.rows() if row.prompt_id == prompt_id)
    found = rows(browser, "responses")
    assert sorted(flat(row[1]) for row in found) == sorted(flat(text) for text in responses)
    groups = [row[0] for row in found]  # the class comes first, and responses of one class stand together
    assert groups == sorted(groups, key=groups.index)
    assert browser.execute_script(_HIDDEN) == []
    assert value(browser, "asked") == suite.by_id[prompt_id].prompt
    row = prompt_row(entry, prompt_id)
    assert row is not None
    view = make_view(board, entry, row)
    same(browser, "responses", responses_table(view))
    same(browser, "scores", scores_table(view))
    same(browser, "places", curve_table(view))
    until(lambda: bool(browser.find_elements("css selector", "#curve .js-plotly-plot .trace")), "no figure")
    assert console_errors(browser) == []


@pytest.mark.thorough
def test_responses_that_say_the_same_have_one_colour(address: str, browser: Any, board: Board) -> None:
    open_page(browser, f"{address}?system={entry_of(board, 'odd').result.result_id}")
    cell = "document.querySelector(`#responses [data-row='${arguments[0]}'][data-col='1']`)"
    colours = [browser.execute_script(f"return getComputedStyle({cell}).backgroundColor", row) for row in range(10)]
    tinted = [row for row, colour in enumerate(colours) if colour == colours[0]]
    found = rows(browser, "responses")
    shared = [place for place, row in enumerate(found) if "equivalent" in row[0]]
    assert tinted == shared == list(range(len(shared)))
    assert len(shared) > 1
    assert len({row[0] for row in found[: len(shared)]}) == 1


@pytest.mark.thorough
def test_next_and_previous_go_round_and_the_link_of_the_view_leads_back(
    address: str, browser: Any, board: Board
) -> None:
    ids = [each.prompt_id for each in prompts_of(board.entries[0])]
    odd = entry_of(board, "odd").result.submission_id
    open_page(browser, f"{address}?system={odd}&prompt={ids[-2]}")
    for element, wanted in (("next", ids[-1]), ("next", ids[0]), ("previous", ids[-1])):
        with shown_anew(browser):
            browser.find_element("id", element).click()
        assert query(browser)["prompt"] == [wanted]
        asked = next(each.text for each in prompts_of(board.entries[0]) if each.prompt_id == wanted)
        assert value(browser, "asked") == asked
        until(partial(_linked, browser, wanted), "the link is not that of the view")
    link = value(browser, "link")
    before = rows(browser, "responses")
    assert link.startswith(address)
    open_page(browser, link)
    assert rows(browser, "responses") == before
    assert value(browser, "asked") == asked
    assert query(browser)["system"] == [odd]
    assert "odd" in value(browser, "system")


def test_search_and_category_narrow_the_prompts(address: str, browser: Any, board: Board) -> None:
    prompts = prompts_of(board.entries[0])
    wanted = [each for each in prompts if each.category == prompts[-1].category]
    open_page(browser, f"{address}?{urlencode({'category': prompts[-1].category})}")
    assert value(browser, "asked") == wanted[0].text
    for place in (1, 2):
        with shown_anew(browser):
            browser.find_element("id", "next").click()
        assert value(browser, "asked") == wanted[place % len(wanted)].text
    open_page(browser, f"{address}?q=lighthouse")
    assert "lighthouse" in value(browser, "asked")
    open_page(browser, f"{address}?q=nothingofthekind")
    assert value(browser, "asked") == ""
    assert "No prompt is chosen" in value(browser, "note")


@pytest.mark.thorough
def test_fast_typing_loses_no_letter(address: str, browser: Any) -> None:
    open_page(browser, address)
    field = browser.find_element("css selector", "#q input, #q textarea")
    words = "lighthouse story"
    for letter in words:
        field.send_keys(letter)
    until(lambda: query(browser).get("q") == [words], "the address has other words than were typed")
    until(lambda: "lighthouse" in value(browser, "asked"), "the prompts are not those of the words")
    assert value(browser, "q") == words


@pytest.mark.thorough
def test_an_address_of_what_is_not_there_shows_the_first_and_says_so(address: str, browser: Any, board: Board) -> None:
    open_page(browser, f"{address}?table=gone&system=ffffffffffff&prompt=gone")
    first = prompts_of(board.entries[0])[0]
    assert value(browser, "asked") == first.text
    text = browser.find_element("tag name", "body").text
    assert text.count("The link asks for one that is not here") == 3


@pytest.mark.thorough
def test_tokens_and_what_each_adds_are_read_when_asked_for(address: str, browser: Any, board: Board) -> None:
    open_page(browser, f"{address}?system={entry_of(board, 'odd').result.submission_id}")
    browser.find_element("css selector", "#deeper button").click()
    until(lambda: browser.find_element("id", "read-tokens").is_displayed(), "the accordion did not open")
    browser.find_element("id", "read-tokens").click()
    until(lambda: len(rows(browser, "tokens")) == 8, "no tokens", 120)
    assert [row[0] for row in rows(browser, "tokens")] == ["1", "4", "5", "6", "7", "8", "9", "10"]
    until(
        lambda: bool(
            browser.find_elements("css selector", "#strip .js-plotly-plot .trace, #strip .heatmaplayer image")
        ),
        "no strip",
    )
    assert "divbench/offline-lm@" in value(browser, "deeper-note")
    browser.find_element("id", "read-added").click()
    until(lambda: len(rows(browser, "added")) == 8, "nothing on what each adds", 120)
    added = {row[0]: row[1] for row in rows(browser, "added")}
    assert added["1"] == added["5"]
    with shown_anew(browser):
        browser.find_element("id", "next").click()
    assert rows(browser, "tokens") == rows(browser, "added") == []
    assert console_errors(browser) == []


def test_without_an_analysis_there_is_no_empty_box(address: str, browser: Any, board: Board) -> None:
    open_page(browser, f"{address}?system={entry_of(board, 'odd').result.submission_id}")
    browser.find_element("css selector", "#deeper button").click()
    until(lambda: browser.find_element("id", "read-tokens").is_displayed(), "the accordion did not open")
    assert displayed(browser, "deeper-note", "strip", "tokens", "added") == []
    browser.find_element("id", "read-added").click()
    until(lambda: len(rows(browser, "added")) == 8, "nothing on what each adds", 120)
    assert displayed(browser, "deeper-note", "added") == ["deeper-note", "added"]
    with shown_anew(browser):
        browser.find_element("id", "next").click()
    until(lambda: displayed(browser, "deeper-note", "strip", "tokens", "added") == [], "an empty box")


@pytest.mark.thorough
def test_where_no_model_reads_it_is_said_and_the_buttons_are_off(site_address: str, browser: Any) -> None:
    open_page(browser, f"{site_address}/explore")
    browser.find_element("css selector", "#deeper button").click()
    until(lambda: browser.find_element("id", "read-tokens").is_displayed(), "the accordion did not open")
    assert not browser.find_element("id", "read-tokens").is_enabled()
    assert "The profile lexical has no language model" in value(browser, "deeper-note")
    assert "No curve: the profile lexical has no language model" in value(browser, "note")


def test_hostile_addresses_do_nothing(site_address: str, browser: Any) -> None:
    for place in range(4):  # each choice is given four of them, and no two the same
        asked = dict(zip(("prompt", "system", "q", "category", "table"), INJECTIONS[place::4], strict=False))
        open_page(browser, f"{site_address}/explore?{urlencode(asked)}")
        assert_inert(browser)
        assert browser.execute_script("return window.hacked") is None
