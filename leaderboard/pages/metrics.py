"""Page Metrics: how far metrics agree with people and each other, how each is defined, and where it fails."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

import gradio as gr
import pandas as pd

from benchmark.metrics import FAMILIES, METRICS
from benchmark.metrics.metric import bounds_text
from benchmark.scoring.estimate import Estimate
from divbench.core.errors import counted
from divbench.core.tables import Cell, Table, estimate_cell, number, number_cell
from leaderboard.app import components
from leaderboard.app.components import Choices
from leaderboard.app.permalinks import QUIET, chosen_or_first, wire
from leaderboard.data.board import Board
from leaderboard.data.live_results import LiveResults
from leaderboard.data.metric_study.build import systems_agreement
from leaderboard.data.metric_study.study import (
    CORRELATIONS,
    MEASURES,
    NOISE_CEILING,
    OVERALL,
    PAIR_COLUMNS,
    UNSCORED,
    Agreement,
    MetricStudy,
    PairStudy,
    Studies,
)
from leaderboard.pages import page_text
from leaderboard.pages.accuracy import accuracy_section, best_accuracy
from leaderboard.pages.figures import DIVERGING, NAME, heat_map, inert
from leaderboard.pages.systems import DIRECTIONS
from leaderboard.pages.trust import trust_table

_METRICS = {metric.id: metric for metric in METRICS}
_MISSING = Estimate(None)
_NO_TEXTS = (
    "The responses of these sets are not included because their licence is unknown; divbench metrics study reads "
    "them from the released data."
)


def agreements_of(study: MetricStudy | None, boards: Sequence[Board]) -> dict[str, Agreement]:
    """Return rank agreement between metrics over a study's sets and each board's systems, by permalink name."""
    agreements = (*(study.agreements if study else ()), *filter(None, map(systems_agreement, boards)))
    return {f"{agreement.over}:{agreement.group}": agreement for agreement in agreements}


def correlations(study: MetricStudy, measure: str) -> Table:
    """Return a measure of each metric, the best mean first: its mean over tasks if there is one, then each task."""
    overall = study.measured(OVERALL, measure)
    tasks = {task: study.measured(task, measure) for task in study.tasks(measure)}
    shown = [metric for metric in study.metrics.values() if any(metric.name in column for column in tasks.values())]
    means = {metric.name: overall.get(metric.name, _MISSING).value for metric in shown}
    shown.sort(key=lambda metric: -(-2.0 if (mean := means[metric.name]) is None else mean))  # those without one last
    columns = {f"mean of {_averaged(study)} tasks": overall, **tasks} if overall else tasks
    rows = []
    for metric in shown:
        family = _METRICS[metric.name].family if metric.name in _METRICS else metric.origin
        rows.append((metric.name, family, *(_cell(column.get(metric.name, _MISSING)) for column in columns.values())))
    return Table("", ("metric", "family", *columns), rows)


def _cell(estimate: Estimate) -> Cell:
    return estimate_cell(estimate.value, estimate.low, estimate.high)


def _averaged(study: MetricStudy) -> int:
    """Return the number of tasks that means are over."""
    return study.counts("spearman").get(OVERALL, 0)


def about_study(study: MetricStudy, measure: str) -> str:
    """Describe the table of correlations."""
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
    """Return the share of prompt pairs ordered correctly, by split and on average; one row per model and metric."""
    rows = [
        (block.title, row.metric, *(_cell(row.cells.get(name, _MISSING)) for name in PAIR_COLUMNS), row.pairs)
        for block in study.blocks
        for row in block.rows
    ]
    return Table("", ("model", "metric", *PAIR_COLUMNS, "pairs"), rows)


def agreement_table(agreement: Agreement) -> Table:
    """Return the rank correlation between every two metrics."""
    rows: list[tuple[Cell, ...]] = [
        (name, *(number_cell(rho, number(rho, 2)) for rho in row))
        for name, row in zip(agreement.metrics, agreement.matrix, strict=True)
    ]
    return Table("", ("metric", *agreement.metrics), rows)


def table_map(table: Table, names: int, lowest: float = -1.0) -> Any:
    """Draw a table whose first columns are names, coloured by its values up to 1; the middle colour is chance level."""
    shown = 1 if len({row[0] for row in table.texts}) == len(table.texts) else names
    rows = [inert(", ".join(row[:shown]), NAME) for row in table.texts]
    values = [[v if isinstance(v, int | float) else None for v in row[names:]] for row in table.values]
    columns = [inert(name, NAME) for name in table.columns[names:]]
    colours = {"colorscale": DIVERGING, "zmin": lowest, "zmid": (lowest + 1.0) / 2, "zmax": 1.0}
    return heat_map(values, [row[names:] for row in table.texts], rows, columns, **colours)


def definition(name: str, study: MetricStudy) -> Table:
    """Describe a metric: its card, or the source of its scores if it is not in this package."""
    metric, entry = _METRICS.get(name), study.metrics.get(name)
    if metric is None:
        source = entry.signature if entry else "unknown"
        return Table("", ("property", "value"), [("Metric", name), ("Source of its scores", source)])
    parameters = ", ".join(f"{key} = {value}" for key, value in metric.parameters.items())
    rows = [
        ("Metric", f"{metric.id}, version {metric.version}: {metric.title}"),
        ("In one sentence", metric.summary),
        ("Formula", metric.formula + (f" ({parameters})" if parameters else "")),
        ("Known failures", "\n".join(f"• {failure}" for failure in metric.failures)),
        ("Unit, bounds, direction", f"{metric.unit}; {bounds_text(metric.bounds)}; {DIRECTIONS[metric.direction]}"),
        ("Family", FAMILIES[metric.family]),
        ("Source", metric.paper),
        ("Signature in this study, without the data", entry.signature)
        if entry
        else ("Agreement with people", "not measured"),
    ]
    return Table("", ("property", "value"), rows)


def disagreements(study: MetricStudy, metric: str) -> Table:
    """Return the response sets for which the ranks by the metric and by people differ most, task by task."""
    names = ["task", "set_id", "human", "human_rank", "value", "metric_rank", "sets"]
    rows: list[tuple[Cell, ...]] = [
        (task, set_id, *(number_cell(value, f"{value:,.4g}") for value in values))
        for task, set_id, *values in _disagreements(study, metric)[names].to_numpy().tolist()
    ]
    numbers = ("human score", "human rank", "metric value", "metric rank", "sets")
    return Table("", ("task", "response set", *numbers), rows)


def _disagreements(study: MetricStudy, metric: str) -> pd.DataFrame:
    return study.disagreements[study.disagreements.metric == metric]


def disagreement_text(study: MetricStudy, metric: str, index: int) -> tuple[str, tuple[str, ...]] | None:
    """Return the context and responses of a row of `disagreements`; None if the study does not include its texts."""
    ids = _disagreements(study, metric).set_id.to_list()
    return study.texts.get(ids[index]) if 0 <= index < len(ids) else None


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page: which metrics to trust, and the evidence in closed sections below."""
    studies = live.studies
    has_real_model = studies.pairs is None or studies.pairs.has_real_model
    note_on_pairs = "" if has_real_model else ": only the bundled model so far, near chance"
    trust = trust_table(studies.study, studies.gaming, _address) if studies.study else ""
    gr.Markdown(page_text.METRICS, elem_classes="lead")
    gr.HTML(str(trust), elem_id="trust", padding=False)
    wrong = gr.HTML("", elem_id="wrong", padding=False)
    with gr.Accordion("Agreement with people and labels, task by task", open=False, elem_id="by-task") as by_task:
        measure = gr.Dropdown([], label="Measure", elem_id="measure")
        plot = components.figure("correlations-plot")
        shown = components.table("Data of the figure, with 95% intervals", "correlations", pinned_columns=1)
        note = components.note("note", 4)
    with gr.Accordion(f"Prompt pairs (GSSBench){note_on_pairs}", open=has_real_model, elem_id="by-pair"):
        gr.Markdown(page_text.PAIRS)
        pair_plot = components.figure("pairs-plot")
        pairs = components.table("Data of the figure", "pairs", pinned_columns=1)
    with gr.Accordion("Do metrics measure the same thing?", open=False, elem_id="between") as between:
        gr.Markdown(page_text.AGREEMENT)
        over = gr.Dropdown([], label="Agreement over", elem_id="over")
        agree_plot = components.figure("agreement-plot")
        agree = components.table("Data of the figure: Spearman's rho", "agreement", pinned_columns=1)
    with gr.Accordion("One metric: definition, failures, disagreements", open=False, elem_id="details") as details:
        metric = gr.Dropdown([], label="Metric", elem_id="metric")
        about = components.table("Definition", "about-metric", height=1200)
        worst = components.table(page_text.WORST, "worst", pinned_columns=1)
        case = gr.Dropdown([], label="Read a response set", elem_id="case")
        context = gr.Textbox("", label="Prompt or context", interactive=False, lines=2, elem_id="context")
        responses = components.table("Responses", "case-responses")

    def show(choices: Mapping[str, Any]) -> list[Any]:
        boards = live.snapshot().boards
        agreement = agreements_of(studies.study, boards).get(choices["over"])
        return [
            str(accuracy_section(best_accuracy(boards), studies.gaming)),
            *_correlations(studies, choices["measure"]),
            *_figure_and_table(pair_accuracies(studies.pairs) if studies.pairs else None, 2, 0.0),
            *_figure_and_table(agreement_table(agreement) if agreement else None),
            *_metric(studies.study, choices["metric"], choices["case"]),
        ]

    def unfolded(request: gr.Request) -> list[Any]:
        """Open the sections whose controls the permalink sets."""
        names = set(request.query_params)
        return [gr.Accordion(open=bool(names & controls)) for controls in ({"measure"}, {"over"}, {"metric", "case"})]

    page.load(unfolded, None, [by_task, between, details], queue=False, **QUIET)
    outputs = [wrong, plot, shown, note, pair_plot, pairs, agree_plot, agree, about, worst, context, responses]
    wire(page, live, (measure, over, metric, case), partial(_controls, live), show, outputs, cascade=("metric",))


def _address(metric: str) -> str:
    return f"metrics?{urlencode({'metric': metric})}"


def _controls(live: LiveResults, choices: Choices) -> list[Any]:
    study = live.studies.study
    agreements = agreements_of(study, live.snapshot().boards)
    names = list(study.metrics) if study else []
    measures = [(label, name) for name, label in MEASURES.items() if study and study.tasks(name)]
    metric = chosen_or_first(choices, "metric", names)
    rows = disagreements(study, metric).texts if study and metric else ()
    cases = [
        (f"{row[0]}, {row[1]}: people {row[3]}, metric {row[5]} of {row[6]}", str(i)) for i, row in enumerate(rows)
    ]
    return [
        gr.Dropdown(measures, value=chosen_or_first(choices, "measure", [name for _, name in measures])),
        gr.Dropdown(
            [(f"{agreement.over}: {agreement.group}", name) for name, agreement in agreements.items()],
            value=chosen_or_first(choices, "over", list(agreements)),
        ),
        gr.Dropdown(names, value=metric, info=components.missing_hint(choices, "metric", metric)),
        gr.Dropdown(cases, value=chosen_or_first(choices, "case", [value for _, value in cases]), visible=bool(cases)),
    ]


def _correlations(studies: Studies, measure: Any) -> list[Any]:
    faults = " ".join(studies.faults)
    if studies.study is None or measure not in MEASURES:
        return [components.drawn(None), components.no_table(), faults or "This board has no metric study."]
    table = correlations(studies.study, measure)
    about = f"{about_study(studies.study, measure)} {faults}".strip()
    return [*_figure_and_table(table, 2, -1.0 if measure in CORRELATIONS else 0.0), about]


def _figure_and_table(table: Table | None, names: int = 1, lowest: float = -1.0) -> list[Any]:
    if table is None or not table.rows:
        return [components.drawn(None), components.no_table()]
    return [components.drawn(table_map(table, names, lowest)), components.filled(table)]


def _metric(study: MetricStudy | None, metric: Any, case: Any) -> list[Any]:
    if study is None or not isinstance(metric, str) or metric not in study.metrics:
        return [components.no_table(), components.no_table(), gr.Textbox(visible=False), components.no_table()]
    worst = disagreements(study, metric)
    return [
        components.filled(definition(metric, study), column_widths=[220, 900]),
        components.filled(worst) if worst.rows else components.no_table(),
        *_case(study, metric, case if worst.rows else None),
    ]


def _case(study: MetricStudy, metric: str, case: Any) -> list[Any]:
    if not isinstance(case, str) or not case.isdecimal():
        return [gr.Textbox(visible=False), components.no_table()]
    texts = disagreement_text(study, metric, int(case))
    if texts is None:
        return [gr.Textbox(_NO_TEXTS, visible=True), components.no_table()]
    context, responses = texts
    rows = [(str(i), text) for i, text in enumerate(responses, 1)]
    table = components.filled(Table("", ("#", "response"), rows), column_widths=[60, 900])
    return [gr.Textbox(context, visible=True), table]
