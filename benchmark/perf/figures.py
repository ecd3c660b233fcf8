"""Extract figures with units from a benchmark's output: one function per benchmark."""

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any, Literal, NamedTuple

Document = Any  # output of a benchmark
Limits = Mapping[str, Any] | None  # output of `limits`, if it ran
Better = Literal["higher", "lower", "neither"]
FASTER = "times as fast"


class Figure(NamedTuple):
    """A measured number.

    Attributes:
        value: Value in its unit.
        better: Whether higher or lower is better.
        ratio: Whether its parts were measured side by side in one run, so that it also holds for other machines.
        limit: Most that the machine can reach, in the same unit; None if there is no such limit.
    """

    what: str
    value: float
    unit: str
    better: Better = "higher"
    ratio: bool = False
    limit: float | None = None


def limits(document: Document, _: Limits) -> list[Figure]:
    """Figures of `benchmark.perf.limits`."""
    figures = [
        Figure(f"float32 matrix products, {threads} threads", flops / 1e9, "GFLOP/s")
        for threads, flops in document["gemm_flops"].items()
    ]
    if document["gpu_gemm_flops"] is not None:
        figures.append(Figure("bfloat16 matrix products, GPU", document["gpu_gemm_flops"] / 1e12, "TFLOP/s"))
    for name, key in (
        ("memory copy, read and written", "copy_bytes"),
        ("file written and synced", "disk_write_bytes"),
        ("file read", "disk_read_bytes"),
    ):
        figures.append(Figure(name, document[key] / 1e9, "GB/s"))
    return figures


def lexical(document: Document, _: Limits) -> list[Figure]:
    """Figures of `benchmark.perf.lexical`."""
    return [
        _ratio("package over plain Python", document["ratio"]),
        _rate("sets", document["about"]["sets"], document["package_seconds"]),
    ]


def peers(document: Document, _: Limits) -> list[Figure]:
    """Figures of `benchmark.perf.peers`; none without the other packages."""
    whole = [] if document["ratio"] is None else [_ratio("package over others, all measures", document["ratio"])]
    return whole + [_ratio(f"{each['measure']} of {each['package']}", each["ratio"]) for each in document["measures"]]


def memory(document: Document, found: Limits) -> list[Figure]:
    """Figures of `benchmark.perf.memory`, with the embedder or a stand-in."""
    figures = []
    for key, what in (
        ("score_processor_seconds", "processor time grows as responses to the power of"),
        ("score_seconds", "seconds grow as responses to the power of"),
    ):
        if fit := document["growth"][key]:
            error = "" if fit["error"] is None else f" (± {fit['error']:.3f})"
            figures.append(Figure(what + error, fit["exponent"], "power", "lower", ratio=True))
    for run in document["runs"]:
        size = f"{run['responses']:,} responses"
        figures += [
            Figure(f"peak memory, {size}", run["peak_mb"], "MiB", "lower"),
            Figure(f"scoring, {size}", run["score_seconds"], "s", "lower"),
            Figure(f"processor time, {size}", run["score_processor_seconds"], "s", "lower"),
        ]
    largest = max(document["runs"], key=lambda run: run["responses"])
    if largest.get("embed_flops"):
        what = "embedding, operations of the weights"
        figures += _of_gemm(what, largest["embed_flops"], largest["embed_seconds"], found)
    return figures


def metaeval(document: Document, _: Limits) -> list[Figure]:
    """Figures of `benchmark.perf.metaeval`."""
    figures = [_ratio("bootstrap by weights over one by one", document["bootstrap"]["ratio"])]
    if nine := document.get("nine_tasks"):
        what = f"nine tasks, {nine['metrics']} metrics of the profile {nine['profile']}, intervals included"
        figures.append(Figure(what, nine["seconds"]["all"], "s", "lower"))
    return figures


def generation(document: Document, _: Limits) -> list[Figure]:
    """Figures of `benchmark.perf.generation`."""
    about = document["about"]
    tokens = about["prompts"] * about["k"] * about["tokens"]
    return [
        _ratio("package over a loop over prompts", document["ratio"]),
        Figure("sampled with internals", tokens / median(document["package_seconds"]), "tokens/s"),
    ]


def learned_equivalence(document: Document, _: Limits) -> list[Figure]:
    """Figure of `benchmark.perf.learned_equivalence`."""
    what = "embeddings and learned classes over embeddings and ROUGE-1 classes"
    return [Figure(what, document["ratio"], "× the time", "lower", ratio=True)]


def alternatives(document: Document, _: Limits) -> list[Figure]:
    """Figures of `benchmark.perf.alternatives`: embeddings and a classifier, by processor time."""
    return [
        _ratio(f"{each['work']}, package over {each['alternative']}", each["ratio"]) for each in document["comparisons"]
    ]


def surprisal(document: Document, _: Limits) -> list[Figure]:
    """Figures of `benchmark.perf.surprisal`: the engine and the naive way."""
    figures = []
    for each in document["timings"]:
        name = each["work"].partition(":")[0]
        figures += [
            _ratio(f"{name}, engine over naive at equal orders", each["equal_ratio"]),
            _ratio(f"{name}, one Latin square over naive with all orders", each["balanced_ratio"]),
            Figure(f"{name}, engine", each["tokens"] / min(each["equal_seconds"]), "tokens/s"),
        ]
    return [*figures, Figure("peak memory, naive logits included", document["peak_memory_mib"], "MiB", "lower")]


def throughput(document: Document, _: Limits) -> list[Figure]:
    """Figures of `benchmark.perf.surprisal --work`, which measures its own limit."""
    figures, limit = [], document["limit_flops"]
    for each in document["throughput"]:
        name = f"{each['work']}, {each['orders']}"
        if each["ratio"] is not None:
            figures.append(_ratio(f"{name}, engine over naive with uniform orders", each["ratio"]))
        reached = each["share_of_limit"] * limit / 1e9
        figures += [
            Figure(f"{name}, different tokens read", each["nodes_per_second"], "tokens/s"),
            Figure(f"{name}, peak memory", each["peak_memory_bytes"] / 2**20, "MiB", "lower"),
            Figure(f"{name}, operations of the weights", reached, "GFLOP/s", limit=limit / 1e9),
        ]
    return figures


def order_errors(document: Document, _: Limits) -> list[Figure]:
    """Figures of `benchmark.perf.order_errors`."""
    figures = []
    for row in document:
        name = f"{row['design']}, n = {row['n']}"
        if row["design"] != "uniform 50":
            what = f"{name}: standard error of a_n over that of 50 uniform orders"
            figures.append(Figure(what, row["a_n"], "of the error", "lower", ratio=True))
        figures.append(Figure(f"{name}: nodes that a model reads", row["nodes"], "nodes", "lower"))
    return figures


def cluster(document: Document, _: Limits) -> list[Figure]:
    """Figures of `benchmark.perf.cluster`."""
    measured = document["measured"]
    return [
        Figure("two actors over one", measured["ratio"], FASTER, ratio=True, limit=2.0),
        Figure("time to the first table, one actor", measured["one_start"], "s", "lower"),
    ]


def simulation(document: Document, _: Limits) -> list[Figure]:
    """Figures of `benchmark.perf.cluster --assume`: computed, not measured."""
    return [
        Figure(
            f"computed: workers used by {each['submissions']:,} × {each['shards']:,} shards, {each['by']}",
            100 * each["efficiency"],
            "%",
        )
        for each in document["simulated"]
    ]


def board(document: Document, _: Limits) -> list[Figure]:
    """Figures of `benchmark.perf.board`: median waiting times of a visitor."""
    named = (
        ("first page, warm", "first_page_warm_s", "s"),
        ("a search in the table", "search_s", "s"),
        ("all columns", "all_columns_s", "s"),
        ("next prompt on Explore", "drill_down_s", "s"),
        ("peak memory while serving", "peak_mb", "MiB"),
    )
    return [Figure(name, _middle(document[key]), unit, "lower") for name, key, unit in named if key in document]


def crowd(document: Document, _: Limits) -> list[Figure]:
    """Figures of `benchmark.perf.crowd`: median times to the first page, alone and while many call the endpoints."""
    return [
        Figure("first page, nobody else there", _middle(document["alone_s"]), "s", "lower"),
        Figure(f"first page during {document['calls']} calls", _middle(document["in_a_crowd_s"]), "s", "lower"),
    ]


def _middle(value: float | list[float]) -> float:
    return median(value) if isinstance(value, list) else value


def _ratio(what: str, value: float) -> Figure:
    return Figure(what, value, FASTER, ratio=True)


def _rate(what: str, count: float, seconds: Iterable[float]) -> Figure:
    return Figure(what, count / median(seconds), f"{what}/s")


def _of_gemm(what: str, flops: float, seconds: float, found: Limits) -> list[Figure]:
    """Operations per second, with the limit of matrix products on as many threads; nothing if it was not measured."""
    if found is None:
        return []
    return [Figure(what, flops / seconds / 1e9, "GFLOP/s", limit=found["gemm_flops"][str(found["threads"])] / 1e9)]
