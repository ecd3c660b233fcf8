"""Simulate many workers event by event from the cost of shards; nothing is scored.

Four ways to distribute submissions over workers, as implemented: every submission by `score --cluster` on all workers,
one after the other; separate workers (`worker`), a whole submission at a time; `worker --cluster`, which works on
shards of several submissions at once; and the same with `--elastic`, whose workers start when there is work for them.
Host failures and network effects are left out.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

import numpy as np

from benchmark.cluster.autoscaling import BACKLOG_PER_ACTOR, Autoscaler
from benchmark.cluster.session import AHEAD
from benchmark.service.concurrency import MAX_PREPARING
from benchmark.service.worker import MAX_CONCURRENT

How = Literal["shards", "submissions", "queue", "elastic"]


@dataclass(frozen=True, slots=True)
class Assumed:
    """Assumptions of a simulation; times are in seconds."""

    costs: Sequence[float]  # costs of shards to sample from
    workers: int = 64  # maximum number of workers
    start: float = 60.0  # time until a worker has loaded its models
    handing: float = 0.02  # time in which the driver dispatches a shard; it does so one by one
    prepare: float = 3.0  # time to claim, fetch and check a submission
    finish: float = 0.5  # time to make and publish a result; the driver does so one by one


@dataclass(frozen=True, slots=True)
class Simulated:
    """The result of a simulation."""

    submissions: int
    # *shards*: `score --cluster`, one after the other; *submissions*: `worker` on each GPU; *queue*: `worker
    # --cluster`; *elastic*: the same with `--elastic`.
    how: How
    seconds: float  # time until all are done
    # Share of the workers' time, after their start, that was spent on scoring; an elastic worker counts from its own
    # start.
    efficiency: float
    cost: float  # worker seconds per submission, from a worker's start until no work is left for it
    loading: float = 0.0  # worker seconds per submission for loading models
    shards: int = 16  # number of shards per submission
    workers: int = 0  # number of workers that were started


def simulate(assumed: Assumed, submissions: int, shards: int, how: How) -> Simulated:
    """Simulate submissions whose shards have costs drawn from the assumed ones, the same for all ways."""
    rng = np.random.default_rng(submissions)
    drawn = rng.choice(np.asarray(assumed.costs), size=(submissions, shards))
    workers, start = assumed.workers, assumed.start
    if how == "shards":
        seconds = sum(_one_submission(each.tolist(), workers, assumed.handing) + assumed.finish for each in drawn)
        up, loads, starts = workers, workers * submissions, submissions
        held = could = seconds * workers
    elif how == "submissions":
        free = [0.0] * min(workers, submissions)  # when each worker is free
        for each in drawn:
            heapq.heappush(free, heapq.heappop(free) + float(each.sum()) + assumed.prepare + assumed.finish)
        seconds, up, loads, starts = max(free), len(free), len(free), 1
        held, could = sum(free), seconds * workers
    else:
        queue = _Queue(assumed, Autoscaler(workers, elastic=how == "elastic"))
        seconds = queue.run(drawn.tolist())
        up, loads, starts = len(queue.ups), queue.growth.requested, 1
        held = could = seconds * up - sum(queue.ups)
    return Simulated(
        submissions,
        how,
        seconds=seconds + start * starts,
        efficiency=float(drawn.sum()) / could,
        cost=held / submissions,
        loading=loads * start / submissions,
        shards=shards,
        workers=up,
    )


def _one_submission(costs: list[float], workers: int, handing: float) -> float:
    """Return the seconds until a submission's shards are done, as `score --cluster` dispatches them."""
    coming, waiting = iter(costs), list[float]()
    free = [0.0] * workers
    hand = done = 0.0  # when the dispatching process is free, and when the last shard is done
    while True:
        for cost in islice(coming, AHEAD * workers - len(waiting)):
            heapq.heappush(waiting, -cost)
        if not waiting:
            return done
        hand = max(hand, heapq.heappop(free)) + handing
        end = hand - heapq.heappop(waiting)
        heapq.heappush(free, end)
        done = max(done, end)


@dataclass(slots=True)
class _Queue:
    """`worker --cluster`: lanes that claim while there is capacity, and actors that take the oldest's largest shard.

    Time begins when the first actor is up, with all others that were requested at the same time.
    """

    assumed: Assumed
    growth: Autoscaler
    ups: list[float] = field(default_factory=list)  # start time of each actor
    waiting: list[tuple[int, float]] = field(default_factory=list)  # number of the submission, negated cost
    events: list[tuple[float, str, int, float]] = field(default_factory=list)  # time, kind, submission, cost
    left: list[int] = field(default_factory=list)  # shards of each submission
    lanes: int = 0
    preparing: int = 0
    claimed: int = 0
    published: int = 0
    idle: int = 0
    hand: float = 0.0  # when the dispatching process is free

    def run(self, drawn: list[list[float]]) -> float:
        """Return the seconds until all is published, once the workers are up."""
        self.left = [len(costs) for costs in drawn]
        now = 0.0
        for _ in range(self.growth.request(1)):
            self._came_up(now)
        self._claim(now, len(drawn))
        while self.published < len(drawn):
            now, what, number, cost = heapq.heappop(self.events)
            if what == "prepared":
                self.preparing -= 1
                for each in drawn[number]:
                    heapq.heappush(self.waiting, (number, -each))
            elif what == "up":
                self._came_up(now)
            elif what == "scored":
                self._scored(now, number, cost)
            else:
                self.lanes -= 1
                self.published += 1
            for _ in range(self.growth.request(len(self.waiting))):
                heapq.heappush(self.events, (now + self.assumed.start, "up", -1, 0.0))
            self._hand_out(now)
            self._claim(now, len(drawn))
        return now

    def _came_up(self, now: float) -> None:
        self.growth.loaded(self.assumed.start)
        self.ups.append(now)
        self.idle += 1

    def _scored(self, now: float, number: int, cost: float) -> None:
        self.growth.scored(cost)
        self.idle += 1
        self.left[number] -= 1
        if not self.left[number]:
            self.hand = max(now, self.hand) + self.assumed.finish
            heapq.heappush(self.events, (self.hand, "published", number, 0.0))

    def _hand_out(self, now: float) -> None:
        while self.waiting and self.idle:
            number, minus_cost = heapq.heappop(self.waiting)
            self.idle -= 1
            self.hand = max(now, self.hand) + self.assumed.handing
            heapq.heappush(self.events, (self.hand - minus_cost, "scored", number, -minus_cost))

    def _claim(self, now: float, submissions: int) -> None:
        workers = self.assumed.workers
        while (
            self.claimed < submissions
            and self.preparing < MAX_PREPARING
            and self.lanes < min(workers, MAX_CONCURRENT) + 1
            and len(self.waiting) < BACKLOG_PER_ACTOR * workers
        ):
            heapq.heappush(self.events, (now + self.assumed.prepare, "prepared", self.claimed, 0.0))
            self.claimed += 1
            self.lanes += 1
            self.preparing += 1
