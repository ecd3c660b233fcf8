"""*subset*: a request in five levels, each of which extends the one before."""

import random
from collections.abc import Iterator, Sequence
from itertools import combinations, cycle, islice
from typing import Any

from datasets_build.gssbench.rng import shuffled
from datasets_build.gssbench.rows import pair_row
from datasets_build.gssbench.tasks import Kind, families

PER_FAMILY = 36

LEVELS = "ABCDE"


def rows(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield 180 sets of 10 pairs, 36 sets of each family.

    Each topic makes only one set, because two sets with the same topic would share the pair of their first two levels.
    The verbs alternate, because a request without a topic is in four pairs of each of its sets: with one verb, five
    texts would be in 720 of the 1,800 pairs.
    """
    number = 0
    for family in families():
        sets = zip(shuffled(family.topics(), rng), cycle(family.verbs), strict=False)
        for (topic, contexts, kind), verb in islice(sets, PER_FAMILY):
            number += 1
            texts = _levels(f"{verb} {family.noun}", topic, contexts, kind, rng)
            for low, high in combinations(range(len(LEVELS)), 2):
                yield pair_row(
                    f"subset-{number:03d}-{LEVELS[high]}-{LEVELS[low]}",
                    texts[high],
                    texts[low],
                    set_id=f"subset-{number:03d}",
                    relation=f"{LEVELS[high]}<{LEVELS[low]}",
                    template=family.name,
                    sizes=(high + 1, low + 1),
                )


def _levels(text: str, topic: str, contexts: Sequence[str], kind: Kind, rng: random.Random) -> list[str]:
    """Write the five texts, from the open request to the one with an outline; each extends the one before."""
    outline = " ".join(f"{number}) {point}" for number, point in enumerate(shuffled(kind.outlines, rng)[0], start=1))
    texts = [text]
    parts = (
        topic,
        shuffled(contexts, rng)[0],
        shuffled(kind.qualifiers, rng)[0],
        f"and follows the outline: {outline}",
    )
    for part in parts:
        text = f"{text} {part}"
        texts.append(text)
    return [f"{text}." for text in texts]
