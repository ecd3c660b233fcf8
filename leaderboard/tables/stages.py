"""Finds the training stages of a model among the systems of a board, and compares them.

The comparison has the same parts as the study of OLMo's stages (arXiv:2606.01811, section 4.3): mean a_k curves, values
by prompt, and paired contrasts.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.analysis.contrast.paired import Contrast, paired_contrast, pairs_of
from benchmark.analysis.reproduce.cells import read_published
from benchmark.metrics.metric import Missing
from benchmark.scoring.estimate import Floats
from benchmark.scoring.inputs import Value
from benchmark.scoring.per_prompt import SURPRISALS
from benchmark.scoring.results import MOST
from divbench.core.errors import counted
from divbench.core.tables import Cell, Table, estimate_cell, number, number_cell, p_value
from leaderboard.data.board import Board, Column, Entry
from leaderboard.data.scores import read_columns
from leaderboard.tables.compare import finding
from submissions.untrusted.plain_text import shortened

# Words in a name that indicate each stage, in training order; many RLVR models are called instruct.
STAGES: Mapping[str, tuple[str, ...]] = {
    "base": ("base", "pretrained", "pt"),
    "SFT": ("sft",),
    "DPO": ("dpo",),
    "RLVR (instruct)": ("rlvr", "rl", "grpo", "ppo", "instruct", "it"),
}
_WORDS = "; ".join(f"{stage}: {', '.join(words)}" for stage, words in STAGES.items())
RULE = (
    "Series are found only by the names of systems. Systems in one table from one submitter form a series if their "
    f"names differ only in a word that indicates the stage ({_WORDS}). A name without one of these words is the base "
    "stage. If a stage occurs twice, systems sampled alike (mode, temperature, top-k, top-p) form a series each; of "
    "several, the submission with the latest date of generation is used; without dates, it is chosen by result id."
)
MATCHED = frozenset({"matched", "lengthmatched", "truncated"})
# The first of these that a board has is the default.
METRICS = ("valid_distinct_k", "d_can", "embedding_diversity", "distinct_k")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_NONE: list[float | None] = [None] * (1 + len(QUANTILES))
Sampling = tuple[str | None, float | None, int | None, float | None]  # mode, temperature, top-k, top-p
_ORDER = {word: (place, stage) for place, (stage, words) in enumerate(STAGES.items()) for word in words}
_NAME = 60  # characters of an untrusted name
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Series:
    """Systems that are training stages of one model."""

    name: str  # words that the names share; untrusted
    submitter: str  # submitter's name; untrusted
    stages: tuple[str, ...]  # names of the stages, in training order
    entries: tuple[Entry, ...]  # entries of the systems, in the same order
    matched: bool  # whether the names say that responses are length-matched
    superseded: int  # number of systems that are ignored because another one has the same stage; see `RULE`
    sampling: str = ""  # settings of this series, if the names have several, such as `temperature 0.7`

    @property
    def key(self) -> str:
        """The permalink id: the submission id of the first system."""
        return self.entries[0].result.submission_id

    @property
    def is_own(self) -> bool:
        """Whether any result is from the board's own source rather than from the reference results."""
        return any(not entry.origin for entry in self.entries)


def stage_of(name: str) -> tuple[str | None, tuple[str, ...]]:
    """The latest stage that a name indicates, and its other words.

    >>> stage_of("OLMo-2-7B-SFT"), stage_of("olmo-2-7b")
    (('SFT', ('olmo', '2', '7b')), (None, ('olmo', '2', '7b')))
    """
    words = _WORD.findall(name.casefold())
    found = [_ORDER[word] for word in words if word in _ORDER]
    return (max(found)[1] if found else None), tuple(word for word in words if word not in _ORDER)


def find_series(board: Board) -> list[Series]:
    """The series of a board according to `RULE`: first those with own results, then the longest first."""
    families: dict[tuple[str, tuple[str, ...]], dict[str, list[Entry]]] = {}
    for entry in board.entries:
        stage, family = stage_of(entry.result.manifest.name)
        key = (entry.result.manifest.submitter.name, family)
        families.setdefault(key, {}).setdefault(stage or next(iter(STAGES)), []).append(entry)
    made = []
    for (submitter, family), named in families.items():
        for sampling, by_stage in _sampled_alike(named).items():
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
                    superseded=sum(map(len, by_stage.values())) - len(chosen),
                    sampling="" if sampling is None else sampling_text(sampling),
                )
            )
    return sorted(made, key=lambda s: (not s.is_own, -len(s.entries), s.matched, s.name, s.submitter, s.sampling))


def _sampling(entry: Entry) -> Sampling:
    given = entry.result.manifest.generation
    return given.mode, given.temperature, given.top_k, given.top_p


def _sampled_alike(by_stage: dict[str, list[Entry]]) -> dict[Sampling | None, dict[str, list[Entry]]]:
    """Split systems of the same names by how they were sampled, since a temperature changes diversity, too.

    Returns:
        Systems by stage, for each way of sampling that several stages share; all together (None) if each stage occurs
        once, there is only one way, or no two stages share any.
    """
    split: dict[Sampling | None, dict[str, list[Entry]]] = {}
    if max(map(len, by_stage.values())) > 1:
        for stage, entries in by_stage.items():
            for entry in entries:
                split.setdefault(_sampling(entry), {}).setdefault(stage, []).append(entry)
    found = {sampling: part for sampling, part in split.items() if len(part) > 1}
    return found if found and len(split) > 1 else {None: by_stage}


def sampling_text(sampling: Sampling) -> str:
    """Settings in words, such as `resample, temperature 0.7`.

    >>> sampling_text(("resample", 0.7, None, 0.95)), sampling_text((None, None, None, None))
    ('resample, temperature 0.7, top-p 0.95', 'unknown settings')
    """
    mode, *numbers = sampling
    named = zip(("temperature", "top-k", "top-p"), numbers, strict=True)
    said = [*filter(None, [mode]), *(f"{name} {value:g}" for name, value in named if value is not None)]
    return ", ".join(said) or "unknown settings"


def about_series(board: Board, series: Series) -> str:
    """The caption of a series: systems, suite and lengths; it contains untrusted names."""
    named = zip(series.stages, series.entries, strict=True)
    systems = ", ".join(f"{stage}: {shortened(entry.result.manifest.name, _NAME)}" for stage, entry in named)
    said = (
        f"{systems}. Submitted by {shortened(series.submitter, _NAME)}; {board.suite}, {board.k} responses per prompt, "
        f"{'length-matched according to the names' if series.matched else 'as sampled, not length-matched'}."
    )
    if series.sampling:
        said += f" All were sampled alike ({series.sampling}); systems of these names with other settings are not here."
    differing = list(dict.fromkeys(map(_sampling, series.entries)))
    if len(differing) > 1:
        ways = "; ".join(map(sampling_text, differing))
        said += f" The stages were not sampled alike ({ways}), which also changes diversity."
    if series.superseded:
        others = counted(series.superseded, "other submission")
        said += f" {others} of the same stages {'is' if series.superseded == 1 else 'are'} ignored."
    return said


def _lateness(entry: Entry) -> tuple[str, str]:
    date = entry.result.manifest.submitter.date
    return ("" if date is None else date.isoformat(), entry.result.result_id)


@dataclass(frozen=True, slots=True, eq=False)
class StageCurves:
    """Mean a_k curves in bits/byte over the prompts on which every stage has a complete curve."""

    stages: tuple[str, ...]
    means: Floats  # means, float64 [stages, n]
    errors: Floats  # standard errors over prompts, float64 [stages, n]; NaN with one prompt
    prompts: int  # number of prompts on which every stage has a complete curve
    left_out: int  # number of other prompts, on which some response was not valid or not scored


def stage_curves(series: Series, k: int) -> StageCurves | Missing:
    """The mean curves of a series; missing, with a reason, if there are none.

    Args:
        k: Number of responses per prompt; shorter curves come from other orders and would distort the mean.

    Raises:
        InputError: A result's files are gone.
    """
    curves = [_curves_of(entry, k) for entry in series.entries]
    shared = sorted(set.intersection(*map(set, curves)))
    if not shared:
        return Missing(
            "no prompt has a complete curve in every stage; the profile's language model must score all positions"
        )
    stacked = np.array([[own[prompt] for prompt in shared] for own in curves])
    means = stacked.mean(axis=1)
    n = len(shared)
    errors = stacked.std(axis=1, ddof=1) / math.sqrt(n) if n > 1 else np.full_like(means, np.nan)
    prompts = max(entry.result.prompts for entry in series.entries)
    return StageCurves(series.stages, means, errors, n, prompts - n)


def about_curves(found: StageCurves | Missing) -> str:
    """The caption of the curves."""
    if isinstance(found, Missing):
        return f"There are no curves: {found.reason}."
    left = f"; {found.left_out} without a complete curve in every stage are left out" if found.left_out else ""
    return f"The curves are means over {found.prompts} prompts{left}."


def by_stage(stages: Sequence[str], values: Floats) -> dict[str, list[float]]:
    """Numbers by stage, as the figures need them.

    Args:
        values: Numbers [stages, n].
    """
    return dict(zip(stages, values.tolist(), strict=True))


def _curves_of(entry: Entry, k: int) -> dict[str, list[float]]:
    """The complete curves of a system in bits/byte, by prompt."""
    table = read_columns(entry, "prompt_id", f"{SURPRISALS}.curve_rate")
    if SURPRISALS not in table.column_names:
        return {}
    found = {}
    for prompt, part in zip(table["prompt_id"].to_pylist(), table[SURPRISALS].to_pylist(), strict=True):
        curve = part.get("curve_rate") if isinstance(part, dict) else None
        if curve is not None and len(curve) == k and all(x is not None and abs(x) < MOST for x in curve):
            found[str(prompt)] = [float(x) for x in curve]
    return found


def values_of(series: Series, board: Board, matrix: Floats) -> Floats:
    """The values [prompts, stages] of a metric.

    Args:
        board: Board whose entries are the columns of the matrix.
        matrix: Scores from `BoardScores.matrix`.
    """
    ids = [entry.result.result_id for entry in board.entries]
    return matrix[:, [ids.index(entry.result.result_id) for entry in series.entries]]


def contrasts(
    series: Series,
    prompts: Sequence[str],
    values: Floats,
    column: Column,
    *,
    resamples: int = 10_000,
) -> tuple[Contrast, ...]:
    """Two-sided paired tests between consecutive stages on one metric, with p-values that are corrected over all pairs.

    Args:
        values: Values [prompts, stages]; NaN if missing.
    """
    given: dict[str, dict[str, Value]] = {
        stage: dict(zip(prompts, values[:, place].tolist(), strict=True)) for place, stage in enumerate(series.stages)
    }
    return paired_contrast(
        given,
        pairs_of(series.stages, "consecutive"),
        expected="two-sided",
        direction=column.direction,
        resamples=resamples,
    )


def contrasts_table(found: Sequence[Contrast], column: Column) -> Table:
    """The contrasts as a table with one row per pair; if any pair is untested, the last column says why."""
    sides = ("prompts", "first", "second", "difference [95% interval]")
    headers = ("stages", "finding", *sides, "d_z", "p", "p (Holm)", "untested because")
    rows: list[tuple[Cell, ...]] = [
        (
            f"{c.a} − {c.b}",
            finding(c.p_holm, c.difference, c.means_agree, (c.a, c.b), column),
            c.n,
            number_cell(c.mean_a, number(c.mean_a, 3)),
            number_cell(c.mean_b, number(c.mean_b, 3)),
            estimate_cell(c.difference, c.low, c.high, 3),
            number_cell(c.d_z, number(c.d_z, 2)),
            number_cell(c.p, p_value(c.p)),
            number_cell(c.p_holm, p_value(c.p_holm)),
            c.untested or "",
        )
        for c in found
    ]
    kept = len(headers) if any(c.untested for c in found) else len(headers) - 1
    return Table("", headers[:kept], [row[:kept] for row in rows])


def quantiles_table(series: Series, values: Floats) -> Table:
    """The distribution of a metric over prompts, one row per stage.

    Args:
        values: Values [prompts, stages]; NaN if missing.
    """
    headers = ("stage", "prompts", "mean", "sd", *(f"{q:.0%}" for q in QUANTILES), "system")
    rows: list[tuple[Cell, ...]] = []
    for stage, entry, column in zip(series.stages, series.entries, values.T, strict=True):
        there = column[np.isfinite(column)]
        mean, *quantiles = [float(x) for x in (there.mean(), *np.quantile(there, QUANTILES))] if len(there) else _NONE
        spread = float(there.std(ddof=1)) if len(there) > 1 else None
        numbers = (number_cell(x, number(x, 3)) for x in (mean, spread, *quantiles))
        rows.append((stage, len(there), *numbers, entry.result.manifest.name))
    return Table("", headers, rows)


def curves_table(found: StageCurves) -> Table:
    """The mean curves with their standard errors over prompts: one row per position, one column per stage."""
    headers = ("position k", *found.stages)
    rows: list[tuple[Cell, ...]] = []
    for place, (means, errors) in enumerate(zip(found.means.T.tolist(), found.errors.T.tolist(), strict=True), 1):
        texts = (
            f"{mean:.3f}" if math.isnan(error) else f"{mean:.3f} ± {error:.3f}"
            for mean, error in zip(means, errors, strict=True)
        )
        rows.append((place, *map(number_cell, means, texts)))
    return Table("", headers, rows)


def published_table() -> Table:
    """Published results of the study of OLMo's stages (arXiv:2606.01811, Table 4), as printed."""
    columns = ("mean", "std", "n", "difference", "d_z", "p")
    rows: dict[str, dict[str, str]] = {}
    for one in read_published()["decan-4"]:
        rows.setdefault(one.row, {})[one.column] = one.printed
    texts = [(row, *(cells.get(column, "") for column in columns)) for row, cells in rows.items()]
    return Table("", ("D_Ca_n", *columns), texts)
