"""A worker with small shards and a metric that takes its time, in a process of its own, which tests stop and kill.

Not a test: `python -m tests.benchmark.run_worker STORE RESULTS …` from the repository's root.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

from benchmark import scorer
from benchmark.instruments import Instruments
from benchmark.metrics import METRICS, Metric
from benchmark.profiles import find_profile
from benchmark.scorer import Options
from benchmark.service.commands import stop_on_signals
from benchmark.service.events import Tell, teller
from benchmark.worker import Worker, work
from submissions.filestore import Conflict, FileStore, open_store

SHARD = 8  # prompts; the demonstration's suite has three such
POISON = "poison"
OPTIONS = Options(resamples=200)


def _tried(responses: Sequence[str], seconds: float) -> float:
    """The number of responses, after a while; a text of them stops the run."""
    time.sleep(seconds)
    if POISON in responses:
        raise ValueError(f"this is {POISON}, read in {Path.home()}/somewhere with hf_abcdefghijklmnop")
    return float(len(responses))


def metrics(seconds: float = 0.0) -> tuple[Metric, ...]:
    """One of the package's, and one that takes so long for each prompt."""
    known = tuple(metric for metric in METRICS if metric.id == "unique_1grams")
    fn = partial(_tried, seconds=seconds)
    return (*known, Metric("tried", 1, "Responses", fn, "responses", 1, (0, None), "responses", "none"))


def worker(store: FileStore, results: Path, name: str = "w", seconds: float = 0.0, lease: float = 60.0) -> Worker:
    """A worker as this program has it."""
    return Worker(
        name=name,
        store=store,
        instruments=Instruments(find_profile("lexical")),
        results=results,
        metrics=metrics(seconds),
        options=OPTIONS,
        lease=timedelta(seconds=lease),
        poll=0.3,
    )


def tell_conflicts(store: FileStore, tell: Tell) -> None:
    """Tell of each commit that a store refuses because somebody else was faster."""
    before = store.commit

    def commit(parent: str, add: Mapping[str, bytes | Path], remove: Iterable[str], message: str) -> str:
        try:
            return before(parent, add, remove, message)
        except Conflict:
            tell("conflict", message=message)
            raise

    setattr(store, "commit", commit)  # noqa: B010 - mypy knows it for a method


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("results", type=Path)
    parser.add_argument("--name", default="w")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--lease", type=float, default=60.0)
    parser.add_argument("--seconds", type=float, default=0.0, help="a prompt")
    parser.add_argument("--conflicts", action="store_true", help="tell of each")
    given = parser.parse_args()
    scorer.SHARD_PROMPTS = SHARD
    made = worker(open_store(given.store), given.results, given.name, given.seconds, given.lease)
    tell = teller(given.name, sys.stdout, lambda line: None)
    if given.conflicts:
        tell_conflicts(made.store, tell)
    work(made, stop_on_signals(), tell, once=given.once)


if __name__ == "__main__":
    main()
