"""Texts of the scenarios: forms of text, and texts without meaning.

A form is a template with slots; texts of one form are one mode. A slot names its bank: `{boat}`, or `{boat1}` and
`{boat2}` for two different entries of one bank. A repeated slot repeats its entry, and `{Boat}` is `{boat}` with a
capital. Any combination of entries is good English: words that must agree are one entry. Forms are read from
`banks/*.toml`, where a bank is a list of words, the name of a list in `shared_words.toml`, or a range of numbers
(`{ first = 5, last = 40, step = 5 }`).

Meaningless texts are noise, and five formats without meaning. Source: "random ASCII characters" and "5 distinct modes,
each internally incoherent (scrambled words within a template)" in the D_Can paper (arXiv:2606.01811, appendix B.2).
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from string import Formatter, digits
from typing import Any

from datasets_build.word_banks import word_bank
from divbench.core.rng import below, pick, some

PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
SHORTEST, LONGEST = 60, 100  # characters of noise


@dataclass(frozen=True, slots=True)
class Form:
    """One format of text."""

    name: str
    template: str
    banks: Mapping[str, Sequence[str]]

    @property
    def slots(self) -> dict[str, list[str]]:
        """Slots of the template by bank, in the order of their first use, in lower case."""
        slots: dict[str, list[str]] = {}
        for _, field, _, _ in Formatter().parse(self.template):
            if field:
                slot = field.lower()
                of_bank = slots.setdefault(slot.rstrip(digits), [])
                if slot not in of_bank:
                    of_bank.append(slot)
        return slots

    def write(self, rng: random.Random) -> str:
        """Write one text of this form."""
        words: dict[str, str] = {}
        for bank, slots in self.slots.items():
            for slot, word in zip(slots, some(rng, self.banks[bank], len(slots)), strict=True):
                words[slot] = word
                words[slot[0].upper() + slot[1:]] = word[0].upper() + word[1:]
        return self.template.format_map(words)


@dataclass(frozen=True, slots=True)
class Topic:
    """A prompt and sensible responses to it."""

    name: str
    prompt: str
    forms: tuple[Form, ...]  # five formats of response; each is one mode
    paragraph: Form  # one response in many wordings, all with the same meaning


@cache
def forms(file: str) -> tuple[Form, ...]:
    """Read the forms of a word bank, such as `sea_everyday_notes`."""
    return tuple(map(_form, word_bank("scenarios", file)["forms"]))


@cache
def topic(file: str) -> Topic:
    """Read a topic's word bank, such as `about_bread`."""
    bank = word_bank("scenarios", file)
    return Topic(bank["name"], bank["prompt"], forms(file), _form(bank["paragraph"]))


def _form(row: Mapping[str, Any]) -> Form:
    return Form(row["name"], row["template"], {name: _bank(words) for name, words in row["banks"].items()})


def _bank(words: list[str] | str | dict[str, int]) -> Sequence[str]:
    if isinstance(words, str):
        shared: Sequence[str] = word_bank("scenarios", "shared_words")[words]
        return shared
    if isinstance(words, dict):
        return [str(number) for number in range(words["first"], words["last"] + 1, words.get("step", 1))]
    return words


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


def _words(rng: random.Random, count: int, bank: str = "words") -> list[str]:
    return some(rng, word_bank("scenarios", "incoherent")[bank], count)


INCOHERENT: tuple[Callable[[random.Random], str], ...] = (inventory, equations, record, chant, salad)
