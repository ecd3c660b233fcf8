"""Defines requests to a model, their outcomes, and the protocol that samplers implement.

Implementations: hf_sampler.py (any causal or chat model of transformers) and server_sampler.py (any server that speaks
OpenAI's chat protocol).
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from datasets_build.errors import DivBenchError

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How tokens are sampled.

    Attributes:
        temperature: Sampling temperature; 0 is greedy.
        top_k: Number of most probable tokens to keep; None: all.
        top_p: Nucleus threshold: of those, keep the fewest whose probabilities sum to it; 1: all.
        max_tokens: Maximum number of tokens of a response, including EOS.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    max_tokens: int = 256


@dataclass(frozen=True, slots=True)
class Request:
    """A request for one response.

    Attributes:
        messages: Chat so far; the last message is the user's.
        seed: Random seed of this response alone, so that it does not depend on other requests. See `draw_seed`.
    """

    messages: tuple[Message, ...]
    settings: SamplingSettings
    seed: int


@dataclass(frozen=True, slots=True)
class Sampled:
    """A response.

    Attributes:
        text: Decoded text without special tokens; an empty text is a valid response.
        finish_reason: *stop*: it ended by itself; *length*: it was truncated; otherwise as the server reports, or None.
        tokens: Number of sampled tokens, including reasoning and EOS; None: unknown.
        reasoning_tokens: Number of tokens sampled before the response and not part of it; None: unknown.
        reasoning_ids: Those tokens; empty if unknown.
        ids: Tokens of the response and its end marker; None: unknown.
        content: Number of `ids` that belong to the response; the others are its end marker.
        probability: Probability that the model stated in verbalized sampling; None: it stated none.
    """

    text: str
    finish_reason: str | None
    tokens: int | None = None
    reasoning_tokens: int | None = None
    reasoning_ids: tuple[int, ...] = ()
    ids: tuple[int, ...] | None = None
    content: int = 0
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a request has no response: an error of this request only, never an empty response."""

    reason: str


Outcome = Sampled | Failed


class SamplerFault(DivBenchError):
    """The model or server fails for all requests. Finished work is kept."""


class Sampler(Protocol):
    """Samples responses.

    Attributes:
        signature: Everything known that determines the responses.
        at_once: Best number of requests per call.
    """

    signature: str
    at_once: int

    def check(self, requests: Sequence[Request]) -> list[str | None]:
        """Return for each request why it is impossible (such as a prompt longer than the context), or None; fast."""
        ...

    def sample(self, requests: Sequence[Request], done: Callable[[int, Outcome], None]) -> None:
        """Sample each request; `done(index, outcome)` is called once for each, in any order, never concurrently.

        Raises:
            SamplerFault: The sampler fails for all requests. Those without a call of `done` have no outcome.
        """
        ...


def draw_seed(seed: int, *what: str | int) -> int:
    """Derive a seed of 63 bits for one request from the run's seed and the request's names.

    >>> draw_seed(0, "p1", 0) == draw_seed(0, "p1", 0) != draw_seed(0, "p1", 1)
    True
    """
    named = "\x1f".join([str(seed), *map(str, what)])
    return int.from_bytes(hashlib.sha256(named.encode()).digest()[:8]) >> 1
