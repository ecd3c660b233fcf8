"""Responses that answer nothing: noise, and five formats of text that each make no sense.

Source: "random ASCII characters" and "5 distinct modes, each internally incoherent (scrambled words within a template)"
of the D_Can paper (arXiv:2606.01811, appendix B.2). Formats and words are ours.
"""

import random
from collections.abc import Callable

from datasets_build.rng import below, pick, some

PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
SHORTEST, LONGEST = 60, 100

WORDS = (
    "across", "although", "amber", "because", "beneath", "blanket", "bluntly", "borrow", "candle", "carry", "corner",
    "crooked", "during", "eleven", "except", "feather", "folded", "gently", "handle", "hollow", "instead", "jacket",
    "kettle", "ladder", "lately", "meadow", "neither", "never", "orange", "otherwise", "parcel", "pepper", "perhaps",
    "pocket", "purple", "quarter", "rather", "ribbon", "saddle", "seldom", "seven", "sideways", "slipper", "spoon",
    "sudden", "teapot", "though", "ticket", "toward", "tumble", "unless", "until", "velvet", "violet", "wander",
    "whereas", "whether", "whistle", "window", "within", "without", "yellow", "yesterday", "zigzag",
)  # fmt: skip
FIELDS = ("colour", "weight", "season", "owner", "length", "mood", "origin", "price", "shape", "taste", "volume")
SYLLABLES = ("bla", "dax", "fip", "gro", "jum", "kel", "lor", "mip", "nuv", "pim", "quo", "rax", "sno", "tib", "vok")


def noise(rng: random.Random) -> str:
    """60 to 100 random printable ASCII characters.

    A space never stands first or last: readers that strip texts would change it, and the length with it.
    """
    length = SHORTEST + below(rng, LONGEST - SHORTEST + 1)
    ends = PRINTABLE[1:]
    return pick(rng, ends) + "".join(pick(rng, PRINTABLE) for _ in range(length - 2)) + pick(rng, ends)


def inventory(rng: random.Random) -> str:
    """Numbered items in capitals, each three words that do not go together."""
    words = [word.upper() for word in some(rng, WORDS, 9)]
    return " ".join(f"ITEM {100 + below(rng, 900)}: {' '.join(words[i : i + 3])};" for i in (0, 3, 6))


def equations(rng: random.Random) -> str:
    """Sums of words."""
    words = some(rng, WORDS, 10)
    return "; ".join(
        f"{words[i]} {pick(rng, '+-*/')} {words[i + 1]} = {pick(rng, (words[i + 2], str(below(rng, 100))))}"
        for i in (0, 3, 6)
    )


def record(rng: random.Random) -> str:
    """Fields with values of no such kind."""
    values = some(rng, WORDS, 6)
    return " | ".join(f"{field}={value}" for field, value in zip(some(rng, FIELDS, 6), values, strict=True))


def chant(rng: random.Random) -> str:
    """Made-up words, said twice and three times."""

    def made_up() -> str:
        return "".join(some(rng, SYLLABLES, 2 + below(rng, 2)))

    return " ".join(f"{word.capitalize()} {word}, {made_up()} {made_up()} {word}!" for word in (made_up(), made_up()))


def salad(rng: random.Random) -> str:
    """Words in the outward shape of a sentence, without its grammar."""
    words = some(rng, WORDS, 12)
    return f"The {' '.join(words[:5])}, {' '.join(words[5:8])} of the {' '.join(words[8:])}."


INCOHERENT: tuple[Callable[[random.Random], str], ...] = (inventory, equations, record, chant, salad)
