"""Print an explanation in a terminal, with untrusted texts free of markup and control codes."""

from dataclasses import replace

from rich.console import Console

from benchmark.analysis.explain import Explanation
from datasets_build.errors import counted
from datasets_build.tables import plain, to_terminal
from leaderboard.reports.explain.rows import notes, tables
from submissions.untrusted.plain_text import shortened

SHOWN = 50  # rows of a table
TEXT, PROMPT = 60, 200  # letters


def print_explanation(
    found: Explanation, title: str, console: Console, left_out: int = 0, precision: float | None = None
) -> None:
    """Print the scalars, the curve and the responses as tables, and the rest in sentences."""
    console.print(
        plain(f"{title}: {counted(len(found.given.responses), 'response')}, read by {found.model} ({found.layout})")
    )
    console.print(plain(f"Prompt: {shortened(found.given.prompt, PROMPT)}"))
    for table in tables(found, TEXT):
        console.print(to_terminal(replace(table, rows=table.rows[:SHOWN])))
    if len(found.given.responses) > SHOWN:
        console.print(f"The first {SHOWN} positions and responses are shown; --json has all.")
    for note in notes(found, left_out, precision):
        console.print(plain(note), soft_wrap=True)
