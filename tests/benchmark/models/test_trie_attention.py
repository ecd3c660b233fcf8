"""Attention without padding, with torch's kernel for GPUs stood in for by its definition: what it is told, and when."""

from collections.abc import Callable
from functools import wraps
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.attention import varlen

from benchmark.models.hf_lm import HFCausalLM
from benchmark.models.trie import Packing, Trie, _along_paths, _Plan, build_trie, packing_of, takes_shared_heads
from benchmark.surprisal.engine import ResponseSet, read_sets
from tests.benchmark.lms import Style, lm_of, one_thread, random_model, tokeniser
from tests.benchmark.surprisal.test_engine_faults import assert_same

__all__ = ["one_thread"]  # a fixture

SETS = [ResponseSet("Say one.", ("The lamp.", "A stone.", f"Item {i}.", "A lamp, " * i)) for i in range(4)]


def defined(shift: int = 0, *, windows: bool = True) -> Callable[..., torch.Tensor]:
    """Causal attention of sequences of varying length.

    Args:
        shift: The last query stands so many before the last key.
        windows: Whether the window is taken as torch defines it, the query itself not counted; else off by one.
    """

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
        assert (cu_seq_q.dtype, cu_seq_k.dtype, window_size[1]) == (torch.int32, torch.int32, 0)
        assert enable_gqa or query.shape[1] == key.shape[1]
        assert query.is_contiguous()
        bounds = [each.tolist() for each in (cu_seq_q, cu_seq_k)]
        assert [each[-1] for each in bounds] == [len(query), len(key)]
        assert (int(cu_seq_q.diff().max()), int(cu_seq_k.diff().max())) == (max_q, max_k)
        made = []
        for q0, q1, k0, k1 in zip(bounds[0][:-1], bounds[0][1:], bounds[1][:-1], bounds[1][1:], strict=True):
            q, k, v = (x.transpose(0, 1)[None] for x in (query[q0:q1], key[k0:k1], value[k0:k1]))
            places = torch.arange(q1 - q0)[:, None] + (k1 - k0) - (q1 - q0) - shift
            ago = places.clamp(min=0) - torch.arange(k1 - k0)[None, :]
            mask = (ago >= 0) & (ago <= window_size[0] - (not windows) if window_size[0] >= 0 else True)
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
    lm.packing = Packing(causal=True, windows=True)
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
    for dtype in (torch.bfloat16, torch.float16):
        assert packing_of(OnGPU(dtype), a_trie()) == Packing(causal=True, windows=True)
    assert packing_of(OnGPU(torch.float32), a_trie()) == Packing()
    assert packing_of(OnGPU(torch.bfloat16, "cpu"), a_trie()) == Packing()
    monkeypatch.setattr(varlen, "varlen_attn", defined(windows=False))
    found = packing_of(OnGPU(torch.bfloat16), a_trie())
    assert (found.causal, found.windows) == (True, False)
    assert "with windows: its numbers differ" in (found.reason or "")


def older(*given: Any, is_causal: bool = False) -> torch.Tensor:
    raise AssertionError


def refusing(*given: Any, **options: Any) -> torch.Tensor:
    raise RuntimeError("FlashAttention only supports Ampere GPUs or newer.")


@pytest.mark.usefixtures("any_device")
@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (defined(shift=1), "its numbers differ by"),
        (older, "unexpected keyword argument"),
        (refusing, "only supports Ampere"),
        (None, "varlen_attn"),
    ],
)
def test_packed_attention_is_left_where_it_does_not_and_the_reason_is_named(
    kernel: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kernel is None:
        monkeypatch.delattr(varlen, "varlen_attn")
    else:
        monkeypatch.setattr(varlen, "varlen_attn", kernel)
    found = packing_of(OnGPU(torch.bfloat16), a_trie())
    assert not found.causal
    assert not found.windows
    assert reason in (found.reason or "")


def windowed(window: int) -> HFCausalLM:
    options = {"sliding_window": window, "use_sliding_window": True, "max_window_layers": 0}
    return HFCausalLM(random_model("qwen2", len(tokeniser("gpt2")), **options), tokeniser("gpt2"), "windowed")


@pytest.mark.parametrize(
    ("window", "packs_windows", "packed"), [(1000, False, True), (8, True, True), (8, False, False)]
)
def test_a_model_with_windows_is_packed_where_texts_are_shorter_or_the_kernel_has_them(
    window: int, packs_windows: bool, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = read_sets(SETS, windowed(window))
    calls, kernel = [], defined()

    @wraps(kernel)
    def counted(*given: Any, **options: Any) -> torch.Tensor:
        calls.append(options["window_size"])
        return kernel(*given, **options)

    monkeypatch.setattr(varlen, "varlen_attn", counted)
    monkeypatch.setattr("benchmark.models.hf_lm.packing_of", lambda *given: Packing(True, packs_windows))
    lm = windowed(window)
    assert (lm.packing.causal, lm.shares, lm.fallbacks) == (True, True, ())
    calls.clear()
    assert_same(read_sets(SETS, lm), found)
    assert bool(calls) == packed
    assert set(calls) <= {(-1, 0) if window == 1000 else (7, 0)}


HALF, SINGLE = torch.float16, torch.float32


@pytest.mark.parametrize(
    ("dtype", "window", "capability", "expanded"),
    [
        (HALF, None, (8, 0), False),
        (SINGLE, None, (9, 0), True),
        (HALF, 8, (9, 0), True),
        (HALF, None, (7, 5), True),
    ],
)
def test_key_heads_are_expanded_where_no_fused_kernel_shares_them(
    dtype: torch.dtype, window: int | None, capability: tuple[int, int], expanded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Torch's slow kernel takes what flash attention refuses (float32, masks) and memory-efficient refuses (groups)."""
    drawn = torch.Generator().manual_seed(0)
    numbers = [torch.randn(1, heads, 40, 16, generator=drawn).to(dtype) for heads in (8, 2, 2)]
    plan = _Plan.of(a_trie(), torch.device("cpu"), packed=False)
    wanted = _along_paths(plan, *numbers, scaling=None, window=window)
    asked: list[tuple[int, bool]] = []
    own = torch.nn.functional.scaled_dot_product_attention

    def seen(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, **options: Any) -> torch.Tensor:
        asked.append((k.shape[1], options["enable_gqa"]))
        return own(q, k, v, **options)

    def on_gpu(query: torch.Tensor, *, masked: bool) -> bool:
        gpu: Any = SimpleNamespace(device=torch.device("cuda"), dtype=query.dtype)
        return takes_shared_heads(gpu, masked=masked)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", seen)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr("benchmark.models.trie.takes_shared_heads", on_gpu)
    found = _along_paths(plan, *numbers, scaling=None, window=window)
    assert set(asked) == {(8, False) if expanded else (2, True)}
    assert (found.float() - wanted.float()).abs().max() < 0.01
