"""The page Alike or different? over the reference results, in a real browser."""

from pathlib import Path
from typing import Any

import pytest

from leaderboard.data.reference.results import WithReference
from leaderboard.data.reference.systems import REAL, SHOWN_ATTACKS, is_matched
from tests.leaderboard.conftest import console_errors, open_page, shown_anew, until
from tests.leaderboard.servers import serving

pytestmark = pytest.mark.browser


def text_of(browser: Any, css: str) -> str:
    return str(browser.find_element("css selector", css).get_property("value"))


def test_reference_systems_are_compared_on_a_fresh_board(reference_address: str, browser: Any) -> None:
    board = next(each for each in WithReference().read().boards if each.k == 8)
    open_page(browser, f"{reference_address}/alike?table={board.name}")
    note = text_of(browser, "#note textarea")
    assert "8 responses from one ranked system include" in note  # four modes of gpt-4o are not four models
    assert "one response from each of 8 ranked systems" in note
    wanted = sorted(system.name for system in REAL)
    ticks = "return [...document.querySelectorAll('#alike-plot .ytick text')].map((each) => each.textContent).sort()"
    until(lambda: browser.execute_script(ticks) == wanted, f"the figure does not name {wanted}")
    numbers = "return [...document.querySelectorAll('#alike-plot .textpoint')].map((each) => each.textContent)"
    assert {len(text) for text in browser.execute_script(numbers)} == {3}  # such as .28, which fits on a phone
    with shown_anew(browser):
        browser.find_element("css selector", "#measure input[value=same_class]").click()
    assert "measure=same_class" in browser.current_url
    assert "equivalent" in browser.find_element("css selector", "#alike-plot .gtitle").text
    assert console_errors(browser) == []


def test_ten_attacks_are_shown_until_all_are_asked_for_and_stages_are_found(
    reference_address: str, browser: Any
) -> None:
    board = next(each for each in WithReference().read().boards if each.k == 8)
    open_page(browser, f"{reference_address}/?table={board.name}")
    suites = [each.text for each in browser.find_elements("css selector", "#suite label") if each.is_displayed()]
    assert len(suites) == len(set(suites)) <= 3  # the demonstration's, and two of the reference results
    assert not [name for name in suites if is_matched(name)]
    rows = browser.find_elements("css selector", "#forest .references tr")
    assert sum(row.is_displayed() for row in rows) == 1 + len(SHOWN_ATTACKS)  # people, too
    box = browser.find_element("css selector", "#forest .more input")
    box.send_keys(" ")  # as from a keyboard
    assert all(row.is_displayed() for row in rows)
    assert len(rows) > 1 + len(SHOWN_ATTACKS)
    assert console_errors(browser) == []
    open_page(browser, f"{reference_address}/post-training")
    note = text_of(browser, "#note textarea")
    assert "base: OLMo-2-7B base, SFT: OLMo-2-7B SFT, DPO: OLMo-2-7B DPO" in note
    assert console_errors(browser) == []


@pytest.mark.thorough
def test_a_board_without_such_systems_says_what_to_do(results: Path, browser: Any) -> None:
    with serving(results) as url:
        open_page(browser, f"{url}/alike")
        assert "divbench contrast SUBMISSION SUBMISSION --across" in text_of(browser, "#note textarea")
        assert browser.find_elements("css selector", "#alike-plot .ytick") == []
