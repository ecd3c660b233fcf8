"""From the document that a benchmark prints to figures with units: one function a benchmark.

Each takes its own document and that of `limits`, where there is one. A document may have more in it than is read here;
where it lacks what is read, that is an error, which the report tells.
"""

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from benchmark.perf.schema import Better, Figure, Findings, Share

Document = Any  # what a benchmark printed
Limits = Mapping[str, Any] | None
FASTER = "times as fast"
# Multiplications of one layer's weights with one token in a model of deberta-v3-large's shape, and additions.
DEBERTA_FLOPS = 2 * (4 * 1024**2 + 2 * 1024 * 4096)


def limits(document: Document, _: Limits) -> Findings:
    """Of `benchmark.perf.limits`."""
    numbers = [
        _number(f"float32 matrix products, {threads} thread{'' if threads == '1' else 's'}", flops / 1e9, "GFLOP/s")
        for threads, flops in document["gemm_flops"].items()
    ]
    if document["gpu_gemm_flops"] is not None:
        numbers.append(_number("bfloat16 matrix products, GPU", document["gpu_gemm_flops"] / 1e12, "TFLOP/s"))
    for name, key in (
        ("copy in memory, read and written", "copy_bytes"),
        ("file written and synced", "disk_write_bytes"),
        ("file read", "disk_read_bytes"),
    ):
        numbers.append(_number(name, document[key] / 1e9, "GB/s"))
    return Findings(compared="the machine itself, the best of some rounds", numbers=tuple(numbers))


def lexical(document: Document, _: Limits) -> Findings:
    """Of `benchmark.perf.lexical`."""
    return Findings(
        compared=(
            f"distinct-n and n-gram cosine diversity of {document['sets']:,} sets ({document['data']}), by the package "
            "and by plain Python, in turns; the values are the same"
        ),
        ratios=(_ratio("package over plain Python", document["ratio"]),),
        numbers=(_rate("sets", document["sets"], document["package_seconds"]),),
    )


def memory(document: Document, found: Limits) -> Findings:
    """Of `benchmark.perf.memory`, with the embedder or a stand-in."""
    runs = document["runs"]
    numbers = []
    for run in runs:
        size = f"{run['responses']:,} responses"
        numbers += [
            _number(f"peak memory, {size}", run["peak_mb"], "MiB", "lower"),
            _number(f"scoring, {size}", run["score_seconds"], "s", "lower"),
            _number(f"processor time, {size}", run["score_processor_seconds"], "s", "lower"),
        ]
    ratios = []
    for key, what in (
        ("score_processor_seconds", "processor time grows as responses to the power of"),
        ("score_seconds", "seconds grow as responses to the power of"),
    ):
        if fit := document["growth"][key]:
            error = "" if fit["error"] is None else f" (± {fit['error']:.3f})"
            ratios.append(Figure(what=what + error, value=fit["exponent"], unit="power", better="lower"))
    largest = max(runs, key=lambda run: run["responses"])
    shares: tuple[Share, ...] = ()
    if largest.get("embed_flops"):
        shares = _of_gemm(
            "embedding, operations of the weights", largest["embed_flops"], largest["embed_seconds"], found
        )
    made = "vectors of a stand-in" if document["embedder"] == "stand-in" else "embeddings of all-MiniLM-L6-v2"
    return Findings(
        compared=(
            "submissions of several sizes, ten responses a prompt, all different: validated and scored with the "
            f"profile {document['profile']} but for surprisals, with {made}, each in a process of its own"
        ),
        ratios=tuple(ratios),
        numbers=tuple(numbers),
        shares=shares,
    )


def metaeval(document: Document, _: Limits) -> Findings:
    """Of `benchmark.perf.metaeval`."""
    both = document["bootstrap"]
    numbers = []
    if nine := document.get("nine_tasks"):
        what = f"nine tasks, {nine['metrics']} metrics of the profile {nine['profile']}, intervals included"
        numbers.append(_number(what, nine["seconds"]["all"], "s", "lower"))
    return Findings(
        compared=(
            f"bootstrap of four measures over {both['rows']:,} rows, {both['resamples']} resamples: all at once by "
            "weights, and one after the other by scipy and scikit-learn, in turns; the values are the same"
        ),
        ratios=(_ratio("by weights over one by one", both["ratio"]),),
        numbers=tuple(numbers),
    )


def generation(document: Document, _: Limits) -> Findings:
    """Of `benchmark.perf.generation`."""
    return Findings(
        compared=(
            f"{document['prompts']} prompts, {document['k']} + 1 answers of {document['tokens']} tokens with internals "
            "under the bundled model, by the package and by a loop over prompts, in turns; the numbers are the same"
        ),
        ratios=(_ratio("package over loop", document["ratio"]),),
        numbers=(_number("sampled with internals", document["package_tokens_per_second"], "tokens/s", "higher"),),
    )


def equivalence(document: Document, found: Limits) -> Findings:
    """Of `benchmark.perf.equivalence`."""
    pairs, layers = document["pairs"], document["layers"]
    flops = DEBERTA_FLOPS * layers * document["tokens"] * document["different_pairs"]
    return Findings(
        compared=(
            f"{pairs:,} pairs of answers ({document['data']}) under a classifier of deberta-v3-large's shape, "
            f"{layers} of its 24 layers, by the package and one after the other, in turns; the values are the same"
        ),
        ratios=(_ratio("package over one after the other", document["ratio"]),),
        numbers=(_number("decided", document["package_pairs_per_second"], "pairs/s", "higher"),),
        shares=_of_gemm("operations of the weights", flops, median(document["package_seconds"]), found),
    )


def surprisal(document: Document, found: Limits) -> Findings:
    """Of `benchmark.perf.surprisal`, engine and naive way."""
    ratios, numbers = [], []
    for each in document["timings"]:
        name = each["work"].partition(":")[0]
        ratios += [
            _ratio(f"{name}, engine over naive at equal orders", each["equal_ratio"]),
            _ratio(f"{name}, one Latin square over naive with all orders", each["balanced_ratio"]),
        ]
        numbers.append(_number(f"{name}, engine", each["tokens"] / min(each["equal_seconds"]), "tokens/s", "higher"))
    numbers.append(_number("peak memory, naive logits included", document["peak_memory_mib"], "MiB", "lower"))
    return Findings(
        compared="bits of response sets, random weights, 152 thousand tokens; the engine and the naive way in turns",
        ratios=tuple(ratios),
        numbers=tuple(numbers),
    )


def throughput(document: Document, _: Limits) -> Findings:
    """Of `benchmark.perf.surprisal --work`; the limit is the one that it knows itself."""
    ratios, numbers, shares = [], [], []
    limit = document["limit_flops"]
    for each in document["throughput"]:
        name = f"{each['work']}, {each['orders']}"
        if each["ratio"] is not None:
            ratios.append(_ratio(f"{name}, engine over naive with uniform orders", each["ratio"]))
        numbers += [
            _number(f"{name}, different tokens read", each["nodes_per_second"], "tokens/s"),
            _number(f"{name}, peak memory", each["peak_memory_bytes"] / 2**20, "MiB", "lower"),
        ]
        reached = each["share_of_limit"] * limit
        shares.append(_share(f"{name}, operations of the weights", reached / 1e9, limit / 1e9, "GFLOP/s"))
    return Findings(
        compared=(
            "bits of released sets by the engine, and at the rate of the naive way on some of them; random weights of "
            f"the shape {document['shape']} in {document['dtype']} on {document['device']}"
        ),
        ratios=tuple(ratios),
        numbers=tuple(numbers),
        shares=tuple(shares),
    )


def order_errors(document: Document, _: Limits) -> Findings:
    """Of `benchmark.perf.order_errors`."""
    ratios = [
        Figure(
            what=f"{row['design']}, n = {row['n']}: standard error of a_n over that of 50 uniform orders",
            value=row["a_n"],
            unit="of the error",
            better="lower",
        )
        for row in document
        if row["design"] != "uniform 50"
    ]
    numbers = [
        _number(f"{row['design']}, n = {row['n']}: beginnings that a model reads", row["nodes"], "nodes", "lower")
        for row in document
    ]
    return Findings(
        compared="designs of orders with 50 uniform random ones, on released response sets under the bundled model",
        ratios=tuple(ratios),
        numbers=tuple(numbers),
    )


def cluster(document: Document, _: Limits) -> Findings:
    """Of `benchmark.perf.cluster`, what was measured of it; what follows for many workers is `simulation`'s."""
    measured = document["measured"]
    return Findings(
        compared=(
            f"one actor of Ray with two on the same {measured['shards']} shards, in turns; rates between the first "
            "table and the last; the tables are the same"
        ),
        ratios=(_ratio("two actors over one", measured["ratio"]),),
        numbers=(_number("until the first table, one actor", measured["one_start"], "s", "lower"),),
        shares=(_share("two actors", measured["ratio"], 2.0, "times one actor"),),
    )


def simulation(document: Document, _: Limits) -> Findings:
    """Of `benchmark.perf.cluster --assume`."""
    assumed = document["assumed"]
    numbers = [
        _number(
            f"computed: workers used by {each['submissions']:,} × {each['shards']:,} shards, {each['by']}",
            100 * each["efficiency"],
            "%",
        )
        for each in document["simulated"]
    ]
    return Findings(
        compared=f"nothing: {assumed['workers']} workers are simulated, with shards of {assumed['costs']:.1f} s",
        numbers=tuple(numbers),
    )


def board(document: Document, _: Limits) -> Findings:
    """Of `benchmark.perf.board`."""
    what = (
        f"{document['submissions']:,} made-up systems of {document['prompts']:,} prompts, {document['metrics']} metrics"
    )
    named = (
        ("first page, warm", "first_page_warm_s", "s"),
        ("a search in the table", "search_s", "s"),
        ("all columns", "all_columns_s", "s"),
        ("next prompt on Explore", "drill_down_s", "s"),
        ("peak memory while serving", "peak_mb", "MiB"),
    )
    return Findings(
        compared=f"{what}, served to a headless browser; medians of what its visitor waits for",
        numbers=tuple(
            _number(name, _middle(document[key]), unit, "lower") for name, key, unit in named if key in document
        ),
    )


def _middle(value: float | list[float]) -> float:
    return median(value) if isinstance(value, list) else value


def _ratio(what: str, value: float) -> Figure:
    return Figure(what=what, value=value, unit=FASTER, better="higher")


def _number(what: str, value: float, unit: str, better: Better = "higher") -> Figure:
    return Figure(what=what, value=value, unit=unit, better=better)


def _rate(what: str, count: float, seconds: Iterable[float]) -> Figure:
    return _number(what, count / median(seconds), f"{what}/s")


def _share(what: str, achieved: float, limit: float, unit: str) -> Share:
    return Share(what=what, achieved=achieved, limit=limit, unit=unit, share=achieved / limit)


def _of_gemm(what: str, flops: float, seconds: float, found: Limits) -> tuple[Share, ...]:
    """Operations a second as a share of what matrix products reach on as many threads; none where nobody measured."""
    if found is None:
        return ()
    limit = found["gemm_flops"][str(found["threads"])]
    return (_share(what, flops / seconds / 1e9, limit / 1e9, "GFLOP/s"),)
