"""The stages of a model's training side by side: which systems of a board are such a series, and how they differ. Pure.

As in the study of OLMo's stages (arXiv:2606.01811, section 4.3): mean a_k curves, values by prompt, paired contrasts.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmark.analysis.contrast.paired import Contrast, Expected, Pairing, paired_contrast, pairs_of
from benchmark.analysis.reproduce.cells import read_published
from benchmark.metrics.metric import Missing
from benchmark.scoring.compute import Value
from benchmark.scoring.result_files import PER_PROMPT_FILE
from benchmark.scoring.surprisal_columns import COLUMN as SURPRISALS
from datasets_build.errors import InputError
from leaderboard.data.board import Board, Column, Entry
from leaderboard.tables.table_view import TableView, number_text, p_text, ranged_text
from submissions.untrusted.plain_text import shortened

Floats = NDArray[np.float64]
# What a name says of the stage, in the order of training; after reinforcement learning many are called instruct.
STAGES: Mapping[str, tuple[str, ...]] = {
    "base": ("base", "pretrained", "pt"),
    "SFT": ("sft",),
    "DPO": ("dpo",),
    "RLVR (instruct)": ("rlvr", "rl", "grpo", "ppo", "instruct", "it"),
}
_WORDS = "; ".join(f"{stage}: {', '.join(words)}" for stage, words in STAGES.items())
RULE = (
    "A series is found by names alone. Systems of one table and one submitter are one when their names are the same "
    f"but for a word that tells the stage: {_WORDS}. A name without such a word is the base of the series that has the "
    "same other words. Where a stage is there twice, the later submission counts."
)
MATCHED = frozenset({"matched", "lengthmatched", "truncated"})
METRICS = ("d_can", "embedding_diversity", "distinct_k")  # what stages are compared by: the first is shown first
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_NONE: list[float | None] = [None] * (1 + len(QUANTILES))
_ORDER = {word: (place, stage) for place, (stage, words) in enumerate(STAGES.items()) for word in words}
_NAME = 60  # letters of a stranger's name
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Series:
    """Systems that are stages of one model.

    Attributes:
        name: The words that their names share; a stranger's text.
        submitter: Who handed them in; likewise.
        stages: Their stages, in the order of training.
        entries: The systems, in that order.
        matched: Whether the name says that responses were cut to equal length.
        passed_over: Systems of a stage of which a later one is there.
    """

    name: str
    submitter: str
    stages: tuple[str, ...]
    entries: tuple[Entry, ...]
    matched: bool
    passed_over: int

    @property
    def key(self) -> str:
        """What an address calls it: the submission id of its first system."""
        return self.entries[0].result.submission_id


def stage_of(name: str) -> tuple[str | None, tuple[str, ...]]:
    """The latest stage that a name has a word for, and its other words.

    >>> stage_of("OLMo-2-7B-SFT"), stage_of("olmo-2-7b")
    (('SFT', ('olmo', '2', '7b')), (None, ('olmo', '2', '7b')))
    """
    words = _WORD.findall(name.casefold())
    told = [_ORDER[word] for word in words if word in _ORDER]
    return (max(told)[1] if told else None), tuple(word for word in words if word not in _ORDER)


def find_series(board: Board) -> list[Series]:
    """The series of a board by `RULE`, the longest first."""
    families: dict[tuple[str, tuple[str, ...]], dict[str, list[Entry]]] = {}
    for entry in board.entries:
        stage, family = stage_of(entry.result.manifest.name)
        key = (entry.result.manifest.submitter.name, family)
        families.setdefault(key, {}).setdefault(stage or next(iter(STAGES)), []).append(entry)
    made = []
    for (submitter, family), by_stage in families.items():
        if len(by_stage) < 2:
            continue
        there = [stage for stage in STAGES if stage in by_stage]
        chosen = [max(by_stage[stage], key=_lateness) for stage in there]
        made.append(
            Series(
                name=" ".join(family),
                submitter=submitter,
                stages=tuple(there),
                entries=tuple(chosen),
                matched=not MATCHED.isdisjoint(family),
                passed_over=sum(map(len, by_stage.values())) - len(chosen),
            )
        )
    return sorted(made, key=lambda series: (-len(series.entries), series.matched, series.name, series.submitter))


def about_series(board: Board, series: Series) -> str:
    """Which systems are compared, on what, and how their responses were cut; strangers' names are in it."""
    named = zip(series.stages, series.entries, strict=True)
    systems = ", ".join(f"{stage}: {shortened(entry.result.manifest.name, _NAME)}" for stage, entry in named)
    said = (
        f"{systems}. Handed in by {shortened(series.submitter, _NAME)}; {board.suite}, {board.k} responses a prompt, "
        f"{'cut to equal length, as the names say' if series.matched else 'as sampled, of unequal length'}."
    )
    if series.passed_over:
        said += f" {series.passed_over} earlier submissions of the same stages are passed over."
    return said


def _lateness(entry: Entry) -> tuple[str, str]:
    return (entry.result.manifest.submitter.date.isoformat(), entry.result.result_id)


@dataclass(frozen=True, slots=True, eq=False)
class StageCurves:
    """Mean a_k curves, bits/byte, over the prompts on which every stage has a whole curve.

    Attributes:
        stages: Their names.
        means: float64 [stages, n].
        errors: Likewise, standard errors over prompts; NaN of one prompt.
        prompts: How many.
        left_out: How many have no whole curve in a stage: responses that are no answers, or that were not read.
    """

    stages: tuple[str, ...]
    means: Floats
    errors: Floats
    prompts: int
    left_out: int


def stage_curves(series: Series, k: int) -> StageCurves | Missing:
    """The curves of a series; why not, where there are none.

    Args:
        series: Whose.
        k: Responses a prompt: a curve of fewer places is of other orders, and would bend the mean.

    Raises:
        InputError: A file is not there any more.
    """
    curves = [_curves_of(entry, k) for entry in series.entries]
    everyone = set().union(*curves)
    shared = sorted(set(everyone).intersection(*curves))
    if not shared:
        return Missing("no prompt has a whole curve in every stage: the profile's language model must read all places")
    stacked = np.array([[own[prompt] for prompt in shared] for own in curves])
    means = stacked.mean(axis=1)
    n = len(shared)
    errors = stacked.std(axis=1, ddof=1) / math.sqrt(n) if n > 1 else np.full_like(means, np.nan)
    prompts = max(entry.result.prompts for entry in series.entries)
    return StageCurves(series.stages, means, errors, n, prompts - n)


def about_curves(found: StageCurves | Missing) -> str:
    """What the curves are over; why there are none, where there are none."""
    if isinstance(found, Missing):
        return f"There are no curves: {found.reason}."
    left = f"; {found.left_out} without a whole curve in every stage are left out" if found.left_out else ""
    return f"The curves are over {found.prompts} prompts{left}."


def by_stage(stages: Sequence[str], values: Floats) -> dict[str, list[float]]:
    """Numbers by their stage, as figures take them.

    Args:
        stages: Their names.
        values: [stages, n].
    """
    return dict(zip(stages, values.tolist(), strict=True))


def _curves_of(entry: Entry, k: int) -> dict[str, list[float]]:
    """The whole curves of a system by prompt, bits/byte."""
    path = entry.folder / PER_PROMPT_FILE
    try:
        with pq.ParquetFile(path) as file:
            if SURPRISALS not in file.schema_arrow.names:
                return {}
            table = file.read(columns=["prompt_id", f"{SURPRISALS}.curve_rate"])
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{entry.folder.name}: its curves cannot be read", "the result is gone: reload") from error
    found = {}
    for prompt, part in zip(table["prompt_id"].to_pylist(), table[SURPRISALS].to_pylist(), strict=True):
        curve = part.get("curve_rate") if isinstance(part, dict) else None
        if curve is not None and len(curve) == k and all(x is not None and math.isfinite(x) for x in curve):
            found[str(prompt)] = [float(x) for x in curve]
    return found


def values_of(series: Series, board: Board, matrix: Floats) -> Floats:
    """[prompts, stages] of a metric.

    Args:
        series: Of the board.
        board: Whose entries the columns of the matrix are.
        matrix: Of `BoardScores.matrix`.
    """
    ids = [entry.result.result_id for entry in board.entries]
    return matrix[:, [ids.index(entry.result.result_id) for entry in series.entries]]


def contrasts(
    series: Series,
    prompts: Sequence[str],
    values: Floats,
    column: Column,
    *,
    pairing: Pairing = "consecutive",
    expected: Expected = "two-sided",
    resamples: int = 10_000,
) -> tuple[Contrast, ...]:
    """Paired tests between stages on one metric; the p-values of all pairs are corrected together.

    Args:
        series: Whose stages.
        prompts: Of the rows.
        values: [prompts, stages]; NaN where missing.
        column: The metric.
        pairing: *consecutive* stages, or *all* pairs.
        expected: *greater*: the earlier stage is expected to be more diverse; or *two-sided*.
        resamples: Of the bootstrap over prompts.
    """
    given: dict[str, dict[str, Value]] = {
        stage: dict(zip(prompts, values[:, place].tolist(), strict=True)) for place, stage in enumerate(series.stages)
    }
    return paired_contrast(
        given,
        pairs_of(series.stages, pairing),
        expected=expected,
        direction=column.direction,
        resamples=resamples,
    )


def contrasts_table(found: Sequence[Contrast]) -> TableView:
    """The contrasts, a row a pair: means, their difference with its 95% interval, d_z, Wilcoxon's p, Holm's.

    Where a pair is not tested, there is a column that says why.
    """
    kinds = {
        "stages": "str",
        "prompts": "number",
        "first": "number",
        "second": "number",
        "difference [95% interval]": "number",
        "d_z": "number",
        "test": "str",
        "p": "number",
        "p (Holm)": "number",
        "why untested": "str",
    }
    values, shown = [], []
    for c in found:
        test = {"two-sided": "differ", "greater": "first is greater", "less": "first is less"}[c.alternative]
        pair, why = f"{c.a} − {c.b}", c.untested or ""
        values.append((pair, c.n, c.mean_a, c.mean_b, c.difference, c.d_z, test, c.p, c.p_holm, why))
        shown.append(
            (
                pair,
                str(c.n),
                number_text(c.mean_a, 3),
                number_text(c.mean_b, 3),
                ranged_text(c.difference, c.low, c.high, 3),
                number_text(c.d_z, 2),
                test,
                p_text(c.p),
                p_text(c.p_holm),
                why,
            )
        )
    kept = len(kinds) if any(c.untested for c in found) else len(kinds) - 1
    return TableView(
        tuple(kinds)[:kept],
        tuple(row[:kept] for row in values),
        tuple(row[:kept] for row in shown),
        tuple(kinds.values())[:kept],
    )


def quantiles_table(series: Series, values: Floats) -> TableView:
    """The distribution over prompts, a row a stage: prompts, mean, standard deviation, quantiles.

    Args:
        series: Whose stages.
        values: [prompts, stages]; NaN where missing.
    """
    headers = ("stage", "prompts", "mean", "sd", *(f"{q:.0%}" for q in QUANTILES), "system")
    rows = []
    for stage, entry, column in zip(series.stages, series.entries, values.T, strict=True):
        there = column[np.isfinite(column)]
        mean, *quantiles = [float(x) for x in (there.mean(), *np.quantile(there, QUANTILES))] if len(there) else _NONE
        spread = float(there.std(ddof=1)) if len(there) > 1 else None
        rows.append((stage, len(there), mean, spread, *quantiles, entry.result.manifest.name))
    shown = tuple((row[0], str(row[1]), *(number_text(x, 3) for x in row[2:-1]), row[-1]) for row in rows)
    return TableView(headers, tuple(rows), shown, ("str", *["number"] * (len(headers) - 2), "str"))


def curves_table(found: StageCurves) -> TableView:
    """The mean curves, a row a place: for each stage the mean and its standard error over prompts."""
    headers = ("place k", *found.stages)
    values, shown = [], []
    for place, (mean, error) in enumerate(zip(found.means.T.tolist(), found.errors.T.tolist(), strict=True), 1):
        values.append((place, *mean))
        errors = ("" if math.isnan(e) else f" ± {e:.3f}" for e in error)
        shown.append((str(place), *(f"{m:.3f}{e}" for m, e in zip(mean, errors, strict=True))))
    return TableView(headers, tuple(values), tuple(shown), ("number",) * len(headers))


def published_table() -> TableView:
    """What the study of OLMo's stages printed (arXiv:2606.01811, Table 4), as it printed it."""
    columns = ("mean", "std", "n", "difference", "d_z", "p")
    rows: dict[str, dict[str, str]] = {}
    for one in read_published()["decan-4"]:
        rows.setdefault(one.row, {})[one.column] = one.printed
    shown = tuple((row, *(cells.get(column, "") for column in columns)) for row, cells in rows.items())
    return TableView(("D_Ca_n", *columns), shown, shown, ("str",) * (len(columns) + 1))
