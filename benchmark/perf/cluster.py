"""How scoring grows with actors: `python -m benchmark.perf.cluster [--sets 2000]`.

First measured: one actor against two, each with one core, on the same shards, in turns in one run. A rate is of the
shards between the first table and the last, so what starting takes is told beside it and not in it. Every table must be
the same for both. Then computed: a simulation of many workers, event by event, from the costs of the measured shards.
"""

import argparse
import heapq
import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from time import perf_counter
from typing import Literal

import numpy as np
import pyarrow as pa

from benchmark.cluster import AHEAD, Cluster, run_on_cluster
from benchmark.instruments import Instruments
from benchmark.perf.memory import made_up_rows, made_up_suite
from benchmark.profiles import find_profile
from benchmark.scorer import SHARD_PROMPTS
from benchmark.shards import Shard

How = Literal["shards", "submissions"]


@dataclass(frozen=True, slots=True)
class Timed:
    """One run on a cluster.

    Attributes:
        start: Seconds from the call to the first table.
        rest: From there to the last table.
        costs: Between one table and the next, in seconds: of one actor, what each shard took.
        tables: By the names of their shards.
    """

    start: float
    rest: float
    costs: list[float]
    tables: dict[str, pa.Table]


@dataclass(frozen=True, slots=True)
class Scaling:
    """What was measured.

    Attributes:
        sets: Of K responses.
        shards: Of them.
        one_seconds: From the first table to the last, one a round.
        two_seconds: Likewise.
        one_start: Median seconds to the first table.
        two_start: Likewise.
        ratio: Of the medians.
        costs: Seconds a shard of one actor, in the last round.
    """

    sets: int
    shards: int
    one_seconds: list[float]
    two_seconds: list[float]
    one_start: float
    two_start: float
    ratio: float
    costs: list[float]


@dataclass(frozen=True, slots=True)
class Simulated:
    """What the simulation says of some submissions.

    Attributes:
        submissions: Of as many shards each.
        how: *shards*: one submission after the other, on all workers; *submissions*: each worker takes a whole one.
        seconds: Until all are done.
        efficiency: Of what all workers could have scored in that time, once they were up.
        cost: Seconds of workers, from their start until nothing is left for them, a submission.
    """

    submissions: int
    how: How
    seconds: float
    efficiency: float
    cost: float


def shards_of(sets: int) -> list[Shard]:
    """Made-up sets of ten short responses, as the scorer cuts them."""
    suite = made_up_suite(sets)
    rows = list(made_up_rows(suite))
    places = [slice(i, i + SHARD_PROMPTS) for i in range(0, sets, SHARD_PROMPTS)]
    return [Shard(f"{at.start}", tuple(rows[at]), suite.prompts[at], (None,) * len(rows[at]), None) for at in places]


def timed(actors: int, instruments: Instruments, shards: Sequence[Shard]) -> Timed:
    """One run with that many actors on this machine."""
    begun = perf_counter()
    ends, tables = [], {}
    for shard, table in run_on_cluster(Cluster(actors=actors), instruments, shards, instruments.profile.metrics()):
        ends.append(perf_counter())
        tables[shard.name] = table
    return Timed(ends[0] - begun, ends[-1] - ends[0], np.diff(ends).tolist(), tables)


def measure(instruments: Instruments, sets: int, rounds: int) -> Scaling:
    """One and two actors in turns.

    Raises:
        ValueError: Their tables differ.
    """
    shards = shards_of(sets)
    ones, twos = [], []
    for _ in range(rounds):
        ones.append(timed(1, instruments, shards))
        twos.append(timed(2, instruments, shards))
        if ones[-1].tables != twos[-1].tables:
            raise ValueError("one actor and two made different tables of the same shards")
    return Scaling(
        sets,
        len(shards),
        [each.rest for each in ones],
        [each.rest for each in twos],
        statistics.median(each.start for each in ones),
        statistics.median(each.start for each in twos),
        statistics.median(each.rest for each in ones) / statistics.median(each.rest for each in twos),
        ones[-1].costs,
    )


def simulate(
    costs: Sequence[float], submissions: int, *, shards: int, workers: int, start: float, handing: float, how: How
) -> Simulated:
    """So many submissions, each of shards whose costs are drawn from measured ones.

    Args:
        costs: Seconds of measured shards.
        submissions: To score.
        shards: Of each.
        workers: At once.
        start: Seconds until a worker is up; with *shards*, at the beginning of every submission.
        handing: Seconds that the one process that hands out takes for a shard; it does one after the other.
        how: See `Simulated`.
    """
    rng = np.random.default_rng(submissions)
    drawn = rng.choice(np.asarray(costs), size=(submissions, shards))
    if how == "shards":
        spans = [_one_submission(each.tolist(), workers, handing) for each in drawn]
        seconds = sum(span for span, _ in spans) + start * submissions
        held = sum(held for _, held in spans) + start * submissions * workers
        could = workers * (seconds - start * submissions)
    else:
        used = min(workers, submissions)
        free = [start] * used  # when each worker is
        for each in drawn:
            heapq.heappush(free, heapq.heappop(free) + float(each.sum()) + handing * shards)
        seconds, held = max(free), sum(free)
        could = workers * (seconds - start)
    return Simulated(submissions, how, seconds, float(drawn.sum()) / could, held / submissions)


def _one_submission(costs: list[float], workers: int, handing: float) -> tuple[float, float]:
    """Seconds until a submission's shards are done, and seconds of workers held; as `cluster` hands out."""
    coming, waiting = iter(costs), list[float]()
    free = [0.0] * workers
    hand = done = 0.0  # when the process that hands out is free, and when the last shard is done

    while True:
        for cost in islice(coming, AHEAD * workers - len(waiting)):
            heapq.heappush(waiting, -cost)
        if not waiting:
            return done, done * workers
        hand = max(hand, heapq.heappop(free)) + handing
        end = hand - heapq.heappop(waiting)
        heapq.heappush(free, end)
        done = max(done, end)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="offline")
    parser.add_argument("--sets", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=64, help="of the simulation")
    parser.add_argument("--handing", type=float, default=0.02, help="seconds to hand a shard out and write its table")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    given = parser.parse_args(arguments)
    found = measure(Instruments(find_profile(given.profile)), given.sets, given.rounds)
    plans: tuple[tuple[How, int, int], ...] = (
        ("shards", 16, 1),
        ("shards", 152, 1),
        ("shards", 1024, 1),
        *(("submissions", 16, count) for count in (10, 100, 1_000, 10_000)),
    )
    runs = [
        simulate(
            found.costs,
            count,
            shards=shards,
            workers=given.workers,
            start=found.one_start,
            handing=given.handing,
            how=how,
        )
        for how, shards, count in plans
    ]
    if given.json:
        print(json.dumps({"measured": asdict(found), "simulated": [asdict(each) for each in runs]}, indent=2))
        return
    print(f"{found.sets} sets in {found.shards} shards, profile {given.profile}")
    for name, each, start in (("one", found.one_seconds, found.one_start), ("two", found.two_seconds, found.two_start)):
        print(
            f"{name} actor(s): first table after {start:.1f} s, the rest in a median of {statistics.median(each):.1f} s"
        )
    print(f"ratio of the medians: {found.ratio:.2f}")
    print(f"computed: {given.workers} workers, a shard {statistics.mean(found.costs):.2f} s on average")
    for run, (_, shards, _) in zip(runs, plans, strict=True):
        print(
            f"{run.submissions:6} submissions of {shards:4} shards, by {run.how:11}: {run.seconds:11,.0f} s, "
            f"efficiency {run.efficiency:6.1%}, {run.cost:9,.1f} s of workers a submission"
        )


if __name__ == "__main__":
    main()
