"""A pool of actors: one thread talks to Ray and decides which actor scores which shard.

Ray has two pools: `ray.util.ActorPool`, which neither retries the task of a lost actor nor replaces the actor, and
`ActorPoolStrategy(min_size, max_size)` of Ray Data, which retries such a task without limit and loads the models again
for every dataset. This one exists because a prompt that kills its actors must be identified, one pool must serve the
shards of several submissions (the oldest first, then the largest), and actors are added only when the amount of scoring
pays for loading them.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

import pyarrow as pa

from benchmark.cluster.actor import Actor, RemoteError, versions_of
from benchmark.cluster.autoscaling import BACKLOG_PER_ACTOR, Autoscaler
from benchmark.cluster.connection import ActorLost, Cluster, check_reachable, connect, short_message
from benchmark.metrics import Metric
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import ScoringFault
from benchmark.scoring.shards import Shard
from divbench.core.errors import ConfigurationError, DivBenchError

MAX_ATTEMPTS = 3  # of a shard
TICK = 1.0  # seconds between looks at the clock
_STALE = 2.0  # idle seconds after which an actor must show that it is alive before it gets a shard
_PROBE_INTERVAL = 5.0  # seconds between checks that the cluster's head answers
_HEAD_TIMEOUT = 20.0  # seconds without its answer; after 60 Ray would abort this process
_LEAVE_TIMEOUT = 60.0


@dataclass(eq=False, slots=True)
class Run:
    """The shards of one submission in the pool."""

    number: int
    metrics: Sequence[Metric]
    # A shard with its table; None for one that was returned unscored; or the error that ends the run.
    outcomes: "SimpleQueue[tuple[Shard, pa.Table] | BaseException | None]" = field(default_factory=SimpleQueue)


@dataclass(order=True, slots=True)
class _Task:
    """A shard to score."""

    rank: tuple[int, int, int]  # number of its run, minus its bytes, number of the shard
    shard: Shard = field(compare=False)
    run: Run = field(compare=False)
    losses: int = field(compare=False, default=0)  # actors lost while scoring it
    rest: list[Shard] | None = field(compare=False, default=None)  # further prompts of a shard that is tried singly


class Pool:
    """Actors on a connected cluster, until `end`. Its public methods are for any thread."""

    def __init__(self, cluster: Cluster, backends: ScoringBackends, metrics: Sequence[Metric]) -> None:
        self._cluster = cluster
        self._backends = backends
        self._metrics = tuple(metrics)  # whose models every actor loads
        self._messages: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._connected, self._ready, self._ended = Event(), Event(), False
        self._lock = Lock()  # of these three
        self._runs: set[Run] = set()
        self._run_count = 0
        self._fault: BaseException | None = None
        # The rest belongs to the thread.
        self._ray: Any = None
        self._actor_class: Any = None
        self._head = ""  # address
        self._gpus, self.size = 0, 0  # GPUs per actor; largest number of actors
        self._autoscaler = Autoscaler(0)
        self._stored: tuple[Sequence[Metric], Any] | None = None  # metrics in Ray's object store
        self._waiting: list[_Task] = []
        self._idle: list[tuple[Any, float]] = []  # actors, and since when
        self._busy: dict[Any, tuple[_Task, float]] = {}  # by actor, and since when
        self._starting: dict[Any, float] = {}  # actors without models, and since when
        self._shard_count = 0
        self._failed_starts = 0  # in a row
        self._active = self._probed = self._answered = monotonic()
        self._thread = Thread(target=self._serve, name="cluster", daemon=True)
        self._thread.start()

    # For any thread

    def join(self, *, ready: bool = False) -> None:
        """Wait until the cluster is connected or, if `ready`, until an actor has its models."""
        (self._ready if ready else self._connected).wait()
        self._raise_fault()

    def begin(self, metrics: Sequence[Metric]) -> Run:
        """Begin a run, to be given shards."""
        with self._lock:
            self._raise_fault()
            self._run_count += 1
            run = Run(self._run_count, metrics)
            self._runs.add(run)
        return run

    def give(self, run: Run, shards: Sequence[Shard]) -> None:
        """Queue shards; all are queued before the largest is handed out."""
        self._messages.put(partial(self._enqueue, run, shards))

    def drop(self, run: Run) -> None:
        """Return a run's waiting shards unscored; shards being scored are finished."""
        self._messages.put(partial(self._dequeue, run))

    def close(self, run: Run) -> None:
        """End a run; its outcomes are no longer read."""
        with self._lock:
            self._runs.discard(run)
        self.drop(run)

    @property
    def has_capacity(self) -> bool:
        """Whether actors are idle or soon will be."""
        return len(self._waiting) < BACKLOG_PER_ACTOR * max(self.size, 1)

    @property
    def has_ended(self) -> bool:
        """Whether the pool has failed or was ended."""
        return self._fault is not None

    def end(self) -> None:
        """End all actors and leave the cluster."""
        self._ended = True
        self._messages.put(lambda: None)
        self._thread.join(_LEAVE_TIMEOUT)

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise _copy_of(self._fault)

    # The thread's

    def _serve(self) -> None:
        fault: BaseException = ConfigurationError("the cluster was left", "begin again")
        try:
            with connect(self._cluster) as self._ray:
                self._head = self._ray.get_runtime_context().gcs_address
                self._gpus, self.size = self._cluster.share(self._ray.cluster_resources())
                # Once: it is stored by the cluster's head, and every call to a lost head would hang.
                self._actor_class = self._ray.remote(num_cpus=1, num_gpus=self._gpus, max_restarts=0)(Actor)
                self._active = self._probed = self._answered = monotonic()
                self._connected.set()
                self._autoscaler = Autoscaler(self.size, self._cluster.elastic)
                self._scale(1)  # one actor shows that the models can be loaded
                while not self._ended:
                    self._process_messages()
                    self._scale(len(self._waiting))
                    self._hand_out()
                    self._watch()
        except BaseException as error:  # whatever the error is, nobody may wait for an outcome that never comes
            fault = error
        with self._lock:
            self._fault = fault
            runs = list(self._runs)
        for run in runs:
            run.outcomes.put(_copy_of(fault))
        self._connected.set()
        self._ready.set()

    def _process_messages(self) -> None:
        try:
            self._messages.get(timeout=TICK)()
            while True:
                self._messages.get_nowait()()
        except Empty:
            return

    def _hand_out(self) -> None:
        while self._waiting and self._idle:
            actor, since = self._idle.pop()
            if monotonic() - since > _STALE:
                self._load(actor)  # at once, if it lives
                continue
            task = heapq.heappop(self._waiting)
            self._busy[actor] = task, monotonic()
            self._on_reply(actor.score.remote(task.shard, self._put(task.run.metrics)), partial(self._scored, actor))

    def _watch(self) -> None:
        """Check that the cluster answers and that, while there is work, actors work or start."""
        now = monotonic()
        if self._busy or not (self._waiting or not self._ready.is_set()):
            self._active = now
        if now - self._active > self._cluster.patience:
            has = {name: count for name, count in self._ray.cluster_resources().items() if name in ("CPU", "GPU")}
            raise ConfigurationError(
                f"no actor started in {self._cluster.patience:g} s: each needs 1 CPU and {self._gpus} GPU, and the "
                f"cluster has {has}",
                "wait until the cluster's other work is done, or add machines",
            )
        if now - self._probed < _PROBE_INTERVAL:
            return
        try:
            check_reachable(self._head)
            self._answered = monotonic()
        except OSError as error:
            if monotonic() - self._answered > _HEAD_TIMEOUT:
                message = f"the Ray cluster at {self._cluster.address} is gone"
                raise ConfigurationError(message, "restart the cluster, then repeat this command") from error
        self._probed = monotonic()

    def _put(self, metrics: Sequence[Metric]) -> Any:
        """Put metrics, the same for nearly all runs, into Ray's object store."""
        if self._stored is None or metrics != self._stored[0]:
            self._stored = metrics, self._ray.put(tuple(metrics))
        return self._stored[1]

    def _on_reply(self, reply: Any, then: "Callable[[Future[Any]], None]") -> None:
        """Call a function on this thread when Ray has a reply."""
        reply.future().add_done_callback(lambda done: self._messages.put(partial(then, done)))

    # Actors

    def _scale(self, waiting: int) -> None:
        """Start as many actors as are earned; an elastic pool also ends those that have been idle for long."""
        for _ in range(self._autoscaler.request(waiting)):
            self._start()
        if not self._cluster.elastic:
            return
        kept = []
        for actor, since in self._idle:
            if monotonic() - since < self._cluster.idle:
                kept.append((actor, since))
            else:
                self._ray.kill(actor)
                self._autoscaler.ended()
        self._idle = kept

    def _start(self) -> None:
        """Request an actor, which starts when the cluster has room for it."""
        actor = self._actor_class.remote(self._backends)
        self._starting[actor] = monotonic()
        self._load(actor)

    def _load(self, actor: Any) -> None:
        self._on_reply(actor.load.remote(self._put(self._metrics)), partial(self._loaded, actor))

    def _loaded(self, actor: Any, reply: "Future[Any]") -> None:
        """Put an actor to work if its versions are ours."""
        self._active = monotonic()
        try:
            host, there, failure = reply.result()
        except Exception as error:  # of Ray, or of libraries loaded there
            self._failed_starts += 1
            if self._failed_starts > MAX_ATTEMPTS * self._autoscaler.requested:
                raise ConfigurationError(
                    f"{self._failed_starts} actors ended before they could score, the last with: "
                    f"{short_message(error)}",
                    "check that the package and its models are installed on all machines and fit in their memory",
                ) from error
            self._replace(actor, ActorLost(0, None, short_message(error)))
            return
        self._failed_starts = 0
        if (requested := self._starting.pop(actor, None)) is not None:
            self._autoscaler.loaded(monotonic() - requested)
        here = versions_of(self._backends)
        for name in sorted(here.keys() | there.keys()):
            if here.get(name) != there.get(name):
                raise ConfigurationError(
                    f"the machine {host} has {name} {there.get(name)}, and this one {here.get(name)}",
                    "install the same versions on all machines: numbers may depend on them",
                )
        if failure is not None:
            raise failure.unpack()
        self._idle.append((actor, monotonic()))
        self._ready.set()

    def _replace(self, actor: Any, lost: ActorLost) -> None:
        self._starting.pop(actor, None)
        self._ray.kill(actor)  # after an unexpected error it may live, in an unknown state
        self._cluster.events(lost)
        self._start()

    # Shards

    def _enqueue(self, run: Run, shards: Sequence[Shard]) -> None:
        for shard in shards:
            self._shard_count += 1
            heapq.heappush(self._waiting, _Task((run.number, -_bytes_of(shard), self._shard_count), shard, run))

    def _dequeue(self, run: Run) -> None:
        dropped = sum(task.run is run for task in self._waiting)
        self._waiting = [task for task in self._waiting if task.run is not run]
        heapq.heapify(self._waiting)
        for _ in range(dropped):
            run.outcomes.put(None)

    def _scored(self, actor: Any, reply: "Future[Any]") -> None:
        task, since = self._busy.pop(actor)
        self._active = monotonic()
        try:
            found: pa.Table | RemoteError = reply.result()
        except Exception as error:  # of Ray, or one that is not ours
            task.losses += 1
            self._replace(actor, ActorLost(len(task.shard.rows), task.shard.rows[0].prompt_id, short_message(error)))
            self._retry(task)
            return
        self._autoscaler.scored(self._active - since)
        self._idle.append((actor, monotonic()))
        if isinstance(found, RemoteError):
            task.run.outcomes.put(found.unpack())
        elif task.rest is None:
            task.run.outcomes.put((task.shard, found))
        else:
            self._try_singly(task, task.rest)

    def _retry(self, task: _Task) -> None:
        """Queue the shard of a lost actor again; after the last attempt, its prompts singly to find the culprit."""
        if task.rest is not None:
            task.run.outcomes.put(
                ScoringFault(
                    f"prompt {task.shard.rows[0].prompt_id}: every actor that scores it is lost",
                    "check the responses to this prompt, and whether the models fit in the memory of an actor",
                )
            )
        elif task.losses < MAX_ATTEMPTS:
            heapq.heappush(self._waiting, task)
        else:
            self._try_singly(task, list(_prompts_of(task.shard)))

    def _try_singly(self, task: _Task, prompts: list[Shard]) -> None:
        if prompts:
            rank = (task.run.number, -(2**62), 0)
            heapq.heappush(self._waiting, _Task(rank, prompts[0], task.run, rest=prompts[1:]))
            return
        task.run.outcomes.put(
            ScoringFault(
                f"the prompts up to {task.shard.rows[-1].prompt_id}: {MAX_ATTEMPTS} actors were lost scoring them "
                "together, yet each can be scored alone",
                "score again (finished shards are kept); if it fails again, the models may exceed an actor's memory",
            )
        )


def _copy_of(fault: BaseException) -> BaseException:
    """Copy the pool's fault for each waiting thread, because raising an exception changes it."""
    made = copy(fault) if isinstance(fault, DivBenchError) else RuntimeError("the pool of actors has ended")
    made.__cause__ = fault
    return made


def _prompts_of(shard: Shard) -> Iterator[Shard]:
    """Return a shard for each prompt, for diagnosis only: in another batch the last digits of a value may differ."""
    for i in range(len(shard.rows)):
        one = slice(i, i + 1)
        internals = None if shard.internals is None else shard.internals[one]
        yield Shard(f"{shard.name}-{i}", shard.rows[one], shard.prompts[one], shard.reported[one], internals)


def _bytes_of(shard: Shard) -> int:
    """Return the size of all responses in bytes, to which the cost of a shard is proportional."""
    return sum(len(text.encode()) for row in shard.rows for text in row.responses)
