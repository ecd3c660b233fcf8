"""Whether two answers to a prompt say the same: the protocol of all that decides it.

What decides gives a score; answers are equivalent where it lies above the backend's threshold. Partitions are made of
these decisions in partition.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Question:
    """Do these two answers to the prompt say the same?"""

    prompt: str
    a: str
    b: str


class Equivalence(Protocol):
    """Decides questions.

    Attributes:
        signature: All that determines the scores, with the threshold.
        threshold: Answers are equivalent where the score is greater.
        symmetric: Whether (a, b) and (b, a) have the same score.
    """

    signature: str
    threshold: float
    symmetric: bool

    def scores(self, questions: Sequence[Question]) -> Floats:
        """A score of each question, [questions]; higher is more alike. Equal questions have equal scores."""
        ...


class EquivalenceSpec(Protocol):
    """Which backend a profile uses; loading it is another step."""

    @property
    def signature(self) -> str:
        """As in `Equivalence.signature`, known without loading.

        Raises:
            ConfigurationError: The model is not pinned.
        """
        ...

    def load(self) -> Equivalence:
        """The backend.

        Raises:
            ConfigurationError: The model is not pinned, cannot be had, or is of another kind.
            MissingExtra: A library is not installed.
        """
        ...
