"""The report of `divbench metrics gss`: pair accuracies by model and metric, in every format."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from rich.console import Console

from benchmark.analysis.gss.accuracy import BALANCED, HALF, MEAN, MISSING, TIES, Block, GssStudy, Row
from benchmark.analysis.gss.pairs import PairComparison, PairEvaluation
from benchmark.analysis.metaeval.report import cell
from benchmark.scoring.estimate import LEVEL, Estimate
from datasets_build.gssbench import SPLITS
from divbench.core.tables import Block as ReportBlock
from divbench.core.tables import Cell, Report, Styled, Table, p_value, to_terminal

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
    blocks: list[ReportBlock] = [legend(study)]
    printed: list[ReportBlock] = []
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
    if console.measure(to_terminal(whole), options=console.options.update(width=10_000)).maximum <= console.width:
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
        rows.append((name, *(cell(each, interval=True) for each in strict.values()), p_value(p)))
    return Table(title, ("scorer", *_OVERALL.values(), "p (mean of splits)"), rows)


def _records_of(found: PairEvaluation) -> Iterator[tuple[Cell, ...]]:
    """Yield part, number, value, low and high of each number of each part, in full precision."""
    for part, accuracy in found.accuracies.items():
        for number in ("strict", "half", "tie_rate", "missing_rate"):
            each: Estimate = getattr(accuracy, number)
            yield part, number, each.value, each.low, each.high
