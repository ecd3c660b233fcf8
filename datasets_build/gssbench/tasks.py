"""The shape of the word banks behind *complement* and *subset*: families of writing tasks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """Topics of one kind with everything that fits all of them.

    A free product of topics, contexts, qualifiers and outlines would make prompts that nobody can follow (a list to
    sort "with pagination"). So contexts stand with their topic, and qualifiers and outlines with their kind.

    Attributes:
        topics: What may follow the noun, each with the contexts that may follow it.
        qualifiers: Clauses about the text, "that …"; none contradicts a topic, a context or an outline of the kind.
        outlines: The points of an outline, each a few words.
    """

    topics: Mapping[str, tuple[str, ...]]
    qualifiers: tuple[str, ...]
    outlines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Family:
    """One sort of text to ask for.

    Attributes:
        name: Such as `email`; rows name it as their template.
        verbs: That a request may begin with, such as `Write`.
        noun: With its article, such as `an email`.
        kinds: Of topics.
    """

    name: str
    verbs: tuple[str, ...]
    noun: str
    kinds: tuple[Kind, ...]

    def topics(self) -> Iterator[tuple[str, tuple[str, ...], Kind]]:
        """Every topic with its contexts and its kind, in the bank's order."""
        for kind in self.kinds:
            for topic, contexts in kind.topics.items():
                yield topic, contexts, kind
