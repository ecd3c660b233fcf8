"""Check that the surprisal engine is correct and fast on this machine's GPU: `python -m benchmark.perf.gpu_check`.

It takes up to eight minutes on a GPU and needs no released files, no hub, and only the libraries torch, transformers,
numpy, scipy, pandas and pyarrow: sets are synthetic, weights are random or those of the bundled model. It prints one
table, row by row, the longest step last, and exits with status 1 if anything failed. Without a GPU the steps run on the
CPU with a tiny model, which tests the steps but not the speed.

    python -m benchmark.perf.gpu_check --json                        # the best available device
    python -m benchmark.perf.gpu_check --only attention --only bits  # some steps
"""

import argparse
import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Missing
from benchmark.models import Dtype
from benchmark.models.bundled_lm import OFFLINE_LM
from benchmark.models.devices import choose_device, device_kind
from benchmark.models.hf_lm import HFCausalLM, load_causal_lm
from benchmark.models.trie import Packing, Trie, _along_paths, _Plan, build_trie
from benchmark.perf import print_document
from benchmark.perf.surprisal import SHAPES, Shape, laid_out, random_model
from benchmark.surprisal.engine import OrderPlan, ResponseSet, SetSurprisals, read_sets
from benchmark.surprisal.prompt_layout import Layout

Floats = NDArray[np.float64]
WORDS = (
    "the", "a", "of", "to", "and", "in", "is", "it", "you", "that", "he", "was", "for", "on", "are", "with", "as",
    "his", "they", "be", "at", "one", "have", "this", "from",
)  # fmt: skip
HEADS = ((16, 2, 128), (32, 8, 64), (8, 8, 80), (8, 4, 256))  # query heads, key heads, size
# Largest differences in bits of a response of about 660 bits, by precision.
BITS = {"float32": 0.02, "float16": 0.6, "bfloat16": 4.0}
LEAST_FREE = 0.9  # of the GPU's memory
LEAST_SHARE, LEAST_BUSY = 0.55, 0.9  # of the GPU's limit, of its time


@dataclass(frozen=True, slots=True)
class Settings:
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


def bits_of(read: Sequence[SetSurprisals | Missing]) -> Floats:
    """Concatenate the bits of all responses in all orders; raise ValueError if a set was not read."""
    missing = [result.reason for result in read if isinstance(result, Missing)]
    if missing:
        raise ValueError(f"{len(missing)} sets are missing, the first: {missing[0]}")
    return np.concatenate([result.surprisals.bits.ravel() for result in read if isinstance(result, SetSurprisals)])


def machine(settings: Settings) -> Iterator[Check]:
    """Check versions, the GPU and its free memory."""
    import torch
    import transformers

    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    versions = f"{torch.__version__}, transformers {transformers.__version__}"
    yield Check("torch", "2.10 or later", versions, version >= (2, 10))
    if not settings.on_gpu:
        yield Check("device", "the best there is", settings.device, True)
        return
    from inspect import signature

    from torch.nn.attention import varlen

    free, total = torch.cuda.mem_get_info(settings.device)
    yield Check("device", "a GPU", torch.cuda.get_device_name(settings.device), True)
    memory_free = f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB"
    yield Check("free memory", f"at least {LEAST_FREE:.0%}", memory_free, free >= LEAST_FREE * total)
    options = list(signature(varlen.varlen_attn).parameters)[7:]
    yield Check("varlen_attn", "has window_size", ", ".join(options), "window_size" in options)


def attention(settings: Settings) -> Iterator[Check]:
    """Check each kind of attention along long paths against its definition, with several heads and windows."""
    import torch

    trie, device = _long_trie(1200 if settings.on_gpu else 150), torch.device(settings.device)
    kinds = [("groups", torch.float32, False, 1e-4)]
    if settings.on_gpu:
        halves = (torch.float16, torch.bfloat16)
        kinds += [(name, dtype, name == "packed", 0.03) for name in ("groups", "packed") for dtype in halves]
    torch.manual_seed(0)
    for name, dtype, packed, tolerance in kinds:
        worst = 0.0
        for heads, keys, size in HEADS if settings.on_gpu else HEADS[1:3]:
            inputs = [torch.randn(1, n, len(trie.ids), size, device=device).to(dtype) for n in (heads, keys, keys)]
            for window in (None, 100):
                plan = _Plan.of(trie, device, packed=packed)
                states = _along_paths(plan, *inputs, scaling=None, window=window).double()
                worst = max(worst, float((states - _one_by_one(trie, inputs, window)).abs().max()))
        step = f"attention by {name}, {str(dtype).removeprefix('torch.')}"
        yield Check(step, f"differs by < {tolerance:g}", f"{worst:.1e}", worst < tolerance)


def _long_trie(longest: int) -> Trie:
    """Build a trie of paths of very different lengths, up to a maximum."""
    rng = np.random.default_rng(0)
    base = rng.integers(0, 9, longest)
    cuts = ((0, 0.75), (0.11, 0.33), (0.21, 0.01), (0.54, 0.01), (0.58, 0.42), (0.05, 0.05))
    parts = [(int(cut * longest), 1 + int(more * longest)) for cut, more in cuts]
    return build_trie([np.concatenate([base[:cut], rng.integers(0, 9, more)]).astype(np.int64) for cut, more in parts])


def _one_by_one(trie: Trie, inputs: Sequence[Any], window: int | None) -> Any:
    """Compute the attention of each path separately, by its definition, in float64: [nodes, heads, size]."""
    import torch

    query, key, value = inputs
    states = torch.empty(query.shape[2], query.shape[1], query.shape[3], dtype=torch.float64, device=query.device)
    for leaf in trie.leaves:
        nodes = torch.from_numpy(leaf).to(query.device)
        q, k, v = (x[0, :, nodes].double() for x in (query, key, value))
        k, v = (x.repeat_interleave(len(q) // len(x), 0) for x in (k, v))
        position = torch.arange(len(nodes), device=nodes.device)
        ago = position[:, None] - position
        seen = (ago >= 0) & (ago < (window or len(nodes)))
        weights = (q @ k.transpose(1, 2) / q.shape[-1] ** 0.5).masked_fill(~seen, -torch.inf).softmax(-1)
        states[nodes] = (weights @ v).transpose(0, 1)
    return states


def bits(settings: Settings) -> Iterator[Check]:
    """Check the bits of the bundled model by precision and kind of attention against float32 on the CPU."""
    rng = np.random.default_rng(1)
    long = ResponseSet("Say", tuple(text(300 if settings.on_gpu else 30, rng) for _ in range(3)))
    sets = [*(olmo_like(3, rng) if settings.on_gpu else mcdiv_like(1, rng)), long]
    expected = bits_of(read_sets(sets, load_causal_lm(OFFLINE_LM)))
    precisions: tuple[Dtype, ...] = ("float32", "float16", "bfloat16") if settings.on_gpu else ("float32", "bfloat16")
    for dtype in precisions:
        lm = load_causal_lm(replace(OFFLINE_LM, dtype=dtype, device=settings.device))
        if settings.on_gpu and dtype != "float32":
            yield Check(f"packing, {dtype}", "with windows", str(lm.packing), lm.packing.windows)
        for kind in _attention_kinds(lm):
            error = bits_of(read_sets(sets, lm)) - expected
            largest, rms = float(np.abs(error).max()), float(np.sqrt((error**2).mean()))
            limit = f"within {BITS[dtype]:g} of {expected.mean():.0f}"
            yield Check(f"bits, {dtype} {kind}", limit, f"rms {rms:.4f}, max {largest:.3f}", largest < BITS[dtype])


def _attention_kinds(lm: HFCausalLM) -> Iterator[str]:
    """Switch a model to each kind of attention that it supports."""
    kinds = [("packed", lm.packing, True)] if lm.packing.causal else []
    kinds += [("grouped", Packing(), True)] if lm.shares else []
    for name, lm.packing, lm.shares in [*kinds, ("alone", Packing(), False)]:
        yield name


def architectures(settings: Settings) -> Iterator[Check]:
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
    sets = (olmo_like if settings.on_gpu else mcdiv_like)(1, np.random.default_rng(2))
    half = settings.on_gpu and settings.dtype != "float32"
    for family, options, implementation in families if settings.on_gpu else (families[0], families[-1]):
        torch.manual_seed(0)
        config = library.AutoConfig.for_model(family, **sizes | options)
        model = library.AutoModelForCausalLM.from_config(config, attn_implementation=implementation).eval()
        expected = bits_of(read_sets(sets, HFCausalLM(model, tokeniser, family)))
        lm = HFCausalLM(model.to(settings.device, getattr(torch, settings.dtype)), tokeniser, family)
        largest = float(np.abs(bits_of(read_sets(sets, lm)) - expected).max())
        kind = "alone" if family == "gemma2" else "packed" if half else "grouped"
        measured = f"{lm.run.attention}, max {largest:.3f}{''.join(f'; {reason}' for reason in lm.fallbacks)}"
        ok = lm.run.attention == kind and largest < BITS[settings.dtype]
        yield Check(f"architecture {family}", f"{kind}, within {BITS[settings.dtype]:g}", measured, ok)


def throughput(settings: Settings) -> Iterator[Check]:
    """Check the speed of a model of a known shape with batches of three sizes, and the time that the GPU is busy."""
    import torch

    lm = random_model(settings.shape, settings.device, settings.dtype)
    yield Check("model", "no fallback", str(lm.run), not lm.fallbacks)
    limit = _matrix_flops(settings) if settings.on_gpu else 0.0
    plan, default = OrderPlan(), lm.batch_tokens
    rng = np.random.default_rng(3)
    works = (
        ("McDiv-like", mcdiv_like(settings.sets, rng), Layout("completion")),
        ("OLMo-like", olmo_like(max(1, settings.sets // 8), rng), Layout("instruct")),
    )
    for name, sets, layout in works:
        run = partial(read_sets, sets, lm, layout, plan)
        nodes, scored = _counts(lm, sets, layout, plan)
        first = np.empty(0)
        for factor, budget in (("1", default), ("1/4", default // 4), ("2", default * 2)):
            lm.batch_tokens = budget
            read_sets(sets[: max(1, len(sets) // 4)], lm, layout, plan)  # warm up
            start = perf_counter()
            values = bits_of(run())  # on the CPU, so the GPU has finished
            seconds = perf_counter() - start
            rate = _operations(SHAPES[settings.shape], nodes, scored) / seconds
            # The limit is one of half precision.
            least = LEAST_SHARE if settings.on_gpu and factor == "1" and settings.dtype != "float32" else 0.0
            expected = f"at least {least:.0%} of {limit / 1e12:.3g} TFLOP/s" if least else "a rate"
            step = f"{name}, batch × {factor}"
            measured = f"{rate / 1e12:.3g} TFLOP/s, {nodes / seconds:,.0f} tokens/s"
            yield Check(step, expected, measured, rate >= least * limit)
            first = values if not len(first) else first
            if factor != "1":
                moved = float(np.abs(values - first).max())
                tolerance = 1e-3 if settings.dtype == "float32" else BITS[settings.dtype]
                yield Check(f"{step}: bits", f"moved by < {tolerance:g}", f"max {moved:.2g}", moved < tolerance)
        lm.batch_tokens = default
        if settings.on_gpu:
            torch.cuda.reset_peak_memory_stats()
            yield _busy(name, run)
            peak = torch.cuda.max_memory_allocated() / 2**30
            yield Check(f"{name}, peak memory", "less than the GPU's", f"{peak:.1f} GiB", True)


def _counts(lm: HFCausalLM, sets: Sequence[ResponseSet], layout: Layout, plan: OrderPlan) -> tuple[int, int]:
    """Count the distinct prefixes of each set and the scored ones among them, summed over sets."""
    nodes = scored = 0
    for texts in laid_out(lm, sets, layout, plan):
        trie = build_trie([text.sequence.ids for text in texts])
        nodes += len(trie.ids)
        paths = [path[text.sequence.scored] for path, text in zip(trie.paths, texts, strict=True)]
        scored += len(np.unique(np.concatenate(paths)))
    return nodes, scored


def _operations(shape: Shape, nodes: int, scored: int) -> float:
    """Count the operations of the products with weights, without attention (a few percent of these)."""
    keys = shape.key_heads * (shape.width // shape.heads)
    body = shape.layers * shape.width * (2 * shape.width + 2 * keys + 3 * shape.inner)
    return 2.0 * (body * nodes + shape.width * shape.vocabulary * scored)


def _matrix_flops(settings: Settings) -> float:
    """Measure the GPU's operations per second in products of large bfloat16 matrices."""
    import torch

    side, fastest = 8192, np.inf
    a, b = (torch.randn(side, side, device=settings.device, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(4):
        torch.cuda.synchronize()
        start = perf_counter()
        for _ in range(10):
            torch.mm(a, b)
        torch.cuda.synchronize()
        fastest = min(fastest, perf_counter() - start)
    return float(20 * side**3 / fastest)


def _busy(name: str, run: Callable[[], object]) -> Check:
    """Check the share of time in which the GPU's kernels run, and name the longest ones."""
    import torch
    from torch import profiler
    from torch.profiler import ProfilerActivity, profile

    step, expected = f"{name}, GPU time", f"busy at least {LEAST_BUSY:.0%}"
    unknown = Check(step, expected, "not measured: torch cannot profile the GPU (it needs CUPTI)", True)
    supported: Any = profiler.supported_activities  # untyped
    if ProfilerActivity.CUDA not in supported():
        return unknown
    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        start = perf_counter()
        run()
        torch.cuda.synchronize()
        seconds = perf_counter() - start
    # Without the launches on the CPU, to which torch may attribute their kernels' time once more.
    events = [event for event in profiled.key_averages() if event.device_type.name == "CUDA"]
    if not events:
        return unknown
    kernels = sorted(events, key=lambda event: -event.self_device_time_total)
    busy = sum(event.self_device_time_total for event in kernels) / 1e6
    percent = 1e4 * max(busy, 1e-9)  # in microseconds
    longest = ", ".join(f"{event.key[:40]} {event.self_device_time_total / percent:.0f}%" for event in kernels[:4])
    return Check(step, expected, f"{busy / seconds:.0%}; {longest}", busy >= LEAST_BUSY * seconds)


def memory(settings: Settings) -> Iterator[Check]:
    """Check that with too little GPU memory for one set, batches are halved, memory is freed, and others are read."""
    if not settings.on_gpu:
        return
    import torch

    lm = random_model("qwen2.5-0.5b", settings.device, settings.dtype)
    lm.shares = False  # padded: memory grows with the batch
    rng = np.random.default_rng(5)
    sets = [ResponseSet("Say", tuple(text(5000, rng) for _ in range(3))), *olmo_like(40, rng)]
    gc.collect()
    with _little_gpu_memory():
        before = torch.cuda.memory_allocated()
        gc.disable()
        try:
            read = read_sets(sets, lm)
            left = torch.cuda.memory_allocated() - before
        finally:
            gc.enable()
    unread = [i for i, result in enumerate(read) if isinstance(result, Missing)]
    measured = f"{len(unread)} of {len(sets)} unread, {lm.batch_tokens:,} tokens at once in the end"
    yield Check("little memory, sets", "all but the huge one are read", measured, unread in ([], [0]))
    yield Check("little memory, left over", "0 bytes", f"{left:,} bytes", left <= 0)


@contextmanager
def _little_gpu_memory() -> Iterator[None]:
    """Limit the process to 1.5 GiB more of the GPU's memory."""
    import torch

    total = torch.cuda.mem_get_info()[1]
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 3 * 2**29) / total)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


STEPS: tuple[Callable[[Settings], Iterator[Check]], ...] = (machine, attention, bits, architectures, memory, throughput)


def checks_of(settings: Settings, only: Sequence[str] | None = None) -> Iterator[Check]:
    """Run all steps or the named ones; a step that fails becomes a row of the table, and the next ones still run."""
    import torch

    for step in STEPS:
        if only and step.__name__ not in only:
            continue
        try:
            if settings.on_gpu:
                torch.cuda.current_device()  # says what is wrong with torch, the driver or the GPU
            # The functions of torch.cuda that get no device use the current one: make it the requested one.
            with torch.cuda.device(settings.device) if settings.on_gpu else nullcontext():
                yield from step(settings)
        except Exception as error:  # reported in the table and by the exit status
            message = (str(error).splitlines() or [""])[0][:200]
            yield Check(step.__name__, "no error", f"{type(error).__name__}: {message}", ok=False)
        gc.collect()
        if settings.on_gpu:
            torch.cuda.empty_cache()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the steps and print the table; return 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="Device; default: the best available.")
    parser.add_argument("--dtype", choices=sorted(BITS), help="Precision; default: float16 on cuda, float32 elsewhere.")
    parser.add_argument("--shape", choices=sorted(SHAPES), help="Default: qwen2.5-3b on cuda, tiny elsewhere.")
    parser.add_argument("--sets", type=int, help="Number of sets; default: 600 on cuda, 8 elsewhere.")
    parser.add_argument("--only", action="append", choices=[step.__name__ for step in STEPS], help="Step; repeatable.")
    parser.add_argument("--json", action="store_true", help="Output as one JSON document.")
    options = parser.parse_args(arguments)
    choice = choose_device(options.device, options.dtype, mps=False)
    gpu = device_kind(choice.device) == "cuda"
    shape, sets = options.shape or ("qwen2.5-3b" if gpu else "tiny"), options.sets or (600 if gpu else 8)
    settings = Settings(choice.one, choice.dtype, shape, sets)
    start, checks = perf_counter(), []
    out = sys.stderr if options.json else sys.stdout
    print(f"{'ok':3} {'s':>4}  {'step':34}  {'expected':34}  measured", file=out)
    for check in checks_of(settings, options.only):
        checks.append(check)
        row = f"{'yes' if check.ok else 'NO':3} {perf_counter() - start:4.0f}  {check.step:34}  {check.expected:34}"
        print(f"{row}  {check.measured}".rstrip(), file=out, flush=True)
    seconds, failed = perf_counter() - start, sum(not check.ok for check in checks)
    if options.json:
        print_document({**asdict(settings), "seconds": round(seconds, 1), "failed": failed, "checks": checks})
    else:
        print(f"{len(checks) - failed} of {len(checks)} checks passed in {seconds:.0f} s on {settings.device}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
