"""How a contrast of two groups of prompts looks in a terminal, and as Markdown, CSV or JSON."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmark.analysis.contrast.label_study import LabelStudy
from benchmark.analysis.contrast.labels import Correlation, LabelContrast
from benchmark.analysis.contrast.printing import probability
from benchmark.analysis.contrast.report import csv_text, ending_of, inert, markdown_row
from benchmark.analysis.estimate import Estimate
from benchmark.scoring.printing import ARROWS, number
from datasets_build.console import table
from datasets_build.files import readable_json, write_text
from datasets_build.tables import plain

COLUMNS = (
    *("n1", "n0", "mean 1", "mean 0", "t", "df", "p", "Holm", "d"),
    *("AUROC", "accuracy", "majority", "macro-F1", "left out"),
)
_IN_TERMINAL = tuple(name for name in COLUMNS if name not in ("df", "left out"))
CORRELATIONS = ("column", "n", "Pearson", "Spearman", "partial Pearson", "partial Spearman", "left out")
ABOUT = (
    "t, p: Welch's test of mean 1 − mean 0 in the metric's own values (* p < .05, ** .01, *** .001, before Holm's "
    "correction over metrics); d: Cohen's, by the pooled standard deviation. AUROC: that a prompt of group 1 is the "
    "more diverse. accuracy, macro-F1: of a threshold and its side chosen on other folds; majority: accuracy of always "
    "telling the larger group."
)
ABOUT_CORRELATIONS = (
    "Correlations of the metric's own values, over prompts of both groups; partial: with the prompt's UTF-8 bytes "
    "held fixed (Spearman: of ranks)."
)
ABOUT_INTERVALS = "Intervals: 95%, bootstrap over prompts; those of a threshold keep what it told of each prompt."


def heading(study: LabelStudy) -> str:
    """What the table is of."""
    gone = "".join(f"; {count} left out: {reason}" for reason, count in study.left_out.items())
    return (
        f"{study.system} on {study.suite}, k = {study.k}, profile {study.profile}; labels: {study.labels}. "
        f"Group 1 ({study.group_1}): {study.n1} prompts, group 0 ({study.group_0}): {study.n0}{gone}"
    )


def within(found: Estimate) -> str:
    """A number with its interval; a dash where there is none."""
    if found.value is None:
        return "-"
    return f"{found.value:.3f}" if found.low is None else f"{found.value:.3f} [{found.low:.2f}, {found.high:.2f}]"


def cells(contrast: LabelContrast) -> dict[str, str]:
    """The numbers of a contrast, by `COLUMNS`."""
    told = contrast.classifier
    return {
        "n1": str(contrast.n1),
        "n0": str(contrast.n0),
        "mean 1": number(contrast.mean1),
        "mean 0": number(contrast.mean0),
        "t": "-" if contrast.t is None else f"{contrast.t:.2f}{contrast.stars}",
        "df": "-" if contrast.df is None else f"{contrast.df:.1f}",
        "p": probability(contrast.p),
        "Holm": probability(contrast.p_holm),
        "d": "-" if contrast.d is None else f"{contrast.d:.2f}",
        "AUROC": within(contrast.auroc),
        "accuracy": within(told.accuracy) if told else "-",
        "majority": f"{told.majority:.3f}" if told else "-",
        "macro-F1": within(told.macro_f1) if told else "-",
        "left out": _left_out(contrast.left_out, contrast.reasons, contrast.untested),
    }


def correlation_cells(found: Correlation) -> tuple[str, ...]:
    """The numbers of a correlation, as `CORRELATIONS` names them."""
    numbers = (found.pearson, found.spearman, found.partial_pearson, found.partial_spearman)
    return (found.column, str(found.n), *map(within, numbers), _left_out(found.left_out, {}, found.untested))


def _left_out(count: int, reasons: dict[str, int], untested: str | None) -> str:
    """How many prompts, and why; and why numbers are missing."""
    why = ", ".join(f"{' '.join(reason.split())} ({times})" for reason, times in reasons.items())
    gone = [f"{count} left out{': ' if why else ''}{why}"] * bool(count)
    return "; ".join(gone + ([f"missing: {untested}"] if untested else []))


def print_label_study(study: LabelStudy, console: Console) -> None:
    """A table of metrics, one of correlations where there are columns, and what was left out."""
    made = table("", "metric", *_IN_TERMINAL, numbers=_IN_TERMINAL)
    made.title = plain(heading(study))
    notes: dict[str, list[str]] = {}  # whose they are: many metrics may lack the same
    for contrast in study.contrasts:
        found = cells(contrast)
        told = contrast.classifier
        if told is not None and told.accuracy.value is not None:
            found["accuracy"] = f"{told.accuracy.value:.3f}"
        made.add_row(_name(contrast), *(found[name] for name in _IN_TERMINAL))
        notes.setdefault(found["left out"], []).append(contrast.metric)
    console.print(made)
    if any(contrast.correlations for contrast in study.contrasts):
        made = table("", "metric", *CORRELATIONS[:-1], numbers=CORRELATIONS[1:-1])
        for contrast in study.contrasts:
            for each in contrast.correlations:
                *own, left_out = correlation_cells(each)
                made.add_row(_name(contrast), *map(plain, own))
                notes.setdefault(left_out, []).append(f"{contrast.metric} with {each.column}")
        console.print(made)
    notes.pop("", None)
    for note, whose in notes.items():
        console.print(plain(f"{', '.join(whose)}: {note}"))
    console.print(_about(study))


def _name(contrast: LabelContrast) -> str:
    return f"{contrast.metric} {ARROWS[contrast.direction]}".strip()


def _about(study: LabelStudy) -> str:
    correlated = any(contrast.correlations for contrast in study.contrasts)
    return " ".join([ABOUT, *([ABOUT_CORRELATIONS] if correlated else []), ABOUT_INTERVALS])


def write_label_study(study: LabelStudy, path: Path) -> None:
    """Write a study; the same study gives the same bytes.

    Raises:
        ConfigurationError: The ending is none of `WRITERS`, or the file cannot be written.
    """
    write_text(path, WRITERS[ending_of(path, WRITERS)](study))


def as_markdown(study: LabelStudy) -> str:
    """A table of metrics, and one of correlations where there are columns."""
    lines = [f"{_about(study)} {study.resamples:,} resamples, seed {study.seed}; divbench {study.divbench}.", ""]
    lines += [f"**{inert(heading(study))}**", "", markdown_row("metric", *COLUMNS)]
    lines.append(markdown_row("---", *["---:"] * (len(COLUMNS) - 1), "---"))
    for contrast in study.contrasts:
        lines.append(markdown_row(f"`{contrast.metric}` {ARROWS[contrast.direction]}", *cells(contrast).values()))
    if any(contrast.correlations for contrast in study.contrasts):
        lines += ["", markdown_row("metric", *CORRELATIONS)]
        lines.append(markdown_row("---", "---", *["---:"] * (len(CORRELATIONS) - 2), "---"))
        for contrast in study.contrasts:
            name = f"`{contrast.metric}` {ARROWS[contrast.direction]}"
            lines += [markdown_row(name, *correlation_cells(each)) for each in contrast.correlations]
    lines += ["", f"Scores: result `{study.result_id}` of the submission `{study.submission_id}`."]
    return "\n".join(lines) + "\n"


def as_csv(study: LabelStudy) -> str:
    """A row a metric, with all digits; what is missing is empty. Correlations stand in columns of their own."""
    records = [_record(contrast) for contrast in study.contrasts]
    fullest: dict[str, Any] = max(records, key=len, default={})  # a metric without a threshold lacks its columns
    return csv_text(list(fullest), records)


def _record(contrast: LabelContrast) -> dict[str, Any]:
    made: dict[str, Any] = {}
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


def _flat(name: str, value: Any) -> dict[str, Any]:
    """An estimate as its value, low and high."""
    if not isinstance(value, dict):
        return {name: value}
    return {name: value["value"], f"{name} low": value["low"], f"{name} high": value["high"]}


def as_json_text(study: LabelStudy) -> str:
    """All of it."""
    return readable_json(study.as_json())


WRITERS: dict[str, Callable[[LabelStudy], str]] = {".md": as_markdown, ".csv": as_csv, ".json": as_json_text}
