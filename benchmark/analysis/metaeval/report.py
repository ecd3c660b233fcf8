"""The report of `metrics metaeval`: tables for the terminal, Markdown, CSV and JSON."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.analysis.metaeval.agreement import Draws
from benchmark.analysis.metaeval.evaluate import OVERALL, Comparison, Evaluation, Overall, TaskReport
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
_REASONS = 3  # listed for a metric; --json has all
_COMPARED = ("spearman", "roc_auc", "pair_accuracy", "human_spearman")
LEGEND = (
    "Intervals: 95%, bootstrap over contexts. OCA: optimal classification accuracy; dir. (directional): high above a "
    "threshold, as the paper defines it; folded: above or below it, whichever is better, as its code has it. pairs: "
    "share of pairs of sets of one context in the right order. partial: Spearman controlling for the mean length of a "
    "response. sd: over draws from the same sets, so smaller than a standard error. --out and --json have all measures "
    "and p-values, which are not corrected for the number of metrics. OCA and its interval are biased upwards, because "
    "the threshold is chosen on the same sets, and anew in each resample: use AUC for tests."
)


def report_of(reports: Sequence[TaskReport], overall: Sequence[Overall], document: Mapping[str, Any]) -> Report:
    """Make the report of a meta-evaluation."""
    means: list[Block] = []
    # The same metric has other values under another profile: the lexical one groups responses by ROUGE-1.
    profile = [f"Profile of this package's metrics: {document['profile']}."] if "profile" in document else []
    binary = [report for report in reports if report.label == "binary"]
    if overall:
        means = [_means(overall, len(binary))]
    elif len(binary) > 1:
        means = ["No mean over tasks: fewer than two tasks have sets of both labels that all metrics scored."]

    def blocks(measures: Sequence[str]) -> list[Block]:
        return [block for report in reports for block in _task_blocks(report, measures)]

    return Report(
        title="Meta-evaluation",
        blocks=[LEGEND, *profile, *means, *blocks(tuple(_MEASURES))],
        document=document,
        printed=[*blocks(_NARROW), *means, *profile, LEGEND],
        records=_records(reports),
    )


def _means(overall: Sequence[Overall], binary: int) -> Table:
    """Make the table of means over tasks, the best metric first."""
    tasks = overall[0].tasks
    left_out = f" of {binary}; the others have no sets of both labels that all metrics scored" if tasks < binary else ""
    ordered = sorted(overall, key=lambda mean: mean.measures["spearman"].value or -2.0, reverse=True)
    return Table(
        f"Mean over {tasks} tasks{left_out}",
        ["metric", *(_MEASURES[name][0] for name in OVERALL)],
        [[mean.metric, *(str(mean.measures[name]) for name in OVERALL)] for mean in ordered],
    )


def _cell(estimate: Estimate | None, interval: bool) -> str:
    """Format a number, with its interval if wanted; a dash if it is missing."""
    if estimate is None:
        return "-"
    return str(estimate) if interval else with_interval(estimate.value, None, None)


def _task_blocks(report: TaskReport, measures: Sequence[str]) -> list[Block]:
    """Make the tables of a task: agreement with the label, differences, and draws of decoding tests."""
    names = [name for name in measures if any(name in evaluation.measures for evaluation in report.evaluations)]

    def rho(evaluation: Evaluation) -> float:
        spearman = evaluation.measures.get("spearman")
        return -2.0 if spearman is None or spearman.value is None else spearman.value

    rows = [
        (evaluation.metric, *(_cell(evaluation.measures.get(name), _MEASURES[name][1]) for name in names))
        for evaluation in sorted(report.evaluations, key=rho, reverse=True)
    ]
    columns = ("metric", *(_MEASURES[name][0] for name in names))
    blocks: list[Block] = [Table(title_of(report), columns, rows, notes=missing_of(report))]
    if report.comparisons:
        blocks.append(_differences(f"{report.task}: difference from {report.comparisons[0].b}", report.comparisons))
    if report.decoding:
        rows = [
            (test.metric, *map(_mean_and_sd, (test.resampled, test.ranking.spearman, test.ranking.accuracy)))
            for test in report.decoding
        ]
        columns = ("metric", "Spearman, draws of sets", "Spearman of differences, pairs", "accuracy, pairs")
        blocks.append(Table(f"{report.task}: agreement with {report.label_name} over 100 draws", columns, rows))
    return blocks


def title_of(report: TaskReport) -> str:
    """Say the task, the sizes of its sample, and the agreement between people."""
    evaluated = max((evaluation.sets for evaluation in report.evaluations), default=0)
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
    for evaluation in report.evaluations:
        if evaluation.missing:
            lacking.setdefault(tuple(evaluation.missing.items()), []).append(evaluation.metric)
    lines = []
    for reasons, metrics in lacking.items():
        count = sum(count for _, count in reasons)
        which = "any set" if count == report.sets else f"{counted(count, 'set')}, excluded for all metrics"
        why = most_frequent(dict(reasons))
        lines.append(Styled(f"{', '.join(metrics)}: no score for {which} ({why})", "yellow"))
    return lines


def most_frequent(reasons: Mapping[str, int]) -> str:
    """Return the three most frequent reasons with their counts: a user's function may give another one for each set."""
    ranked = sorted(reasons.items(), key=lambda pair: -pair[1])
    listed = [f"{count:,} {reason}" for reason, count in ranked[:_REASONS]]
    rest = sum(count for _, count in ranked[_REASONS:])
    return ", ".join(listed) + (f", and {rest:,} for other reasons" if rest else "")


def _differences(title: str, comparisons: Sequence[Comparison]) -> Table:
    by_metric: dict[str, dict[str, Estimate]] = {}
    for comparison in comparisons:
        by_metric.setdefault(comparison.a, {})[comparison.measure] = comparison.difference
    names = [name for name in _COMPARED if any(name in measures for measures in by_metric.values())]
    rows = [
        (metric, *(_cell(measures.get(name), interval=True) for name in names), p_value(measures["spearman"].p))
        for metric, measures in by_metric.items()
    ]
    return Table(title, ("metric", *(_MEASURES[name][0] for name in names), "p (Spearman)"), rows)


def _mean_and_sd(draws: Draws) -> str:
    return f"{draws.mean:.3f} (sd {draws.sd:.3f})" if math.isfinite(draws.mean) else "-"


def _records(reports: Sequence[TaskReport]) -> Table:
    """Make a table of one row for each task, metric and measure, in full precision."""
    rows: list[tuple[Cell, ...]] = [
        (
            *(report.task, evaluation.metric, evaluation.origin, name),
            *(number.value, number.low, number.high, number.p),
            *(evaluation.sets, sum(evaluation.missing.values()), evaluation.left_out),
        )
        for report in reports
        for evaluation in report.evaluations
        for name, number in evaluation.measures.items()
    ]
    columns = ("task", "metric", "origin", "measure", "value", "low", "high", "p", "sets", "missing", "left_out")
    return Table("", columns, rows)
