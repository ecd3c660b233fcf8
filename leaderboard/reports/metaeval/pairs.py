"""`divbench metaeval gssbench`: does a metric score the prompt with the larger generation space higher?"""

import csv
import io
from collections.abc import Iterator, Mapping

from rich.console import Console

from benchmark.analysis.estimate import Estimate
from benchmark.analysis.metaeval.pair_reports import PairReport, accuracies
from benchmark.analysis.metaeval.prompt_pairs import (
    PairComparison,
    PairEvaluation,
)
from datasets_build.tables import escape_csv
from leaderboard.reports.metaeval.printing import cell, markdown_table, print_table

LEGEND = (
    "Strict accuracy: ties are wrong, as published; half: a tie counts half. Intervals: 95%, bootstrap over the sets "
    "that pairs come in. Length-balanced: the mean over splits where the longer prompt has the larger space and over "
    "those where the shorter has it, so that length alone gets one half. The last four scorers are known beforehand."
)

SHORT = {"complement": "compl.", "factualqa": "factual", "random_choice": "choice", "intersection": "inters."}


def rows_of(report: PairReport) -> tuple[list[str], list[list[str]]]:
    """Head and rows: strict accuracy by split and over all; half credit, ties and missing of the mean of splits."""
    names = list(accuracies(next(iter(report.evaluations.values()))))
    head = ["scorer", *(SHORT.get(name, name) for name in names), "half", "ties", "missing"]
    rows = []
    for name, found in report.evaluations.items():
        each = accuracies(found)
        strict = [cell(each[part].strict, part == "mean of splits") if part in each else "-" for part in names]
        mean = found.mean_of_splits
        rows.append([name, *strict, cell(mean.half), cell(mean.tie_rate), cell(mean.missing_rate)])
    return head, rows


def comparison_rows(comparisons: Mapping[str, PairComparison]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: differences of the overall strict accuracies."""
    overall = {
        "mean_of_splits": "mean of splits",
        "pair_weighted": "pair-weighted",
        "length_balanced": "length-balanced",
    }
    rows = []
    for name, found in comparisons.items():
        strict = [found.strict[part] for part in overall if part in found.strict]
        p = strict[0].p
        cells = [cell(each, interval=True) for each in strict]
        rows.append([name, *cells, *["-"] * (len(overall) - len(cells)), "-" if p is None else f"{p:.3g}"])
    return ["scorer", *overall.values(), "p (mean of splits)"], rows


def print_pairs(report: PairReport, console: Console) -> None:
    """In a terminal."""
    print_table("gssbench: strict accuracy", *rows_of(report), console)
    if report.comparisons:
        print_table(f"less {report.against}", *comparison_rows(report.comparisons), console)
    console.print(LEGEND, markup=False)


def as_markdown(report: PairReport) -> str:
    """As tables of Markdown."""
    parts = ["# GSSBench: strict accuracy", LEGEND, markdown_table(*rows_of(report))]
    if report.comparisons:
        parts += [f"Less {report.against}:", markdown_table(*comparison_rows(report.comparisons))]
    return "\n\n".join(parts) + "\n"


def as_csv(report: PairReport) -> str:
    """One line a scorer, part and number; the full precision."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["scorer", "part", "number", "value", "low", "high"])
    for name, found in report.evaluations.items():
        writer.writerows([escape_csv(name), *line] for line in csv_lines(found))
    return file.getvalue()


def csv_lines(found: PairEvaluation) -> Iterator[list[str]]:
    """Part, number, value, low and high of each number of each part; the full precision."""
    for part, accuracy in accuracies(found).items():
        for number in ("strict", "half", "tie_rate", "missing_rate"):
            each: Estimate = getattr(accuracy, number)
            yield [part, number, *("" if x is None else repr(x) for x in (each.value, each.low, each.high))]
