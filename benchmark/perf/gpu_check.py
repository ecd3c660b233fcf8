"""Check that the surprisal engine is correct and fast on this machine's GPU: `python -m benchmark.perf.gpu_check`.

It takes up to eight minutes on a GPU and needs no released files, no hub, and only the libraries torch, transformers,
numpy, scipy, pandas and pyarrow: sets are synthetic, weights are random or those of the bundled model. It prints one
table (ok, seconds since the start, step, expected, measured), row by row, the longest step last, so that a run that is
cut off loses only what it did not reach. It exits with status 1 if anything failed. Without a GPU the same steps run on
the CPU with a tiny model, which tests the steps but not the speed.

    python -m benchmark.perf.gpu_check --json                        # the best available device
    python -m benchmark.perf.gpu_check --only attention --only bits  # some steps
"""

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from functools import partial
from time import perf_counter
from typing import Any
from weakref import ref

import numpy as np

from benchmark.metrics.metric import Missing
from benchmark.models.device_map import choose_device, device_kind
from benchmark.models.hf_lm import HFCausalLM
from benchmark.perf.gpu_steps import (
    BITS,
    Check,
    Given,
    architectures,
    attention,
    bits,
    bits_of,
    machine,
    mcdiv_like,
    olmo_like,
    rms,
    text,
)
from benchmark.perf.script import option_parser, print_document
from benchmark.perf.shapes import SHAPES, counts, limit_of, operations, random_model
from benchmark.surprisal.engine import OrderPlan, ResponseSet, read_sets
from benchmark.surprisal.prompt_layout import Layout

LEAST_SHARE, LEAST_BUSY = 0.55, 0.9  # of the GPU's limit, of its time


def throughput(given: Given) -> Iterator[Check]:
    """Check the speed of a model of a known shape with batches of three sizes, and the time that the GPU is busy."""
    import torch

    lm = random_model(given.shape, given.device, given.dtype)
    yield Check("model", "no fallback", str(lm.run), not lm.fallbacks)
    limit, _ = limit_of(given.device)
    plan, own = OrderPlan(), lm.batch_tokens
    rng = np.random.default_rng(3)
    works = (
        ("McDiv-like", mcdiv_like(given.sets, rng), Layout("completion")),
        ("OLMo-like", olmo_like(max(1, given.sets // 8), rng), Layout("instruct")),
    )
    for name, sets, layout in works:
        _, nodes, scored = np.sum([counts(lm, each, layout, plan) for each in sets], axis=0).tolist()
        first = np.empty(0)
        for factor, budget in (("1", own), ("1/4", own // 4), ("2", own * 2)):
            lm.batch_tokens = budget
            read_sets(sets[: max(1, len(sets) // 4)], lm, layout, plan)  # warm up
            with _timed(given) as seconds:
                found = bits_of(read_sets(sets, lm, layout, plan))
            rate = operations(SHAPES[given.shape], nodes, scored) / seconds[0]
            first = found if not len(first) else first
            step, told = f"{name}, batch × {factor}", f"{rate / 1e12:.3g} TFLOP/s, {nodes / seconds[0]:,.0f} tokens/s"
            # The limit is one of half precision.
            least = LEAST_SHARE if given.on_gpu and factor == "1" and given.dtype != "float32" else 0.0
            expected = f"at least {least:.0%} of {limit / 1e12:.3g} TFLOP/s" if least else "a rate"
            yield Check(step, expected, told, rate >= least * limit)
            if factor != "1":
                moved = found - first
                most = 1e-3 if given.dtype == "float32" else BITS[given.dtype]
                told = f"rms {rms(moved):.2g}, max {np.abs(moved).max():.2g}"
                yield Check(f"{step}: bits", f"moved by < {most:g}", told, float(np.abs(moved).max()) < most)
        lm.batch_tokens = own
        if given.on_gpu:
            torch.cuda.reset_peak_memory_stats()
            yield _busy(name, partial(read_sets, sets, lm, layout, plan))
            peak = torch.cuda.max_memory_allocated() / 2**30
            yield Check(f"{name}, peak memory", "less than the GPU's", f"{peak:.1f} GiB", True)


@contextmanager
def _timed(given: Given) -> Iterator[list[float]]:
    """Yield a list that gets the seconds of the block, until the GPU has finished."""
    import torch

    def wait() -> None:
        if given.on_gpu:
            torch.cuda.synchronize()

    seconds: list[float] = []
    wait()
    start = perf_counter()
    yield seconds
    wait()
    seconds.append(perf_counter() - start)


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
    found = [each for each in profiled.key_averages() if each.device_type.name == "CUDA"]
    if not found:
        return unknown
    kernels = sorted(found, key=lambda each: -each.self_device_time_total)
    busy = sum(each.self_device_time_total for each in kernels) / 1e6
    share = 1e4 * max(busy, 1e-9)  # a hundredth of the time, in microseconds
    most = ", ".join(f"{each.key[:40]} {each.self_device_time_total / share:.0f}%" for each in kernels[:4])
    return Check(step, expected, f"{busy / seconds:.0%}; {most}", busy >= LEAST_BUSY * seconds)


def memory(given: Given) -> Iterator[Check]:
    """Check that with too little memory for one set, batches are halved, memory is freed, and other sets are read."""
    lm = random_model("qwen2.5-0.5b" if given.on_gpu else "tiny", given.device, given.dtype)
    lm.shares = False  # padded: memory grows with the batch
    rng = np.random.default_rng(5)
    huge = ResponseSet("Say", tuple(text(5000 if given.on_gpu else 120, rng) for _ in range(3)))
    sets = [huge, *(olmo_like(40, rng) if given.on_gpu else mcdiv_like(2, rng))]
    gc.collect()
    with _little_gpu_memory() if given.on_gpu else _little_memory(lm, 300) as taken:
        before = taken()
        gc.disable()
        try:
            found = read_sets(sets, lm)
            left = taken() - before
        finally:
            gc.enable()
    unread = [i for i, each in enumerate(found) if isinstance(each, Missing)]
    told = f"{len(unread)} of {len(sets)} unread, {lm.batch_tokens:,} tokens at once in the end"
    yield Check("little memory, sets", "all but the huge one are read", told, unread in ([], [0]))
    yield Check("little memory, left over", "0 bytes", f"{left:,} bytes", left <= 0)


@contextmanager
def _little_gpu_memory() -> Iterator[Callable[[], int]]:
    """Limit the process to 1.5 GiB more of the GPU's memory; yield a function that counts the bytes in use."""
    import torch

    total = torch.cuda.mem_get_info()[1]
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 3 * 2**29) / total)
    try:
        yield torch.cuda.memory_allocated
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


@contextmanager
def _little_memory(lm: HFCausalLM, tokens: int) -> Iterator[Callable[[], int]]:
    """Let the last layer run out of memory above a number of tokens; yield a function that counts activation bytes."""
    import torch

    made: list[ref[Any]] = []

    def watch(layer: Any, given: Any, states: Any) -> None:
        made.append(ref(states))

    def refuse(layer: Any, given: Any) -> None:
        if given[0].shape[0] * given[0].shape[1] > tokens:
            raise torch.OutOfMemoryError("out of memory, as gpu_check has it")

    first, *_, last = lm.model.model.layers
    hooks = [first.register_forward_hook(watch), last.register_forward_pre_hook(refuse)]
    try:
        yield lambda: sum(states.nbytes for each in made if (states := each()) is not None)
    finally:
        for each in hooks:
            each.remove()


STEPS: tuple[Callable[[Given], Iterator[Check]], ...] = (machine, attention, bits, architectures, memory, throughput)


def checks_of(given: Given, only: Sequence[str] | None = None) -> Iterator[Check]:
    """Run all steps or the named ones; a step that fails becomes a row of the table, and the next ones still run."""
    import torch

    for step in STEPS:
        if only and step.__name__ not in only:
            continue
        try:
            if given.on_gpu:
                torch.cuda.current_device()  # says what is wrong with torch, the driver or the GPU
            # The functions of torch.cuda that are given no device use the current one: make it the asked one.
            with torch.cuda.device(given.device) if given.on_gpu else nullcontext():
                yield from step(given)
        except Exception as error:  # reported in the table and by the exit status
            told = str(error).splitlines()[:1] or [""]
            yield Check(step.__name__, "no error", f"{type(error).__name__}: {told[0][:200]}", ok=False)
        gc.collect()
        if given.on_gpu:
            torch.cuda.empty_cache()


def row(ok: str, seconds: str, step: str, expected: str, measured: str) -> str:
    """Lay a row out in columns."""
    return f"{ok:3} {seconds:>4}  {step:34}  {expected:34}  {measured}".rstrip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the steps and print the table; return 1 if anything failed."""
    parser = option_parser(__doc__)
    parser.add_argument("--device", help="Device; default: the best available.")
    parser.add_argument("--dtype", choices=sorted(BITS), help="Precision; default: float16 on cuda, float32 elsewhere.")
    parser.add_argument(
        "--shape", choices=sorted(SHAPES), help="Model shape; default: qwen2.5-3b on cuda, tiny elsewhere."
    )
    parser.add_argument("--sets", type=int, help="Number of sets; default: 600 on cuda, 8 elsewhere.")
    parser.add_argument(
        "--only",
        action="append",
        choices=[step.__name__ for step in STEPS],
        help="Step to run; may be repeated; default: all.",
    )
    parser.add_argument("--json", action="store_true", help="Output as one JSON document.")
    asked = parser.parse_args(arguments)
    choice = choose_device(asked.device, asked.dtype, mps=False)
    gpu = device_kind(choice.device) == "cuda"
    shape, sets = asked.shape or ("qwen2.5-3b" if gpu else "tiny"), asked.sets or (600 if gpu else 8)
    given = Given(choice.one, choice.dtype, shape, sets)
    start, checks = perf_counter(), []
    out = sys.stderr if asked.json else sys.stdout
    print(row("ok", "s", "step", "expected", "measured"), file=out)
    for check in checks_of(given, asked.only):
        checks.append(check)
        ok, seconds = "yes" if check.ok else "NO", perf_counter() - start
        print(row(ok, f"{seconds:.0f}", check.step, check.expected, check.measured), file=out, flush=True)
    seconds = perf_counter() - start
    failed = sum(not each.ok for each in checks)
    if asked.json:
        document = {**asdict(given), "seconds": round(seconds, 1), "failed": failed, "checks": [*map(asdict, checks)]}
        print_document(document)
    else:
        print(f"{len(checks) - failed} of {len(checks)} checks passed in {seconds:.0f} s on {given.device}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
