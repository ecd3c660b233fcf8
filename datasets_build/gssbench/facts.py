"""The shape of the fact banks behind *factualqa*."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """A question with one answer, and an open request that this answer and others fulfil.

    Attributes:
        question: Such as `What is the capital of Kenya?`
        naming: Such as `Name a city in Kenya.`
        answer: Such as `Nairobi`; for readers and checks, no prompt shows it.
    """

    question: str
    naming: str
    answer: str


@dataclass(frozen=True, slots=True)
class Template:
    """Questions of one form.

    Attributes:
        name: Rows name it as their template.
        question: With `{0}`, `{1}` for the slots.
        naming: The open request, with the same slots. It has several right answers, the question's among them.
        rows: The slots of each fact, then its answer. Only questions with a single, undisputed answer stand here:
            no president of a monarchy, no capital of a country with two, no river that geographers argue about.
    """

    name: str
    question: str
    naming: str
    rows: tuple[tuple[str, ...], ...]

    def facts(self) -> Iterator[Fact]:
        """The facts with the slots filled, in the bank's order."""
        for *slots, answer in self.rows:
            yield Fact(self.question.format(*slots), self.naming.format(*slots), answer)
