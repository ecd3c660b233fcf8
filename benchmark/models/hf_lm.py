"""Any causal language model of transformers, reading sequences as a trie of tokens.

Weights are safetensors of a pinned revision, without remote code. Loading checks whether logits computed here are the
model's own, and whether reading shared prefixes once gives the same numbers. Where not (as with layers that are no
attention), every sequence is read whole.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmark.models import hf_checks
from benchmark.models.batch_budget import batch_budget
from benchmark.models.causal_lm import Encoding, Floats, TokenSequence
from benchmark.models.choices import Attention, Dtype
from benchmark.models.device_errors import loading_on, within_memory
from benchmark.models.device_map import DeviceMap, check_not_offloaded, device_kind, device_map_options
from benchmark.models.hf_tokeniser import HFTokeniser
from benchmark.models.lm_head import head_of, token_bits
from benchmark.models.model_files import ModelFiles, find_model_files, loading
from benchmark.models.provenance import AttentionPath, ModelRun, device_name
from benchmark.models.trie import ScoredTrie, Trie
from benchmark.models.trie_attention import Packing, attending, register_attention
from datasets_build.errors import ConfigurationError, need

_LOGIT_BYTES = 256 * 1024 * 1024  # of the model's own logits, where they are used
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CausalLMSpec:
    """Which causal language model a profile uses; loading it is another step.

    Attributes:
        revision: Commit, 40 hex digits; of a folder, the SHA-256 of its weights.
        folder: Folder of the files, if they are not on the Hub.
        dtype: Precision of the body; the head and all after it are float32 or better.
        device: Device as torch names it; *auto*: all visible GPUs.
        attention: Attention of transformers; *eager* for the few models without *sdpa*.
    """

    name: str
    revision: str
    folder: Path | None = None
    dtype: Dtype = "float32"
    device: str = "cpu"
    attention: Attention = "sdpa"

    @property
    def signature(self) -> str:
        """`CausalLM.signature`, known without loading."""
        return f"{self.name}@{self.revision[:12]},{self.dtype},{device_kind(self.device)},{self.attention}"


def find_causal_lm_spec(name: str, dtype: Dtype = "float32", device: str = "cpu") -> CausalLMSpec:
    """Make the spec of `ORG/NAME@REVISION` on the Hub, or of a folder.

    Raises:
        ConfigurationError: As `find_model_files`.
    """
    files = find_model_files(name)
    return CausalLMSpec(files.name, files.pin, files.folder, dtype, device)


def load_causal_lm(
    spec: CausalLMSpec, batch_tokens: int | None = None, device_map: DeviceMap | None = None
) -> "HFCausalLM":
    """Load the model of a spec.

    Args:
        batch_tokens: `CausalLM.batch_tokens`; None: by the device.
        device_map: Device map of transformers; None: by the spec's device.

    Raises:
        ConfigurationError: The files are missing, no safetensors, not those pinned, or need remote code; model and
            tokeniser do not fit together; or the model does not fit the devices.
        MissingExtra: torch, transformers or, for several devices, accelerate is not installed.
    """
    torch = need("torch", "score")
    transformers = need("transformers", "score")
    places = device_map_options(spec.device, device_map)
    where, options = ModelFiles(spec.name, spec.revision, spec.folder).locate()
    transformers.utils.logging.disable_progress_bar()
    with loading_on(spec.device, spec.dtype, spec.name):
        with loading(where):
            tokeniser = transformers.AutoTokenizer.from_pretrained(where, **options)
            model = transformers.AutoModelForCausalLM.from_pretrained(
                where,
                use_safetensors=True,
                dtype=getattr(torch, spec.dtype),
                attn_implementation=spec.attention,
                **options,
                **places,
            )
        model = (model if places else model.to(spec.device)).eval()
        check_not_offloaded(model, spec.name, spec.device)
        return HFCausalLM(model, tokeniser, spec.signature, batch_tokens)


class HFCausalLM:
    """A loaded model and its tokeniser. See `CausalLM`.

    Attributes:
        head: Its last layer.
        understands_head: Whether logits computed by `head` are the model's own.
        shares: Whether reading shared prefixes once gives the model's own numbers.
        packing: Which attention runs without padding.
        fallbacks: Slower ways that are taken, each with its reason.
        windows_told: Windows that layers asked for while a trie was read.
    """

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
                f"{signature}: its tokeniser has ids up to {self.tokeniser.size - 1}, the model {rows} embeddings",
                "the tokeniser belongs to another model, or tokens were added: resize the embeddings",
            )
        self.batch_tokens = batch_tokens or batch_budget(model)
        self.head = head_of(model)
        register_attention()
        self.body = getattr(model, model.base_model_prefix, None) or model.model
        self._turns_at = _turns_at(config)
        self.windows_told: set[int | None] = set()
        self.understands_head, self.shares, self.packing = True, False, Packing()
        self.fallbacks: tuple[str, ...] = ()
        self.within_memory(partial(hf_checks.check, self))

    @property
    def run(self) -> ModelRun:
        """How it reads, for the provenance of results."""
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
        """As `CausalLM.encode`."""
        return self.tokeniser.encode(texts, begin=begin)

    def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        """As `CausalLM.surprisals`."""
        return self.prepare(sequences)()

    def prepare(self, sequences: Sequence[TokenSequence]) -> Callable[[], list[Floats]]:
        """As `SupportsPrepare.prepare`: builds the trie of the sequences."""
        long = [self._turns_at is not None and len(sequence.ids) > self._turns_at for sequence in sequences]
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
        """Call a function that reads with the model, without gradients.

        Raises:
            OutOfMemory: The device's memory is full; what the function had allocated is free again.
        """
        import torch

        def without_gradients() -> T:
            with torch.inference_mode():
                return run()

        return within_memory(without_gradients, self.signature, self.model.device)

    def read_shared(self, sequences: Sequence[TokenSequence], trie: ScoredTrie | None) -> list[Floats]:
        """Read every node of the trie once; a scored token is a node, whose bits depend on the path to it alone."""
        import torch

        if trie is None:
            return []
        device = self.head.weight.device
        # Moved before the model starts, because each move waits for the GPU.
        parents, targets = (torch.from_numpy(each).to(device) for each in (trie.parents, trie.targets))
        states = self.read_trie(trie.trie).last_hidden_state[0].to(device)[parents]
        by_node = np.full(len(trie.trie.ids), np.nan)
        by_node[trie.wanted] = token_bits(self.head, states, targets).cpu().numpy()
        found = [by_node[nodes] for nodes in trie.scored]
        # Attention carries NaN backwards, so one sequence can spoil others that share a prefix with it.
        return [
            bits if np.isfinite(bits).all() else self.read_apart([sequence])[0]
            for bits, sequence in zip(found, sequences, strict=True)
        ]

    def read_trie(self, trie: Trie, *, states: bool = False) -> Any:
        """Return the body's output for every node, [1, nodes, …], if `states` with the states of all layers.

        It equals the model's output for each path alone only where `shares` holds.
        """
        import torch

        device = self.model.device
        ids = torch.from_numpy(trie.ids)[None].to(device)
        places = torch.from_numpy(trie.depths)[None].to(device)
        with attending(self.model, trie, self.packing) as windows:
            try:
                return self.body(input_ids=ids, position_ids=places, use_cache=False, output_hidden_states=states)
            finally:
                self.windows_told |= windows

    def read_apart(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        """Read each sequence whole, all at once; padding at the end is never attended to."""
        import torch

        longest = max(len(sequence.ids) for sequence in sequences)
        ids = np.stack([np.pad(s.ids, (0, longest - len(s.ids)), mode="edge") for s in sequences])
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
        """Compute bits from the model's own logits, a few positions at a time, where `head` does not give them."""
        import torch

        rows = max(1, _LOGIT_BYTES // (8 * self.head.weight.shape[0]))
        made = [np.empty(0)]
        for positions in np.split(sequence.scored, range(rows, len(sequence.scored), rows)):
            # A list, because it indexes states that may be on another device than a tensor of ours.
            keep = (positions - 1).tolist()
            logits = self.model(input_ids=ids, use_cache=False, logits_to_keep=keep).logits[0].float()
            targets = torch.from_numpy(sequence.ids[positions]).to(logits.device)
            chosen = torch.log_softmax(logits, -1).gather(1, targets[:, None])[:, 0]
            made.append(-chosen.cpu().double().numpy() / math.log(2))
        return np.concatenate(made)


def _merged(parts: Sequence[Callable[[], list[Floats]]], which: Sequence[bool]) -> list[Floats]:
    """Run both functions and put their results back into the sequences' order."""
    found = [iter(part()) for part in parts]
    return [next(found[each]) for each in which]


def _turns_at(config: Any) -> int | None:
    """The length beyond which rotary positions change for a whole sequence (LongRoPE)."""
    rope = getattr(config, "rope_parameters", None) or {}
    kinds = [rope, *(value for value in rope.values() if isinstance(value, dict))]
    at = [kind["original_max_position_embeddings"] for kind in kinds if kind.get("rope_type") == "longrope"]
    return min(at, default=None)
