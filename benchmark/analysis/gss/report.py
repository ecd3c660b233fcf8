"""The report of `divbench metrics gss`: pair accuracies by model and metric, in every format."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from benchmark.analysis.gss.accuracy import BALANCED, HALF, MEAN, MISSING, TIES, Block, GssStudy, Row
from benchmark.analysis.gss.pairs import PairComparison, PairEvaluation
from benchmark.scoring.estimate import LEVEL, Estimate
from datasets_build.gssbench import SPLITS
from divbench.core import tables
from divbench.core.tables import Cell, Report, Styled, Table, number, p_value

SHORT = {"complement": "compl.", "factualqa": "factual", "random_choice": "choice", "intersection": "inters."}
_OVERALL = {
    "mean_of_splits": "mean of splits",
    "pair_weighted": "pair-weighted",
    "length_balanced": "length-balanced",
}
_N = "n"
_HEADINGS = {split: SHORT.get(split, split) for split in SPLITS} | {MEAN: "mean", BALANCED: "balanced"}
_HEADINGS |= {part: part for part in (HALF, TIES, MISSING, _N)}
# A terminal is too narrow for one table: the parts of each of two tables, and the parts shown with intervals.
_PRINTED = (((*SPLITS, MEAN), ()), ((MEAN, BALANCED, HALF, TIES, MISSING, _N), (MEAN,)))


def report_of(study: GssStudy) -> Report:
    """Make the report of a study."""
    blocks: list[tables.Block] = [legend(study)]
    printed: list[tables.Block] = []
    for block in filter(lambda block: block.rows, study.blocks):  # a model may have no rows; the notes say why
        below = []
        if block.model is not None and block.model.comparisons:
            below.append(_differences(f"Difference from {study.against}", block.model.comparisons))
        blocks += [_table(block, block.title, notes=[block.beneath]), *below]
        printed += [block.title, Styled(block.beneath, "dim"), *(_table(block, "", *part) for part in _PRINTED), *below]
    return Report(
        title="GSSBench: pair accuracy",
        blocks=[*blocks, *notes(study)],
        document=study.as_json(),
        printed=[*printed, legend(study), *(Styled(note, "yellow") for note in notes(study))],
        records=_records(study),
    )


def legend(study: GssStudy) -> str:
    """Say how to read the numbers."""
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
    lines = []
    if differing := study.differing:
        lines.append(
            "Accuracies of different models are not comparable where k, the profile or the equivalence backend "
            f"differs: {', '.join(differing)}"
        )
    for each in study.models:
        lines += [f"{each.model.name}: {line}" for line in each.model.missing_lines]
        if study.against is not None and not each.comparisons:
            lines.append(f"{each.model.name}: nothing to compare with {study.against}")
    return lines


def _table(
    block: Block,
    title: str,
    parts: Iterable[str] = tuple(_HEADINGS),
    intervals: Collection[str] = (*SPLITS, MEAN, BALANCED),
    notes: Sequence[str] = (),
) -> Table:
    """Make a table of the known parts of a block's rows."""
    columns = [part for part in parts if any(part in row.cells or part == _N for row in block.rows)]

    def cell(row: Row, part: str) -> Cell:
        if part == _N:
            return None if row.pairs is None else f"{row.pairs:,}"
        text = _text(row.cells.get(part), part in intervals)
        return Styled(text, "bold") if row.best and part == MEAN else text

    rows = [[row.metric, *(cell(row, part) for part in columns)] for row in block.rows]
    return Table(title, ["metric", *(_HEADINGS[part] for part in columns)], rows, notes)


def _text(estimate: Estimate | None, interval: bool) -> str:
    if estimate is None:
        return "-"
    return str(estimate) if interval else number(estimate.value)


def _differences(title: str, comparisons: Mapping[str, PairComparison]) -> Table:
    """Make the table of differences of the overall strict accuracies."""
    rows = []
    for name, comparison in comparisons.items():
        strict = [comparison.strict.get(part) for part in _OVERALL]
        p = p_value(comparison.strict["mean_of_splits"].p)
        rows.append((name, *(_text(difference, interval=True) for difference in strict), p))
    return Table(title, ("scorer", *_OVERALL.values(), "p (mean of splits)"), rows)


def _records(study: GssStudy) -> Table:
    """Make a table of one row for each model, metric, part and number, in full precision."""
    rows: list[tuple[Cell, ...]] = []
    for each in study.models:
        result = each.model.result
        ids = ("", "") if result is None else (result.submission_id, result.result_id)
        for metric, evaluation in each.evaluations.items():
            rows += [(each.model.name, *ids, metric, *line) for line in _records_of(evaluation)]
    for name, evaluation in study.references.items():
        rows += [("references", "", "", name, *line) for line in _records_of(evaluation)]
    return Table("", ("model", "submission", "result", "metric", "part", "number", "value", "low", "high"), rows)


def _records_of(evaluation: PairEvaluation) -> Iterator[tuple[Cell, ...]]:
    """Yield part, number, value, low and high of each number of each part."""
    for part, accuracy in evaluation.accuracies.items():
        for name in ("strict", "half", "tie_rate", "missing_rate"):
            estimate: Estimate = getattr(accuracy, name)
            yield part, name, estimate.value, estimate.low, estimate.high
