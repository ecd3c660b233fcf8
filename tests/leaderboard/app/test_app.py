"""The whole application in a real browser: every page opens without errors, and strangers' text is text on all."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest

from leaderboard.app.api import NAMES
from leaderboard.app.navigation import GROUPS, PAPER
from leaderboard.app.pages import PAGES, Page
from leaderboard.data.board import ranking_column
from leaderboard.data.scores import BoardScores
from leaderboard.tables import page_text
from leaderboard.tables.export import as_csv, ranked_frame
from leaderboard.tables.forest import forest
from submissions.untrusted.plain_text import shortened
from tests.leaderboard.boards import load_boards
from tests.leaderboard.conftest import PHONE, console_errors, on_a_phone, open_page, until
from tests.leaderboard.injections import assert_inert
from tests.leaderboard.page_reading import rows, selects
from tests.leaderboard.servers import serving, serving_by_command

pytestmark = pytest.mark.browser
# What a visitor may do to anything on a page: some injections wait for it.
_TOUCH = """
for (const element of document.querySelectorAll("*"))
  for (const kind of ["pointerenter", "mouseover", "mouseenter", "focus"])
    element.dispatchEvent(new Event(kind, {bubbles: kind === "mouseover"}));
"""
# Radio buttons and checkboxes that are not checked and whose edge cannot be told from the page behind it.
_UNSEEN = """
const light = (text) => { const [r, g, b] = text.match(/[\\d.]+/g).map((v) => v / 255).map((v) =>
  v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const page = light(getComputedStyle(document.querySelector(".gradio-container")).backgroundColor);
return [...document.querySelectorAll(":is(input[type=radio], input[type=checkbox]):not(:checked)")].filter((input) => {
  const style = getComputedStyle(input);
  if (style.opacity === "0" || !input.getBoundingClientRect().width) return false;
  const edge = light(style.borderTopColor), [high, low] = edge > page ? [edge, page] : [page, edge];
  return parseFloat(style.borderTopWidth) < 1 || (high + 0.05) / (low + 0.05) < 3;
}).map((input) => input.closest(".block")?.id);
"""


@pytest.fixture
def phone(browser: Any) -> Iterator[None]:
    """The screen of a phone."""
    with on_a_phone(browser):
        yield


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


def is_inert(browser: Any) -> None:
    """Nothing lives, neither at first nor when it is touched."""
    assert_inert(browser)
    browser.execute_script(_TOUCH)
    assert_inert(browser)
    assert console_errors(browser) == []


@pytest.fixture(scope="module")
def command_address(hostile: Path) -> Iterator[str]:
    """The address of `divbench board serve`."""
    with serving_by_command("--results", str(hostile)) as url:
        yield url


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.title)
def test_the_command_serves_pages_that_fit_a_phone_in_the_dark_theme_where_nothing_untrusted_comes_to_life(
    command_address: str, browser: Any, page: Any, phone: None
) -> None:
    """On a wide screen in the light theme, the tests of each page and test_hostile_names.py open it."""
    open_page(browser, f"{command_address}/{page.path}?__theme=dark")
    assert_opened(browser, page, PHONE)
    assert_inert(browser)
    warnings = browser.find_element("css selector", "#warnings textarea").get_property("value")
    assert "damaged" in warnings  # every page names the damaged result
    assert "<img src=x onerror=window.hacked=1>: not shown" in warnings
    assert browser.title == (f"{page.title} · DivBench" if page.path else "DivBench")
    foot = browser.find_element("css selector", "#foot .foot")
    assert f"DivBench {version('divbench')}" in foot.text
    assert re.search(r"results read on \d{4}-\d\d-\d\d \d\d:\d\d UTC", foot.text)
    # Reference results may stand among the command's own.
    assert any(each in foot.text for each in ("demo, k = 10, lexical", "noveltybench-curated, k = 8, offline"))
    links = [each.text for each in foot.find_elements("css selector", ":is(a, button, summary)")]
    assert links == ["Copy link", "CSV", "API", "Cite"]
    menu = browser.find_element("css selector", "#nav .menu")
    assert not browser.find_element("id", "pages").is_displayed()
    assert browser.execute_script(_UNSEEN) == []
    menu.click()
    assert browser.find_element("id", "pages").is_displayed()
    assert menu.get_attribute("aria-expanded") == "true"
    assert browser.execute_script("return document.documentElement.scrollWidth") <= PHONE
    is_inert(browser)


def test_the_navigation_leads_to_every_page_in_four_groups(site_address: str, browser: Any) -> None:
    open_page(browser, f"{site_address}/about")
    links = {link.text.strip(): link for link in browser.find_elements("css selector", "#nav nav a")}
    wanted = {page.title: f"{site_address}/{page.path}" for page in PAGES} | {"Paper": PAPER}
    assert {title: link.get_property("href") for title, link in links.items()} == wanted
    groups = browser.find_elements("css selector", "#nav .group")
    assert [each.find_element("tag name", "span").text for each in groups] == list(GROUPS)
    tops = {round(each.rect["y"]) for each in groups}
    assert len(tops) == 1  # one line
    assert browser.find_element("css selector", "#nav [aria-current=page]").text == "About"
    assert not [each for each in browser.find_elements("css selector", ".nav-holder") if each.is_displayed()]
    links[PAGES[-2].title].click()
    masthead = "return document.querySelector('.masthead h1')?.innerText ?? ''"
    until(lambda: PAGES[-2].title in browser.execute_script(masthead), "the navigation does not lead there")


@pytest.mark.parametrize(
    "pages", [PAGES[:1], pytest.param(PAGES[1:], marks=pytest.mark.thorough)], ids=["the first", "all others"]
)
def test_a_page_says_so_where_there_are_no_results(tmp_path: Path, browser: Any, pages: tuple[Page, ...]) -> None:
    with serving(tmp_path, study=tmp_path) as address:  # nor is there a study of metrics
        for page in pages:
            open_page(browser, f"{address}/{page.path}")
            assert console_errors(browser) == [], page.title
            text = browser.find_element("css selector", "body").text
            assert "Error" not in text.split(), page.title
            assert selects(browser)[1] == [], page.title
            if page.path == "":
                assert browser.find_element("css selector", ".forest .answer").text == page_text.NO_RESULTS
            if page.path == "post-training":  # what such a page shows
                assert rows(browser, "published")[0][0] == "AlpacaEval base"
            if page.path == "submit":
                assert "The queue" not in text  # a folder takes no submissions


def test_every_page_has_its_own_link_preview_and_answers_head(site_address: str, results: Path) -> None:
    (board,), _ = load_boards(results)
    column = ranking_column(board)
    assert column is not None
    sentence = forest(board, column, BoardScores(board).standings(column)).sentence
    seen = set()
    for page in PAGES:
        asked = urllib.request.Request(f"{site_address}/{page.path}", method="HEAD")  # noqa: S310 - our own address
        with urllib.request.urlopen(asked, timeout=30) as head:  # noqa: S310 - our own address
            assert (head.status, head.read()) == (200, b"")
        with urllib.request.urlopen(f"{site_address}/{page.path}", timeout=30) as answer:  # noqa: S310 - our own address
            text = answer.read().decode()
            assert int(answer.headers["content-length"]) == len(text.encode())
        assert "Click to try out" not in text
        assert "raw.githubusercontent.com" not in text.partition("<script>")[0]
        found = _Previews()
        found.feed(text)
        assert found.seen["og:title"] == found.seen["twitter:title"] == found.title
        assert found.seen["og:description"] == (page.about or shortened(sentence, 300))  # names in it are escaped
        seen.add(found.title)
    assert len(seen) == len(PAGES)
    with urllib.request.urlopen(f"{site_address}/board.csv?table={board.name}", timeout=30) as answer:  # noqa: S310 - ours
        assert answer.read().decode() == as_csv(ranked_frame(board))
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{site_address}/board.csv?table=%3Cb%3E", timeout=30)  # noqa: S310 - our own address


def test_an_address_without_a_page_leads_home(site_address: str) -> None:
    browser = {"accept": "text/html,application/xhtml+xml"}
    for path, home in (("modles", "./"), ("a/%3Cb%3E/c?d=e", "../../")):
        answer = httpx.get(f"{site_address}/{path}", headers=browser)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert re.findall('href="(.*?)"', answer.text) == [home]
        assert urljoin(str(answer.url), home) == f"{site_address}/"
        assert "<b>" not in answer.text
    assert httpx.get(f"{site_address}/modles").json() == {"detail": "Not Found"}


class _Previews(HTMLParser):
    """The title and the tags of a page's link preview."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, str] = {}
        self.title, self._within = "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name = given.get("property") or given.get("name")
        if tag == "meta" and name:
            assert name not in self.seen, name
            self.seen[name] = given["content"] or ""
        self._within = tag

    def handle_data(self, data: str) -> None:
        if self._within == "title" and not self.title:
            self.title = data


def test_no_two_pages_share_an_address_and_no_endpoint_a_name(site_address: str) -> None:
    assert len({page.path for page in PAGES}) == len({page.title for page in PAGES}) == len(PAGES)
    with urllib.request.urlopen(f"{site_address}/gradio_api/info", timeout=30) as answer:  # noqa: S310 - our own address
        names = list(json.load(answer)["named_endpoints"])
    assert {f"/{name}" for name in NAMES} <= set(names)
    assert [name for name in names if name.endswith("_1")] == []  # what Gradio makes of a name that is taken


def test_pages_are_filled_without_waiting_for_the_queue_of_calls(site_address: str) -> None:
    with urllib.request.urlopen(f"{site_address}/config") as reply:  # noqa: S310 - our own address
        events = json.load(reply)["dependencies"]
    opened = [each["id"] for each in events if any(kind == "load" for _, kind in each["targets"])]
    filled = [each["id"] for each in events if each["trigger_after"] in opened and each["backend_fn"]]
    assert len(opened) > len(filled) >= len(PAGES)
    assert [each for each in events if each["id"] in {*opened, *filled} and each["queue"]] == []
