"""The page of metrics: how they agree with people, with prompt pairs and with each other, and what each one is."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchmark.metrics import METRICS
from datasets_build.errors import DivBenchError
from leaderboard.board import Board
from leaderboard.figures.plots import shortened
from leaderboard.gss.figure import heat_map_of
from leaderboard.metrics.about import BY_FAMILY, FAMILIES
from leaderboard.metrics.figures import agreement_map, correlation_map
from leaderboard.metrics.files import MEASURED, PAIRS_FILE, STUDY_FILE, read_pairs, read_study
from leaderboard.metrics.pairs import PairStudy, blocks_of
from leaderboard.metrics.record import MEASURES, MetricStudy
from leaderboard.metrics.study import systems_agreement
from leaderboard.metrics.tables import (
    about_study,
    agreement_sheet,
    correlations,
    described,
    disagreements,
    pair_accuracies,
)
from leaderboard.static.board_pages import Made, Part
from leaderboard.static.render import Figure, Page, figure_script, table_of

METRICS_TITLE = "Metrics"
LEAD = (
    "A metric of diversity is worth what it agrees with: sets that people find diverse, sets made to be diverse, "
    "prompts that leave more or less room. None agrees with all of them."
)
PAIRS = (
    "Of two prompts one leaves room for more different answers. The share of pairs that a metric orders rightly "
    "(GSSBench); ties are wrong, chance is one half. The table has what others published, too."
)
AGREE = "The rank correlation between every two metrics, over the same sets of responses or the systems of a table."
_LETTERS = 300  # of what is wrong with a file
_Record = TypeVar("_Record", MetricStudy, PairStudy)
Figures = dict[str, Any]


def metrics_page(boards: Sequence[Board], folder: Path | None, file: str) -> Made:
    """The study of metrics as tables and figures, then every metric in words.

    Args:
        boards: Whose metrics are held against each other over systems.
        folder: Of a study; files that it has not are those of the package. A damaged one is said to be, on the page.
        file: Of the page.
    """
    faults: list[str] = []
    study = _found(folder, STUDY_FILE, read_study, faults)
    pairs = _found(folder, PAIRS_FILE, read_pairs, faults)
    figures: Figures = {}
    parts = [Part(said=tuple(faults))]
    parts += [] if study is None else _agreement_with_people(study, figures)
    parts += [] if pairs is None else [_pairs(pairs, figures)]
    parts += _agreement(boards, study, figures)
    for family, about in FAMILIES.items():
        title, _, said = about.partition(": ")
        parts.append(Part(title=title, text=(f"{said[0].upper()}{said[1:]}",)))
        parts += [_metric(name, study) for name in BY_FAMILY[family] if name in {metric.id for metric in METRICS}]
    if study is not None:
        known = {metric.id for metric in METRICS}
        parts += [_metric(entry.name, study) for entry in study.metrics if entry.name not in known]
    scripts = {f"figures/{name}.js": figure_script(name, figure) for name, figure in figures.items()}
    values = {"lead": (LEAD,), "parts": parts}
    page = Page(file, METRICS_TITLE, "plain.html", values, METRICS_TITLE, "", tuple(scripts), bool(scripts))
    return Made((page,), scripts)


def _found(folder: Path | None, name: str, read: Callable[[Path], _Record], faults: list[str]) -> _Record | None:
    """A file of the study's folder, else the one that ships here; None with a fault where it is damaged."""
    own = None if folder is None else folder / name
    path = own if own is not None and own.exists() else MEASURED / name
    try:
        return read(path) if path.exists() else None
    except DivBenchError as error:
        faults.append(f"{name}: not shown, {shortened(error.message.replace(str(path), name), _LETTERS)}")
        return None


def _agreement_with_people(study: MetricStudy, figures: Figures) -> list[Part]:
    known = {measure for task in study.tasks for result in task.results for measure in result.measures}
    made = []
    for measure, said in MEASURES.items():
        if measure not in known:
            continue
        sheet, name = correlations(study, measure), f"metrics-{measure}"
        title = f"{said[0].upper()}{said[1:]}"
        figure = figures[name] = correlation_map(sheet)
        alt = f"{title}, metrics by tasks as a heat map; the table has the same numbers."
        made.append(
            Part(
                title=title,
                figure=_drawn(name, figure, alt),
                said=(about_study(study, measure),),
                tables=(table_of(sheet, f"{name}-table", f"{title} [interval]"),),
            )
        )
    return made


def _pairs(study: PairStudy, figures: Figures) -> Part:
    kinds = [block.kind for block in study.blocks]
    ours = [block for block, kind in zip(blocks_of(study), kinds, strict=True) if kind != "published"]
    figure = None
    if ours:
        drawn = figures["metrics-pairs"] = heat_map_of(ours)
        figure = _drawn(
            "metrics-pairs", drawn, "Accuracy by split and metric as a heat map; the table has the numbers."
        )
    table = table_of(pair_accuracies(study), "metrics-pairs-table", "Share of prompt pairs ordered rightly")
    return Part(title="Prompt pairs", text=(PAIRS,), figure=figure, tables=(table,))


def _agreement(boards: Sequence[Board], study: MetricStudy | None, figures: Figures) -> list[Part]:
    found = [*(study.agreements if study else []), *filter(None, map(systems_agreement, boards))]
    made = [Part(title="Do they measure the same?", text=(AGREE,))] if found else []
    for number, agreement in enumerate(found, 1):
        name = f"metrics-agreement-{number}"
        drawn = figures[name] = agreement_map(agreement)
        over = f"over {agreement.over}: {shortened(agreement.group, 80)}"
        figure = _drawn(name, drawn, f"Rank correlation of metrics {over}, as a heat map; the table has the numbers.")
        made.append(
            Part(
                figure=figure, tables=(table_of(agreement_sheet(agreement), f"{name}-table", f"Spearman's rho {over}"),)
            )
        )
    return made


def _drawn(name: str, figure: Any, alt: str) -> Figure:
    return Figure(name, alt, int(figure.layout.height or 480))


def _metric(name: str, study: MetricStudy | None) -> Part:
    """A metric in words, and the sets on which it is farthest from people."""
    facts = [
        (what, line.removeprefix("• ")) for what, text in described(name, study) for line in text.splitlines() if line
    ]
    sheet = None if study is None else disagreements(study, name)
    caption = "Where it is farthest from people: the sets with the greatest difference in rank"
    tables = (table_of(sheet, f"{_slug(name)}-worst", caption),) if sheet is not None and sheet.values else ()
    return Part(title=name, facts=tuple(facts), tables=tables)


def _slug(name: str) -> str:
    """A metric's name as the pages use names; those of one's own have dots and colons."""
    return name.replace(":", "-").replace(".", "-")
