"""How exports look in a terminal."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from benchmark.exports.dpo import Exported
from benchmark.exports.scored import ScoredResult
from benchmark.scoring.printing import number
from datasets_build.console import table
from datasets_build.tables import plain


def print_exported(exported: Exported, console: Console) -> None:
    """How many prompts gave a pair and why others did not, and what was chosen and rejected on average."""
    rule, rows = exported.provenance.rule, exported.pairs.rows
    made = table("", "prompts", "", numbers=("prompts",))
    made.title = Text(f"{exported.provenance.metric}, rho = {rule.rho:g} by {rule.by}")
    made.add_row(str(len(rows)), "a pair")
    for reason, count in exported.pairs.skipped.items():
        made.add_row(str(count), plain(f"no pair: {reason}"))
    console.print(made)
    means = table("Means over pairs", "", "reward", "diversity", numbers=("reward", "diversity"))
    for side, own in exported.means.items():
        means.add_row(side, number(own["reward"]), number(own["diversity"]))
    console.print(means)
    console.print(f"written: {exported.files.pairs}, {exported.format}", markup=False, soft_wrap=True)
    if exported.files.table is not None:
        console.print(f"written: {exported.files.table}", markup=False, soft_wrap=True)


def print_results(written: Sequence[tuple[ScoredResult, Sequence[Path]]], console: Console) -> None:
    """What was written of each result, and which metrics have no value."""
    for scored, files in written:
        result = scored.result
        about = f"{result.result_id}, {result.suite}, k = {result.k}: {len(scored.scores)} metrics"
        console.print(Text.assemble(plain(result.manifest.name), f" ({about})"), soft_wrap=True)
        if scored.left_out:
            console.print(f"without a value, and left out: {', '.join(scored.left_out)}", markup=False, soft_wrap=True)
        for path in files:
            console.print(f"written: {path}", markup=False, soft_wrap=True)
