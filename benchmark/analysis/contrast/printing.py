"""How a contrast looks in a terminal."""

from rich.console import Console
from rich.text import Text

from benchmark.analysis.contrast.paired import Contrast
from benchmark.analysis.contrast.study import Part, Study
from benchmark.scoring.printing import ARROWS, number
from datasets_build.console import table
from datasets_build.tables import plain

COLUMNS = ("first", "second", "difference", "95% interval", "d_z", "W", "p", "Bonferroni", "Holm", "n", "left out")
SIGNS = {"greater": ">", "less": "<", "two-sided": "≠"}
ABOUT = (
    "Difference: mean of first − second over prompts, with its bootstrap interval over prompts; d_z: of the paired "
    "differences. W, p: Wilcoxon's signed-rank test of the alternative, in the metric's own values (> or <: the first "
    "is more diverse; metrics that say nothing of diversity are tested two-sided). Bonferroni, Holm: over the pairs "
    "of a metric."
)


def cells(contrast: Contrast) -> tuple[str, ...]:
    """The numbers of a contrast, as `COLUMNS` names them."""
    interval = "" if contrast.low is None else f"{number(contrast.low)} … {number(contrast.high)}"
    return (
        number(contrast.mean_a),
        number(contrast.mean_b),
        number(contrast.difference),
        interval,
        "-" if contrast.d_z is None else f"{contrast.d_z:.2f}",
        "-" if contrast.statistic is None else f"{contrast.statistic:g}",
        probability(contrast.p),
        probability(contrast.p_bonferroni),
        probability(contrast.p_holm),
        str(contrast.n),
        left_out(contrast),
    )


def probability(p: float | None) -> str:
    """Two significant digits."""
    return "-" if p is None else f"{p:.2g}"


def left_out(contrast: Contrast) -> str:
    """How many prompts, and why; and why there is no test."""
    reasons = ", ".join(f"{reason} ({count})" for reason, count in contrast.reasons.items())
    untested = [f"not tested: {contrast.untested}"] if contrast.untested else []
    return "; ".join([f"{contrast.left_out} left out: {reasons}"] * bool(contrast.left_out) + untested)


def pair(contrast: Contrast) -> str:
    """The two systems with the sign of the alternative between them."""
    return f"{contrast.a} {SIGNS[contrast.alternative]} {contrast.b}"


def heading(study: Study, part: Part) -> str:
    """What a table is of."""
    gone = "".join(f"; {count} left out: {reason}" for reason, count in part.left_out.items() if count)
    return f"{part.length}: {study.suite}, k = {study.k}, profile {study.profile}, {part.prompts} prompts{gone}"


def print_study(study: Study, console: Console) -> None:
    """A table for each kind of texts, and below it what was left out."""
    columns = COLUMNS[:-1]
    for part in study.parts:
        made = table("", "metric", "pair", *columns, numbers=columns)
        made.title = Text(heading(study, part))
        notes = []
        for line in part.lines:
            name = f"{line.metric} {ARROWS[line.direction]}"
            for contrast in line.contrasts:
                made.add_row(name, plain(pair(contrast)), *cells(contrast)[:-1])
                name = ""
                if why := left_out(contrast):
                    notes.append(plain(f"{line.metric}, {pair(contrast)}: {why}"))
        console.print(made)
        for note in notes:
            console.print(note)
    console.print(ABOUT)
