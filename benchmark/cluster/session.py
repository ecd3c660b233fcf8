"""A cluster that is held: joined when there is first something to score, and left at the end of a block."""

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

AHEAD = 4  # shards an actor that wait their turn: of so many the largest is handed out, and no more are in memory


@contextmanager
def open_cluster(
    cluster: Cluster, instruments: ScoringBackends, metrics: Sequence[Metric]
) -> "Iterator[ClusterSession]":
    """A cluster for the block's run or runs; its actors and their models live as long as the block.

    Args:
        cluster: Joined, or started, when there is first something to do.
        instruments: Of which every actor loads its own.
        metrics: Whose models it loads.
    """
    held = ClusterSession(cluster, instruments, metrics)
    with redirect_stdout(sys.stderr):  # stdout is for results; Ray would write to it, too
        try:
            yield held
        finally:
            held.leave()


class ClusterSession:
    """A cluster that runs of the scorer share. For any thread."""

    def __init__(self, cluster: Cluster, instruments: ScoringBackends, metrics: Sequence[Metric]) -> None:
        self._cluster = cluster
        self._instruments = instruments
        self._metrics = tuple(metrics)
        self._pool: Pool | None = None
        self._lock = Lock()

    def load(self) -> int:
        """Wait until an actor is there with its models; how many there are to be.

        Raises:
            MissingExtra: Ray is not installed.
            ConfigurationError: There is no such cluster, it has no place for an actor, it has other versions of
                libraries, or the models cannot be loaded there.
        """
        pool = self._joined()
        pool.join(ready=True)
        return pool.size

    @property
    def has_capacity(self) -> bool:
        """Whether actors have nothing to do, or soon will."""
        pool = self._pool
        return pool is None or pool.gone or pool.has_capacity

    def run(
        self, shards: Iterable[Shard], metrics: Sequence[Metric], go_on: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[Shard, pa.Table]]:
        """Each shard with its table, as they are done: a `RunShards` for the scorer.

        Args:
            shards: Taken as they are needed.
            metrics: To compute.
            go_on: Called now and then. What it raises ends the run, after the shards that are being scored.

        Raises:
            MissingExtra: As in `load`.
            ConfigurationError: Likewise, or the cluster is gone.
            ScoringFault: A metric failed, or a prompt ends every actor that scores it.
        """
        rest = iter(shards)
        for first in rest:  # where all is done already, nobody is asked
            pool = self._joined()
            pool.join()
            run = pool.begin(metrics)
            try:
                yield from _run(pool, run, chain([first], rest), go_on)
            finally:
                pool.close(run)

    def leave(self) -> None:
        """End the actors, and leave the cluster."""
        if self._pool is not None:
            self._pool.end()

    def _joined(self) -> Pool:
        """The pool; another, where the cluster of the last one is gone."""
        with self._lock:
            if self._pool is None or self._pool.gone:
                self.leave()
                self._pool = Pool(self._cluster, self._instruments, self._metrics)
            return self._pool


def _run(pool: Pool, run: Run, shards: Iterator[Shard], go_on: Callable[[], None]) -> Iterator[tuple[Shard, pa.Table]]:
    out = 0  # shards that are to come back
    end: BaseException | None = None
    while True:
        if end is None:
            try:
                go_on()
            except BaseException as error:
                end = error
                pool.drop(run)
            else:
                out += _give(pool, run, shards, out)
        if not out:
            break
        for found in _said(run):
            out -= 1
            if found is not None:
                yield found
    if end is not None:
        raise end


def _give(pool: Pool, run: Run, shards: Iterator[Shard], out: int) -> int:
    """So many more shards as are to wait; how many that were."""
    given = list(islice(shards, max(0, (1 + AHEAD) * pool.size - out)))
    if given:
        pool.give(run, given)
    return len(given)


def _said(run: Run) -> Iterator[tuple[Shard, pa.Table] | None]:
    """What is heard of one shard, if it is heard soon."""
    try:
        found = run.found.get(timeout=TICK)
    except Empty:
        return
    if isinstance(found, BaseException):
        raise found
    yield found
