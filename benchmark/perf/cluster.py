"""Scaling of scoring with the number of actors: `python -m benchmark.perf.cluster [--sets 2000]`.

Measured: one actor against two, each with one core, on the same shards, alternating in one run. A rate counts the
shards between the first table and the last, so start-up is reported separately; so is the time that the dispatching
process takes for a shard, including writing its file. All tables must be the same for both. Computed: an event
simulation of many workers (simulation.py) from the costs of the measured shards; or, with `--assume SECONDS`, from
shards with that mean cost, without measuring anything.
"""

import os
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.cluster.connection import Cluster
from benchmark.cluster.session import open_cluster
from benchmark.perf.memory import made_up_rows, made_up_suite
from benchmark.perf.script import option_parser, print_document
from benchmark.perf.simulation import Assumed, How, Simulated, simulate
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.shards import SHARD_PROMPTS, Shard
from divbench.core.tables import Table, to_markdown

PLANS: tuple[tuple[How, int, int], ...] = (  # how, shards a submission, submissions
    ("shards", 16, 1),
    ("shards", 152, 1),
    ("shards", 1024, 1),
    *(("submissions", 16, count) for count in (10, 100, 1_000, 10_000)),
    *(("queue", 16, count) for count in (10, 100, 1_000, 10_000)),
    *(("elastic", 16, count) for count in (1, 10, 100, 1_000, 10_000)),
)
NAMES: dict[How, str] = {
    "shards": "score --cluster",
    "submissions": "a worker a GPU",
    "queue": "worker --cluster",
    "elastic": "worker --cluster --elastic",
}


@dataclass(frozen=True, slots=True)
class Timed:
    """One run on a cluster."""

    start: float  # seconds from the call to the first table
    rest: float  # seconds from the first table to the last
    handing: float  # processor seconds of the dispatching process per shard
    costs: list[float]  # seconds between one table and the next; with one actor, the cost of each shard
    tables: dict[str, pa.Table]  # tables by the names of their shards


def shards_of(sets: int) -> list[Shard]:
    """Make shards of synthetic sets of ten short responses, as the scorer does."""
    suite = made_up_suite(sets)
    rows = list(made_up_rows(suite))
    places = [slice(i, i + SHARD_PROMPTS) for i in range(0, sets, SHARD_PROMPTS)]
    return [Shard(f"{at.start}", tuple(rows[at]), suite.prompts[at], (None,) * len(rows[at]), None) for at in places]


def timed(actors: int, backends: ScoringBackends, shards: Sequence[Shard]) -> Timed:
    """Time one run with a number of actors on this machine."""
    begun = perf_counter()
    ends, worked, tables = [], [], {}
    metrics = backends.profile.metrics()
    with (
        tempfile.TemporaryDirectory() as folder,
        open_cluster(Cluster(actors=actors), backends, metrics) as held,
    ):
        for shard, table in held.run(shards, metrics):
            ends.append(perf_counter())
            worked.append(process_time())
            tables[shard.name] = table
            pq.write_table(table, Path(folder) / f"{shard.name}.parquet", compression="zstd")
    handing = (worked[-1] - worked[0]) / (len(worked) - 1)
    return Timed(ends[0] - begun, ends[-1] - ends[0], handing, np.diff(ends).tolist(), tables)


def measure(backends: ScoringBackends, sets: int, rounds: int) -> dict[str, Any]:
    """Time one and two actors in turns; return seconds, also the processor's per shard (`handing`), and loads.

    Raises:
        ValueError: Their tables differ.
    """
    shards = shards_of(sets)
    before = os.getloadavg()[0]
    ones, twos = [], []
    for _ in range(rounds):
        ones.append(timed(1, backends, shards))
        twos.append(timed(2, backends, shards))
        if ones[-1].tables != twos[-1].tables:
            raise ValueError("one actor and two made different tables of the same shards")
    found: dict[str, Any] = {"sets": sets, "shards": len(shards), "costs": ones[-1].costs}
    for name, runs in (("one", ones), ("two", twos)):
        found[f"{name}_seconds"] = [each.rest for each in runs]  # from the first table to the last
        found[f"{name}_start"] = statistics.median(each.start for each in runs)
    found["ratio"] = statistics.median(found["one_seconds"]) / statistics.median(found["two_seconds"])
    found["handing"] = statistics.median(each.handing for each in (*ones, *twos))
    return found | {"load": (before, os.getloadavg()[0])}


def assumed_costs(mean: float) -> list[float]:
    """Draw the seconds of a thousand shards from a normal distribution with a standard deviation of 15%."""
    drawn = np.random.default_rng(0).normal(mean, 0.15 * mean, 1000).clip(0.1 * mean)
    made: list[float] = (drawn * (mean / drawn.mean())).tolist()
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, simulate and print."""
    parser = option_parser(__doc__)
    parser.add_argument("--profile", default="offline")
    parser.add_argument("--sets", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--assume", type=float, metavar="SECONDS", help="Mean cost of a shard; nothing is measured.")
    given = parser.parse_args(arguments)
    if given.assume is not None:
        print(_markdown(simulated(Assumed(assumed_costs(given.assume)))))
        return
    found = measure(ScoringBackends(find_profile(given.profile)), given.sets, given.rounds)
    runs = simulated(Assumed(found["costs"], start=found["one_start"], handing=found["handing"]))
    print_document({"measured": found, "simulated": [asdict(each) | {"by": NAMES[each.how]} for each in runs]})


def simulated(assumed: Assumed) -> list[Simulated]:
    """Simulate all of `PLANS`."""
    return [simulate(assumed, count, shards, how) for how, shards, count in PLANS]


def _markdown(runs: Sequence[Simulated]) -> str:
    numbers = ("workers", "seconds", "efficiency", "worker seconds per submission", "loading, seconds")
    rows = [
        (
            f"{run.submissions:,}",
            f"{run.shards:,}",
            NAMES[run.how],
            run.workers,
            f"{run.seconds:,.0f}",
            f"{run.efficiency:.0%}",
            f"{run.cost:,.0f}",
            f"{run.loading:,.0f}",
        )
        for run in runs
    ]
    return to_markdown(
        Table(
            "", ("submissions", "shards each", "by", *numbers), rows, numbers=("submissions", "shards each", *numbers)
        )
    )


if __name__ == "__main__":
    main()
