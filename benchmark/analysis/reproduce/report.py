"""The report of reproduced tables, for the terminal, Markdown, CSV and JSON."""

from collections.abc import Iterable, Mapping, Sequence

from benchmark.analysis.reproduce.cells import Cell, Counts, Reproduced
from divbench.core.tables import Block, Report, Styled, Table

_COLUMNS_AT_ONCE = 7  # of a terminal's width
_STYLE = {
    "same": "",
    "differs": "yellow",
    "differs without a known reason": "bold red",
    "needs": "dim",
    "cannot": "dim",
}
LEGEND = (
    "ours = published: equal to the printed digits. ours ≠ published (1): a known difference; see the note below. "
    "ours ≠ published !: a difference without a known reason. A published number alone cannot be recomputed here; "
    "the reason is below. With --bundled: [the same statistic under the bundled language model]."
)


def report_of(found: Sequence[Reproduced], not_run: Mapping[str, str]) -> Report:
    """Return the report of some tables, and the reasons why others were not run."""
    counts = [(each.id, summary(each.counts)) for each in found]
    skipped = [(name, f"not run: {reason}") for name, reason in not_run.items()]
    printed = [block for each in found for block in (*_blocks(each), "")]
    return Report(
        title="Published tables, recomputed",
        blocks=[Table("Summary", ("table", "cells"), counts + skipped, numbers=()), *map(_long_table, found)],
        document={"tables": [each.as_json() for each in found], "not_run": dict(not_run)},
        printed=[*printed, LEGEND, *(f"{name}: {told}" for name, told in counts)],
        records=_records(found),
    )


def number(value: float | None, digits: int) -> str:
    """Format a number with one digit more than was published; a dash if it is missing."""
    if value is None:
        return "-"
    if value and abs(value) < 1e-4:
        return f"{value:.2e}"
    return f"{value:.{min(digits + 1, 6) if digits else 0}f}"


def summary(counts: Counts) -> str:
    """Return the number of cells by verdict, in words."""
    named = {
        "same": counts.same,
        "known to differ": counts.differs,
        "differing without a known reason": counts.unexplained,
        "needing a larger model": counts.needs,
        "not reproducible from what was released": counts.cannot,
    }
    return ", ".join(f"{count} {what}" for what, count in named.items() if count)


def _blocks(found: Reproduced) -> list[Block]:
    """Return a table as in its paper, with ours beside each number, and the reasons below."""
    columns = list(dict.fromkeys(cell.published.column for cell in found.cells))
    by_place = {cell.published.place: cell for cell in found.cells}
    reasons: dict[str, int] = {}
    for cell in found.cells:
        if cell.verdict != "same":
            reasons.setdefault(cell.said, len(reasons) + 1)
    made: list[Block] = []
    for start in range(0, len(columns), _COLUMNS_AT_ONCE):
        part = columns[start : start + _COLUMNS_AT_ONCE]
        rows = []
        for row in dict.fromkeys(cell.published.row for cell in found.cells):
            cells = [by_place.get((row, column)) for column in part]
            if any(cells):
                rows.append((row, *("" if cell is None else _short(cell, reasons) for cell in cells)))
        made.append(Table("" if start else f"{found.id}. {found.title}", ("", *part), rows))
    notes = [f"({index}) {reason}" for reason, index in reasons.items()]
    return [*made, summary(found.counts), *notes, *found.notes]


def _short(cell: Cell, reasons: Mapping[str, int]) -> Styled:
    p = cell.published
    ours = number(cell.ours, p.digits)
    if cell.verdict == "same":
        text = f"{ours} = {p.printed}"
    elif cell.verdict in {"needs", "cannot"}:
        bundled = "" if cell.bundled is None else f" [{number(cell.bundled, p.digits)}]"
        text = f"{p.printed} ({reasons[cell.said]}){bundled}"
    else:
        mark = f"({reasons[cell.said]})" if cell.verdict == "differs" else "!"
        text = f"{ours} ≠ {p.printed} {mark}"
    return Styled(text, _STYLE[cell.verdict])


def _long_table(found: Reproduced) -> Table:
    """Return a table with one row per cell of a published table."""
    rows = []
    for cell in found.cells:
        p = cell.published
        gap = "-" if cell.difference is None else f"{cell.difference:+.1e}"
        bundled = "" if cell.bundled is None else f"; the bundled model gives {number(cell.bundled, p.digits)}"
        rows.append((p.row, p.column, number(cell.ours, p.digits), p.printed, gap, f"{cell.said}{bundled}"))
    columns = ("row", "column", "ours", "published", "difference", "verdict")
    return Table(f"{found.title} ({found.id})", columns, rows, found.notes, numbers=columns[2:5])


def _records(found: Iterable[Reproduced]) -> Table:
    rows = []
    for each in found:
        for cell in each.cells:
            p = cell.published
            rows.append(
                (each.id, p.row, p.column, cell.ours, p.printed, cell.difference, cell.said, cell.bundled, p.source)
            )
    columns = ("table", "row", "column", "ours", "published", "difference", "verdict", "bundled", "source")
    return Table("", columns, rows)
