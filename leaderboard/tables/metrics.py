"""Tables of a metric study: agreement with people, with prompt pairs and between metrics."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from benchmark.metrics import FAMILIES, METRICS
from benchmark.metrics.metric import bounds_text
from benchmark.scoring.estimate import Estimate
from divbench.core.errors import counted
from divbench.core.tables import Cell, Table, estimate_cell, number, number_cell
from leaderboard.data.board import Board
from leaderboard.data.metric_study.build import systems_agreement
from leaderboard.data.metric_study.study import (
    MEASURES,
    NOISE_CEILING,
    OVERALL,
    PAIR_COLUMNS,
    UNSCORED,
    Agreement,
    MetricStudy,
    PairStudy,
)
from leaderboard.tables.models import DIRECTIONS

_KNOWN = {metric.id: metric for metric in METRICS}
NOTHING = Estimate(None)
_LEAST = -2.0  # below any correlation, so that metrics without one come last


def measures_of(study: MetricStudy) -> tuple[str, ...]:
    """The measures that a study has, in the order of `MEASURES`."""
    return tuple(measure for measure in MEASURES if study.tasks(measure))


def agreements_of(study: MetricStudy | None, boards: Sequence[Board]) -> tuple[Agreement, ...]:
    """Rank agreement between metrics over the response sets of a study and over the systems of each board."""
    return (*(study.agreements if study else ()), *filter(None, map(systems_agreement, boards)))


def correlations(study: MetricStudy, measure: str) -> Table:
    """A measure of each metric, with intervals: its mean over tasks if there is one, then each task.

    One row per metric, the best mean first.
    """
    overall = study.measured(OVERALL, measure)
    cells = {task: study.measured(task, measure) for task in study.tasks(measure)}
    shown = [metric for metric in study.metrics.values() if any(metric.name in column for column in cells.values())]
    values_of = {metric.name: overall.get(metric.name, NOTHING).value for metric in shown}
    shown.sort(key=lambda metric: -(_LEAST if (value := values_of[metric.name]) is None else value))
    columns = {f"mean of {_averaged(study)} tasks": overall, **cells} if overall else cells
    rows = []
    for metric in shown:
        numbers = [column.get(metric.name, NOTHING) for column in columns.values()]
        family = _KNOWN[metric.name].family if metric.name in _KNOWN else metric.origin
        rows.append((metric.name, family, *(estimate_cell(each.value, each.low, each.high) for each in numbers)))
    return Table("", ("metric", "family", *columns), rows)


def _averaged(study: MetricStudy) -> int:
    """The number of tasks that means are over."""
    return study.counts("spearman").get(OVERALL, 0)


def about_study(study: MetricStudy, measure: str) -> str:
    """The caption of the table of correlations."""
    tasks, evaluated, sets = study.tasks(measure), study.counts(measure), study.counts(UNSCORED)
    # A metric that was added to an earlier study may lack scores of sets that the others have.
    fewer = {
        metric
        for task in tasks
        for metric, count in study.measured(task, UNSCORED).items()
        if (count.value or 0) > sets[task] - evaluated[task]
    }
    ceilings = {task: study.measured(task, NOISE_CEILING)[""].value for task in study.tasks(NOISE_CEILING)}
    settings = study.settings
    lines = [
        f"{MEASURES[measure][0].upper()}{MEASURES[measure][1:]}, on {counted(len(tasks), 'task')} with "
        f"{counted(sum(evaluated[task] for task in tasks), 'response set')} (some are in several tasks), profile "
        f"{settings['profile']}; ranges are {settings['level']:.0%} intervals from {settings['resamples']:,} bootstrap "
        "resamples of contexts. Metrics that decrease with diversity are negated, so that higher is better in every "
        "column."
    ]
    if study.measured(OVERALL, measure):
        lines.append(
            f"The mean is over the {_averaged(study)} tasks whose sets were made to be more or less diverse; their "
            "parts with human scores (_with_hds) and tasks with graded labels, such as temperatures, are not in it."
        )
    if fewer:
        names = ", ".join(name for name in study.metrics if name in fewer)
        lines.append(f"On fewer sets, because they lack scores of some: {names}, and metrics studied with them.")
    if measure == "human_spearman" and ceilings:
        known = ", ".join(f"{task} {number(value, 2)}" for task, value in ceilings.items() if value is not None)
        lines.append(f"Noise ceiling from disagreement between raters: {known}.")
    return " ".join(lines)


def pair_accuracies(study: PairStudy) -> Table:
    """The share of prompt pairs ordered correctly, by split and on average; one row per model and metric."""
    rows = []
    for block in study.blocks:
        for row in block.rows:
            numbers = [row.cells.get(name, NOTHING) for name in PAIR_COLUMNS]
            cells = (estimate_cell(each.value, each.low, each.high) for each in numbers)
            rows.append((block.title, row.metric, *cells, row.pairs))
    return Table("", ("model", "metric", *PAIR_COLUMNS, "pairs"), rows)


def agreement_table(agreement: Agreement) -> Table:
    """The rank correlation between every two metrics."""
    rows: list[tuple[Cell, ...]] = [
        (name, *(number_cell(rho, number(rho, 2)) for rho in row))
        for name, row in zip(agreement.metrics, agreement.matrix, strict=True)
    ]
    return Table("", ("metric", *agreement.metrics), rows)


def described(name: str, study: MetricStudy | None) -> tuple[tuple[str, str], ...]:
    """Describe a metric by headings and texts: its card, or the source of its scores if it is not in this package."""
    metric = _KNOWN.get(name)
    entry = study.metrics.get(name) if study else None
    if metric is None:
        return (("Metric", name), ("Source of its scores", entry.signature if entry else "unknown"))
    parameters = ", ".join(f"{key} = {value}" for key, value in metric.parameters.items())
    lines = [
        ("Metric", f"{metric.id}, version {metric.version}: {metric.title}"),
        ("In one sentence", metric.summary),
        ("Formula", metric.formula + (f" ({parameters})" if parameters else "")),
        ("Known failures", "\n".join(f"• {failure}" for failure in metric.failures)),
        (
            "Unit, bounds, direction",
            f"{metric.unit}; {bounds_text(metric.bounds)}; {DIRECTIONS[metric.direction]}",
        ),
        ("Family", FAMILIES[metric.family]),
        ("Source", metric.paper),
    ]
    if entry is not None:
        lines.append(("Signature in this study, without the data", entry.signature))
    elif study is not None:
        lines.append(("Agreement with people", "not measured"))
    return tuple(lines)


def disagreements(study: MetricStudy, metric: str) -> Table:
    """The response sets for which the ranks by the metric and by people differ most, task by task."""
    headers = ("task", "response set", "human score", "human rank", "metric value", "metric rank", "sets")
    rows: list[tuple[Cell, ...]] = []
    row: Any
    for row in _disagreements(study, metric).itertuples():
        numbers = (row.human, row.human_rank, row.value, row.metric_rank, row.sets)
        rows.append((row.task, row.set_id, *(number_cell(value, f"{value:,.4g}") for value in numbers)))
    return Table("", headers, rows)


def _disagreements(study: MetricStudy, metric: str) -> pd.DataFrame:
    return study.disagreements[study.disagreements.metric == metric]


def disagreement_text(study: MetricStudy, metric: str, place: int) -> tuple[str, tuple[str, ...]] | None:
    """The context and responses of a row of `disagreements`; None if the study does not include its texts."""
    ids = _disagreements(study, metric).set_id.to_list()
    return study.texts.get(ids[place]) if 0 <= place < len(ids) else None
