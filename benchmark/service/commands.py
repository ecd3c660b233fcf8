"""The commands `divbench submissions score` and `rescore`, which score the submissions in a store."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from benchmark.cluster.options import ActorLost, ClusterOptions
from benchmark.scoring.options import MetricNames, ProfileOptions
from divbench.core.console import MirrorOption, data_option, err, termination_signals, with_option_groups
from submissions.untrusted.plain_text import one_line

if TYPE_CHECKING:
    from benchmark.service.lease import EventSink, Stop
    from benchmark.service.worker import Worker

_service_option = partial(typer.Option, rich_help_panel="Service")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions(ProfileOptions):
    """The options of a command that scores the submissions in a store."""

    store: Annotated[str, _service_option(help="Store of the service: a folder, or hf://datasets/ORG/NAME.")]
    results_store: Annotated[
        str | None,
        _service_option(
            help="Store of the published results; default: the submission store, in one commit with the state."
        ),
    ] = None
    metric: MetricNames = None
    mirror: MirrorOption = None
    k: Annotated[
        int | None, data_option(min=1, help="Number of responses to use per prompt, from the first; default: all.")
    ] = None

    def worker(self, name: str | None = None, *, existing: bool = False) -> "Worker":
        """Return a worker; `existing` requires a folder of that name, which a first submission may make otherwise."""
        from secrets import token_hex

        from pydantic import ValidationError

        from benchmark.scoring.backends import ScoringBackends
        from benchmark.scoring.options import metrics_named
        from benchmark.scoring.scorer import Options
        from benchmark.service.fetch import Suites
        from benchmark.service.worker import Worker
        from benchmark.surprisal.cache import default_cache_path
        from datasets_build.download import home
        from divbench.core.errors import ConfigurationError, first_fault
        from submissions.storage import open_store
        from submissions.work_queue.schema import Identity
        from submissions.work_queue.signatures import NOT_PROTECTED, service_key

        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # the Hub's client reads it when it is imported
        try:
            name = Identity(name=name or f"worker-{token_hex(3)}").name
        except ValidationError as error:
            message = f"invalid worker {first_fault(error)}"
            raise ConfigurationError(message, "choose another name with --name") from error
        profile = self.load(self.metric)
        if service_key() is None:
            err().print(NOT_PROTECTED, style="yellow", markup=False, soft_wrap=True)
        return Worker(
            name=name,
            store=open_store(self.store, existing=existing),
            backends=ScoringBackends(profile, default_cache_path()),
            results=home() / "worker",
            suites=Suites(self.mirror),
            metrics=metrics_named(self.metric, profile),
            options=Options(k=self.k),
            results_store=None if self.results_store is None else open_store(self.results_store),
        )


@with_option_groups
def score(
    *,
    options: WorkerOptions,
    once: Annotated[bool, _service_option("--once", help="Exit when the queue is empty, for cron and CI.")] = False,
    max_hours: Annotated[
        float | None,
        _service_option(
            min=0.01, help="Hours of scoring after which an attempt fails, checked after each shard; default: no limit."
        ),
    ] = None,
    name: Annotated[str | None, _service_option(help="Worker name in public records; default: random.")] = None,
    results: Annotated[
        Path | None,
        _service_option(
            help="Local folder of results, from which interrupted work resumes; workers may share it. Default: a "
            "folder in the user's cache."
        ),
    ] = None,
    cluster: ClusterOptions,
) -> None:
    """Score the pending submissions in a store, oldest first, until stopped.

    Several workers may share one store. Each submission is fetched to a private folder, checked in its own process,
    scored with all metrics of the profile, and published in one commit. Submissions for a suite that is not available
    on this machine, or with fewer responses than --k, are left to other workers. Scoring is attempted at most three
    times. While the store cannot be reached, the worker waits.

    After a host failure (memory, disk, models) the submission returns to the queue and no attempt is counted; after
    three in a row the worker exits with status 2. A worker that was killed uses up no attempt, either: its claim ends
    when others have seen no heartbeat for an hour.

    The result and its id are the same as from divbench score with the same profile.

    With --cluster, actors on many GPUs and machines score the shards of several submissions at once and keep their
    models loaded as long as the worker runs; see docs/scaling.md.

    On SIGTERM, SIGHUP or Ctrl-C the submission returns to the queue and the worker exits with status 0; a second signal
    makes it exit at once. Events are written to stdout as JSON lines, messages to stderr.

    Example: divbench submissions score --store hf://datasets/ORG/submissions --profile offline --once
    """
    from benchmark.service.worker import work

    worker = replace(options.worker(name), max_seconds=None if max_hours is None else 3600 * max_hours)
    if results is not None:
        worker = replace(worker, results=results)
    emit, stop = event_writer(worker.name, sys.stdout), stop_on_signals()
    with _on_cluster(worker, cluster, emit) as placed:
        work(placed, stop, emit, once=once)


@with_option_groups
def rescore(*, options: WorkerOptions, cluster: ClusterOptions) -> None:
    """Score submissions again that lack a result for a new metric, version, model or suite revision.

    New results are published beside the old ones. A board shows one result of a submission, not several together: if
    you name metrics with --metric, name all that it should show. After an interruption, run the same command to resume.
    Events and --cluster are as in divbench submissions score. Exits with status 1 if a submission could not be scored.

    Example: divbench submissions rescore --store hf://datasets/ORG/submissions --profile offline
    """
    from benchmark.service.worker import rescore as run

    worker = options.worker(existing=True)
    emit, stop = event_writer(worker.name, sys.stdout), stop_on_signals()
    with _on_cluster(worker, cluster, emit) as placed:
        outcomes = run(placed, stop, emit)
    if outcomes["failed"]:
        raise typer.Exit(1)


@contextmanager
def _on_cluster(worker: "Worker", options: ClusterOptions, emit: "EventSink") -> "Iterator[Worker]":
    """Give the worker the actors of a cluster, if one was named, for the duration of the block.

    Actors use no cache of surprisals, because the last digits would depend on which actor read a text first.
    """
    from benchmark.cluster.session import open_cluster
    from benchmark.service.failures import public_text

    def on_loss(lost: ActorLost) -> None:
        emit("actor_lost", reason=one_line(public_text(str(lost))), prompts=lost.prompts)

    cluster = options.chosen(on_loss)
    if cluster is None:
        yield worker
        return
    backends = replace(worker.backends, cache=None)
    with open_cluster(cluster, backends, backends.profile.metrics(worker.metrics)) as session:
        yield replace(worker, backends=backends, cluster=session)


def event_writer(worker: str, out: TextIO) -> "EventSink":
    """Return a sink that writes events as JSON lines, each at once, and shows them to people on stderr."""
    lock, console = threading.Lock(), err()

    def emit(event: str, /, **facts: Any) -> None:
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        line = json.dumps({"event": event, "at": at, "worker": worker, **facts}, allow_nan=False)
        words = f"{event.replace('_', ' ')}: {', '.join(f'{name} {fact}' for name, fact in facts.items())}"
        with lock, suppress(OSError):  # if the reader of the lines is gone, the work goes on
            out.write(f"{line}\n")
            out.flush()
            console.print(one_line(words, 500), markup=False, soft_wrap=True)

    return emit


def stop_on_signals() -> "Stop":
    """Return the stop that the first SIGTERM, SIGHUP or SIGINT requests; a second one ends the process at once."""
    from benchmark.service.lease import Stop

    stop = Stop()

    def request(number: int, frame: object) -> None:
        stop.requested = True
        signal.signal(number, signal.SIG_DFL)

    for number in (*termination_signals(), signal.SIGINT):
        signal.signal(number, request)
    return stop
