"""Limits of the machine: `python -m benchmark.perf.limits`.

Floating-point operations per second of a product of large matrices: in float32 on one thread and on all, and on a GPU
in bfloat16. Each number is the best of several rounds, so that other load on the machine lowers it only if it disturbs
every round.
"""

from collections.abc import Callable, Sequence
from time import perf_counter

from benchmark.perf.script import option_parser, print_document

SIDE = 1024  # of the matrices: larger than a core's caches, but small enough for short, undisturbed rounds
GEMMS_A_ROUND = 10
SIDE_GPU = 8192


def best(rounds: int, run: Callable[[], object]) -> float:
    """Return the fewest seconds of several rounds."""
    taken = []
    for _ in range(rounds):
        start = perf_counter()
        run()
        taken.append(perf_counter() - start)
    return min(taken)


def gemm(threads: int, rounds: int) -> float:
    """Measure operations per second of float32 matrix products on a number of threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        torch.manual_seed(0)
        a, b = torch.randn(SIDE, SIDE), torch.randn(SIDE, SIDE)
        made = torch.empty(SIDE, SIDE)
        return 2 * SIDE**3 / best(rounds * GEMMS_A_ROUND, lambda: torch.mm(a, b, out=made))
    finally:
        torch.set_num_threads(before)


def gpu_gemm(rounds: int) -> tuple[str | None, float | None]:
    """Return the first GPU's name and its operations per second in bfloat16."""
    import torch

    if not torch.cuda.is_available():
        return None, None
    a, b = (torch.randn(SIDE_GPU, SIDE_GPU, device="cuda", dtype=torch.bfloat16) for _ in range(2))

    def run() -> None:
        for _ in range(10):
            torch.mm(a, b)
        torch.cuda.synchronize()

    run()
    return torch.cuda.get_device_name(), 20 * SIDE_GPU**3 / best(rounds, run)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    import torch

    parser = option_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args(arguments).rounds
    gpu, gpu_flops = gpu_gemm(rounds)
    flops = {str(threads): gemm(threads, rounds) for threads in sorted({1, torch.get_num_threads()})}
    print_document({"gemm_flops": flops, "gpu": gpu, "gpu_gemm_flops": gpu_flops})


if __name__ == "__main__":
    main()
