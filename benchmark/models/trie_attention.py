"""Attention along the paths of a trie, as an attention implementation for transformers.

Two ways. *Groups*: paths of similar length, padded at their ends, in torch's usual attention. *Packed*: each node's
query once and each path's keys, one path after the other without padding, in torch's attention for sequences of varying
length. Packed attention is for GPUs in half precision, and used only where it gives the same numbers.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmark.models.device_errors import first_line, is_out_of_memory
from benchmark.models.trie import Integers, Trie

ATTENTION = "divbench_trie"
_PLANS: ContextVar["_Plans | None"] = ContextVar("plans", default=None)
_PACKED_TOLERANCE = 0.05  # of means of normal numbers in half precision; a path one node off differs by tenths
_PROBED_WINDOW = 8  # shorter than the paths that packing is tried on
_AMPERE = (8, 0)  # compute capability; flash attention needs it


class CannotShareError(Exception):
    """The model's attention needs something that the trie's does not have."""


@dataclass(frozen=True, slots=True, eq=False)
class _Packed:
    """The leaves of a trie, one after the other, on one device.

    Attributes:
        way: int64 [tokens], the nodes of every path.
        starts: int32 [paths + 1], where each path begins in `way`.
        fresh: int32 [paths + 1], where the nodes begin that are new in a path.
    """

    way: Any
    starts: Any
    fresh: Any
    longest: int
    most_fresh: int


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """A trie on one device: packed, or for each group its nodes [paths, longest], `taken` and `taken_nodes`."""

    groups: tuple[tuple[Any, Any, Any], ...]
    packed: _Packed | None

    @classmethod
    def of(cls, trie: Trie, device: Any, *, packed: bool) -> "_Plan":
        import torch

        if packed:
            lengths = [len(leaf) for leaf in trie.leaves]
            fresh = [0, *(int(leaf[-1]) + 1 for leaf in trie.leaves)]
            offsets = (torch.tensor(each, dtype=torch.int32) for each in (np.cumsum([0, *lengths]), fresh))
            starts, first = (each.to(device) for each in offsets)
            way = torch.from_numpy(np.concatenate(trie.leaves)).to(device)
            return cls((), _Packed(way, starts, first, max(lengths), int(np.diff(fresh).max())))

        def there(part: Integers) -> Any:
            return torch.from_numpy(part).to(device)

        groups = ((there(each.nodes), there(each.taken), there(each.taken_nodes)) for each in trie.groups)
        return cls(tuple(groups), None)


@dataclass(frozen=True, slots=True)
class Packing:
    """Which attention runs packed.

    Attributes:
        causal: Whether that to the whole prefix does.
        windows: Whether that to a window shorter than the path does.
        reason: Why not, where a GPU in half precision could be expected to; else None.
    """

    causal: bool = False
    windows: bool = False
    reason: str | None = None

    def allows(self, window: int | None) -> bool:
        """Whether attention with a window (None: without) runs packed."""
        return self.causal if window is None else self.windows


@dataclass(frozen=True, slots=True, eq=False)
class _Plans:
    """The plans of a trie by device and way, each made at its first use, and the windows that layers asked for."""

    trie: Trie
    packing: Packing
    windows: set[int | None] = field(default_factory=set)
    made: dict[tuple[Any, bool], _Plan] = field(default_factory=dict)

    def on(self, device: Any, *, packed: bool = False) -> _Plan:
        key = device, packed
        if key not in self.made:
            self.made[key] = _Plan.of(self.trie, device, packed=packed)
        return self.made[key]

    def shortened(self, window: int | None) -> int | None:
        """The window; None where no path is longer than it, so that it changes nothing."""
        return None if window is None or window >= int(self.trie.depths.max()) + 1 else window


@contextmanager
def attending(model: Any, trie: Trie, packing: Packing) -> Iterator[set[int | None]]:
    """Inside, the model's attention runs along the trie's paths; yields the windows that its layers ask for."""
    plans = _Plans(trie, packing)
    token = _PLANS.set(plans)
    attention = model.config._attn_implementation
    try:
        model.set_attn_implementation(ATTENTION)
        yield plans.windows
    finally:
        model.set_attn_implementation(attention)
        _PLANS.reset(token)


def register_attention() -> None:
    """Register the attention with transformers."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, _attend)


def packing_of(model: Any, trie: Trie) -> Packing:
    """Find out which packed attention is available for a model, and gives the same numbers on a trie as groups.

    Tried on random numbers with the model's heads, on GPUs in half precision alone.
    """
    import torch

    if model.device.type != "cuda" or model.dtype not in (torch.float16, torch.bfloat16):
        return Packing()
    config = model.config.get_text_config()
    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    kinds = (heads, *2 * [getattr(config, "num_key_value_heads", None) or heads])
    made = torch.Generator().manual_seed(0)
    drawn = [torch.randn(1, each, len(trie.ids), size, generator=made).to(model.device, model.dtype) for each in kinds]
    causal = _why_not_packed(model, trie, drawn, None)
    windows = causal or _why_not_packed(model, trie, drawn, _PROBED_WINDOW)
    return Packing(causal is None, windows is None, causal or (windows and f"with windows: {windows}"))


def _why_not_packed(model: Any, trie: Trie, drawn: Sequence[Any], window: int | None) -> str | None:
    try:
        one, other = (
            _along_paths(_Plan.of(trie, model.device, packed=each), *drawn, scaling=None, window=window)
            for each in (False, True)
        )
    except (ImportError, AttributeError, TypeError, ValueError, RuntimeError) as error:
        if is_out_of_memory(error):
            raise
        return first_line(error)  # an older torch, or an unsupported GPU or head size
    differ = float((one.float() - other.float()).abs().max())
    return None if differ <= _PACKED_TOLERANCE else f"its numbers differ by {differ:.2g}"


def _attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float | None = None, **options: Any
) -> tuple[Any, None]:
    """Causal attention along the paths of the current plan.

    Args:
        query: [1, heads, nodes, size], with positions applied.
        key: [1, key heads, nodes, size].
        value: [1, key heads, nodes, size].
        attention_mask: None, as transformers makes no mask for an attention that it does not know.
        options: Other arguments of the layer; those that would change numbers are refused.
    """
    refused = [name for name in ("softcap", "s_aux", "position_bias") if options.get(name) is not None]
    plans = _PLANS.get()
    if attention_mask is not None or refused or plans is None:
        raise CannotShareError(f"its attention asks for {' and '.join(refused) or 'a mask'}")
    plans.windows.add(options.get("sliding_window"))
    window = plans.shortened(options.get("sliding_window"))
    plan = plans.on(query.device, packed=plans.packing.allows(window))
    return _along_paths(plan, query, key, value, scaling=scaling, window=window)[None], None


def _along_paths(plan: _Plan, query: Any, key: Any, value: Any, *, scaling: float | None, window: int | None) -> Any:
    """[nodes, heads, size]."""
    import torch

    if plan.packed is not None:
        return _packed(plan.packed, query, key, value, scaling, window)
    made = torch.empty_like(query[0].transpose(0, 1))[..., : value.shape[-1]]
    for nodes, taken, taken_nodes in plan.groups:
        paths, longest = nodes.shape
        q, k, v = (_along(x[0], nodes) for x in (query, key, value))
        mask = None
        if window is not None and longest > window:
            place = torch.arange(longest, device=nodes.device)
            ago = place[:, None] - place[None, :]
            mask = (ago >= 0) & (ago < window)
        shared = q.shape[1] != k.shape[1]
        if shared and not takes_shared_heads(q, masked=mask is not None):
            k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
            shared = False
        found = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=mask is None, scale=scaling, enable_gqa=shared
        )
        flat = found.transpose(1, 2).reshape(paths * longest, *found.shape[1:2], found.shape[-1])
        made[taken_nodes] = flat[taken]
    return made


def takes_shared_heads(query: Any, *, masked: bool) -> bool:
    """Whether a fused kernel of torch's attention takes fewer heads for keys than for queries.

    On GPUs flash attention alone does, in half precision, without a mask, from compute capability 8.0 on. Elsewhere
    torch would take a slow kernel whose memory grows with the square of the length. On a CPU it is fused.
    """
    import torch

    if query.device.type != "cuda":
        return bool(query.device.type == "cpu")
    half = query.dtype in (torch.float16, torch.bfloat16)
    return half and not masked and torch.cuda.get_device_capability(query.device) >= _AMPERE


def _along(x: Any, nodes: Any) -> Any:
    """[heads, nodes, size] to [paths, heads, longest, size]."""
    return x.transpose(0, 1)[nodes].transpose(1, 2)


def _packed(plan: _Packed, query: Any, key: Any, value: Any, scaling: float | None, window: int | None) -> Any:
    """[nodes, heads, size]. The new nodes of a path are its last, and so its queries.

    A query sees the keys up to its own position, as the last query is aligned with the last key, with a window so many
    of these. An older torch, whose attention has other parameters, raises TypeError.
    """
    from inspect import signature

    from torch.nn.attention import varlen

    attention: Any = varlen.varlen_attn
    options = {"enable_gqa": True} if "enable_gqa" in signature(attention).parameters else {}
    return attention(
        query[0].transpose(0, 1).contiguous(),
        *(x[0].transpose(0, 1)[plan.way] for x in (key, value)),
        plan.fresh,
        plan.starts,
        plan.most_fresh,
        plan.longest,
        scale=scaling,
        window_size=(-1 if window is None else window - 1, 0),
        **options,
    )
