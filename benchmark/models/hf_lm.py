"""Any causal language model of transformers, read as a trie of tokens.

Weights are safetensors of a pinned revision, no code comes with them. At loading the model is checked: that what its
head does to logits is understood, and that reading shared beginnings once gives its own numbers. Where not (layers that
are no attention, say), every sequence is read whole.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmark.models.batch_budget import batch_budget
from benchmark.models.causal_lm import Dtype, Encoding, Floats, Integers, OutOfMemory, TokenSequence
from benchmark.models.device_map import DeviceMap, check_not_offloaded, device_kind, device_map_options
from benchmark.models.hf_tokeniser import HFTokeniser
from benchmark.models.lm_head import head_of, token_bits
from benchmark.models.model_files import ModelFiles, find_model_files, loading
from benchmark.models.trie import Trie, build_trie
from benchmark.models.trie_attention import CannotShareError, attending, packing_agrees, register_attention
from datasets_build.errors import ConfigurationError, need

_LOGIT_BYTES = 256 * 1024 * 1024  # of whole logits, where the head is not understood
_TOLERANCE = {"float32": 1e-3, "float16": 0.1, "bfloat16": 0.5}  # bits a token, of the check against the model itself


@dataclass(frozen=True, slots=True)
class CausalLMSpec:
    """Which causal language model a profile uses; loading it is another step.

    Attributes:
        name: Hub id, or a name for a folder.
        revision: The commit, 40 hex digits; of a folder, the SHA-256 of its weights.
        folder: Where the files lie, if not on the Hub.
        dtype: Of the body; the head and all after it are float32 or better.
        device: As torch names it; *auto*: laid over all GPUs that this process sees.
        attention: Of transformers; *eager* for the few models that have no *sdpa*.
    """

    name: str
    revision: str
    folder: Path | None = None
    dtype: Dtype = "float32"
    device: str = "cpu"
    attention: Literal["sdpa", "eager"] = "sdpa"

    @property
    def signature(self) -> str:
        """As in `CausalLM.signature`, known without loading."""
        return f"{self.name}@{self.revision[:12]},{self.dtype},{device_kind(self.device)},{self.attention}"


def find_causal_lm_spec(name: str, dtype: Dtype = "float32", device: str = "cpu") -> CausalLMSpec:
    """The spec of `ORG/NAME@REVISION` on the Hub, or of a folder.

    Raises:
        ConfigurationError: Neither, or the revision is no full commit, or the folder has no safetensors.
    """
    files = find_model_files(name)
    return CausalLMSpec(files.name, files.pin, files.folder, dtype, device)


def load_causal_lm(
    spec: CausalLMSpec, batch_tokens: int | None = None, device_map: DeviceMap | None = None
) -> "HFCausalLM":
    """The model of a spec.

    Args:
        spec: Which.
        batch_tokens: As `CausalLM.batch_tokens`; None: by the device.
        device_map: Of transformers: which part lies on which device; None: as the spec's device says.

    Raises:
        ConfigurationError: The files are not there, are no safetensors, need remote code, are not those pinned, model
            and tokeniser do not fit together, or the model does not fit the devices.
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
        model: Of transformers.
        body: The model without its head.
        head: Its last layer.
        tokeniser: Its own.
        understands_head: The head's numbers are the model's.
        shares: Reading beginnings once gives the model's numbers.
        packs: Attention is without padding.
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
        """As `SupportsPrepare.prepare`: here is made what sequences share."""
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
        """Whatever way a device says that its memory is full.

        Raises:
            OutOfMemory: It said so.
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
        """Every node of the trie once; a scored token is a node, and its cost depends on the way to it alone."""
        import torch

        if shared is None:
            return []
        device = self.head.weight.device
        # Moved before the model starts, as a GPU is waited for at every such move.
        parents, targets = (torch.from_numpy(each).to(device) for each in (shared.parents, shared.targets))
        states = self.read_trie(shared.trie).last_hidden_state[0].to(device)[parents]
        by_node = np.full(len(shared.trie.ids), np.nan)
        by_node[shared.wanted] = token_bits(self.head, states, targets).cpu().numpy()
        found = [by_node[nodes] for nodes in shared.scored]
        # Attention carries NaN backwards, so one sequence can spoil what others share with it.
        return [
            bits if np.isfinite(bits).all() else self._apart([sequence])[0]
            for bits, sequence in zip(found, sequences, strict=True)
        ]

    def read_trie(self, trie: Trie, *, states: bool = False) -> Any:
        """The body's output for every node, [1, nodes, …]; with the states of all layers if asked for.

        Only where `shares` holds is it what the model finds of each path alone.
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
        """Each sequence whole, those of like length together, padded at the end, where nothing reads it."""
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
        """From the model's own logits, a few positions at a time: for heads that do more than is known here."""
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
        """Sequences that share a beginning, for the model to check itself with."""
        draws = np.random.default_rng(0).integers(0, self.head.weight.shape[0], 40)
        ways = [draws[:24], np.concatenate([draws[:12], draws[24:32]]), np.concatenate([draws[:18], draws[32:]])]
        return [TokenSequence(ids.astype(np.int64), np.arange(1, len(ids))) for ids in ways]

    def _head_agrees(self) -> bool:
        """Whether bits from the body's states and the head here are those from the model's own logits."""
        import torch

        (probe, *_) = self._probes()
        ids = torch.from_numpy(probe.ids)[None].to(self.model.device)
        own = self._whole_logits(ids, probe)
        states = self.body(input_ids=ids, use_cache=False).last_hidden_state[0, :-1]
        found = token_bits(self.head, states, ids[0, 1:]).cpu().numpy()
        return bool(np.abs(own - found).max() <= self._tolerance) or not np.isfinite(own).all()

    def _check_causal(self) -> None:
        """Refuse a model whose numbers for a text's beginning change with what follows."""
        (probe, *_) = self._probes()
        begin = TokenSequence(probe.ids[:12], probe.scored[:11])
        if np.abs(self._apart([begin])[0] - self._apart([probe])[0][:11]).max() > self._tolerance:
            raise ConfigurationError(
                f"{self.signature} sees the tokens that it is to predict", "a causal language model is wanted"
            )

    def _sharing_agrees(self) -> bool:
        """Whether a trie gives what the sequences give one by one."""
        probes = self._probes()
        try:
            shared = self._shared(probes, _Shared.of(probes))
        except (CannotShareError, TypeError, ValueError, RuntimeError, AttributeError):
            return False  # a model that attends in a way of its own
        if _windows(self.model.config.get_text_config()) - self._windows_told:
            return False  # some layer has it from a mask alone, and a trie has no mask
        apart = [bits for probe in probes for bits in self._apart([probe])]
        return bool(np.nanmax(np.abs(np.concatenate(shared) - np.concatenate(apart))) <= self._tolerance)


@dataclass(frozen=True, slots=True, eq=False)
class _Shared:
    """Sequences as a trie, and what is to be scored there.

    Attributes:
        trie: Of the sequences.
        scored: For each sequence the nodes that are scored, int64 [scored].
        wanted: int64 [wanted], rising; all of those, each once.
        parents: int64 [wanted]; the nodes before them.
        targets: int64 [wanted]; the tokens there.
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
    """What two parts give, each sequence's from its own."""
    found = [iter(part()) for part in parts]
    return [next(found[each]) for each in which]


def _turns_at(config: Any) -> int | None:
    """The length beyond which positions are counted otherwise in the whole of a sequence."""
    rope = getattr(config, "rope_parameters", None) or {}
    kinds = [rope, *(value for value in rope.values() if isinstance(value, dict))]
    at = [kind["original_max_position_embeddings"] for kind in kinds if kind.get("rope_type") == "longrope"]
    return min(at, default=None)


def _windows(config: Any) -> set[int]:
    """How far back some layers see, if not to the beginning."""
    kinds = set(getattr(config, "layer_types", None) or ["sliding_attention"])
    names = {"sliding_attention": "sliding_window", "chunked_attention": "attention_chunk_size"}
    found = [getattr(config, name, None) for kind, name in names.items() if kind in kinds]
    return {size for size in found if size and size < (getattr(config, "max_position_embeddings", None) or math.inf)}


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__


def with_device(spec: CausalLMSpec, device: str, dtype: Dtype | None = None) -> CausalLMSpec:
    """The same model elsewhere, or in another dtype."""
    return replace(spec, device=device, dtype=dtype or spec.dtype)
