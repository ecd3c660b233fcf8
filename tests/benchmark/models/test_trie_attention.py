"""Attention without padding, with torch's kernel for GPUs stood in for by its definition: what it is told, and when."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.attention import varlen

from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.trie import Trie, build_trie
from benchmark.models.trie_attention import packing_agrees
from benchmark.surprisal.engine import ResponseSet, read_sets
from tests.benchmark.lms import Style, lm_of, one_thread, random_model, tokeniser
from tests.benchmark.surprisal.test_engine_faults import assert_same

__all__ = ["one_thread"]  # a fixture

SETS = [ResponseSet("Say one.", ("The lamp.", "A stone.", f"Item {i}.", "A lamp, " * i)) for i in range(4)]


def defined(shift: int = 0) -> Callable[..., torch.Tensor]:
    """Causal attention of sequences of varying length: the last query stands at the last key, or so many before it."""

    def attention(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        cu_seq_q: torch.Tensor,
        cu_seq_k: torch.Tensor,
        max_q: int,
        max_k: int,
        *,
        scale: float | None = None,
        window_size: tuple[int, int] = (-1, -1),
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        assert (cu_seq_q.dtype, cu_seq_k.dtype, window_size) == (torch.int32, torch.int32, (-1, 0))
        assert enable_gqa or query.shape[1] == key.shape[1]
        assert query.is_contiguous()
        bounds = [each.tolist() for each in (cu_seq_q, cu_seq_k)]
        assert [each[-1] for each in bounds] == [len(query), len(key)]
        assert (int(cu_seq_q.diff().max()), int(cu_seq_k.diff().max())) == (max_q, max_k)
        made = []
        for q0, q1, k0, k1 in zip(bounds[0][:-1], bounds[0][1:], bounds[1][:-1], bounds[1][1:], strict=True):
            q, k, v = (x.transpose(0, 1)[None] for x in (query[q0:q1], key[k0:k1], value[k0:k1]))
            places = torch.arange(q1 - q0)[:, None] + (k1 - k0) - (q1 - q0) - shift
            mask = torch.arange(k1 - k0)[None, :] <= places.clamp(min=0)
            found = torch.nn.functional.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, scale=scale, enable_gqa=enable_gqa
            )
            made.append(found[0].transpose(0, 1))
        return torch.cat(made)

    return attention


@pytest.mark.parametrize("style", ["merging", "gpt2", "ours"])  # with fewer heads for keys, and with as many
def test_packed_attention_gives_what_groups_give(style: Style, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = lm_of(style)
    found = read_sets(SETS, lm)
    monkeypatch.setattr(varlen, "varlen_attn", defined())
    lm.packs = True
    assert_same(read_sets(SETS, lm), found)
    monkeypatch.setattr(varlen, "varlen_attn", defined(shift=1))
    with pytest.raises(AssertionError):
        assert_same(read_sets(SETS, lm), found)


def a_trie() -> Trie:
    ids = np.arange(40)
    return build_trie([ids[:24], np.concatenate([ids[:12], ids[24:32]]), np.concatenate([ids[:18], ids[32:]])])


class OnGPU(SimpleNamespace):
    """What the check asks of a model, which says that it is on a GPU though it is not."""

    device: Any

    def __init__(self, dtype: torch.dtype, kind: str = "cuda") -> None:
        config = SimpleNamespace(num_attention_heads=8, num_key_value_heads=2, hidden_size=256)
        super().__init__(device=torch.device(kind), dtype=dtype, config=config)
        config.get_text_config = lambda: config


@pytest.fixture
def any_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors that are sent to that GPU stay where they are."""
    own = torch.Tensor.to

    def stay(self: torch.Tensor, where: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        assert isinstance(where, torch.device)
        return own(self, torch.device("cpu"), dtype)

    monkeypatch.setattr(torch.Tensor, "to", stay)


@pytest.mark.usefixtures("any_device")
def test_packed_attention_is_taken_where_it_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(varlen, "varlen_attn", defined())
    assert packing_agrees(OnGPU(torch.bfloat16), a_trie())
    assert packing_agrees(OnGPU(torch.float16), a_trie())
    assert not packing_agrees(OnGPU(torch.float32), a_trie())
    assert not packing_agrees(OnGPU(torch.bfloat16, "cpu"), a_trie())


def older(*given: Any, is_causal: bool = False) -> torch.Tensor:
    raise AssertionError


def refusing(*given: Any, **options: Any) -> torch.Tensor:
    raise RuntimeError("FlashAttention only supports Ampere GPUs or newer.")


@pytest.mark.usefixtures("any_device")
@pytest.mark.parametrize("kernel", [defined(shift=1), defined(shift=-1), older, refusing, None])
def test_packed_attention_is_left_where_it_does_not(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if kernel is None:
        monkeypatch.delattr(varlen, "varlen_attn")
    else:
        monkeypatch.setattr(varlen, "varlen_attn", kernel)
    assert not packing_agrees(OnGPU(torch.bfloat16), a_trie())


def test_a_model_that_cannot_be_packed_goes_by_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(varlen, "varlen_attn", defined())
    monkeypatch.setattr("benchmark.models.hf_lm.packing_agrees", lambda model, trie: True)
    options = {"sliding_window": 8, "use_sliding_window": True, "max_window_layers": 0}
    windowed = HFCausalLM(random_model("qwen2", len(tokeniser("gpt2")), **options), tokeniser("gpt2"), "windowed")
    assert (windowed.packs, windowed.shares) == (False, True)
    assert (lm_of("gpt2").packs, lm_of("gpt2").shares) == (True, True)
