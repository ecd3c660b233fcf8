"""Protocols for deciding whether responses are equivalent: a backend for pairs, and a judge of whole response sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Missing
from benchmark.models.model_files import Spec

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ResponsePair:
    """Two responses to a prompt; their order matters."""

    prompt: str
    a: str
    b: str


class EquivalenceBackend(Protocol):
    """Scores the similarity of two responses."""

    signature: str  # everything that determines the scores, and the threshold
    threshold: float  # two responses are equivalent if their score is greater
    symmetric: bool  # whether (a, b) and (b, a) have the same score

    def scores(self, pairs: Sequence[ResponsePair]) -> Floats:
        """Return a score for each pair, float64 [pairs]; higher is more similar. Equal pairs have equal scores."""
        ...


EquivalenceSpec = Spec[EquivalenceBackend]


@runtime_checkable
class Refusing(Protocol):
    """An equivalence backend that cannot read every pair."""

    def refusal(self, pair: ResponsePair) -> str | None:
        """Return why a pair cannot be read; None if it can."""


@runtime_checkable
class SetScorer(Protocol):
    """An equivalence backend that scores the pairs of a response set better when it sees the whole set."""

    def set_scores(self, sets: Sequence[tuple[str, Sequence[str]]]) -> list[Floats]:
        """Return the scores of all pairs of the distinct responses to each prompt, in the order of `combinations`.

        The score of a pair does not depend on the order of the responses; a pair that must never be in one class has a
        score far below the threshold, whatever the other pairs of the class say.
        """
        ...


class SetJudge(Protocol):
    """Groups all responses to a prompt at once, and scores single responses."""

    signature: str  # everything known that determines the partitions

    def partition(self, sets: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[int, ...] | Missing]:
        """Return the labels [k] of the k responses to each prompt (0, 1, 2, … by first use), or why they are missing.

        Equal texts have equal labels; a single text needs no judgement.
        """
        ...

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[int | Missing]:
        """Return how well each response does what its prompt asks, 1 to 10, or why the score is missing."""
        ...


class MemoisedBackend:
    """A backend that computes the score of each pair only once."""

    def __init__(self, backend: EquivalenceBackend) -> None:
        self.signature, self.threshold, self.symmetric = backend.signature, backend.threshold, backend.symmetric
        self._backend = backend
        self._known: dict[ResponsePair, float] = {}

    def scores(self, pairs: Sequence[ResponsePair]) -> Floats:
        """Implement `EquivalenceBackend.scores`."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if new:
            self._known |= dict(zip(new, self._backend.scores(new).tolist(), strict=True))
        return np.array([self._known[pair] for pair in pairs], np.float64)
