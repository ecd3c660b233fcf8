"""The scorer on many GPUs and machines: the same shards, scored by actors of Ray, and the same bytes of a result.

Each actor holds the models of a profile, one replica on a GPU or a core, and scores one shard at a time. The process
that was started reads the submission, hands shards out, the largest at hand first, and alone writes files; so no other
machine needs more than the package and the models. What an actor was doing when it was lost is done again elsewhere.
"""

import heapq
import os
import platform
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import chain, islice
from time import monotonic
from typing import Any

import pyarrow as pa

from benchmark.instruments import Instruments
from benchmark.metrics import Metric
from benchmark.scorer import library_versions
from benchmark.sets import ScoringFault
from benchmark.shards import Shard, score_shard
from datasets_build.errors import ConfigurationError, DivBenchError, need

LOCAL = "local"  # an address: this machine alone, for one run
TRIES = 3  # of a shard
AHEAD = 4  # shards an actor that wait their turn: of so many the largest is handed out, and no more are in memory
_STORE_BYTES = 256 * 2**20  # of Ray's memory for objects, where we start Ray: tables of shards are small
_TICK = 1.0  # seconds between looks at the clock


@dataclass(frozen=True, slots=True)
class Lost:
    """An actor is gone, or failed in a way that nothing foresaw.

    Attributes:
        prompts: That it was scoring, and another scores again; 0: it had none yet.
        first: The id of the first of them.
        reason: In Ray's words.
    """

    prompts: int
    first: str | None
    reason: str

    def __str__(self) -> str:
        """For people."""
        again = f", and {self.prompts} prompts from {self.first} on are scored again" if self.prompts else ""
        return f"an actor was lost{again}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where to score.

    Attributes:
        address: Of a cluster of Ray, `HOST:PORT`, or `auto` for the one of this machine; `local` starts one.
        actors: How many; None: one a GPU, or a core where there are no GPUs. More than there is place for wait for it.
        patience: Seconds without an actor that works or comes up, after which a run ends.
        events: Told of each actor that is lost.
    """

    address: str = LOCAL
    actors: int | None = None
    patience: float = 600.0
    events: Callable[[Lost], None] = lambda lost: None


def run_on_cluster(
    cluster: Cluster, instruments: Instruments, shards: Iterable[Shard], metrics: Sequence[Metric]
) -> Iterator[tuple[Shard, pa.Table]]:
    """Each shard with its table, as they are done; with its first arguments given, a `RunShards` for the scorer.

    Args:
        cluster: Joined, or started, if there is any shard at all; left at the end.
        instruments: Of which every actor loads its own.
        shards: Taken as they are needed.
        metrics: To compute.

    Raises:
        MissingExtra: Ray is not installed.
        ConfigurationError: There is no such cluster, it has no place for an actor, or other versions of libraries.
        ScoringFault: A metric failed, or a prompt ends every actor that scores it.
    """
    rest = iter(shards)
    for first in rest:
        with redirect_stdout(sys.stderr), _joined(cluster) as ray:  # stdout is for results; Ray would write to it, too
            pool = _Pool(ray, cluster, instruments, enumerate(chain([first], rest)), ray.put(tuple(metrics)))
            yield from pool.run()


@contextmanager
def _joined(cluster: Cluster) -> Iterator[Any]:
    """Ray, with a cluster to run on."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it reports to its makers otherwise
    ray = need("ray", "cluster")
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if cluster.address == LOCAL:
            cores = max(cluster.actors or 1, os.cpu_count() or 1)
            ray.init("local", num_cpus=cores, include_dashboard=False, object_store_memory=_STORE_BYTES, **quiet)
        else:
            _knock(cluster.address)
            ray.init(cluster.address, **quiet)
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigurationError(
            f"no cluster of Ray at {cluster.address}: {_words(error)}", "start one: ray start --head; or name local"
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()  # and with it our actors, wherever they are


def _knock(address: str) -> None:
    """Ray itself tries for minutes before it says that nobody is there."""
    host, _, port = address.rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()


class _Actor:
    """What runs in a process of its own, perhaps on another machine."""

    def __init__(self, instruments: Instruments) -> None:
        self._instruments = instruments

    def versions(self) -> tuple[str, dict[str, str]]:
        """The machine, and the versions there."""
        return platform.node(), _versions(self._instruments)

    def score(self, shard: Shard, metrics: Sequence[Metric]) -> pa.Table | DivBenchError:
        """The table of a shard, or why there would be none anywhere."""
        try:
            return score_shard(shard, metrics, self._instruments)
        except DivBenchError as error:
            return error


def _versions(instruments: Instruments) -> dict[str, str]:
    """Of all that numbers may depend on."""
    ours = {"divbench": version("divbench"), "Python": platform.python_version()}
    return ours | library_versions(instruments.profile)


@dataclass(order=True, slots=True)
class _Work:
    """A shard that waits: the one with most bytes goes first, of equals the one that came first."""

    rank: tuple[int, int]
    shard: Shard = field(compare=False)
    lost: int = field(compare=False, default=0)  # actors, in scoring it


class _Pool:
    """Actors, and who of them does what."""

    def __init__(
        self, ray: Any, cluster: Cluster, instruments: Instruments, coming: Iterator[tuple[int, Shard]], metrics: Any
    ) -> None:
        self._ray = ray
        self._cluster = cluster
        self._instruments = instruments
        self._shards = coming
        self._metrics = metrics  # where Ray keeps them
        has = ray.cluster_resources()
        self._gpus = 1 if has.get("GPU", 0) >= 1 else 0
        self._size = cluster.actors or int(has.get("GPU" if self._gpus else "CPU", 0)) or 1
        self._waiting: list[_Work] = []
        self._idle: list[Any] = []
        self._rising: dict[Any, Any] = {}  # what an actor that comes up will say: the actor
        self._busy: dict[Any, tuple[Any, _Work]] = {}  # what it will say of a shard: the actor and the shard
        self._failed_starts = 0  # in a row
        self._heard = monotonic()

    def run(self) -> Iterator[tuple[Shard, pa.Table]]:
        """Each shard with its table, as they are done."""
        for _ in range(self._size):
            self._ask()
        while self._hand_out():
            for work, table in self._hear():
                if table is not None:
                    yield work.shard, table
                elif work.lost < TRIES:
                    heapq.heappush(self._waiting, work)
                else:
                    raise self._fault(work)

    def _hand_out(self) -> bool:
        """Give what waits to who is idle. False: all is done."""
        for number, shard in islice(self._shards, AHEAD * self._size - len(self._waiting)):
            heapq.heappush(self._waiting, _Work((-_bytes_of(shard), number), shard))
        while self._waiting and self._idle:
            self._give(heapq.heappop(self._waiting))
        return bool(self._waiting or self._busy)

    def _give(self, work: _Work) -> None:
        actor = self._idle.pop()
        self._busy[actor.score.remote(work.shard, self._metrics)] = actor, work

    def _ask(self) -> None:
        """For one more actor, that is there when the cluster has a place for it."""
        actor = self._ray.remote(num_cpus=1, num_gpus=self._gpus, max_restarts=0)(_Actor).remote(self._instruments)
        self._rising[actor.versions.remote()] = actor

    def _hear(self) -> Iterator[tuple[_Work, pa.Table | None]]:
        """Wait a little. What is heard of a shard: its table, or None if its actor was lost."""
        ready, _ = self._ray.wait([*self._busy, *self._rising], num_returns=1, timeout=_TICK)
        if self._busy or ready:
            self._heard = monotonic()
        elif monotonic() - self._heard > self._cluster.patience:
            has = {name: count for name, count in self._ray.cluster_resources().items() if name in ("CPU", "GPU")}
            raise ConfigurationError(
                f"no actor came up in {self._cluster.patience:g} s: each takes 1 CPU and {self._gpus} GPU, and the "
                f"cluster has {has}",
                "wait until its other work is done, or start more machines",
            )
        for said in ready:
            if said in self._rising:
                self._take_in(self._rising.pop(said), said)
            else:
                actor, work = self._busy.pop(said)
                yield work, self._table(actor, work, said)

    def _take_in(self, actor: Any, said: Any) -> None:
        """Have an actor work, if its versions are ours."""
        try:
            machine, there = self._ray.get(said)
        except self._ray.exceptions.RayError as error:
            self._failed_starts += 1
            if self._failed_starts > TRIES * self._size:
                raise ConfigurationError(
                    f"{self._failed_starts} actors ended before they could score, the last of them: {_words(error)}",
                    "are the package and its models installed on all machines, and do they fit in their memory?",
                ) from error
            self._lose(actor, Lost(0, None, _words(error)))
            return
        self._failed_starts = 0
        here = _versions(self._instruments)
        for name in sorted(here.keys() | there.keys()):
            if here.get(name) != there.get(name):
                raise ConfigurationError(
                    f"the machine {machine} has {name} {there.get(name)}, and this one {here.get(name)}",
                    "install the same versions on all: numbers may depend on them",
                )
        self._idle.append(actor)

    def _table(self, actor: Any, work: _Work, said: Any) -> pa.Table | None:
        try:
            found: pa.Table | DivBenchError = self._ray.get(said)
        except self._ray.exceptions.RayError as error:
            work.lost += 1
            self._lose(actor, Lost(len(work.shard.rows), work.shard.rows[0].prompt_id, _words(error)))
            return None
        if isinstance(found, DivBenchError):
            raise found
        self._idle.append(actor)
        return found

    def _lose(self, actor: Any, lost: Lost) -> None:
        self._ray.kill(actor)  # after a fault it may live, but in what state?
        self._cluster.events(lost)
        self._ask()

    def _fault(self, work: _Work) -> ScoringFault:
        """What to say of a shard that lost us all its actors: which prompt is to blame, by scoring each alone."""
        for actor, _ in self._busy.values():
            self._ray.kill(actor)
        self._busy.clear()
        for shard in _prompts_of(work.shard):
            while not self._idle:
                list(self._hear())
            self._give(_Work((0, 0), shard))
            while self._busy:
                for alone, table in self._hear():
                    if table is None:
                        return ScoringFault(
                            f"prompt {alone.shard.rows[0].prompt_id}: every actor that scores it is lost",
                            "look at its responses, and whether the models fit in the memory of an actor",
                        )
        first, last = work.shard.rows[0].prompt_id, work.shard.rows[-1].prompt_id
        return ScoringFault(
            f"the prompts from {first} to {last}: {work.lost} actors were lost in scoring them, and yet each can be "
            "scored alone",
            "score again: what is done is kept; if it fails again, the models may not fit in the memory of an actor",
        )


def _prompts_of(shard: Shard) -> Iterator[Shard]:
    """A shard for each of its prompts. For tests alone: in other company a set's last digits may differ."""
    for i in range(len(shard.rows)):
        one = slice(i, i + 1)
        internals = None if shard.internals is None else shard.internals[one]
        yield Shard(f"{shard.name}-{i}", shard.rows[one], shard.prompts[one], shard.reported[one], internals)


def _bytes_of(shard: Shard) -> int:
    """Of all responses: what costs go by, since all sets of a run are read in as many orders."""
    return sum(len(text.encode()) for row in shard.rows for text in row.responses)


def _words(error: Exception) -> str:
    """Its first line that says something; of a remote exception the last, which names it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if "Traceback" in str(error) else lines[0]) if lines else type(error).__name__
