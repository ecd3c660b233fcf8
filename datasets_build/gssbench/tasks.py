"""Writing tasks behind *complement* and *subset*: five families, each with a word bank."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from datasets_build.word_banks import word_bank


@dataclass(frozen=True, slots=True)
class Kind:
    """Topics of one kind, with qualifiers and outlines that fit all of them.

    Free combinations of topics, contexts, qualifiers and outlines would make absurd prompts (a list to sort "with
    pagination"). So contexts belong to a topic, and qualifiers and outlines to a kind.
    """

    topics: Mapping[str, Sequence[str]]  # topics that may follow the noun, each with the contexts that may follow it
    # Clauses about the text, "that …"; none contradicts a topic, a context or an outline of the kind.
    qualifiers: Sequence[str]
    outlines: Sequence[Sequence[str]]  # the points of each outline, a few words each


@dataclass(frozen=True, slots=True)
class Family:
    """A type of text to ask for."""

    name: str  # template name in the rows, such as `email`
    verbs: Sequence[str]  # beginnings of a request, such as `Write`
    noun: str  # noun with its article, such as `an email`
    kinds: tuple[Kind, ...]

    def topics(self) -> Iterator[tuple[str, Sequence[str], Kind]]:
        """Yield every topic with its contexts and its kind, in the bank's order."""
        for kind in self.kinds:
            for topic, contexts in kind.topics.items():
                yield topic, contexts, kind


@cache
def families() -> tuple[Family, ...]:
    """Read the five families."""
    banks = [word_bank("gssbench", name) for name in ("emails", "poems", "programs", "stories", "personas")]
    return tuple(Family(**{**bank, "kinds": tuple(Kind(**kind) for kind in bank["kinds"].values())}) for bank in banks)
