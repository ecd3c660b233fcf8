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
from contextlib import nullcontext
from dataclasses import asdict
from time import perf_counter

from benchmark.models.device_map import choose_device, device_kind
from benchmark.perf.gpu_speed import memory, throughput
from benchmark.perf.gpu_steps import BITS, Check, Given, architectures, attention, bits, machine
from benchmark.perf.script import option_parser, print_document
from benchmark.perf.shapes import SHAPES

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
