"""The application over HTTP and in a real browser, on the demonstration's results and on hostile text."""

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any

import pytest

from benchmark.instruments import Instruments
from benchmark.profiles import find_profile
from benchmark.scorer import score_submission
from leaderboard.board import cell_texts, load_boards
from submissions.demo import write_demo_submissions
from submissions.schema import Row
from submissions.store import write_submission
from submissions.validate import open_submission

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

ATTACKS = (
    "<script>window.hacked=1</script>",
    "<img src=x onerror='window.hacked=1'>",
    "<svg onload=window.hacked=1>",
    "[link](javascript:window.hacked=1)",
    "{{constructor.constructor('window.hacked=1')()}}",
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two real results of the demonstration, one of hostile texts, and a damaged folder."""
    folder = tmp_path_factory.mktemp("board")
    lexical = find_profile("lexical")
    varied, paraphrased, *_ = write_demo_submissions(folder / "submissions")
    hostile = folder / "submissions" / "hostile"
    submission, suite, _ = open_submission(varied)
    rows = [Row(r.number, r.prompt_id, r.prompt, (ATTACKS * 2)) for r in submission.rows()]
    hostile.mkdir()
    write_submission(hostile, submission.manifest.model_copy(update={"name": ATTACKS[1]}), rows)
    for each in (varied, paraphrased, hostile):
        submission, suite, _ = open_submission(each)
        score_submission(submission, suite, Instruments(lexical), folder / "results")
    (folder / "results" / "damaged").mkdir()
    (folder / "results" / "damaged" / "result.json").write_text("{", encoding="utf-8")
    return folder / "results"


@pytest.fixture(scope="module")
def address(results: Path) -> Iterator[str]:
    """The address of `divbench board serve` in a process of its own."""
    with closing(socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", "from leaderboard.cli import main; main()"]
    command += ["board", "serve", "--results", str(results), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        url = f"http://127.0.0.1:{port}"
        try:
            _wait_for(url, server)
            yield url
        finally:
            server.terminate()
            server.wait(timeout=30)


def _wait_for(url: str, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if server.poll() is not None:
            assert server.stdout is not None
            pytest.fail(f"the server ended: {server.stdout.read().decode()}")
        try:
            urllib.request.urlopen(url, timeout=5).close()  # noqa: S310 - our own address
        except OSError:
            time.sleep(0.3)
        else:
            return
    pytest.fail("the server did not answer in two minutes")


@pytest.fixture(scope="module")
def browser() -> Iterator["Chrome"]:
    """Headless Chromium."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("Chromium and chromedriver are not installed (Debian packages chromium, chromium-driver)")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1900,1200"):
        options.add_argument(argument)
    for argument in ("--disable-background-networking", "--disable-component-update", "--disable-sync"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    os.environ["SE_OFFLINE"] = "true"
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    made.implicitly_wait(30)
    yield made
    made.quit()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_api_gives_the_same_table_and_responses(address: str, results: Path) -> None:
    from gradio_client import Client

    boards, unreadable = load_boards(results)
    assert [item.folder.name for item in unreadable] == ["damaged"]
    with closing(Client(address, verbose=False)) as client:
        table, about, *files = client.predict(boards[0].name, api_name="/board")
        assert table["value"]["headers"][3].startswith(boards[0].columns[0].label)
        assert [row[0] for row in table["value"]["data"]] == [e.result.manifest.name for e in boards[0].entries]
        assert table["value"]["metadata"]["display_value"][0][3] == cell_texts(boards[0], boards[0].columns[0])[0]
        assert "3 systems on demo" in about
        assert len(files) == 3
        place = [e.result.manifest.name for e in boards[0].entries].index("varied")
        asked, texts, _ = client.predict(boards[0].name, str(place), "demo-02", api_name="/responses")
        submission, suite, _ = open_submission(results.parent / "submissions" / "varied")
        wanted = next(row for row in submission.rows() if row.prompt_id == "demo-02")
        assert asked == suite.by_id["demo-02"].prompt
        assert tuple(row[1] for row in texts["data"]) == wanted.responses


@pytest.mark.browser
def test_every_page_loads_and_strangers_text_is_inert(address: str, browser: Any) -> None:
    from selenium.webdriver.common.by import By

    browser.get(address)
    table = browser.find_element(By.CSS_SELECTOR, "#systems")
    _until(lambda: "paraphrased" in table.text)
    assert ATTACKS[1] in table.text  # shown as the text that it is
    assert "damaged" in browser.find_element(By.CSS_SELECTOR, "textarea").get_property("value")
    pages = {
        "Responses": "Scores of this prompt",
        "Different answers": "expected classes",
        "Published elsewhere": "gemini-1.5-pro",
        "What the columns mean": "distinct_n_tevet|v:1",
    }
    for title, wanted in pages.items():
        tab = next(b for b in browser.find_elements(By.CSS_SELECTOR, "button[role=tab]") if b.text == title)
        tab.click()
        _until(lambda wanted=wanted: wanted in browser.find_element(By.TAG_NAME, "body").text)
    errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert errors == []
    assert browser.execute_script("return window.hacked") is None


@pytest.mark.browser
def test_drill_down_shows_the_responses_of_the_chosen_system_and_prompt(
    address: str, browser: Any, results: Path
) -> None:
    from selenium.webdriver.common.by import By

    browser.get(address)
    _until(lambda: browser.find_elements(By.CSS_SELECTOR, "button[role=tab]"))
    next(b for b in browser.find_elements(By.CSS_SELECTOR, "button[role=tab]") if b.text == "Responses").click()
    shown = browser.find_element(By.CSS_SELECTOR, "#responses")
    first = load_boards(results)[0][0].entries[0].result.manifest.name
    texts = {
        name: [row.responses for row in open_submission(results.parent / "submissions" / name)[0].rows()]
        for name in ("varied", "paraphrased", "hostile")
    }
    name = "hostile" if first == ATTACKS[1] else first
    _until(lambda: " ".join(texts[name][0][0].split()) in " ".join(shown.text.split()))
    next(b for b in browser.find_elements(By.TAG_NAME, "button") if b.text == "Next prompt").click()
    _until(lambda: " ".join(texts[name][1][0].split()) in " ".join(shown.text.split()))
    assert browser.execute_script("return window.hacked") is None


@pytest.mark.browser
def test_sorting_goes_by_number_and_search_finds_a_system(address: str, browser: Any, results: Path) -> None:
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    board = load_boards(results)[0][0]
    column = board.columns[0]
    browser.get(address)
    table = browser.find_element(By.CSS_SELECTOR, "#systems")
    _until(lambda: "paraphrased" in table.text)

    def cells(place: int) -> list[str]:
        return [cell.text for cell in table.find_elements(By.CSS_SELECTOR, f"[role=gridcell][data-col='{place}']")]

    heading = next(h for h in table.find_elements(By.CSS_SELECTOR, "th") if h.text.startswith(column.label))
    menu = heading.find_element(By.CSS_SELECTOR, "[aria-label='Open cell menu']")
    ActionChains(browser).move_to_element(heading).click(menu).perform()  # the menu shows under the pointer
    next(m for m in browser.find_elements(By.CSS_SELECTOR, "[role=menuitem]") if m.text == "Sort ascending").click()
    texts = dict(zip([entry.result.manifest.name for entry in board.entries], cell_texts(board, column), strict=True))
    ascending = sorted(board.entries, key=lambda e: e.cells[column.signature].value or 0.0)
    wanted = [entry.result.manifest.name for entry in ascending]
    _until(lambda: cells(0) == wanted)
    assert cells(3) == [texts[name] for name in wanted]  # what is shown moves with the number that it stands for
    search = browser.find_element(By.CSS_SELECTOR, "#systems input[type=text]")
    search.send_keys("paraphr", Keys.ENTER)
    _until(lambda: cells(0) == ["paraphrased"])


def _until(condition: Any) -> None:
    """Wait until a page has got so far; a page that never does fails the test."""
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail("the page did not show in 30 seconds what it should")
        time.sleep(0.2)
