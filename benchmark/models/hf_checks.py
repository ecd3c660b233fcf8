"""Checks of a loaded causal language model on random tokens: which fast ways of reading give its own numbers.

A model that sees the tokens it is to predict is refused. A fast way that gives other numbers is not used, and the
slower one is listed in the model's `fallbacks` with the reason.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.models.causal_lm import Floats, Integers, TokenSequence
from benchmark.models.device_errors import is_out_of_memory
from benchmark.models.fused_norms import fuse_norms, restore_norms
from benchmark.models.lm_head import token_bits
from benchmark.models.trie import ScoredTrie, build_trie
from benchmark.models.trie_attention import CannotShareError, Packing, packing_of
from divbench.core.errors import ConfigurationError, first_line

if TYPE_CHECKING:
    from benchmark.models.hf_lm import HFCausalLM

_TOLERANCE = {"float32": 1e-3, "float16": 0.1, "bfloat16": 0.5}  # bits per token
# Compared in half precision instead of the maximum: rounding may route a few tokens to other experts.
_HALF_QUANTILE = 0.9


def check(lm: "HFCausalLM") -> None:
    """Choose how a model reads, and record its fallbacks."""
    lm.understands_head, fallbacks = True, []
    if (differ := _head_difference(lm)) > _tolerance(lm):
        lm.understands_head = False
        fallbacks.append(f"all logits of the model, because its head gives bits that differ by {differ:.2g}")
    _check_causal(lm)
    if lm.model.device.type == "cuda" and (reason := fuse(lm)):
        fallbacks.append(reason)
    if lm.understands_head:
        lm.packing = packing_of(lm.model, build_trie(_probes(lm)))
        if lm.packing.reason:
            fallbacks.append(f"attention by groups: {lm.packing.reason}")
        reason = _why_not_shared(lm)
        if reason and lm.packing.causal:
            fallbacks.append(f"attention by groups: packed, {reason}")
            lm.packing = Packing()
            reason = _why_not_shared(lm)
        lm.shares = reason is None
        if reason:
            fallbacks.append(f"shared prefixes read anew for every sequence: {reason}")
    lm.fallbacks = tuple(fallbacks)


def fuse(lm: "HFCausalLM") -> str | None:
    """Fuse the norms if the bits stay within the tolerance; otherwise return the reason."""
    probes = [_all_scored(ids) for ids in _probes(lm)]
    own = np.concatenate(lm.read_apart(probes))
    if not fuse_norms(lm.model):
        return None  # this family has other norms, so this is not a fallback
    differences = np.abs(np.concatenate(lm.read_apart(probes)) - own)
    worst = float(differences[np.isfinite(differences)].max(initial=0.0))
    if worst <= _tolerance(lm):
        return None
    restore_norms(lm.model)
    return f"norms of the library: in one kernel, the numbers differ by {worst:.2g} bits a token"


def _tolerance(lm: "HFCausalLM") -> float:
    return _TOLERANCE[str(lm.model.dtype).removeprefix("torch.")]


def _probes(lm: "HFCausalLM") -> list[Integers]:
    """Return three sequences of 24, 20 and 26 random tokens with shared prefixes."""
    draws = np.random.default_rng(0).integers(0, lm.head.weight.shape[0], 40)
    return [draws[:24], np.concatenate([draws[:12], draws[24:32]]), np.concatenate([draws[:18], draws[32:]])]


def _all_scored(ids: Integers) -> TokenSequence:
    return TokenSequence(ids, np.arange(1, len(ids)))


def _head_difference(lm: "HFCausalLM") -> float:
    """Return the largest difference in bits between `head` applied to the body's states and the model's own logits."""
    import torch

    probe = _all_scored(_probes(lm)[0])
    given = torch.from_numpy(probe.ids)[None].to(lm.model.device)
    own = lm.own_bits(given, probe)
    if not np.isfinite(own).all():
        return 0.0
    states = lm.body(input_ids=given, use_cache=False).last_hidden_state[0, :-1]
    found = token_bits(lm.head, states, torch.from_numpy(probe.ids[1:])).cpu().numpy()
    return float(np.abs(own - found).max())


def _check_causal(lm: "HFCausalLM") -> None:
    """Refuse a model if its numbers for a prefix depend on the tokens after it, or none is finite.

    The same prefix is read with several continuations of the same length. Each position is judged by its median
    deviation from the median, so that rounding may route a token to another expert in one of the readings.
    """
    rng, size = np.random.default_rng(1), lm.head.weight.shape[0]
    prefix = rng.integers(0, size, 12)
    ways = [np.concatenate([prefix, rng.integers(0, size, 12)]).astype(np.int64) for _ in range(5)]
    found = np.stack(lm.read_apart([TokenSequence(ids, np.arange(1, len(prefix))) for ids in ways]))
    if not np.isfinite(found).any():
        raise ConfigurationError(
            f"{lm.signature} gives no finite probabilities",
            "check its weights, which may have become NaN in training, or choose another precision (--set dtype=NAME)",
        )
    if _spread(found) > _tolerance(lm):
        raise ConfigurationError(
            f"{lm.signature} sees the tokens that it is to predict", "give a causal language model"
        )


def _spread(found: Floats) -> float:
    """Return the largest median deviation from the median over the positions of [readings, positions], without NaN."""
    finite = found[:, np.isfinite(found).all(axis=0)]
    deviations = np.abs(finite - np.median(finite, axis=0))
    return float(np.median(deviations, axis=0).max(initial=0.0))


def _why_not_shared(lm: "HFCausalLM") -> str | None:
    """Return why a trie gives other bits than separate sequences; None if it gives the same."""
    probes = [_all_scored(ids) for ids in _probes(lm)]
    try:
        shared = lm.read_shared(probes, ScoredTrie.of(probes))
    except CannotShareError as error:
        return str(error)
    except (TypeError, ValueError, RuntimeError, AttributeError) as error:  # the model has its own kind of attention
        if is_out_of_memory(error):
            raise
        return first_line(error)
    config = lm.model.config.get_text_config()
    # The numbers alone do not show it in half precision, where their tolerance is wide.
    if len(lm.windows_requested) < config.num_hidden_layers:
        return f"{len(lm.windows_requested)} of its {config.num_hidden_layers} layers attend along a trie"
    if masked := _windows(config) - set(lm.windows_requested):  # a trie has no mask
        return f"a window of {min(masked)} tokens comes from a mask alone"
    apart = [bits for probe in probes for bits in lm.read_apart([probe])]
    differences = np.abs(np.concatenate(shared) - np.concatenate(apart))
    exact = str(lm.model.dtype) == "torch.float32"
    worst = float(np.quantile(differences[np.isfinite(differences)], 1.0 if exact else _HALF_QUANTILE))
    return None if worst <= _tolerance(lm) else f"its numbers differ by {worst:.2g} bits a token"


def _windows(config: Any) -> set[int]:
    """Return the window sizes of layers that attend to only a part of the prefix."""
    kinds = set(getattr(config, "layer_types", None) or ["sliding_attention"])
    names = {"sliding_attention": "sliding_window", "chunked_attention": "attention_chunk_size"}
    found = [getattr(config, name, None) for kind, name in names.items() if kind in kinds]
    return {size for size in found if size and size < (getattr(config, "max_position_embeddings", None) or math.inf)}
