"""Norms in one kernel: taken where the numbers are the same, left where a family defines them otherwise."""

from typing import Any

import pytest
import torch

from benchmark.models import fused_norms, hf_checks
from benchmark.models.fused_norms import fuse_norms, restore_norms
from benchmark.models.hf_lm import HFCausalLM
from tests.benchmark.lms import one_thread, random_model, tokeniser

__all__ = ["one_thread"]  # a fixture

VOCABULARY = len(tokeniser("merging"))


def with_norms(kind: str, dtype: torch.dtype) -> Any:
    """A model whose norms have weights of their own."""
    model = random_model(kind, VOCABULARY).to(dtype)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.dim() == 1 and "norm" in name:
                weights.uniform_(0.5, 1.5, generator=torch.Generator().manual_seed(1))
    return model


@pytest.mark.parametrize("kind", ["qwen2", "qwen3", "llama", "olmo2"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_all_norms_of_a_family_are_fused_and_the_logits_stay(kind: str, dtype: torch.dtype) -> None:
    model = with_norms(kind, dtype)
    ids = torch.arange(3, 35)[None]
    with torch.inference_mode():
        own = model(input_ids=ids).logits.float()
        norms = sum(type(module).__name__.endswith("RMSNorm") for module in model.modules())
        assert fuse_norms(model) == norms > 0
        fused = model(input_ids=ids).logits.float()
        assert (own - fused).abs().max() <= {torch.float32: 1e-5}.get(dtype, 0.1) * own.abs().max()
        restore_norms(model)
        assert torch.equal(model(input_ids=ids).logits.float(), own)


def test_norms_of_another_definition_are_left_alone() -> None:
    model = with_norms("gemma", torch.float32)  # scales by 1 + weight
    assert fuse_norms(model) == 0


def test_other_numbers_are_not_taken_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = HFCausalLM(with_norms("qwen2", torch.float32), tokeniser("merging"), "qwen2")
    with torch.inference_mode():
        assert hf_checks.fuse(lm) is None
        assert any("forward" in module.__dict__ for module in lm.model.modules())
        restore_norms(lm.model)
        monkeypatch.setattr(fused_norms, "_same", lambda *_: True)
        monkeypatch.setattr(lm.model.model.norm, "variance_epsilon", 5.0)
        wrong = fused_norms._rms_norm
        monkeypatch.setattr(fused_norms, "_rms_norm", lambda weight, epsilon, x: wrong(weight, epsilon + 1, x))
        assert "in one kernel, the numbers differ by" in str(hf_checks.fuse(lm))
