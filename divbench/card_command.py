"""`divbench metrics show`."""

from dataclasses import asdict
from typing import Annotated

import typer

from divbench.core.console import JsonOption, out, print_json


def show(
    names: Annotated[list[str], typer.Argument(help="Ids of metrics, such as vendi_score.")],
    json: JsonOption = False,
) -> None:
    """Show what a metric measures, how it agrees with people, and where it fails.

    Example: divbench metrics show valid_distinct_k distance_beside_prompt
    """
    from divbench.cards import metric

    cards = [metric(name) for name in names]
    if json:
        print_json([asdict(card) for card in cards])
        return
    console = out()
    for place, card in enumerate(cards):
        if place:
            console.print()
        for line in str(card).splitlines():
            console.print(line, markup=False, soft_wrap=not console.is_terminal)  # a pipe gets whole lines
