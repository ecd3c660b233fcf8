"""Actors, and who of them does what: one thread that alone talks with Ray, and hears of everything by messages.

Shards of several submissions may be in its hands at once: those of the oldest first, of these the largest.
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

from benchmark.cluster.actor import Actor, Failed, versions_of
from benchmark.cluster.autoscaling import HUNGRY, Autoscaler
from benchmark.cluster.connection import Cluster, Lost, joined, knock, words
from benchmark.metrics import Metric
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.compute import ScoringFault
from benchmark.scoring.shards import Shard
from datasets_build.errors import ConfigurationError, DivBenchError

TRIES = 3  # of a shard
TICK = 1.0  # seconds between looks at the clock
_STALE = 2.0  # seconds: who was idle for longer is asked whether it is still there before it is given anything
_KNOCKS = 5.0  # seconds between looks whether the cluster is there
_LEAVING = 60.0  # seconds that this may take
_GONE = 20.0  # seconds without an answer, after which it is not; after 60 Ray would end this process


@dataclass(eq=False, slots=True)
class Run:
    """The shards of one submission, as they go to the pool and come back.

    Attributes:
        number: Later ones have a higher one.
        metrics: To compute.
        found: A shard with its table; None for one that was given back unscored; or what ends the run.
    """

    number: int
    metrics: Sequence[Metric]
    found: "SimpleQueue[tuple[Shard, pa.Table] | BaseException | None]" = field(default_factory=SimpleQueue)


@dataclass(order=True, slots=True)
class _Work:
    """A shard that waits."""

    rank: tuple[int, int, int]  # of its run; of equals the one with most bytes, and of those the first
    shard: Shard = field(compare=False)
    run: Run = field(compare=False)
    lost: int = field(compare=False, default=0)  # actors, in scoring it
    rest: list[Shard] | None = field(compare=False, default=None)  # of a shard that lost too many, prompt by prompt


class Pool:
    """Actors on a cluster that is joined, until `end`. Its public methods are for any thread."""

    def __init__(self, cluster: Cluster, instruments: ScoringBackends, metrics: Sequence[Metric]) -> None:
        self._cluster = cluster
        self._instruments = instruments
        self._metrics = tuple(metrics)  # whose models are loaded by who comes up
        self._messages: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._there, self._ready, self._ended = Event(), Event(), False
        self._lock = Lock()  # of these three
        self._runs: set[Run] = set()
        self._begun = 0
        self._fault: BaseException | None = None
        # What follows is the thread's alone.
        self._ray: Any = None
        self._kind: Any = None  # of actors
        self._gcs = ""  # the address of the cluster's head
        self._gpus, self.size = 0, 0  # of an actor; actors at most
        self._growth = Autoscaler(0)
        self._put: tuple[Sequence[Metric], Any] | None = None
        self._waiting: list[_Work] = []
        self._idle: list[tuple[Any, float]] = []  # and since when
        self._busy: dict[Any, tuple[_Work, float]] = {}  # and since when
        self._coming: dict[Any, float] = {}  # actors that have no models yet, and since when
        self._counted = 0  # shards
        self._failed_starts = 0  # in a row
        self._heard = self._knocked = self._answered = monotonic()
        self._thread = Thread(target=self._live, name="cluster", daemon=True)
        self._thread.start()

    # For any thread

    def join(self, *, ready: bool = False) -> None:
        """Wait until the cluster is joined, or until an actor is there with its models.

        Raises:
            MissingExtra: Ray is not installed.
            ConfigurationError: There is no such cluster, it has no place for an actor, it has other versions of
                libraries, or the models cannot be loaded there.
        """
        (self._ready if ready else self._there).wait()
        self._raise_fault()

    def begin(self, metrics: Sequence[Metric]) -> Run:
        """A run, to be given shards.

        Raises:
            ConfigurationError: The pool has ended.
        """
        with self._lock:
            self._raise_fault()
            self._begun += 1
            run = Run(self._begun, metrics)
            self._runs.add(run)
        return run

    def give(self, run: Run, shards: Sequence[Shard]) -> None:
        """To be scored; all of them are there before the largest is handed out."""
        self._messages.put(partial(self._take, run, shards))

    def drop(self, run: Run) -> None:
        """Give back what waits; what is being scored comes to its end."""
        self._messages.put(partial(self._give_back, run))

    def close(self, run: Run) -> None:
        """Nobody listens any more."""
        with self._lock:
            self._runs.discard(run)
        self.drop(run)

    @property
    def has_capacity(self) -> bool:
        """Whether actors would soon have nothing to do."""
        return len(self._waiting) < HUNGRY * max(self.size, 1)

    @property
    def gone(self) -> bool:
        """Whether it has ended, by a fault or because that was asked for."""
        return self._fault is not None

    def end(self) -> None:
        """Leave the cluster, with all actors."""
        self._ended = True
        self._messages.put(lambda: None)
        self._thread.join(_LEAVING)

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise _for_one(self._fault)

    # The thread's

    def _live(self) -> None:
        fault: BaseException = ConfigurationError("the cluster was left", "begin again")
        try:
            with joined(self._cluster) as self._ray:
                self._gcs = self._ray.get_runtime_context().gcs_address
                self._gpus, self.size = self._cluster.share(self._ray.cluster_resources())
                # Made once: it goes to the cluster's head, and where that is gone, all that asks it waits for ever.
                self._kind = self._ray.remote(num_cpus=1, num_gpus=self._gpus, max_restarts=0)(Actor)
                self._heard = self._knocked = self._answered = monotonic()
                self._there.set()
                self._growth = Autoscaler(self.size, self._cluster.elastic)
                self._grow(1)  # which shows that the models can be loaded
                while not self._ended:
                    self._hear()
                    self._grow(len(self._waiting))
                    self._hand_out()
                    self._watch()
        except BaseException as error:  # whatever it is, nobody may wait for an answer that does not come
            fault = error
        with self._lock:
            self._fault = fault
            runs = list(self._runs)
        for run in runs:
            run.found.put(_for_one(fault))
        self._there.set()
        self._ready.set()

    def _hear(self) -> None:
        """Wait a little, and do what the messages say."""
        try:
            self._messages.get(timeout=TICK)()
            while True:
                self._messages.get_nowait()()
        except Empty:
            return

    def _hand_out(self) -> None:
        """Give what waits to who is idle."""
        while self._waiting and self._idle:
            actor, since = self._idle.pop()
            if monotonic() - since > _STALE:
                self._greet(actor)
                continue
            work = heapq.heappop(self._waiting)
            self._busy[actor] = work, monotonic()
            self._when_said(actor.score.remote(work.shard, self._known(work.run.metrics)), partial(self._scored, actor))

    def _watch(self) -> None:
        """Nothing, while there is a cluster, and somebody who works or comes up where that is waited for.

        Raises:
            ConfigurationError: Otherwise.
        """
        now = monotonic()
        if self._busy or not (self._waiting or not self._ready.is_set()):
            self._heard = now
        if now - self._heard > self._cluster.patience:
            has = {name: count for name, count in self._ray.cluster_resources().items() if name in ("CPU", "GPU")}
            raise ConfigurationError(
                f"no actor came up in {self._cluster.patience:g} s: each takes 1 CPU and {self._gpus} GPU, and the "
                f"cluster has {has}",
                "wait until its other work is done, or start more machines",
            )
        if now - self._knocked < _KNOCKS:
            return
        try:
            knock(self._gcs)
            self._answered = monotonic()
        except OSError as error:
            if monotonic() - self._answered > _GONE:
                raise ConfigurationError(
                    f"the cluster of Ray at {self._cluster.address} is gone", "start it again, and then this"
                ) from error
        self._knocked = monotonic()

    def _known(self, metrics: Sequence[Metric]) -> Any:
        """Metrics where Ray keeps them; they are the same for nearly all runs."""
        if self._put is None or metrics != self._put[0]:
            self._put = metrics, self._ray.put(tuple(metrics))
        return self._put[1]

    def _when_said(self, answer: Any, then: "Callable[[Future[Any]], None]") -> None:
        """Have the thread hear of an answer of Ray's."""
        answer.future().add_done_callback(lambda said: self._messages.put(partial(then, said)))

    # Actors

    def _grow(self, waiting: int) -> None:
        """Ask for as many more as are earned, and let those go that have had nothing to do for long."""
        for _ in range(self._growth.more(waiting)):
            self._ask()
        if not self._cluster.elastic:
            return
        kept = []
        for actor, since in self._idle:
            if monotonic() - since < self._cluster.kept:
                kept.append((actor, since))
            else:
                self._ray.kill(actor)
                self._growth.let_go()
        self._idle = kept

    def _ask(self) -> None:
        """For one more actor, that is there when the cluster has a place for it."""
        actor = self._kind.remote(self._instruments)
        self._coming[actor] = monotonic()
        self._greet(actor)

    def _greet(self, actor: Any) -> None:
        self._when_said(actor.come_up.remote(self._known(self._metrics)), partial(self._came_up, actor))

    def _came_up(self, actor: Any, said: "Future[Any]") -> None:
        """Have an actor work, if its versions are ours."""
        self._heard = monotonic()
        try:
            machine, there, failed = said.result()
        except Exception as error:  # of Ray, or of libraries that it loads there
            self._failed_starts += 1
            if self._failed_starts > TRIES * self._growth.asked:
                raise ConfigurationError(
                    f"{self._failed_starts} actors ended before they could score, the last of them: {words(error)}",
                    "are the package and its models installed on all machines, and do they fit in their memory?",
                ) from error
            self._lose(actor, Lost(0, None, words(error)))
            return
        self._failed_starts = 0
        if (asked := self._coming.pop(actor, None)) is not None:
            self._growth.came_up(monotonic() - asked)
        here = versions_of(self._instruments)
        for name in sorted(here.keys() | there.keys()):
            if here.get(name) != there.get(name):
                raise ConfigurationError(
                    f"the machine {machine} has {name} {there.get(name)}, and this one {here.get(name)}",
                    "install the same versions on all: numbers may depend on them",
                )
        if failed is not None:
            raise failed.whole()
        self._idle.append((actor, monotonic()))
        self._ready.set()

    def _lose(self, actor: Any, lost: Lost) -> None:
        self._coming.pop(actor, None)
        self._ray.kill(actor)  # after a fault it may live, but in what state?
        self._cluster.events(lost)
        self._ask()

    # Shards

    def _take(self, run: Run, shards: Sequence[Shard]) -> None:
        for shard in shards:
            self._counted += 1
            heapq.heappush(self._waiting, _Work((run.number, -_bytes_of(shard), self._counted), shard, run))

    def _give_back(self, run: Run) -> None:
        given = [work for work in self._waiting if work.run is run]
        self._waiting = [work for work in self._waiting if work.run is not run]
        heapq.heapify(self._waiting)
        for _ in given:
            run.found.put(None)

    def _scored(self, actor: Any, said: "Future[Any]") -> None:
        work, since = self._busy.pop(actor)
        self._heard = monotonic()
        try:
            found: pa.Table | Failed = said.result()
        except Exception as error:  # of Ray, or one that nothing foresaw
            work.lost += 1
            self._lose(actor, Lost(len(work.shard.rows), work.shard.rows[0].prompt_id, words(error)))
            self._again(work)
            return
        self._growth.scored(self._heard - since)
        self._idle.append((actor, monotonic()))
        if isinstance(found, Failed):
            work.run.found.put(found.whole())
        elif work.rest is None:
            work.run.found.put((work.shard, found))
        else:
            self._next_alone(work, work.rest)

    def _again(self, work: _Work) -> None:
        """A shard whose actor was lost goes to another; one that lost too many prompt by prompt, to know the one."""
        if work.rest is not None:
            work.run.found.put(
                ScoringFault(
                    f"prompt {work.shard.rows[0].prompt_id}: every actor that scores it is lost",
                    "look at its responses, and whether the models fit in the memory of an actor",
                )
            )
        elif work.lost < TRIES:
            heapq.heappush(self._waiting, work)
        else:
            self._next_alone(work, list(_prompts_of(work.shard)))

    def _next_alone(self, work: _Work, prompts: list[Shard]) -> None:
        if prompts:
            rank = (work.run.number, -(2**62), 0)
            heapq.heappush(self._waiting, _Work(rank, prompts[0], work.run, rest=prompts[1:]))
            return
        work.run.found.put(
            ScoringFault(
                f"the prompts up to {work.shard.rows[-1].prompt_id}: {TRIES} actors were lost in scoring them "
                "together, and yet each can be scored alone",
                "score again: what is done is kept; if it fails again, the models may not fit in an actor's memory",
            )
        )


def _for_one(fault: BaseException) -> BaseException:
    """A fault of the pool as one of those who wait hears of it: raising adds to an exception."""
    made = copy(fault) if isinstance(fault, DivBenchError) else RuntimeError("the pool of actors has ended")
    made.__cause__ = fault
    return made


def _prompts_of(shard: Shard) -> Iterator[Shard]:
    """A shard for each of its prompts. For tests alone: in other company a set's last digits may differ."""
    for i in range(len(shard.rows)):
        one = slice(i, i + 1)
        internals = None if shard.internals is None else shard.internals[one]
        yield Shard(f"{shard.name}-{i}", shard.rows[one], shard.prompts[one], shard.reported[one], internals)


def _bytes_of(shard: Shard) -> int:
    """Of all responses: what costs go by, since all sets of a run are read in as many orders."""
    return sum(len(text.encode()) for row in shard.rows for text in row.responses)
