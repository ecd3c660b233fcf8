"""Any causal language model of transformers, reading sequences as a trie of tokens.

Weights are safetensors of a pinned revision, without remote code. When a model is loaded, random tokens show which fast
ways of reading give its own numbers: a way that gives others is not used, and the slower one is listed in `fallbacks`.
A model that sees the tokens it is to predict is refused.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmark.models import Attention, Dtype, devices
from benchmark.models.causal_lm import Encoding, Floats, Integers, TokenSequence
from benchmark.models.lm_head import head_of, token_bits
from benchmark.models.memory import batch_budget, is_out_of_memory, within_memory
from benchmark.models.model_files import NEEDS_EAGER, ModelFiles, find_model_files, has_soft_cap, load_weights, loading
from benchmark.models.tokenisers import HFTokeniser
from benchmark.models.trie import (
    CannotShareError,
    Packing,
    ScoredTrie,
    Trie,
    attending,
    build_trie,
    packing_of,
    register_attention,
)
from divbench.core.errors import ConfigurationError, first_line, need

_WHOLE = "save the whole model again: without a wrapper such as torch.compile's, and with adapters merged into it"
_LOGIT_BYTES = 256 * 1024 * 1024  # size of the model's own logits computed at once
_TOLERANCE = {"float32": 1e-3, "float16": 0.1, "bfloat16": 0.5}  # bits per token
# Compared in half precision instead of the maximum: rounding may route a few tokens to other experts.
_HALF_QUANTILE = 0.9
_ULPS = 4  # the library rounds twice in half precision, the kernel once
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CausalLMSpec:
    """Names the causal language model of a profile without loading it."""

    name: str
    revision: str  # commit, 40 hex digits; for a folder, as in `ModelFiles`
    folder: Path | None = None  # folder of the files, if they are not on the Hub
    dtype: Dtype = "float32"  # precision of the body; the head and everything after it are float32 or better
    device: str = "cpu"  # device as torch names it; *auto*: all visible GPUs
    attention: Attention = "sdpa"  # attention implementation of transformers; *eager* for the few models without *sdpa*

    @property
    def signature(self) -> str:
        """`CausalLM.signature`, known without loading."""
        return f"{self.name}@{self.revision[:12]},{self.dtype},{devices.device_kind(self.device)},{self.attention}"


def find_causal_lm_spec(name: str, dtype: Dtype = "float32", device: str = "cpu") -> CausalLMSpec:
    """Make the spec of a model `ORG/NAME@REVISION` on the Hub, or in a folder."""
    files = find_model_files(name)
    return CausalLMSpec(files.name, files.pin, files.folder, dtype, device)


def with_supported_attention(spec: CausalLMSpec) -> CausalLMSpec:
    """Return the spec with *eager* attention if its kind of model has no *sdpa*, such as Gemma 2, BLOOM and Mamba."""
    transformers = need("transformers", "score")
    where, options = ModelFiles(spec.name, spec.revision, spec.folder).locate()
    with loading(where):
        config = transformers.AutoConfig.from_pretrained(where, **options)
    kind = transformers.MODEL_FOR_CAUSAL_LM_MAPPING.get(type(config), None)
    supported = getattr(kind, "_supports_sdpa", True) and not has_soft_cap(config)
    return spec if supported else replace(spec, attention="eager")


def load_causal_lm(spec: CausalLMSpec, device_map: devices.DeviceMap | None = None) -> "HFCausalLM":
    """Load the model of a spec."""
    torch = need("torch", "score")
    transformers = need("transformers", "score")
    placement = devices.device_map_options(spec.device, device_map)
    where, options = ModelFiles(spec.name, spec.revision, spec.folder).locate()
    with devices.loading_on(spec.device, spec.dtype, spec.name):
        with loading(where):
            tokeniser = transformers.AutoTokenizer.from_pretrained(where, **options)
        model = load_weights(
            transformers.AutoModelForCausalLM,
            where,
            _WHOLE,
            dtype=getattr(torch, spec.dtype),
            attn_implementation=spec.attention,
            **options,
            **placement,
        )
        if spec.attention == "sdpa" and has_soft_cap(model.config):
            raise ConfigurationError(f"{where} caps its attention scores, and sdpa does not", NEEDS_EAGER)
        model = (model if placement else model.to(spec.device)).eval()
        devices.check_not_offloaded(model, spec.name, spec.device)
        return HFCausalLM(model, tokeniser, spec.signature)


class HFCausalLM:
    """A loaded model and its tokeniser. See `CausalLM`."""

    def __init__(self, model: Any, tokeniser: Any, signature: str, batch_tokens: int | None = None) -> None:
        self.signature = signature
        self.model = model
        self.tokeniser = HFTokeniser(tokeniser)
        self.bos = self.tokeniser.bos
        config = model.config.get_text_config()
        self.context: int | None = getattr(config, "max_position_embeddings", None)
        rows = model.get_input_embeddings().weight.shape[0]
        if self.tokeniser.size > rows:
            raise ConfigurationError(
                f"{signature}: the tokeniser has ids up to {self.tokeniser.size - 1}, the model {rows} embeddings",
                "the tokeniser belongs to another model, or tokens were added to it: resize the embeddings",
            )
        self.batch_tokens = batch_tokens or batch_budget(model)
        self.head = head_of(model)
        register_attention()
        self.body = getattr(model, model.base_model_prefix, None) or model.model
        self._rope_changes_at = _rope_changes_at(config)
        self.windows_requested: list[int | None] = []
        self.understands_head, self.shares, self.packing = True, False, Packing()
        self.fallbacks: tuple[str, ...] = ()
        self.within_memory(partial(_choose_reading, self))

    @property
    def run(self) -> devices.ModelRun:
        """How the model reads, for the provenance of results."""
        import torch

        path: devices.AttentionPath = "alone" if not self.shares else "packed" if self.packing.causal else "grouped"
        return devices.ModelRun(
            self.signature,
            devices.device_name(self.model),
            str(self.model.dtype).removeprefix("torch."),
            torch.__version__,
            path,
            self.shares,
            self.batch_tokens,
            self.fallbacks,
        )

    def encode(self, texts: Sequence[str], *, begin: bool = False) -> list[Encoding]:
        """Implement `CausalLM.encode`."""
        return self.tokeniser.encode(texts, begin=begin)

    def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        """Implement `CausalLM.surprisals`."""
        return self.prepare(sequences)()

    def prepare(self, sequences: Sequence[TokenSequence]) -> Callable[[], list[Floats]]:
        """Implement `SupportsPrepare.prepare`; builds the trie of the sequences."""
        limit = self._rope_changes_at
        long = [limit is not None and len(sequence.ids) > limit for sequence in sequences]
        if any(long) and not all(long):
            parts = [
                self.prepare([s for s, is_long in zip(sequences, long, strict=True) if is_long is kind])
                for kind in (False, True)
            ]
            return partial(_merged, parts, long)
        if not self.shares:
            return partial(self.within_memory, partial(self.read_apart, sequences))
        trie = ScoredTrie.of(sequences) if sequences else None
        return partial(self.within_memory, partial(self.read_shared, sequences, trie))

    def within_memory(self, run: Callable[[], T]) -> T:
        """Call a function that runs the model, without gradients."""
        import torch

        def without_gradients() -> T:
            with torch.inference_mode():
                return run()

        return within_memory(without_gradients, self.signature, self.model.device)

    def read_shared(self, sequences: Sequence[TokenSequence], trie: ScoredTrie | None) -> list[Floats]:
        """Read every node of the trie once; the bits of a scored token depend only on the path to its node."""
        import torch

        if trie is None:
            return []
        device = self.head.weight.device
        # Moved before the model runs, because each transfer waits for the GPU.
        parents, targets = (torch.from_numpy(nodes).to(device) for nodes in (trie.parents, trie.targets))
        states = self.read_trie(trie.trie).last_hidden_state[0].to(device)[parents]
        by_node = np.full(len(trie.trie.ids), np.nan)
        by_node[trie.wanted] = token_bits(self.head, states, targets).cpu().numpy()
        scored = [by_node[nodes] for nodes in trie.scored]
        # Attention carries NaN backwards, so one sequence can affect others that share a prefix with it.
        return [
            bits if np.isfinite(bits).all() else self.read_apart([sequence])[0]
            for bits, sequence in zip(scored, sequences, strict=True)
        ]

    def read_trie(self, trie: Trie, *, states: bool = False) -> Any:
        """Return the body's output for every node, [1, nodes, …]; with `states`, also all layers' hidden states."""
        import torch

        device = self.model.device
        ids = torch.from_numpy(trie.ids)[None].to(device)
        depths = torch.from_numpy(trie.depths)[None].to(device)
        with attending(self.model, trie, self.packing) as self.windows_requested:
            return self.body(input_ids=ids, position_ids=depths, use_cache=False, output_hidden_states=states)

    def read_apart(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        """Read the sequences in one batch without sharing prefixes."""
        import torch

        ids = padded(sequences)
        inputs = torch.from_numpy(ids).to(self.model.device)
        if not self.understands_head:
            return [self.own_bits(inputs[i : i + 1], s) for i, s in enumerate(sequences)]
        hidden = self.body(input_ids=inputs, use_cache=False).last_hidden_state
        counts = [len(sequence.scored) for sequence in sequences]
        rows = np.repeat(np.arange(len(sequences)), counts)
        before = np.concatenate([sequence.scored for sequence in sequences]) - 1
        states = hidden[tuple(torch.from_numpy(index).to(hidden.device) for index in (rows, before))]
        targets = torch.from_numpy(ids[rows, before + 1])
        return np.split(token_bits(self.head, states, targets).cpu().numpy(), np.cumsum(counts)[:-1])

    def own_bits(self, ids: Any, sequence: TokenSequence) -> Floats:
        """Compute bits from the model's own logits, a few positions at a time, for models that `head` does not fit."""
        import torch

        rows = max(1, _LOGIT_BYTES // (8 * self.head.weight.shape[0]))
        bits = [np.empty(0)]
        for positions in np.split(sequence.scored, range(rows, len(sequence.scored), rows)):
            # A list rather than a tensor, because the states that it indexes may be on another device.
            keep = (positions - 1).tolist()
            logits = self.model(input_ids=ids, use_cache=False, logits_to_keep=keep).logits[0].float()
            targets = torch.from_numpy(sequence.ids[positions]).to(logits.device)
            chosen = torch.log_softmax(logits, -1).gather(1, targets[:, None])[:, 0]
            bits.append(-chosen.cpu().double().numpy() / math.log(2))
        return np.concatenate(bits)


def padded(sequences: Sequence[TokenSequence]) -> Integers:
    """Return the tokens as int64 [sequences, longest], padded at the end, where causal attention ignores padding."""
    longest = max(len(sequence.ids) for sequence in sequences)
    return np.stack([np.pad(s.ids, (0, longest - len(s.ids)), mode="edge") for s in sequences])


def _merged(parts: Sequence[Callable[[], list[Floats]]], long: Sequence[bool]) -> list[Floats]:
    """Run both functions and restore the order of the sequences."""
    results = [iter(part()) for part in parts]
    return [next(results[is_long]) for is_long in long]


def _rope_changes_at(config: Any) -> int | None:
    """Return the length beyond which all of a sequence's rotary embeddings change (LongRoPE); None: never."""
    rope = getattr(config, "rope_parameters", None) or {}
    kinds = [rope, *(value for value in rope.values() if isinstance(value, dict))]
    lengths = [kind["original_max_position_embeddings"] for kind in kinds if kind.get("rope_type") == "longrope"]
    return min(lengths, default=None)


def _choose_reading(lm: HFCausalLM) -> None:
    """Choose how a model reads, and record its fallbacks."""
    lm.understands_head, fallbacks = True, []
    if (difference := _head_difference(lm)) > _tolerance(lm):
        lm.understands_head = False
        fallbacks.append(f"all logits of the model, because its head gives bits that differ by {difference:.2g}")
    _check_causal(lm)
    if lm.model.device.type == "cuda":
        _fuse_norms(lm.model)
    if lm.understands_head:
        lm.packing = packing_of(lm.model, build_trie([probe.ids for probe in _probes(lm)]))
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


def _tolerance(lm: HFCausalLM) -> float:
    return _TOLERANCE[str(lm.model.dtype).removeprefix("torch.")]


def _probes(lm: HFCausalLM) -> list[TokenSequence]:
    """Return three sequences of 24, 20 and 26 random tokens with shared prefixes, all scored but the first ones."""
    tokens = np.random.default_rng(0).integers(0, lm.head.weight.shape[0], 40)
    probes = tokens[:24], np.concatenate([tokens[:12], tokens[24:32]]), np.concatenate([tokens[:18], tokens[32:]])
    return [TokenSequence(ids, np.arange(1, len(ids))) for ids in probes]


def _head_difference(lm: HFCausalLM) -> float:
    """Return the largest difference in bits between `head` applied to the body's states and the model's own logits."""
    import torch

    probe = _probes(lm)[0]
    inputs = torch.from_numpy(probe.ids)[None].to(lm.model.device)
    expected = lm.own_bits(inputs, probe)
    if not np.isfinite(expected).all():
        return 0.0
    states = lm.body(input_ids=inputs, use_cache=False).last_hidden_state[0, :-1]
    bits = token_bits(lm.head, states, torch.from_numpy(probe.ids[1:])).cpu().numpy()
    return float(np.abs(expected - bits).max())


def _check_causal(lm: HFCausalLM) -> None:
    """Refuse a model if its numbers for a prefix depend on the tokens after it, or none is finite."""
    # Judged by medians over several continuations, because rounding may route a token to another expert in one of them.
    rng, size = np.random.default_rng(1), lm.head.weight.shape[0]
    prefix = rng.integers(0, size, 12)
    texts = [np.concatenate([prefix, rng.integers(0, size, 12)]).astype(np.int64) for _ in range(5)]
    bits = np.stack(lm.read_apart([TokenSequence(ids, np.arange(1, len(prefix))) for ids in texts]))
    if not np.isfinite(bits).any():
        raise ConfigurationError(
            f"{lm.signature} gives no finite probabilities",
            "check its weights, which may have become NaN in training, or choose another precision (--set dtype=NAME)",
        )
    finite = bits[:, np.isfinite(bits).all(axis=0)]
    deviations = np.abs(finite - np.median(finite, axis=0))
    if np.median(deviations, axis=0).max(initial=0.0) > _tolerance(lm):
        raise ConfigurationError(
            f"{lm.signature} sees the tokens that it is to predict", "give a causal language model"
        )


def _why_not_shared(lm: HFCausalLM) -> str | None:
    """Return why a trie gives other bits than separate sequences; None if it gives the same."""
    probes = _probes(lm)
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
    sizes = [getattr(config, name, None) for kind, name in names.items() if kind in kinds]
    return {size for size in sizes if size and size < (getattr(config, "max_position_embeddings", None) or math.inf)}


def _fuse_norms(model: Any) -> None:
    """Replace RMSNorm modules, five steps that each read and write all states, by torch's kernel where it is equal."""
    for module in model.modules():
        epsilon = getattr(module, "variance_epsilon", getattr(module, "eps", None))
        weight = getattr(module, "weight", None)
        if not type(module).__name__.endswith("RMSNorm") or epsilon is None or weight is None or weight.dim() != 1:
            continue
        # Families define the norm differently (Gemma scales by 1 + weight); hooks move inputs between devices.
        if not hasattr(module, "_hf_hook") and _gives_same(module, weight, epsilon):
            module.forward = partial(_rms_norm, weight, epsilon)


def _rms_norm(weight: Any, epsilon: float, states: Any) -> Any:
    import torch

    return torch.nn.functional.rms_norm(states, weight.shape, weight, epsilon)


def _gives_same(module: Any, weight: Any, epsilon: float) -> bool:
    import torch

    generator = torch.Generator(device=weight.device).manual_seed(0)
    states = torch.randn((8, *weight.shape), generator=generator, dtype=weight.dtype, device=weight.device)
    expected, fused = module(states), _rms_norm(weight, epsilon, states)
    step = _ULPS * torch.finfo(weight.dtype).eps
    return bool(expected.dtype == fused.dtype and torch.allclose(expected, fused, rtol=step, atol=step))
