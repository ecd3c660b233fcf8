"""Forms of text: templates with slots, and banks of the words that fit each slot. Texts of one form are one mode.

A slot names its bank: `{boat}`, or `{boat1}` and `{boat2}` for two different entries of one bank. A repeated slot
repeats its entry, and `{Boat}` is `{boat}` with a capital. Any combination of entries is good English: words that must
agree are one entry.

Forms are read from `banks/*.toml`, where a bank is a list of words, the name of a list in `shared_words.toml`, or a
range of numbers (`{ first = 5, last = 40, step = 5 }`).
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from string import Formatter, digits
from typing import Any

from datasets_build.word_banks import word_bank
from divbench.core.rng import some


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
    return Form(row["name"], row["template"], {name: _words(bank) for name, bank in row["banks"].items()})


def _words(bank: list[str] | str | dict[str, int]) -> Sequence[str]:
    if isinstance(bank, str):
        shared: Sequence[str] = word_bank("scenarios", "shared_words")[bank]
        return shared
    if isinstance(bank, dict):
        return [str(number) for number in range(bank["first"], bank["last"] + 1, bank.get("step", 1))]
    return bank
