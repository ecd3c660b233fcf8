"""Attention along the paths of a trie, as an attention implementation for transformers.

There are two methods. *Groups* reads paths of similar length, padded at their ends, with torch's usual attention.
*Packed* concatenates all paths without padding, with one query per node, and uses torch's attention for sequences of
varying length. Packed attention requires a GPU and half precision, and is used only if it gives the same numbers.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmark.models.device_errors import is_out_of_memory
from benchmark.models.trie import Integers, Trie
from divbench.core.errors import first_line

ATTENTION = "divbench_trie"
_PLANS: ContextVar["_Plans | None"] = ContextVar("plans", default=None)
# For means of normal numbers in half precision; a path shifted by one node differs by tenths.
_PACKED_TOLERANCE = 0.05
_PROBED_WINDOW = 8  # shorter than the paths that packing is tested on
_AMPERE = (8, 0)  # compute capability that flash attention needs


class CannotShareError(Exception):
    """The model's attention needs something that attention along a trie does not support."""


@dataclass(frozen=True, slots=True, eq=False)
class _Packed:
    """The concatenated leaves of a trie on one device."""

    nodes: Any  # int64 [tokens], the nodes of every path
    starts: Any  # int32 [paths + 1], offset of each path in `nodes`
    fresh: Any  # int32 [paths + 1], first node that is new in each path
    longest: int
    most_fresh: int


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """A trie on one device: packed, or the `nodes`, `taken` and `taken_nodes` of each group."""

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
            nodes = torch.from_numpy(np.concatenate(trie.leaves)).to(device)
            return cls((), _Packed(nodes, starts, first, max(lengths), int(np.diff(fresh).max())))

        def there(part: Integers) -> Any:
            return torch.from_numpy(part).to(device)

        groups = ((there(each.nodes), there(each.taken), there(each.taken_nodes)) for each in trie.groups)
        return cls(tuple(groups), None)


@dataclass(frozen=True, slots=True)
class Packing:
    """Which kinds of attention run packed."""

    causal: bool = False  # whether attention to the whole prefix runs packed
    windows: bool = False  # whether attention to a window shorter than the path runs packed
    reason: str | None = None  # why one of them does not, on a GPU in half precision; None elsewhere, or if both do

    def allows(self, window: int | None) -> bool:
        """Whether attention with this window (None: to the whole prefix) runs packed."""
        return self.causal if window is None else self.windows


@dataclass(frozen=True, slots=True, eq=False)
class _Plans:
    """The plans of a trie by device and method, each made at its first use, and the window of each layer."""

    trie: Trie
    packing: Packing
    windows: list[int | None] = field(default_factory=list)
    made: dict[tuple[Any, bool], _Plan] = field(default_factory=dict)

    def on(self, device: Any, *, packed: bool = False) -> _Plan:
        key = device, packed
        if key not in self.made:
            self.made[key] = _Plan.of(self.trie, device, packed=packed)
        return self.made[key]

    def shortened(self, window: int | None) -> int | None:
        """Return the window, or None if no path is longer than it, so that it has no effect."""
        return None if window is None or window >= int(self.trie.depths.max()) + 1 else window


@contextmanager
def attending(model: Any, trie: Trie, packing: Packing) -> Iterator[list[int | None]]:
    """Let the model's attention run along the trie's paths, and yield the window that each of its layers requests."""
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
    """Find out which kinds of packed attention are available for a model and give the same numbers as groups.

    The test uses random numbers with the model's heads, and runs only on GPUs in half precision.
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
    """Compute causal attention along the paths of the current plan."""
    refused = [name for name in ("softcap", "s_aux", "position_bias") if options.get(name) is not None]
    plans = _PLANS.get()
    if attention_mask is not None or refused or plans is None:
        raise CannotShareError(f"its attention asks for {' and '.join(refused) or 'a mask'}")
    plans.windows.append(options.get("sliding_window"))
    window = plans.shortened(options.get("sliding_window"))
    plan = plans.on(query.device, packed=plans.packing.allows(window))
    return _along_paths(plan, query, key, value, scaling=scaling, window=window)[None], None


def _along_paths(plan: _Plan, query: Any, key: Any, value: Any, *, scaling: float | None, window: int | None) -> Any:
    """Compute attention along the paths of a plan: [nodes, heads, size]."""
    import torch

    if plan.packed is not None:
        return _packed(plan.packed, query, key, value, scaling, window)
    made = torch.empty_like(query[0].transpose(0, 1))[..., : value.shape[-1]]
    for nodes, taken, taken_nodes in plan.groups:
        longest = nodes.shape[1]
        q, k, v = (_along(x[0], nodes) for x in (query, key, value))
        mask = None
        if window is not None and longest > window:
            position = torch.arange(longest, device=nodes.device)
            distance = position[:, None] - position[None, :]
            mask = (distance >= 0) & (distance < window)
        shared = q.shape[1] != k.shape[1]
        if shared and not takes_shared_heads(q, masked=mask is not None):
            k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
            shared = False
        found = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=mask is None, scale=scaling, enable_gqa=shared
        )
        made[taken_nodes] = found.transpose(1, 2).flatten(0, 1)[taken]
    return made


def takes_shared_heads(query: Any, *, masked: bool) -> bool:
    """Whether a fused kernel of torch's attention supports fewer heads for keys than for queries.

    On a CPU it does. On a GPU only flash attention does, which needs half precision, no mask, and compute capability
    8.0; otherwise torch would use a slow kernel that needs memory quadratic in the length.
    """
    import torch

    if query.device.type != "cuda":
        return bool(query.device.type == "cpu")
    half = query.dtype in (torch.float16, torch.bfloat16)
    return half and not masked and torch.cuda.get_device_capability(query.device) >= _AMPERE


def _along(x: Any, nodes: Any) -> Any:
    """Gather [heads, nodes, size] along paths: [paths, heads, longest, size]."""
    return x.transpose(0, 1)[nodes].transpose(1, 2)


def _packed(plan: _Packed, query: Any, key: Any, value: Any, scaling: float | None, window: int | None) -> Any:
    """Compute packed attention: [nodes, heads, size].

    A path's queries are its new nodes, which are its last ones. The last query is aligned with the last key, so each
    query sees the keys up to its own position, or the last `window` of them. Older versions of torch, which have other
    parameters, raise a TypeError.
    """
    from inspect import signature

    from torch.nn.attention import varlen

    attention: Any = varlen.varlen_attn
    options = {"enable_gqa": True} if "enable_gqa" in signature(attention).parameters else {}
    return attention(
        query[0].transpose(0, 1).contiguous(),
        *(x[0].transpose(0, 1)[plan.nodes] for x in (key, value)),
        plan.fresh,
        plan.starts,
        plan.most_fresh,
        plan.longest,
        scale=scaling,
        window_size=(-1 if window is None else window - 1, 0),
        **options,
    )
