"""Who has no pointer: the Tab key leads through the pages in the order in which they are read, and is seen to."""

from itertools import pairwise
from typing import Any

import pytest

from leaderboard.app.pages import PAGES
from tests.leaderboard.conftest import open_page, until

pytestmark = pytest.mark.browser

# Where the focus is: a link of the navigation, or the element of a name that it is in; and whether that is seen.
_FOCUS = """
const at = document.activeElement;
if (!at || at === document.body) return null;
const named = at.closest("[id]:not([id^=modebar])"), label = at.closest("label");
const marked = [at, label].filter(Boolean).some((element) => {
  const style = getComputedStyle(element);
  return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
});
const cell = at.closest("[role=gridcell]") || (at.tagName === "DIV" && at.closest("table, [role=grid]"));
const kind = at.closest("nav") ? "navigation" : cell ? "cell" : at.localName;
return [kind === "navigation" ? at.innerText.trim() : named?.id ?? "", kind, marked];
"""


def stops(browser: Any) -> list[tuple[str, str, bool]]:
    """Where the Tab key stops on its way from the top of the page to its end: name, kind, whether it is seen."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    found: list[tuple[str, str, bool]] = []
    for _ in range(120):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        at = browser.execute_script(_FOCUS)
        if at is None:
            return found
        found.append((str(at[0]), str(at[1]), bool(at[2])))
    pytest.fail("the Tab key does not come to the end of the page")


@pytest.mark.parametrize(
    ("page", "order"),
    [
        (
            "?show=overview",  # which opens what is behind the button
            ["suite", "rank", "table", "by", "show", "q", "types", "systems", "csv", "parquet", "meaning"],
        ),
        (
            "explore",
            ["table", "system", "category", "q", "prompt", "previous", "next", "responses", "scores", "deeper"],
        ),
    ],
    ids=["Models", "Explore"],
)
def test_the_tab_key_reaches_everything_in_the_order_in_which_it_is_read(
    site_address: str, browser: Any, page: str, order: list[str]
) -> None:
    open_page(browser, f"{site_address}/{page}")
    found = stops(browser)
    assert [name for name, kind, _ in found if kind == "navigation"] == [*(each.title for each in PAGES), "Paper"]
    names = list(dict.fromkeys(name for name, kind, _ in found if kind != "navigation"))
    assert [name for name in names if name in order] == order
    assert [name for name, _, seen in found if not seen] == []
    table = "responses" if page == "explore" else "systems"
    assert (table, "cell", True) in found


def test_cells_are_reached_by_the_arrows(site_address: str, browser: Any) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    open_page(browser, f"{site_address}/?show=overview")
    cell = browser.find_element("css selector", "#systems [role=gridcell][data-row='0'][data-col='1']")
    cell.click()
    place = (
        "const c = document.querySelector('#systems [role=gridcell].focus, #systems [role=gridcell]:focus,"
        " #systems [role=gridcell]:focus-within, #systems .selected-cell, #systems .cell-selected');"
        "return c === null ? null : [c.closest('[data-row]').dataset.row, c.closest('[data-row]').dataset.col]"
    )
    until(lambda: browser.execute_script(place) == ["0", "1"], "the cell that was clicked is not the chosen one")
    ActionChains(browser).send_keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT).perform()
    until(lambda: browser.execute_script(place) == ["1", "2"], "the arrows do not move the chosen cell")


_SPOKEN = "return document.querySelector('.spoken[role=status]').textContent"


def test_a_new_sentence_is_read_aloud_and_arrows_choose(site_address: str, browser: Any) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    open_page(browser, f"{site_address}/")
    until(lambda: browser.execute_script("return document.querySelector('.spoken') !== null"), "nothing is read aloud")
    assert browser.execute_script(_SPOKEN) == ""
    browser.execute_script("document.querySelector('#rank input:checked').focus()")
    ActionChains(browser).send_keys(Keys.ARROW_DOWN).perform()
    answer = "return document.querySelector('.forest .answer').innerText"
    until(lambda: browser.execute_script(_SPOKEN) != "", "the new sentence is not read aloud")
    assert browser.execute_script(_SPOKEN) == browser.execute_script(answer)


def test_a_link_skips_the_navigation(site_address: str, browser: Any) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    open_page(browser, f"{site_address}/compare")
    for key in (Keys.TAB, Keys.ENTER, Keys.TAB):
        ActionChains(browser).send_keys(key).perform()
    assert browser.execute_script("return document.activeElement.closest('#table') !== null")
    assert "#" not in browser.current_url


@pytest.mark.parametrize("page", ["", "tradeoff", "compare", "arena"])
def test_headings_are_in_order_and_fields_have_names(site_address: str, browser: Any, page: str) -> None:
    open_page(browser, f"{site_address}/{page}")
    script = "return [...document.querySelectorAll('h1, h2, h3')].map((e) => Number(e.localName[1]))"
    levels = browser.execute_script(script)
    assert levels[0] == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))
    labels = "return [...document.querySelectorAll('textarea')].map((e) => e.closest('label').innerText.trim())"
    assert "Textbox" not in browser.execute_script(labels)


def test_what_is_not_copied_is_not_said_to_be(site_address: str, browser: Any) -> None:
    """Pages over plain HTTP, except on the own machine, have no clipboard."""
    open_page(browser, f"{site_address}/compare")
    browser.execute_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    button = browser.find_element("css selector", ".copy-link")
    button.click()
    until(lambda: button.text == "Copy failed: the link is in the address bar", "the button says something else", 5)
