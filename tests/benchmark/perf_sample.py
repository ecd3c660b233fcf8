"""A benchmark for tests of what runs benchmarks: `python -m tests.benchmark.perf_sample HOW`.

Not a test. It notes in the file that SAMPLE_LOG names that it was begun, and then does as it is told.
"""

import argparse
import os
import sys
import time
from pathlib import Path

NODE = os.uname().nodename


def main() -> None:
    """Do it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=["well", "badly", "prose", "odd", "held"])
    parser.add_argument("--json", action="store_true")
    how = parser.parse_args().how
    log = Path(os.environ["SAMPLE_LOG"])
    with log.open("a") as file:
        file.write(f"{how}\n")
    if how == "badly":
        raise FileNotFoundError(f"no file {log} on {NODE}")
    if how == "held":
        released = log.with_name("released")
        while not released.exists():
            time.sleep(0.02)
    sys.stdout.write({"prose": "all went well\n", "odd": "{}\n"}.get(how, '{"value": 2.5, "more": [1]}\n'))


if __name__ == "__main__":
    main()
