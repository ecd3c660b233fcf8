"""Every text that a stranger may choose is an injection, and is shown as text; test_app.py looks at all pages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from leaderboard.app.pages import PAGES
from leaderboard.data.board import Board
from leaderboard.tables.systems import system_ids
from submissions.untrusted.plain_text import shortened
from tests.leaderboard.app.test_app import assert_opened, is_inert
from tests.leaderboard.app.test_page_compare import responses_are
from tests.leaderboard.boards import load_boards
from tests.leaderboard.conftest import open_page, shown_anew, until
from tests.leaderboard.injections import INJECTIONS, NAMES, not_shown
from tests.leaderboard.servers import serving

pytestmark = pytest.mark.browser

# A long table holds only the rows that can be seen: scroll through it, and collect the cells of a column.
_COLUMN = """
const [name, column, done] = arguments, found = new Set(), table = document.getElementById(name);
const scroller = [...table.querySelectorAll("*")].find((e) => e.scrollHeight > e.clientHeight + 9 && e.clientHeight > 99
  && ["auto", "scroll"].includes(getComputedStyle(e).overflowY));
const cells = () => [...table.querySelectorAll(`[role=gridcell][data-col='${column}']`)];
const last = () => Math.max(...cells().map((cell) => Number(cell.dataset.row)));
const look = () => {
  for (const cell of cells()) found.add(cell.innerText);
  if (!scroller || scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 1) return done([...found]);
  const before = last(), since = performance.now();
  scroller.scrollTop += scroller.clientHeight / 2;
  const wait = () => last() !== before || performance.now() - since > 150 ? look() : requestAnimationFrame(wait);
  requestAnimationFrame(wait);
};
look();
"""


@pytest.fixture(scope="module")
def board(hostile: Path) -> Board:
    return load_boards(hostile)[0][0]


@pytest.fixture(scope="module")
def address(hostile: Path) -> Iterator[str]:
    with serving(hostile) as url:
        yield url


def flat(texts: Any) -> set[str]:
    return {" ".join(str(text).split()) for text in texts}


def column(browser: Any, table: str, place: int) -> set[str]:
    browser.set_script_timeout(60)
    return flat(browser.execute_async_script(_COLUMN, table, place))


def offered(browser: Any, control: str) -> set[str]:
    """What a list offers."""
    browser.find_element("css selector", f"#{control} input").click()
    found: list[Any] = []

    def listed() -> bool:
        found[:] = browser.execute_script(
            "return [...document.querySelectorAll('[role=option]')].map(o => o.innerText)"
        )
        return bool(found)

    until(listed, f"{control} offers nothing")
    return {" ".join(text.replace("✓", "").split()) for text in found}


def open_whole(browser: Any, address: str, path: str) -> None:
    """Open a page in the light theme: it has no errors."""
    page = next(page for page in PAGES if page.path == path.partition("?")[0])
    open_page(browser, f"{address}/{path}{'&' if '?' in path else '?'}__theme=light")
    assert_opened(browser, page)
    warnings = browser.find_element("css selector", "#warnings textarea").get_property("value")
    assert "<img src=x onerror=window.hacked=1>: not shown" in warnings


def test_all_names_are_in_the_table_of_models_and_found_by_search(address: str, browser: Any) -> None:
    open_whole(browser, address, "?show=overview")
    shown = browser.execute_script(
        "return [...document.querySelectorAll('.forest tbody th bdi')].map(e => e.innerText)"
    )
    assert flat(shown) == flat(NAMES)  # all have a value, so all have a row, and each name is text
    assert len(browser.find_elements("css selector", ".forest tbody .dot")) == len(NAMES)
    assert any(name in browser.find_element("css selector", ".forest .answer").text for name in flat(NAMES))
    assert column(browser, "systems", 0) == flat(NAMES)
    assert offered(browser, "licence") == flat(NAMES) | {"any"}
    is_inert(browser)
    for name in NAMES[1::11]:
        open_page(browser, f"{address}/?{urlencode({'q': name, 'licence': name})}")
        assert column(browser, "systems", 0) == flat([name])
        is_inert(browser)


def test_names_are_text_beside_quality_and_in_figures(address: str, browser: Any, board: Board) -> None:
    ids = ",".join(system_ids(board)[:12])
    open_whole(browser, address, f"tradeoff?systems={ids}")
    assert column(browser, "points", 0) == flat(NAMES)
    assert column(browser, "classes", 0) == flat(entry.result.manifest.name for entry in board.entries[:12])
    drawn = "return document.querySelectorAll('.js-plotly-plot .main-svg').length"
    until(lambda: int(browser.execute_script(drawn)) > 1, "the figures are not drawn")
    assert offered(browser, "systems") == flat(NAMES)
    is_inert(browser)


# All injections are among the responses to these prompts, and each page shows names of all kinds.
@pytest.mark.parametrize("place", [0, *(pytest.param(place, marks=pytest.mark.thorough) for place in (1, 2, 3))])
def test_systems_prompts_and_answers_are_text_side_by_side(
    address: str, browser: Any, board: Board, place: int
) -> None:
    of_name = dict(zip([entry.result.manifest.name for entry in board.entries], system_ids(board), strict=True))
    names = NAMES[place::8][:4]
    ids = [of_name[name] for name in names]
    open_whole(browser, address, f"compare?systems={','.join(ids)}&show=everything&prompt=demo-{place:02d}")
    responses_are(browser, board, ids, f"demo-{place:02d}")
    heads = flat(e.text.split("\n")[0] for e in browser.find_elements("css selector", "#gaps th .header-content"))
    assert {f"mean of {name}" for name in flat(names)} <= heads
    links = flat(e.text for e in browser.find_elements("css selector", "[id^=explore-]"))
    assert {f"Explore {shortened(name, 40)}" for name in flat(names)} == links
    assert offered(browser, "systems") == flat(NAMES)
    is_inert(browser)


def test_prompts_categories_and_answers_are_text_on_explore(address: str, browser: Any, board: Board) -> None:
    open_whole(browser, address, f"explore?system={system_ids(board)[0]}")
    assert offered(browser, "system") >= {text for text in flat(NAMES) if len(text) < 70}
    open_page(browser, f"{address}/explore?system={system_ids(board)[0]}")
    seen: set[str] = set()
    for _ in range(4):  # prompts, whose responses are all injections
        asked = browser.find_element("css selector", "#asked textarea").get_property("value")
        seen |= flat([asked]) | column(browser, "responses", 1)
        is_inert(browser)
        with shown_anew(browser):
            browser.execute_script("document.getElementById('next').click()")  # lists that were touched lie over it
    assert flat(INJECTIONS) <= seen
    assert not_shown(browser, [board.entries[0].result.manifest.name]) == []
