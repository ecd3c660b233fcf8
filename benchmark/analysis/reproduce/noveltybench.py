"""NoveltyBench (arXiv:2504.05228): Table 1, as far as partitions were released.

The table pools 100 curated prompts with 1,000 of WildChat. Partitions of WildChat are not available for any model; for
one model we have the released summary, so its pooled values can be recomputed. The table's number of classes is one too
high for all models: since 2025-05-24, the project's website has shown one less, without a note.
"""

from statistics import fmean

from benchmark.analysis.reproduce.cells import Found, Made, Place, cannot, recomputed
from benchmark.analysis.reproduce.inputs import GEMINI, GPT_4O, Inputs
from benchmark.metrics.partition import distinct_k, of_reported, utility_k
from datasets_build.sources.source import File
from divbench.core.errors import InputError
from submissions.importing.importers import read_noveltybench
from submissions.untrusted.findings import Findings, Rejected

PATIENCE = 0.8
CURATED, WILDCHAT = 100, 1000
# The pooled numbers of classes on the project's website since 2025-05-24.
WEBSITE = {
    "Claude-3.5 Haiku": 1.94,
    "Claude-3.5 Sonnet": 1.76,
    "Claude-3 Opus": 2.04,
    "gpt-4o-mini": 2.65,
    "gpt-4o": 2.88,
    "gemini-1.5-pro": 1.85,
    "gemini-2.0-flash-lite": 2.83,
    "gemini-2.0-flash": 2.81,
    "gemini-2.0-pro": 2.25,
    "command-r7b": 3.58,
    "command-r": 2.68,
    "command-r-plus": 2.79,
    "gemma-2-2b-it": 5.66,
    "gemma-2-9b-it": 3.25,
    "gemma-2-27b-it": 3.03,
    "Llama-3.2-1B": 6.74,
    "Llama-3.2-3B": 5.10,
    "Llama-3.1-8B": 5.24,
    "Llama-3.3-70B": 2.49,
    "Llama-3.1-405B": 3.20,
}
NOTE = (
    "The table's distinct is one more than the number of classes, eq. 1 of the paper. The project's website has the "
    f"number of classes since 2025-05-24: {', '.join(f'{model} {classes:.2f}' for model, classes in WEBSITE.items())}."
)
_NO_ROWS = "partitions of the 1,000 WildChat prompts are not available"


def on_curated(file: File, inputs: Inputs) -> dict[str, float]:
    """Compute means over the curated prompts: `distinct`, the number of classes (eq. 1), and `utility` (eq. 2).

    Raises:
        ConfigurationError: The file is not available.
        InputError: The file has the wrong content.
    """
    path = inputs.file(file)
    findings = Findings()
    found = read_noveltybench(path, findings)
    if findings.rejected():
        raise Rejected(str(path), findings)
    rows = [of_reported(values) for _, values in found.reported.values()]
    if len(rows) != CURATED:
        raise InputError(f"{path}: {len(rows)} prompts, wanted {CURATED}")
    return {
        "distinct": fmean(distinct_k(row) for row in rows),
        "utility": fmean(utility_k(row, patience=PATIENCE) for row in rows),
    }


def models(inputs: Inputs) -> Made:
    """Recompute Table 1, and the summaries that it pools."""
    published = {one.place: one.value for one in inputs.numbers("noveltybench-1")}
    curated = {"gemini-1.5-pro": on_curated(GEMINI, inputs), "gpt-4o": on_curated(GPT_4O, inputs)}
    made: dict[Place, Found] = {}
    for measure in ("distinct", "utility"):
        for model, values in curated.items():
            made[f"{model} (curated)", measure] = recomputed(values[measure], "from the released partitions")
        wildchat = published["gemini-1.5-pro (wildchat)", measure]
        made["gemini-1.5-pro (wildchat)", measure] = cannot(_NO_ROWS)
        pooled = (CURATED * curated["gemini-1.5-pro"][measure] + WILDCHAT * wildchat) / (CURATED + WILDCHAT)
        about = "curated from the released partitions, WildChat from its released summary"
        made["gemini-1.5-pro", measure] = recomputed(pooled, about)
        for model in WEBSITE.keys() - {"gemini-1.5-pro"}:
            told = f"; on the curated prompts alone we find {curated[model][measure]:.3f}" if model in curated else ""
            made[model, measure] = cannot(_NO_ROWS + told)
    return made
