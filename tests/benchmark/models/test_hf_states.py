"""Teacher forcing gives what generation had: against stepwise generation with a cache, on tiny real models."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.generation.internals import InternalsReader, Layers, TokenisedResponses, layers_of
from benchmark.metrics.eigenscore import covariances_of
from benchmark.models.hf_generate import truncate
from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.hf_states import ResponseStatistics, SamplingParameters, TokenisedResponse, read_statistics
from benchmark.models.memory import OutOfMemory
from divbench.core.errors import ConfigurationError
from tests.benchmark.lms import lm_of, one_thread, random_model, tokeniser
from tests.benchmark.logits import read_logits

__all__ = ["one_thread"]
CUT = SamplingParameters(0.8, 7, 0.9)
# Grouped heads, learnt positions, a head that does more than a product, and layers that are no attention.
MODELS: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {"tie_word_embeddings": True},
    "gpt2": {},
    "gemma2": {"head_dim": 8, "final_logit_softcapping": 4.0, "query_pre_attn_scalar": 8},
    "mamba": {"state_size": 4},
}


def prompts(vocabulary: int, k: int = 3) -> list[list[TokenisedResponse]]:
    """Three prompts of different length, each with responses of different length; one of one token, one of none."""
    rng = np.random.default_rng(0)
    made = []
    for length in (3, 11, 6):
        prompt = tuple(rng.integers(3, vocabulary, length).tolist())
        own = [tuple(rng.integers(3, vocabulary, n).tolist()) for n in (7, 1, 4)[:k]]
        made.append(
            [TokenisedResponse(prompt, (*ids, 2), len(ids)) for ids in own] + [TokenisedResponse(prompt, (2,), 0)]
        )
    return made


def stepwise(model: Any, response: TokenisedResponse) -> tuple[torch.Tensor, torch.Tensor]:
    """Token after token with a cache, as `generate` does: logits [tokens, vocabulary], states [layers, content, d]."""
    logits, states, cache = [], [], None
    given = list(response.prompt)
    with torch.inference_mode():
        for token in response.ids:
            name = "cache_params" if model.config.model_type == "mamba" else "past_key_values"
            feed = given if model.config.model_type == "mamba" or cache is None else given[-1:]
            options = {} if model.config.model_type == "mamba" else {name: cache, "use_cache": True}
            made = model(torch.tensor([feed]), output_hidden_states=True, **options)
            cache = None if model.config.model_type == "mamba" else made.past_key_values
            logits.append(made.logits[0, -1])
            if len(given) > len(response.prompt):
                states.append(torch.stack([layer[0, -1] for layer in made.hidden_states]))
            given.append(token)
    kept = states[: response.content]
    if len(kept) < response.content:  # nothing ended the response: its last token is read once more
        raise AssertionError
    width = model.config.hidden_size
    return torch.stack(logits), torch.stack(kept, 1) if kept else torch.empty(0, 0, width)


@pytest.mark.parametrize("kind", MODELS)
def test_one_pass_gives_what_stepwise_generation_had(kind: str) -> None:
    model = random_model(kind, len(tokeniser("gpt2")), **MODELS[kind])
    lm = HFCausalLM(model, tokeniser("gpt2"), kind)
    assert lm.shares == (kind not in {"mamba", "gemma2"})
    last, mean = (1, 2), (0, 2)
    given = [response for own in prompts(len(tokeniser("gpt2"))) for response in own]
    for response, seen in zip(given, read_statistics(lm, given, last, mean, CUT), strict=True):
        logits, states = stepwise(model, response)
        rows = len(logits)
        kept = truncate(
            logits.float(),
            torch.full((rows,), CUT.temperature),
            torch.full((rows,), CUT.top_k or 0),
            torch.full((rows,), CUT.top_p, dtype=torch.float64),
        )
        assert kept.tokens is not None
        drawn_from = torch.full(logits.shape, -np.inf, dtype=torch.float64)
        drawn_from.scatter_(1, kept.tokens, kept.weights.log())
        expected = read_logits(logits.numpy(), np.array(response.ids), drawn_from.numpy())
        assert seen.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-4)
        assert seen.largest == pytest.approx(expected.largest, abs=1e-4)
        assert seen.normaliser == pytest.approx(expected.normaliser, abs=1e-4)
        assert seen.entropy == pytest.approx(expected.entropy, abs=1e-4)
        if response.content == 0:
            assert np.isnan(seen.last).all()
            assert np.isnan(seen.mean).all()
            continue
        assert np.abs(seen.last - states[list(last), -1].numpy()).max() < 1e-4
        assert np.abs(seen.mean - states[list(mean)].double().mean(1).numpy()).max() < 1e-4


def close(found: Sequence[ResponseStatistics], expected: Sequence[ResponseStatistics]) -> bool:
    def numbers(seen: ResponseStatistics) -> np.ndarray[Any, Any]:
        sums = [seen.log_likelihood, seen.largest or 0.0, seen.normaliser, seen.entropy]
        return np.concatenate([sums, seen.last.ravel(), seen.mean.ravel()])

    return all(
        np.allclose(numbers(a), numbers(b), atol=1e-4, equal_nan=True) for a, b in zip(found, expected, strict=True)
    )


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma2"])
def test_padding_sharing_and_what_is_read_beside_it_change_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = HFCausalLM(random_model(kind, len(tokeniser("gpt2")), **MODELS[kind]), tokeniser("gpt2"), kind)
    given = [response for own in prompts(len(tokeniser("gpt2"))) for response in own]
    together = read_statistics(lm, given, (1,), (1, 2), CUT)
    alone = [seen for response in given for seen in read_statistics(lm, [response], (1,), (1, 2), CUT)]
    assert close(together, alone)
    monkeypatch.setattr(lm, "shares", False)
    assert close(read_statistics(lm, given, (1,), (1, 2), CUT), together)
    assert close(read_statistics(lm, given[::-1], (1,), (1, 2), CUT)[::-1], together)


def test_a_head_that_is_not_understood_is_asked_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = lm_of("gpt2")
    given = [response for own in prompts(len(tokeniser("gpt2"))) for response in own]
    expected = read_statistics(lm, given, (1,), (2,), CUT)
    monkeypatch.setattr(lm, "shares", False)
    monkeypatch.setattr(lm, "understands_head", False)
    assert close(read_statistics(lm, given, (1,), (2,), CUT), expected)


# The reader


def reader(lm: HFCausalLM | None = None, **options: Any) -> InternalsReader:
    used = lm or lm_of("gpt2")
    return InternalsReader(used, Layers(2, 32, 1, (1, 2)), CUT, **options)


def asked() -> list[TokenisedResponses]:
    return [TokenisedResponses(tuple(own), own[0]) for own in prompts(len(tokeniser("gpt2")))]


def test_internals_are_the_sums_and_covariances_of_what_the_model_says() -> None:
    for own, found in zip(asked(), reader().read(asked()), strict=True):
        seen = read_statistics(lm_of("gpt2"), own.all, (1,), (1, 2), CUT)
        for response, each, scores in zip(own.responses, seen[:-1], found.responses, strict=True):
            assert response is not None
            assert scores is not None
            assert scores.tokens == len(response.ids)
            assert scores.log_likelihood == pytest.approx(each.log_likelihood, abs=1e-4)
            assert scores.largest == pytest.approx(each.largest, abs=1e-4)
        assert found.greedy is not None
        assert found.greedy.log_likelihood == pytest.approx(seen[-1].log_likelihood, abs=1e-4)
        assert found.last is not None
        assert found.mean is not None
        last = covariances_of(2, (1,), np.stack([each.last for each in seen[:-1]], 1), "last")
        mean = covariances_of(2, (1, 2), np.stack([each.mean for each in seen[:-1]], 1), "mean")
        assert np.allclose(found.last.matrices, last.matrices, atol=1e-4, equal_nan=True)
        assert np.allclose(found.mean.matrices, mean.matrices, atol=1e-4, equal_nan=True)
        assert found.mean.complete.tolist() == [True, True, True, False]  # the last has no token of its own


def test_a_response_that_is_not_there_or_not_finite_is_unknown() -> None:
    made = random_model("llama", len(tokeniser("gpt2")), tie_word_embeddings=False)
    lm, poison = HFCausalLM(made, tokeniser("gpt2"), "poisoned"), 77
    with torch.no_grad():
        made.get_input_embeddings().weight[poison] = torch.nan
    (own, *_) = prompts(len(tokeniser("gpt2")))
    bad = TokenisedResponse(own[0].prompt, (5, poison, 6, 2), 3)
    (found,) = reader(lm).read([TokenisedResponses((own[0], bad, None), bad)])
    assert [each is None for each in found.responses] == [False, True, True]
    assert found.greedy is None
    assert found.last is not None
    assert found.last.complete.tolist() == [True, False, False]
    (alone,) = reader(lm).read([TokenisedResponses((own[0],), None)])
    assert alone.responses[0] == found.responses[0]


def test_a_small_device_reads_fewer_at_once_and_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    calm = list(reader().read(asked()))
    lm = lm_of("gpt2")
    own, sizes = lm.read_trie, []

    def limited(trie: Any, **options: Any) -> Any:
        sizes.append(len(trie.ids))
        if len(trie.ids) > 40:
            raise torch.OutOfMemoryError("too large")
        return own(trie, **options)

    monkeypatch.setattr(lm, "read_trie", limited)
    found = list(reader(lm, budget=1000).read(asked()))
    assert max(sizes) > 40
    for a, b in zip(found, calm, strict=True):
        assert [x and round(x.log_likelihood, 4) for x in a.responses] == [
            x and round(x.log_likelihood, 4) for x in b.responses
        ]
    monkeypatch.setattr(lm, "read_trie", lambda trie, **options: limited(build(60), **options))
    with pytest.raises(OutOfMemory, match="too large"):
        list(reader(lm).read(asked()))


def build(nodes: int) -> Any:
    class Many:
        ids = np.zeros(nodes)

    return Many()


def test_layers_are_those_of_the_model() -> None:
    lm = lm_of("gpt2")  # of two blocks
    assert layers_of(lm) == Layers(2, 32, 1, (1,))
    assert layers_of(lm, "last", [0, 2, 2]) == Layers(2, 32, 2, (0, 2))
    wrong: list[dict[str, Any]] = [{"original": 3}, {"original": "first"}, {"average": [3]}, {"average": []}]
    for options in wrong:
        with pytest.raises(ConfigurationError, match="0 to 2"):
            layers_of(lm, **options)
