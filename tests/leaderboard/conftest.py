"""Results to show, a server that shows them, and a browser that looks."""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from submissions.checking.validate import open_submission
from submissions.gaming.baselines import write_demo_submissions
from submissions.schema import Row
from submissions.storage.submission_folders import write_submission
from tests.leaderboard.hostile_results import hostile_results
from tests.leaderboard.injections import INJECTIONS
from tests.leaderboard.judged import score_words

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

HOSTILE_NAME = "<img src=x onerror='window.hacked=1'>"
ANSWERS = 10
PHONE = 390  # width of a phone in pixels
_OPEN: "list[Chrome]" = []  # the browser, once a test has asked for it


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real results of the demonstration at the profile lexical, one of hostile texts, and a damaged folder.

    The submissions lie beside it in `submissions`; the hostile one answers the prompts with all injections in turn.
    """
    folder = tmp_path_factory.mktemp("board")
    written = write_demo_submissions(folder / "submissions")
    submission, _, _ = open_submission(written[0])
    hostile = folder / "submissions" / "hostile"
    hostile.mkdir()
    rows = []
    for place, row in enumerate(submission.rows()):
        texts = tuple(INJECTIONS[(place * ANSWERS + i) % len(INJECTIONS)] for i in range(ANSWERS))
        rows.append(Row(row.number, row.prompt_id, row.prompt, texts))
    manifest = submission.manifest.model_copy(update={"name": HOSTILE_NAME, "notes": INJECTIONS[0]})
    write_submission(hostile, manifest, rows)
    for each in (*written, hostile):
        score_words(each, folder / "results")
    (folder / "results" / "damaged").mkdir()
    (folder / "results" / "damaged" / "result.json").write_text("{", encoding="utf-8")
    return folder / "results"


@pytest.fixture(scope="session")
def hostile(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results in which every text that a stranger may choose is an injection, and a damaged folder."""
    folder = hostile_results(results, tmp_path_factory.mktemp("hostile"))
    shutil.copytree(results / "damaged", folder / "damaged")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator["Chrome"]:
    """Headless Chromium."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("Chromium and chromedriver are not installed (Debian packages chromium, chromium-driver)")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1500,1100"):
        options.add_argument(argument)
    for argument in ("--disable-background-networking", "--disable-component-update", "--disable-sync"):
        options.add_argument(argument)
    options.add_argument("--disable-extensions")
    options.add_argument("--js-flags=--no-maglev --no-turbofan")  # no page lives long enough to be worth optimising
    options.add_argument("--disable-features=BackForwardCache,MediaRouter,OptimizationHints,Translate")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    os.environ["SE_OFFLINE"] = "true"
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    made.set_page_load_timeout(30)
    _add_tab(made)
    _OPEN.append(made)
    yield made
    _OPEN.remove(made)
    made.quit()


@contextmanager
def on_a_phone(browser: Any) -> Iterator[None]:
    """Give the browser the screen of a phone."""
    size = {"width": PHONE, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@contextmanager
def in_scheme(browser: Any, scheme: str) -> Iterator[None]:
    """Let the browser prefer *light* or *dark* pages."""
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.fixture(scope="module", autouse=True)
def leave_the_last_page() -> Iterator[None]:
    """Show nothing after the tests of a file: a page of the board keeps browser and server at work."""
    yield
    for browser in _OPEN:
        if browser.current_url.startswith("http"):  # the next board may have this one's address
            browser.execute_script("try { localStorage.clear(); sessionStorage.clear() } catch {}")
        leave_page(browser)


def leave_page(browser: Any) -> None:
    """Show nothing, and forget the errors so far. Rarely, Chromium never gets away from a page: it is closed then."""
    from selenium.common.exceptions import TimeoutException

    try:
        browser.get("about:blank")
    except TimeoutException:
        stuck = browser.current_window_handle
        other = [handle for handle in browser.window_handles if handle != stuck][-1]
        browser.switch_to.window(other)
        browser.execute_cdp_cmd("Target.closeTarget", {"targetId": stuck})
        _add_tab(browser)
    console_errors(browser)


def _add_tab(browser: Any) -> None:
    """An empty tab beside the one in use: when that hangs, no other can be opened."""
    used = browser.current_window_handle
    browser.switch_to.new_window("tab")
    browser.switch_to.window(used)


def open_page(browser: Any, url: str) -> None:
    """Go to a page of the application and wait until it has been filled."""
    leave_page(browser)
    browser.get(url)
    until(lambda: _count(browser, "opened") > 0 and _count(browser, "shown") > 0, "the page was not filled")


@contextmanager
def shown_anew(browser: Any) -> Iterator[None]:
    """Do something that changes what a page shows; at the end wait until it has."""
    before = _count(browser, "shown")
    yield
    until(lambda: _count(browser, "shown") > before, "the page did not show anything new")


def _count(browser: Any, name: str) -> int:
    return int(browser.execute_script(f"return document.body.dataset.{name} || 0"))


def until(holds: Callable[[], bool], why: str, seconds: float = 60.0) -> None:
    """Wait for something to hold.

    Args:
        holds: Asked again and again; a page that changes under it is asked anew.
        why: What is wrong where it never does.
        seconds: How long.
    """
    from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException

    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if holds():
                return
        except (NoSuchElementException, StaleElementReferenceException):
            pass
        time.sleep(0.03)
    pytest.fail(why)


def console_errors(browser: Any) -> list[str]:
    """What the browser's console has of errors since it was last asked."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
