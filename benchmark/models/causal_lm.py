"""Causal language models: token sequences in, surprisals of chosen tokens out.

Implementations of the protocol: hf_lm.py (any causal model of transformers), ensemble.py (several that share a
tokeniser) and server_lm.py (a server that returns prompt log-probabilities).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from datasets_build.errors import DivBenchError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class OutOfMemory(DivBenchError):
    """The sequences do not fit the device's memory together, or one does not alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    """The tokens of a text, without special tokens.

    Attributes:
        ids: int64 [tokens].
        offsets: int64 [tokens, 2], each token's characters [start, end) in the text; None if the tokeniser has none.
    """

    ids: Integers
    offsets: Integers | None


@dataclass(frozen=True, slots=True, eq=False)
class TokenSequence:
    """A sequence of tokens, some of which are to be scored.

    Attributes:
        ids: int64 [tokens].
        scored: int64 [scored], rising indices into `ids`, each at least 1: nothing predicts the first token.
    """

    ids: Integers
    scored: Integers


class CausalLM(Protocol):
    """Predicts each token from all before it.

    Attributes:
        signature: All that determines the numbers, such as `name@revision,float32,cpu,sdpa`.
        context: Most tokens of a sequence; None: unlimited.
        batch_tokens: Best number of tokens to read at once, shared prefixes counted each time; the engine lowers it
            where as many do not fit.
        bos: BOS token that the model's tokeniser adds to every text; None if it adds none.
    """

    signature: str
    context: int | None
    batch_tokens: int
    bos: int | None

    def encode(self, texts: Sequence[str], *, begin: bool = False) -> list[Encoding]:
        """Tokenise each text on its own, without special tokens; what looks like one is plain text.

        Args:
            begin: Whether they are whole texts, to which a tokeniser may add a leading space.
        """
        ...

    def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        """Compute for each sequence the bits, −log2 p(token | all before it), of its scored tokens: float64 [scored].

        A number that the model cannot compute is NaN.

        Raises:
            OutOfMemory: These sequences do not fit together. The caller tries fewer.
        """
        ...


@runtime_checkable
class SupportsPrepare(Protocol):
    """A causal language model that can prepare a batch ahead, in another thread."""

    def prepare(self, sequences: Sequence[TokenSequence]) -> Callable[[], list[Floats]]:
        """Do all work for these sequences that needs no device; the returned function does the rest of `surprisals`."""
        ...
