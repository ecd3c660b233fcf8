"""Causal language models: token sequences in, surprisals of chosen tokens out.

Implementations of the protocol: hf_lm.py (any causal model of transformers) and server_lm.py (a server that returns
prompt log-probabilities).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    """The tokens of a text, without special tokens."""

    ids: Integers  # int64 [tokens]
    # int64 [tokens, 2], the range [start, end) of characters of each token; None if the tokeniser returns no offsets.
    offsets: Integers | None


@dataclass(frozen=True, slots=True, eq=False)
class TokenSequence:
    """A sequence of tokens, some of them to be scored."""

    ids: Integers  # int64 [tokens]
    # int64 [scored], increasing indices into `ids`, at least 1 because nothing predicts the first token.
    scored: Integers


class CausalLM(Protocol):
    """Predicts each token from the tokens before it."""

    signature: str  # everything that determines the numbers, such as `name@revision,float32,cpu,sdpa`
    context: int | None  # maximum number of tokens per sequence; None: unlimited
    # Best number of tokens to read at once, where a shared prefix counts once per sequence; the engine lowers it if
    # that many do not fit.
    batch_tokens: int
    bos: int | None  # BOS token that the model's tokeniser adds to every text; None if it adds none

    def encode(self, texts: Sequence[str], *, begin: bool = False) -> list[Encoding]:
        """Tokenise each text separately; strings that look like special tokens are treated as plain text."""
        ...

    def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        """Compute bits, −log2 p, of each sequence's scored tokens, float64 [scored]; NaN where the model cannot."""
        ...


@runtime_checkable
class SupportsPrepare(Protocol):
    """A causal language model that can prepare a batch in advance, in another thread."""

    def prepare(self, sequences: Sequence[TokenSequence]) -> Callable[[], list[Floats]]:
        """Do the part of `surprisals` that needs no device; the returned function does the rest."""
        ...
