"""The report of `divbench metrics metaeval gssbench`: how often a metric ranks two prompts correctly."""

from collections.abc import Iterator, Mapping

from benchmark.analysis.estimate import Estimate
from benchmark.analysis.metaeval.pair_reports import PairReport, accuracies
from benchmark.analysis.metaeval.prompt_pairs import PairComparison, PairEvaluation
from datasets_build.tables import Cell, Report, Table, p_value
from leaderboard.reports.metaeval.report import cell

LEGEND = (
    "Strict accuracy: ties are wrong, as published; half: a tie counts half. Intervals: 95%, bootstrap over the sets "
    "of pairs. Length-balanced: mean over the splits whose longer prompt has the larger space and over those whose "
    "shorter prompt has it, so that length alone gets one half. The last four scorers are reference points."
)
SHORT = {"complement": "compl.", "factualqa": "factual", "random_choice": "choice", "intersection": "inters."}
_OVERALL = {
    "mean_of_splits": "mean of splits",
    "pair_weighted": "pair-weighted",
    "length_balanced": "length-balanced",
}


def report_of(found: PairReport) -> Report:
    """The report of scorers on GSSBench."""
    tables = [_accuracies(found)]
    if found.comparisons:
        tables.append(differences(f"Difference from {found.against}", found.comparisons))
    rows = [(name, *line) for name, each in found.evaluations.items() for line in records_of(each)]
    return Report(
        title="GSSBench: strict accuracy",
        blocks=[LEGEND, *tables],
        document=found,
        printed=[*tables, LEGEND],
        records=Table("", ("scorer", "part", "number", "value", "low", "high"), rows),
    )


def _accuracies(report: PairReport) -> Table:
    """Strict accuracy by split and overall; half credit, ties and missing of the mean of splits."""
    names = list(accuracies(next(iter(report.evaluations.values()))))
    rows = []
    for name, found in report.evaluations.items():
        each = accuracies(found)
        strict = [cell(each[part].strict, part == "mean of splits") if part in each else "-" for part in names]
        mean = found.mean_of_splits
        rows.append((name, *strict, cell(mean.half), cell(mean.tie_rate), cell(mean.missing_rate)))
    columns = ("scorer", *(SHORT.get(name, name) for name in names), "half", "ties", "missing")
    return Table("Strict accuracy", columns, rows)


def differences(title: str, comparisons: Mapping[str, PairComparison]) -> Table:
    """Differences of the overall strict accuracies."""
    rows = []
    for name, found in comparisons.items():
        strict = {part: found.strict.get(part) for part in _OVERALL}
        p = strict["mean_of_splits"].p if strict["mean_of_splits"] else None
        rows.append((name, *(cell(each, interval=True) for each in strict.values()), p_value(p, 3)))
    return Table(title, ("scorer", *_OVERALL.values(), "p (mean of splits)"), rows)


def records_of(found: PairEvaluation) -> Iterator[tuple[Cell, ...]]:
    """Yield part, number, value, low and high of each number of each part, in full precision."""
    for part, accuracy in accuracies(found).items():
        for number in ("strict", "half", "tie_rate", "missing_rate"):
            each: Estimate = getattr(accuracy, number)
            yield part, number, each.value, each.low, each.high
