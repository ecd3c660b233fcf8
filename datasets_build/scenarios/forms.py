"""A form of text: a template with slots, and banks of the words that fit each slot. Two texts of one form are one mode.

A slot names its bank: `{boat}`, or `{boat1}` and `{boat2}` for two different entries of one bank. The same slot twice
is the same entry twice, and `{Boat}` is `{boat}` with a capital. Entries are written so that any combination is good
English: where words must agree they stand in one entry.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from math import perm, prod
from string import Formatter, digits

from datasets_build.rng import some

Bank = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """One format of text.

    Attributes:
        name: Such as `haiku`.
        template: The text, with slots in braces.
        banks: The words for each slot.
    """

    name: str
    template: str
    banks: Mapping[str, Bank]

    @property
    def slots(self) -> dict[str, list[str]]:
        """For each bank that the template names, its slots in the order of their first use, in lower case."""
        slots: dict[str, list[str]] = {}
        for _, field, _, _ in Formatter().parse(self.template):
            if field:
                slot = field.lower()
                of_bank = slots.setdefault(slot.rstrip(digits), [])
                if slot not in of_bank:
                    of_bank.append(slot)
        return slots

    @property
    def texts(self) -> int:
        """How many texts the form can give."""
        return prod(perm(len(self.banks[bank]), len(slots)) for bank, slots in self.slots.items())

    def write(self, rng: random.Random) -> str:
        """One text of this form."""
        words: dict[str, str] = {}
        for bank, slots in self.slots.items():
            for slot, word in zip(slots, some(rng, self.banks[bank], len(slots)), strict=True):
                words[slot] = word
                words[slot[0].upper() + slot[1:]] = word[0].upper() + word[1:]
        return self.template.format_map(words)


def form(name: str, template: str, /, **banks: Bank) -> Form:
    """A `Form`, with its banks as keywords."""
    return Form(name, template, banks)


def numbers(first: int, last: int, step: int = 1) -> Bank:
    """The numbers from first to last, as a bank.

    >>> numbers(5, 15, 5)
    ('5', '10', '15')
    """
    return tuple(str(n) for n in range(first, last + 1, step))


@dataclass(frozen=True, slots=True)
class Topic:
    """A prompt and sensible answers to it.

    Attributes:
        name: Such as `bread`.
        prompt: What is asked.
        forms: Five formats of answer; each is one mode.
        paragraph: One answer in many wordings, which all say the same.
    """

    name: str
    prompt: str
    forms: tuple[Form, ...]
    paragraph: Form
