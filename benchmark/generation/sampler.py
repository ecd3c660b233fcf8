"""What a model is asked, what comes back, and the protocol of what asks it.

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
    """One turn of a chat."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """How tokens are drawn.

    Attributes:
        temperature: Divides the logits; 0 takes the most probable token.
        top_k: Keep that many most probable tokens; None: all.
        top_p: Of those, keep the fewest whose probabilities sum to at least this; 1: all.
        max_tokens: At most so many are drawn, the one that ends the answer included.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    max_tokens: int = 256


@dataclass(frozen=True, slots=True)
class Request:
    """One answer that is wanted.

    Attributes:
        messages: The chat so far; the last is the user's.
        settings: How its tokens are drawn.
        seed: Of its draws alone: the same request has the same answer, whatever is asked beside it. See `draw_seed`.
    """

    messages: tuple[Message, ...]
    settings: SamplingSettings
    seed: int


@dataclass(frozen=True, slots=True)
class Sampled:
    """An answer.

    Attributes:
        text: As decoded, special tokens left out; it may be empty, which is an answer, too.
        finish_reason: *stop*: it ended by itself; *length*: it was cut off; else the server's word, or None.
        tokens: How many were drawn, reasoning and the end included; None where not known.
        reasoning_tokens: Drawn before the answer and not part of it; None where not known.
        reasoning_ids: Those tokens; empty where they are not known.
        ids: The tokens of the answer and of its end; None where they are not known.
        content: How many of `ids` are the answer; the rest are its end.
    """

    text: str
    finish_reason: str | None
    tokens: int | None = None
    reasoning_tokens: int | None = None
    reasoning_ids: tuple[int, ...] = ()
    ids: tuple[int, ...] | None = None
    content: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """No answer, and why: an error of this request alone. It is never an empty response."""

    reason: str


Outcome = Sampled | Failed


class SamplerFault(DivBenchError):
    """Nothing can be sampled any more: the model or server as a whole fails. What is done is kept."""


class Sampler(Protocol):
    """Draws answers.

    Attributes:
        signature: All that is known of what determines them.
        at_once: How many requests are best given together.
    """

    signature: str
    at_once: int

    def check(self, requests: Sequence[Request]) -> list[str | None]:
        """For each request why it can never be answered (a prompt longer than the context), or None; cheap."""
        ...

    def sample(self, requests: Sequence[Request], done: Callable[[int, Outcome], None]) -> None:
        """Answer each request; `done(place, outcome)` is called once for each, in any order, never at the same time.

        Raises:
            SamplerFault: It makes no sense to go on. Requests without a call of `done` were not answered.
        """
        ...


def draw_seed(seed: int, *what: str | int) -> int:
    """A seed of 63 bits for one request, from the run's seed and what the request is.

    >>> draw_seed(0, "p1", 0) == draw_seed(0, "p1", 0) != draw_seed(0, "p1", 1)
    True
    """
    named = "\x1f".join([str(seed), *map(str, what)])
    return int.from_bytes(hashlib.sha256(named.encode()).digest()[:8]) >> 1
