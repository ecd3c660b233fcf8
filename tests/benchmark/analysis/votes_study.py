"""The tables of docs/votes.md: votes on many simulated boards.

`python -m tests.benchmark.analysis.votes_study` prints them.
"""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
import typer
from rich.text import Text

from benchmark.analysis.votes.davidson import fit_votes
from benchmark.analysis.votes.simulation import Board, simulate
from benchmark.analysis.votes.study import (
    HIGH,
    QUESTION,
    Recovery,
    recovery,
    recovery_table,
    resistance,
    resistance_table,
)
from benchmark.analysis.votes.weights import weigh
from divbench.core.console import out, progress
from divbench.core.tables import Table, to_markdown

CASES: tuple[tuple[str, Board], ...] = (
    ("40 systems, 20,000 votes, 15% careless", Board()),
    ("nobody careless", Board(careless=0.0)),
    ("30% careless", Board(careless=0.3)),
    ("5 votes a voter", Board(per_voter=5.0)),
    ("24 prompts", Board(prompts=24)),
    ("noisier: prompts 1.0, sharpness 0.6", Board(by_prompt=1.0, sharpness=0.6)),
    ("10 systems, 2,000 votes", Board(systems=10, votes=2000)),
)
ATTACKS: tuple[tuple[str, Board], ...] = tuple(
    (f"{attack}, {name}", Board(hostile=0.05, attack=attack, target=target))
    for attack in ("loyal", "picky")
    for name, target in (("median system", 0.5), ("weakest system", 0.0))
)
SYSTEMS, VOTES = (10, 20, 40), (1000, 2000, 5000, 10_000, 20_000, 50_000)
DRAWS = 200  # resamples of a board


def planning(boards: int) -> dict[tuple[int, int], Recovery]:
    """Compute the recovery by number of systems and number of votes."""
    return {
        (count, number): recovery(Board(systems=count, votes=number), boards) for count in SYSTEMS for number in VOTES
    }


def bootstrap_coverage(board: Board, boards: int) -> float:
    """Return the coverage if voters and prompts are resampled together (two_way.py says why it is too high).

    In a resample, a vote counts as often as its voter times its prompt.
    """
    found = []
    for number in range(boards):
        made = simulate(board, number)
        ballots, votes = made.ballots, weigh(made.ballots).votes
        chosen = ballots.on(QUESTION) & (votes > 0)
        rng = np.random.default_rng(number)
        drawn = []
        for _ in range(DRAWS):
            voters, prompts = (
                np.bincount(rng.integers(count, size=count), minlength=count)
                for count in (len(ballots.voters), len(ballots.prompts))
            )
            drawn.append(fit_votes(ballots, chosen, votes * voters[ballots.voter] * prompts[ballots.prompt]).strengths)
        middle = fit_votes(ballots, chosen, votes).strengths
        found.append(float((np.abs(middle - made.truth) <= 1.96 * np.std(drawn, axis=0)).mean()))
    return float(np.mean(found))


def planning_table(found: Mapping[tuple[int, int], Recovery]) -> Table:
    """Return a table with one row per number of votes, and one column per number of systems."""
    systems, votes = (sorted({key[i] for key in found}) for i in (0, 1))
    columns = ["votes", *(f"{count} systems" for count in systems)]
    rows = []
    for number in votes:
        cells = (found[count, number] for count in systems)
        rows.append((f"{number:,}", *(f"±{each.points:.1f}, {each.correlation:.3f}" for each in cells)))
    return Table("", columns, rows)


def _main(
    boards: Annotated[int, typer.Option(min=2, help="Number of simulated boards of the first case.")] = 200,
) -> None:
    """Print the tables of docs/votes.md."""
    fewer = max(2, boards // 8)
    whole = CASES[0][1]
    cases, attacks = [], []
    with progress() as bar:
        for i, (name, board) in enumerate(bar.track(CASES, description="recovery")):
            cases.append((name, recovery(board, fewer if i else boards)))
        cases.insert(1, ("the same, each vote counted as 1", recovery(whole, fewer, weighted=False)))
        for name, board in bar.track(ATTACKS, description="attacks"):
            attacks.append((name, resistance(board, fewer)))
            attacks.append((f"{name}, each vote counted as 1", resistance(board, fewer, weighted=False)))
        bar.add_task("votes to plan, and bootstrap", total=None)
        planned = planning(max(2, boards // 20))
        together = bootstrap_coverage(whole, max(2, boards // 10))
    for table in (recovery_table(cases), resistance_table(attacks), planning_table(planned)):
        out().print(Text(to_markdown(table)), "", soft_wrap=True)
    first = cases[0][1]
    out().print(
        f"At least {HIGH}: {first.high_correlations:.1%} of boards. Standard error of the coverage: "
        f"{first.coverage_error:.2%}. Mean weight of careless voters {first.careless_weight:.2f}, of careful ones "
        f"{first.careful_weight:.2f}; careful voters left out by the second rule: {first.accused:.1f} a board.",
        markup=False,
        soft_wrap=True,
    )
    out().print(f"Coverage of a bootstrap that draws voters and prompts together: {together:.1%}", soft_wrap=True)


if __name__ == "__main__":
    typer.run(_main)
