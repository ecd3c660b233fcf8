"""The benchmarks that `python -m benchmark.perf` runs: each a module that prints a JSON document."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmark.perf import figures
from benchmark.perf.figures import Document, Figure, Limits
from datasets_build.errors import ConfigurationError, did_you_mean


class Benchmark(NamedTuple):
    """A benchmark.

    Attributes:
        name: Its name in the report.
        about: Description in one sentence.
        module: Module to run as `python -m MODULE`.
        quick: Arguments of a run of some minutes.
        full: Arguments of the full run, up to hours.
        read: Function from its document to figures.
        gpu: Whether it needs a GPU.
    """

    name: str
    about: str
    module: str
    quick: tuple[str, ...]
    full: tuple[str, ...]
    read: Callable[[Document, Limits], list[Figure]]
    gpu: bool = False


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark(
        "limits",
        "What the machine itself can do: matrix products, copies in memory, the disk.",
        "benchmark.perf.limits",
        _words("--megabytes 128 --rounds 5"),
        _words("--megabytes 512 --rounds 20"),
        figures.limits,
    ),
    Benchmark(
        "lexical",
        "How much faster than plain Python the n-gram metrics are.",
        "benchmark.perf.lexical",
        _words("--rounds 3 --sets 600"),
        (),
        figures.lexical,
    ),
    Benchmark(
        "peers",
        "How much faster than other diversity packages the same measures are; needs the extra peers.",
        "benchmark.perf.peers",
        _words("--sets 100"),
        (),
        figures.peers,
    ),
    Benchmark(
        "memory",
        "Memory and time of scoring up to a million responses with all but the embedder and the language model.",
        "benchmark.perf.memory",
        _words("--profile offline --stand-in --prompts 100 300 1000"),
        _words("--profile offline --stand-in --prompts 1000 10000 100000"),
        figures.memory,
    ),
    Benchmark(
        "embeddings",
        "Memory and time of scoring with lexical metrics and the bundled embedder, and how near it is to the limit.",
        "benchmark.perf.memory",
        _words("--profile offline --prompts 64 192 640"),
        _words("--profile offline --prompts 100 1000 10000"),
        figures.memory,
    ),
    Benchmark(
        "metaeval",
        "How much faster intervals of meta-evaluation are by weights than resample by resample.",
        "benchmark.perf.metaeval",
        _words("--rows 400 --rounds 1"),
        (),
        figures.metaeval,
    ),
    Benchmark(
        "surprisal",
        "How much faster than the naive way the surprisal engine reads response sets.",
        "benchmark.perf.surprisal",
        _words("--small 2 --large 1 --rounds 1"),
        _words("--small 4 --large 1 --rounds 2"),
        figures.surprisal,
    ),
    Benchmark(
        "throughput",
        "How many tokens of released sets the surprisal engine reads a second, and how near that is to the limit.",
        "benchmark.perf.surprisal",
        _words("--work mcdiv --sets 12 --naive-sets 0 --rounds 1"),
        _words("--work mcdiv --sets 60 --naive-sets 2 --rounds 1"),
        figures.throughput,
    ),
    Benchmark(
        "throughput_long",
        "The same on longer responses, ten a set: OLMo's, cut to equal length.",
        "benchmark.perf.surprisal",
        _words("--work olmo-matched --sets 3 --naive-sets 0 --rounds 1"),
        _words("--work olmo-matched --sets 12 --naive-sets 1 --rounds 1"),
        figures.throughput,
    ),
    Benchmark(
        "throughput_gpu",
        "McDiv's sets on a GPU, with a model of Qwen2.5-3B's shape in bfloat16.",
        "benchmark.perf.surprisal",
        _words("--device cuda --dtype bfloat16 --shape qwen2.5-3b --work mcdiv --sets 300 --naive-sets 2"),
        _words("--device cuda --dtype bfloat16 --shape qwen2.5-3b --work mcdiv"),
        figures.throughput,
        gpu=True,
    ),
    Benchmark(
        "throughput_long_gpu",
        "OLMo's sets on a GPU, with the same model.",
        "benchmark.perf.surprisal",
        _words("--device cuda --dtype bfloat16 --shape qwen2.5-3b --work olmo-matched --sets 100 --naive-sets 1"),
        _words("--device cuda --dtype bfloat16 --shape qwen2.5-3b --work olmo-matched"),
        figures.throughput,
        gpu=True,
    ),
    Benchmark(
        "order_errors",
        "How much precision balanced orders buy over uniform random ones.",
        "benchmark.perf.order_errors",
        _words("--fives 9 --tens 0"),
        (),
        figures.order_errors,
    ),
    Benchmark(
        "generation",
        "How much faster than a loop over prompts the package samples a model and looks inside it.",
        "benchmark.perf.generation",
        _words("--prompts 8 --rounds 1"),
        _words("--prompts 32 --rounds 3"),
        figures.generation,
    ),
    Benchmark(
        "learned_equivalence",
        "Processor time of embeddings and learned classes over that of embeddings and ROUGE-1 classes.",
        "benchmark.perf.learned_equivalence",
        _words("--prompts 4 --rounds 1"),
        _words("--prompts 100 --rounds 3"),
        figures.learned_equivalence,
    ),
    Benchmark(
        "alternatives",
        "How much faster the package runs its small models than the libraries' own calls.",
        "benchmark.perf.alternatives",
        _words("--rounds 2 --texts 200 --pairs 30 --layers 2"),
        _words("--rounds 3"),
        figures.alternatives,
    ),
    Benchmark(
        "cluster",
        "How scoring grows with actors on this machine.",
        "benchmark.perf.cluster",
        _words("--profile lexical --sets 640 --rounds 1"),
        _words("--profile lexical --sets 2000 --rounds 3"),
        figures.cluster,
    ),
    Benchmark(
        "simulation",
        "How scoring would grow with many workers, computed from what a shard costs; nothing is measured.",
        "benchmark.perf.cluster",
        _words("--assume 4.7"),
        _words("--assume 4.7"),
        figures.simulation,
    ),
    Benchmark(
        "board",
        "What a visitor of the board waits for, with many results.",
        "benchmark.perf.board",
        _words("--submissions 30 --prompts 200 --metrics 10 --times 3"),
        (),
        figures.board,
    ),
    Benchmark(
        "crowd",
        "What a visitor of the board waits for while hundreds call its endpoints.",
        "benchmark.perf.crowd",
        _words("--times 1"),
        (),
        figures.crowd,
    ),
)


def named(names: Sequence[str]) -> tuple[Benchmark, ...]:
    """Return the benchmarks with these names, in the suite's order; default: all that need no GPU.

    Raises:
        ConfigurationError: A benchmark does not exist.
    """
    known = [each.name for each in BENCHMARKS]
    for name in names:
        if name not in known:
            raise ConfigurationError(f"there is no benchmark {name!r}", did_you_mean(name, known))
    return tuple(each for each in BENCHMARKS if (each.name in names if names else not each.gpu))
