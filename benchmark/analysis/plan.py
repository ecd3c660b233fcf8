"""`divbench metrics plan`: the power of the paired t-test, by the variances of known systems."""

from math import ceil, sqrt
from typing import Annotated, Any

import typer

from divbench.core.console import JsonOption, say
from divbench.core.tables import Table

MOST_PROMPTS = 100_000
# Nine known systems on NoveltyBench's curated prompts, by k of their ten responses: the mean of valid_distinct_k, and
# the standard deviation over prompts of the difference of two systems, for the median pair and for the 90th percentile.
KNOWN = {
    3: (1.8817962962962964, 1.095678264022082, 1.2060061974210994),
    4: (2.3470158730158728, 1.4017209698566728, 1.5234429345487057),
    5: (2.7862081128747795, 1.6849140518342747, 1.841542404050481),
    6: (3.2055714285714285, 1.9442483421982617, 2.1611600419127566),
    8: (3.9986913580246917, 2.485440140359205, 2.826765199641758),
    10: (4.7444444444444445, 3.0162025618654678, 3.4846169435305328),
}


def plan(
    effect: Annotated[
        float, typer.Option(min=0.001, max=1, help="Relative difference to detect: 0.1 is a tenth.")
    ] = 0.1,
    prompts: Annotated[int, typer.Option(min=3, max=MOST_PROMPTS, help="Number of available prompts.")] = 100,
    wanted: Annotated[
        float, typer.Option("--power", min=0.1, max=0.999, help="Probability of detecting the difference.")
    ] = 0.8,
    json: JsonOption = False,
) -> None:
    """Compute how many prompts and responses it takes to detect a difference between two systems in valid_distinct_k.

    Variances are those of nine known systems on NoveltyBench's curated prompts. The test is a two-sided paired t-test
    over prompts at 5%.

    Example: divbench metrics plan --effect 0.1
    """
    from scipy.optimize import brentq

    rows: list[dict[str, Any]] = []
    for k, (mean, deviation, hard) in KNOWN.items():
        smallest = brentq(lambda gap, sd=deviation: power(gap, sd, prompts) - wanted, 0.0, 100 * deviation) / mean
        needed, needed_hard = (prompts_needed(effect * mean, sd, wanted) for sd in (deviation, hard))
        row = {"k": k, "mean": mean, "effect": effect * mean, "deviation": deviation, "prompts": needed}
        rows.append(row | {"prompts_hard": needed_hard, "smallest": smallest})
    cells = [
        (
            *(row["k"], f"{row['mean']:.2f}", f"{row['effect']:.2f}", row["prompts"]),
            *(row["prompts"] and row["prompts"] * row["k"], row["prompts_hard"]),
            f"{row['smallest']:.1%}" if row["smallest"] <= 1 else None,
        )
        for row in rows
    ]
    columns = ("k", "mean", "difference", "prompts", "responses per system", "prompts, hard pair")
    note = (
        f"Prompts and responses needed to detect a difference of {effect:.1%} in valid_distinct_k with a power of "
        f"{wanted:g}, for the median pair of systems. A hard pair is one whose difference varies more than that of "
        "nine pairs in ten. Detectable is the smallest such difference. A dash: more than "
        f"{MOST_PROMPTS:,} prompts, or a difference of over 100%."
    )
    table = Table("Prompts for a comparison", (*columns, f"detectable with {prompts} prompts"), cells, [note])
    say({"effect": effect, "power": wanted, "prompts": prompts, "rows": rows}, table, as_json=json)


def power(effect: float, deviation: float, prompts: float) -> float:
    """Compute the power of the two-sided paired t-test at 5%, by the noncentral t distribution."""
    from scipy.stats import nct, t

    limit, shift = t.ppf(0.975, prompts - 1), effect * sqrt(prompts) / deviation
    return float(nct.sf(limit, prompts - 1, shift) + nct.sf(limit, prompts - 1, -shift))


def prompts_needed(effect: float, deviation: float, wanted: float) -> int | None:
    """Return the smallest number of prompts with the desired power; None if it is over `MOST_PROMPTS`."""
    from scipy.optimize import brentq

    if power(effect, deviation, MOST_PROMPTS) < wanted:
        return None
    if power(effect, deviation, 2) >= wanted:
        return 2
    return ceil(brentq(lambda n: power(effect, deviation, n) - wanted, 2, MOST_PROMPTS))
