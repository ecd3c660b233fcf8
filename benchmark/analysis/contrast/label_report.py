"""The report of a contrast of two groups of prompts, for the terminal, Markdown, CSV and JSON."""

import json
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from benchmark.analysis.contrast.label_study import LabelStudy
from benchmark.analysis.contrast.labels import Correlation, LabelContrast
from benchmark.metrics.metric import ARROWS
from divbench.core.tables import Cell, Report, Table, p_value

COLUMNS = (
    *("n1", "n0", "mean 1", "mean 0", "t", "df", "p", "Holm", "d"),
    *("AUROC", "accuracy", "majority", "macro-F1"),
)
CORRELATIONS = ("column", "n", "Pearson", "Spearman", "partial Pearson", "partial Spearman")
LEGEND = (
    "t, p: Welch's test of mean 1 − mean 0 in the metric's own units (* p < .05, ** .01, *** .001, before Holm's "
    "correction over metrics); d: Cohen's d with the pooled standard deviation. AUROC: probability that a prompt of "
    "group 1 is the more diverse. accuracy, macro-F1: of a threshold, and the side of it, chosen on other folds; "
    "majority: accuracy of always predicting the larger group."
)
LEGEND_CORRELATIONS = (
    "Correlations of the metric's own values over prompts of both groups; partial: controlling for the prompt's "
    "length in UTF-8 bytes (Spearman: for ranks)."
)
LEGEND_INTERVALS = (
    "Intervals: 95%, bootstrap over prompts; those of a threshold resample prompts with their fixed predictions."
)


def report_of(study: LabelStudy) -> Report:
    """Return the report of a study; the terminal shows exclusions as notes, and fewer columns."""
    legend = [LEGEND, LEGEND_INTERVALS]
    correlated = [(each, own) for each in study.contrasts for own in each.correlations]
    if correlated:
        legend.insert(1, LEGEND_CORRELATIONS)
    main = Table(
        _title(study),
        ("metric", *COLUMNS, "excluded"),
        [(_name(each), *_cells(each).values(), _excluded(each)) for each in study.contrasts],
        numbers=COLUMNS,
    )
    correlations = Table(
        "Correlations",
        ("metric", *CORRELATIONS, "excluded"),
        [(_name(each), *_correlation_cells(own), _excluded(own)) for each, own in correlated],
        numbers=CORRELATIONS[1:],
    )
    tables = [main, correlations] if correlated else [main]
    made = [
        f"{study.resamples:,} resamples, seed {study.seed}; divbench {study.divbench}.",
        f"Scores: result {study.result_id} of the submission {study.submission_id}.",
    ]
    return Report(
        title="Contrast of groups of prompts",
        blocks=[*legend, *made, *tables],
        document=study,
        printed=[*_narrow(tables, study), " ".join(legend)],
        records=Table.of_records([_record(each) for each in study.contrasts]),
    )


def _title(study: LabelStudy) -> str:
    gone = "".join(f"; {count} excluded: {reason}" for reason, count in study.left_out.items())
    return (
        f"{study.system} on {study.suite}, k = {study.k}, profile {study.profile}; labels: {study.labels}. "
        f"Group 1 ({study.group_1}): {study.n1} prompts, group 0 ({study.group_0}): {study.n0}{gone}"
    )


def _name(contrast: LabelContrast) -> str:
    return f"{contrast.metric} {ARROWS[contrast.direction]}".strip()


def _cells(contrast: LabelContrast) -> dict[str, Cell]:
    """Return the numbers of a contrast by `COLUMNS`."""
    classifier = contrast.classifier
    return {
        "n1": contrast.n1,
        "n0": contrast.n0,
        "mean 1": contrast.mean1,
        "mean 0": contrast.mean0,
        "t": "-" if contrast.t is None else f"{contrast.t:.2f}{contrast.stars}",
        "df": "-" if contrast.df is None else f"{contrast.df:.1f}",
        "p": p_value(contrast.p),
        "Holm": p_value(contrast.p_holm),
        "d": "-" if contrast.d is None else f"{contrast.d:.2f}",
        "AUROC": str(contrast.auroc),
        "accuracy": str(classifier.accuracy) if classifier else "-",
        "majority": f"{classifier.majority:.3f}" if classifier else "-",
        "macro-F1": str(classifier.macro_f1) if classifier else "-",
    }


def _correlation_cells(found: Correlation) -> tuple[Cell, ...]:
    """Return the numbers of a correlation in the order of `CORRELATIONS`."""
    numbers = (found.pearson, found.spearman, found.partial_pearson, found.partial_spearman)
    return (found.column, found.n, *map(str, numbers))


def _excluded(found: LabelContrast | Correlation) -> str:
    """Say how many prompts were excluded and why, and why numbers are missing."""
    reasons = found.reasons if isinstance(found, LabelContrast) else {}
    why = ", ".join(f"{' '.join(reason.split())} ({times})" for reason, times in reasons.items())
    gone = [f"{found.left_out} excluded{': ' if why else ''}{why}"] * bool(found.left_out)
    return "; ".join(gone + ([f"missing: {found.untested}"] if found.untested else []))


def _narrow(tables: Iterable[Table], study: LabelStudy) -> list[Table | str]:
    """Drop the columns of degrees of freedom and exclusions; list each exclusion once below, for all that share it."""
    notes: dict[str, list[str]] = {}
    for each in study.contrasts:
        notes.setdefault(_excluded(each), []).append(each.metric)
        for own in each.correlations:
            notes.setdefault(_excluded(own), []).append(f"{each.metric} with {own.column}")
    notes.pop("", None)
    made: list[Table | str] = []
    for table in tables:
        kept = [index for index, name in enumerate(table.columns) if name not in ("df", "excluded")]
        rows = [[row[index] for index in kept] for row in table.rows]
        made.append(replace(table, columns=[table.columns[index] for index in kept], rows=rows))
    return [*made, *(f"{', '.join(whose)}: {note}" for note, whose in notes.items())]


def _record(contrast: LabelContrast) -> dict[str, Cell]:
    """Return all numbers in full precision, with separate columns for each correlation."""
    made: dict[str, Cell] = {}
    for name, value in asdict(contrast).items():
        if name in ("signature", "correlations", "classifier"):
            continue
        made |= _flat(name, json.dumps(value, ensure_ascii=False) if name == "reasons" else value)
    for name, value in (asdict(contrast.classifier) if contrast.classifier else {}).items():
        made |= _flat(name, value)
    for each in contrast.correlations:
        for name, value in asdict(each).items():
            if name != "column":
                made |= _flat(f"{name} of {each.column}", value)
    return made | {"signature": contrast.signature}


def _flat(name: str, value: Any) -> dict[str, Cell]:
    """Return an estimate as three columns, and any other value as one."""
    if not isinstance(value, dict):
        return {name: value}
    return {name: value["value"], f"{name} low": value["low"], f"{name} high": value["high"]}
