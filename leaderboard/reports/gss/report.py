"""The report of `divbench metrics gss`: pair accuracies by model and metric, in every format."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from benchmark.analysis.estimate import Estimate
from benchmark.analysis.gss.accuracy import BALANCED, HALF, MEAN, MISSING, TIES, Block, GssStudy, Row
from benchmark.analysis.metaeval.prompt_pairs import PairComparison, PairEvaluation
from benchmark.scoring.resampling import LEVEL
from datasets_build.gssbench import SPLITS
from divbench.core import tables
from divbench.core.errors import need
from divbench.core.tables import Cell, Report, Styled, Table, p_value
from leaderboard.figures.plots import CLEAR, DIVERGING, FONT, inert
from leaderboard.reports.metaeval.report import cell

SHORT = {"complement": "compl.", "factualqa": "factual", "random_choice": "choice", "intersection": "inters."}
_OVERALL = {
    "mean_of_splits": "mean of splits",
    "pair_weighted": "pair-weighted",
    "length_balanced": "length-balanced",
}
_N = "n"
_PARTS = {split: SHORT.get(split, split) for split in SPLITS} | {MEAN: "mean", BALANCED: "balanced"}  # part: heading
_PARTS |= {part: part for part in (HALF, TIES, MISSING, _N)}
# For a terminal too narrow for one table: the parts of each of two tables, and the parts shown with intervals.
_NARROW = (((*SPLITS, MEAN), ()), ((MEAN, BALANCED, HALF, TIES, MISSING, _N), (MEAN,)))


def report_of(study: GssStudy, console: Console) -> Report:
    """The report of a study, its printed tables as wide as the console allows."""
    blocks: list[tables.Block] = [legend(study)]
    printed: list[tables.Block] = []
    for block in filter(lambda each: each.rows, study.blocks):  # a model may have no rows; the notes say why
        below = []
        if block.model is not None and block.model.comparisons:
            below.append(_differences(f"Difference from {study.against}", block.model.comparisons))
        blocks += [_table(block, block.title, notes=[block.beneath]), *below]
        printed += [block.title, Styled(block.beneath, "dim"), *_that_fit(block, console), *below]
    return Report(
        title="GSSBench: pair accuracy",
        blocks=[*blocks, *notes(study)],
        document=study.as_json(),
        printed=[*printed, legend(study), *(Styled(note, "yellow") for note in notes(study))],
        records=_records(study),
    )


def legend(study: GssStudy) -> str:
    """How to read the numbers."""
    backends = dict.fromkeys(each.equivalence for each in study.models if each.equivalence is not None)
    used = f" Equivalence backend: {'; '.join(backends)}." if backends else ""
    return (
        "Accuracy: share of pairs whose prompt with the larger generation space has the strictly more diverse "
        "responses; chance is .5. Ties are wrong, as published; half: a tie counts half. A pair with a missing score "
        "is wrong as well; n: pairs with both scores. Mean: of the six splits, the published overall accuracy. "
        "Balanced: mean over the splits whose longer prompt has the larger space and over those whose shorter prompt "
        f"has it, so that length alone gets .5. Intervals: {LEVEL:.0%}, bootstrap over the sets of pairs. "
        f"Bold: the highest mean of a model.{used}"
    )


def notes(study: GssStudy) -> list[str]:
    """Return a line for each group of numbers that are not comparable or missing."""
    made = []
    if differing := study.differing:
        made.append(
            "Accuracies of different models are not comparable where k, the profile or the equivalence backend "
            f"differs: {', '.join(differing)}"
        )
    for each in study.models:
        made += [f"{each.model.name}: {line}" for line in each.model.missing_lines]
        if study.against is not None and not each.comparisons:
            made.append(f"{each.model.name}: nothing to compare with {study.against}")
    return made


def _table(
    block: Block,
    title: str = "",
    parts: Iterable[str] = tuple(_PARTS),
    intervals: Collection[str] = (*SPLITS, MEAN, BALANCED),
    notes: Sequence[str] = (),
) -> Table:
    """The rows of a block."""
    rows = [
        {part: cell(found, part in intervals) for part, found in row.cells.items()}
        | ({} if row.pairs is None else {_N: f"{row.pairs:,}"})
        for row in block.rows
    ]
    there = [part for part in parts if any(part in row for row in rows)]

    def shown(row: Row, own: dict[str, str], part: str) -> Cell:
        text = own.get(part, "-")
        return Styled(text, "bold") if row.best and part == MEAN else text

    lines = [
        [row.metric, *(shown(row, own, part) for part in there)] for row, own in zip(block.rows, rows, strict=True)
    ]
    return Table(title, ["metric", *(_PARTS[part] for part in there)], lines, notes)


def _that_fit(block: Block, console: Console) -> list[Table]:
    """One table with the intervals of the means, or two narrower ones where the console is too narrow for it."""
    whole = _table(block, intervals=(MEAN, BALANCED))
    rendered = tables.to_terminal(whole, break_numbers=False)
    if console.measure(rendered, options=console.options.update(width=10_000)).maximum <= console.width:
        return [whole]
    narrow = [_table(block, "", *each) for each in _NARROW]
    return [each for each in narrow if len(each.columns) > 2]  # published numbers have only the mean there


def _records(study: GssStudy) -> Table:
    """A row for each model, metric, part and number, in full precision; published numbers are strict accuracies."""
    rows: list[tuple[Cell, ...]] = []
    for each in study.models:
        result = each.model.result
        own = (each.model.name, *(("", "") if result is None else (result.submission_id, result.result_id)))
        rows += [(*own, metric, *line) for metric, found in each.evaluations.items() for line in _records_of(found)]
    rows += [
        ("references", "", "", name, *line) for name, found in study.references.items() for line in _records_of(found)
    ]
    for block in study.published:
        for row in block.rows:
            for part, one in row.cells.items():
                values = ("" if value is None else f"{value:.6g}" for value in (one.value, one.low, one.high))
                rows.append((block.title, "", "", row.metric, part, "strict", *values))
    return Table("", ("model", "submission", "result", "metric", "part", "number", "value", "low", "high"), rows)


def _differences(title: str, comparisons: Mapping[str, PairComparison]) -> Table:
    """Differences of the overall strict accuracies."""
    rows = []
    for name, found in comparisons.items():
        strict = {part: found.strict.get(part) for part in _OVERALL}
        p = strict["mean_of_splits"].p if strict["mean_of_splits"] else None
        rows.append((name, *(cell(each, interval=True) for each in strict.values()), p_value(p, 3)))
    return Table(title, ("scorer", *_OVERALL.values(), "p (mean of splits)"), rows)


def _records_of(found: PairEvaluation) -> Iterator[tuple[Cell, ...]]:
    """Yield part, number, value, low and high of each number of each part, in full precision."""
    for part, accuracy in found.accuracies.items():
        for number in ("strict", "half", "tie_rate", "missing_rate"):
            each: Estimate = getattr(accuracy, number)
            yield part, number, each.value, each.low, each.high


_ROW, _TOP, _BETWEEN, _BOTTOM, _LABELS = 30, 150, 120, 150, 124  # pixels: a row; above, between, below, left of panels
_TITLE, _LINE = 40, 12  # letters of a name; letters of a label that is not broken
_COLUMNS = {**{split: SHORT.get(split, split) for split in SPLITS}, MEAN: "mean"}


def heat_map(given: Sequence[Block]) -> Any:
    """Draw the accuracy of each metric on each split and their mean, one panel per model; blue: above chance.

    Args:
        given: Blocks to draw; models without metrics are left out.
    """
    graph, subplots = need("plotly.graph_objects", "board"), need("plotly.subplots", "board")
    blocks = [block for block in given if block.rows]
    sizes = [_ROW * len(block.rows) for block in blocks]
    inside = sum(sizes) + _BETWEEN * (len(blocks) - 1)
    figure = subplots.make_subplots(
        rows=len(blocks),
        cols=1,
        row_heights=sizes,
        vertical_spacing=_BETWEEN / inside if len(blocks) > 1 else 0,
        subplot_titles=[
            f"<b>{inert(each.title, _TITLE)}</b><br><sup>{inert(each.beneath, 2 * _TITLE)}</sup>" for each in blocks
        ],
    )
    for place, block in enumerate(blocks, 1):
        figure.add_trace(_panel(graph, block), row=place, col=1)
    # Lines would show through the cells, and cross their numbers.
    figure.update_xaxes(tickangle=-45, tickfont={"size": 12}, ticks="", showgrid=False, zeroline=False)
    figure.update_yaxes(autorange="reversed", tickfont={"size": 11}, ticks="", showgrid=False, zeroline=False)
    # Titles begin at the left edge of the figure, not of the panel, to fit on a narrow screen.
    figure.update_annotations(x=0, xanchor="left", xshift=8 - _LABELS, align="left", font={"size": 14})
    figure.update_layout(
        template="plotly_white",
        title={
            "text": "GSSBench: pair accuracy<br><sup>ties are wrong; chance gives 0.5</sup>",
            "font": {"size": 18},
            "x": 0,
            "pad": {"l": 8},
        },
        font=FONT,
        height=inside + _TOP + _BOTTOM,
        margin={"t": _TOP, "b": _BOTTOM, "l": _LABELS, "r": 8},
        hoverlabel={"align": "left"},
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        coloraxis={
            "colorscale": DIVERGING,
            "cmin": 0,
            "cmid": 0.5,
            "cmax": 1,
            # Below the panels: beside them it would take a third of a narrow screen.
            "colorbar": {
                "orientation": "h",
                "tickvals": [0, 0.5, 1],
                "ticktext": ["0", "0.5 (chance)", "1"],
                "thickness": 12,
                "y": 0,
                "yref": "container",
                "yanchor": "bottom",
            },
        },
    )
    return figure


def _panel(graph: Any, block: Block) -> Any:
    cells = [[row.cells.get(column) for column in _COLUMNS] for row in block.rows]
    accuracy = [[None if found is None else found.value for found in row] for row in cells]
    return graph.Heatmap(
        z=accuracy,
        x=list(_COLUMNS.values()),
        y=[_broken(row.metric) for row in block.rows],
        text=[["" if value is None else f"{value:.2f}" for value in row] for row in accuracy],
        texttemplate="%{text}",
        textfont={"size": 12},
        customdata=[[_hover(block, row, column) for column in _COLUMNS] for row in block.rows],
        hovertemplate="%{customdata}<extra></extra>",
        hoverongaps=False,
        coloraxis="coloraxis",
        xgap=1,
        ygap=1,
    )


def _broken(metric: str) -> str:
    """Break a long name after the underscore nearest to its middle."""
    places = [place + 1 for place, letter in enumerate(metric) if letter == "_"]
    if len(metric) <= _LINE or not places:
        return metric
    middle = min(places, key=lambda place: abs(place - len(metric) / 2))
    return f"{metric[:middle]}<br>{metric[middle:]}"


def _hover(block: Block, row: Row, column: str) -> str:
    found = row.cells.get(column)
    if found is None or found.value is None:
        return ""
    interval = "" if found.low is None else f" [{found.low:.3f}, {found.high:.3f}]"
    lines = [inert(block.title, _TITLE), f"{row.metric}, {column}", f"{found.value:.3f}{interval}"]
    if column == MEAN:
        lines += [
            f"{name} {each.value:.3f}"
            for name in (HALF, TIES, MISSING)
            if (each := row.cells.get(name)) and each.value is not None
        ]
    return "<br>".join(lines)
