"""How many tokens at once: the formula against the memory that models took."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import AutoConfig

from benchmark.generation.internals import InternalsReader, layers_of
from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.memory import (
    CPU_TOKENS,
    LEAST,
    MOST,
    batch_budget,
    budget_of,
    budget_with_states,
    bytes_per_token,
)
from tests.benchmark.lms import lm_of, model_of, one_thread, tokeniser

__all__ = ["one_thread"]  # a fixture


def config_of(kind: str, **sizes: Any) -> Any:
    made: Any = AutoConfig.for_model(kind, **sizes)
    return made


QWEN_3B = {
    "hidden_size": 2048,
    "intermediate_size": 11_008,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
}


def test_a_small_gpu_gets_less_and_a_large_one_no_more_than_keeps_it_busy() -> None:
    a_token = bytes_per_token(config_of("qwen2", **QWEN_3B), 2)
    assert a_token == 2 * (4 * 2048 + 2048 + 3 * 11_008)
    assert budget_of(130 * 2**30, a_token) == MOST
    assert budget_of(6 * 2**30, a_token) == 32_768
    assert budget_of(2 * 2**30, a_token) == 4096
    assert budget_of(2**20, a_token) == LEAST
    # Stable: another GiB taken changes nothing.
    assert budget_of(7 * 2**30, a_token) == 32_768


def test_experts_are_counted() -> None:
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "moe_intermediate_size": 100, "num_experts_per_tok": 8}
    assert bytes_per_token(config_of("qwen3_moe", **sizes), 4) == 4 * (4 * 64 + 64 + 3 * 800)


def test_a_cpu_has_a_fixed_budget_and_a_gpu_that_of_its_fullest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lm_of("gpt2").batch_tokens == batch_budget(model_of("gpt2")) == CPU_TOKENS
    assert HFCausalLM(model_of("gpt2"), tokeniser("gpt2"), "gpt2", batch_tokens=77).batch_tokens == 77
    free = {0: 130 * 2**30, 1: 6 * 2**30}
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free[device.index], 0))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    devices = [torch.device("cuda", i) for i in free]
    model = SimpleNamespace(
        device=devices[0],
        dtype=torch.bfloat16,
        parameters=lambda: [SimpleNamespace(device=each) for each in devices],
        config=SimpleNamespace(get_text_config=lambda: config_of("qwen2", **QWEN_3B)),
    )
    assert batch_budget(model) == 32_768
    free[1] = 130 * 2**30
    assert batch_budget(model) == MOST


def test_hidden_states_of_all_layers_are_counted_where_they_are_kept() -> None:
    few, many = (config_of("qwen2", **QWEN_3B, num_hidden_layers=layers) for layers in (6, 36))
    a_token = bytes_per_token(many, 2)
    assert budget_with_states(65_536, many, 2) * (a_token + 2 * 37 * 2048) <= 65_536 * a_token
    assert budget_with_states(65_536, many, 2) < budget_with_states(65_536, few, 2) < 65_536
    lm = lm_of("gpt2")
    budget = InternalsReader(lm, layers_of(lm), None).budget
    assert budget == budget_with_states(lm.batch_tokens, lm.model.config, 4) < lm.batch_tokens
