"""How classes look in a terminal and in Markdown."""

from collections.abc import Sequence

import numpy as np
from rich.console import Console

from benchmark.analysis.equivalence_study import PATIENCES, BackendClasses, Choice, System, UtilityCurve
from benchmark.equivalence.agreement import Sensitivity
from leaderboard.reports.metaeval.printing import cell, markdown_table, print_table

LEGEND = (
    "distinct: mean number of classes. ARI: mean adjusted Rand index with the published classes; pair F1: of answers "
    "that are together. Intervals: 95%, bootstrap over prompts."
)


def rows_of(found: BackendClasses) -> tuple[list[str], list[list[str]]]:
    """Head and rows: a line a system."""
    head = ["system", "distinct", "published", "ARI", "pair F1", "no classes"]
    rows = [
        [
            each.system,
            cell(each.distinct, interval=True),
            cell(each.published),
            cell(each.rand_index, interval=True),
            cell(each.pair_f1, interval=True),
            str(sum(each.unjudged.values()) or ""),
        ]
        for each in found.systems
    ]
    return head, rows


def summary_rows(found: Sequence[BackendClasses]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: a line a backend, over all systems with published classes; the best first."""
    head = ["backend", "ARI", "pair F1", "mean |difference of distinct|", "ranking of systems (Spearman)"]

    def ari(each: BackendClasses) -> float:
        return -1.0 if each.rand_index is None or each.rand_index.value is None else each.rand_index.value

    ordered = sorted(found, key=ari, reverse=True)
    rows = [
        [
            each.backend,
            *(cell(x, interval=True) for x in (each.rand_index, each.pair_f1, each.count_error, each.ranking)),
        ]
        for each in ordered
    ]
    return head, rows


def print_backend(found: BackendClasses, console: Console) -> None:
    """A backend's table."""
    print_table(f"{found.backend}: {found.signature}", *rows_of(found), console)
    if found.rand_index is not None:
        print_table("over all of them", *summary_rows([found]), console)


def print_sensitivity(name: str, systems: Sequence[System], found: dict[str, Sensitivity], console: Console) -> None:
    """What the order of the answers does."""
    rows = [
        [
            system.name,
            f"{np.mean(own.mean):.3f}",
            f"{np.mean(own.sd):.3f}",
            f"{np.mean(own.highest - own.lowest):.3f}",
            f"{np.mean(own.rand_index):.3f}",
        ]
        for system in systems
        for own in [found[system.name]]
    ]
    head = ["system", "distinct over orders", "sd of a prompt", "range of a prompt", "ARI with the given order"]
    orders = next(iter(found.values())).orders
    print_table(f"{name}: {orders} random orders of the answers", head, rows, console)


def choice_title(found: Choice) -> str:
    """What was chosen, and where."""
    where = f"chosen on half {found.half + 1}: {found.chosen} (ARI {found.chosen_on:.3f} there)"
    return f"{where}; all on half {2 - found.half}"


def print_choice(found: Choice, console: Console) -> None:
    """A choice's table."""
    print_table(choice_title(found), *summary_rows(found.reported), console)


def utility_rows(found: Sequence[UtilityCurve]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: a system's utility by patience."""
    head = ["system", *(f"p = {patience:g}" for patience in PATIENCES)]
    return head, [[each.system, *(cell(one, interval=True) for one in each.utilities)] for each in found]


_UTILITIES = "utility by the reader's patience p, from the classes and qualities that came with the submissions"


def print_utilities(found: Sequence[UtilityCurve], console: Console) -> None:
    """The curves of utility."""
    print_table(_UTILITIES, *utility_rows(found), console)


def as_markdown(
    found: Sequence[BackendClasses], choices: Sequence[Choice], utilities: Sequence[UtilityCurve] = ()
) -> str:
    """All tables."""
    parts = [
        "# Classes of answers",
        LEGEND,
        "## All systems with published classes",
        markdown_table(*summary_rows(found)),
    ]
    for choice in choices:
        parts += [f"### {choice_title(choice)}", markdown_table(*summary_rows(choice.reported))]
    if utilities:
        parts += [f"## {_UTILITIES[0].upper()}{_UTILITIES[1:]}", markdown_table(*utility_rows(utilities))]
    for each in found:
        parts += [f"## {each.backend}", f"`{each.signature}`", markdown_table(*rows_of(each))]
    return "\n\n".join(parts) + "\n"
