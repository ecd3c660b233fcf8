"""The engine on a simulated GPU: its tensors stay there, and its numbers are those of the CPU."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.attention import varlen
from transformers.models.deberta_v2 import modeling_deberta_v2

from benchmark.equivalence.classifiers import load_pair_classifier
from benchmark.generation.hf_sampler import HFSampler
from benchmark.generation.prompting import Message, Outcome, PromptingSettings, Request, SamplingSettings, draw_seed
from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder
from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.hf_states import SamplingParameters, TokenisedResponse, read_statistics
from benchmark.models.model_files import find_model_files
from benchmark.models.pair_scorer import BertScoreSpec, CrossEncoderSpec
from benchmark.models.reward import HFRewardSpec
from benchmark.models.trie import Packing
from benchmark.surprisal.engine import ResponseSet, SetSurprisals, read_sets
from tests.benchmark.classifiers import save_deberta
from tests.benchmark.encoders import save_cross_encoder, save_roberta
from tests.benchmark.gpu_tensors import OnGPU, a_gpu, move
from tests.benchmark.lms import model_of, one_thread, tokeniser
from tests.benchmark.models.test_trie_attention import defined
from tests.benchmark.reward_models import save_reward_model

__all__ = ["one_thread"]  # a fixture

SETS = [ResponseSet("Say one.", ("The lamp.", "A stone.", f"Item {i}.", "A lamp, " * i)) for i in range(3)]
RESPONSES = [TokenisedResponse((5, 6, 7), (8, 9, 10), 2), TokenisedResponse((5, 6, 7), (8, 11), 2)]


def bits_of(lm: HFCausalLM) -> Any:
    found = [each for each in read_sets(SETS, lm) if isinstance(each, SetSurprisals)]
    return np.concatenate([each.surprisals.bits.ravel() for each in found])


def test_every_way_of_reading_keeps_to_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    model, cut = model_of("merging"), SamplingParameters(0.7, 5, 0.9)
    cpu = HFCausalLM(model, tokeniser("merging"), "cpu")
    wanted = bits_of(cpu)
    likelihoods = [each.log_likelihood for each in read_statistics(cpu, RESPONSES, (1,), (2,), cut)]
    attention = defined()

    @wraps(attention)  # the engine reads its parameters
    def packed(*given: Any, **options: Any) -> Any:
        assert all(isinstance(each, OnGPU) for each in given[:5])
        return OnGPU(attention(*(each.numbers if isinstance(each, OnGPU) else each for each in given), **options))

    monkeypatch.setattr(varlen, "varlen_attn", packed)
    with a_gpu(monkeypatch):
        lm = HFCausalLM(move(deepcopy(model).half()), tokeniser("merging"), "gpu")
        assert (lm.run.attention, lm.run.device, lm.fallbacks) == ("packed", "cuda (NVIDIA H100)", ())
        for packing, shares in ((lm.packing, True), (Packing(), True), (Packing(), False)):
            lm.packing, lm.shares = packing, shares
            np.testing.assert_allclose(bits_of(lm), wanted, atol=0.1)
            found = read_statistics(lm, RESPONSES, (1,), (2,), cut)
            np.testing.assert_allclose([each.log_likelihood for each in found], likelihoods, atol=0.01)


def test_the_same_tokens_are_sampled_on_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ((1.0, None, 1.0), (0.6, 10, 1.0), (1.2, None, 0.8), (0.0, None, 1.0))
    requests = [
        Request(
            (Message("user", prompt),), SamplingSettings(temperature, top_k, top_p, 8), draw_seed(0, prompt, number)
        )
        for prompt in ("The river", "Nobody had seen the lamp since Tuesday. Where is it", "One")
        for number, (temperature, top_k, top_p) in enumerate(settings)
    ]

    def sampled(lm: HFCausalLM, asked: Sequence[Request], stop: Sequence[str]) -> dict[int, Outcome]:
        found: dict[int, Outcome] = {}
        HFSampler(lm, PromptingSettings(chat_template=False), stop).sample(asked, found.__setitem__)
        return found

    cpu = HFCausalLM(model_of("merging"), tokeniser("merging"), "cpu")
    asked = ((requests, ()), (requests[:1] + requests[4:5], ()), (requests, ("e", "th")))
    wanted = [sampled(cpu, *each) for each in asked]
    assert wanted[0] != wanted[2]
    with a_gpu(monkeypatch):
        gpu = HFCausalLM(move(deepcopy(model_of("merging"))), tokeniser("merging"), "gpu")
        assert [sampled(gpu, *each) for each in asked] == wanted


def test_small_models_keep_to_the_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [("A lamp.", "A lamp, of course! 🐢"), ("Two", "A much longer response than the other one."), ("", "One")]
    texts = sorted({text for pair in pairs for text in pair} - {""})
    specs = (
        BertScoreSpec(find_model_files(str(save_roberta(tmp_path / "roberta"))), layer=3, baseline=0.4, max_tokens=30),
        CrossEncoderSpec(find_model_files(str(save_cross_encoder(tmp_path / "cross"))), max_tokens=30),
    )
    # Older versions of transformers compile some functions, into which the simulation cannot see.
    for name, function in list(vars(modeling_deberta_v2).items()):
        if isinstance(function, torch.jit.ScriptFunction):
            plain: Any = function
            monkeypatch.setattr(modeling_deberta_v2, name, plain._torchdynamo_inline)
    deberta = find_model_files(str(save_deberta(tmp_path / "deberta")))
    reward = HFRewardSpec(find_model_files(str(save_reward_model(tmp_path / "reward"))))

    def numbers(device: str) -> list[Any]:
        embedder = SentenceTransformersEmbedder(ALL_MINILM_L6_V2, device)
        classifier = load_pair_classifier(deberta, device=device)
        found = [spec.load(device).score_pairs(pairs) for spec in specs]
        found += [
            classifier.logits(classifier.encode_pairs(pairs, 40)),
            replace(reward, device=device).load().rewards(pairs),
        ]
        states = embedder.read(texts)
        found += [np.concatenate([each.states for each in states]), np.array([each.vector for each in states])]
        embedder.forget()
        return [*found, embedder.embed(texts)]

    def refuse(tensor: OnGPU) -> None:
        raise TypeError("Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64.")

    wanted = numbers("cpu")
    monkeypatch.setattr(OnGPU, "double", refuse)  # as on Apple's GPUs
    with a_gpu(monkeypatch):
        for found, expected in zip(numbers("cuda"), wanted, strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-5)
    assert torch.is_grad_enabled()
