"""A model of transformers as a sampler: real architectures with random weights, real `generate`."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from scipy import stats

from benchmark.generation.hf_sampler import NOT_FINITE, HFSampler
from benchmark.generation.prompting import (
    Failed,
    Message,
    Outcome,
    PromptingSettings,
    Request,
    Sampled,
    SamplerFault,
    SamplingSettings,
    draw_seed,
)
from benchmark.generation.setup import load_local, spec_named
from benchmark.models.hf_generate import end_ids
from benchmark.models.hf_lm import HFCausalLM, load_causal_lm
from divbench.core.errors import ConfigurationError
from tests.benchmark.lms import lm_of, model_of, one_thread, random_model, tokeniser

__all__ = ["one_thread"]
PLAIN = PromptingSettings(chat_template=False)
PROMPTS = ("The river", "Nobody had seen the lamp since Tuesday. Where is it, and why", "One")
CHAT = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% if enable_thinking %}<think>{% endif %}{% endif %}"
)


def request(prompt: str, number: int = 0, **settings: Any) -> Request:
    usual = {"max_tokens": 12} | settings
    return Request((Message("user", prompt),), SamplingSettings(**usual), draw_seed(0, prompt, number))


def sampled(sampler: HFSampler, requests: Sequence[Request]) -> list[Outcome]:
    found: dict[int, Outcome] = {}

    def done(place: int, outcome: Outcome) -> None:
        assert place not in found
        found[place] = outcome

    sampler.sample(requests, done)
    return [found[place] for place in range(len(requests))]


def texts(outcomes: Sequence[Outcome]) -> list[str]:
    assert all(isinstance(each, Sampled) for each in outcomes)
    return [each.text for each in outcomes if isinstance(each, Sampled)]


@pytest.mark.parametrize("style", ["merging", "gpt2", "llama2", "merging-bos"])
def test_an_answer_does_not_depend_on_what_is_sampled_beside_it(style: Any) -> None:
    requests = [
        request(prompt, number, temperature=temperature, top_k=top_k, top_p=top_p)
        for prompt in PROMPTS
        for number, (temperature, top_k, top_p) in enumerate([(1.0, None, 1.0), (0.6, 10, 1.0), (1.2, None, 0.8)])
    ]
    lm = lm_of(style)
    together = sampled(HFSampler(lm, PLAIN), requests)
    small = sampled(HFSampler(lm, PLAIN, batch_tokens=64), requests)
    alone = [sampled(HFSampler(lm, PLAIN), [each])[0] for each in requests[::-1]][::-1]
    assert together == small == alone
    assert len(set(texts(together))) > 6  # or the test shows nothing


def test_the_first_token_has_the_models_own_distribution() -> None:
    lm = lm_of("gpt2")
    number = 4000
    found = sampled(HFSampler(lm, PLAIN), [request("The river", n, max_tokens=1, top_k=6) for n in range(number)])
    prompt = HFSampler(lm, PLAIN).prompt_ids(request("The river"))
    with torch.inference_mode():
        logits = model_of("gpt2")(torch.tensor([prompt])).logits[0, -1]
    top = logits.topk(6)
    expected = dict(zip(top.indices.tolist(), torch.softmax(top.values.double(), -1).tolist(), strict=True))
    seen = Counter(each.ids[0] for each in found if isinstance(each, Sampled) and each.ids)
    assert seen.keys() <= expected.keys()
    counts = [seen[token] for token in expected]
    assert stats.chisquare(counts, [share * number for share in expected.values()]).pvalue > 1e-4


@pytest.mark.parametrize("style", ["merging", "llama2"])
def test_without_chance_it_is_generates_own_greedy_answer(style: Any) -> None:
    lm = lm_of(style)
    sampler = HFSampler(lm, PLAIN)
    found = sampled(sampler, [request(prompt, temperature=0.0) for prompt in PROMPTS])
    for prompt, outcome in zip(PROMPTS, found, strict=True):
        ids = sampler.prompt_ids(request(prompt))
        made = model_of(style).generate(torch.tensor([ids]), do_sample=False, max_new_tokens=12, pad_token_id=0)
        assert isinstance(outcome, Sampled)
        assert list(outcome.ids or ()) == made[0, len(ids) :].tolist()


def biased(style: Any, token: int, more: float = 30.0) -> HFCausalLM:
    """A model that prefers a token by far from its second step on."""
    made = random_model("llama", len(tokeniser(style)), attention_bias=False)
    lm = HFCausalLM(made, tokeniser(style), "biased")
    own = made.forward

    def forward(*args: Any, **options: Any) -> Any:
        found = own(*args, **options)
        if options.get("past_key_values") is not None and found.logits.shape[1] == 1:
            found.logits[..., token] += more
        return found

    made.forward = forward
    return lm


def test_an_answer_that_ends_by_itself_says_so_and_has_its_end_apart() -> None:
    lm = biased("metaspace", token=2)
    found = sampled(HFSampler(lm, PLAIN), [request(prompt, n) for prompt in PROMPTS for n in range(3)])
    for outcome in found:
        assert isinstance(outcome, Sampled)
        assert outcome.ids is not None
        assert (outcome.finish_reason, outcome.ids[-1], outcome.content) == ("stop", 2, len(outcome.ids) - 1)
        assert 2 not in outcome.ids[:-1]
        assert outcome.text == lm.tokeniser.decode(outcome.ids[:-1])
    longest = sampled(HFSampler(lm_of("metaspace"), PLAIN), [request("The river", max_tokens=5)])[0]
    assert isinstance(longest, Sampled)
    assert (longest.finish_reason, longest.content, longest.tokens) == ("length", 5, 5)


def test_a_stop_text_ends_an_answer_and_is_no_part_of_it() -> None:
    lm = lm_of("gpt2")
    whole = texts(sampled(HFSampler(lm, PLAIN), [request("The river", n, max_tokens=40) for n in range(12)]))
    stop = ("e", "an")
    cut = sampled(HFSampler(lm, PLAIN, stop), [request("The river", n, max_tokens=40) for n in range(12)])
    ended = 0
    for text, outcome in zip(whole, cut, strict=True):
        assert isinstance(outcome, Sampled)
        at = min((text.find(each) for each in stop if each in text), default=None)
        assert outcome.text == text[:at]
        assert outcome.finish_reason == ("length" if at is None else "stop")
        ids = outcome.ids or ()
        assert (
            lm.tokeniser.decode(ids[: outcome.content])
            == outcome.text[: len(lm.tokeniser.decode(ids[: outcome.content]))]
        )
        ended += at is not None
    assert ended > 3


def test_reasoning_before_an_answer_is_counted_and_cut_off() -> None:
    own = tokeniser("gpt2")
    own.chat_template = CHAT
    lm = HFCausalLM(model_of("gpt2"), own, "thinks")
    sampler = HFSampler(lm, PromptingSettings())
    ask = request("The river")

    def answer(text: str, of: HFSampler = sampler) -> Sampled:
        return of._response(ask, own(text, add_special_tokens=False).input_ids)

    made = answer("<think>Let me see the lamp.</think>It is by the river.")
    assert made.text == "It is by the river."
    assert made.reasoning_tokens == len(made.reasoning_ids) > 3
    assert lm.tokeniser.decode((*made.reasoning_ids, *(made.ids or ()))).startswith("<think>Let")
    assert made.content == len(made.ids or ())
    assert answer("It is <think>not</think> so.").reasoning_tokens == 0
    cut = answer("<think>Let me see")
    assert (cut.text, cut.content, cut.finish_reason) == ("", 0, "length")
    begun = HFSampler(lm, PromptingSettings(thinking=True))  # its template begins the reasoning itself
    assert answer("Let me see.</think>Yes.", begun).text == "Yes."
    assert answer("Let me see.</think>Yes.").text == "Let me see.</think>Yes."


def test_a_chat_goes_through_the_models_template() -> None:
    own = tokeniser("gpt2")
    own.chat_template = CHAT
    sampler = HFSampler(HFCausalLM(model_of("gpt2"), own, "chats"), PromptingSettings())
    chat = (
        Message("system", "Be short."),
        Message("user", "Where?"),
        Message("assistant", "Here."),
        Message("user", "?"),
    )
    ids = sampler.prompt_ids(Request(chat, SamplingSettings(), 0))
    assert own.decode(list(ids)) == "<system>Be short.\n<user>Where?\n<assistant>Here.\n<user>?\n<assistant>"


def test_a_model_without_a_chat_template_says_what_to_do() -> None:
    with pytest.raises(ConfigurationError, match=r"no chat template .*--template"):
        HFSampler(lm_of("merging"), PromptingSettings()).check([request("The river")])


def test_a_prompt_longer_than_the_context_is_told_before_and_fails_alone() -> None:
    made = random_model("llama", len(tokeniser("gpt2")), max_position_embeddings=40)
    sampler = HFSampler(HFCausalLM(made, tokeniser("gpt2"), "short"), PLAIN)
    requests = [request("The river"), request("The river was high. " * 9), request("One")]
    short, long, one = sampler.check(requests)
    assert short is one is None
    assert "context of 40" in str(long)
    found = sampled(sampler, requests)
    assert [type(each) for each in found] == [Sampled, Failed, Sampled]


def test_numbers_that_are_not_finite_fail_their_own_request_alone() -> None:
    made = random_model("llama", len(tokeniser("gpt2")), tie_word_embeddings=False)
    lm = HFCausalLM(made, tokeniser("gpt2"), "poisoned")
    calm = sampled(HFSampler(lm, PLAIN), [request("The river", n) for n in range(3)])
    with torch.no_grad():
        made.get_input_embeddings().weight[HFSampler(lm, PLAIN).prompt_ids(request("Nobody"))[0]] = math.nan
    found = sampled(HFSampler(lm, PLAIN), [*(request("The river", n) for n in range(3)), request("Nobody")])
    assert found == [*calm, Failed(NOT_FINITE)]


@pytest.mark.parametrize("kind", ["llama", "qwen2", "gpt2"])
def test_a_prompt_that_is_read_once_for_all_its_answers_has_the_same_ones(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = HFCausalLM(random_model(kind, len(tokeniser("gpt2"))), tokeniser("gpt2"), kind)
    assert lm.shares
    requests = [request(prompt, n) for prompt in PROMPTS for n in range(4)]
    together = sampled(HFSampler(lm, PLAIN), requests)
    monkeypatch.setattr(lm, "shares", False)
    assert sampled(HFSampler(lm, PLAIN), requests) == together


def test_a_batch_that_does_not_fit_is_halved_and_one_request_that_does_not_is_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lm = lm_of("gpt2")
    requests = [request(prompt, n) for prompt in PROMPTS for n in range(4)]
    calm = sampled(HFSampler(lm, PLAIN), requests)
    own, sizes = lm.model.generate, []
    limit = 3

    def generate(ids: Any, **options: Any) -> Any:
        sizes.append(len(ids))
        if len(ids) > limit:
            raise torch.OutOfMemoryError("too large")
        return own(ids, **options)

    monkeypatch.setattr(lm.model, "generate", generate)
    assert sampled(HFSampler(lm, PLAIN), requests) == calm
    assert max(sizes) > 3
    limit = 0
    with pytest.raises(SamplerFault, match="too large"):
        sampled(HFSampler(lm, PLAIN), requests)


def test_ends_are_those_of_the_tokeniser_and_of_the_configuration() -> None:
    lm = lm_of("gpt2")
    assert end_ids(lm) == (2,)
    own = lm.model.generation_config.eos_token_id
    lm.model.generation_config.eos_token_id = [7, 2]
    try:
        assert end_ids(lm) == (2, 7)
    finally:
        lm.model.generation_config.eos_token_id = own


@pytest.mark.parametrize("claims_fast", [False, True])
def test_a_model_without_fast_attention_is_sampled_with_eager(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, claims_fast: bool
) -> None:
    """Older versions of transformers read Gemma 2 with sdpa, silently without its cap of attention scores."""
    own = tokeniser("gpt2")
    monkeypatch.setattr(transformers.Gemma2PreTrainedModel, "_supports_sdpa", claims_fast)
    random_model("gemma2", len(own), head_dim=8, attn_implementation="eager").save_pretrained(tmp_path)
    own.save_pretrained(tmp_path)
    loaded = load_local(spec_named(str(tmp_path)), PLAIN, ())
    assert loaded.open_weights is None  # a folder does not say
    made = loaded.sampler
    assert made.signature.endswith(",float32,cpu,eager")
    found: list[Outcome] = []
    made.sample([request("The river")], lambda place, outcome: found.append(outcome))
    assert isinstance(found[0], Sampled)
    with pytest.raises(ConfigurationError, match="--set attention=eager"):
        load_causal_lm(spec_named(str(tmp_path)))
