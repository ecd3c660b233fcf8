"""What decides whether responses to a prompt are equivalent: a backend for two at a time, or a judge of whole sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Missing
from benchmark.models.model_files import Spec

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ResponsePair:
    """Two responses to a prompt, in an order."""

    prompt: str
    a: str
    b: str


class EquivalenceBackend(Protocol):
    """Scores how alike two responses are.

    Attributes:
        signature: All that determines the scores, and the threshold.
        threshold: Two responses are equivalent where their score is greater.
        symmetric: Whether (a, b) and (b, a) have the same score.
    """

    signature: str
    threshold: float
    symmetric: bool

    def scores(self, pairs: Sequence[ResponsePair]) -> Floats:
        """Return a score for each pair, float64 [pairs]; higher is more alike. Equal pairs have equal scores."""
        ...


EquivalenceSpec = Spec[EquivalenceBackend]


class SetJudge(Protocol):
    """Groups all responses to a prompt at once.

    Attributes:
        signature: All that is known of what determines the partitions.
    """

    signature: str

    def partition(self, sets: Sequence[tuple[str, Sequence[str]]]) -> list[tuple[int, ...] | Missing]:
        """Return for each prompt and its k responses the labels [k] (0, 1, 2, … by first use), or why there are none.

        Equal texts have equal labels; a set of one needs no judgement.

        Raises:
            DivBenchError: The judge cannot be asked. What it said before that is in its cache, if it has one.
        """
        ...


class MemoisedBackend:
    """A backend that is asked for the score of each pair once."""

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
