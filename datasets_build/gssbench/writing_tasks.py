"""Pairs of writing tasks, from five families with a word bank each.

*complement*: an item, and anything but that item. *subset*: a request in five levels, each of which extends the last.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, cycle, islice
from typing import Any

from datasets_build.gssbench.rows import by_turns, pair_row, shuffled
from datasets_build.word_banks import word_bank

COMPLEMENTS_PER_FAMILY = 100
SETS_PER_FAMILY = 36
LEVELS = "ABCDE"


@dataclass(frozen=True, slots=True)
class Kind:
    """Topics of one kind, with qualifiers and outlines that fit all of them.

    Free combinations would make absurd prompts (a list to sort "with pagination"). So contexts belong to a topic, and
    qualifiers and outlines to a kind.
    """

    topics: Mapping[str, Sequence[str]]  # topics that may follow the noun, each with the contexts that may follow it
    # Clauses about the text, "that …"; none contradicts a topic, a context or an outline of the kind.
    qualifiers: Sequence[str]
    outlines: Sequence[Sequence[str]]  # the points of each outline, a few words each


@dataclass(frozen=True, slots=True)
class Family:
    """A type of text to ask for."""

    name: str  # template name in the rows, such as `email`
    verbs: Sequence[str]  # beginnings of a request, such as `Write`
    noun: str  # noun with its article, such as `an email`
    kinds: tuple[Kind, ...]

    def topics(self) -> Iterator[tuple[str, Sequence[str], Kind]]:
        """Yield every topic with its contexts and its kind, in the bank's order."""
        for kind in self.kinds:
            for topic, contexts in kind.topics.items():
                yield topic, contexts, kind


@cache
def families() -> tuple[Family, ...]:
    """Read the five families."""
    banks = [word_bank("gssbench", name) for name in ("emails", "poems", "programs", "stories", "personas")]
    return tuple(Family(**{**bank, "kinds": tuple(Kind(**kind) for kind in bank["kinds"].values())}) for bank in banks)


def complement(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield 500 pairs, 100 of each family; each pair is a set of its own."""
    number = 0
    for family in families():
        topics = shuffled(family.topics(), rng)
        items = by_turns([_items(*topic, index, rng) for index, topic in enumerate(topics)])
        for item in islice(items, COMPLEMENTS_PER_FAMILY):
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
    forms = (f"{topic} {contexts[0]}", f"{topic} {qualifiers[0]}", f"{topic} {contexts[1]} {qualifiers[1]}")
    return [forms[(index + turn) % len(forms)] for turn in range(len(forms))]


def subset(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield 180 sets of 10 pairs, 36 sets of each family.

    Each topic makes only one set, because two sets with the same topic would share the pair of their first two levels.
    The verbs alternate, because a request without a topic is in four pairs of each of its sets: with one verb, five
    texts would be in 720 of the 1,800 pairs.
    """
    number = 0
    for family in families():
        sets = zip(shuffled(family.topics(), rng), cycle(family.verbs), strict=False)
        for (topic, contexts, kind), verb in islice(sets, SETS_PER_FAMILY):
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
    context = shuffled(contexts, rng)[0]
    qualifier = shuffled(kind.qualifiers, rng)[0]
    texts = [text]
    for part in (topic, context, qualifier, f"and follows the outline: {outline}"):
        texts.append(f"{texts[-1]} {part}")
    return [f"{text}." for text in texts]
