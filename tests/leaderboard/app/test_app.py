"""The whole application in a real browser: every page opens without errors, and strangers' text is text on all."""

import json
import urllib.request
from collections.abc import Iterator
from functools import partial
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
    assert page.title in browser.find_element("css selector", ".masthead h1").text
    assert console_errors(browser) == []
    assert browser.execute_script("return window.hacked") is None
    foreign = (
        "return performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith(location.origin))"
    )
    assert [name for name in browser.execute_script(foreign) if not name.startswith(("data:", "blob:"))] == []
    found, screen = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert found <= (width or screen)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.title)
def test_every_page_fits_a_phone_in_the_dark_theme(site_address: str, browser: Any, page: Any, phone: None) -> None:
    """With the light theme and a wide screen, test_hostile_names.py opens every page."""
    open_page(browser, f"{site_address}/{page.path}?__theme=dark")
    assert_opened(browser, page, PHONE)
    warnings = browser.find_element("css selector", "#warnings textarea")
    assert "damaged" in warnings.get_property("value")  # every page names the damaged result


def test_the_command_serves_pages_that_the_navigation_leads_to(results: Path, browser: Any) -> None:
    with serving_by_command("--results", str(results)) as address:
        open_page(browser, address)
        for page in PAGES:
            links = browser.find_elements("css selector", "nav a, nav button, .nav-holder a")
            next(link for link in links if link.text.strip() == page.title).click()
            until(partial(_leads_to, browser, page.title), f"the navigation does not lead to {page.title}")


def _leads_to(browser: Any, title: str) -> bool:
    return title in browser.find_element("css selector", ".masthead h1").text


def test_every_page_says_so_where_there_are_no_results(tmp_path: Path, browser: Any) -> None:
    with serving(tmp_path) as address:
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
