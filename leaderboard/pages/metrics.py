"""Page: the board of metrics. How they agree with people and with each other, what each is, and where it goes wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gradio as gr

from datasets_build.errors import DivBenchError
from leaderboard.gss.figure import heat_map_of
from leaderboard.links import chosen, wire
from leaderboard.metrics.figures import agreement_map, correlation_map
from leaderboard.metrics.files import (
    MEASURED,
    PAIRS_FILE,
    STUDY_FILE,
    TEXTS_FILE,
    SetTexts,
    read_pairs,
    read_study,
    read_texts,
)
from leaderboard.metrics.pairs import PairStudy, blocks_of
from leaderboard.metrics.record import MEASURES, Agreement, MetricStudy
from leaderboard.metrics.study import systems_agreement
from leaderboard.metrics.tables import (
    about_study,
    agreement_sheet,
    correlations,
    described,
    disagreement_text,
    disagreements,
    pair_accuracies,
)
from leaderboard.pages.tradeoff import frame_of
from leaderboard.site import Site

LEAD = """A metric of diversity is worth what it agrees with: sets that people find diverse, sets made to be diverse,
prompts that leave more or less room. **None agrees with all of them.** Choose a metric to see what it is and where it
goes wrong."""
PAIRS = """### Prompt pairs

Of two prompts one leaves room for more different answers. The share of pairs that a metric orders rightly (GSSBench);
ties are wrong, chance is one half. The table has what others published, too."""
AGREE = """### Do they measure the same?

The rank correlation between every two metrics, over the same sets of responses or over the systems of a table."""
ONE = "### One metric"
NO_TEXTS = (
    "The texts of these sets are not at hand here: their licence is not known. divbench board metrics reads them."
)
CHOICES = ("measure", "over", "metric", "case")


@dataclass(frozen=True, slots=True)
class Studies:
    """What there is to show, and what could not be read."""

    study: MetricStudy | None
    pairs: PairStudy | None
    texts: dict[tuple[str, str], SetTexts]
    faults: list[str] = field(default_factory=list)


def load(folder: Path | None) -> Studies:
    """A study's files, those of the package where the folder has none; what is damaged is a fault, never an error."""
    faults: list[str] = []
    found: list[Any] = []
    for name, read in ((STUDY_FILE, read_study), (PAIRS_FILE, read_pairs), (TEXTS_FILE, read_texts)):
        own = None if folder is None else folder / name
        path = own if own is not None and own.exists() else MEASURED / name
        try:
            found.append(read(path) if path.exists() else None)
        except DivBenchError as error:
            found.append(None)
            faults.append(" ".join(str(error).split()))
    return Studies(found[0], found[1], found[2] or {}, faults)


def build(page: gr.Blocks, site: Site) -> None:
    """Correlations, accuracies, agreement, and one metric with its worst disagreements with people."""
    there = load(site.study)
    gr.Markdown(LEAD, elem_classes="lead")
    measure = gr.Dropdown([], label="Measure", elem_id="measure")
    plot = gr.Plot(show_label=False, elem_id="correlations-plot")
    shown = _table("The figure in numbers, with 95% intervals", "correlations")
    note = _note("note", 4)
    gr.Markdown(PAIRS)
    pair_plot = gr.Plot(show_label=False, elem_id="pairs-plot")
    pairs = _table("The figure in numbers", "pairs")
    gr.Markdown(AGREE)
    over = gr.Dropdown([], label="Over", elem_id="over")
    agree_plot = gr.Plot(show_label=False, elem_id="agreement-plot")
    agree = _table("The figure in numbers: Spearman's rho", "agreement")
    gr.Markdown(ONE)
    metric = gr.Dropdown([], label="Metric", elem_id="metric")
    about = gr.Dataframe(
        headers=["", ""], datatype="str", interactive=False, wrap=True, show_label=False, elem_id="about-metric"
    )
    worst = _table("Where it is farthest from people: the sets with the greatest difference in rank", "worst")
    case = gr.Dropdown([], label="Read one of them", elem_id="case")
    context = gr.Textbox("", label="What was asked, or went before", interactive=False, lines=2, elem_id="context")
    responses = gr.Dataframe(
        headers=["#", "response"],
        datatype="str",
        interactive=False,
        wrap=True,
        label="Responses",
        show_label=True,
        column_widths=[60, 900],
        elem_id="case-responses",
    )
    controls = dict(zip(CHOICES, (measure, over, metric, case), strict=True))
    outputs = [plot, shown, note, pair_plot, pairs, agree_plot, agree, about, worst, context, responses]

    def restore(asked: Mapping[str, str]) -> list[Any]:
        return _controls(there, _agreements(there, site), asked)

    def show(*values: Any) -> list[Any]:
        given = dict(zip(CHOICES, values, strict=True))
        return [
            *_correlations(there, given["measure"]),
            *_pairs(there.pairs),
            *_agreement(_agreements(there, site).get(given["over"])),
            *_metric(there, given["metric"], given["case"]),
        ]

    wire(page, controls, restore, show, outputs, cascade=("metric",))


def _table(label: str, name: str) -> Any:
    return gr.Dataframe(
        interactive=False,
        pinned_columns=1,
        max_height=520,
        buttons=["fullscreen", "copy"],
        label=label,
        show_label=True,
        elem_id=name,
    )


def _note(name: str, lines: int) -> Any:
    return gr.Textbox("", show_label=False, container=False, interactive=False, lines=lines, elem_id=name)


def _agreements(there: Studies, site: Site) -> dict[str, Agreement]:
    """What can be ranked, by a name for the address."""
    made = {f"sets:{each.group}": each for each in (there.study.agreements if there.study else [])}
    for board in site.now().boards:
        found = systems_agreement(board)
        if found is not None:
            made[f"systems:{board.name}"] = found
    return made


def _controls(there: Studies, agreements: Mapping[str, Agreement], asked: Mapping[str, str]) -> list[Any]:
    names = [each.name for each in there.study.metrics] if there.study else []
    known = (
        {name for each in there.study.tasks for result in each.results for name in result.measures}
        if there.study
        else set()
    )
    measures = [(text, name) for name, text in MEASURES.items() if name in known]
    over = [(f"{each.over}: {each.group}", name) for name, each in agreements.items()]
    metric = chosen(asked, "metric", names, names[0] if names else None)
    rows = disagreements(there.study, metric).shown if there.study and metric else ()
    cases = [
        (f"{row[0]}, {row[1]}: people {row[3]}, metric {row[5]} of {row[6]}", str(i)) for i, row in enumerate(rows)
    ]
    offered = [value for _, value in cases]
    return [
        gr.Dropdown(
            measures, value=chosen(asked, "measure", [m for _, m in measures], measures[0][1] if measures else None)
        ),
        gr.Dropdown(over, value=chosen(asked, "over", list(agreements), next(iter(agreements), None))),
        gr.Dropdown(names, value=metric),
        gr.Dropdown(cases, value=chosen(asked, "case", offered, offered[0] if offered else None), visible=bool(cases)),
    ]


def _correlations(there: Studies, measure: Any) -> list[Any]:
    faults = " ".join(there.faults)
    if there.study is None or measure not in MEASURES:
        return [gr.Plot(visible=False), gr.Dataframe(visible=False), faults or "There is no study of metrics here."]
    sheet = correlations(there.study, measure)
    return [
        gr.Plot(correlation_map(sheet), visible=True),
        frame_of(sheet),
        " ".join(filter(None, [about_study(there.study, measure), faults])),
    ]


def _pairs(study: PairStudy | None) -> list[Any]:
    if study is None:
        return [gr.Plot(visible=False), gr.Dataframe(visible=False)]
    kinds = [block.kind for block in study.blocks]
    drawn = [block for block, kind in zip(blocks_of(study), kinds, strict=True) if kind != "published"]
    return [gr.Plot(heat_map_of(drawn), visible=True), frame_of(pair_accuracies(study))]


def _agreement(found: Agreement | None) -> list[Any]:
    if found is None:
        return [gr.Plot(visible=False), gr.Dataframe(visible=False)]
    return [gr.Plot(agreement_map(found), visible=True), frame_of(agreement_sheet(found))]


def _metric(there: Studies, metric: Any, case: Any) -> list[Any]:
    if there.study is None or not isinstance(metric, str) or there.study.entry(metric) is None:
        return [
            gr.Dataframe(visible=False),
            gr.Dataframe(visible=False),
            gr.Textbox(visible=False),
            gr.Dataframe(visible=False),
        ]
    about = {"headers": ["what", "of this metric"], "data": [list(line) for line in described(metric, there.study)]}
    sheet = disagreements(there.study, metric)
    return [
        gr.Dataframe(value=about, visible=True, column_widths=[220, 900]),
        frame_of(sheet) if sheet.values else gr.Dataframe(visible=False),
        *_case(there, metric, case if sheet.values else None),
    ]


def _case(there: Studies, metric: str, case: Any) -> list[Any]:
    if there.study is None or not isinstance(case, str) or not case.isdecimal():
        return [gr.Textbox(visible=False), gr.Dataframe(visible=False)]
    found = disagreement_text(there.study, metric, int(case), there.texts)
    if found is None:
        return [gr.Textbox(NO_TEXTS, visible=True), gr.Dataframe(visible=False)]
    context, texts = found
    rows = [[str(place), text] for place, text in enumerate(texts, 1)]
    return [
        gr.Textbox(context, visible=True),
        gr.Dataframe(value={"headers": ["#", "response"], "data": rows}, visible=True),
    ]
