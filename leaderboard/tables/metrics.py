"""Tables of a metric study: agreement with people, with prompt pairs and between metrics."""

from collections.abc import Mapping, Sequence

from benchmark.metrics import FAMILIES, METRICS
from benchmark.metrics.metric import bounds_text
from divbench.core.errors import counted
from divbench.core.tables import Cell, Table, estimate_cell, number, number_cell
from leaderboard.data.board import Board
from leaderboard.data.metric_study.build import systems_agreement
from leaderboard.data.metric_study.files import SetTexts
from leaderboard.data.metric_study.pair_accuracies import COLUMNS, PairStudy
from leaderboard.data.metric_study.record import MEASURES, Agreement, Measure, MetricStudy, Number, Task
from leaderboard.tables.models import DIRECTIONS

_KNOWN = {metric.id: metric for metric in METRICS}
NOTHING = Number(None, None, None)
_LEAST = -2.0  # below any correlation, so that metrics without one come last


def measures_of(study: MetricStudy) -> tuple[Measure, ...]:
    """The measures that a study has, in the order of `MEASURES`."""
    known = {measure for task in study.tasks for result in task.results for measure in result.measures}
    return tuple(measure for measure in MEASURES if measure in known)


def agreements_of(study: MetricStudy | None, boards: Sequence[Board]) -> tuple[Agreement, ...]:
    """Rank agreement between metrics over the response sets of a study and over the systems of each board."""
    return (*(study.agreements if study else ()), *filter(None, map(systems_agreement, boards)))


def correlations(study: MetricStudy, measure: Measure) -> Table:
    """A measure of each metric, with intervals: its mean over tasks if there is one, then each task.

    One row per metric, the best mean first.
    """
    overall = {each.metric: each.measures[measure] for each in study.overall if measure in each.measures}
    tasks = _tasks_with(study, measure)
    cells = {task.name: {each.metric: each.measures.get(measure, NOTHING) for each in task.results} for task in tasks}
    shown = [each for each in study.metrics if any(each.name in found for found in cells.values())]
    values_of = {each.name: overall.get(each.name, NOTHING).value for each in shown}
    shown.sort(key=lambda each: -(_LEAST if (value := values_of[each.name]) is None else value))
    columns = {f"mean of {_averaged(study)} tasks": overall, **cells} if overall else cells
    rows = [
        (
            each.name,
            _KNOWN[each.name].family if each.name in _KNOWN else each.origin,
            *(estimate_cell(*found.get(each.name, NOTHING)) for found in columns.values()),
        )
        for each in shown
    ]
    return Table("", ("metric", "family", *columns), rows)


def _averaged(study: MetricStudy) -> int:
    """The number of tasks that means are over."""
    return max((each.tasks for each in study.overall), default=0)


def _tasks_with(study: MetricStudy, measure: Measure) -> list[Task]:
    """The tasks that have a measure: temperatures have no accuracy, and most sets no human scores."""
    return [task for task in study.tasks if any(measure in each.measures for each in task.results)]


def about_study(study: MetricStudy, measure: Measure) -> str:
    """The caption of the table of correlations."""
    tasks = _tasks_with(study, measure)
    sets = sum(task.evaluated for task in tasks)
    # A metric that was added by --merge may lack scores of sets that the others have.
    fewer = {
        each.metric
        for task in tasks
        for each in task.results
        if each.measures and sum(each.missing.values()) > task.sets - task.evaluated
    }
    ceilings = [task for task in tasks if task.noise_ceiling is not None and task.noise_ceiling.value is not None]
    lines = [
        f"{MEASURES[measure][0].upper()}{MEASURES[measure][1:]}, on {counted(len(tasks), 'task')} with "
        f"{counted(sets, 'response set')} (some are in several tasks), profile {study.profile}; ranges are "
        f"{study.level:.0%} intervals from {study.resamples:,} bootstrap resamples of contexts. Metrics that decrease "
        "with diversity are negated, so that higher is better in every column."
    ]
    if any(measure in each.measures for each in study.overall):
        lines.append(
            f"The mean is over the {_averaged(study)} tasks whose sets were made to be more or less diverse; their "
            "parts with human scores (_with_hds) and tasks with graded labels, such as temperatures, are not in it."
        )
    if fewer:
        names = ", ".join(each.name for each in study.metrics if each.name in fewer)
        lines.append(f"On fewer sets, because they lack scores of some: {names}, and metrics studied with them.")
    if measure == "human_spearman" and ceilings:
        said = ", ".join(f"{task.name} {number(task.noise_ceiling[0], 2)}" for task in ceilings if task.noise_ceiling)
        lines.append(f"Noise ceiling from disagreement between raters: {said}.")
    return " ".join(lines)


def pair_accuracies(study: PairStudy) -> Table:
    """The share of prompt pairs ordered correctly, by split and on average; one row per model and metric."""
    rows = [
        (
            block.title,
            row.metric,
            *(estimate_cell(*row.cells.get(name, NOTHING)) for name in COLUMNS),
            row.pairs,
        )
        for block in study.blocks
        for row in block.rows
    ]
    return Table("", ("model", "metric", *COLUMNS, "pairs"), rows)


def agreement_table(agreement: Agreement) -> Table:
    """The rank correlation between every two metrics."""
    rows: list[tuple[Cell, ...]] = [
        (name, *(number_cell(rho, number(rho, 2)) for rho in row))
        for name, row in zip(agreement.metrics, agreement.matrix(), strict=True)
    ]
    return Table("", ("metric", *agreement.metrics), rows)


def described(name: str, study: MetricStudy | None) -> tuple[tuple[str, str], ...]:
    """Describe a metric by headings and texts: its card, or the source of its scores if it is not in this package."""
    metric = _KNOWN.get(name)
    entry = study.entry(name) if study else None
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
    for task in study.tasks:
        for each in task.disagreements.get(metric, []):
            numbers = (each.human, each.human_rank, each.value, each.metric_rank, task.evaluated)
            rows.append((task.name, each.set_id, *(number_cell(value, f"{value:,.4g}") for value in numbers)))
    return Table("", headers, rows)


def disagreement_text(
    study: MetricStudy, metric: str, place: int, texts: Mapping[tuple[str, str], SetTexts]
) -> tuple[str, tuple[str, ...]] | None:
    """The context and responses of a row of `disagreements`; None if the study does not include its texts."""
    rows = [(task.name, each.set_id) for task in study.tasks for each in task.disagreements.get(metric, [])]
    return texts.get(rows[place]) if 0 <= place < len(rows) else None
