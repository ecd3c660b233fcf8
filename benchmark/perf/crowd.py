"""Load time of the board's first page while clients call its endpoints: `python -m benchmark.perf.crowd [--calls 200]`.

Starts `divbench board serve` on the reference results in a separate process, and sends calls to all endpoints at once,
each with valid values and from a different visitor (a loopback address; on Linux), because the rate of one visitor is
limited. At the same moment it opens the first page in a headless Chromium, to measure how long it takes until the table
of models has rows. It also reports the time without other clients, how the calls ended, and how long the last one took.
"""

import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx

from benchmark.perf.board import chromium, opened, server
from benchmark.perf.script import option_parser
from divbench.core.console import print_json

TARGET_S = 3.0
_ROWS = "document.querySelectorAll('#systems tbody tr, #systems [role=row]').length > 1"
_ROWS_ASKED = 100
_PATIENCE = 120  # seconds


def called(address: str, name: str, data: Sequence[Any], visitor: str = "127.0.0.1") -> Any:
    """Call an endpoint as a visitor and return its value; a string if it refuses."""
    url = f"{address}/gradio_api/call/{name}"
    own = httpx.HTTPTransport(local_address=visitor, verify=False)  # loading certificates would distort the times
    with httpx.Client(transport=own, timeout=_PATIENCE) as client:
        reply = client.post(url, json={"data": data})
        if reply.is_error:
            return f"{reply.status_code}: {reply.text.strip()}"
        said = client.get(f"{url}/{reply.json()['event_id']}").text
    kind, _, value = said.partition("\n")
    if kind != "event: complete":
        return said.strip()
    return json.loads(value.removeprefix("data: "))[0]


def every_endpoint(address: str) -> list[tuple[str, list[Any]]]:
    """List a call of each named endpoint, with values of the first board; unknown endpoints get no values."""
    board = called(address, "boards", [])[0]["name"]
    column = called(address, "columns", [board])[0]["label"]
    part = [0, _ROWS_ASKED]
    system = called(address, "board", [board, "", *part])[0]["label"]
    prompt = called(address, "per_prompt", [board, system, column, *part])[0]["prompt_id"]
    known: dict[str, list[Any]] = {
        "columns": [board],
        "board": [board, "", *part],
        "per_prompt": [board, system, column, *part],
        "responses": [board, system, prompt],
    }
    info = httpx.get(f"{address}/gradio_api/info", timeout=_PATIENCE).json()
    names = [name.strip("/") for name in info["named_endpoints"]]
    return [(name, known.get(name, [])) for name in names]


def measure(address: str, calls: int, times: int) -> dict[str, Any]:
    """Measure the seconds until the first page is shown, alone and in a crowd."""
    asked = every_endpoint(address)
    found: dict[str, Any] = {"endpoints": [name for name, _ in asked], "calls": calls}
    with chromium() as browser, ThreadPoolExecutor(calls) as crowd:
        opened(browser, address, _ROWS)
        found["alone_s"] = [opened(browser, address, _ROWS) for _ in range(times)]
        found["in_a_crowd_s"], found["last_call_s"], ends = [], [], Counter[str]()
        for _ in range(times):
            begun = time.perf_counter()
            waiting = [
                crowd.submit(called, address, *each, f"127.0.{1 + place // 250}.{1 + place % 250}")
                for place, each in enumerate(islice(cycle(asked), calls))
            ]
            found["in_a_crowd_s"].append(opened(browser, address, _ROWS))
            ends.update("answered" if not isinstance(each.result(), str) else each.result()[:80] for each in waiting)
            found["last_call_s"].append(time.perf_counter() - begun)
        found["ends"] = dict(ends.most_common(12))
    return found | {"target_s": TARGET_S}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = option_parser(__doc__)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--results", type=Path, help="Folder of results; default: the reference results.")
    given = parser.parse_args(arguments)
    made: dict[str, Any] = {"cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0]}
    with (
        tempfile.TemporaryDirectory(prefix="divbench-perf-") as home,
        server(given.results, Path(home)) as (address, _, _),
    ):
        print_json(made | measure(address, given.calls, given.times))


if __name__ == "__main__":
    main()
