"""Defines requests to a model, their outcomes, and the protocol that samplers implement.

Implementations: hf_sampler.py (any causal or chat model of transformers) and server_sampler.py (any server that speaks
OpenAI's chat protocol).
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from divbench.core.errors import DivBenchError

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How tokens are sampled."""

    temperature: float = 1.0  # sampling temperature; 0 is greedy
    top_k: int | None = None  # number of most probable tokens to keep; None: all
    top_p: float = 1.0  # nucleus threshold: of those, keep the fewest whose probabilities sum to it; 1: all
    max_tokens: int = 256  # maximum number of tokens of a response, including EOS


@dataclass(frozen=True, slots=True)
class Request:
    """A request for one response."""

    messages: tuple[Message, ...]  # chat so far; the last message is the user's
    settings: SamplingSettings
    seed: int  # random seed of this response alone, so that it does not depend on other requests. See `draw_seed`.


@dataclass(frozen=True, slots=True)
class Sampled:
    """A response."""

    text: str  # decoded text without special tokens; an empty text is a valid response
    # *stop*: it ended by itself; *length*: it was truncated; otherwise as the server reports, or None.
    finish_reason: str | None
    tokens: int | None = None  # number of sampled tokens, including reasoning and EOS; None: unknown
    # Number of tokens sampled before the response and not part of it; None: unknown.
    reasoning_tokens: int | None = None
    reasoning_ids: tuple[int, ...] = ()  # those tokens; empty if unknown
    ids: tuple[int, ...] | None = None  # tokens of the response and its end marker; None: unknown
    content: int = 0  # number of `ids` that belong to the response; the others are its end marker
    probability: float | None = None  # probability that the model stated in verbalized sampling; None: it stated none


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a request has no response: an error of this request only, never an empty response."""

    reason: str


Outcome = Sampled | Failed


class SamplerFault(DivBenchError):
    """The model or server fails for all requests. Finished work is kept."""


class Sampler(Protocol):
    """Samples responses."""

    signature: str  # everything known that determines the responses
    at_once: int  # best number of requests per call

    def check(self, requests: Sequence[Request]) -> list[str | None]:
        """Return for each request why it is impossible (such as a prompt longer than the context), or None; fast."""
        ...

    def sample(self, requests: Sequence[Request], done: Callable[[int, Outcome], None]) -> None:
        """Sample each request; `done(index, outcome)` is called once for each, in any order, never concurrently."""
        ...


def draw_seed(seed: int, *what: str | int) -> int:
    """Derive a seed of 63 bits for one request from the run's seed and the request's names.

    >>> draw_seed(0, "p1", 0) == draw_seed(0, "p1", 0) != draw_seed(0, "p1", 1)
    True
    """
    named = "\x1f".join([str(seed), *map(str, what)])
    return int.from_bytes(hashlib.sha256(named.encode()).digest()[:8]) >> 1
