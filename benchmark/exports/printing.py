"""Prints the output of export commands."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from benchmark.exports.dpo import Exported
from benchmark.exports.scored import ScoredResult
from datasets_build.errors import counted
from datasets_build.tables import Table, plain, to_terminal


def print_exported(exported: Exported, console: Console) -> None:
    """Print how many prompts gave a pair, why others did not, and the means of chosen and rejected responses."""
    rule, rows = exported.provenance.rule, exported.pairs.rows
    counts = [(len(rows), "a pair"), *((count, f"no pair: {why}") for why, count in exported.pairs.skipped.items())]
    title = f"{exported.provenance.metric}, rho = {rule.rho:g} by {rule.by}"
    means = [(side, own["reward"], own["diversity"]) for side, own in exported.means.items()]
    console.print(to_terminal(Table(title, ("prompts", ""), counts, numbers=("prompts",))))
    console.print(to_terminal(Table("Means over pairs", ("", "reward", "diversity"), means)))
    console.print(f"written: {exported.files.pairs}, {exported.format}", markup=False, soft_wrap=True)
    if exported.files.table is not None:
        console.print(f"written: {exported.files.table}", markup=False, soft_wrap=True)


def print_results(written: Sequence[tuple[ScoredResult, Sequence[Path]]], console: Console) -> None:
    """Print which files were written for each result, and which metrics have no value."""
    for scored, files in written:
        result = scored.result
        about = f"{result.result_id}, {result.suite}, k = {result.k}: {counted(len(scored.scores), 'metric')}"
        console.print(Text.assemble(plain(result.manifest.name), f" ({about})"), soft_wrap=True)
        if scored.left_out:
            console.print(f"left out, without a value: {', '.join(scored.left_out)}", markup=False, soft_wrap=True)
        for path in files:
            console.print(f"written: {path}", markup=False, soft_wrap=True)
