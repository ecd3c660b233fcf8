"""The report of a contrast of systems: tables of paired tests for the terminal, Markdown, CSV and JSON."""

import json
from dataclasses import asdict

from benchmark.analysis.contrast.paired import Contrast
from benchmark.analysis.contrast.study import Line, Part, Study
from benchmark.metrics.metric import ARROWS
from divbench.core.errors import counted
from divbench.core.tables import Cell, Report, Styled, Table, interval, p_value

COLUMNS = ("first", "second", "difference", "95% interval", "d_z", "W", "p", "Bonferroni", "Holm", "n")
SIGNS = {"greater": ">", "less": "<", "two-sided": "≠"}
LEGEND = (
    "Difference: mean of first − second over prompts, with a bootstrap interval over prompts; d_z: Cohen's d of the "
    "paired differences. W, p: Wilcoxon signed-rank test of the alternative, in the metric's own units (> or <: the "
    "first is more diverse; metrics without a direction are tested two-sided); it compares ranks; "
    "means and ranks disagree if a paired t-test does not find the difference at p < .05, or the means have the other "
    "sign. Bonferroni, Holm: p adjusted over the pairs of a metric, not over metrics or "
    "lengths; with one pair, equal to p. Intervals are not adjusted."
)


def report_of(study: Study) -> Report:
    """Return the report of a study; in the terminal, exclusions are notes below each table."""
    unlike = [_truncated(study)] if any(study.truncated.values()) else []
    settings = f"{study.resamples:,} resamples, seed {study.seed}; divbench {study.divbench}."
    sources = Table(
        "Systems",
        ("system", "source"),
        [(name, Styled(origin, "code")) for name, origin in study.systems.items()],
        numbers=(),
    )
    return Report(
        title="Contrast of systems",
        blocks=[LEGEND, *unlike, settings, *(_table(study, part) for part in study.parts), sources],
        document=study,
        printed=[*(_narrow_table(study, part) for part in study.parts), *unlike, LEGEND],
        records=Table.of_records(
            [
                _record(part, line, contrast)
                for part in study.parts
                for line in part.lines
                for contrast in line.contrasts
            ]
        ),
    )


def _truncated(study: Study) -> str:
    counts = ", ".join(f"{name}: {'unknown' if n is None else n}" for name, n in study.truncated.items())
    return (
        f"Truncated responses: {counts}. A class that has only truncated responses does not count in raw texts, so raw "
        "differences between systems can come from truncation alone."
    )


def _table(study: Study, part: Part) -> Table:
    rows = [
        (Styled(line.metric, "code"), f"{ARROWS[line.direction]} {pair(each)}", *_cells(each), excluded(each))
        for line in part.lines
        for each in line.contrasts
    ]
    return Table(_title(study, part), ("metric", "pair", *COLUMNS, "excluded"), rows, numbers=COLUMNS)


def _narrow_table(study: Study, part: Part) -> Table | Styled:
    """Return a table as `_table` does, but with each metric named once and exclusions below; or why there is none."""
    if not part.prompts:
        return Styled(_title(study, part), "yellow")
    rows, notes = [], []
    for line in part.lines:
        for index, each in enumerate(line.contrasts):
            name = "" if index else f"{line.metric} {ARROWS[line.direction]}"
            rows.append((name, pair(each), *_cells(each)))
            if why := excluded(each):
                notes.append(f"{line.metric}, {pair(each)}: {why}")
    return Table(_title(study, part), ("metric", "pair", *COLUMNS), rows, notes, numbers=COLUMNS)


def _title(study: Study, part: Part) -> str:
    gone = "".join(f"; {count} excluded: {reason}" for reason, count in part.left_out.items() if count)
    return (
        f"{part.length}: {study.suite}, k = {study.k}, profile {study.profile}, {counted(part.prompts, 'prompt')}{gone}"
    )


def _cells(contrast: Contrast) -> tuple[Cell, ...]:
    """Return the numbers of a contrast in the order of `COLUMNS`."""
    return (
        contrast.mean_a,
        contrast.mean_b,
        contrast.difference,
        interval(contrast.low, contrast.high),
        "-" if contrast.d_z is None else f"{contrast.d_z:.2f}",
        "-" if contrast.statistic is None else f"{contrast.statistic:g}",
        p_value(contrast.p),
        p_value(contrast.p_bonferroni),
        p_value(contrast.p_holm),
        contrast.n,
    )


def excluded(contrast: Contrast) -> str:
    """Say how many prompts were excluded and why, why there is no test, and whether it contradicts the means."""
    reasons = ", ".join(f"{reason} ({count})" for reason, count in contrast.reasons.items())
    untested = [f"not tested: {contrast.untested}"] if contrast.untested else []
    disagree = ["means and ranks disagree"] * contrast.disagrees
    return "; ".join([f"{contrast.left_out} excluded: {reasons}"] * bool(contrast.left_out) + untested + disagree)


def pair(contrast: Contrast) -> str:
    """Return the two systems with the sign of the alternative hypothesis between them."""
    return f"{contrast.a} {SIGNS[contrast.alternative]} {contrast.b}"


def _record(part: Part, line: Line, contrast: Contrast) -> dict[str, Cell]:
    return {
        "length": part.length,
        "metric": line.metric,
        "version": line.version,
        "direction": line.direction,
        **asdict(contrast),
        "reasons": json.dumps(contrast.reasons, ensure_ascii=False),
        "signature": line.signature,
    }
