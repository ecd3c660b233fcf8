"""*random_choice*: pick one of two options, or one of ten that include the two."""

import random
from collections.abc import Iterator
from typing import Any

from datasets_build.gssbench.rng import shuffled
from datasets_build.gssbench.rows import pair_row
from datasets_build.word_banks import word_bank

PAIRS_IN_ALL = 500

FEW, MANY = 2, 10


def rows(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield 500 pairs, equally many of each category; each pair is a separate set.

    The two options are drawn from the ten, so one space contains the other; the paper seems to draw them separately.
    """
    options = word_bank("gssbench", "options")
    categories = list(options)
    seen: set[frozenset[str]] = set()
    number = 0
    while number < PAIRS_IN_ALL:
        category = categories[number % len(categories)]
        many = shuffled(options[category], rng)[:MANY]
        few = shuffled(many, rng)[:FEW]
        if frozenset(few) in seen or frozenset(many) in seen:
            continue
        seen |= {frozenset(few), frozenset(many)}
        number += 1
        pair_id = f"random_choice-{number:04d}"
        yield pair_row(
            pair_id,
            choice(few),
            choice(many),
            set_id=pair_id,
            relation=f"{FEW}<{MANY}",
            template=category,
            sizes=(FEW, MANY),
        )


def choice(options: list[str]) -> str:
    """Write the request in the paper's words.

    >>> choice(["melon", "fig"])
    'Choose one from the following: melon, fig.'
    """
    return f"Choose one from the following: {', '.join(options)}."
