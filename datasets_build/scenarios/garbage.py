"""Meaningless responses: noise, and five formats of text without meaning.

Source: "random ASCII characters" and "5 distinct modes, each internally incoherent (scrambled words within a template)"
in the D_Can paper (arXiv:2606.01811, appendix B.2). Formats and words are ours.
"""

import random
from collections.abc import Callable

from datasets_build.word_banks import word_bank
from divbench.core.rng import below, pick, some

PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
SHORTEST, LONGEST = 60, 100


def _words(rng: random.Random, count: int, bank: str = "words") -> list[str]:
    return some(rng, word_bank("scenarios", "incoherent")[bank], count)


def noise(rng: random.Random) -> str:
    """Write 60 to 100 random printable ASCII characters.

    The first and the last are never a space, because readers that strip texts would change the length.
    """
    length = SHORTEST + below(rng, LONGEST - SHORTEST + 1)
    ends = PRINTABLE[1:]
    return pick(rng, ends) + "".join(pick(rng, PRINTABLE) for _ in range(length - 2)) + pick(rng, ends)


def inventory(rng: random.Random) -> str:
    """Write numbered items in capitals, each three words that do not go together."""
    words = [word.upper() for word in _words(rng, 9)]
    return " ".join(f"ITEM {100 + below(rng, 900)}: {' '.join(words[i : i + 3])};" for i in (0, 3, 6))


def equations(rng: random.Random) -> str:
    """Write sums of words."""
    words = _words(rng, 10)
    return "; ".join(
        f"{words[i]} {pick(rng, '+-*/')} {words[i + 1]} = {pick(rng, (words[i + 2], str(below(rng, 100))))}"
        for i in (0, 3, 6)
    )


def record(rng: random.Random) -> str:
    """Write fields with values that do not belong to them."""
    values = _words(rng, 6)
    return " | ".join(f"{field}={value}" for field, value in zip(_words(rng, 6, "fields"), values, strict=True))


def chant(rng: random.Random) -> str:
    """Write made-up words, repeated two and three times."""

    def made_up() -> str:
        return "".join(_words(rng, 2 + below(rng, 2), "syllables"))

    return " ".join(f"{word.capitalize()} {word}, {made_up()} {made_up()} {word}!" for word in (made_up(), made_up()))


def salad(rng: random.Random) -> str:
    """Write words in the shape of a sentence, without its grammar."""
    words = _words(rng, 12)
    return f"The {' '.join(words[:5])}, {' '.join(words[5:8])} of the {' '.join(words[8:])}."


INCOHERENT: tuple[Callable[[random.Random], str], ...] = (inventory, equations, record, chant, salad)
