"""How reproduced tables look in a terminal, in Markdown and as CSV."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from benchmark.analysis.reproduce.cells import Cell, Counts, Reproduced
from datasets_build.console import table

_COLUMNS = ("row", "column", "ours", "published", "difference", "verdict", "bundled", "source")
_COLUMNS_AT_ONCE = 7  # of a terminal's width
_STYLE = {
    "same": "",
    "differs": "yellow",
    "differs without a known reason": "bold red",
    "needs": "dim",
    "cannot": "dim",
}
LEGEND = (
    "ours = printed: the same to the printed digits. ours ≠ printed (1): known to differ, why stands below. "
    "ours ≠ printed !: differs, and no reason is known. needs, cannot: printed alone, why stands below; with --bundled "
    "[the same number under the language model that comes with the package, which is another number]."
)


def number(value: float | None, digits: int) -> str:
    """A number with one digit more than is printed; a dash where there is none."""
    if value is None:
        return "-"
    if value and abs(value) < 1e-4:
        return f"{value:.2e}"
    return f"{value:.{min(digits + 1, 6) if digits else 0}f}"


def summary(counts: Counts) -> str:
    """How many cells of each verdict, in words."""
    told = {
        "same": counts.same,
        "known to differ": counts.differs,
        "differing without a known reason": counts.unexplained,
        "needing a larger model": counts.needs,
        "not to be had": counts.cannot,
    }
    return ", ".join(f"{count} {what}" for what, count in told.items() if count)


def _numbered(cells: Iterable[Cell]) -> dict[str, int]:
    """The reasons of what is not the same, numbered as they come."""
    reasons: dict[str, int] = {}
    for cell in cells:
        if cell.verdict != "same":
            reasons.setdefault(cell.said, len(reasons) + 1)
    return reasons


def _short(cell: Cell, reasons: Mapping[str, int]) -> Text:
    p = cell.published
    ours = number(cell.ours, p.digits)
    if cell.verdict == "same":
        told = f"{ours} = {p.printed}"
    elif cell.verdict in {"needs", "cannot"}:
        told = f"{p.printed} ({reasons[cell.said]})"
        if cell.bundled is not None:
            told += f" [{number(cell.bundled, p.digits)}]"
    else:
        mark = f"({reasons[cell.said]})" if cell.verdict == "differs" else "!"
        told = f"{ours} ≠ {p.printed} {mark}"
    return Text(told, style=_STYLE[cell.verdict])


def print_reproduced(found: Reproduced, console: Console) -> None:
    """A table as in its paper, with ours beside each number, and the reasons below."""
    columns = list(dict.fromkeys(cell.published.column for cell in found.cells))
    by_place = {cell.published.place: cell for cell in found.cells}
    reasons = _numbered(found.cells)
    for start in range(0, len(columns), _COLUMNS_AT_ONCE):
        part = columns[start : start + _COLUMNS_AT_ONCE]
        made = table("" if start else f"{found.id}. {found.title}", "", *part, numbers=tuple(part))
        for row in dict.fromkeys(cell.published.row for cell in found.cells):
            there = [by_place.get((row, column)) for column in part]
            if any(there):
                made.add_row(Text(row), *(Text("") if cell is None else _short(cell, reasons) for cell in there))
        console.print(made)
    console.print(summary(found.counts), markup=False)
    for reason, place in reasons.items():
        console.print(f"({place}) {reason}", markup=False)
    for note in found.notes:
        console.print(note, markup=False)
    console.print()


def as_rows(found: Iterable[Reproduced]) -> list[list[str]]:
    """One row a cell: table, then `row` to `source`."""
    made = []
    for each in found:
        for cell in each.cells:
            p = cell.published
            numbers = ["" if x is None else repr(x) for x in (cell.ours, cell.difference, cell.bundled)]
            made.append([each.id, p.row, p.column, numbers[0], p.printed, numbers[1], cell.said, numbers[2], p.source])
    return made


def as_csv(found: Iterable[Reproduced]) -> str:
    """One row a cell."""
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(["table", *_COLUMNS])
    writer.writerows(as_rows(found))
    return made.getvalue()


def as_markdown(found: Sequence[Reproduced], not_run: Mapping[str, str]) -> str:
    """A heading, notes and a table for each, one line a cell."""
    parts = ["# Published tables, recomputed\n"]
    parts += [f"- {each.id}: {summary(each.counts)}" for each in found]
    parts += [f"- {name}: not run: {reason}" for name, reason in not_run.items()]
    for each in found:
        parts += [f"\n## {each.title} (`{each.id}`)\n", *(f"{note}\n" for note in each.notes)]
        parts += ["| row | column | ours | published | difference | verdict |", "|---|---|---|---|---|---|"]
        parts += [_markdown_line(cell) for cell in each.cells]
    return "\n".join(parts) + "\n"


def _markdown_line(cell: Cell) -> str:
    p = cell.published
    gap = "-" if cell.difference is None else f"{cell.difference:+.1e}"
    said = cell.said
    if cell.bundled is not None:
        said += f"; the bundled model gives {number(cell.bundled, p.digits)}"
    values = (p.row, p.column, number(cell.ours, p.digits), p.printed, gap, said)
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"
