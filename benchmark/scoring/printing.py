"""Prints a result in a terminal."""

from rich.console import Console

from benchmark.scoring.result_schema import Result
from divbench.core.errors import counted
from divbench.core.tables import Table, interval, to_terminal
from submissions.checking.response_kinds import kinds_text

ARROWS = {1: "↑", 0: "", -1: "↓"}  # the direction of more diversity


def print_result(result: Result, console: Console) -> None:
    """Print the means with their intervals and the numbers of missing values."""
    rows = [
        (
            f"{score.metric} {ARROWS[score.direction]}",
            score.value,
            interval(score.low, score.high),
            score.n,
            ", ".join(f"{count} {reason}" for reason, count in score.missing.items()),
        )
        for score in result.scores
    ]
    columns = ("metric", "mean", "95% interval", "prompts", "missing")
    title = f"{result.manifest.name} on {result.suite}, k = {result.k}, profile {result.profile}"
    console.print(to_terminal(Table(title, columns, rows, numbers=columns[1:4])))
    if error := result.order_error:
        known = "unknown" if error.a_n is None else f"{error.a_n:.2g} bits/byte (for one prompt {error.a_n_of_one:.2g})"
        console.print(f"orders {error.orders}: standard error of the mean a_n from the choice of orders: {known}")
    if result.provenance:
        console.print(f"models: {' | '.join(map(str, result.provenance))}", markup=False, soft_wrap=True)
    counts = result.counts
    console.print(f"{counted(counts.responses, 'response')}: {kinds_text(counts.model_dump())}")
    if counts.invalid is not None:
        by_reason = ", ".join(f"{count} {reason}" for reason, count in counts.invalid.items())
        console.print(f"{sum(counts.invalid.values()):,} not valid{f': {by_reason}' if by_reason else ''}")
