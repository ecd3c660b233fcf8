"""Requests to a model, the chats that they continue, and their outcomes; the protocol that samplers implement.

A chat is made in one of NoveltyBench's four modes (arXiv:2504.05228, section 5.3), or by verbalized sampling
(arXiv:2510.01171): the model is asked for k responses with their probabilities in one call; *verbalized* asks for
responses as the model would give them, *verbalized-tail* for unlikely ones. The wording of the latter is our own and
asks for JSON. The next chat depends only on the prompt and the responses so far, so that it can be reconstructed for
any submission with a complete manifest.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from benchmark.models.tokenisers import HFTokeniser
from datasets_build.schema import Prompt
from divbench.core.errors import ConfigurationError, DivBenchError
from submissions.choices import Mode
from submissions.schema import Manifest

Role = Literal["system", "user", "assistant"]
# From NoveltyBench's inference script: the system prompt of its mode, and the request for another response.
NOVEL_SYSTEM_PROMPT = (
    "You are a producer of unique answers, and you strive to tell each user a novel answer to their question."
)
ANOTHER = "Can you generate a different answer?"
_PLACE = "{prompt}"
ATTEMPTS = 4
TAIL = 0.1  # each response of the tail variant should have a lower probability
_MODES = ("verbalized", "verbalized-tail")
_LONGEST = 2**20  # characters of a reply that are parsed
_NAMES = ("text", "response")


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


@dataclass(frozen=True, slots=True)
class PromptingSettings:
    """How prompts are presented to a model."""

    # *resample*: the prompt, K times. *paraphrase*: its i-th paraphrase for the i-th response. *system-prompt*: with a
    # system prompt that asks for novel responses. *in-context*: one chat that grows with each response. *verbalized*,
    # *verbalized-tail*: one call for all responses; see verbalized.py.
    mode: Mode = "resample"
    # System prompt of every chat; None: none, but NoveltyBench's in the mode *system-prompt*.
    system_prompt: str | None = None
    chat_template: bool = True  # whether to use the model's chat template; if not, the model reads `template`
    template: str = _PLACE  # text with `{prompt}` in it, for models without a chat template
    thinking: bool | None = None  # `enable_thinking` of chat templates that know it; None: the template's default

    def __post_init__(self) -> None:
        if not self.chat_template and self.mode not in ("resample", "paraphrase"):
            raise ConfigurationError(f"the mode {self.mode} needs a chat", "use a chat model with its chat template")
        if not self.chat_template and (self.system_prompt is not None or self.thinking is not None):
            raise ConfigurationError("a system prompt and thinking need a chat", "put them into --template")
        if _PLACE not in self.template:
            raise ConfigurationError(f"the template {self.template!r} does not contain {{prompt}}", f"write {_PLACE}")

    @property
    def system(self) -> str | None:
        """The system prompt in use."""
        novel = NOVEL_SYSTEM_PROMPT if self.mode == "system-prompt" else None
        return novel if self.system_prompt is None else self.system_prompt

    def __str__(self) -> str:
        """Return the format in words, as stored with internals."""
        if not self.chat_template:
            return f"template {self.template!r}"
        thinking = "" if self.thinking is None else f", thinking {'on' if self.thinking else 'off'}"
        return f"chat template{thinking}{'' if self.system is None else f', system prompt {self.system!r}'}"


def prompting_of(manifest: Manifest) -> PromptingSettings:
    """Return how a submission's prompts were presented, from its manifest; what it does not state has the default."""
    generation = manifest.generation
    prompting = PromptingSettings(
        mode=generation.mode or "resample", system_prompt=generation.system_prompt, thinking=generation.thinking
    )
    if generation.chat_template is False:
        prompting = replace(prompting, chat_template=False, template=generation.prompt_template or _PLACE)
    return prompting


def messages(
    prompting: PromptingSettings, prompt: Prompt, position: int, before: Sequence[str] = (), k: int = 1
) -> tuple[Message, ...]:
    """Return the chat that a response continues."""
    chat = [] if prompting.system is None else [Message("system", prompting.system)]
    if is_verbalized(prompting.mode):
        return (*chat, Message("user", instruction(prompt, k, prompting.mode)))
    chat.append(Message("user", prompt.paraphrases[position] if prompting.mode == "paraphrase" else prompt.prompt))
    if prompting.mode == "in-context":
        for response in before[:position]:
            chat += [Message("assistant", response), Message("user", ANOTHER)]
    return tuple(chat)


def greedy_chat(prompting: PromptingSettings, prompt: Prompt) -> tuple[Message, ...]:
    """Return the chat of the greedy response."""
    return messages(replace(prompting, mode="resample", system_prompt=prompting.system), prompt, 0)


def check_prompts(prompting: PromptingSettings, prompts: Sequence[Prompt], k: int) -> None:
    """Reject prompts that a mode cannot use."""
    if prompting.mode != "paraphrase":
        return
    few = [prompt for prompt in prompts if len(prompt.paraphrases) < k]
    if few:
        raise ConfigurationError(
            f"{len(few)} prompts have fewer than {k} paraphrases, {few[0].prompt_id} has {len(few[0].paraphrases)}",
            "use another mode, a smaller --k, or a suite with paraphrases: noveltybench-curated has 10",
        )


def prompt_ids(tokeniser: HFTokeniser, prompting: PromptingSettings, chat: Sequence[Message]) -> tuple[int, ...]:
    """Tokenise a chat for a model of transformers."""
    if not prompting.chat_template:
        text = prompting.template.replace(_PLACE, chat[-1].content)
        if tokeniser.special_in(prompting.template):  # else special tokens in a prompt are only text
            ids = tokeniser.formatted_ids(text)
        else:
            (encoding,) = tokeniser.encode([text], begin=True)
            ids = tuple(encoding.ids.tolist())
        return ids if tokeniser.bos is None or ids[:1] == (tokeniser.bos,) else (tokeniser.bos, *ids)
    options: dict[str, Any] = {} if prompting.thinking is None else {"enable_thinking": prompting.thinking}
    return tokeniser.chat_ids([{"role": message.role, "content": message.content} for message in chat], options)


def is_verbalized(mode: str) -> bool:
    """Return whether a mode asks for all responses in one call."""
    return mode in _MODES


def instruction(prompt: Prompt, k: int, mode: str) -> str:
    """Return the user message that asks for k responses to a prompt."""
    which = (
        f"Choose unlikely ones: each probability is below {TAIL}."
        if mode == "verbalized-tail"
        else "Sample them from all that you might say."
    )
    return (
        f"Give {k} different responses to the message below, each with the probability that you would give it. {which} "
        f'Reply with JSON alone: a list of {k} objects {{"text": …, "probability": …}}.\n\n{prompt.prompt}'
    )


def parse(reply: str, k: int) -> list[tuple[str, float | None]] | None:
    """Parse k responses with their probabilities from a reply; None if it is not such a list.

    Text around the list, such as a code fence, is ignored; of more than k responses the first k are taken. A
    probability that is not a number in [0, 1] becomes None.

    >>> parse('Sure: [{"text": "A cat.", "probability": 0.3}, {"text": "A dog.", "probability": "high"}]', 2)
    [('A cat.', 0.3), ('A dog.', None)]
    """
    begin, end = reply.find("["), reply.rfind("]")
    if begin < 0 or end < begin or end - begin > _LONGEST:
        return None
    try:
        items = json.loads(reply[begin : end + 1])
    except (ValueError, RecursionError):
        return None
    responses = [_response(response) for response in items] if isinstance(items, list) else []
    whole = [response for response in responses if response is not None]
    return whole[:k] if len(whole) == len(responses) and len(whole) >= k else None


def _response(item: Any) -> tuple[str, float | None] | None:
    if not isinstance(item, dict):
        return None
    text = next((item[name] for name in _NAMES if isinstance(item.get(name), str)), None)
    if text is None:
        return None
    try:
        text.encode()
    except UnicodeEncodeError:  # an unpaired surrogate is not valid text
        return None
    stated = item.get("probability")
    if not isinstance(stated, int | float) or isinstance(stated, bool) or not 0 <= stated <= 1:
        return text, None
    return text, float(stated)
