"""Any causal language model of transformers, reading sequences as a trie of tokens.

Weights are safetensors of a pinned revision, without remote code. Loading checks whether logits computed here are the
model's own, and whether reading shared prefixes once gives the same numbers. Where not (as with layers that are no
attention), every sequence is read whole.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.models.batch_budget import batch_budget
from benchmark.models.causal_lm import Encoding, Floats, Integers, OutOfMemory, TokenSequence
from benchmark.models.choices import Attention, Dtype
from benchmark.models.device_map import DeviceMap, check_not_offloaded, device_kind, device_map_options
from benchmark.models.hf_tokeniser import HFTokeniser
from benchmark.models.lm_head import head_of, token_bits
from benchmark.models.model_files import ModelFiles, find_model_files, loading
from benchmark.models.trie import Trie, build_trie
from benchmark.models.trie_attention import CannotShareError, attending, packing_agrees, register_attention
from datasets_build.errors import ConfigurationError, need

_LOGIT_BYTES = 256 * 1024 * 1024  # of the model's own logits, where they are used
_TOLERANCE = {"float32": 1e-3, "float16": 0.1, "bfloat16": 0.5}  # bits a token, of the check against the model itself


@dataclass(frozen=True, slots=True)
class CausalLMSpec:
    """Which causal language model a profile uses; loading it is another step.

    Attributes:
        name: Hub id, or a name for a folder.
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
        spec: Spec of the model.
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
    try:
        model = (model if places else model.to(spec.device)).eval()
    except (RuntimeError, AssertionError) as error:
        raise ConfigurationError(f"{where}: {_first_line(error)}", "choose another --device") from error
    check_not_offloaded(model, spec.name, spec.device)
    return HFCausalLM(model, tokeniser, spec.signature, batch_tokens)


class HFCausalLM:
    """A loaded model and its tokeniser. See `CausalLM`.

    Attributes:
        model: Model of transformers.
        body: The model without its head.
        head: Its last layer.
        tokeniser: Its tokeniser.
        understands_head: Whether logits computed by `head` are the model's own.
        shares: Whether reading shared prefixes once gives the model's own numbers.
        packs: Whether attention runs without padding.
    """

    def __init__(self, model: Any, tokeniser: Any, signature: str, batch_tokens: int | None = None) -> None:
        import torch

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
        self._windows_told: set[int | None] = set()
        self._tolerance = _TOLERANCE[str(model.dtype).removeprefix("torch.")]
        with torch.inference_mode():
            self.understands_head = self._head_agrees()
            self._check_causal()
            self.packs = packing_agrees(model, build_trie([probe.ids for probe in self._probes()]))
            self.shares = self.understands_head and self._sharing_agrees()
            if self.packs and not self.shares:
                self.packs = False
                self.shares = self.understands_head and self._sharing_agrees()

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
            return partial(self._read, partial(self._apart, sequences))
        return partial(self._read, partial(self._shared, sequences, _Shared.of(sequences) if sequences else None))

    def _read(self, read: Callable[[], list[Floats]]) -> list[Floats]:
        import torch

        with self.reporting_out_of_memory(), torch.inference_mode():
            return read()

    @contextmanager
    def reporting_out_of_memory(self) -> Iterator[None]:
        """Turn any error of a device whose memory is full into `OutOfMemory`.

        Raises:
            OutOfMemory: The device's memory is full.
        """
        import torch

        try:
            yield
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise self._out_of_memory(error) from error
        except RuntimeError as error:
            if "allocate memory" in str(error) or "out of memory" in str(error):
                raise self._out_of_memory(error) from error
            raise

    def _out_of_memory(self, error: BaseException) -> OutOfMemory:
        import torch

        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()
        return OutOfMemory(f"{self.signature}: out of memory: {_first_line(error)}", "a smaller model or dtype fits")

    def _shared(self, sequences: Sequence[TokenSequence], shared: "_Shared | None") -> list[Floats]:
        """Read every node of the trie once; a scored token is a node, whose bits depend on the path to it alone."""
        import torch

        if shared is None:
            return []
        device = self.head.weight.device
        # Moved before the model starts, because each move waits for the GPU.
        parents, targets = (torch.from_numpy(each).to(device) for each in (shared.parents, shared.targets))
        states = self.read_trie(shared.trie).last_hidden_state[0].to(device)[parents]
        by_node = np.full(len(shared.trie.ids), np.nan)
        by_node[shared.wanted] = token_bits(self.head, states, targets).cpu().numpy()
        found = [by_node[nodes] for nodes in shared.scored]
        # Attention carries NaN backwards, so one sequence can spoil others that share a prefix with it.
        return [
            bits if np.isfinite(bits).all() else self._apart([sequence])[0]
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
        with attending(self.model, trie, packed=self.packs) as windows:
            try:
                return self.body(input_ids=ids, position_ids=places, use_cache=False, output_hidden_states=states)
            finally:
                self._windows_told |= windows

    def _apart(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        """Read each sequence whole, all at once; padding at the end is never attended to."""
        import torch

        longest = max(len(sequence.ids) for sequence in sequences)
        ids = np.stack([np.pad(s.ids, (0, longest - len(s.ids)), mode="edge") for s in sequences])
        given = torch.from_numpy(ids).to(self.model.device)
        if not self.understands_head:
            return [self._whole_logits(given[i : i + 1], s) for i, s in enumerate(sequences)]
        hidden = self.body(input_ids=given, use_cache=False).last_hidden_state
        made = []
        for states, sequence in zip(hidden, sequences, strict=True):
            targets = torch.from_numpy(sequence.ids[sequence.scored]).to(states.device)
            rows = states[torch.from_numpy(sequence.scored - 1).to(states.device)]
            made.append(token_bits(self.head, rows, targets).cpu().numpy())
        return made

    def _whole_logits(self, ids: Any, sequence: TokenSequence) -> Floats:
        """Compute bits from the model's own logits, a few positions at a time, where `head` does not give them."""
        import torch

        rows = max(1, _LOGIT_BYTES // (8 * self.head.weight.shape[0]))
        made = []
        for positions in np.split(sequence.scored, range(rows, len(sequence.scored), rows)):
            keep = torch.from_numpy(positions - 1).to(ids.device)
            logits = self.model(input_ids=ids, use_cache=False, logits_to_keep=keep).logits[0].float()
            targets = torch.from_numpy(sequence.ids[positions]).to(ids.device)
            chosen = torch.log_softmax(logits, -1).gather(1, targets[:, None])[:, 0]
            made.append((-chosen.double() / math.log(2)).cpu().numpy())
        return np.concatenate(made) if made else np.empty(0)

    def _probes(self) -> list[TokenSequence]:
        """Sequences with shared prefixes, for the checks at loading."""
        draws = np.random.default_rng(0).integers(0, self.head.weight.shape[0], 40)
        ways = [draws[:24], np.concatenate([draws[:12], draws[24:32]]), np.concatenate([draws[:18], draws[32:]])]
        return [TokenSequence(ids.astype(np.int64), np.arange(1, len(ids))) for ids in ways]

    def _head_agrees(self) -> bool:
        """Whether bits from the body's states and `head` equal those from the model's own logits."""
        import torch

        (probe, *_) = self._probes()
        ids = torch.from_numpy(probe.ids)[None].to(self.model.device)
        own = self._whole_logits(ids, probe)
        states = self.body(input_ids=ids, use_cache=False).last_hidden_state[0, :-1]
        found = token_bits(self.head, states, ids[0, 1:]).cpu().numpy()
        return bool(np.abs(own - found).max() <= self._tolerance) or not np.isfinite(own).all()

    def _check_causal(self) -> None:
        """Refuse a model whose numbers for a prefix change with what follows."""
        (probe, *_) = self._probes()
        begin = TokenSequence(probe.ids[:12], probe.scored[:11])
        if np.abs(self._apart([begin])[0] - self._apart([probe])[0][:11]).max() > self._tolerance:
            raise ConfigurationError(
                f"{self.signature} sees the tokens that it is to predict", "a causal language model is wanted"
            )

    def _sharing_agrees(self) -> bool:
        """Whether a trie gives the same bits as the sequences one by one."""
        probes = self._probes()
        try:
            shared = self._shared(probes, _Shared.of(probes))
        except (CannotShareError, TypeError, ValueError, RuntimeError, AttributeError):
            return False  # a model with an attention of its own
        if _windows(self.model.config.get_text_config()) - self._windows_told:
            return False  # some layer gets its window from a mask alone, and a trie has no mask
        apart = [bits for probe in probes for bits in self._apart([probe])]
        return bool(np.nanmax(np.abs(np.concatenate(shared) - np.concatenate(apart))) <= self._tolerance)


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """Sequences as a trie, and its nodes that are to be scored.

    Attributes:
        trie: Trie of the sequences.
        scored: For each sequence its scored nodes, int64 [scored].
        wanted: int64 [wanted], rising, all scored nodes, each once.
        parents: int64 [wanted], the nodes before them.
        targets: int64 [wanted], the tokens of the scored nodes.
    """

    trie: Trie
    scored: list[Integers]
    wanted: Integers
    parents: Integers
    targets: Integers

    @classmethod
    def of(cls, sequences: Sequence[TokenSequence]) -> "_Shared":
        trie = build_trie([sequence.ids for sequence in sequences])
        scored = [path[sequence.scored] for path, sequence in zip(trie.paths, sequences, strict=True)]
        is_wanted = np.zeros(len(trie.ids), bool)
        is_wanted[np.concatenate(scored)] = True
        wanted = np.flatnonzero(is_wanted)
        return cls(trie, scored, wanted, trie.parents[wanted], trie.ids[wanted])


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


def _windows(config: Any) -> set[int]:
    """The window sizes of layers that do not attend to the whole prefix."""
    kinds = set(getattr(config, "layer_types", None) or ["sliding_attention"])
    names = {"sliding_attention": "sliding_window", "chunked_attention": "attention_chunk_size"}
    found = [getattr(config, name, None) for kind, name in names.items() if kind in kinds]
    return {size for size in found if size and size < (getattr(config, "max_position_embeddings", None) or math.inf)}


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__


def with_device(spec: CausalLMSpec, device: str, dtype: Dtype | None = None) -> CausalLMSpec:
    """Return the spec of the same model on another device, or in another dtype."""
    return replace(spec, device=device, dtype=dtype or spec.dtype)
