"""*complement*: an item, and anything but that item."""

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from datasets_build.gssbench.rng import by_turns, shuffled
from datasets_build.gssbench.rows import pair_row
from datasets_build.gssbench.tasks import Kind, families

PER_FAMILY = 100


def rows(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield 500 pairs, 100 of each family; each pair is a set of its own."""
    number = 0
    for family in families():
        topics = shuffled(family.topics(), rng)
        items = by_turns([_items(*topic, index, rng) for index, topic in enumerate(topics)])
        for item in islice(items, PER_FAMILY):
            number += 1
            pair_id = f"complement-{number:04d}"
            a = f"Generate {family.noun} {item}."
            b = f"Generate anything that is not {family.noun} {item}."
            yield pair_row(pair_id, a, b, set_id=pair_id, relation="X<not X", template=family.name)


def _items(topic: str, contexts: Sequence[str], kind: Kind, index: int, rng: random.Random) -> list[str]:
    """Describe a topic three times: with a context, with a qualifier, and with both.

    The topic's index determines which comes first, so that the three are equally frequent in any prefix of the items.
    """
    contexts = shuffled(contexts, rng)
    qualifiers = shuffled(kind.qualifiers, rng)
    forms = (
        f"{topic} {contexts[0]}",
        f"{topic} {qualifiers[0]}",
        f"{topic} {contexts[1]} {qualifiers[1]}",
    )
    return [forms[(index + turn) % len(forms)] for turn in range(len(forms))]
