"""How a result looks in a terminal."""

from rich.console import Console
from rich.text import Text

from benchmark.scoring.result_schema import Result
from datasets_build.console import table
from datasets_build.tables import plain

ARROWS = {1: "↑", 0: "", -1: "↓"}  # the way to more diversity


def number(value: float | None) -> str:
    """Four significant places, fixed; a dash for what is missing."""
    return "-" if value is None else f"{value:.4f}" if abs(value) < 100 else f"{value:.1f}"


def print_result(result: Result, console: Console) -> None:
    """The means with their intervals, and what is missing."""
    title = Text.assemble(plain(result.manifest.name), f" on {result.suite}, k = {result.k}, profile {result.profile}")
    made = table(
        "", "metric", "mean", "95% interval", "prompts", "missing", numbers=("mean", "95% interval", "prompts")
    )
    made.title = title
    for score in result.scores:
        interval = "" if score.low is None else f"{number(score.low)} … {number(score.high)}"
        missing = ", ".join(f"{count} {reason}" for reason, count in score.missing.items())
        made.add_row(
            f"{score.metric} {ARROWS[score.direction]}", number(score.value), interval, str(score.n), plain(missing)
        )
    console.print(made)
    if error := result.order_error:
        known = (
            "unknown" if error.a_n is None else f"{error.a_n:.2g} bits/byte (of one prompt's {error.a_n_of_one:.2g})"
        )
        console.print(f"orders {error.orders}: the standard error that they leave in the mean of a_n is {known}")
    counts = result.counts
    console.print(
        f"{counts.responses:,} responses: {counts.blank} blank, {counts.placeholder} placeholders, "
        f"{counts.refused} refused, {counts.cut_off} cut off, {counts.repeated} repeat an earlier one of their prompt"
    )
