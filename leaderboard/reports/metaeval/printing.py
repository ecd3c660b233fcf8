"""How evaluations look in a terminal, in Markdown and as CSV."""

import csv
import io
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmark.analysis.estimate import Estimate
from benchmark.analysis.metaeval.evaluate import Comparison, DecodingTest, Evaluation, TaskReport
from benchmark.analysis.metaeval.heldout import HeldOut
from benchmark.analysis.metaeval.overall import OVERALL, Overall
from datasets_build.tables import escape_csv, plain

# name: (heading, whether the interval is shown beside it)
_SHOWN = {
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
# In a terminal only these; --out and --json have all.
_IN_TERMINAL = (
    "spearman",
    "oca_directional",
    "oca_folded",
    "roc_auc",
    "pair_accuracy",
    "partial_spearman",
    "human_spearman",
)
_COMPARED = ("spearman", "roc_auc", "pair_accuracy", "human_spearman")
LEGEND = (
    "Intervals: 95%, bootstrap over contexts. OCA dir. (directional): high above a threshold, as the paper defines "
    "it; OCA folded: or below it, whichever is better, as its code has it. pairs: sets of one context in the right "
    "order. partial: Spearman with the mean length of a response held fixed. --out and --json have all measures and p."
)


def cell(found: Estimate | None, interval: bool = False) -> str:
    """A number with its interval; a dash where there is none."""
    if found is None or found.value is None:
        return "-"
    if not interval or found.low is None:
        return f"{found.value:.3f}"
    return f"{found.value:.3f} [{found.low:.2f}, {found.high:.2f}]"


def rows_of(report: TaskReport, measures: Sequence[str] = tuple(_SHOWN)) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a task's table, the best correlation with the label first."""
    names = [name for name in measures if any(name in each.measures for each in report.evaluations)]

    def rho(each: Evaluation) -> float:
        found = each.measures.get("spearman")
        return -2.0 if found is None or found.value is None else found.value

    rows = [
        [each.metric, *(cell(each.measures.get(name), _SHOWN[name][1]) for name in names)]
        for each in sorted(report.evaluations, key=rho, reverse=True)
    ]
    return ["metric", *(_SHOWN[name][0] for name in names)], rows


def title_of(report: TaskReport) -> str:
    """What was evaluated, on how many sets, and what people allow."""
    evaluated = report.evaluations[0].sets if report.evaluations else 0
    name = f"{report.task} by {report.label_name}" if report.label == "graded" else report.task
    said = f"{name}: {evaluated:,} of {report.sets:,} sets, {report.contexts:,} contexts, {report.pairs:,} pairs"
    if report.noise_ceiling is not None:
        said += f"; noise ceiling with people {cell(report.noise_ceiling, interval=True)}"
    return said


def missing_of(report: TaskReport) -> list[str]:
    """A line for each way in which metrics lack scores."""
    lacking: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for each in report.evaluations:
        if each.missing:
            lacking.setdefault(tuple(each.missing.items()), []).append(each.metric)
    return [
        f"{', '.join(metrics)}: no score of {sum(count for _, count in reasons)} sets, left out for all metrics "
        f"({', '.join(f'{count} {reason}' for reason, count in reasons)})"
        for reasons, metrics in lacking.items()
    ]


def comparison_rows(comparisons: Sequence[Comparison]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: a metric's measures less those of the metric compared against; p of Spearman's."""
    by_metric: dict[str, dict[str, Estimate]] = {}
    for each in comparisons:
        by_metric.setdefault(each.a, {})[each.measure] = each.difference
    names = [name for name in _COMPARED if any(name in found for found in by_metric.values())]
    rows = []
    for metric, found in by_metric.items():
        p = found["spearman"].p
        rows.append(
            [metric, *(cell(found.get(name), interval=True) for name in names), "-" if p is None else f"{p:.3g}"]
        )
    return ["metric", *(_SHOWN[name][0] for name in names), "p (Spearman)"], rows


def decoding_rows(tests: Sequence[DecodingTest]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: mean and standard deviation over random draws."""
    head = ["metric", "Spearman, draws of sets", "Spearman of differences, pairs", "accuracy, pairs"]
    rows = []
    for each in tests:
        draws = (each.resampled, each.ranking.spearman, each.ranking.accuracy)
        rows.append([each.metric, *(f"{one.mean:.3f} (sd {one.sd:.3f})" for one in draws)])
    return head, rows


def overall_rows(found: Sequence[Overall]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the means over tasks, the best first."""
    ordered = sorted(found, key=lambda each: each.measures["spearman"].value or -2.0, reverse=True)
    head = ["metric", *(_SHOWN[name][0] for name in OVERALL)]
    return head, [[each.metric, *(cell(each.measures[name], interval=True) for name in OVERALL)] for each in ordered]


def heldout_rows(found: HeldOut) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a fold, the best on the reported sets first; what was chosen is marked."""
    marks = {" + ".join(found.chosen): " (chosen)", found.chosen_single: " (chosen alone)"}
    head, rows = overall_rows(found.held_out)
    less = {each.metric: each.less.get("spearman") for each in found.held_out}
    against = next((each.metric for each in found.held_out if not each.less), "")
    rows = [[row[0] + marks.get(row[0], ""), *row[1:], cell(less[row[0]], interval=True)] for row in rows]
    return [*head, f"Spearman less {against}"], rows


def heldout_title(found: HeldOut) -> str:
    """What was tried, what was chosen, and on what."""
    return (
        f"{found.fold}: {found.tried:,} combinations tried; chosen {' + '.join(found.chosen)}, "
        f"mean Spearman {found.chosen_on:.3f} where it was chosen"
    )


def tried_rows(found: HeldOut) -> tuple[list[str], list[list[str]]]:
    """Head and rows: the best combinations where they were chosen on, and on the rest."""
    rows = [[" + ".join(each.members), f"{each.chosen_on:.3f}", f"{each.held_out:.3f}"] for each in found.best]
    return ["combination", "mean Spearman where chosen", "on the rest"], rows


def print_held_out(found: HeldOut, console: Console) -> None:
    """A fold's table."""
    print_table(heldout_title(found), *heldout_rows(found), console)
    print_table(f"{found.fold}: the best combinations", *tried_rows(found), console)


def heldout_markdown(found: Sequence[HeldOut]) -> str:
    """All folds."""
    parts = []
    for each in found:
        parts += [f"### {heldout_title(each)}", markdown_table(*heldout_rows(each)), markdown_table(*tried_rows(each))]
    return "\n\n".join(parts) + "\n"


def print_report(report: TaskReport, console: Console) -> None:
    """A task's table, its comparisons, and what is missing."""
    print_table(title_of(report), *rows_of(report, _IN_TERMINAL), console)
    for line in missing_of(report):
        console.print(plain(line), style="yellow")
    if report.comparisons:
        print_table(f"{report.task}: less {report.comparisons[0].b}", *comparison_rows(report.comparisons), console)
    if report.decoding:
        title = f"{report.task}: against {report.label_name}, over 100 draws"
        print_table(title, *decoding_rows(report.decoding), console)


def print_overall(found: Sequence[Overall], console: Console) -> None:
    """The means over tasks."""
    print_table(f"mean over {found[0].tasks} tasks", *overall_rows(found), console)


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    """A table whose cells are not broken."""
    made = Table(title=plain(title), title_justify="left", header_style="bold")
    for place, name in enumerate(head):
        made.add_column(name, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        made.add_row(*(plain(text) for text in row))
    console.print(made)


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [[text.replace("|", r"\|") for text in line] for line in (head, *rows)]
    lines.insert(1, ["---", *["---:"] * (len(head) - 1)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def as_markdown(reports: Sequence[TaskReport], overall: Sequence[Overall]) -> str:
    """All tables."""
    parts = ["# Meta-evaluation", LEGEND]
    if overall:
        parts += [f"## Mean over {overall[0].tasks} tasks", markdown_table(*overall_rows(overall))]
    for report in reports:
        parts += [f"## {title_of(report)}", markdown_table(*rows_of(report)), *missing_of(report)]
        if report.comparisons:
            parts += [f"Less {report.comparisons[0].b}:", markdown_table(*comparison_rows(report.comparisons))]
        if report.decoding:
            parts += [f"Against {report.label_name}, over 100 draws:", markdown_table(*decoding_rows(report.decoding))]
    return "\n\n".join(parts) + "\n"


def as_csv(reports: Sequence[TaskReport]) -> str:
    """One line a task, metric and measure; the full precision."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["task", "metric", "origin", "measure", "value", "low", "high", "p", "sets", "missing", "left_out"])
    for report in reports:
        for each in report.evaluations:
            for name, found in each.measures.items():
                numbers = ["" if x is None else repr(x) for x in (found.value, found.low, found.high, found.p)]
                counts = [each.sets, sum(each.missing.values()), each.left_out]
                writer.writerow(
                    [escape_csv(report.task), escape_csv(each.metric), each.origin, name, *numbers, *counts]
                )
    return file.getvalue()
