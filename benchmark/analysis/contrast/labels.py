"""`divbench contrast --labels`: whether the scores of a system differ between two groups of its prompts.

GSSBench (arXiv:2510.12699) contrasts prompts that call for a clarifying question with others, and correlates scores
with the length of reasoning. Group 1 has the label, group 0 does not; t and d are of group 1 minus group 0 in the
metric's own values.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmark.analysis.metaeval import agreement
from benchmark.metrics.metric import ARROWS, Missing
from benchmark.scoring.estimate import Estimate, Floats, estimate, holm, weights_with_original, welch
from benchmark.scoring.inputs import Value
from benchmark.scoring.results import PER_PROMPT_FILE, RESULT_FILE, Aggregate, Result, require_result
from divbench.core.errors import InputError, first_line, need
from divbench.core.tables import Cell, Report, Styled, Table, p_value
from submissions.untrusted.findings import Findings, Problem, Rejected
from submissions.untrusted.table_files import lacks_column, read_columns, rows_with_ids

Truths = NDArray[np.bool_]
FOLDS = 5
RESAMPLES = 10_000
LEGEND = (
    "t, p: Welch's test of mean 1 − mean 0 in the metric's units; Holm: p corrected over metrics; d: Cohen's d, "
    "with a pooled deviation. AUROC: probability that a prompt of group 1 is the more diverse. accuracy: of a "
    "threshold, and the side of it, chosen on other folds; majority: of always predicting the larger group. Intervals: "
    "95%, bootstrap over prompts; those of accuracy have fixed predictions."
)
_TRUTH = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
_ROUNDING = 1e-12  # relative: sums of equal values in another order differ by this much


@dataclass(frozen=True, slots=True)
class Labels:
    """The two groups of prompts."""

    source: str  # file of the labels
    group_1: str  # description of group 1
    group_0: str
    is_1: Mapping[str, bool]  # by prompt id; prompts in neither group are absent
    left_out: Mapping[str, int]  # number of prompts in neither group, by reason
    columns: Mapping[str, Mapping[str, float]]  # numbers to correlate scores with, by column and prompt id


@dataclass(frozen=True, slots=True)
class LabelContrast:
    """Two groups of prompts compared by one metric."""

    metric: str
    direction: int
    n1: int  # prompts of group 1 that have a value; all statistics below are over these and the `n0` prompts of group 0
    n0: int
    reasons: dict[str, int]  # reasons for missing values, and their counts
    mean1: float | None
    mean0: float | None
    t: float | None  # Welch's t, of group 1 minus group 0; None where untested, like df, p and d
    df: float | None
    p: float | None
    p_holm: float | None  # p adjusted over all metrics by Holm's method
    d: float | None
    auroc: Estimate  # by direction × value, ties as half; by the value where the direction is 0
    accuracy: Estimate  # share of prompts classified correctly by the threshold chosen on the other folds
    majority: float  # share of the larger group
    pearson: dict[str, Estimate]  # correlations with each column, over the prompts of both groups that have both
    spearman: dict[str, Estimate]
    untested: str | None
    signature: str


def read_values(folder: Path) -> tuple[Result, tuple[str, ...], dict[str, list[Value]]]:
    """Read a result, its prompt ids, and the values [prompts] of all metrics that have any."""
    result = require_result(folder)
    names = [score.metric for score in result.scores if score.n]
    try:
        table = pq.read_table(folder / PER_PROMPT_FILE, columns=["prompt_id", "missing", *names])
    except (pa.ArrowException, KeyError) as error:
        message = f"{folder / PER_PROMPT_FILE} does not match {RESULT_FILE}: {first_line(error)}"
        raise InputError(message, "score the submission again") from error
    rows: list[dict[str, Any]] = table.to_pylist()
    reasons = [{gap["metric"]: gap["reason"] for gap in row["missing"]} for row in rows]
    values: dict[str, list[Value]] = {
        name: [
            Missing(why.get(name, "no reason given")) if row[name] is None else row[name]
            for row, why in zip(rows, reasons, strict=True)
        ]
        for name in names
    }
    return result, tuple(row["prompt_id"] for row in rows), values


def read_labels(
    path: Path, prompt_ids: Collection[str], *, positive: Sequence[str] = (), against: Sequence[str] = ()
) -> Labels:
    """Read the groups of prompts, and columns of numbers, from a .csv, .jsonl or .parquet file; report all problems.

    Prompts with a positive label are group 1; without positive labels, labels are 0 and 1, or true and false. A row
    without a label is in no group.
    """
    findings = Findings()
    columns = dict.fromkeys(["prompt_id", "label", *against])
    table = read_columns(path, list(columns), findings)
    if table is None or [name for name in columns if lacks_column(table, name, findings)]:
        raise Rejected(str(path), findings)

    def add(number: int | None, field: str, message: str, hint: str) -> None:
        findings.add(Problem("labels", "error", path.name, number, field, message, hint))

    rows = {name: (number, row) for number, name, row in rows_with_ids(table, "prompt_id", findings)}
    for name in rows.keys() - set(prompt_ids):
        message = f"the submission has no response to a prompt with the id {name!r}"
        add(rows.pop(name)[0], "prompt_id", message, "leave the row out")
    words = {name: _word(row.get("label")) for name, (_, row) in rows.items()}
    for word in set(positive) - set(words.values()):  # a misspelt label would leave its group too small
        hint = f"labels in the file: {', '.join(sorted({known for known in words.values() if known})[:10])}"
        add(None, "label", f"no row has the label {word!r}", hint)
    labelled = {name: word for name, word in words.items() if word is not None}
    is_1 = {name: word in positive if positive else _TRUTH.get(word.lower(), False) for name, word in labelled.items()}
    for name, word in labelled.items():
        if not positive and word.lower() not in _TRUTH:
            hint = "name the labels of group 1 with --positive"
            add(rows[name][0], "label", f"{word!r} is not 0, 1, true or false", hint)
    numbers = {column: {name: _number(row.get(column)) for name, (_, row) in rows.items()} for column in against}
    for column, values in numbers.items():
        for name in (name for name, value in values.items() if math.isinf(value)):
            number, row = rows[name]
            add(number, column, f"{str(row[column])[:50]!r} is not a finite number", "write a number")
    if findings.rejected():
        raise Rejected(str(path), findings)
    left_out = {"no label": len(rows) - len(labelled), "not in the file": len(prompt_ids) - len(rows)}
    groups = (", ".join(positive), "all others") if positive else ("1 or true", "0 or false")
    return Labels(path.name, *groups, is_1, {why: count for why, count in left_out.items() if count}, numbers)


def _word(label: Any) -> str | None:
    """Return a label as text, as it would be written in a CSV file; None where there is no label."""
    if isinstance(label, float):
        return None if math.isnan(label) else f"{label:g}"
    return None if label is None else str(label).strip() or None


def _number(value: Any) -> float:
    """Return a cell as a number; NaN where it is empty, infinity where it is no number."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return math.nan
    try:
        return float("inf" if isinstance(value, bool) else value)
    except (TypeError, ValueError, OverflowError):
        return math.inf


def contrast_groups(
    scores: Sequence[Aggregate],
    prompt_ids: Sequence[str],
    values: Mapping[str, Sequence[Value]],
    labels: Labels,
    *,
    resamples: int = RESAMPLES,
) -> list[LabelContrast]:
    """Contrast two groups of prompts by every metric that has values [prompts]."""
    chosen = [i for i, name in enumerate(prompt_ids) if name in labels.is_1]
    names = [prompt_ids[i] for i in chosen]
    is_1 = np.array([labels.is_1[name] for name in names], bool)
    columns = {
        column: np.array([numbers.get(name, np.nan) for name in names]) for column, numbers in labels.columns.items()
    }
    weights = weights_with_original(len(chosen), resamples=resamples)
    contrasts = [
        _contrast(score, [values[score.metric][i] for i in chosen], is_1, columns, weights)
        for score in scores
        if score.metric in values
    ]
    adjusted = holm([np.nan if contrast.p is None else contrast.p for contrast in contrasts]).tolist()
    return [
        contrast if contrast.p is None else replace(contrast, p_holm=p)
        for contrast, p in zip(contrasts, adjusted, strict=True)
    ]


def _contrast(
    score: Aggregate, values: Sequence[Value], is_1: Truths, columns: Mapping[str, Floats], weights: Floats
) -> LabelContrast:
    numbers = np.array([np.nan if isinstance(value, Missing) else value for value in values], np.float64)
    known = np.isfinite(numbers)
    x, truth, drawn = numbers[known], is_1[known], weights[:, known]
    one, zero = x[truth], x[~truth]
    untested, test, auroc, accuracy = _untested(one, zero), None, Estimate(None), Estimate(None)
    if untested is None:
        correct = held_out_predictions(x, truth, folds=min(FOLDS, len(one), len(zero))) == truth
        auroc = estimate(agreement.roc_auc(-x if score.direction < 0 else x, truth, drawn), clusters=len(x))
        with np.errstate(invalid="ignore"):
            accuracy = estimate((drawn @ correct) / drawn.sum(axis=1), clusters=len(x))
        if is_constant(one) and is_constant(zero):
            untested = "no value varies within a group: no t"
        else:
            test = welch(one, zero)
    pearson, spearman = {}, {}
    for name, column in columns.items():
        both = known & np.isfinite(column)
        pearson[name], spearman[name] = _correlations(numbers[both], column[both], weights[:, both])
    return LabelContrast(
        metric=score.metric,
        direction=score.direction,
        n1=len(one),
        n0=len(zero),
        reasons=dict(Counter(value.reason for value in values if isinstance(value, Missing))),
        mean1=float(np.mean(one)) if len(one) else None,
        mean0=float(np.mean(zero)) if len(zero) else None,
        **(asdict(test) if test else dict.fromkeys(("t", "df", "p", "d"))),
        p_holm=None,
        auroc=auroc,
        accuracy=accuracy,
        majority=max(len(one), len(zero)) / max(len(x), 1),
        pearson=pearson,
        spearman=spearman,
        untested=untested,
        signature=str(score.signature),
    )


def _untested(one: Floats, zero: Floats) -> str | None:
    """Say why two groups cannot be told apart, if they cannot."""
    if min(len(one), len(zero)) < 2:
        return "fewer than two prompts of a group have a value"
    return "the metric is constant" if is_constant(np.append(one, zero)) else None


def _correlations(x: Floats, y: Floats, weights: Floats) -> tuple[Estimate, Estimate]:
    """Return Pearson's and Spearman's correlation; without value for under three prompts or a constant."""
    if len(x) < 3 or is_constant(x) or is_constant(y):
        return Estimate(None), Estimate(None)
    pearson = agreement.pearson(x, y, weights)
    spearman = agreement.pearson(agreement.ranks(x, weights), agreement.ranks(y, weights), weights)
    return estimate(pearson, clusters=len(x)), estimate(spearman, clusters=len(x))


def is_constant(values: Floats) -> bool:
    """Whether values of any shape are all equal up to rounding; True if there are none."""
    return values.size == 0 or bool(np.ptp(values) <= _ROUNDING * np.max(np.abs(values)))


def best_threshold(scores: Floats, is_1: Truths) -> tuple[float, bool]:
    """Return the cut with the highest accuracy, and whether group 1 lies above it.

    Every cut between two neighbouring scores classifies alike, so the cut is their midpoint. Among several equally good
    gaps the middle one is taken (of two, the lower). Group 1 lies below the cut only if that beats every cut with group
    1 above.
    """
    values, codes = np.unique(scores, return_inverse=True)
    ones, zeros = (np.bincount(codes, group, len(values)) for group in (is_1, ~is_1))
    # Number classified correctly if group 1 lies above the gap before each value; last, above all values.
    right = ones.sum() - np.concatenate([[0], np.cumsum(ones)]) + np.concatenate([[0], np.cumsum(zeros)])
    wrong = len(scores) - right
    above = bool(right.max() >= wrong.max())
    counts = right if above else wrong
    tied = np.flatnonzero(counts == counts.max())
    gap = int(tied[(len(tied) - 1) // 2])
    if gap in (0, len(values)):
        return (-np.inf if gap == 0 else np.inf), above
    low, high = float(values[gap - 1]), float(values[gap])
    middle = low + (high - low) / 2
    return (middle if middle < high else low), above  # between neighbouring floats there is nothing


def held_out_predictions(scores: Floats, is_1: Truths, *, folds: int = FOLDS) -> Truths:
    """Predict the group of each prompt [prompts] by the threshold that is best on the other, stratified folds."""
    model_selection = need("sklearn.model_selection", "score")
    splitter = model_selection.StratifiedKFold(folds, shuffle=True, random_state=0)
    predicted = np.zeros(len(scores), bool)
    for train, rest in splitter.split(scores, is_1):
        cut, above = best_threshold(scores[train], is_1[train])
        predicted[rest] = (scores[rest] > cut) == above
    return predicted


def report_of(result: Result, labels: Labels, contrasts: Sequence[LabelContrast]) -> Report:
    """Return the report of a contrast: a table of the groups, and one of correlations."""
    sizes = sum(labels.is_1.values()), len(labels.is_1) - sum(labels.is_1.values())
    suite = f"{result.suite}@{result.suite_revision}"
    excluded = "".join(f"; {count} excluded: {reason}" for reason, count in labels.left_out.items())
    title = (
        f"{result.manifest.name} on {suite}, k = {result.k}, profile {result.profile}; labels: {labels.source}. "
        f"Group 1 ({labels.group_1}): {sizes[0]} prompts, group 0 ({labels.group_0}): {sizes[1]}{excluded}"
    )
    rows, related, notes = [], [], []
    for test in contrasts:
        name = Styled(f"{test.metric} {ARROWS[test.direction]}".strip(), "code")
        t, d = ("-" if value is None else f"{value:.2f}" for value in (test.t, test.d))
        numbers = (
            test.n1,
            test.n0,
            test.mean1,
            test.mean0,
            t,
            p_value(test.p),
            p_value(test.p_holm),
            d,
        )
        rows.append((name, *numbers, str(test.auroc), str(test.accuracy), test.majority))
        related += [(name, column, str(r), str(test.spearman[column])) for column, r in test.pearson.items()]
        why = [f"{count} excluded: {' '.join(reason.split())}" for reason, count in test.reasons.items()]
        if why := [*why, *([test.untested] if test.untested else [])]:
            notes.append(f"{test.metric}: {'; '.join(why)}")
    columns = ("n1", "n0", "mean 1", "mean 0", "t", "p", "Holm", "d", "AUROC", "accuracy", "majority")
    tables = [Table(title, ("metric", *columns), rows, notes)]
    if related:
        heads = ("metric", "column", "Pearson", "Spearman")
        tables.append(Table("Correlations", heads, related, numbers=heads[2:]))
    about: dict[str, object] = {
        "system": result.manifest.name,
        "submission_id": result.submission_id,
        "result_id": result.result_id,
    }
    about |= {"suite": suite, "profile": result.profile, "k": result.k, "n1": sizes[0], "n0": sizes[1]}
    document = about | {"labels": labels, "resamples": RESAMPLES, "contrasts": contrasts}
    settings = f"{RESAMPLES:,} resamples; result {result.result_id} of submission {result.submission_id}."
    records = Table.of_records([_record(contrast) for contrast in contrasts])
    return Report("Contrast of groups of prompts", [LEGEND, settings, *tables], document, [*tables, LEGEND], records)


def _record(contrast: LabelContrast) -> dict[str, Cell]:
    """Return all numbers in full precision; an estimate is three columns."""
    record: dict[str, Cell] = {}
    for name, value in asdict(contrast).items():
        if name in ("auroc", "accuracy"):
            record |= _columns(name, value)
        elif name in ("pearson", "spearman"):
            for column, number in value.items():
                record |= _columns(f"{name} of {column}", number)
        elif name != "reasons":
            record[name] = value
    return record


def _columns(name: str, value: Mapping[str, float | None]) -> dict[str, Cell]:
    return {name: value["value"], f"{name} low": value["low"], f"{name} high": value["high"]}
