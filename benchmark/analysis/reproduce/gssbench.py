"""GSSBench (arXiv:2510.12699): tables 2 and A10.

The models' responses were not released, so accuracies cannot be recomputed. What can be checked is whether Table 2 is
the mean of A10, and whether A10's margins follow from its accuracies.
"""

from math import sqrt

from benchmark.analysis.reproduce.cells import Found, Made, Place, Published, cannot, recomputed
from benchmark.analysis.reproduce.inputs import Inputs

PAIRS = {"complement": 500, "factual_qa": 500, "random_choice": 500, "subset": 1800} | {
    "union": 3000,
    "intersection": 3000,
}
# Their margins are wider than the binomial ones, because pairs of one set are similar.
_CLUSTERED = ("union", "intersection")
MARGIN = " ±"


def macro_average(inputs: Inputs) -> Made:
    """Recompute Table 2: the unweighted mean over the six datasets of A10."""
    accuracy = {one.place: one.value for one in inputs.numbers("gssbench-a10")}
    return {
        (metric, model): recomputed(
            sum(accuracy[f"{dataset} {metric}", model] for dataset in PAIRS) / len(PAIRS), "the mean of A10's six rows"
        )
        for metric, model in (one.place for one in inputs.numbers("gssbench-2"))
    }


def half_width(accuracy: float, pairs: int) -> float:
    """Return half the width of a 95% interval for a share of independent pairs."""
    return 1.96 * sqrt(accuracy * (1 - accuracy) / pairs)


def by_dataset(inputs: Inputs) -> Made:
    """Recompute A10: margins from accuracies, assuming independent pairs."""
    rows = inputs.numbers("gssbench-a10")
    accuracy = {one.place: one.value for one in rows}
    return {one.place: _cell(one, accuracy) for one in rows}


def _cell(one: Published, accuracy: dict[Place, float]) -> Found:
    dataset = one.row.split()[0]
    if not one.column.endswith(MARGIN):
        return cannot("the models' responses were not released")
    if dataset in _CLUSTERED:
        return cannot("the margin counts pairs by set, and the sets' accuracies were not released")
    of = accuracy[one.row, one.column.removesuffix(MARGIN)]
    return recomputed(half_width(of, PAIRS[dataset]), f"1.96 √(p(1−p)/{PAIRS[dataset]})")
