"""*factualqa*: a question with one answer, and a request with many answers that include it."""

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

from datasets_build.gssbench.facts import templates
from datasets_build.gssbench.rng import by_turns, shuffled
from datasets_build.gssbench.rows import pair_row

PAIRS_IN_ALL = 500


def rows(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield 500 pairs, taken from the templates in turn, so that no large bank crowds out the others.

    Pairs with the same open request are one set, because they share its text and so a model's responses to it.
    """
    decks = [[(order, fact) for fact in shuffled(each.facts(), rng)] for order, each in enumerate(templates())]
    dealt = sorted(islice(by_turns(decks), PAIRS_IN_ALL), key=lambda entry: entry[0])
    sets: dict[str, str] = {}
    for number, (order, fact) in enumerate(dealt, start=1):
        yield pair_row(
            f"factualqa-{number:04d}",
            fact.question,
            fact.naming,
            set_id=sets.setdefault(fact.naming, f"factualqa-{len(sets) + 1:03d}"),
            relation="one<many",
            template=templates()[order].name,
        )
