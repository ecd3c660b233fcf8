"""Sets of prompts ordered by inclusion: the 15 combinations of four things, and the 50 strict inclusions among them.

*union*: four alternatives for one request; a request that allows more of them has a larger space. *intersection*: four
constraints that one text can meet at once; a request for more of them has a smaller space.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import Any

from datasets_build.gssbench.rows import by_turns, pair_row, shuffled
from datasets_build.word_banks import word_bank

UNIONS = 60
INTERSECTIONS_PER_GENRE = 3
LETTERS = "ABCD"
# The non-empty subsets by their letters: A, B, C, D, AB, …, ABCD.
MEMBERS: tuple[str, ...] = tuple("".join(m) for size in range(1, 5) for m in combinations(LETTERS, size))
# The smaller subset first. The other 55 of the 105 pairs cannot be compared.
INCLUSIONS: tuple[tuple[str, str], ...] = tuple(
    (small, large) for small in MEMBERS for large in MEMBERS if set(small) < set(large)
)
Constraints = Mapping[str, str]  # phrases: A is the genre, B the length, C the style, D the structure


def union(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield 60 sets of 50 pairs: the strict inclusions among the 15 combinations of four alternatives."""
    decks = []
    for name, theme in word_bank("gssbench", "alternatives").items():
        choices = shuffled(product(theme["requests"], theme["quadruples"]), rng)
        decks.append([(name, request, quadruple) for request, quadruple in choices])
    for number, (name, request, quadruple) in enumerate(islice(by_turns(decks), UNIONS), start=1):
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


@dataclass(frozen=True, slots=True)
class Genre:
    """A type of short text."""

    noun: str  # noun with its article; longer than "a piece", which replaces it in a request without a genre
    kind: str  # name of the styles and structures that fit, in addition to those for any text
    words: tuple[int, int]  # shortest and longest usual length, in words


@dataclass(frozen=True, slots=True)
class Structure:
    """A way to build a text."""

    phrase: str
    words: tuple[int, int] = (50, 1000)  # shortest and longest text that it suits, in words


def genres() -> list[Genre]:
    """Read the genres."""
    return [Genre(**row) for row in word_bank("gssbench", "constraints")["genres"]]


def structures(kind: str) -> list[Structure]:
    """Read the structures that fit a kind of genre."""
    of_kind = word_bank("gssbench", "constraints")["structures"]
    return [Structure(**row) for row in of_kind["any"] + of_kind[kind]]


def intersection(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield 60 sets of 50 pairs, three sets of each of 20 genres.

    No two sets have two constraints in common, because they would share the pair made of these two.
    """
    used: set[frozenset[str]] = set()
    chosen = []
    for genre in genres() * INTERSECTIONS_PER_GENRE:
        constraints = next(c for c in _candidates(genre, rng) if used.isdisjoint(_couples(c)))
        used |= _couples(constraints)
        chosen.append((genre, constraints))
    for number, (genre, constraints) in enumerate(chosen, start=1):
        set_id = f"intersection-{number:03d}"
        texts = {member: request(constraints, member) for member in MEMBERS}
        for small, large in INCLUSIONS:
            yield pair_row(
                f"{set_id}-{large}-{small}",
                texts[large],
                texts[small],
                set_id=set_id,
                relation=f"{large}<{small}",
                template=genre.noun.split(" ", 1)[1].replace(" ", "_"),
                sizes=(len(large), len(small)),
            )


def request(constraints: Constraints, member: str) -> str:
    """Write the request for some of the constraints; the words for each do not depend on the others.

    >>> constraints = {"A": "a letter", "B": "of about 200 words", "C": "in a warm tone", "D": "ending with a promise"}
    >>> request(constraints, "AD")
    'Write a letter ending with a promise.'
    >>> request(constraints, "BCD")
    'Write a piece of about 200 words in a warm tone, ending with a promise.'
    """
    words = ["Write", constraints["A"] if "A" in member else "a piece"]
    words += [constraints[letter] for letter in "BC" if letter in member]
    text = " ".join(words)
    if "D" in member:
        # Directly after the noun the structure needs no comma; after other phrases it does.
        text += f"{',' if len(words) > 2 else ''} {constraints['D']}"
    return f"{text}."


def _candidates(genre: Genre, rng: random.Random) -> Iterator[Constraints]:
    """Yield every set of constraints that fits the genre, in random order."""
    bank = word_bank("gssbench", "constraints")
    shortest, longest = genre.words
    lengths = shuffled((n for n in bank["lengths"] if shortest <= n <= longest), rng)
    styles = shuffled(bank["styles"]["any"] + bank["styles"][genre.kind], rng)
    fitting = shuffled(structures(genre.kind), rng)
    for style, structure, length in product(styles, fitting, lengths):
        if structure.words[0] <= length <= structure.words[1]:
            yield {"A": genre.noun, "B": f"of about {length} words", "C": style, "D": structure.phrase}


def _couples(constraints: Constraints) -> set[frozenset[str]]:
    return {frozenset(couple) for couple in combinations(constraints.values(), 2)}
