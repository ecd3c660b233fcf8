"""A cluster session: connects when there is first something to score, and disconnects at the end of a block."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from itertools import chain, islice
from queue import Empty
from threading import Lock

import pyarrow as pa

from benchmark.cluster.connection import Cluster
from benchmark.cluster.pool import TICK, Pool, Run
from benchmark.metrics import Metric
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.shards import Shard

AHEAD = 4  # waiting shards per actor: the largest is scored next, and no more are kept in memory


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
    """A cluster shared by runs of the scorer. Its methods may be called from any thread."""

    def __init__(self, cluster: Cluster, backends: ScoringBackends, metrics: Sequence[Metric]) -> None:
        self._cluster = cluster
        self._backends = backends
        self._metrics = tuple(metrics)
        self._pool: Pool | None = None
        self._lock = Lock()

    def load(self) -> int:
        """Wait until an actor has its models; return the largest number of actors."""
        pool = self._connected()
        pool.join(ready=True)
        return pool.size

    @property
    def has_capacity(self) -> bool:
        """Whether actors are idle or soon will be."""
        pool = self._pool
        return pool is None or pool.has_ended or pool.has_capacity

    def run(
        self, shards: Iterable[Shard], metrics: Sequence[Metric], check: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[Shard, pa.Table]]:
        """Score shards; yield each with its table as soon as it is done: a `RunShards` for the scorer."""
        rest = iter(shards)
        for first in rest:  # without shards no cluster is needed
            pool = self._connected()
            pool.join()
            run = pool.begin(metrics)
            try:
                yield from _run(pool, run, chain([first], rest), check)
            finally:
                pool.close(run)

    def leave(self) -> None:
        """End the actors, and leave the cluster."""
        if self._pool is not None:
            self._pool.end()

    def _connected(self) -> Pool:
        """The pool; a new one where the last one has ended."""
        with self._lock:
            if self._pool is None or self._pool.has_ended:
                self.leave()
                self._pool = Pool(self._cluster, self._backends, self._metrics)
            return self._pool


def _run(pool: Pool, run: Run, shards: Iterator[Shard], check: Callable[[], None]) -> Iterator[tuple[Shard, pa.Table]]:
    expected = 0  # shards that are to come back
    end: BaseException | None = None
    while True:
        if end is None:
            try:
                check()
            except BaseException as error:
                end = error
                pool.drop(run)
            else:
                expected += _give(pool, run, islice(shards, max(0, (1 + AHEAD) * pool.size - expected)))
        if not expected:
            break
        try:
            found = run.outcomes.get(timeout=TICK)
        except Empty:
            continue
        if isinstance(found, BaseException):
            raise found
        expected -= 1
        if found is not None:
            yield found
    if end is not None:
        raise end


def _give(pool: Pool, run: Run, shards: Iterator[Shard]) -> int:
    """Give shards to the pool; return how many."""
    given = list(shards)
    if given:
        pool.give(run, given)
    return len(given)
