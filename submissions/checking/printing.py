"""Print findings and submissions in a terminal; untrusted text is printed without markup or control codes."""

from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from divbench.core.errors import counted
from divbench.core.tables import Styled, Table, plain, styled, to_terminal
from submissions.checking.response_kinds import kinds_text
from submissions.checking.validate import Report
from submissions.untrusted.findings import KEPT_PER_CHECK, Findings, Problem

SHOWN = 50
WIDE = 120  # columns of a terminal in which each part of a problem gets a column of its own


def print_findings(findings: Findings, console: Console) -> None:
    """Print a table of problems, errors before warnings and one line for each kind, and the counts."""
    errors, warnings = findings.count("error"), findings.count("warning")
    if findings.problems:
        ordered = sorted(findings.problems, key=lambda p: p.severity != "error")
        alike: dict[tuple[str, ...], list[Problem]] = {}  # a mistake in every row is shown once
        for p in ordered:
            alike.setdefault((p.check, p.severity, p.file, p.field.partition("[")[0], p.message, p.hint), []).append(p)
        rows = [
            styled(
                (p.check, p.severity, p.file, _rows(same), p.field if len(same) == 1 else key[3], p.message, p.hint),
                "red" if p.severity == "error" else "yellow",
            )
            for key, same in list(alike.items())[:SHOWN]
            for p in same[:1]
        ]
        columns: tuple[str, ...] = ("check", "", "file", "row", "field", "what is wrong", "hint")
        if console.width < WIDE:
            columns = ("", "where", "what is wrong", "hint")
            rows = [_narrow(row) for row in rows]
        console.print(to_terminal(Table("Problems", columns, rows, numbers=("row",) if "row" in columns else ())))
        if len(alike) > SHOWN:
            console.print(
                f"Only the first {SHOWN} kinds are shown; --json lists up to {KEPT_PER_CHECK} problems per check."
            )
        elif errors + warnings > len(findings.problems):
            console.print(f"Only the first {KEPT_PER_CHECK} problems of each check are listed.")
    console.print(f"{counted(errors, 'error')}, {counted(warnings, 'warning')}")


def _narrow(row: Sequence[Styled]) -> list[Styled]:
    """Join the cells that say where a problem is: a terminal of 80 columns then has space for the message and hint."""
    _, severity, file, number, field, message, hint = (cell.text for cell in row)
    where = ", ".join(filter(None, (file, number and f"row {number}", field)))
    return styled((severity, where, message, hint), row[0].style)


def _rows(problems: Sequence[Problem]) -> str:
    numbers = sorted({p.row for p in problems if p.row is not None})
    others = len(numbers) - 1
    return "" if not numbers else f"{numbers[0]}" if not others else f"{numbers[0]} and {others} more"


def print_report(report: Report, console: Console) -> None:
    """Print the contents of a checked folder and its problems."""
    counts = report.counts
    if report.submission is not None:
        manifest = report.submission.manifest
        console.print(Text.assemble(("Accepted: ", "green"), plain(manifest.name), f" as {report.submission.id}"))
        console.print(f"  suite {manifest.suite}, k = {manifest.generation.k}, system type {manifest.system.type}")
    console.print(
        f"  {counted(counts.prompts, 'prompt')}, {counted(counts.responses, 'response')}: {kinds_text(asdict(counts))}"
    )
    print_findings(report.findings, console)
