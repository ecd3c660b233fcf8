"""Facts behind *factualqa*: questions with one answer, from seven word banks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from datasets_build.word_banks import word_bank

BANKS = ("countries", "governments", "geography", "science", "nature", "history", "arts")


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
