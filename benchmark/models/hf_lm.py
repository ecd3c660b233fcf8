"""Any causal language model of transformers, read as a trie of tokens.

Weights are safetensors of a pinned revision, no code comes with them. At loading the model is checked: that what its
head does to logits is understood, and that reading shared beginnings once gives its own numbers. Where not (layers that
are no attention, say), every sequence is read whole.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmark.models.causal_lm import Dtype, Encoding, Floats, OutOfMemory, TokenSequence
from benchmark.models.head import head_of, token_bits
from benchmark.models.hf_tokeniser import HFTokeniser
from benchmark.models.model_files import ModelFiles, find_model_files, loading
from benchmark.models.trie import Trie, build_trie
from datasets_build.errors import ConfigurationError, need

_ATTENTION = "divbench_trie"
_LOGIT_BYTES = 256 * 1024 * 1024  # of whole logits, where the head is not understood
_TOLERANCE = {"float32": 1e-3, "float16": 0.1, "bfloat16": 0.5}  # bits a token, of the check against the model itself
_PLAN: ContextVar["_Plan | None"] = ContextVar("plan", default=None)


@dataclass(frozen=True, slots=True)
class CausalLMSpec:
    """Which causal language model a profile uses; loading it is another step.

    Attributes:
        name: Hub id, or a name for a folder.
        revision: The commit, 40 hex digits; of a folder, the SHA-256 of its weights.
        folder: Where the files lie, if not on the Hub.
        dtype: Of the body; the head and all after it are float32 or better.
        device: As torch names it.
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
        return f"{self.name}@{self.revision[:12]},{self.dtype},{self.device.split(':')[0]},{self.attention}"


def find_spec_of(name: str, dtype: Dtype = "float32", device: str = "cpu") -> CausalLMSpec:
    """The spec of `ORG/NAME@REVISION` on the Hub, or of a folder.

    Raises:
        ConfigurationError: Neither, or the revision is no full commit, or the folder has no safetensors.
    """
    files = find_model_files(name)
    return CausalLMSpec(files.name, files.pin, files.folder, dtype, device)


def load_causal_lm(spec: CausalLMSpec, batch_tokens: int | None = None) -> "HFCausalLM":
    """The model of a spec.

    Raises:
        ConfigurationError: The files are not there, are no safetensors, need remote code, are not those pinned, or
            model and tokeniser do not fit together.
        MissingExtra: torch or transformers is not installed.
    """
    torch = need("torch", "score")
    transformers = need("transformers", "score")
    where, options = ModelFiles(spec.name, spec.revision, spec.folder).locate()
    transformers.utils.logging.disable_progress_bar()
    with loading(where):
        tokeniser = transformers.AutoTokenizer.from_pretrained(where, **options)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            where, use_safetensors=True, dtype=getattr(torch, spec.dtype), attn_implementation=spec.attention, **options
        )
    try:
        model = model.to(spec.device).eval()
    except (RuntimeError, AssertionError) as error:
        raise ConfigurationError(f"{where}: {_first_line(error)}", "choose another --device") from error
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
        on_gpu = model.device.type == "cuda"
        self.batch_tokens = batch_tokens or (65_536 if on_gpu else 4096)
        self.head = head_of(model)
        _register_attention()
        self.body = getattr(model, model.base_model_prefix, None) or model.model
        self._turns_at = _turns_at(config)
        self._windows_told: set[int | None] = set()
        self._tolerance = _TOLERANCE[str(model.dtype).removeprefix("torch.")]
        with torch.inference_mode():
            self.understands_head = self._head_agrees()
            self._check_causal()
            self.shares = self.understands_head and self._sharing_agrees()

    def encode(self, texts: Sequence[str], *, begin: bool = False) -> list[Encoding]:
        """As `CausalLM.encode`."""
        return self.tokeniser.encode(texts, begin=begin)

    def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        """As `CausalLM.surprisals`."""
        import torch

        if not sequences:
            return []
        long = [self._turns_at is not None and len(sequence.ids) > self._turns_at for sequence in sequences]
        if any(long) and not all(long):
            kinds = [
                [s for s, is_long in zip(sequences, long, strict=True) if is_long is kind] for kind in (False, True)
            ]
            found = [iter(self.surprisals(kind)) for kind in kinds]
            return [next(found[is_long]) for is_long in long]
        read = self._shared if self.shares else self._apart
        with self.telling_of_memory(), torch.inference_mode():
            return read(sequences)

    @contextmanager
    def telling_of_memory(self) -> Iterator[None]:
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

    def _shared(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        """Every node of the trie once; a scored token is a node, and its cost depends on the way to it alone."""
        import torch

        trie = build_trie([sequence.ids for sequence in sequences])
        scored = [path[sequence.scored] for path, sequence in zip(trie.paths, sequences, strict=True)]
        parents = np.full(len(trie.ids), -1)
        for path in trie.paths:
            parents[path[1:]] = path[:-1]
        wanted = np.unique(np.concatenate(scored))
        hidden = self.read_trie(trie).last_hidden_state[0]
        device = hidden.device
        states = hidden[torch.from_numpy(parents[wanted]).to(device)]
        bits = token_bits(self.head, states, torch.from_numpy(trie.ids[wanted]).to(device)).cpu().numpy()
        by_node = np.full(len(trie.ids), np.nan)
        by_node[wanted] = bits
        found = [by_node[nodes] for nodes in scored]
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
        plan = _Plan.of(trie, device)
        token = _PLAN.set(plan)
        attention = self.model.config._attn_implementation
        try:
            self.model.set_attn_implementation(_ATTENTION)
            ids = torch.from_numpy(trie.ids)[None].to(device)
            places = torch.from_numpy(trie.depths)[None].to(device)
            return self.body(input_ids=ids, position_ids=places, use_cache=False, output_hidden_states=states)
        finally:
            self.model.set_attn_implementation(attention)
            _PLAN.reset(token)
            self._windows_told |= plan.windows

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
            shared = self._shared(probes)
        except (_CannotShareError, TypeError, ValueError, RuntimeError, AttributeError):
            return False  # a model that attends in a way of its own
        if _windows(self.model.config.get_text_config()) - self._windows_told:
            return False  # some layer has it from a mask alone, and a trie has no mask
        apart = [bits for probe in probes for bits in self._apart([probe])]
        return bool(np.nanmax(np.abs(np.concatenate(shared) - np.concatenate(apart))) <= self._tolerance)


class _CannotShareError(Exception):
    """The model's attention needs something that the trie's does not give."""


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """A trie's groups on the device: for each its nodes [paths, longest], what is taken, and for which nodes."""

    groups: tuple[tuple[Any, Any, Any], ...]
    windows: set[int | None] = field(default_factory=set)  # that layers told of

    @classmethod
    def of(cls, trie: Trie, device: Any) -> "_Plan":
        import torch

        return cls(
            tuple(
                tuple(torch.from_numpy(part).to(device) for part in (group.nodes, group.taken, group.taken_nodes))  # type: ignore[misc]
                for group in trie.groups
            )
        )


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


def _register_attention() -> None:
    from transformers import AttentionInterface

    AttentionInterface.register(_ATTENTION, _attend)


def _attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float | None = None, **options: Any
) -> tuple[Any, None]:
    """Causal attention along the paths of the current plan.

    Args:
        module: The attention layer.
        query: [1, heads, nodes, size]; positions are in it already.
        key: [1, key heads, nodes, size].
        value: Likewise.
        attention_mask: None: transformers makes none for an attention that it does not know.
        scaling: Of the products.
        options: What else the layer says; what changes numbers and is not done here is refused.
    """
    import torch

    if attention_mask is not None or any(
        options.get(name) is not None for name in ("softcap", "s_aux", "position_bias")
    ):
        raise _CannotShareError
    plan = _PLAN.get()
    if plan is None:
        raise _CannotShareError
    made = torch.empty_like(query[0].transpose(0, 1))[..., : value.shape[-1]]
    for nodes, taken, taken_nodes in plan.groups:
        paths, longest = nodes.shape
        q, k, v = (_along(x[0], nodes) for x in (query, key, value))
        window = options.get("sliding_window")
        plan.windows.add(window)
        mask = None
        if window is not None and longest > window:
            place = torch.arange(longest, device=nodes.device)
            ago = place[:, None] - place[None, :]
            mask = (ago >= 0) & (ago < window)
        found = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=mask is None, scale=scaling, enable_gqa=q.shape[1] != k.shape[1]
        )
        flat = found.transpose(1, 2).reshape(paths * longest, *found.shape[1:2], found.shape[-1])
        made[taken_nodes] = flat[taken]
    return made[None], None


def _along(x: Any, nodes: Any) -> Any:
    """[heads, nodes, size] to [paths, heads, longest, size]."""
    return x.transpose(0, 1)[nodes].transpose(1, 2)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__


def with_device(spec: CausalLMSpec, device: str, dtype: Dtype | None = None) -> CausalLMSpec:
    """The same model elsewhere, or in another dtype."""
    return replace(spec, device=device, dtype=dtype or spec.dtype)
