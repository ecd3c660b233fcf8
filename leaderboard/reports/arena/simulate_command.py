"""`divbench people simulate`."""

from typing import Annotated

import typer

from divbench.core.console import JsonOption, out, print_json, progress
from divbench.core.errors import ConfigurationError
from submissions.choices import VoteAttack


def simulate(
    systems: Annotated[int, typer.Option(min=2, max=200, help="Number of systems.")] = 40,
    votes: Annotated[int, typer.Option(min=100, max=200_000, help="Number of votes on one question.")] = 20_000,
    prompts: Annotated[int, typer.Option(min=2, max=10_000, help="Number of prompts.")] = 100,
    per_voter: Annotated[float, typer.Option(min=1, max=1000, help="Mean number of votes per voter.")] = 20.0,
    careless: Annotated[float, typer.Option(min=0, max=0.5, help="Share of voters who answer without looking.")] = 0.15,
    hostile: Annotated[float, typer.Option(min=0, max=0.5, help="Share of voters who push one system.")] = 0.0,
    attack: Annotated[
        VoteAttack,
        typer.Option(
            help="Attack: loyal voters vote for their system whenever it is shown; picky ones vote only then."
        ),
    ] = "picky",
    boards: Annotated[int, typer.Option(min=2, max=1000, help="Number of simulated boards.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the first board.")] = 0,
    json: JsonOption = False,
) -> None:
    """Plan an arena: how precise are strengths after so many votes, and what can careless and hostile voters do?

    Systems and voters are simulated; docs/votes.md has the model and tables for many sizes.

    Example: divbench people simulate --systems 20 --votes 5000
    """
    from benchmark.analysis.votes.simulation import Board
    from benchmark.analysis.votes.study import recovery, recovery_table, resistance, resistance_table
    from divbench.core.files import plain_json
    from divbench.core.tables import to_terminal

    fewest = max(10 * systems, round(20 * per_voter))
    if votes < fewest:
        raise ConfigurationError(
            f"{votes:,} votes are too few to simulate", f"at least 10 per system and 20 voters: {fewest:,}"
        )
    board = Board(systems=systems, votes=votes, prompts=prompts, per_voter=per_voter, careless=careless, attack=attack)
    with progress() as bar:
        task = bar.add_task("boards", total=boards * (2 if hostile else 1))
        found = recovery(board, boards, seed=seed, progress=lambda done: bar.update(task, completed=done))
        attacked = None
        if hostile:
            from dataclasses import replace

            attacked = resistance(
                replace(board, hostile=hostile),
                boards,
                seed=seed,
                progress=lambda done: bar.update(task, completed=boards + done),
            )
    if json:
        print_json(plain_json({"board": board, "recovery": found, "attack": attacked}))
        return
    name = f"{systems} systems, {votes:,} votes, {careless:.0%} careless"
    out().print(to_terminal(recovery_table([(name, found)])))
    if attacked is not None:
        out().print(to_terminal(resistance_table([(f"{hostile:.0%} {attack}", attacked)])))
