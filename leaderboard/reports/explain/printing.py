"""Print an explanation in a terminal, with untrusted texts free of markup and control codes."""

from collections.abc import Iterable, Sequence

from rich.console import Console, RenderableType

from benchmark.analysis.explain import Explanation
from datasets_build.errors import counted
from datasets_build.tables import Table, plain, to_terminal
from leaderboard.reports.explain.rows import (
    CURVE_COLUMNS,
    RESPONSE_COLUMNS,
    SCALAR_COLUMNS,
    curve_rows,
    notes,
    response_rows,
    scalar_rows,
)
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
    console.print(_table("What the model finds", SCALAR_COLUMNS, scalar_rows(found), texts=("unit", "what it says")))
    console.print(_table("The curve, with standard errors (SE)", CURVE_COLUMNS, curve_rows(found)))
    console.print(_table("The responses", RESPONSE_COLUMNS, response_rows(found, TEXT), texts=("text",)))
    if len(found.given.responses) > SHOWN:
        console.print(f"The first {SHOWN} positions and responses are shown; --json has all.")
    for note in notes(found, left_out, precision):
        console.print(plain(note), soft_wrap=True)


def _table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], texts: tuple[str, ...] = ()
) -> RenderableType:
    numbers = [column for column in columns[1:] if column not in texts]
    return to_terminal(Table(title, columns, list(rows)[:SHOWN], numbers=numbers))
