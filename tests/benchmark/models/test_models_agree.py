"""Models of many families against their own logits, as a trie and whole; and the head, which makes no big tensor."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from benchmark.models import hf_lm
from benchmark.models import lm_head as heads
from benchmark.models.causal_lm import Floats, TokenSequence
from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.lm_head import Head, token_bits
from divbench.core.errors import ConfigurationError
from tests.benchmark.lms import one_thread, random_model, tokeniser

__all__ = ["one_thread"]  # a fixture

TOLERANCE = 1e-3  # bits of a token
VOCABULARY = 640
EXPERTS = {"num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
LONGROPE: dict[str, Any] = {
    "rope_type": "longrope",
    "rope_theta": 1e4,
    "factor": 4.0,
    "original_max_position_embeddings": 30,
}
LONGROPE |= {"short_factor": [1.0] * 4, "long_factor": [3.0] * 4}

# In transformers' names, with options that bring out what is special about them.
SHARING: list[tuple[str, dict[str, Any]]] = [
    ("gpt2", {}),
    ("llama", {}),
    ("qwen2", {}),
    ("qwen3", {"head_dim": 16}),
    ("qwen3_moe", EXPERTS),
    ("gemma3_text", {"sliding_window": 8, "head_dim": 8}),
    ("mistral", {"sliding_window": 8}),
    ("gpt_neox", {}),
    ("opt", {"ffn_dim": 48, "word_embed_proj_dim": 16}),
    ("olmo2", {}),
    ("phi3", {}),
    ("cohere", {"logit_scale": 0.5}),
    ("granite", {"logits_scaling": 4.0}),
]
WHOLE: list[tuple[str, dict[str, Any]]] = [
    ("gemma2", {"attn_implementation": "eager", "final_logit_softcapping": 5.0, "head_dim": 8}),
    ("bloom", {"n_head": 4}),
    ("mamba", {"state_size": 8}),
    ("gpt_oss", {"attn_implementation": "eager", "head_dim": 8, **EXPERTS}),
    ("modernbert-decoder", {}),
]


def sequences() -> list[TokenSequence]:
    """Some that share beginnings, one of them the beginning of another; not all tokens are scored."""
    draws = np.random.default_rng(1).integers(3, VOCABULARY, 200)
    ways = [draws[:45], np.concatenate([draws[:33], draws[60:72]]), draws[:12], draws[100:160], draws[:45]]
    return [TokenSequence(ids, np.arange(1 + 3 * i, len(ids), 1 + i % 2)) for i, ids in enumerate(ways)]


def own_bits(model: Any, sequence: TokenSequence) -> Floats:
    """By the model alone, as anyone would compute it."""
    ids = torch.from_numpy(sequence.ids)
    with torch.inference_mode():
        after = model(ids[None], use_cache=False).logits[0].double().log_softmax(-1)
    costs = -after[:-1].gather(1, ids[1:, None])[:, 0] / math.log(2)
    found: Floats = costs.numpy()[sequence.scored - 1]
    return found


def largest_difference(lm: HFCausalLM, model: Any) -> float:
    found = lm.surprisals(sequences())
    return max(float(np.abs(b - own_bits(model, s)).max()) for b, s in zip(found, sequences(), strict=True))


@pytest.mark.parametrize(("kind", "options"), SHARING)
def test_a_trie_gives_the_models_own_numbers(kind: str, options: dict[str, Any]) -> None:
    model = random_model(kind, VOCABULARY, **options)
    lm = HFCausalLM(model, tokeniser("merging"), kind)
    assert lm.understands_head
    assert lm.shares
    assert largest_difference(lm, model) < TOLERANCE
    lm.shares = False
    assert largest_difference(lm, model) < TOLERANCE


@pytest.mark.parametrize(("kind", "options"), WHOLE)
def test_models_that_cannot_share_are_read_whole(kind: str, options: dict[str, Any]) -> None:
    model = random_model(kind, VOCABULARY, **options)
    lm = HFCausalLM(model, tokeniser("merging"), kind)
    assert not lm.shares
    assert lm.understands_head == (kind != "modernbert-decoder")
    assert largest_difference(lm, model) < TOLERANCE


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        # Positions that turn otherwise in a batch whose longest sequence passes a limit.
        ("phi3", {"rope_parameters": LONGROPE, "original_max_position_embeddings": 30}),
        # A window, and chunks, that attention is told of by a mask alone.
        ("phimoe", {"sliding_window": 28, **EXPERTS}),
        ("llama4_text", {"attention_chunk_size": 28, "intermediate_size_mlp": 48, "head_dim": 8, **EXPERTS}),
    ],
)
def test_models_whose_attention_changes_with_length(kind: str, options: dict[str, Any]) -> None:
    model = random_model(kind, VOCABULARY, **options)
    assert largest_difference(HFCausalLM(model, tokeniser("merging"), kind), model) < TOLERANCE


def test_a_model_that_sees_what_comes_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        HFCausalLM(random_model("bert", VOCABULARY), tokeniser("merging"), "bert")


class Largest(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The elements of the largest tensor that is made."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.numel = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        self.numel = max(self.numel, *(leaf.numel() for leaf in tree_leaves(made) if isinstance(leaf, torch.Tensor)), 0)
        return made


def test_whole_logits_are_made_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model("llama", 20_000)
    lm = HFCausalLM(model, tokeniser("merging"), "llama")
    lm.shares = lm.understands_head = False
    monkeypatch.setattr(hf_lm, "_LOGIT_BYTES", 7 * 8 * 20_000)
    with Largest() as largest:
        found = lm.surprisals(sequences()[:1])
    assert largest.numel <= 32 * 20_000  # the head's weights
    assert found[0] == pytest.approx(own_bits(model, sequences()[0]), abs=TOLERANCE)


HEADS: dict[str, dict[str, Any]] = {
    "plain": {},
    "bias": {"bias": True},
    "scale": {"scale": 0.25},
    "softcap": {"softcap": 3.0},
    "all": {"bias": True, "scale": 4.0, "softcap": 30.0},
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("named", HEADS)
def test_bits_of_a_head_are_those_of_plain_log_softmax(named: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "_TILE_ROWS", 16)
    monkeypatch.setattr(heads, "_TILE_TOKENS", 64)
    options, rows, vocabulary = HEADS[named], 35, 133
    draws = torch.Generator().manual_seed(0)
    weight, hidden = (torch.randn(n, 8, generator=draws).to(dtype) for n in (vocabulary, rows))
    bias = torch.randn(vocabulary, generator=draws).to(dtype) if options.get("bias") else None
    targets = torch.randint(vocabulary, (rows,), generator=draws)
    targets[:3] = torch.tensor([0, 64, vocabulary - 1])
    scale, softcap = options.get("scale", 1.0), options.get("softcap")
    found = token_bits(Head(weight, bias, scale, softcap), hidden, targets)

    logits = hidden.double() @ weight.double().T + (0 if bias is None else bias.double())
    logits *= scale
    if softcap:
        logits = softcap * (logits / softcap).tanh()
    wanted = -logits.log_softmax(-1).gather(1, targets[:, None])[:, 0] / math.log(2)
    assert found.dtype == torch.float64
    assert float((found - wanted).abs().max()) < 1e-4


def test_no_rows_are_no_bits() -> None:
    head = Head(torch.ones(9, 4), None, 1.0, None)
    assert token_bits(head, torch.empty(0, 4), torch.empty(0).long()).shape == (0,)
