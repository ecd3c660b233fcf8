"""The commands `divbench submissions score` and `rescore`, which score the submissions in a store."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.cluster.options import ClusterOptions
from benchmark.scoring.options import CacheOption, MetricNames, ScoringOptions
from divbench.core.console import MirrorOption, err, termination_signals
from divbench.core.option_groups import with_option_groups

if TYPE_CHECKING:
    from benchmark.cluster.connection import ActorLost, Cluster
    from benchmark.service.events import EventSink
    from benchmark.service.lease import Stop
    from benchmark.service.worker import Worker

_service_option = partial(typer.Option, rich_help_panel="Service")


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Options of a worker; each field is the option of the same name."""

    store: Annotated[str, _service_option(help="Store of the service: a folder, or hf://datasets/ORG/NAME.")]
    results_store: Annotated[
        str | None,
        _service_option(
            help="Store of the published results; default: the submission store, in one commit with the state."
        ),
    ] = None
    stop_after: Annotated[
        int,
        _service_option(
            min=1,
            help=(
                "Number of consecutive host failures (memory, disk, models) after which the worker exits with status 2."
            ),
        ),
    ] = 3
    name: Annotated[str | None, _service_option(help="Worker name in public records; default: random.")] = None
    results: Annotated[
        Path | None,
        _service_option(
            help=(
                "Local folder of results, from which interrupted work resumes; workers may share it. "
                "Default: a folder in the user's cache."
            )
        ),
    ] = None
    metric: MetricNames = None
    cache: CacheOption = None
    mirror: MirrorOption = None

    def worker(self, scoring: ScoringOptions, *, existing: bool = False) -> "Worker":
        """Return a worker with these options."""
        from secrets import token_hex

        from benchmark.scoring.backends import ScoringBackends
        from benchmark.scoring.options import metrics_named
        from benchmark.service.fetch import Suites
        from benchmark.service.worker import Worker
        from benchmark.surprisal.cache import default_cache_path
        from datasets_build.download import home
        from submissions.storage.file_store import open_store

        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # the Hub's client reads it when it is imported
        chosen = scoring.load(self.metric)
        return Worker(
            name=_checked_name(self.name or f"worker-{token_hex(3)}"),
            store=open_store(self.store, existing=existing),
            backends=ScoringBackends(chosen, self.cache or default_cache_path()),
            results=self.results or home() / "worker",
            suites=Suites(self.mirror),
            metrics=metrics_named(self.metric, chosen),
            options=scoring.numbers(),
            results_store=None if self.results_store is None else open_store(self.results_store),
            max_host_failures=self.stop_after,
        )


@with_option_groups
def score(
    *,
    options: WorkerOptions,
    scoring: ScoringOptions,
    once: Annotated[bool, _service_option("--once", help="Exit when the queue is empty, for cron and CI.")] = False,
    lease: Annotated[int, _service_option(min=3, help="Claim lease in seconds.")] = 3600,
    poll: Annotated[float, _service_option(min=0.1, help="Seconds between polls of an empty queue.")] = 30,
    max_hours: Annotated[
        float | None,
        _service_option(
            min=0.01, help="Hours of scoring after which an attempt fails, checked after each shard; default: no limit."
        ),
    ] = None,
    cluster: ClusterOptions,
) -> None:
    """Score the pending submissions in a store, oldest first, until stopped.

    Several workers may share one store. Each submission is fetched to a private folder, checked in its own process,
    scored with all metrics of the profile, and published in one commit. Submissions for a suite that is not available
    on this machine, or with fewer responses than --k, are left to other workers. Scoring is attempted at most three
    times. While the store cannot be reached, the worker waits.

    After a host failure (memory, disk, models) the submission returns to the queue and no attempt is counted; see
    --stop-after.

    The result and its id are the same as from divbench score with the same options.

    With --cluster, actors on many GPUs and machines score the shards of several submissions at once and keep their
    models loaded as long as the worker runs; see docs/scaling.md.

    On SIGTERM, SIGHUP or Ctrl-C the submission returns to the queue and the worker exits with status 0; a second signal
    makes it exit at once. Events are written to stdout as JSON lines, messages to stderr.

    Example: divbench submissions score --store hf://datasets/ORG/submissions --profile offline --once
    """
    from datetime import timedelta

    from benchmark.service.worker import work

    seconds = None if max_hours is None else 3600 * max_hours
    made = replace(options.worker(scoring), lease=timedelta(seconds=lease), poll=poll, max_seconds=seconds)
    emit, stop = _events_of(made), stop_on_signals()
    with _on_cluster(made, cluster.place(_on_loss(emit)), options.cache) as placed:
        work(placed, stop, emit, once=once)


@with_option_groups
def rescore(
    *,
    options: WorkerOptions,
    scoring: ScoringOptions,
    cluster: ClusterOptions,
) -> None:
    """Score submissions again that lack a result for a new metric, version, model or suite revision.

    New results are published beside the old ones. A board shows one result of a submission, not several together: if
    you name metrics with --metric, name all that it should show. After an interruption, run the same command to resume.
    Events and --cluster are as in divbench submissions score. Exits with status 1 if a submission could not be scored.

    Example: divbench submissions rescore --store hf://datasets/ORG/submissions --profile offline
    """
    from benchmark.service.rescore import rescore as run

    made = options.worker(scoring, existing=True)
    emit, stop = _events_of(made), stop_on_signals()
    with _on_cluster(made, cluster.place(_on_loss(emit)), options.cache) as placed:
        ended = run(placed, stop, emit)
    if ended["failed"]:
        raise typer.Exit(1)


def _on_loss(emit: "EventSink") -> "Callable[[ActorLost], None]":
    """A function that reports lost actors."""
    from benchmark.service.redaction import public_text
    from submissions.untrusted.plain_text import one_line

    return lambda lost: emit("actor_lost", reason=one_line(public_text(str(lost))), prompts=lost.prompts)


@contextmanager
def _on_cluster(made: "Worker", place: "Cluster | None", cache: Path | None) -> "Iterator[Worker]":
    """Give the worker the actors of a cluster, if one was named, for the duration of the block."""
    from benchmark.cluster.session import open_cluster

    if place is None:
        yield made
        return
    backends = replace(made.backends, cache=cache)
    with open_cluster(place, backends, backends.profile.metrics(made.metrics)) as session:
        yield replace(made, backends=backends, cluster=session)


def _events_of(worker: "Worker") -> "EventSink":
    """Return a sink that writes a worker's events to stdout, and messages to stderr."""
    from benchmark.service.events import event_writer

    console = err()
    return event_writer(worker.name, sys.stdout, lambda line: console.print(line, markup=False, soft_wrap=True))


def stop_on_signals() -> "Stop":
    """Return the stop that the first SIGTERM, SIGHUP or SIGINT requests; a second one ends the process at once."""
    from benchmark.service.lease import Stop

    stop = Stop()

    def ask(number: int, frame: object) -> None:
        stop.requested = True
        signal.signal(number, signal.SIG_DFL)

    for each in (*termination_signals(), signal.SIGINT):
        signal.signal(each, ask)
    return stop


def _checked_name(name: str) -> str:
    """Return the name if it is allowed in public records."""
    from pydantic import ValidationError

    from divbench.core.errors import ConfigurationError
    from submissions.work_queue.schema import Identity

    try:
        return Identity(name=name).name
    except ValidationError as error:
        first = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise ConfigurationError(f"invalid worker name: {first}", "choose another name with --name") from error
