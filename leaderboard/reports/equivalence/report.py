"""The report of `divbench metrics classes`: equivalence classes by backend, for the terminal, Markdown and JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmark.analysis.equivalence_study import PATIENCES, BackendClasses, Choice, System, UtilityCurve
from benchmark.equivalence.agreement import Sensitivity
from divbench.core.tables import Block, Report, Styled, Table
from leaderboard.reports.metaeval.report import cell, most_frequent

LEGEND = (
    "distinct: mean number of equivalence classes. ARI: mean adjusted Rand index with the published classes; pair F1: "
    "F1 of the pairs of responses in one class. Intervals: 95%, bootstrap over prompts."
)


def report_of(
    systems: Sequence[System],
    found: Sequence[BackendClasses],
    orders: Mapping[str, Mapping[str, Sensitivity]],
    choices: Sequence[Choice],
    utilities: Sequence[UtilityCurve],
) -> Report:
    """Make the report on some backends.

    Args:
        orders: By backend and system, the sensitivity to the order of the responses.
        choices: Backends chosen on half of the prompts and evaluated on the other.
        utilities: Utility of each system whose submission has classes and qualities.
    """
    halves: list[Block] = [_summary(_choice_title(each), each.reported) for each in choices]
    curves: list[Block] = [_utilities(utilities)] if utilities else []
    summary: list[Block] = [_summary("All systems with published classes", found)]
    printed: list[Block] = []
    for each in found:
        printed.append(_systems(f"{each.backend}: {each.signature}", each))
        if each.rand_index is not None:
            printed.append(_summary("All systems with published classes", [each]))
    blocks = [_systems(each.backend, each, Styled(each.signature, "code")) for each in found]
    return Report(
        title="Equivalence classes",
        blocks=[LEGEND, *summary, *halves, *curves, *blocks],
        document={
            "utility": {each.system: each.utilities for each in utilities},
            "patience": PATIENCES,
            "backends": found,
            "choices": [replace(each, half=each.half + 1) for each in choices],
            "order": {name: _order_json(systems, each) for name, each in orders.items()},
        },
        printed=[*printed, *(_order_table(name, systems, each) for name, each in orders.items()), *halves, *curves],
    )


def _systems(title: str, found: BackendClasses, *notes: Styled) -> Table:
    """A row for each system."""
    rows = [
        (
            each.system,
            cell(each.distinct, interval=True),
            cell(each.published),
            cell(each.rand_index, interval=True),
            cell(each.pair_f1, interval=True),
            sum(each.unjudged.values()) or "",
        )
        for each in found.systems
    ]
    lacking = [
        f"{each.system}, prompts without classes: {most_frequent(each.unjudged)}"
        for each in found.systems
        if each.unjudged
    ]
    return Table(title, ("system", "distinct", "published", "ARI", "pair F1", "no classes"), rows, [*notes, *lacking])


def _summary(title: str, found: Sequence[BackendClasses]) -> Table:
    """A row for each backend, over all systems with published classes, the best first."""

    def ari(each: BackendClasses) -> float:
        return -1.0 if each.rand_index is None or each.rand_index.value is None else each.rand_index.value

    rows = []
    for each in sorted(found, key=ari, reverse=True):
        numbers = (each.rand_index, each.pair_f1, each.count_error, each.ranking)
        rows.append((each.backend, *(cell(one, interval=True) for one in numbers)))
    columns = ("backend", "ARI", "pair F1", "mean |distinct − published|", "ranking of systems (Spearman)")
    return Table(title, columns, rows)


def _order_table(name: str, systems: Sequence[System], found: Mapping[str, Sensitivity]) -> Table:
    """A row for each system: the effect of the order of its responses."""
    numbers = _order_json(systems, found)
    rows = [
        (system, *(f"{each[key]:.3f}" for key in ("distinct", "sd_of_a_prompt", "range_of_a_prompt", "rand_index")))
        for system, each in numbers.items()
    ]
    columns = ("system", "distinct over orders", "sd per prompt", "range per prompt", "ARI with the given order")
    orders = next(iter(found.values())).orders
    return Table(f"{name}: {orders} random orders of the responses", columns, rows)


def _order_json(systems: Sequence[System], found: Mapping[str, Sensitivity]) -> dict[str, dict[str, Any]]:
    return {
        system.name: {
            "orders": own.orders,
            "distinct": float(own.mean.mean()),
            "sd_of_a_prompt": float(own.sd.mean()),
            "range_of_a_prompt": float(np.mean(own.highest - own.lowest)),
            "rand_index": float(own.rand_index.mean()),
        }
        for system in systems
        for own in [found[system.name]]
    }


def _choice_title(found: Choice) -> str:
    where = f"chosen on half {found.half + 1}: {found.chosen} (ARI {found.chosen_on:.3f} there)"
    return f"{where}; all on half {2 - found.half}"


def _utilities(found: Sequence[UtilityCurve]) -> Table:
    """A system's utility by patience."""
    return Table(
        "Utility by the reader's patience p, from the classes and qualities in the submissions",
        ("system", *(f"p = {patience:g}" for patience in PATIENCES)),
        [(each.system, *map(str, each.utilities)) for each in found],
    )
