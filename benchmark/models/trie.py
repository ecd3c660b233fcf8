"""Token sequences as a trie, so that shared prefixes are read once, and attention along its paths for transformers.

A transformer's per-token work (embeddings, projections, MLP, head) is done once per node; only attention sees whole
sequences. There are two methods. *Groups* reads paths of similar length, padded at their ends, with torch's usual
attention. *Packed* concatenates all paths without padding, with one query per node, and uses torch's attention for
sequences of varying length. It requires a GPU and half precision, and is used only if it gives the same numbers.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.models.causal_lm import TokenSequence
from benchmark.models.memory import is_out_of_memory
from divbench.core.errors import first_line

Integers = NDArray[np.int64]
_STRETCH = 1.3  # maximum length of a path in a group, relative to the shortest one


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Paths of similar length."""

    nodes: Integers  # int64 [paths, longest], the node at each position, padded with the path's last node
    taken: Integers  # int64 [taken], flat indices into `nodes` of the nodes that first occur in this group
    taken_nodes: Integers  # int64 [taken], these nodes


@dataclass(frozen=True, slots=True, eq=False)
class Trie:
    """Sequences with their shared prefixes merged."""

    ids: Integers  # int64 [nodes], the token of each node
    depths: Integers  # int64 [nodes], its position in every sequence through it
    parents: Integers  # int64 [nodes], the previous node, −1 if there is none
    paths: tuple[Integers, ...]  # for each sequence its nodes, int64 [tokens]
    # All paths that are not a prefix of another path, in increasing order of nodes. The nodes that are new in a path
    # are consecutive and at its end: they follow the last node of the previous leaf.
    leaves: tuple[Integers, ...]
    groups: tuple[Group, ...]  # the leaves grouped by length


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTrie:
    """Sequences as a trie, and the nodes to be scored."""

    trie: Trie
    scored: list[Integers]  # for each sequence its scored nodes, int64 [scored]
    wanted: Integers  # int64 [wanted], all scored nodes without duplicates, in increasing order
    parents: Integers  # int64 [wanted], the nodes before them
    targets: Integers  # int64 [wanted], the tokens of the scored nodes

    @classmethod
    def of(cls, sequences: Sequence[TokenSequence]) -> "ScoredTrie":
        """Build the trie of one or more non-empty sequences."""
        trie = build_trie([sequence.ids for sequence in sequences])
        scored = [path[sequence.scored] for path, sequence in zip(trie.paths, sequences, strict=True)]
        is_wanted = np.zeros(len(trie.ids), bool)
        is_wanted[np.concatenate(scored)] = True
        wanted = np.flatnonzero(is_wanted)
        return cls(trie, scored, wanted, trie.parents[wanted], trie.ids[wanted])


def prefix_sort_key(ids: Integers) -> bytes:
    """Return a sort key that places sequences with long shared prefixes next to each other."""
    return ids.astype(">i8").tobytes()  # the order is that of lists of ids, but comparison is much faster


def build_trie(sequences: Sequence[Integers]) -> Trie:
    """Build the trie of non-empty sequences; their order does not matter.

    In sorted order, a prefix shared with any earlier sequence is also shared with the previous one.

    >>> trie = build_trie([np.array([5, 6, 7]), np.array([5, 6]), np.array([5, 8])])
    >>> trie.ids.tolist(), trie.depths.tolist(), [path.tolist() for path in trie.paths]
    ([5, 6, 7, 8], [0, 1, 2, 1], [[0, 1, 2], [0, 1], [0, 3]])
    """
    keys = [prefix_sort_key(ids) for ids in sequences]
    paths: dict[int, Integers] = {}
    ids: list[Integers] = []
    depths: list[Integers] = []
    parents: list[Integers] = []
    leaves: list[Integers] = []
    before, path, count = np.empty(0, np.int64), np.empty(0, np.int64), 0
    for i in sorted(range(len(sequences)), key=keys.__getitem__):
        tokens = sequences[i]
        shared = _shared(before, tokens)
        if shared < len(before):
            leaves.append(path)
        fresh = len(tokens) - shared
        path = np.concatenate([path[:shared], np.arange(count, count + fresh)])
        ids.append(tokens[shared:])
        depths.append(np.arange(shared, len(tokens)))
        parents.append(path[shared - 1 : -1] if shared else np.concatenate([[-1], path[:-1]]))
        paths[i], before, count = path, tokens, count + fresh
    leaves.append(path)
    return Trie(
        np.concatenate(ids),
        np.concatenate(depths),
        np.concatenate(parents),
        tuple(paths[i] for i in range(len(sequences))),
        tuple(leaves),
        tuple(_groups(leaves)),
    )


def _shared(a: Integers, b: Integers) -> int:
    """Return the length of the longest shared prefix."""
    length = min(len(a), len(b))
    differ = np.flatnonzero(a[:length] != b[:length])
    return int(differ[0]) if len(differ) else length


def _groups(leaves: Sequence[Integers]) -> list[Group]:
    """Group leaves by length to reduce padding; each node is taken from the leaf in which it is new."""
    ends = [int(leaf[-1]) + 1 for leaf in leaves]
    batches: list[list[int]] = []
    for i in sorted(range(len(leaves)), key=lambda i: len(leaves[i])):
        if batches and len(leaves[i]) <= _STRETCH * len(leaves[batches[-1][0]]):
            batches[-1].append(i)
        else:
            batches.append([i])
    return [_group(leaves, ends, batch) for batch in batches]


def _group(leaves: Sequence[Integers], ends: Sequence[int], batch: Sequence[int]) -> Group:
    longest = max(len(leaves[i]) for i in batch)
    nodes = np.empty((len(batch), longest), np.int64)
    taken, taken_nodes = [], []
    for row, i in enumerate(batch):
        leaf, start = leaves[i], ends[i - 1] if i else 0
        nodes[row, : len(leaf)] = leaf
        nodes[row, len(leaf) :] = leaf[-1]
        end = row * longest + len(leaf)
        taken.append(np.arange(end - (ends[i] - start), end))
        taken_nodes.append(np.arange(start, ends[i]))
    return Group(nodes, np.concatenate(taken), np.concatenate(taken_nodes))


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
            offsets = (torch.tensor(part, dtype=torch.int32) for part in (np.cumsum([0, *lengths]), fresh))
            starts, first = (part.to(device) for part in offsets)
            nodes = torch.from_numpy(np.concatenate(trie.leaves)).to(device)
            return cls((), _Packed(nodes, starts, first, max(lengths), int(np.diff(fresh).max())))

        def on_device(part: Integers) -> Any:
            return torch.from_numpy(part).to(device)

        groups = ((on_device(part.nodes), on_device(part.taken), on_device(part.taken_nodes)) for part in trie.groups)
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
    """Find out on random numbers which kinds of packed attention a model can use on its GPU with the same results."""
    import torch

    if model.device.type != "cuda" or model.dtype not in (torch.float16, torch.bfloat16):
        return Packing()
    config = model.config.get_text_config()
    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    kinds = (heads, *2 * [getattr(config, "num_key_value_heads", None) or heads])
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(1, n, len(trie.ids), size, generator=generator).to(model.device, model.dtype) for n in kinds]
    causal = _why_not_packed(model, trie, inputs, None)
    windows = causal or _why_not_packed(model, trie, inputs, _PROBED_WINDOW)
    return Packing(causal is None, windows is None, causal or (windows and f"with windows: {windows}"))


def _why_not_packed(model: Any, trie: Trie, inputs: Sequence[Any], window: int | None) -> str | None:
    try:
        one, other = (
            _along_paths(_Plan.of(trie, model.device, packed=packed), *inputs, scaling=None, window=window)
            for packed in (False, True)
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
    states = torch.empty_like(query[0].transpose(0, 1))[..., : value.shape[-1]]
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
        attended = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=mask is None, scale=scaling, enable_gqa=shared
        )
        states[taken_nodes] = attended.transpose(1, 2).flatten(0, 1)[taken]
    return states


def takes_shared_heads(query: Any, *, masked: bool) -> bool:
    """Whether a fused kernel of torch's attention supports fewer heads for keys than for queries."""
    import torch

    if query.device.type != "cuda":
        return bool(query.device.type == "cpu")
    # Flash attention does on a GPU; without it, torch would use a kernel with memory quadratic in the length.
    half = query.dtype in (torch.float16, torch.bfloat16)
    return half and not masked and torch.cuda.get_device_capability(query.device) >= _AMPERE


def _along(x: Any, nodes: Any) -> Any:
    """Gather [heads, nodes, size] along paths: [paths, heads, longest, size]."""
    return x.transpose(0, 1)[nodes].transpose(1, 2)


def _packed(plan: _Packed, query: Any, key: Any, value: Any, scaling: float | None, window: int | None) -> Any:
    """Compute packed attention, [nodes, heads, size]; a path's queries are its new nodes, which are its last ones."""
    from inspect import signature

    from torch.nn.attention import varlen

    attention: Any = varlen.varlen_attn  # older versions have other parameters and raise a TypeError
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
