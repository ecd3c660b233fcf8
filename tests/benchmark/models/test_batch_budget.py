"""How many tokens at once: the formula against the memory that models took."""

import json
import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import AutoConfig

from benchmark.generation.internals.read import InternalsReader, layers_of
from benchmark.models.batch_budget import (
    CPU_TOKENS,
    LEAST,
    MOST,
    batch_budget,
    budget_of,
    budget_with_states,
    bytes_per_token,
)
from benchmark.models.hf_lm import HFCausalLM
from tests.benchmark.lms import lm_of, model_of, one_thread, tokeniser
from tests.forked import run_forked

__all__ = ["one_thread"]  # a fixture

MEASURE = """
import ctypes, json, os, sys
import numpy as np, torch
from transformers import AutoConfig, AutoModelForCausalLM
from benchmark.models.batch_budget import bytes_per_token
from benchmark.models.trie import build_trie
from benchmark.models.trie_attention import Packing, attending, register_attention

# glibc gives back at once what is larger than that, so that the peak is that of the tensors.
assert ctypes.CDLL(None).mallopt(-3, 65536) == 1  # M_MMAP_THRESHOLD
register_attention()
torch.set_num_threads(1)

def measure(kind, dtype, sizes):
    config = AutoConfig.for_model(kind, vocab_size=500, max_position_embeddings=512, **sizes)
    model = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, dtype), attn_implementation="sdpa").eval()
    drawn = np.random.default_rng(0)
    few, many = (peak_after(sequences, model, drawn) for sequences in (32, 96))
    return (many - few) / (64 * 64), bytes_per_token(model.config, getattr(torch, dtype).itemsize)

def peak_after(sequences, model, drawn):
    trie = build_trie([drawn.integers(0, 500, 64) for _ in range(sequences)])
    ids, places = (torch.from_numpy(each)[None] for each in (trie.ids, trie.depths))
    with torch.inference_mode(), attending(model, trie, Packing()):
        model.base_model(input_ids=ids, position_ids=places, use_cache=False)
    # Not getrusage: its peak is that of the process that started this one, where that was larger.
    (peak,) = (line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:"))
    return int(peak) * 1024

for given in json.loads(sys.argv[1]):
    if (child := os.fork()) == 0:  # each has a peak of its own
        print(json.dumps(measure(*given)), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""
WIDE: dict[str, Any] = {"hidden_size": 256, "num_hidden_layers": 2, "intermediate_size": 2048, "num_attention_heads": 4}
GPT2 = {"n_embd": 256, "n_layer": 2, "n_head": 4}
SHARED = WIDE | {"intermediate_size": 128, "num_attention_heads": 8, "num_key_value_heads": 2}


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
def test_what_a_token_takes() -> None:
    models = [("llama", "bfloat16", WIDE), ("qwen2", "float32", SHARED), ("gpt2", "float32", GPT2)]
    run = run_forked(MEASURE, [json.dumps(models)], os.environ)
    assert run.returncode == 0, run.stderr
    found = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(found) == len(models)
    for (kind, *_), (measured, computed) in zip(models, found, strict=True):
        assert 0.95 * measured < computed < 1.6 * measured, kind


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
