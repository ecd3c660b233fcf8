"""Pairs in which one prompt has few right responses and the other has these and more.

*factualqa*: a question with one answer, and an open request that this answer fulfils. *random_choice*: pick one of two
options, or one of ten that include the two.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from datasets_build.gssbench.rows import by_turns, pair_row, shuffled
from datasets_build.word_banks import word_bank

BANKS = ("countries", "governments", "geography", "science", "nature", "history", "arts")  # of facts
PAIRS_IN_ALL = 500
FEW, MANY = 2, 10


@dataclass(frozen=True, slots=True)
class Fact:
    """A question with one answer, and an open request that this answer and others fulfil."""

    question: str  # question, such as `What is the capital of Kenya?`
    naming: str  # open request, such as `Name a city in Kenya.`
    answer: str  # answer, such as `Nairobi`, for readers and checks; no prompt contains it


@dataclass(frozen=True, slots=True)
class Template:
    """Questions of one form."""

    name: str  # template name in the rows
    question: str  # question with the fields `{0}`, `{1}`
    naming: str  # open request with the same fields. It has several right answers, the question's among them.
    # Values of the fields, then the answer, for each fact. Only questions with a single, undisputed answer belong here:
    # no president of a monarchy, no capital of a country with two, no river that geographers argue about.
    rows: Sequence[Sequence[str]]

    def facts(self) -> Iterator[Fact]:
        """Yield the facts in the bank's order."""
        for *values, answer in self.rows:
            yield Fact(self.question.format(*values), self.naming.format(*values), answer)


@cache
def templates() -> tuple[Template, ...]:
    """Read all templates, in the order of `BANKS`."""
    return tuple(Template(**row) for name in BANKS for row in word_bank("gssbench", name)["templates"])


def factualqa(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield 500 pairs, taken from the templates in turn, so that no large bank crowds out the others.

    Pairs with the same open request are one set, because they share its text and so a model's responses to it.
    """
    decks = [[(order, fact) for fact in shuffled(item.facts(), rng)] for order, item in enumerate(templates())]
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


def random_choice(rng: random.Random) -> Iterator[dict[str, Any]]:
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
        a, b = (f"Choose one from the following: {', '.join(texts)}." for texts in (few, many))  # the paper's words
        yield pair_row(pair_id, a, b, set_id=pair_id, relation=f"{FEW}<{MANY}", template=category, sizes=(FEW, MANY))
