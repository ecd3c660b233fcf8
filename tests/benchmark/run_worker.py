"""A worker with small shards and a metric that takes its time, in a process of its own, which tests stop and kill.

It checks submissions itself: the process that a worker has for that takes seconds to start, and other tests have it.
With `--cluster` its metric runs in actors of Ray, which a text may kill.

Not a test: `python -m tests.benchmark.run_worker STORE RESULTS …` from the repository's root.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from benchmark.cluster import session as sessions
from benchmark.cluster.options import Cluster
from benchmark.metrics import METRICS, Metric
from benchmark.scoring import shards
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import Options
from benchmark.service import fetch
from benchmark.service.commands import event_writer, stop_on_signals
from benchmark.service.lease import EventSink
from benchmark.service.worker import Worker, rescore, work
from datasets_build.load import load_suite
from divbench.core.errors import DivBenchError
from submissions.checking.validate import validate
from submissions.storage import open_store
from submissions.storage.file_store import Conflict, FileStore

SHARD = 8  # prompts; the demonstration's suite has three such
POISON = "poison"
DEADLY = "deadly"  # a response that kills the process that scores it; with `once`, one process
FATAL = "fatal"  # a response that kills the doomed machine; other machines wait for that
DOOMED_NODE = "DIVBENCH_TEST_DOOMED_NODE"  # in the environment of that machine
OPTIONS = Options(resamples=200)


def _slow(responses: Sequence[str], seconds: float, seen: Path | None = None) -> float:
    """The number of responses, after a while; each process leaves a file in the folder `seen`."""
    time.sleep(seconds)
    if seen is not None:
        (seen / str(os.getpid())).touch()
        once = any(f"{DEADLY} once" in text for text in responses)
        if DEADLY in responses or (once and not (seen / "killed").exists()):
            (seen / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        while FATAL in responses and not (seen / "killed").exists():
            if DOOMED_NODE in os.environ:
                (seen / "killed").touch()
                os.kill(os.getppid(), signal.SIGKILL)
                time.sleep(120)  # Ray ends the processes of a lost machine
            time.sleep(0.05)
    if POISON in responses:
        raise ValueError(f"this is {POISON}, read in {Path.home()}/somewhere with hf_abcdefghijklmnop")
    return float(len(responses))


def metrics(seconds: float = 0.0, seen: Path | None = None) -> tuple[Metric, ...]:
    """A metric of the package, and one that takes so long per prompt and leaves a file in a folder."""
    known = tuple(metric for metric in METRICS if metric.id == "unique_1grams")
    fn = partial(_slow, seconds=seconds, seen=seen)
    return (*known, Metric("slow", "Responses", fn, "responses", 1, (0, None), "responses", "none", "words"))


def worker(store: FileStore, results: Path, name: str = "w", seconds: float = 0.0, lease: float = 60.0) -> Worker:
    """A worker as this program has it."""
    return Worker(
        name=name,
        store=store,
        backends=ScoringBackends(find_profile("lexical")),
        results=results,
        metrics=metrics(seconds),
        options=OPTIONS,
        lease=timedelta(seconds=lease),
        poll=0.3,
    )


def checked_here(folder: Path, mirror: Path | None = None) -> dict[str, Any]:
    """As `validate_in_child`, in this process."""
    return validate(folder, partial(load_suite, mirror=mirror)).as_json()


def report_conflicts(store: FileStore, emit: EventSink) -> None:
    """Report each commit that a store refuses because somebody else was faster."""
    before = store.commit

    def commit(parent: str, add: Mapping[str, bytes | Path], remove: Iterable[str], message: str) -> str:
        try:
            return before(parent, add, remove, message)
        except Conflict:
            emit("conflict", message=message)
            raise

    setattr(store, "commit", commit)  # noqa: B010 - mypy knows it for a method


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("store")
    parser.add_argument("results", type=Path)
    parser.add_argument("--name", default="w")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--rescore", action="store_true", help="what is scored, instead of what waits")
    parser.add_argument("--lease", type=float, default=60.0)
    parser.add_argument("--seconds", type=float, default=0.0, help="a prompt")
    parser.add_argument("--conflicts", action="store_true", help="report each")
    parser.add_argument("--cluster", metavar="ADDRESS")
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--patience", type=float, default=300)
    parser.add_argument("--other-numpy", action="store_true", help="here; the actors have their own")
    parser.add_argument("--resamples", type=int, default=OPTIONS.resamples, help="which make another result")
    parser.add_argument("--seen", type=Path, help="a folder, for the processes that score")
    given = parser.parse_args()
    if given.other_numpy:
        real = sessions.versions_of
        setattr(sessions, "versions_of", lambda backends: real(backends) | {"numpy": "0.1"})  # noqa: B010
    shards.SHARD_PROMPTS = SHARD
    setattr(fetch, "validate_in_child", checked_here)  # noqa: B010 - mypy knows another signature
    made = worker(open_store(given.store), given.results, given.name, given.seconds, given.lease)
    made = replace(made, metrics=metrics(given.seconds, given.seen), options=Options(resamples=given.resamples))
    emit = event_writer(given.name, sys.stdout)
    if given.conflicts:
        report_conflicts(made.store, emit)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # though the tests may be run by nohup
    stop = stop_on_signals()
    place = Cluster(
        given.cluster or "",
        given.actors,
        lambda lost: emit("actor_lost", reason=lost.reason, prompts=lost.prompts),
        given.patience,
    )
    chosen = made.backends.profile.metrics(made.metrics)
    with nullcontext() if given.cluster is None else sessions.open_cluster(place, made.backends, chosen) as session:
        placed = replace(made, cluster=session)
        try:
            if given.rescore:
                rescore(placed, stop, emit)
            else:
                work(placed, stop, emit, once=given.once)
        except DivBenchError as error:
            sys.exit(error.exit_status)


if __name__ == "__main__":
    main()
