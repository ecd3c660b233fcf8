"""The numeric checks of `gpu_check`: the machine, attention, the bundled model's bits, and families of models."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Missing
from benchmark.models.bundled_lm.spec import OFFLINE_LM
from benchmark.models.choices import Dtype
from benchmark.models.device_map import device_kind
from benchmark.models.hf_lm import HFCausalLM, load_causal_lm
from benchmark.models.trie import Trie, build_trie
from benchmark.models.trie_attention import Packing, _along_paths, _Plan
from benchmark.surprisal.engine import ResponseSet, SetSurprisals, read_sets

Floats = NDArray[np.float64]
WORDS = (
    "the", "a", "of", "to", "and", "in", "is", "it", "you", "that", "he", "was", "for", "on", "are", "with", "as",
    "his", "they", "be", "at", "one", "have", "this", "from",
)  # fmt: skip
HEADS = ((16, 2, 128), (32, 8, 64), (8, 8, 80), (8, 4, 256))  # query heads, key heads, size
# Largest differences in bits of a response of about 660 bits, by precision.
BITS = {"float32": 0.02, "float16": 0.6, "bfloat16": 4.0}
LEAST_FREE = 0.9  # of the GPU's memory


@dataclass(frozen=True, slots=True)
class Given:
    """Settings of a run."""

    device: str  # device as torch names it
    dtype: Dtype  # precision for throughput and architectures
    shape: str  # shape in `SHAPES` of the timed model
    sets: int  # number of McDiv-like sets; an eighth as many are OLMo-like

    @property
    def on_gpu(self) -> bool:
        """Whether the device is a GPU of CUDA."""
        return device_kind(self.device) == "cuda"


@dataclass(frozen=True, slots=True)
class Check:
    """A row of the table."""

    step: str
    expected: str
    measured: str
    ok: bool


def mcdiv_like(count: int, rng: np.random.Generator) -> list[ResponseSet]:
    """Make sets of five short responses."""
    return [ResponseSet(text(14, rng), tuple(text(11, rng) for _ in range(5))) for _ in range(count)]


def olmo_like(count: int, rng: np.random.Generator) -> list[ResponseSet]:
    """Make sets of ten longer responses."""
    return [ResponseSet(text(38, rng), tuple(text(41, rng) for _ in range(10))) for _ in range(count)]


def text(words: int, rng: np.random.Generator) -> str:
    """Make a sentence of random words."""
    return " ".join(rng.choice(WORDS, words)) + "."


def bits_of(found: Sequence[SetSurprisals | Missing]) -> Floats:
    """Concatenate the bits of all responses in all orders.

    Raises:
        ValueError: A set was not read.
    """
    missing = [each.reason for each in found if isinstance(each, Missing)]
    if missing:
        raise ValueError(f"{len(missing)} sets are missing, the first: {missing[0]}")
    return np.concatenate([each.surprisals.bits.ravel() for each in found if isinstance(each, SetSurprisals)])


def rms(x: Floats) -> float:
    """Return the root mean square."""
    return float(np.sqrt((x**2).mean()))


def machine(given: Given) -> Iterator[Check]:
    """Check versions, the GPU and its free memory."""
    import torch
    import transformers

    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    yield Check(
        "torch", "2.10 or later", f"{torch.__version__}, transformers {transformers.__version__}", version >= (2, 10)
    )
    if not given.on_gpu:
        yield Check("device", "the best there is", given.device, True)
        return
    from inspect import signature

    from torch.nn.attention import varlen

    free, total = torch.cuda.mem_get_info(given.device)
    yield Check("device", "a GPU", torch.cuda.get_device_name(given.device), True)
    told = f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB"
    yield Check("free memory", f"at least {LEAST_FREE:.0%}", told, free >= LEAST_FREE * total)
    known = list(signature(varlen.varlen_attn).parameters)[7:]
    yield Check("varlen_attn", "has window_size", ", ".join(known), "window_size" in known)


def _long_trie(longest: int) -> Trie:
    """Build a trie of paths of very different lengths, up to a maximum."""
    rng = np.random.default_rng(0)
    base = rng.integers(0, 9, longest)
    cuts = ((0, 0.75), (0.11, 0.33), (0.21, 0.01), (0.54, 0.01), (0.58, 0.42), (0.05, 0.05))
    parts = [(int(cut * longest), 1 + int(more * longest)) for cut, more in cuts]
    return build_trie([np.concatenate([base[:cut], rng.integers(0, 9, more)]).astype(np.int64) for cut, more in parts])


def _one_by_one(trie: Trie, drawn: Sequence[Any], window: int | None) -> Any:
    """Compute the attention of each path separately, by its definition, in float64: [nodes, heads, size]."""
    import torch

    query, key, value = drawn
    made = torch.empty(query.shape[2], query.shape[1], query.shape[3], dtype=torch.float64, device=query.device)
    for leaf in trie.leaves:
        nodes = torch.from_numpy(leaf).to(query.device)
        q, k, v = (x[0, :, nodes].double() for x in (query, key, value))
        k, v = (x.repeat_interleave(len(q) // len(x), 0) for x in (k, v))
        place = torch.arange(len(nodes), device=nodes.device)
        ago = place[:, None] - place
        seen = (ago >= 0) & (ago < (window or len(nodes)))
        weights = (q @ k.transpose(1, 2) / q.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf).softmax(-1)
        made[nodes] = (weights @ v).transpose(0, 1)
    return made


def attention(given: Given) -> Iterator[Check]:
    """Check each kind of attention along long paths against its definition, with several heads and windows."""
    import torch

    trie, device = _long_trie(1200 if given.on_gpu else 150), torch.device(given.device)
    ways = [("groups", torch.float32, False, 1e-4)]
    if given.on_gpu:
        halves = (torch.float16, torch.bfloat16)
        ways += [(name, dtype, name == "packed", 0.03) for name in ("groups", "packed") for dtype in halves]
    torch.manual_seed(0)
    for name, dtype, packed, most in ways:
        worst = 0.0
        for heads, keys, size in HEADS if given.on_gpu else HEADS[1:3]:
            drawn = [torch.randn(1, each, len(trie.ids), size, device=device).to(dtype) for each in (heads, keys, keys)]
            for window in (None, 100):
                plan = _Plan.of(trie, device, packed=packed)
                found = _along_paths(plan, *drawn, scaling=None, window=window).double()
                worst = max(worst, float((found - _one_by_one(trie, drawn, window)).abs().max()))
        step = f"attention by {name}, {str(dtype).removeprefix('torch.')}"
        yield Check(step, f"differs by < {most:g}", f"{worst:.1e}", worst < most)


def _ways(lm: HFCausalLM) -> Iterator[str]:
    """Switch a model to each kind of attention that it supports."""
    ways = [("packed", lm.packing, True)] if lm.packing.causal else []
    ways += [("grouped", Packing(), True)] if lm.shares else []
    for name, lm.packing, lm.shares in [*ways, ("alone", Packing(), False)]:
        yield name


def bits(given: Given) -> Iterator[Check]:
    """Check the bits of the bundled model by precision and kind of attention against float32 on the CPU."""
    rng = np.random.default_rng(1)
    long = ResponseSet("Say", tuple(text(300 if given.on_gpu else 30, rng) for _ in range(3)))
    sets = [*(olmo_like(3, rng) if given.on_gpu else mcdiv_like(1, rng)), long]
    wanted = bits_of(read_sets(sets, load_causal_lm(OFFLINE_LM)))
    precisions: tuple[Dtype, ...] = ("float32", "float16", "bfloat16") if given.on_gpu else ("float32", "bfloat16")
    for dtype in precisions:
        lm = load_causal_lm(replace(OFFLINE_LM, dtype=dtype, device=given.device))
        if given.on_gpu and dtype != "float32":
            yield Check(f"packing, {dtype}", "with windows", str(lm.packing), lm.packing.windows)
        for way in _ways(lm):
            differ = bits_of(read_sets(sets, lm)) - wanted
            most, told = float(np.abs(differ).max()), f"rms {rms(differ):.4f}, max {np.abs(differ).max():.3f}"
            step = f"bits, {dtype} {way}"
            yield Check(step, f"within {BITS[dtype]:g} of {wanted.mean():.0f}", told, most < BITS[dtype])


def architectures(given: Given) -> Iterator[Check]:
    """Check small models of several families with random weights: the kind of attention used, and the bits."""
    import torch
    import transformers

    library: Any = transformers
    sizes: dict[str, Any] = {"vocab_size": 4096, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 4096}
    windowed = {"head_dim": 64, "sliding_window": 64}
    experts = {"head_dim": 64, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
    families: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("qwen2", {}, "sdpa"),
        ("qwen3", {"head_dim": 64}, "sdpa"),
        ("gemma3_text", windowed, "sdpa"),
        ("mistral", {"sliding_window": 64}, "sdpa"),
        ("qwen3_moe", experts, "sdpa"),
        ("gemma2", windowed, "eager"),  # soft-capped scores: no fused attention
    )
    tokeniser = library.AutoTokenizer.from_pretrained(str(OFFLINE_LM.folder), local_files_only=True)
    sets = (olmo_like if given.on_gpu else mcdiv_like)(1, np.random.default_rng(2))
    half = given.on_gpu and given.dtype != "float32"
    for kind, options, implementation in families if given.on_gpu else (families[0], families[-1]):
        torch.manual_seed(0)
        config = library.AutoConfig.for_model(kind, **sizes | options)
        made = library.AutoModelForCausalLM.from_config(config, attn_implementation=implementation).eval()
        wanted = bits_of(read_sets(sets, HFCausalLM(made, tokeniser, kind)))
        lm = HFCausalLM(made.to(given.device, getattr(torch, given.dtype)), tokeniser, kind)
        differ = bits_of(read_sets(sets, lm)) - wanted
        way = "alone" if kind == "gemma2" else "packed" if half else "grouped"
        told = f"{lm.run.attention}, max {np.abs(differ).max():.3f}{''.join(f'; {each}' for each in lm.fallbacks)}"
        ok = lm.run.attention == way and float(np.abs(differ).max()) < BITS[given.dtype]
        yield Check(f"architecture {kind}", f"{way}, within {BITS[given.dtype]:g}", told, ok)
