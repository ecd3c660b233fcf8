"""The exported folder in a real browser, from the file system: it works, and nothing of strangers' comes to life."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from benchmark.scoring.per_prompt import CLASSES
from leaderboard.data.live_results import LiveResults
from leaderboard.data.sources import FolderSource
from leaderboard.static.write import write_static
from tests.leaderboard.boards import load_boards
from tests.leaderboard.conftest import console_errors, in_scheme, leave_page, until
from tests.leaderboard.injections import INJECTIONS, NAMES, assert_inert, not_shown, what_ran
from tests.leaderboard.page_reading import pale

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def bad_export(hostile: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_static(LiveResults(FolderSource(hostile)), tmp_path_factory.mktemp("bad") / "exported").folder


@pytest.fixture(scope="module")
def exported(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_static(LiveResults(FolderSource(results)), tmp_path_factory.mktemp("good") / "exported").folder


def opened(browser: "Chrome", page: Path, after: str = "") -> None:
    """Go to a page and wait until its figures stand; what an earlier page said is forgotten."""
    leave_page(browser)
    browser.get(page.as_uri() + after)
    drawn = "return [...document.querySelectorAll('.figure')].every((figure) => figure.querySelector('.main-svg'))"
    until(lambda: bool(browser.execute_script(drawn)), f"{page.name}: a figure was not drawn")


def texts(browser: "Chrome", css: str) -> list[str]:
    found: list[str] = browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].filter((e) => e.checkVisibility())"
        ".map((e) => e.textContent)",
        css,
    )
    return found


def kinds_of(browser: "Chrome", page: Path) -> set[str]:
    """The kinds of elements of a page, as the browser parses it: the name of each with those of its attributes."""
    found: list[str] = browser.execute_script(
        "const parsed = new DOMParser().parseFromString(arguments[0], 'text/html');"
        "const kind = (e) => JSON.stringify([e.localName, ...[...e.attributes].map((a) => a.name)]);"
        "return [...new Set([...parsed.querySelectorAll('*')].map(kind))]",
        page.read_text(encoding="utf-8"),
    )
    return set(found)


def css(browser: "Chrome", selector: str) -> Any:
    return browser.find_element("css selector", selector)


def emulate(browser: "Chrome", width: int, height: int, scheme: str) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 640}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


@pytest.fixture(
    params=[
        pytest.param((1400, "light"), id="desktop, light", marks=pytest.mark.thorough),
        pytest.param((360, "dark"), id="phone, dark"),
    ]
)
def screen(request: pytest.FixtureRequest, browser: "Chrome") -> Any:
    width, scheme = request.param
    emulate(browser, width, 900, scheme)
    yield request.param
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_every_page_loads_from_the_file_system_and_nothing_of_strangers_comes_to_life(
    browser: "Chrome", bad_export: Path, screen: tuple[int, str]
) -> None:
    width, scheme = screen
    kinds = [sorted(bad_export.glob(f"{kind}-[0-9a-f]*[0-9a-f].html")) for kind in ("explore", "system")]
    assert [len(same) for same in kinds] == [len(NAMES)] * 2
    for page in sorted(set(bad_export.glob("*.html")) - {page for _, *same in kinds for page in same}):
        opened(browser, page)
        assert_inert(browser)
        assert console_errors(browser) == [], page.name
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width, page.name
        asked = browser.execute_script("return performance.getEntriesByType('resource').map((each) => each.name)")
        assert all(name.startswith(("file:", "data:")) for name in asked), page.name
        ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert ground == {"light": "rgb(251, 251, 250)", "dark": "rgb(14, 17, 21)"}[scheme], page.name
        browser.execute_script("document.querySelectorAll('th button, select, input').forEach((e) => e.focus())")
        assert_inert(browser)
    # The pages of the other systems have the kinds of elements of the first: no name has become one, or a part of one.
    for first, *same in kinds:
        elements = kinds_of(browser, first)
        for page in same:
            assert kinds_of(browser, page) == elements, page.name


def test_names_are_shown_as_text(browser: "Chrome", bad_export: Path) -> None:
    opened(browser, bad_export / "index.html")
    assert not_shown(browser, NAMES) == []
    assert sorted(texts(browser, "#systems tbody th")) == sorted(NAMES)
    assert "<img src=x onerror=window.hacked=1>: not shown" in texts(browser, ".warnings")[0]
    opened(browser, next(bad_export.glob("tradeoff-*.html")))
    assert set(texts(browser, "#points tbody th")) == set(NAMES)


def test_responses_prompts_and_categories_are_shown_as_text(browser: "Chrome", bad_export: Path) -> None:
    opened(browser, next(bad_export.glob("explore-[0-9a-f]*[0-9a-f].html")))
    seen: set[str] = set()
    for _ in range(24):
        seen |= {" ".join(text.split()) for text in texts(browser, "#responses .response, #explored .prompt")}
        assert_inert(browser)
        css(browser, "#next").click()
    assert {" ".join(text.split()) for text in INJECTIONS} - seen == set()


def test_the_injections_are_alive_where_a_page_lets_them(browser: "Chrome", tmp_path: Path) -> None:
    alive: set[str] = set()

    def found() -> bool:  # a busy machine may look before one has come to life, and looks again
        for number, text in enumerate(INJECTIONS):
            if text not in alive:
                page = tmp_path / f"{number}.html"
                page.write_text(f'<!doctype html><body><p title="{text}"></p>{text}', encoding="utf-8")
                browser.get(page.as_uri())
                if what_ran(browser):
                    alive.add(text)
            if len(alive) >= 20:  # the others are alive in Markdown, templates, scripts, spreadsheets and terminals
                return True
        return False

    until(found, "too few of the injections came to life", 30)


def test_a_head_sorts_and_the_address_keeps_it(browser: "Chrome", exported: Path) -> None:
    opened(browser, exported / "index.html", "#show=diversity")
    shown = "#systems thead th"
    place = next(i for i, text in enumerate(texts(browser, shown)) if text == "distinct_n")
    column = (
        "return [...document.querySelectorAll('#systems tbody tr')].map((row) => [...row.cells].filter("
        "(cell) => !cell.hidden)[arguments[0]].dataset.value ?? null)"
    )
    assert place >= 2
    button = browser.find_elements("css selector", f"{shown}:not([hidden]) button")[place]
    button.click()
    down = [float(value) for value in browser.execute_script(column, place)]
    assert down == sorted(down, reverse=True)
    assert len(set(down)) > 3
    button.send_keys("\n")  # by the keyboard, too
    up = [float(value) for value in browser.execute_script(column, place)]
    assert up == sorted(up)
    address = browser.current_url
    opened(browser, exported / "index.html", address.partition("index.html")[2])
    assert [float(value) for value in browser.execute_script(column, place)] == up
    assert "ascending" in css(browser, "#systems thead th[aria-sort]").get_attribute("aria-sort")


def test_search_and_presets_and_the_address_that_holds_them(browser: "Chrome", exported: Path) -> None:
    opened(browser, exported / "index.html")
    assert len(texts(browser, "#systems tbody th")) == 7
    css(browser, "#q").send_keys("VARIED human")
    assert texts(browser, "#systems tbody th") == ["varied"]
    assert texts(browser, "#found") == ["1 of 7 shown"]
    from selenium.webdriver.support.ui import Select

    Select(css(browser, "#show")).select_by_visible_text("cost")
    heads = texts(browser, "#systems thead th")
    assert any(head.startswith("bytes_a_response") for head in heads)
    assert not any(head.startswith("distinct_n") for head in heads)
    address = browser.current_url
    opened(browser, exported / "index.html", address.partition("index.html")[2])
    assert texts(browser, "#systems tbody th") == ["varied"]
    assert texts(browser, "#systems thead th") == heads
    opened(browser, exported / "index.html", "#show=%3Cscript%3E&q=zzz&sort-systems=999")
    assert texts(browser, "#systems tbody th") == []
    assert console_errors(browser) == []


def test_a_link_to_a_prompt_leads_to_its_responses(browser: "Chrome", exported: Path, results: Path) -> None:
    (board,), _ = load_boards(results)
    entry = next(entry for entry in board.entries if entry.result.manifest.name == "paraphrased")
    row = pq.read_table(entry.folder / "per_prompt.parquet").to_pylist()[7]
    page = exported / f"explore-{entry.result.result_id}.html"
    opened(browser, page, f"#prompt={row['prompt_id']}")
    assert texts(browser, "#explored .prompt") == [row["prompt"]]
    assert texts(browser, "#responses .response") == row["responses"]
    classes = [text.partition(" ")[0] for text in texts(browser, "#responses td:nth-child(2)")]
    assert [int(text) - 1 for text in classes] == row[CLASSES]["labels"]
    marks = [each.get_attribute("class") for each in browser.find_elements("css selector", "#responses tbody tr")]
    sizes = Counter(classes)
    assert {number for number, mark in zip(classes, marks, strict=True) if mark} == {n for n in sizes if sizes[n] > 1}
    css(browser, "#next").click()
    other = pq.read_table(entry.folder / "per_prompt.parquet").to_pylist()[8]
    assert texts(browser, "#explored .prompt") == [other["prompt"]]
    css(browser, "#find").send_keys(other["prompt"][:30])
    assert texts(browser, "#explored .prompt") == [other["prompt"]]
    css(browser, "#find").send_keys(" no prompt holds this")
    assert texts(browser, "#explored") == [""]
    assert texts(browser, "[role=status]") == ["No prompt matches."]
    assert (
        browser.find_elements("css selector", "[aria-live] table, [role=status] table") == []
    )  # read aloud as a whole


def test_figures_have_the_numbers_of_their_tables(browser: "Chrome", exported: Path) -> None:
    opened(browser, next(exported.glob("tradeoff-*.html")))
    rows = browser.execute_script(
        "return [...document.querySelectorAll('#points tbody tr')].map((row) => "
        "[Number(row.cells[2].dataset.value), Number(row.cells[3].dataset.value)])"
    )
    drawn = browser.execute_script(
        "return document.getElementById('tradeoff').data.filter((trace) => trace.mode.includes('markers'))"
        ".flatMap((trace) => [...trace.x].map((x, i) => [x, trace.y[i]]))"
    )
    assert sorted(map(tuple, json.loads(json.dumps(drawn)))) == sorted(map(tuple, rows))
    assert len(rows) == 7
    for figure in browser.find_elements("css selector", ".figure"):
        assert figure.get_attribute("aria-label")


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_contrast_with_their_background(browser: "Chrome", exported: Path, scheme: str) -> None:
    with in_scheme(browser, scheme):
        for page in ("index.html", "metrics.html"):
            opened(browser, exported / page)
            assert pale(browser) == {}
