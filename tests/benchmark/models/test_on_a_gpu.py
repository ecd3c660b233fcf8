"""The engine on a simulated GPU: its tensors stay there, and its numbers are those of the CPU."""

from copy import deepcopy
from functools import wraps
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.attention import varlen

from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.hf_states import SamplingParameters, TokenisedResponse, read_statistics
from benchmark.models.trie_attention import Packing
from benchmark.surprisal.engine import ResponseSet, SetSurprisals, read_sets
from tests.benchmark.gpu_tensors import OnGPU, a_gpu, move
from tests.benchmark.lms import model_of, one_thread, tokeniser
from tests.benchmark.models.test_trie_attention import defined

__all__ = ["one_thread"]  # a fixture

SETS = [ResponseSet("Say one.", ("The lamp.", "A stone.", f"Item {i}.", "A lamp, " * i)) for i in range(3)]
RESPONSES = [TokenisedResponse((5, 6, 7), (8, 9, 10), 2), TokenisedResponse((5, 6, 7), (8, 11), 2)]


def bits_of(lm: HFCausalLM) -> Any:
    found = [each for each in read_sets(SETS, lm) if isinstance(each, SetSurprisals)]
    return np.concatenate([each.surprisals.bits.ravel() for each in found])


def test_tensors_of_both_devices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with a_gpu(monkeypatch):
        there = torch.ones(2, device="cuda")
        assert isinstance(there, OnGPU)
        assert (there + 1).cpu().tolist() == [2, 2]
        with pytest.raises(RuntimeError, match="same device"):
            there + torch.ones(2)
        with pytest.raises(RuntimeError, match="same device"):
            torch.ones(2)[torch.tensor([0]).to("cuda")]


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
