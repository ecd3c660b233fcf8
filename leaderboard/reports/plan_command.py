"""`divbench metrics plan`."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from divbench.core.console import JsonOption, out, print_json
from divbench.core.errors import ConfigurationError

if TYPE_CHECKING:
    from benchmark.analysis.power import Labels

K = 10  # responses per prompt in the reference results used here
KS = (3, 4, 5, 6, 8, 10)


def plan(
    effect: Annotated[
        float, typer.Option(min=0.001, max=1, help="Relative difference to detect: 0.1 is a tenth.")
    ] = 0.1,
    prompts: Annotated[int, typer.Option(min=3, max=100_000, help="Number of available prompts.")] = 100,
    power: Annotated[float, typer.Option(min=0.1, max=0.999, help="Probability of detecting the difference.")] = 0.8,
    json: JsonOption = False,
) -> None:
    """Compute how many prompts and responses it takes to detect a difference between two systems in valid_distinct_k.

    Variances are estimated from the reference results: nine known systems on NoveltyBench's curated prompts. The test
    is a two-sided paired t-test over prompts at 5%.

    Example: divbench metrics plan --effect 0.1
    """
    from benchmark.analysis.power import MOST_PROMPTS, components, headline_at
    from benchmark.analysis.power import plan as planned
    from divbench.core.tables import Table, to_terminal

    labels = reference_labels()
    rows = planned(labels, effect, KS, prompts, power)
    parts = components(headline_at(labels, K // 2))
    if json:
        print_json(
            {"effect": effect, "power": power, "prompts": prompts}
            | {"rows": [asdict(row) for row in rows], "components": asdict(parts)}
        )
        return
    cells = [
        (
            row.k,
            f"{row.mean:.2f}",
            f"{row.effect:.2f}",
            row.prompts,
            None if row.prompts is None else row.prompts * row.k,
            row.prompts_hard,
            f"{row.smallest:.1%}" if row.smallest <= 1 else None,
        )
        for row in rows
    ]
    columns = (
        "k",
        "mean",
        "difference",
        "prompts",
        "responses per system",
        "prompts, hard pair",
        f"detectable with {prompts} prompts",
    )
    total = parts.prompts + parts.interaction + parts.sampling
    shares = [f"{part / total:.0%}" for part in (parts.prompts, parts.interaction, parts.sampling)]
    notes = (
        f"Prompts and responses needed to detect a difference of {effect:.1%} in valid_distinct_k with a power of "
        f"{power:g}, for the median pair of systems. A hard pair is one whose difference varies more than that of nine "
        "pairs in ten. Detectable is the smallest such difference. A dash: more than "
        f"{MOST_PROMPTS:,} prompts, or a difference of over 100%.",
        f"At k = {K // 2}, a system's variance over prompts is {shares[0]} prompts, {shares[1]} interaction of system "
        f"and prompt, {shares[2]} sampling. The part that all systems share cancels in a paired comparison.",
    )
    out().print(to_terminal(Table("Prompts and responses for a comparison", columns, cells, notes)))


def reference_labels() -> "Labels":
    """Return the classes of responses in the reference results at k = 10, [systems, prompts, responses]; -1: invalid.

    Raises:
        ConfigurationError: The package has no reference results.
    """
    import numpy as np
    import pyarrow.parquet as pq

    from benchmark.scoring.results import PER_PROMPT_FILE
    from leaderboard.data.board import REFERENCE_TYPES
    from leaderboard.data.reference.results import reference_results
    from leaderboard.data.reference.systems import SUITE

    found = [
        folder
        for folder, result in reference_results().results.items()
        if result.suite == SUITE and result.k == K and result.manifest.system.type not in REFERENCE_TYPES
    ]
    made = []
    for folder in found:
        table = pq.read_table(folder / PER_PROMPT_FILE, columns=["prompt_id", "classes", "invalid"])
        rows = sorted(table.to_pylist(), key=lambda row: str(row["prompt_id"]))
        made.append([_valid(row["classes"]["labels"] if row["classes"] else [], row["invalid"] or []) for row in rows])
    if not made:
        raise ConfigurationError("there are no reference results", "divbench board reference makes them")
    return np.array(made, np.int64)


def _valid(labels: "list[int]", reasons: "list[str | None]") -> "list[int]":
    """Replace the classes of invalid responses by -1; blank responses and placeholders have no class and come last."""
    valid = [label if reason is None else -1 for label, reason in zip(labels, reasons, strict=True)]
    return valid + [-1] * (K - len(valid))
