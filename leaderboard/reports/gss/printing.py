"""How accuracies on GSSBench look in a terminal, in Markdown and as CSV. Names of systems are strangers' texts."""

import csv
import io
import re
from collections.abc import Collection, Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmark.analysis.gss.accuracy import BALANCED, HALF, MEAN, MISSING, TIES, Block, Report, Row
from benchmark.analysis.metaeval.prompt_pairs import SPLITS
from datasets_build.console import table
from datasets_build.tables import escape_csv, plain
from leaderboard.reports.metaeval.pairs import SHORT, comparison_rows, csv_lines
from leaderboard.reports.metaeval.printing import cell, markdown_table

_N = "n"
# part of a row: heading
_PARTS = {split: SHORT.get(split, split) for split in SPLITS} | {MEAN: "mean", BALANCED: "balanced"}
_PARTS |= {part: part for part in (HALF, TIES, MISSING, _N)}
_WITH_INTERVALS = (*SPLITS, MEAN, BALANCED)
# In a terminal too narrow for all: the parts of one table and of another below it, and whose intervals are shown.
_NARROW = (((*SPLITS, MEAN), ()), ((MEAN, BALANCED, HALF, TIES, MISSING, _N), (MEAN,)))


def legend(report: Report) -> str:
    """How the numbers are to be read."""
    gone = "is wrong, too" if report.missing_as == "wrong" else "is left out"
    return (
        "Accuracy: the share of pairs whose prompt with the larger generation space has the strictly more diverse "
        f"responses; chance gives .5. Ties are wrong, as published; half: a tie counts half. A pair with a missing "
        f"score {gone}; n: pairs with both. Mean: of the six splits, the published overall. Balanced: the mean over "
        "splits where the longer prompt has the larger space and over those where the shorter has it, so that length "
        f"alone gets .5. Intervals: {report.how.level:.0%}, bootstrap over the sets that pairs come in. Bold: the "
        "highest mean of a model."
    )


def notes(report: Report) -> list[str]:
    """What a reader of the tables must know beside: a line each."""
    made = []
    if differing := report.differing:
        made.append(
            f"Not made alike for all models (k, profile, what decides on equal answers), so that accuracies of "
            f"different models do not compare: {', '.join(differing)}"
        )
    for each in report.models:
        made += [f"{each.model.name}: {line}" for line in each.model.lacking]
        if report.against is not None and not each.comparisons:
            made.append(f"{each.model.name}: nothing to compare with {report.against}")
    return made


def rows_of(
    block: Block, parts: Iterable[str] = tuple(_PARTS), intervals: Collection[str] = _WITH_INTERVALS
) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a block.

    Args:
        block: The block.
        parts: To show; those that none of its rows has are left out.
        intervals: The parts that are shown with theirs.
    """
    rows = [
        {part: cell(found, part in intervals) for part, found in row.cells.items()}
        | ({} if row.pairs is None else {_N: f"{row.pairs:,}"})
        for row in block.rows
    ]
    there = [part for part in parts if any(part in row for row in rows)]
    lines = [[row.metric, *(own.get(part, "-") for part in there)] for row, own in zip(block.rows, rows, strict=True)]
    return ["metric", *(_PARTS[part] for part in there)], lines


def print_report(report: Report, console: Console) -> None:
    """A table a model, the references, and what is missing. Intervals stand with the means; files have all."""
    for block in filter(_has_rows, report.blocks):
        console.print(Text.assemble(plain(block.title), "\n", (plain(block.beneath).plain, "dim")))
        whole = _table(block, tuple(_PARTS), (MEAN, BALANCED))
        fits = console.measure(whole, options=console.options.update(width=10_000)).maximum <= console.width
        for each in [whole] if fits else [_table(block, *narrow) for narrow in _NARROW]:
            if len(each.columns) > 2:  # of published numbers the second would have the mean alone, again
                console.print(each)
        if block.model is not None and block.model.comparisons:
            head, rows = comparison_rows(block.model.comparisons)
            less = table(f"less {report.against}", *head, numbers=tuple(head[1:]))
            for texts in rows:
                less.add_row(*texts)
            console.print(less)
    console.print(legend(report), markup=False)
    for note in notes(report):
        console.print(plain(note), style="yellow")


def _table(block: Block, parts: Iterable[str], intervals: Collection[str]) -> Table:
    """The metrics' names may be broken, numbers not."""
    head, rows = rows_of(block, parts, intervals)
    made = table("", *head, numbers=tuple(head[1:]))
    made.title = None
    for column in made.columns[1:]:
        column.no_wrap = True
    for row, texts in zip(block.rows, rows, strict=True):
        cells = [Text(text) for text in texts]
        if row.best and _PARTS[MEAN] in head:
            cells[head.index(_PARTS[MEAN])].stylize("bold")
        made.add_row(*cells)
    return made


def as_markdown(report: Report) -> str:
    """The same tables with all intervals."""
    parts = ["# GSSBench: pair accuracy", legend(report)]
    for block in filter(_has_rows, report.blocks):
        head, rows = rows_of(block)
        place = head.index(_PARTS[MEAN])
        for row, texts in zip(block.rows, rows, strict=True):
            texts[place] = f"**{texts[place]}**" if row.best else texts[place]
        parts += [f"## {_inert(block.title)}", _inert(block.beneath), markdown_table(head, rows)]
        if block.model is not None and block.model.comparisons:
            parts += [f"Less {report.against}:", markdown_table(*comparison_rows(block.model.comparisons))]
    parts += [f"- {_inert(note)}" for note in notes(report)]
    return "\n\n".join(parts) + "\n"


def as_csv(report: Report) -> str:
    """One line a model, metric, part and number; the full precision. Published numbers are strict accuracies alone."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["model", "submission", "result", "metric", "part", "number", "value", "low", "high"])
    for each in report.models:
        result = each.model.result
        own = [escape_csv(each.model.name), result.submission_id, result.result_id]
        for metric, found in each.evaluations.items():
            writer.writerows([*own, metric, *line] for line in csv_lines(found))
    for name, found in report.references.items():
        writer.writerows(["references", "", "", name, *line] for line in csv_lines(found))
    for block in report.published:
        writer.writerows(
            [escape_csv(block.title), "", "", row.metric, *line] for row in block.rows for line in _strict_lines(row)
        )
    return file.getvalue()


def _strict_lines(row: Row) -> Iterable[list[str]]:
    for part, found in row.cells.items():
        values = (found.value, found.low, found.high)
        yield [part, "strict", *("" if value is None else f"{value:.6g}" for value in values)]


def _has_rows(block: Block) -> bool:
    """A model may have none; the notes tell why."""
    return bool(block.rows)


def _inert(text: str) -> str:
    r"""Strangers' text that becomes neither markup nor HTML.

    >>> print(_inert("<b>*bold*</b> [a](b)"))
    \<b\>\*bold\*\</b\> \[a\]\(b\)
    """
    return re.sub(r"([\\`*_{}\[\]()<>#+!|~&])", r"\\\1", text)
