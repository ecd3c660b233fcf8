"""`divbench metrics reproduce`, with its report for the terminal, Markdown, CSV and JSON."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from divbench.core.console import JsonOption, deliver, err, steps
from divbench.core.errors import ConfigurationError
from divbench.core.tables import Block, Report, Styled, Table, check_report_path

if TYPE_CHECKING:
    from benchmark.analysis.reproduce.cells import Cell, Reproduced

_COLUMNS_AT_ONCE = 7  # of a terminal's width
_STYLE = {"differs": "yellow", "differs without a known reason": "bold red", "cannot": "dim"}
LEGEND = (
    "ours = published: equal to the printed digits. ours ≠ published (1): a known difference; see the note below. "
    "ours ≠ published !: a difference without a known reason. A published number alone cannot be recomputed here; "
    "the reason is below."
)


def reproduce(
    tables: Annotated[
        list[str] | None,
        typer.Argument(
            help="Tables: tevet-2, -4, -8, -9, -10, decan-2, -3, -4, -5, -7, gssbench-2, -a10, noveltybench-1; "
            "default: all."
        ),
    ] = None,
    destination: Annotated[
        Path | None, typer.Option("--out", help="Output file of all numbers: .md, .tex, .json or .csv.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Recompute the tables of the papers from the released data, and show ours beside every printed number.

    Each of our numbers equals the printed digits; or differs, with or without a known reason; or cannot be recomputed,
    because its data were not released.

      divbench metrics reproduce tevet-2 decan-2

      divbench metrics reproduce --out tables.md

    Exit status: 1 if a number differs without a known reason, 2 if a table could not be computed.
    """
    from benchmark.analysis.reproduce.cells import Inputs
    from benchmark.analysis.reproduce.tables import find_tables, reproduce_table

    chosen = find_tables(tables or [])
    check_report_path(destination)
    reproduced: list[Reproduced] = []
    not_run: dict[str, ConfigurationError] = {}
    inputs = Inputs()
    with steps() as progress:
        for done, table in enumerate(chosen):
            progress(table.id, done, len(chosen))
            try:
                reproduced.append(reproduce_table(table, inputs))
            except ConfigurationError as error:
                not_run[table.id] = error
    if not reproduced:
        raise next(iter(not_run.values()))
    reasons = {name: str(error) for name, error in not_run.items()}
    for name, reason in reasons.items():
        err().print(f"{name} was not run: {reason}", style="yellow", markup=False, soft_wrap=True)
    deliver(report_of(reproduced, reasons), destination, as_json=json)
    if any(table.counts["unexplained"] for table in reproduced):
        raise typer.Exit(1)
    if not_run:
        raise typer.Exit(ConfigurationError.exit_status)


def report_of(reproduced: "Sequence[Reproduced]", not_run: Mapping[str, str]) -> Report:
    """Make the report of some tables, with the reasons why others were not run."""
    counts = [(table.id, summary(table.counts)) for table in reproduced]
    skipped = [(name, f"not run: {reason}") for name, reason in not_run.items()]
    tables = [_blocks(table) for table in reproduced]
    spaced: list[Block] = [block for blocks in tables for block in (*blocks, "")]
    return Report(
        title="Published tables, recomputed",
        blocks=[Table("Summary", ("table", "cells"), counts + skipped, numbers=()), *chain(*tables), LEGEND],
        document={"tables": [table.as_json() for table in reproduced], "not_run": dict(not_run)},
        printed=[*spaced, LEGEND, *(f"{name}: {text}" for name, text in counts)],
        records=_records(reproduced),
    )


def summary(counts: Mapping[str, int]) -> str:
    """Return the number of cells by verdict, in words."""
    words = {
        "same": "same",
        "differs": "known to differ",
        "unexplained": "differing without a known reason",
        "cannot": "not reproducible from what was released",
    }
    return ", ".join(f"{counts[name]} {text}" for name, text in words.items() if counts[name])


def _blocks(table: "Reproduced") -> list[Block]:
    """Return a table as in its paper, with ours beside each number, and the reasons below."""
    columns = list(dict.fromkeys(cell.published.column for cell in table.cells))
    by_place = {cell.published.place: cell for cell in table.cells}
    reasons: dict[str, int] = {}
    for cell in table.cells:
        if cell.verdict != "same":
            reasons.setdefault(cell.outcome, len(reasons) + 1)
    blocks: list[Block] = []
    for start in range(0, len(columns), _COLUMNS_AT_ONCE):
        part = columns[start : start + _COLUMNS_AT_ONCE]
        rows = []
        for row in dict.fromkeys(cell.published.row for cell in table.cells):
            cells = [by_place.get((row, column)) for column in part]
            if any(cells):
                rows.append((row, *("" if cell is None else _short(cell, reasons) for cell in cells)))
        blocks.append(Table("" if start else f"{table.id}. {table.title}", ("", *part), rows))
    notes = [f"({index}) {reason}" for reason, index in reasons.items()]
    return [*blocks, summary(table.counts), *notes, *table.notes]


def _short(cell: "Cell", reasons: Mapping[str, int]) -> Styled:
    """Write our number beside the published one, with one digit more."""
    printed, digits = cell.published.printed, cell.published.digits
    if cell.verdict == "cannot":
        return Styled(f"{printed} ({reasons[cell.outcome]})", _STYLE["cannot"])
    if cell.ours is None:
        ours = "-"
    elif cell.ours and abs(cell.ours) < 1e-4:
        ours = f"{cell.ours:.2e}"
    else:
        ours = f"{cell.ours:.{min(digits + 1, 6) if digits else 0}f}"
    if cell.verdict == "same":
        return Styled(f"{ours} = {printed}")
    mark = f"({reasons[cell.outcome]})" if cell.verdict == "differs" else "!"
    return Styled(f"{ours} ≠ {printed} {mark}", _STYLE[cell.verdict])


def _records(reproduced: "Iterable[Reproduced]") -> Table:
    """Make a table of one row per number, in full precision."""
    rows = [
        (table.id, *p.place, cell.ours, p.value, cell.difference, cell.outcome, p.source)
        for table in reproduced
        for cell, p in ((cell, cell.published) for cell in table.cells)
    ]
    columns = ("table", "row", "column", "ours", "published", "difference", "verdict", "source")
    return Table("", columns, rows)
