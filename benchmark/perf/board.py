"""Speed of the board with many results: `python -m benchmark.perf.board [--systems 300]`.

Copies of the shipped results under other names are served by `divbench board serve` in a separate process. It prints
the seconds until the server has built its tables and answers, those of the first page afterwards, the server's peak
memory (on Linux), and each as a share of what it may take.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from contextlib import closing
from importlib import resources
from pathlib import Path
from socket import socket
from statistics import median

from benchmark.perf import print_document
from benchmark.scoring.results import PER_PROMPT_FILE, RESULT_FILE
from divbench.core.files import content_id

START_SECONDS = 600.0
TARGETS = {"start_s": 30.0, "first_page_s": 1.5, "peak_mb": 1024.0}
SERVE = "from divbench.command_line import main; main()"


def make_results(folder: Path, systems: int) -> None:
    """Copy the shipped results, in turns, under other names."""
    sources = sorted(Path(str(resources.files("leaderboard"))).glob(f"measured/reference/*/{RESULT_FILE}"))
    for number in range(systems):
        source = sources[number % len(sources)]
        result = json.loads(source.read_text("utf-8"))
        result["result_id"] = content_id(["result", number])
        result["submission_id"] = content_id(["submission", number])
        result["manifest"]["name"] = f"system {number}"
        copy = folder / result["result_id"]
        copy.mkdir(parents=True)
        (copy / RESULT_FILE).write_text(json.dumps(result), "utf-8")
        shutil.copyfile(source.with_name(PER_PROMPT_FILE), copy / PER_PROMPT_FILE)


def first_page(address: str) -> float:
    """Return the seconds that the first page takes."""
    start = time.perf_counter()
    urllib.request.urlopen(address, timeout=60).read()  # noqa: S310 - our own address
    return time.perf_counter() - start


def measure(results: Path, home: Path, times: int) -> dict[str, float]:
    """Serve results and measure."""
    with closing(socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVE, "board", "serve", "--results", str(results), "--port", str(port)]
    start = time.perf_counter()
    with subprocess.Popen(  # noqa: S603 - our own module
        command, env=os.environ | {"DIVBENCH_HOME": str(home)}, stdout=subprocess.DEVNULL
    ) as server:
        try:
            while time.perf_counter() - start < START_SECONDS and server.poll() is None:
                try:
                    first_page(f"http://127.0.0.1:{port}")
                    break
                except OSError:
                    time.sleep(0.05)
            seconds = time.perf_counter() - start
            pages = [first_page(f"http://127.0.0.1:{port}") for _ in range(times)]
            status = Path(f"/proc/{server.pid}/status").read_text("ascii")
        finally:
            server.terminate()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
    return {"start_s": seconds, "first_page_s": median(pages), "peak_mb": peak}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", type=int, default=300)
    parser.add_argument("--times", type=int, default=5, help="Number of visits.")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="divbench-perf-") as name:
        make_results(Path(name) / "results", options.systems)
        measured = measure(Path(name) / "results", Path(name) / "home", options.times)
    ratios = {f"{key}_of_target": value / TARGETS[key] for key, value in measured.items()}
    print_document({"systems": options.systems, **measured, **ratios})


if __name__ == "__main__":
    main()
