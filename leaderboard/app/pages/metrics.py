"""Page Metrics: how far metrics agree with people and each other, how each is defined, and where it fails."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import gradio as gr

from divbench.core.tables import Table
from leaderboard.app import components
from leaderboard.app.asked import Asked
from leaderboard.app.permalinks import QUIET, chosen_or_first, wire
from leaderboard.data.live_results import LiveResults
from leaderboard.data.metric_study.study import MEASURES, Agreement, PairStudy, Studies
from leaderboard.figures.forest_table import trust_table
from leaderboard.figures.gss_heat_map import heat_map
from leaderboard.figures.heat_maps import agreement_map, correlation_map
from leaderboard.tables import metrics, page_text
from leaderboard.tables.trust import (
    dominated_sentence,
    fitted_sentence,
    released_sentence,
    trust_caption,
    trust_sentence,
    trusted,
)

NO_TEXTS = (
    "The responses of these sets are not included because their licence is unknown; divbench metrics study reads "
    "them from the released data."
)


def build(page: gr.Blocks, live: LiveResults) -> None:
    """Build the page: which metrics to trust, and the evidence in closed sections below."""
    there = live.studies
    gr.Markdown(page_text.METRICS, elem_classes="lead")
    gr.HTML(_trust(there), elem_id="trust", padding=False)
    with gr.Accordion("Agreement with people and labels, task by task", open=False, elem_id="by-task") as by_task:
        measure = gr.Dropdown([], label="Measure", elem_id="measure")
        plot = components.figure("correlations-plot")
        shown = components.table("Data of the figure, with 95% intervals", "correlations", pinned_columns=1)
        note = components.note("note", 4)
    with gr.Accordion(
        _pairs_title(there.pairs), open=bool(there.pairs and there.pairs.has_real_model), elem_id="by-pair"
    ):
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
        about = components.table("Definition", "about-metric", height=1200, wrap=True)
        worst = components.table(page_text.WORST, "worst", pinned_columns=1)
        case = gr.Dropdown([], label="Read a response set", elem_id="case")
        context = gr.Textbox("", label="Prompt or context", interactive=False, lines=2, elem_id="context")
        responses = components.table("Responses", "case-responses", wrap=True)
    outputs = [plot, shown, note, pair_plot, pairs, agree_plot, agree, about, worst, context, responses]

    def restore(asked: Asked) -> list[Any]:
        return _controls(there, _agreements(there, live), asked)

    def show(given: Mapping[str, Any]) -> list[Any]:
        return [
            *_correlations(there, given["measure"]),
            *_pairs(there.pairs),
            *_agreement(_agreements(there, live).get(given["over"])),
            *_metric(there, given["metric"], given["case"]),
        ]

    def unfolded(request: gr.Request) -> list[Any]:
        """Open the sections whose controls the permalink sets."""
        asked = set(request.query_params)
        return [gr.Accordion(open=bool(asked & names)) for names in ({"measure"}, {"over"}, {"metric", "case"})]

    page.load(unfolded, None, [by_task, between, details], queue=False, **QUIET)
    wire(page, live, (measure, over, metric, case), restore, show, outputs, cascade=("metric",))


def _trust(there: Studies) -> str:
    """Show the metrics that agree best with people, and how much attacks gain under them."""
    if there.study is None:
        return ""
    rows = trusted(there.study, there.gaming)
    sentence = trust_sentence(rows, there.study, there.gaming)
    said = (
        trust_caption(there.gaming),
        released_sentence(rows),
        dominated_sentence(there.study, there.gaming),
        fitted_sentence(there.study),
    )
    caption = " ".join(filter(None, said))
    made = trust_table(rows, sentence, caption, lambda name: f"metrics?{urlencode({'metric': name})}")
    return str(made)


def _pairs_title(study: PairStudy | None) -> str:
    """The heading of the section on prompt pairs, with the reason why it is closed."""
    real = study is None or study.has_real_model
    return "Prompt pairs (GSSBench)" + ("" if real else ": only the bundled model so far, near chance")


def _agreements(there: Studies, live: LiveResults) -> dict[str, Agreement]:
    """Agreements by their names in the address."""
    return {f"{each.over}:{each.group}": each for each in metrics.agreements_of(there.study, live.snapshot().boards)}


def _controls(there: Studies, agreements: Mapping[str, Agreement], asked: Asked) -> list[Any]:
    names = list(there.study.metrics) if there.study else []
    measures = [(MEASURES[name], name) for name in metrics.measures_of(there.study)] if there.study else []
    over = [(f"{each.over}: {each.group}", name) for name, each in agreements.items()]
    metric = chosen_or_first(asked, "metric", names)
    rows = metrics.disagreements(there.study, metric).texts if there.study and metric else ()
    cases = [
        (f"{row[0]}, {row[1]}: people {row[3]}, metric {row[5]} of {row[6]}", str(i)) for i, row in enumerate(rows)
    ]
    case = chosen_or_first(asked, "case", [value for _, value in cases])
    return [
        gr.Dropdown(measures, value=chosen_or_first(asked, "measure", [name for _, name in measures])),
        gr.Dropdown(over, value=chosen_or_first(asked, "over", list(agreements))),
        gr.Dropdown(names, value=metric, info=components.gone(asked, "metric", metric)),
        gr.Dropdown(cases, value=case, visible=bool(cases)),
    ]


def _correlations(there: Studies, measure: Any) -> list[Any]:
    faults = " ".join(there.faults)
    if there.study is None or measure not in MEASURES:
        return [components.drawn(None), components.no_table(), faults or "This board has no metric study."]
    view = metrics.correlations(there.study, measure)
    said = " ".join(filter(None, [metrics.about_study(there.study, measure), faults]))
    return [components.drawn(correlation_map(view, measure)), components.filled(view), said]


def _pairs(study: PairStudy | None) -> list[Any]:
    if study is None:
        return [components.drawn(None), components.no_table()]
    blocks = (*study.models, *study.references)
    return [components.drawn(heat_map(blocks) if blocks else None), components.filled(metrics.pair_accuracies(study))]


def _agreement(found: Agreement | None) -> list[Any]:
    if found is None:
        return [components.drawn(None), components.no_table()]
    return [components.drawn(agreement_map(found)), components.filled(metrics.agreement_table(found))]


def _metric(there: Studies, metric: Any, case: Any) -> list[Any]:
    if there.study is None or not isinstance(metric, str) or metric not in there.study.metrics:
        return [components.no_table(), components.no_table(), gr.Textbox(visible=False), components.no_table()]
    view = metrics.disagreements(there.study, metric)
    described = Table("", ("property", "value"), metrics.described(metric, there.study))
    return [
        components.filled(described, column_widths=[220, 900]),
        components.filled(view) if view.rows else components.no_table(),
        *_case(there, metric, case if view.rows else None),
    ]


def _case(there: Studies, metric: str, case: Any) -> list[Any]:
    if there.study is None or not isinstance(case, str) or not case.isdecimal():
        return [gr.Textbox(visible=False), components.no_table()]
    found = metrics.disagreement_text(there.study, metric, int(case))
    if found is None:
        return [gr.Textbox(NO_TEXTS, visible=True), components.no_table()]
    context, texts = found
    return [gr.Textbox(context, visible=True), components.filled(_numbered(texts), column_widths=[60, 900])]


def _numbered(texts: Sequence[str]) -> Table:
    return Table("", ("#", "response"), [(str(place), text) for place, text in enumerate(texts, 1)])
