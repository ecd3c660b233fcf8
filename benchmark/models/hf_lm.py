"""Any causal language model of transformers, reading sequences as a trie of tokens.

Weights are safetensors of a pinned revision, without remote code. When a model is loaded, it is checked whether logits
computed here equal its own, and whether reading shared prefixes once gives the same numbers. If not (for example
because some layers are not attention), each sequence is read separately.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmark.models import hf_checks
from benchmark.models.batch_budget import batch_budget
from benchmark.models.causal_lm import Encoding, Floats, Integers, TokenSequence
from benchmark.models.choices import Attention, Dtype
from benchmark.models.device_errors import loading_on, within_memory
from benchmark.models.device_map import DeviceMap, check_not_offloaded, device_kind, device_map_options
from benchmark.models.hf_tokeniser import HFTokeniser
from benchmark.models.lm_head import head_of, token_bits
from benchmark.models.model_files import (
    NEEDS_EAGER,
    ModelFiles,
    find_model_files,
    has_soft_cap,
    load_weights,
    loading,
)
from benchmark.models.provenance import AttentionPath, ModelRun, device_name
from benchmark.models.trie import ScoredTrie, Trie
from benchmark.models.trie_attention import Packing, attending, register_attention
from divbench.core.errors import ConfigurationError, need

_WHOLE = "save the whole model again: without a wrapper such as torch.compile's, and with adapters merged into it"
_LOGIT_BYTES = 256 * 1024 * 1024  # size of the model's own logits computed at once
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
        return f"{self.name}@{self.revision[:12]},{self.dtype},{device_kind(self.device)},{self.attention}"


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


def load_causal_lm(spec: CausalLMSpec, device_map: DeviceMap | None = None) -> "HFCausalLM":
    """Load the model of a spec."""
    torch = need("torch", "score")
    transformers = need("transformers", "score")
    places = device_map_options(spec.device, device_map)
    where, options = ModelFiles(spec.name, spec.revision, spec.folder).locate()
    with loading_on(spec.device, spec.dtype, spec.name):
        with loading(where):
            tokeniser = transformers.AutoTokenizer.from_pretrained(where, **options)
        model = load_weights(
            transformers.AutoModelForCausalLM,
            where,
            _WHOLE,
            dtype=getattr(torch, spec.dtype),
            attn_implementation=spec.attention,
            **options,
            **places,
        )
        if spec.attention == "sdpa" and has_soft_cap(model.config):
            raise ConfigurationError(f"{where} caps its attention scores, and sdpa does not", NEEDS_EAGER)
        model = (model if places else model.to(spec.device)).eval()
        check_not_offloaded(model, spec.name, spec.device)
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
        self.within_memory(partial(hf_checks.check, self))

    @property
    def run(self) -> ModelRun:
        """How the model reads, for the provenance of results."""
        import torch

        path: AttentionPath = "alone" if not self.shares else "packed" if self.packing.causal else "grouped"
        return ModelRun(
            self.signature,
            device_name(self.model),
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
        parents, targets = (torch.from_numpy(each).to(device) for each in (trie.parents, trie.targets))
        states = self.read_trie(trie.trie).last_hidden_state[0].to(device)[parents]
        by_node = np.full(len(trie.trie.ids), np.nan)
        by_node[trie.wanted] = token_bits(self.head, states, targets).cpu().numpy()
        found = [by_node[nodes] for nodes in trie.scored]
        # Attention carries NaN backwards, so one sequence can affect others that share a prefix with it.
        return [
            bits if np.isfinite(bits).all() else self.read_apart([sequence])[0]
            for bits, sequence in zip(found, sequences, strict=True)
        ]

    def read_trie(self, trie: Trie, *, states: bool = False) -> Any:
        """Return the body's output for every node, [1, nodes, …]; with `states`, also the hidden states of all layers.

        Only if `shares` is true does it equal the model's output for each separate path.
        """
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
        given = torch.from_numpy(ids).to(self.model.device)
        if not self.understands_head:
            return [self.own_bits(given[i : i + 1], s) for i, s in enumerate(sequences)]
        hidden = self.body(input_ids=given, use_cache=False).last_hidden_state
        counts = [len(each.scored) for each in sequences]
        rows = np.repeat(np.arange(len(sequences)), counts)
        before = np.concatenate([each.scored for each in sequences]) - 1
        states = hidden[tuple(torch.from_numpy(each).to(hidden.device) for each in (rows, before))]
        targets = torch.from_numpy(ids[rows, before + 1])
        return np.split(token_bits(self.head, states, targets).cpu().numpy(), np.cumsum(counts)[:-1])

    def own_bits(self, ids: Any, sequence: TokenSequence) -> Floats:
        """Compute bits from the model's own logits, a few positions at a time, for models that `head` does not fit."""
        import torch

        rows = max(1, _LOGIT_BYTES // (8 * self.head.weight.shape[0]))
        made = [np.empty(0)]
        for positions in np.split(sequence.scored, range(rows, len(sequence.scored), rows)):
            # A list rather than a tensor, because the states that it indexes may be on another device.
            keep = (positions - 1).tolist()
            logits = self.model(input_ids=ids, use_cache=False, logits_to_keep=keep).logits[0].float()
            targets = torch.from_numpy(sequence.ids[positions]).to(logits.device)
            chosen = torch.log_softmax(logits, -1).gather(1, targets[:, None])[:, 0]
            made.append(-chosen.cpu().double().numpy() / math.log(2))
        return np.concatenate(made)


def padded(sequences: Sequence[TokenSequence]) -> Integers:
    """Return the tokens as int64 [sequences, longest], padded at the end, where causal attention ignores padding."""
    longest = max(len(sequence.ids) for sequence in sequences)
    return np.stack([np.pad(each.ids, (0, longest - len(each.ids)), mode="edge") for each in sequences])


def _merged(parts: Sequence[Callable[[], list[Floats]]], which: Sequence[bool]) -> list[Floats]:
    """Run both functions and restore the order of the sequences."""
    found = [iter(part()) for part in parts]
    return [next(found[each]) for each in which]


def _rope_changes_at(config: Any) -> int | None:
    """Return the length beyond which all of a sequence's rotary embeddings change (LongRoPE); None: never."""
    rope = getattr(config, "rope_parameters", None) or {}
    kinds = [rope, *(value for value in rope.values() if isinstance(value, dict))]
    lengths = [kind["original_max_position_embeddings"] for kind in kinds if kind.get("rope_type") == "longrope"]
    return min(lengths, default=None)
