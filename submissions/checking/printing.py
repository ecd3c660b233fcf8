"""Print findings and submissions in a terminal; untrusted text is printed without markup or control codes."""

from rich.console import Console
from rich.text import Text

from datasets_build.tables import Table, plain, styled, to_terminal
from submissions.checking.validate import Report
from submissions.untrusted.findings import Findings

SHOWN = 50


def print_findings(findings: Findings, console: Console) -> None:
    """A table of problems: the first 50 of them, errors before warnings, and the counts."""
    if findings.problems:
        ordered = sorted(findings.problems, key=lambda p: p.severity != "error")
        rows = [
            styled(
                (p.check, p.severity, p.file, "" if p.row is None else p.row, p.field, p.message, p.hint),
                "red" if p.severity == "error" else "yellow",
            )
            for p in ordered[:SHOWN]
        ]
        columns = ("check", "", "file", "row", "field", "what is wrong", "hint")
        console.print(to_terminal(Table("Problems", columns, rows, numbers=("row",))))
    errors, warnings = findings.count("error"), findings.count("warning")
    if errors + warnings > SHOWN:
        console.print(f"The first {SHOWN} are shown; --json lists up to 200 of each check.")
    console.print(f"{errors} errors, {warnings} warnings")


def print_report(report: Report, console: Console) -> None:
    """What a checked folder holds, and what is wrong with it."""
    counts = report.counts
    if report.submission is not None:
        manifest = report.submission.manifest
        console.print(Text.assemble(("Accepted: ", "green"), plain(manifest.name), f" as {report.submission.id}"))
        console.print(f"  suite {manifest.suite}, k = {manifest.generation.k}, system type {manifest.system.type}")
    console.print(
        f"  {counts.prompts:,} prompts, {counts.responses:,} responses: {counts.blank} blank, "
        f"{counts.placeholder} placeholders, {counts.refused} refused, {counts.cut_off} cut off, "
        f"{counts.repeated} repeat an earlier one"
    )
    print_findings(report.findings, console)
