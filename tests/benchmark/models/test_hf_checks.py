"""What is found out about a model at loading, in half precision too, and what is said where a slower way is taken."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from benchmark.models.hf_lm import HFCausalLM, _fuse_norms
from divbench.core.errors import ConfigurationError
from tests.benchmark.lms import one_thread, random_model, tokeniser

__all__ = ["one_thread"]  # a fixture

VOCABULARY = len(tokeniser("merging"))
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "head_dim": 8}


def loaded(kind: str = "qwen2", dtype: torch.dtype = torch.bfloat16, **options: Any) -> HFCausalLM:
    return HFCausalLM(random_model(kind, VOCABULARY, **options).to(dtype), tokeniser("merging"), kind)


def with_hook(part: str, change: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype) -> Any:
    """A model of which a part's output is changed."""
    model = random_model("qwen2", VOCABULARY).to(dtype)
    model.get_submodule(part).register_forward_hook(lambda part, given, made: change(made))
    return model


def leaks(states: torch.Tensor) -> torch.Tensor:
    """Every position sees the one after the next."""
    return states + states.roll(-2, dims=1)


@pytest.mark.parametrize("kind", ["qwen2", "qwen3_moe"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_causal_and_shares(kind: str, dtype: torch.dtype) -> None:
    lm = loaded(kind, dtype, **(EXPERTS if kind == "qwen3_moe" else {}))
    assert (lm.understands_head, lm.shares, lm.fallbacks) == (True, True, ())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_position_that_sees_what_comes_is_found_in_every_precision(dtype: torch.dtype) -> None:
    with pytest.raises(ConfigurationError, match="sees the tokens that it is to predict"):
        HFCausalLM(with_hook("model.embed_tokens", leaks, dtype), tokeniser("merging"), "leaks")


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("gemma2", {"head_dim": 8}, "shared prefixes read anew for every sequence: its attention asks for softcap"),
        ("mamba", {}, "shared prefixes read anew for every sequence"),
        ("phimoe", {"sliding_window": 28, "num_local_experts": 4}, "a window of 28 tokens comes from a mask alone"),
    ],
)
def test_a_slower_way_is_named_with_its_reason(kind: str, options: dict[str, Any], said: str) -> None:
    lm = loaded(kind, torch.float32, **options)
    assert not lm.shares
    assert any(said in each for each in lm.fallbacks)


@pytest.mark.parametrize("kind", ["gptj", "falcon", "mamba"])
def test_layers_that_know_no_trie_are_found_in_half_precision(kind: str) -> None:
    """Their numbers are near the true ones, as the tolerance is wide: up to half a bit a token."""
    lm = loaded(kind, rotary_dim=4)
    assert not lm.shares
    assert any("0 of its 2 layers attend along a trie" in each for each in lm.fallbacks)


def fused(model: Any) -> list[str]:
    return [type(module).__name__ for module in model.modules() if "forward" in vars(module)]


@pytest.mark.parametrize("kind", ["qwen2", "qwen3", "llama", "olmo2"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_norms_are_fused_and_the_logits_stay(kind: str, dtype: torch.dtype) -> None:
    model = random_model(kind, VOCABULARY).to(dtype)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.dim() == 1 and "norm" in name:
                weights.uniform_(0.5, 1.5, generator=torch.Generator().manual_seed(1))
    ids = torch.arange(3, 35)[None]
    with torch.inference_mode():
        own = model(input_ids=ids).logits.float()
        _fuse_norms(model)
        assert len(fused(model)) == sum(type(module).__name__.endswith("RMSNorm") for module in model.modules()) > 0
        difference = (own - model(input_ids=ids).logits.float()).abs().max()
    assert difference <= {torch.float32: 1e-5}.get(dtype, 0.1) * own.abs().max()


def test_norms_of_another_definition_are_left_alone() -> None:
    model = random_model("gemma", VOCABULARY)  # scales by 1 + weight
    with torch.inference_mode():
        _fuse_norms(model)
    assert fused(model) == []
