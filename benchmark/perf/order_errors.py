"""Precision of balanced orders compared with uniform ones: `python -m benchmark.perf.order_errors --mirror DIR`.

For real response sets under a language model (the bundled one by default): the standard error of a_n and of the whole
a_k curve, in bits/byte, with Latin squares and with leave-one-out trees, over that with 50 uniform random orders. Sets
of five responses are read in all 120 orders, so the errors are exact; for sets of ten, they are estimated from many
random orders and many draws of each design.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.models.bundled_lm.spec import OFFLINE_LM
from benchmark.models.causal_lm import CausalLM
from benchmark.models.hf_lm import find_causal_lm_spec, load_causal_lm
from benchmark.perf.script import option_parser, print_document, usable_device
from benchmark.surprisal.engine import ResponseSet
from benchmark.surprisal.prompt_layout import Layout, lay_out
from benchmark.surprisal.response_orders import OrderDesign, balanced, endpoint, exact, nodes, uniform
from datasets_build.load import load_split

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
REFERENCE = 50  # uniform orders, as the published code reads Tevet's data
_RUN = 40  # orders read at once


def rates(model: CausalLM, given: ResponseSet, orders: Integers, layout: Layout) -> Floats:
    """Compute bits/byte at each position, [orders, n]."""
    counts = np.array([len(text.encode()) for text in given.responses])
    made = []
    for start in range(0, len(orders), _RUN):
        run = orders[start : start + _RUN].tolist()
        laid = lay_out(model, layout, given.prompt, [[given.responses[i] for i in order] for order in run])
        for order, each, bits in zip(run, laid, model.surprisals([one.sequence for one in laid]), strict=True):
            made.append(np.bincount(each.positions, weights=bits, minlength=len(counts)) / counts[order])
    return np.array(made)


# By name: its function of n, count and seed, and the count.
_DESIGNS: dict[str, tuple[Callable[[int, int, int], OrderDesign], int]] = {
    "balanced 1": (balanced, 1),
    "balanced 2": (balanced, 2),
    "balanced 4": (balanced, 4),
    "endpoint 1": (endpoint, 1),
}
Errors = dict[str, tuple[float, float]]
"""Standard errors of a_n and of the curve, by design."""


def _roots(variance: Floats) -> tuple[float, float]:
    """Standard errors of a_n and of the curve from the variance at each position."""
    return math.sqrt(float(variance[-1])), math.sqrt(float(variance.mean()))


def five(model: CausalLM, given: ResponseSet, layout: Layout, draws: int) -> Errors:
    """Compute the errors of each design for a set of five, from all 120 orders."""
    everything = exact(5).orders
    table = rates(model, given, everything, layout)
    place = {tuple(order): row for order, row in zip(everything.tolist(), table, strict=True)}
    made = {"uniform 50": _roots(table.var(axis=0) / REFERENCE)}
    for name, (design, count) in _DESIGNS.items():
        orders = [design(5, count, draw).orders.tolist() for draw in range(draws)]
        means = [np.array([place[tuple(order)] for order in of_draw]).mean(axis=0) for of_draw in orders]
        made[name] = _roots(((np.array(means) - table.mean(axis=0)) ** 2).mean(axis=0))
    return made


def ten(model: CausalLM, given: ResponseSet, layout: Layout, draws: int, random_orders: int) -> Errors:
    """Estimate the errors of each design for a set of ten, from many random orders and draws of each design.

    All orders are equally likely to be in a random square or tree, so a design's mean is that over all orders, and its
    error is the spread of its draws; no estimate of the truth is needed.
    """
    table = rates(model, given, uniform(10, random_orders, seed=1).orders, layout)
    made = {"uniform 50": _roots(table.var(axis=0, ddof=1) / REFERENCE)}
    for name in ("balanced 1", "balanced 2", "endpoint 1"):
        design, count = _DESIGNS[name]
        means = [rates(model, given, design(10, count, draw).orders, layout).mean(axis=0) for draw in range(draws)]
        made[name] = _roots(np.array(means).var(axis=0, ddof=1))
    return made


def rows(n: int, found: list[Errors]) -> list[dict[str, Any]]:
    """Return each design's errors over those of 50 uniform orders: ratio of root mean squares over sets, median ratio.

    `nodes` is the number of distinct prefixes that a model reads.
    """
    reference = np.array([each["uniform 50"] for each in found])
    ones = dict.fromkeys(("a_n", "a_n_median", "curve", "curve_median"), 1.0)
    made: list[dict[str, Any]] = [
        {"design": "uniform 50", "n": n, "orders": REFERENCE, "nodes": nodes(uniform(n, REFERENCE)), **ones}
    ]
    for name in [name for name in found[0] if name != "uniform 50"]:
        make, count = _DESIGNS[name]
        design = make(n, count, 0)
        values = np.array([each[name] for each in found])
        whole = np.sqrt((values**2).mean(axis=0) / (reference**2).mean(axis=0)).tolist()
        medians = np.median(values / reference, axis=0).tolist()
        row = {"design": name, "n": n, "orders": len(design.orders), "nodes": nodes(design)}
        row |= {"a_n": whole[0], "a_n_median": medians[0]}
        curve = (whole[1], medians[1]) if design.estimates == "curve" else (None, None)
        made.append(row | {"curve": curve[0], "curve_median": curve[1]})
    return made


def sets_of_five(mirror: Path, count: int) -> list[ResponseSet]:
    """Return evenly spaced sets of conTest's three tasks."""
    made = []
    for split in ("prompt_gen", "resp_gen", "story_gen"):
        table = load_split("contest", split, mirror=mirror).to_list()
        chosen = [row for row in table if all(row["responses"])]
        made += [
            ResponseSet(row["context"], tuple(row["responses"])) for row in chosen[:: -(-len(chosen) * 3 // count)]
        ]
    return made[:count]


def sets_of_ten(mirror: Path, count: int, long: int) -> list[tuple[ResponseSet, Layout]]:
    """Return evenly spaced sets of decTest's three tasks, and of OLMo's length-matched responses of all four stages."""
    tests = []
    for split in ("prompt_gen", "resp_gen", "story_gen"):
        tests += [row for row in load_split("dectest", split, mirror=mirror).to_list() if all(row["responses"])]
    stages = load_split("olmo_stages", "nbcurated_length_matched", mirror=mirror).to_list()
    short = [ResponseSet(row["context"], tuple(row["responses"])) for row in _spaced(tests, count)]
    rest = [ResponseSet(row["prompt"], tuple(row["responses"])) for row in _spaced(stages, long)]
    return [(each, Layout("completion")) for each in short] + [(each, Layout()) for each in rest]


def _spaced(rows: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    return rows[:: max(1, len(rows) // count)][:count] if count else []


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    parser = option_parser(__doc__, mirror=True)
    parser.add_argument("--model", help="Model: ORG/NAME@COMMIT or a folder; default: the bundled model.")
    parser.add_argument("--device", type=usable_device, default="cpu")
    parser.add_argument("--fives", type=int, default=60, help="Number of sets of five responses.")
    parser.add_argument("--tens", type=int, default=6, help="Number of sets of ten short responses.")
    parser.add_argument("--long", type=int, default=0, help="Number of sets of ten long responses; each takes minutes.")
    parser.add_argument("--draws", type=int, default=24, help="Number of draws of each design.")
    parser.add_argument("--random", type=int, default=500, help="Number of random orders of a set of ten.")
    given = parser.parse_args(arguments)
    if given.mirror is None:
        parser.error("released files are needed: give --mirror")
    model = load_causal_lm(find_causal_lm_spec(given.model, device=given.device) if given.model else OFFLINE_LM)
    made: list[dict[str, Any]] = []
    if given.fives:
        sets = sets_of_five(given.mirror, given.fives)
        layout = Layout("completion")
        made += rows(5, [five(model, each, layout, 200) for each in sets])
    if given.tens or given.long:
        pairs = sets_of_ten(given.mirror, given.tens, given.long)
        made += rows(10, [ten(model, each, layout, given.draws, given.random) for each, layout in pairs])
    print_document(made)


if __name__ == "__main__":
    main()
