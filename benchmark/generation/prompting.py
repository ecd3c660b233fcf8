"""Makes chats and tokens from prompts: NoveltyBench's four modes (arXiv:2504.05228, section 5.3), and verbalized.

The next chat depends only on the prompt and the responses so far, so that it can be reconstructed for any submission
with a complete manifest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmark.generation.sampler import Message
from benchmark.generation.verbalized import instruction, is_verbalized
from benchmark.models.tokenisers import HFTokeniser
from datasets_build.schema import Prompt
from divbench.core.errors import ConfigurationError
from submissions.choices import Mode
from submissions.schema import Manifest

# From NoveltyBench's inference script: the system prompt of its mode, and the request for another response.
NOVEL_SYSTEM_PROMPT = (
    "You are a producer of unique answers, and you strive to tell each user a novel answer to their question."
)
ANOTHER = "Can you generate a different answer?"
_PLACE = "{prompt}"


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
    drawn = manifest.generation
    made = PromptingSettings(mode=drawn.mode or "resample", system_prompt=drawn.system_prompt, thinking=drawn.thinking)
    if drawn.chat_template is False:
        made = replace(made, chat_template=False, template=drawn.prompt_template or _PLACE)
    return made


def messages(
    prompting: PromptingSettings, prompt: Prompt, place: int, before: Sequence[str] = (), k: int = 1
) -> tuple[Message, ...]:
    """Return the chat that a response continues."""
    made = [] if prompting.system is None else [Message("system", prompting.system)]
    if is_verbalized(prompting.mode):
        return (*made, Message("user", instruction(prompt, k, prompting.mode)))
    made.append(Message("user", prompt.paraphrases[place] if prompting.mode == "paraphrase" else prompt.prompt))
    if prompting.mode == "in-context":
        for response in before[:place]:
            made += [Message("assistant", response), Message("user", ANOTHER)]
    return tuple(made)


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
    return tokeniser.chat_ids([{"role": each.role, "content": each.content} for each in chat], options)
