"""The page About in a real browser: its texts, citations, versions and published rows are there."""

from typing import TYPE_CHECKING

import pytest

from datasets_build.sources.source import divbench_citation
from leaderboard.tables.about import HOW_IT_WORKS, paper_citations, published, versions
from tests.leaderboard.conftest import console_errors, leave_page, until

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = pytest.mark.browser


def shown(browser: "Chrome", css: str) -> str:
    return " ".join(browser.find_element("css selector", css).text.split())


def test_the_page_says_how_the_board_works_and_how_to_cite_it(browser: "Chrome", site_address: str) -> None:
    leave_page(browser)
    browser.get(f"{site_address}/about")
    until(lambda: "NoveltyBench" in shown(browser, "#published"), "the page was not filled")
    titles = [each.text for each in browser.find_elements("css selector", "#how h2")]
    assert titles == [section.title for section in HOW_IT_WORKS]
    assert shown(browser, "#cite .cm-content") == " ".join(divbench_citation().split())
    for place, (_, bibtex) in enumerate(paper_citations()):
        assert shown(browser, f"#paper-{place} .cm-content") == " ".join(bibtex.split())
    assert versions().shown[0][0] in shown(browser, "#versions")
    assert published().shown[0][0] in shown(browser, "#published")
    assert console_errors(browser) == []
