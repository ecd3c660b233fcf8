"""What a model is asked: NoveltyBench's four ways to the letter, and the same again from a manifest."""

from typing import Any

import pytest

from benchmark.generation.prompting import (
    Message,
    PromptingSettings,
    check_prompts,
    greedy_chat,
    messages,
    prompt_ids,
    prompting_of,
)
from benchmark.generation.setup import Model, manifest_of
from benchmark.models.tokenisers import HFTokeniser
from datasets_build.load import load_suite
from datasets_build.schema import Prompt
from divbench.core.errors import ConfigurationError
from submissions.choices import Mode, manifest_fields
from tests.benchmark.generating import PROMPTS, FakeSampler, plan_of
from tests.benchmark.lms import Style, tokeniser

PROMPT = PROMPTS[0]
# As the published inference script has them; written out here, so that no slip in the package goes unseen.
SYSTEM = "You are a producer of unique answers, and you strive to tell each user a novel answer to their question."
ANOTHER = "Can you generate a different answer?"


def chat(*turns: tuple[Any, str]) -> tuple[Message, ...]:
    return tuple(Message(role, text) for role, text in turns)


def test_resampling_asks_the_prompt_each_time() -> None:
    for place in range(3):
        assert messages(PromptingSettings("resample"), PROMPT, place, ["a", "b"]) == chat(("user", "Say thing 0."))


def test_the_answer_at_each_place_answers_the_paraphrase_at_that_place() -> None:
    asked = [messages(PromptingSettings("paraphrase"), PROMPT, place) for place in range(3)]
    assert asked == [chat(("user", f"Thing 0, in wording {place}.")) for place in range(3)]


def test_the_mode_system_prompt_asks_under_noveltybenchs_words() -> None:
    for place in range(3):
        assert messages(PromptingSettings("system-prompt"), PROMPT, place) == chat(
            ("system", SYSTEM), ("user", "Say thing 0.")
        )


def test_in_context_is_one_chat_that_grows_with_each_answer() -> None:
    asked = [messages(PromptingSettings("in-context"), PROMPT, place, ["a", "", "c"]) for place in range(4)]
    grown = [
        ("user", "Say thing 0."), ("assistant", "a"), ("user", ANOTHER), ("assistant", ""), ("user", ANOTHER),
        ("assistant", "c"), ("user", ANOTHER),
    ]  # fmt: skip
    assert asked == [chat(*grown[: 1 + 2 * place]) for place in range(4)]


@pytest.mark.parametrize("mode", ["resample", "paraphrase", "system-prompt", "in-context"])
def test_the_greedy_answer_is_to_the_prompt_itself(mode: Mode) -> None:
    turns = [("user", "Say thing 0.")]
    if mode == "system-prompt":
        turns.insert(0, ("system", SYSTEM))
    assert greedy_chat(PromptingSettings(mode), PROMPT) == chat(*turns)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"mode": "system-prompt", "chat_template": False}, "the mode system-prompt needs a chat"),
        ({"mode": "in-context", "chat_template": False}, "the mode in-context needs a chat"),
        ({"system_prompt": "Be brief.", "chat_template": False}, "put them into --template"),
        ({"thinking": False, "chat_template": False}, "a system prompt and thinking need a chat"),
        ({"template": "Question: ", "chat_template": False}, "write {prompt}"),
    ],
)
def test_what_needs_a_chat_or_a_place_is_refused_without(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        PromptingSettings(**options)


def test_paraphrases_must_be_there() -> None:
    prompting = PromptingSettings("paraphrase")
    check_prompts(prompting, PROMPTS, 3)
    with pytest.raises(ConfigurationError, match="5 prompts have fewer than 4 paraphrases, p0 has 3"):
        check_prompts(prompting, PROMPTS, 4)
    demo = load_suite("demo").prompts
    with pytest.raises(ConfigurationError, match="24 prompts have fewer than 1 paraphrases"):
        check_prompts(prompting, demo, 1)
    for mode in ("resample", "system-prompt", "in-context"):
        check_prompts(PromptingSettings(mode), demo, 10)


ASKINGS = [
    *(PromptingSettings(mode) for mode in ("resample", "paraphrase", "system-prompt", "in-context")),
    *(PromptingSettings(mode, "Be brief.") for mode in ("resample", "paraphrase", "system-prompt", "in-context")),
    PromptingSettings("resample", chat_template=False, template="Q: {prompt}\nA:"),
    PromptingSettings("paraphrase", chat_template=False),
]


@pytest.mark.parametrize("prompting", ASKINGS, ids=repr)
def test_a_manifest_tells_how_to_ask_the_same_again(prompting: PromptingSettings) -> None:
    model = Model(FakeSampler(), "fake", None, None, None, "fake")
    again = prompting_of(manifest_of(model, plan_of(prompting=prompting), "demo", (), None, manifest_fields(())))
    for place in range(3):
        assert messages(again, PROMPT, place, "ab") == messages(prompting, PROMPT, place, "ab")
    assert greedy_chat(again, PROMPT) == greedy_chat(prompting, PROMPT)
    assert str(again) == str(prompting)
    assert (again.chat_template, again.template) == (prompting.chat_template, prompting.template)


@pytest.mark.parametrize("style", ["merging", "merging-bos", "gpt2", "ours"])
def test_without_chat_template_the_model_reads_the_template_and_the_prompt_as_plain_text(style: Style) -> None:
    own = HFTokeniser(tokeniser(style))
    prompting = PromptingSettings(chat_template=False, template="Q: {prompt}\nA:")
    ids = prompt_ids(own, prompting, messages(prompting, Prompt("p", "any", "Say </s> and {prompt}."), 0))
    assert (own.bos is not None) == (style in {"merging-bos", "ours"}) == (ids[0] == own.own.bos_token_id)
    assert own.eos not in ids  # what stands in a prompt ends nothing
    assert own.decode(ids) == "Q: Say </s> and {prompt}.\nA:"


def test_a_chat_goes_through_the_models_own_template_with_what_it_knows_of_thinking() -> None:
    made = tokeniser("gpt2")
    made.chat_template = (
        "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}<assistant>"
        "{% if enable_thinking is defined %}{{ 'think' if enable_thinking else 'no thinking' }}{% endif %}"
    )
    own = HFTokeniser(made)

    def read(prompting: PromptingSettings) -> str:
        return own.decode(prompt_ids(own, prompting, messages(prompting, PROMPT, 0)))

    assert read(PromptingSettings("system-prompt")) == f"<system>{SYSTEM}<user>Say thing 0.<assistant>"
    assert read(PromptingSettings(thinking=True)) == "<user>Say thing 0.<assistant>think"
    assert read(PromptingSettings(thinking=False)) == "<user>Say thing 0.<assistant>no thinking"
