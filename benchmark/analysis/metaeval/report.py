"""The report of `metrics metaeval`: tables for the terminal, Markdown, CSV and JSON."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.analysis.metaeval.decoding import Draws
from benchmark.analysis.metaeval.evaluate import Comparison, DecodingTest, Evaluation, TaskReport
from benchmark.analysis.metaeval.overall import OVERALL, Overall
from benchmark.scoring.estimate import Estimate
from divbench.core.errors import counted
from divbench.core.tables import Block, Cell, Report, Styled, Table, p_value, with_interval

# measure: (heading, whether its interval is shown)
_MEASURES = {
    "spearman": ("Spearman", True),
    "pearson": ("Pearson", False),
    "kendall": ("Kendall", False),
    "oca_directional": ("OCA dir.", False),
    "oca_folded": ("OCA folded", False),
    "roc_auc": ("AUC", True),
    "pair_accuracy": ("pairs", True),
    "partial_spearman": ("partial", False),
    "human_spearman": ("human rho", False),
    "human_pearson": ("human r", False),
}
_NARROW = tuple(name for name in _MEASURES if name not in ("pearson", "kendall", "human_pearson"))  # for a terminal
_LINE = 600  # characters of reasons
_REASONS = 3  # listed for a metric; --json has all
_COMPARED = ("spearman", "roc_auc", "pair_accuracy", "human_spearman")
OPTIMISTIC = (
    "OCA and its interval are biased upwards, because the threshold is chosen on the same sets, and anew in each "
    "resample: use AUC for tests."
)
LEGEND = (
    "Intervals: 95%, bootstrap over contexts. OCA: optimal classification accuracy; dir. (directional): high above a "
    "threshold, as the paper defines it; folded: above or below it, whichever is better, as its code has it. pairs: "
    "share of pairs of sets of one context in the right order. partial: Spearman controlling for the mean length of a "
    "response. sd: over draws from the same sets, so smaller than a standard error. --out and --json have all measures "
    f"and p-values, which are not corrected for the number of metrics. {OPTIMISTIC}"
)


def report_of(reports: Sequence[TaskReport], overall: Sequence[Overall], document: Mapping[str, Any]) -> Report:
    """The report of a meta-evaluation."""
    means: list[Block] = []
    # The same metric has other values under another profile: the lexical one groups responses by ROUGE-1.
    read = [f"Profile of this package's metrics: {document['profile']}."] if "profile" in document else []
    binary = [each for each in reports if each.label == "binary"]
    if overall:
        means = [Table(_title_of_means(overall[0].tasks, len(binary)), *_overall_rows(overall))]
    elif len(binary) > 1:
        means = ["No mean over tasks: fewer than two tasks have sets of both labels that all metrics scored."]
    return Report(
        title="Meta-evaluation",
        blocks=[LEGEND, *read, *means, *(block for each in reports for block in _task_blocks(each, tuple(_MEASURES)))],
        document=document,
        printed=[*(block for each in reports for block in _task_blocks(each, _NARROW)), *means, *read, LEGEND],
        records=_records(reports),
    )


def _title_of_means(tasks: int, binary: int) -> str:
    left_out = (
        "" if tasks == binary else f" of {binary}; the others have no sets of both labels that all metrics scored"
    )
    return f"Mean over {tasks} tasks{left_out}"


def cell(found: Estimate | None, interval: bool = False) -> str:
    """Format a number, with its interval if wanted; a dash if it is missing."""
    return str(found) if found and interval else with_interval(found.value if found else None, None, None)


def _task_blocks(report: TaskReport, measures: Sequence[str]) -> list[Block]:
    """The tables of a task: agreement with the label, differences, and draws of decoding tests."""
    names = [name for name in measures if any(name in each.measures for each in report.evaluations)]

    def rho(each: Evaluation) -> float:
        found = each.measures.get("spearman")
        return -2.0 if found is None or found.value is None else found.value

    rows = [
        (each.metric, *(cell(each.measures.get(name), _MEASURES[name][1]) for name in names))
        for each in sorted(report.evaluations, key=rho, reverse=True)
    ]
    columns = ("metric", *(_MEASURES[name][0] for name in names))
    made: list[Block] = [Table(title_of(report), columns, rows, notes=missing_of(report))]
    if report.comparisons:
        made.append(_differences(f"{report.task}: difference from {report.comparisons[0].b}", report.comparisons))
    if report.decoding:
        made.append(_draws(f"{report.task}: agreement with {report.label_name} over 100 draws", report.decoding))
    return made


def title_of(report: TaskReport) -> str:
    """The task, the sizes of its sample, and the agreement between people."""
    evaluated = max((each.sets for each in report.evaluations), default=0)
    is_released = report.label == "binary" and "/" in report.task  # its label is explained in the documentation
    name = report.task if is_released else f"{report.task} by {report.label_name}"
    sizes = counted(report.sets, "set"), counted(report.contexts, "context"), counted(report.pairs, "pair")
    text = f"{name}: {evaluated:,} of {', '.join(sizes)}"
    if report.noise_ceiling is not None:
        text += f"; noise ceiling of human scores {report.noise_ceiling}"
    return text


def missing_of(report: TaskReport) -> list[Styled]:
    """Return a line for each group of metrics that lack the same scores."""
    lacking: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for each in report.evaluations:
        if each.missing:
            lacking.setdefault(tuple(each.missing.items()), []).append(each.metric)
    lines = []
    for reasons, metrics in lacking.items():
        count = sum(count for _, count in reasons)
        which = "any set" if count == report.sets else f"{counted(count, 'set')}, excluded for all metrics"
        why = most_frequent(dict(reasons))
        lines.append(Styled(f"{', '.join(metrics)}: no score for {which} ({why})", "yellow"))
    return lines


def most_frequent(reasons: Mapping[str, int]) -> str:
    """Return the three most frequent reasons with their counts: a user's function may give another one for each set."""
    ranked = sorted(reasons.items(), key=lambda each: -each[1])
    told = [f"{count:,} {reason}" for reason, count in ranked[:_REASONS]]
    rest = sum(count for _, count in ranked[_REASONS:])
    return ", ".join(told) + (f", and {rest:,} for other reasons" if rest else "")


def _differences(title: str, comparisons: Sequence[Comparison]) -> Table:
    by_metric: dict[str, dict[str, Estimate]] = {}
    for each in comparisons:
        by_metric.setdefault(each.a, {})[each.measure] = each.difference
    names = [name for name in _COMPARED if any(name in found for found in by_metric.values())]
    rows = [
        (metric, *(cell(found.get(name), interval=True) for name in names), p_value(found["spearman"].p))
        for metric, found in by_metric.items()
    ]
    return Table(title, ("metric", *(_MEASURES[name][0] for name in names), "p (Spearman)"), rows)


def _draws(title: str, tests: Sequence[DecodingTest]) -> Table:
    """Mean and standard deviation over random draws."""
    columns = ("metric", "Spearman, draws of sets", "Spearman of differences, pairs", "accuracy, pairs")
    rows = []
    for each in tests:
        draws = (each.resampled, each.ranking.spearman, each.ranking.accuracy)
        rows.append((each.metric, *(_mean_and_sd(one) for one in draws)))
    return Table(title, columns, rows)


def _mean_and_sd(found: Draws) -> str:
    return f"{found.mean:.3f} (sd {found.sd:.3f})" if math.isfinite(found.mean) else "-"


def _overall_rows(found: Sequence[Overall]) -> tuple[list[str], list[list[Cell]]]:
    """Columns and rows of the means over tasks, the best first."""
    ordered = sorted(found, key=lambda each: each.measures["spearman"].value or -2.0, reverse=True)
    columns = ["metric", *(_MEASURES[name][0] for name in OVERALL)]
    return columns, [[each.metric, *(str(each.measures[name]) for name in OVERALL)] for each in ordered]


def _records(reports: Sequence[TaskReport]) -> Table:
    """A row for each task, metric and measure, in full precision."""
    rows = [
        (
            *(report.task, each.metric, each.origin, name),
            *(found.value, found.low, found.high, found.p),
            *(each.sets, sum(each.missing.values()), each.left_out),
        )
        for report in reports
        for each in report.evaluations
        for name, found in each.measures.items()
    ]
    columns = ("task", "metric", "origin", "measure", "value", "low", "high", "p", "sets", "missing", "left_out")
    return Table("", columns, rows)
