"""Print findings and submissions in a terminal; untrusted text is printed without markup or control codes."""

from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from divbench.core.errors import counted
from divbench.core.tables import Table, plain, styled, to_terminal
from submissions.checking.response_kinds import kinds_text
from submissions.checking.validate import Report
from submissions.untrusted.findings import KEPT_PER_CHECK, Findings, place

SHOWN = 50


def print_findings(findings: Findings, console: Console) -> None:
    """Print a table of problems, errors before warnings and one line for each kind, and the counts."""
    errors, warnings = findings.count("error"), findings.count("warning")
    if findings.problems:
        kinds = findings.kinds()
        rows = [
            styled((p.severity, place(kind), p.message, p.hint), "red" if p.severity == "error" else "yellow")
            for kind in kinds[:SHOWN]
            for p in kind[:1]
        ]
        console.print(to_terminal(Table("Problems", ("", "where", "what is wrong", "hint"), rows)))
        if len(kinds) > SHOWN:
            console.print(
                f"Only the first {SHOWN} kinds are shown; --json lists up to {KEPT_PER_CHECK} problems per check."
            )
        elif errors + warnings > len(findings.problems):
            console.print(f"Only the first {KEPT_PER_CHECK} problems of each check are listed.")
    console.print(f"{counted(errors, 'error')}, {counted(warnings, 'warning')}")


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
