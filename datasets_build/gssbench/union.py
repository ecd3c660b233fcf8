"""*union*: four alternatives for one request; a request that allows more of them has a larger space."""

import random
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any

from datasets_build.gssbench.lattice import INCLUSIONS, LETTERS, MEMBERS
from datasets_build.gssbench.rng import by_turns, shuffled
from datasets_build.gssbench.rows import pair_row
from datasets_build.word_banks import word_bank

SETS = 60


def rows(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield 60 sets of 50 pairs: the strict inclusions among the 15 combinations of four alternatives."""
    decks = []
    for name, theme in word_bank("gssbench", "alternatives").items():
        combinations = shuffled(product(theme["requests"], theme["quadruples"]), rng)
        decks.append([(name, request, quadruple) for request, quadruple in combinations])
    for number, (name, request, quadruple) in enumerate(islice(by_turns(decks), SETS), start=1):
        set_id = f"union-{number:03d}"
        alternatives = dict(zip(LETTERS, shuffled(quadruple, rng), strict=True))
        texts = {member: request.format(one_of([alternatives[letter] for letter in member])) for member in MEMBERS}
        for small, large in INCLUSIONS:
            yield pair_row(
                f"{set_id}-{small}-{large}",
                texts[small],
                texts[large],
                set_id=set_id,
                relation=f"{small}<{large}",
                template=name,
                sizes=(len(small), len(large)),
            )


def one_of(alternatives: Sequence[str]) -> str:
    """Join the alternatives as English does.

    >>> one_of(["lunch"]), one_of(["lunch", "dinner"]), one_of(["breakfast", "lunch", "dinner"])
    ('lunch', 'lunch or dinner', 'breakfast, lunch, or dinner')
    """
    *others, last = alternatives
    if len(others) < 2:
        return " or ".join(alternatives)
    return f"{', '.join(others)}, or {last}"
