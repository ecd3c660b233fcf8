"""Speed of the board with many results: `python -m benchmark.perf.board [--submissions 1000]`.

Creates synthetic results and serves them with `divbench board serve` in a separate process, without and then with an
index of the scores. A headless Chromium measures how long it takes until the table of models has rows, at the first
visit and at the next; to change a facet, rank by another metric, or show all columns; to open a system's page by
clicking on its row; and to show another prompt on the page Explore. Times in the browser run from the visitor's action
to the visible result. Peak memory is the server's.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from operator import methodcaller
from pathlib import Path
from socket import socket
from typing import Any

import numpy as np

from benchmark.perf.script import option_parser, timed
from benchmark.perf.synthetic_results import make_results
from benchmark.scoring.results import require_result
from divbench.core.console import print_json

START_SECONDS = 600.0
_SERVE = "from divbench.command_line import main; main()"
TARGETS = {"first_page_s": 1.5, "system_page_s": 0.4, "drill_down_s": 0.3, "peak_mb": 1024}


@contextmanager
def server(results: Path | None, home: Path) -> Iterator[tuple[str, int, float]]:
    """Run `divbench board serve`; yield its address, its process id, and the seconds until it replied.

    Args:
        results: Folder of results; None: the reference results.
    """
    with closing(socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", _SERVE, "board", "serve"]
    shown = ["--reference"] if results is None else ["--results", str(results), "--no-reference"]
    environment = {**os.environ, "DIVBENCH_HOME": str(home)}
    begun = time.perf_counter()
    with subprocess.Popen(  # noqa: S603 - our own module
        [*command, *shown, "--port", str(port)],
        env=environment,
        stdout=subprocess.DEVNULL,
    ) as running:
        try:
            _wait(f"http://127.0.0.1:{port}", running)
            yield f"http://127.0.0.1:{port}", running.pid, time.perf_counter() - begun
        finally:
            running.terminate()
            running.wait(timeout=30)


def _wait(address: str, running: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and running.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=60).close()  # noqa: S310 - our own address
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("the server did not start")


def peak_megabytes(process: int) -> float:
    """Return the peak resident memory of a process; on Linux."""
    for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"the peak memory of process {process} is unknown")


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a headless browser with an empty cache."""
    from selenium import webdriver

    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver:
        raise SystemExit("Chromium and chromedriver are not installed (Debian packages chromium, chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    options.page_load_strategy = "none"
    for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1500,1100"):
        options.add_argument(argument)
    made = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    made.set_script_timeout(120)
    try:
        yield made
    finally:
        made.quit()


# Checks at every frame whether a condition holds, and returns the milliseconds since the page was requested.
_UNTIL = """
const holds = new Function("return " + arguments[0]), done = arguments[1];
const look = () => { holds() ? done(performance.now()) : requestAnimationFrame(look) };
look();
"""
# Records when the visitor acts, and when the value of a script has changed and has been painted.
_WATCH = """
const tell = new Function("return " + arguments[0]), before = tell();
window.begun = window.ended = null;
for (const kind of ["input", "click"])
  addEventListener(kind, () => { window.begun ??= performance.now(); }, { capture: true, once: true });
const painted = () => requestAnimationFrame(() => setTimeout(() => { window.ended = performance.now(); }));
const look = () => { tell() !== before ? painted() : requestAnimationFrame(look) };
look();
"""
_ROWS = "document.querySelector('#systems')?.innerText.includes('system 0')"
_SHOWN = "Number(document.body.dataset.shown || 0)"
_ASKED = "document.querySelector('#asked textarea')?.value"
_SETTLED = 0.5  # seconds after which a filled page is idle


def until(browser: Any, holds: str) -> float:
    """Return the seconds from the start of the page until a condition holds."""
    return float(browser.execute_async_script(_UNTIL, holds)) / 1000


def opened(browser: Any, address: str, holds: str) -> float:
    """Return the seconds from requesting a page until a condition holds."""
    for wanted in ("about:blank", address):  # a waiting script would be lost with the page
        browser.get(wanted)
        while not browser.execute_script("return location.href").startswith(wanted):
            time.sleep(0.01)
    seconds = until(browser, holds)
    until(browser, f"{_SHOWN} > 0")
    time.sleep(_SETTLED)
    return seconds


def followed(browser: Any, address: str, place: int) -> float:
    """Return the seconds from a click on a row of the first page until the system's page has its tables."""
    opened(browser, address, _ROWS)
    link = browser.find_elements("css selector", "#forest-table tbody:not(.references) a")[place]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'}); arguments[0].click()", link)
    while "/system" not in browser.execute_script("return location.pathname"):
        time.sleep(0.01)
    return until(browser, "document.querySelector('figure.code code')?.innerText.length > 99")


def changed(browser: Any, element: str, act: Callable[[Any], object], tell: str = _SHOWN) -> float:
    """Return the seconds from a visitor's action on an element until a script's value has changed and is painted."""
    found = browser.find_element("css selector", element)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
    browser.execute_script(_WATCH, tell)
    act(found)
    until(browser, "window.ended !== null")
    time.sleep(_SETTLED)
    return float(browser.execute_script("return window.ended - window.begun")) / 1000


def _unfold(browser: Any) -> None:
    """Open the first page's hidden controls, which include the search."""
    browser.find_element("css selector", "#more > button").click()
    until(browser, "document.querySelector('#q input, #q textarea')?.offsetParent")
    time.sleep(_SETTLED)


def look(address: str, times: int) -> dict[str, Any]:
    """Measure the waiting times of a visitor."""
    found: dict[str, Any] = {}
    with chromium() as browser:
        found["first_page_fresh_s"] = opened(browser, address, _ROWS)
        found["first_page_warm_s"] = [opened(browser, address, _ROWS) for _ in range(times)]
        _unfold(browser)
        field = "#q textarea, #q input"
        # All systems have these letters, so the whole table is shown again.
        found["search_s"] = [changed(browser, field, methodcaller("send_keys", letter)) for letter in "sys"]
        found["system_page_s"] = [followed(browser, address, place) for place in range(times)]
        found["another_metric_s"] = opened(browser, f"{address}/?rank=distinct_at_5", _ROWS)
        found["all_columns_s"] = opened(browser, f"{address}/?show=everything", _ROWS)
        try:
            urllib.request.urlopen(f"{address}/explore", timeout=60).close()  # noqa: S310 - our own address
        except urllib.error.HTTPError as error:
            error.close()
            return found
        found["explore_s"] = opened(browser, f"{address}/explore", _ASKED)
        click = methodcaller("click")
        found["drill_down_s"] = [changed(browser, "#next", click, _ASKED) for _ in range(times)]
        found["drill_down_with_figures_s"] = [changed(browser, "#next", click) for _ in range(times)]
    return found


def measure(results: Path, home: Path, times: int) -> dict[str, Any]:
    """Measure everything on existing results."""
    with server(results, home) as (_, process, seconds):
        found: dict[str, Any] = {"start_without_index_s": seconds, "peak_making_index_mb": peak_megabytes(process)}
    with server(results, home) as (address, process, seconds):
        found |= {"start_with_index_s": seconds, **look(address, times), "peak_mb": peak_megabytes(process)}
    return found


def _sizes(results: Path) -> dict[str, int]:
    folders = sorted(results.iterdir())
    first = require_result(folders[0])
    return {"submissions": len(folders), "prompts": first.prompts, "metrics": len(first.scores)}


def drill_down(results: Path, times: int) -> list[float]:
    """Measure the seconds that reading a result's row of one prompt takes."""
    from leaderboard.data.board import Entry
    from leaderboard.data.scores import prompt_row

    rng = np.random.default_rng(0)
    folders = sorted(results.iterdir())
    taken = []
    for _ in range(times):
        folder = folders[int(rng.integers(len(folders)))]
        result = require_result(folder)
        entry, name = Entry(folder, result, {}), f"made-up-{result.prompts // 2:05}"
        taken.append(timed(partial(prompt_row, entry, name))[0])
    return taken


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, write."""
    parser = option_parser(__doc__)
    parser.add_argument("--submissions", type=int, default=1000)
    parser.add_argument("--prompts", type=int, default=1100)
    parser.add_argument("--metrics", type=int, default=30)
    parser.add_argument("--times", type=int, default=5, help="Number of repetitions of quick steps.")
    parser.add_argument("--work", type=Path, help="Folder for the results; existing ones are reused.")
    given = parser.parse_args(arguments)
    found: dict[str, Any] = {"cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory(prefix="divbench-perf-") as name:
        results = (given.work or Path(name)) / "results"
        if not results.is_dir():
            make = partial(make_results, results, given.submissions, given.prompts, given.metrics)
            found["make_s"], _ = timed(make)
        found |= _sizes(results)
        found["prompt_row_s"] = drill_down(results, given.times)
        found |= measure(results, Path(name) / "home", given.times)
    found["targets"] = TARGETS
    print_json(found)


if __name__ == "__main__":
    main()
