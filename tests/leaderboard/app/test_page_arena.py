"""The page Arena in a real browser: whole sessions by keyboard, on a phone's size, light and dark; blind, and inert."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leaderboard.data.sources import FolderSource
from submissions.judgements.vote_store import VoteReader
from submissions.judgements.votes import QUESTIONS
from submissions.storage.file_store import FolderStore
from tests.leaderboard.conftest import console_errors, leave_page, until
from tests.leaderboard.injections import assert_inert
from tests.leaderboard.servers import serving

pytestmark = pytest.mark.browser

VOTES = 20
_CHECKED = "return [...document.querySelectorAll('#ballot input')].map((button) => button.checked)"
_AT_THE_TOP = "return document.activeElement.matches('.pair')"
_WIDE = "return document.documentElement.scrollWidth > document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("votes")


@pytest.fixture(scope="module")
def address(results: Path, store: Path) -> Iterator[str]:
    with serving(results, votes=store) as url:
        yield f"{url}/arena"


def count(browser: Any, name: str) -> int:
    return int(browser.execute_script(f"return document.body.dataset.{name} || 0"))


def opened(browser: Any, address: str) -> None:
    browser.get(address)
    until(lambda: count(browser, "asked") > 0 and count(browser, "shown") > 0, "the page was not filled")


def keys(browser: Any, *pressed: str) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*pressed).perform()


def focus(browser: Any) -> str:
    """The question or button that has the focus."""
    return str(
        browser.execute_script(
            "return document.activeElement.closest('#more_different, #preferred, #vote, #next-pair')?.id ?? ''"
        )
    )


def tab_to(browser: Any, name: str) -> None:
    from selenium.webdriver.common.keys import Keys

    if focus(browser) in ("", "vote"):  # else from the top of the page
        browser.execute_script("document.querySelector('.pair').focus()")
    for _ in range(9):
        if focus(browser) == name:
            return
        keys(browser, Keys.TAB)
    pytest.fail(f"the Tab key does not reach {name}")


def note(browser: Any) -> str:
    return str(browser.find_element("css selector", "#arena-note textarea").get_property("value"))


def page_of(browser: Any) -> str:
    """All that the browser has of the page: its source, its texts, what it keeps, its address."""
    kept = browser.execute_script("return JSON.stringify({...localStorage}) + location.href + document.body.innerText")
    return str(browser.page_source) + str(kept)


def vote(browser: Any, steps: int) -> None:
    """Answer both questions by keyboard, and vote; the focus is at the next pair's button then."""
    from selenium.webdriver.common.keys import Keys

    until(lambda: len(browser.execute_script(_CHECKED)) == 6, "there are no questions")
    for question in QUESTIONS:
        tab_to(browser, question)
        keys(browser, Keys.SPACE, *[Keys.ARROW_DOWN] * steps)
    keys(browser, Keys.TAB)
    assert focus(browser) == "vote"  # the buttons of a question are one stop
    before = count(browser, "voted")
    keys(browser, Keys.ENTER)
    until(lambda: count(browser, "voted") > before, "the vote was not answered")
    assert "Your vote is saved" in note(browser)
    until(lambda: focus(browser) == "next-pair", "the focus is not at the next pair")


@pytest.mark.thorough
def test_twenty_votes_by_keyboard_on_a_phone_light_and_dark(
    address: str, browser: Any, results: Path, store: Path
) -> None:
    from selenium.webdriver.common.keys import Keys

    metrics = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    names = [entry.result.manifest.name for board in FolderSource(results).read().boards for entry in board.entries]
    try:
        opened(browser, address)
        console_errors(browser)
        for number in range(VOTES):
            if number == VOTES // 2:
                dark = [{"name": "prefers-color-scheme", "value": "dark"}]
                browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": dark})
                opened(browser, f"{address}?__theme=dark")
            if number < VOTES // 2:  # later the page lists systems by their votes
                source = page_of(browser)
                assert not [name for name in names if f">{name}<" in source or f'"{name}"' in source]
            assert not browser.execute_script(_WIDE)
            vote(browser, number % 3)
            assert "check" in note(browser) or "Left: " in note(browser)
            assert_inert(browser)
            if number < VOTES - 1:
                before = count(browser, "asked")
                keys(browser, Keys.ENTER)
                until(lambda low=before: count(browser, "asked") > low, "there is no next pair")  # type: ignore[misc]
                until(lambda: browser.execute_script(_AT_THE_TOP), "the focus is not at the next pair's prompt")
                assert not any(browser.execute_script(_CHECKED))
        assert console_errors(browser) == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    found = VoteReader(FolderStore(store))
    until(lambda: len(found.read().votes) == 2 * VOTES, "the store does not have the votes after a minute")
    votes = found.read().votes
    assert len({each.voter for each in votes}) == 1
    assert {each.answer for each in votes} == {"left", "tie", "right"}


def test_a_reload_in_the_middle_loses_nothing(address: str, browser: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    opened(browser, address)
    browser.execute_script("localStorage.clear()")  # another visitor
    opened(browser, address)
    shown = browser.find_element("css selector", ".pair").text
    tab_to(browser, "more_different")
    keys(browser, Keys.SPACE, Keys.ARROW_DOWN)
    checked = browser.execute_script(_CHECKED)
    assert checked == [False, True, False, False, False, False]
    opened(browser, address)
    assert browser.find_element("css selector", ".pair").text == shown
    assert browser.execute_script(_CHECKED) == checked
    tab_to(browser, "vote")
    keys(browser, Keys.ENTER)
    until(lambda: "answer both questions" in note(browser), "half a vote was taken")
    vote(browser, 2)
    told = note(browser)
    opened(browser, address)
    assert note(browser) == told  # also after the vote


def test_without_a_store_the_page_says_how_to_begin(site_address: str, browser: Any) -> None:
    leave_page(browser)
    opened(browser, f"{site_address}/arena")
    assert "divbench board serve --results RESULTS --votes FOLDER" in note(browser)
    assert not browser.find_elements("css selector", ".pair, #ballot input, #votes, #next-pair")
    assert console_errors(browser) == []
