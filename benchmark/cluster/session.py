"""A session on a Ray cluster: a run of the scorer takes an idle actor with its models for each shard.

Only this process reads submissions and writes files. A lost actor is replaced and its shard queued again:
`ray.util.ActorPool` does neither, and Ray Data would load the models anew for every submission.
"""

import logging
import os
import platform
import signal
import socket
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, redirect_stdout, suppress
from copy import copy
from importlib.metadata import version
from itertools import islice
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

import pyarrow as pa

from benchmark.cluster.options import LOCAL, ActorLost, Cluster
from benchmark.metrics import Metric
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import ScoringFault
from benchmark.scoring.scorer import library_versions
from benchmark.scoring.shards import Shard, score_shard
from divbench.core.errors import ConfigurationError, DivBenchError, need

MAX_ATTEMPTS = 3  # of a shard; actors that cannot start are replaced as often
TICK = 0.2  # seconds between looks at idle actors and at requests to stop
_STALE = 2.0  # idle seconds after which an actor must show that it is alive before it gets a shard
_CONNECT_SECONDS = 5.0  # also between checks that the cluster's head answers
_HEAD_SECONDS = 20.0  # without the head's answer; after 60 Ray would abort this process
_STORE_BYTES = 256 * 2**20  # of Ray's object store, where we start Ray: tables of shards are small


class Actor:
    """The process that scores shards, possibly on another machine; it holds the models of metrics."""

    def __init__(self, backends: ScoringBackends, metrics: Sequence[Metric]) -> None:
        self._backends, self._metrics = backends, metrics

    def load(self, versions: dict[str, str]) -> DivBenchError | None:
        """Load the models; return why numbers cannot be computed here, such as other versions than the run's."""
        here = versions_of(self._backends)
        for name in sorted(here.keys() | versions.keys()):
            if here.get(name) != versions.get(name):
                message = f"the machine {platform.node()} has {name} {here.get(name)}, this one {versions.get(name)}"
                return ConfigurationError(message, "install the same versions on all machines: numbers depend on them")
        try:
            self._backends.load(self._metrics)
        except DivBenchError as error:
            return error
        return None

    def score(self, shard: Shard, metrics: Sequence[Metric]) -> pa.Table | DivBenchError:
        """Score a shard; an error of this package is returned, since another actor would raise it as well."""
        try:
            return score_shard(shard, metrics, self._backends)
        except DivBenchError as error:
            return error


def versions_of(backends: ScoringBackends) -> dict[str, str]:
    """Return the versions of everything that numbers may depend on, 2.13.0 for torch 2.13.0+cpu and 2.13.0+cu130."""
    versions = {"divbench": version("divbench"), "Python": platform.python_version()}
    versions |= library_versions(backends.profile)
    return {name: text.partition("+")[0] for name, text in versions.items()}


@contextmanager
def open_cluster(cluster: Cluster, backends: ScoringBackends, metrics: Sequence[Metric]) -> "Iterator[ClusterSession]":
    """Yield a session; its actors keep their models until the end of the block."""
    session = ClusterSession(cluster, backends, metrics)
    with redirect_stdout(sys.stderr):  # stdout is for results; Ray would write to it, too
        try:
            yield session
        finally:
            session.leave()


class ClusterSession:
    """A cluster shared by runs of the scorer; the main thread connects when there is first something to score."""

    def __init__(self, cluster: Cluster, backends: ScoringBackends, metrics: Sequence[Metric]) -> None:
        self._cluster, self._backends, self._metrics = cluster, backends, tuple(metrics)
        self._ray: Any = None
        self._actor_class: Any = None
        self._gpus, self.size = 0, 0  # GPUs per actor; number of actors
        self._idle: SimpleQueue[tuple[Any, float]] = SimpleQueue()  # actors with their models, and since when
        self._replies: SimpleQueue[tuple[Any, Future[Any]]] = SimpleQueue()  # of actors that load their models
        self._loaded: set[Any] = set()  # actors with their models, idle or scoring
        self._failed_starts = 0  # in a row
        self._fault: DivBenchError | None = None  # that no run survives
        self._active = self._probed = self._answered = monotonic()

    def load(self) -> int:
        """Wait until an actor has its models; return the number of actors."""
        self._connect()
        while not self._loaded:
            self._receive(TICK)
            self._check()
        return self.size

    def run(
        self, shards: Iterable[Shard], metrics: Sequence[Metric], check: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[Shard, pa.Table]]:
        """Score shards; yield each with its table as soon as it is done: a `RunShards` for the scorer.

        `check` is called now and then; if it raises, the run ends once the shards being scored are finished.
        """
        source, queue = iter(shards), deque[Shard]()
        pending: dict[Any, tuple[Any, Shard]] = {}  # actor and shard of each call
        losses: Counter[str] = Counter()  # actors lost, by the name of the shard
        stop: BaseException | None = None
        try:
            while True:
                try:
                    check()
                except BaseException as error:
                    stop = error
                if not queue and stop is None:
                    queue.extend(islice(source, 1))
                if stop is not None or not queue:
                    if not pending:
                        break
                elif (actor := self._take()) is not None:
                    shard = queue.popleft()
                    pending[actor.score.remote(shard, metrics)] = actor, shard
                    continue
                yield from self._finished(pending, queue, losses)
        finally:
            for actor, _ in pending.values():
                self._load(actor)  # it is idle when it has replied
        if stop is not None:
            raise stop

    def _finished(
        self, pending: dict[Any, tuple[Any, Shard]], queue: deque[Shard], losses: Counter[str]
    ) -> Iterator[tuple[Shard, pa.Table]]:
        """Wait a moment; yield the shards that are done, and queue those of lost actors again."""
        if not pending:
            self._receive(TICK)
        self._check()
        for call in self._ray.wait(list(pending), timeout=TICK)[0] if pending else ():
            actor, shard = pending.pop(call)
            try:
                table: pa.Table | DivBenchError = self._ray.get(call)
            except Exception as error:  # of Ray, or one that is not ours
                self._replace(actor, ActorLost(len(shard.rows), _short_message(error)))
                losses[shard.name] += 1
                if losses[shard.name] == MAX_ATTEMPTS:
                    prompts = f"{shard.rows[0].prompt_id} to {shard.rows[-1].prompt_id}"
                    message = f"all {MAX_ATTEMPTS} actors that scored the prompts {prompts} were lost"
                    raise ScoringFault(
                        message, "check their responses, and whether the models fit in memory"
                    ) from error
                queue.appendleft(shard)
                continue
            self._idle.put((actor, monotonic()))
            if isinstance(table, DivBenchError):
                raise table
            yield shard, table

    def leave(self) -> None:
        """End the actors, and leave the cluster."""
        if self._ray is not None:
            self._ray.shutdown()  # and with it our actors, wherever they are

    def _connect(self) -> None:
        """Connect to the cluster, or start one, and request its actors."""
        if self._ray is not None:
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # otherwise it sends usage statistics
        ray = need("ray", "cluster")
        logging.getLogger("ray").setLevel(logging.ERROR)
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        on_sigterm = signal.getsignal(signal.SIGTERM)
        try:
            if self._cluster.address == LOCAL:
                lent = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
                cores = max(self._cluster.actors or 1, lent)
                ray.init("local", num_cpus=cores, include_dashboard=False, object_store_memory=_STORE_BYTES, **quiet)
            else:
                _check_reachable(self._cluster.address)
                ray.init(self._cluster.address, **quiet)
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            message = f"no Ray cluster at {self._cluster.address}: {_short_message(error)}"
            raise ConfigurationError(message, _hint(error)) from error
        finally:
            signal.signal(signal.SIGTERM, on_sigterm)  # Ray's own handler aborts the process seconds later
        self._ray = ray
        self._gpus, self.size = self._cluster.share(ray.cluster_resources())
        # Once: it is stored by the cluster's head, and every call to a lost head would hang.
        self._actor_class = ray.remote(num_cpus=1, num_gpus=self._gpus, max_restarts=0)(Actor)
        self._active = self._probed = self._answered = monotonic()
        for _ in range(self.size):
            self._start()

    def _start(self) -> None:
        """Request an actor, which starts when the cluster has room for it."""
        self._load(self._actor_class.remote(self._backends, self._metrics))

    def _load(self, actor: Any) -> None:
        """Let an actor load its models, or show that it has them."""
        actor.load.remote(versions_of(self._backends)).future().add_done_callback(
            lambda reply: self._replies.put((actor, reply))
        )

    def _take(self) -> Any | None:
        """Return an idle actor that was alive a moment ago; None if there is none."""
        self._connect()
        self._receive()
        self._check()
        with suppress(Empty):
            while True:
                actor, since = self._idle.get_nowait()
                if monotonic() - since < _STALE:
                    return actor
                self._load(actor)
        return None

    def _receive(self, timeout: float = 0.0) -> None:
        """Put actors that have loaded their models to work, and replace lost ones."""
        with suppress(Empty):
            while self._fault is None:
                actor, reply = self._replies.get(timeout=timeout)
                timeout = 0.0
                try:
                    self._fault = reply.result() or self._fault
                except Exception as error:  # of Ray, or of libraries loaded there
                    self._replace(actor, ActorLost(0, _short_message(error)))
                    self._failed_starts += 1
                    if self._failed_starts > MAX_ATTEMPTS * self.size:
                        message = f"{self._failed_starts} actors ended before they could score, the last with: "
                        hint = "check that the package and its models are on all machines and fit in their memory"
                        self._fault = ConfigurationError(message + _short_message(error), hint)
                else:
                    self._failed_starts = 0
                    self._loaded.add(actor)
                    self._idle.put((actor, monotonic()))

    def _replace(self, actor: Any, lost: ActorLost) -> None:
        self._loaded.discard(actor)
        self._active = monotonic()
        self._ray.kill(actor)  # after an unexpected error it may live, in an unknown state
        self._cluster.on_loss(lost)
        self._start()

    def _check(self) -> None:
        """Raise the fault that ends all runs: bad actors, no actor for long, or no answer of the cluster's head."""
        now = monotonic()
        if self._loaded:
            self._active = now
        elif now - self._active > self._cluster.patience:
            has = {name: count for name, count in self._ray.cluster_resources().items() if name in ("CPU", "GPU")}
            needs = f"each needs 1 CPU and {self._gpus} GPU, and the cluster has {has}"
            message = f"no actor started in {self._cluster.patience:g} s: {needs}"
            self._fault = ConfigurationError(message, "wait until the cluster's other work is done, or add machines")
        if now - self._probed > _CONNECT_SECONDS:
            self._probed = now
            try:
                _check_reachable(self._ray.get_runtime_context().gcs_address)
                self._answered = now
            except OSError:
                if now - self._answered > _HEAD_SECONDS:
                    message = f"the Ray cluster at {self._cluster.address} is gone"
                    self._fault = ConfigurationError(message, "restart the cluster, then repeat this command")
        if self._fault is not None:
            raise copy(self._fault) from self._fault  # of one cause, for every run that meets it


def _check_reachable(address: str) -> None:
    """Check that something listens at an address; Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()


def _short_message(error: BaseException) -> str:
    """Return an error's first line with text; of a remote traceback the last, which names the exception."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if "Traceback" in str(error) else lines[0]) if lines else type(error).__name__


def _hint(error: BaseException) -> str:
    if "auth" in f"{error!r}{error.__cause__!r}".lower():
        return "it requires a token: set RAY_AUTH_MODE=token and give the token here as well; see docs/scaling.md"
    return "start one with ray start --head, or use --cluster local"
