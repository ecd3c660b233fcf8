"""The page of datasets in a real browser: tables, a permalink, sample rows as text."""

from typing import TYPE_CHECKING

import pytest

from datasets_build.load import SUITES, load_table
from leaderboard.tables.dataset_cards import cards, find_card, in_python
from tests.leaderboard.conftest import console_errors, open_page, shown_anew

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = pytest.mark.browser


def text_of(browser: "Chrome", css: str) -> str:
    return " ".join(browser.find_element("css selector", css).text.split())


def column(browser: "Chrome", table: str, place: int) -> list[str]:
    """The texts of a table's column that stand on the page: long tables hold only what can be seen."""
    cells = f"document.querySelectorAll(`#{table} [role=gridcell][data-col='{place}']`)"
    found: list[str] = browser.execute_script(f"return [...{cells}].map((cell) => cell.innerText.trim())")
    return found


@pytest.mark.thorough
def test_all_suites_and_datasets_are_listed(browser: "Chrome", site_address: str) -> None:
    open_page(browser, f"{site_address}/datasets")
    assert column(browser, "suites", 0) == [suite.name for suite in SUITES]
    assert column(browser, "overview", 0) == [card.name for card in cards()]
    assert console_errors(browser) == []


def test_an_address_restores_dataset_and_split(browser: "Chrome", site_address: str) -> None:
    open_page(browser, f"{site_address}/datasets?dataset=gssbench&split=union")
    card = find_card(cards(), "gssbench")
    assert card.source.licence in text_of(browser, "#facts")
    assert column(browser, "splits", 0) == card.splits
    assert column(browser, "samples", 0) == load_table("gssbench", "union")["pair_id"].to_pylist()[:5]
    code = browser.find_element("css selector", "#python .cm-content").text
    assert code.split() == in_python(card, "union").split()
    assert not browser.find_elements("css selector", "#absent textarea")
    open_page(browser, f"{site_address}/datasets?dataset=%3Cscript%3E&split=zzz")
    assert browser.find_element("css selector", "#dataset input").get_attribute("value") == cards()[0].name
    assert console_errors(browser) == []


@pytest.mark.thorough
def test_another_dataset_changes_the_address_and_all_that_is_shown(browser: "Chrome", site_address: str) -> None:
    open_page(browser, f"{site_address}/datasets?dataset=gssbench&split=union")
    field = browser.find_element("css selector", "#dataset input")
    field.click()
    with shown_anew(browser):
        browser.find_element("css selector", "[role=option][aria-label=demo]").click()
    assert "dataset=demo" in browser.current_url
    assert browser.find_element("css selector", "#split input").get_attribute("value") == "prompts"
    assert column(browser, "samples", 0) == load_table("demo", "prompts")["prompt_id"].to_pylist()[:5]
    assert console_errors(browser) == []
