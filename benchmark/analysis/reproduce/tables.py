"""The tables that can be reproduced, completely or in part; those of NoveltyBench and GSSBench are computed here.

NoveltyBench's Table 1 (arXiv:2504.05228) pools 100 curated prompts with 1,000 of WildChat. Partitions of WildChat are
not available for any model; for one model we have the released summary, so its pooled values can be recomputed.
GSSBench's responses (arXiv:2510.12699) were not released, so accuracies cannot be recomputed. What can be checked is
whether its Table 2 is the mean of A10, and whether A10's margins follow from its accuracies.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from statistics import fmean

from benchmark.analysis.reproduce import cells, decan, tevet
from benchmark.metrics.metric import Missing
from benchmark.metrics.partition import distinct_k, of_reported, utility_k
from divbench.core.errors import ConfigurationError, InputError
from submissions.importing.noveltybench import read_noveltybench
from submissions.untrusted.findings import Findings, Rejected

CURATED, WILDCHAT = 100, 1000
_NO_ROWS = "partitions of the 1,000 WildChat prompts are not available"


def on_curated(path: str, inputs: cells.Inputs) -> dict[str, float]:
    """Compute means over the curated prompts: `distinct`, the number of classes (eq. 1), and `utility` (eq. 2)."""
    file, findings = inputs.file(path), Findings()
    submission = read_noveltybench(file, findings)
    if findings.rejected():
        raise Rejected(str(file), findings)
    rows = [of_reported(values) for *_, values in submission.reported.values()]
    if len(rows) != CURATED:
        raise InputError(f"{file}: {len(rows)} prompts, wanted {CURATED}")
    return {
        "distinct": fmean(distinct_k(row) for row in rows),
        "utility": fmean(utility_k(row, patience=0.8) for row in rows),
    }


def noveltybench_models(inputs: cells.Inputs) -> cells.Ours:
    """Recompute NoveltyBench's Table 1, and the summaries that it pools."""
    published = {number.place: number.value for number in inputs.published["noveltybench-1"]}
    curated = {"gemini-1.5-pro": on_curated(cells.GEMINI, inputs), "gpt-4o": on_curated(cells.GPT_4O, inputs)}
    ours: dict[cells.Place, tuple[float, str] | Missing] = {}
    for measure in ("distinct", "utility"):
        for model in {row for row, _ in published if "(" not in row}:
            also = f"; on the curated prompts alone we find {curated[model][measure]:.3f}" if model in curated else ""
            ours[model, measure] = Missing(_NO_ROWS + also)
        for model, values in curated.items():
            ours[f"{model} (curated)", measure] = values[measure], "from the released partitions"
        ours["gemini-1.5-pro (wildchat)", measure] = Missing(_NO_ROWS)
        wildchat = published["gemini-1.5-pro (wildchat)", measure]
        pooled = (CURATED * curated["gemini-1.5-pro"][measure] + WILDCHAT * wildchat) / (CURATED + WILDCHAT)
        about = "curated from the released partitions, WildChat from its released summary"
        ours["gemini-1.5-pro", measure] = pooled, about
    return ours


PAIRS = dict.fromkeys(("complement", "factual_qa", "random_choice"), 500)
PAIRS |= {"subset": 1800, "union": 3000, "intersection": 3000}


def gssbench_macro_average(inputs: cells.Inputs) -> cells.Ours:
    """Recompute GSSBench's Table 2: the unweighted mean over the six datasets of A10."""
    accuracy = {number.place: number.value for number in inputs.published["gssbench-a10"]}
    return {
        (metric, model): (
            sum(accuracy[f"{dataset} {metric}", model] for dataset in PAIRS) / len(PAIRS),
            "the mean of A10's six rows",
        )
        for metric, model in (number.place for number in inputs.published["gssbench-2"])
    }


def gssbench_by_dataset(inputs: cells.Inputs) -> cells.Ours:
    """Recompute GSSBench's A10: margins from accuracies, assuming independent pairs."""
    accuracy = {number.place: number.value for number in inputs.published["gssbench-a10"]}
    ours: dict[cells.Place, tuple[float, str] | Missing] = {}
    for row, column in accuracy:
        dataset = row.split()[0]
        if not column.endswith(cells.MARGIN):
            ours[row, column] = Missing("the models' responses were not released")
        elif dataset in ("union", "intersection"):  # margins wider than binomial ones: pairs of one set are similar
            ours[row, column] = Missing("the margin counts pairs by set, and the sets' accuracies were not released")
        else:
            p, pairs = accuracy[row, column.removesuffix(cells.MARGIN)], PAIRS[dataset]
            ours[row, column] = 1.96 * sqrt(p * (1 - p) / pairs), f"1.96 √(p(1−p)/{pairs})"
    return ours


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a paper."""

    id: str
    compute: Callable[[cells.Inputs], cells.Ours]  # function that returns our value of each published number
    title: str
    notes: tuple[str, ...] = ()


_COMPUTE: Mapping[str, Callable[[cells.Inputs], cells.Ours]] = {
    "tevet-2": tevet.decoding_test,
    "tevet-4": partial(tevet.content_test, config="contest", not_released=("aspHDS-form", "aspHDS-content")),
    "tevet-8": partial(tevet.content_test, config="mcdiv"),
    "tevet-9": partial(tevet.content_test, config="mcdiv_nuggets"),
    "tevet-10": partial(tevet.content_test, config="mcdiv_nuggets", ending="_with_hds"),
    "decan-2": decan.content_test,
    "decan-3": decan.decoding_test,
    "decan-4": decan.stages,
    "decan-5": decan.scenarios,
    "decan-7": decan.confound,
    "gssbench-2": gssbench_macro_average,
    "gssbench-a10": gssbench_by_dataset,
    "noveltybench-1": noveltybench_models,
}
_TEXTS = tomllib.loads((cells.PUBLISHED / "tables.toml").read_text(encoding="utf-8"))
TABLES: tuple[PublishedTable, ...] = tuple(
    PublishedTable(name, compute, _TEXTS[name]["title"], tuple(_TEXTS[name].get("notes", ())))
    for name, compute in _COMPUTE.items()
)


def find_tables(names: Sequence[str]) -> list[PublishedTable]:
    """Return the tables with these ids, in the given order; all tables if none is named."""
    by_id = {table.id: table for table in TABLES}
    for name in names:
        if name not in by_id:
            raise ConfigurationError(f"there is no table {name!r} to reproduce", f"one of {', '.join(by_id)}")
    return [by_id[name] for name in dict.fromkeys(names)] or list(TABLES)


def reproduce_table(table: PublishedTable, inputs: cells.Inputs) -> cells.Reproduced:
    """Recompute a table and compare its cells."""
    compared = cells.compare_all(inputs.published[table.id], table.compute(inputs))
    return cells.Reproduced(table.id, table.title, compared, table.notes)
