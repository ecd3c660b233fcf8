"""Limits of the machine: `python -m benchmark.perf.limits`.

Floating-point operations per second of a product of large float32 matrices, on one thread and on all, and on a GPU in
bfloat16; bytes per second of a large copy in memory, read and written; and of a file that is written and synced to
disk, and read again after the system was asked to drop it from its cache. Each number is the best of several rounds, so
that other load on the machine lowers it only if it disturbs every round.
"""

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmark.perf.script import option_parser, print_document

SIDE = 1024  # of the matrices: larger than a core's caches, but small enough for short, undisturbed rounds
GEMMS_A_ROUND = 10
SIDE_GPU = 8192
MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class Limits:
    """Measured limits.

    Attributes:
        threads: Default number of threads of torch, which the other benchmarks use.
        cores: Number of cores that this process may use.
        gemm_flops: Operations per second by number of threads: one, `threads` and `cores`.
        gpu: Name of the GPU; None without one.
        gpu_gemm_flops: Operations per second in bfloat16; None without a GPU.
        copy_bytes: Bytes per second, counting both read and written ones.
        disk_write_bytes: Bytes per second, synced.
        disk_read_bytes: Bytes per second. If the system keeps the file in its cache, this is a copy from memory.
    """

    threads: int
    cores: int
    gemm_flops: dict[str, float]
    gpu: str | None
    gpu_gemm_flops: float | None
    copy_bytes: float
    disk_write_bytes: float
    disk_read_bytes: float


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


def copy(megabytes: int, rounds: int) -> float:
    """Measure bytes per second, read and written, of a copy of an array."""
    source = np.ones(megabytes * MEGABYTE, dtype=np.uint8)
    target = np.empty_like(source)
    return 2 * source.nbytes / best(rounds, lambda: np.copyto(target, source))


def disk(megabytes: int, rounds: int) -> tuple[float, float]:
    """Measure bytes per second written and synced, and read, of a temporary file."""
    block = np.random.default_rng(0).bytes(MEGABYTE)  # random, so that no disk can compress it
    with tempfile.TemporaryDirectory(prefix="divbench-limits-") as folder:
        path = Path(folder) / "file"

        def write() -> None:
            with path.open("wb", buffering=0) as file:
                for _ in range(megabytes):
                    file.write(block)
                os.fsync(file.fileno())

        def read() -> None:
            with path.open("rb", buffering=0) as file:
                if hasattr(os, "posix_fadvise"):
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                while file.read(MEGABYTE):
                    pass

        size = megabytes * MEGABYTE
        return size / best(rounds, write), size / best(rounds, read)


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def measure(megabytes: int, rounds: int) -> Limits:
    """Measure all limits, one after the other."""
    import torch

    threads, cores = torch.get_num_threads(), usable_cores()
    flops = {str(each): gemm(each, rounds) for each in sorted({1, threads, cores})}
    gpu, gpu_flops = gpu_gemm(rounds)
    written, read = disk(megabytes, max(rounds // 2, 1))
    return Limits(threads, cores, flops, gpu, gpu_flops, copy(megabytes, rounds), written, read)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    parser = option_parser(__doc__)
    parser.add_argument("--megabytes", type=int, default=512, help="Size of the copy and of the file.")
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args(arguments)
    print_document(measure(given.megabytes, given.rounds))


if __name__ == "__main__":
    main()
