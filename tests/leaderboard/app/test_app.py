"""The whole application in a real browser: every page opens without errors, and strangers' text is text on all."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leaderboard.app.api import NAMES
from leaderboard.app.pages import PAGES
from tests.leaderboard.conftest import console_errors, open_page, until
from tests.leaderboard.servers import serving, serving_by_command

pytestmark = pytest.mark.browser
PHONE = 390  # pixels wide


@pytest.fixture
def phone(browser: Any) -> Iterator[None]:
    """The screen of a phone."""
    size = {"width": PHONE, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    yield
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def assert_opened(browser: Any, page: Any, width: int | None = None) -> None:
    """The page is there without errors, fetched nothing from elsewhere and is no wider than its screen."""
    # On the first page the heading is for screen readers alone.
    assert page.title in browser.find_element("css selector", ".masthead h1").get_property("textContent")
    assert console_errors(browser) == []
    assert browser.execute_script("return window.hacked") is None
    foreign = (
        "return performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith(location.origin))"
    )
    assert [name for name in browser.execute_script(foreign) if not name.startswith(("data:", "blob:"))] == []
    found, screen = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert found <= (width or screen)


@pytest.fixture(scope="module")
def command_address(results: Path) -> Iterator[str]:
    """The address of `divbench board serve`."""
    with serving_by_command("--results", str(results)) as url:
        yield url


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.title)
def test_the_command_serves_pages_that_fit_a_phone_in_the_dark_theme(
    command_address: str, browser: Any, page: Any, phone: None
) -> None:
    """With the light theme and a wide screen, test_hostile_names.py opens every page."""
    open_page(browser, f"{command_address}/{page.path}?__theme=dark")
    assert_opened(browser, page, PHONE)
    warnings = browser.find_element("css selector", "#warnings textarea")
    assert "damaged" in warnings.get_property("value")  # every page names the damaged result


def test_the_navigation_leads_to_every_page(site_address: str, browser: Any) -> None:
    open_page(browser, f"{site_address}/about")
    links = {link.text.strip(): link for link in browser.find_elements("css selector", "nav a")}
    wanted = {page.title: f"{site_address}/{page.path}" for page in PAGES}
    assert {title: link.get_property("href") for title, link in links.items()} == wanted
    links[PAGES[-2].title].click()
    masthead = "return document.querySelector('.masthead h1')?.innerText ?? ''"
    until(lambda: PAGES[-2].title in browser.execute_script(masthead), "the navigation does not lead there")


def test_every_page_says_so_where_there_are_no_results(tmp_path: Path, browser: Any) -> None:
    with serving(tmp_path, study=tmp_path) as address:  # nor is there a study of metrics
        for page in PAGES:
            open_page(browser, f"{address}/{page.path}")
            assert console_errors(browser) == [], page.title
            assert "Error" not in browser.find_element("css selector", "body").text.split(), page.title


def test_no_two_pages_share_an_address_and_no_endpoint_a_name(site_address: str) -> None:
    assert len({page.path for page in PAGES}) == len({page.title for page in PAGES}) == len(PAGES)
    with urllib.request.urlopen(f"{site_address}/gradio_api/info", timeout=30) as answer:  # noqa: S310 - our own address
        names = list(json.load(answer)["named_endpoints"])
    assert {f"/{name}" for name in NAMES} <= set(names)
    assert [name for name in names if name.endswith("_1")] == []  # what Gradio makes of a name that is taken
