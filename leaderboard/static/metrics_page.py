"""The page Metrics: agreement with people, on prompt pairs and between metrics, and a card for each metric."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmark.metrics import FAMILIES, METRICS
from leaderboard.data.board import Board
from leaderboard.data.metric_study.files import GamingRecord, load_studies
from leaderboard.data.metric_study.pair_accuracies import PairStudy, drawn_blocks
from leaderboard.data.metric_study.record import MEASURES, MetricStudy
from leaderboard.figures.forest_table import trust_table
from leaderboard.figures.gss_heat_map import heat_map
from leaderboard.figures.heat_maps import agreement_map, correlation_map
from leaderboard.static.board_pages import Part, plain_page
from leaderboard.static.render import Figure, Page, StaticTable
from leaderboard.tables import metrics, page_text
from leaderboard.tables.trust import (
    dominated_sentence,
    fitted_sentence,
    released_sentence,
    trust_caption,
    trust_sentence,
    trusted,
    trusted_table,
)
from submissions.untrusted.plain_text import shortened

METRICS_TITLE = "Metrics"


def metrics_page(boards: Sequence[Board], folder: Path | None, file: str) -> Page:
    """The metric study as tables and figures, then a card for every metric.

    Args:
        boards: Boards whose metrics are compared over systems.
        folder: Folder of a study; the package's files replace missing ones. The page reports damaged files.
    """
    there = load_studies(folder)
    study, pairs = there.study, there.pairs
    parts = [Part(said=there.faults)]
    parts += [] if study is None else [_trust(study, there.gaming), *_agreement_with_people(study)]
    parts += [] if pairs is None else [_pairs(pairs)]
    parts += _agreement(boards, study)
    for family, about in FAMILIES.items():
        title, _, said = about.partition(": ")
        parts.append(Part(title=title, text=(f"{said[0].upper()}{said[1:]}",)))
        parts += [_metric(metric.id, study) for metric in METRICS if metric.family == family]
    if study is not None:
        known = {metric.id for metric in METRICS}
        parts += [_metric(entry.name, study) for entry in study.metrics if entry.name not in known]
    return plain_page(file, METRICS_TITLE, (page_text.METRICS,), parts)


def _trust(study: MetricStudy, gaming: GamingRecord | None) -> Part:
    """Which metric to trust: agreement with people beside the attacks that a metric rewards."""
    rows = trusted(study, gaming)
    table = StaticTable(trusted_table(rows), "metrics-trust", "Metrics that agree best with people")
    notes = (released_sentence(rows), dominated_sentence(study, gaming), fitted_sentence(study))
    forest = trust_table(rows, trust_sentence(rows, study, gaming), trust_caption(gaming))
    said = tuple(filter(None, notes))
    return Part(title="Which metric to trust", forest=forest, said=said, tables=(table,) if rows else ())


def _agreement_with_people(study: MetricStudy) -> list[Part]:
    made = []
    for measure in metrics.measures_of(study):
        said = MEASURES[measure]
        view, name = metrics.correlations(study, measure), f"metrics-{measure}"
        title = f"{said[0].upper()}{said[1:]}"
        alt = f"{title}, metrics by tasks as a heat map; the table has the same numbers."
        made.append(
            Part(
                title=title,
                figure=_drawn(name, correlation_map(view, measure), alt),
                said=(metrics.about_study(study, measure),),
                tables=(StaticTable(view, f"{name}-table", f"{title} [interval]"),),
            )
        )
    return made


def _pairs(study: PairStudy) -> Part:
    ours = drawn_blocks(study)
    figure = None
    if ours:
        alt = "Accuracy by split and metric as a heat map; the table has the same numbers."
        figure = _drawn("metrics-pairs", heat_map(ours), alt)
    table = StaticTable(
        metrics.pair_accuracies(study), "metrics-pairs-table", "Share of prompt pairs ordered correctly"
    )
    return Part(title="Prompt pairs", text=(page_text.PAIRS,), figure=figure, tables=(table,))


def _agreement(boards: Sequence[Board], study: MetricStudy | None) -> list[Part]:
    found = metrics.agreements_of(study, boards)
    made = [Part(title="Do metrics measure the same thing?", text=(page_text.AGREEMENT,))] if found else []
    for number, agreement in enumerate(found, 1):
        name = f"metrics-agreement-{number}"
        over = f"over {agreement.over}: {shortened(agreement.group, 80)}"
        alt = f"Rank correlation of metrics {over}, as a heat map; the table has the same numbers."
        figure = _drawn(name, agreement_map(agreement), alt)
        made.append(
            Part(
                figure=figure,
                tables=(StaticTable(metrics.agreement_table(agreement), f"{name}-table", f"Spearman's rho {over}"),),
            )
        )
    return made


def _drawn(name: str, figure: Any, alt: str) -> Figure:
    return Figure(name, alt, int(figure.layout.height or 480), figure, f"figures/{name}.js")


def _metric(name: str, study: MetricStudy | None) -> Part:
    """The card of a metric and its largest disagreements with people."""
    facts = [
        (what, line.removeprefix("• "))
        for what, text in metrics.described(name, study)
        for line in text.splitlines()
        if line
    ]
    view = None if study is None else metrics.disagreements(study, name)
    tables = (StaticTable(view, f"{_slug(name)}-worst", page_text.WORST),) if view is not None and view.rows else ()
    return Part(title=name, facts=tuple(facts), tables=tables)


def _slug(name: str) -> str:
    """A metric's name as an element id; names of external metrics contain dots and colons."""
    return name.replace(":", "-").replace(".", "-")
