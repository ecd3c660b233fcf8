"""Compare two scored systems with paired tests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from benchmark.analysis.contrast.equal_numbers import counts_all, unequal_note, without_answer
from benchmark.analysis.contrast.paired import Contrast, excluded, paired_contrast
from benchmark.metrics import METRICS
from benchmark.metrics.metric import ARROWS, Missing
from divbench.core.errors import ConfigurationError, InputError, counted
from divbench.core.tables import Cell, Styled, Table, interval, number, p_value, to_latex, to_text
from divbench.data import numbered
from divbench.plots import Plot, Row
from divbench.scores import Scores, check_resampling, score_all

_COUNTING_ALL = {metric.id for metric in METRICS if counts_all(metric)}
_REFUSED = "To compare where the numbers of scored responses differ, give compare the response sets of both systems."


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """Paired tests of a − b, one per metric.

    Attributes:
        a: Name of the first system.
        b: Name of the second.
        directions: +1, −1 or 0 by metric id, as in `Mean.direction`.
        contrasts: Means, difference with its interval, effect size and p-value, by metric id.
        notes: Responses without an answer, and how prompts with unequal numbers of scored responses are compared.
    """

    a: str
    b: str
    directions: dict[str, int]
    contrasts: dict[str, Contrast]
    notes: tuple[str, ...] = ()

    def to_pandas(self) -> pd.DataFrame:
        """A row per metric, with the finding.

        Means, the difference with its 95% interval, Cohen's d, the rank-biserial correlation, Wilcoxon's p, and the
        number of prompts.
        """
        rows = [
            (c.mean_a, c.mean_b, c.difference, c.low, c.high, c.d_z, c.rank_biserial, c.p, c.n, self.finding(name))
            for name, c in self.contrasts.items()
        ]
        columns = [f"mean {self.a}", f"mean {self.b}", "difference", "low", "high", "d_z", "rank_biserial", "p"]
        table = pd.DataFrame(rows, pd.Index(self.contrasts, name="metric"), [*columns, "prompts", "finding"])
        return table.astype(dict.fromkeys(columns, float))

    def finding(self, metric: str) -> str:
        """Say which system is more diverse by a metric, if the test finds a difference at p < 0.05.

        The test is of ranks. Where the mean difference has the other sign (a few large differences against many small
        ones), or a paired t-test does not find it at p < 0.05, neither system is named.
        """
        return self.contrasts[metric].finding(self.directions[metric])

    def table(self) -> Table:
        """The tests as a table for the terminal, Markdown or CSV."""
        rows: list[list[Cell]] = [
            [
                Styled(f"{name} {ARROWS[self.directions[name]]}".strip(), "code"),
                number(c.mean_a),
                number(c.mean_b),
                number(c.difference),
                interval(c.low, c.high),
                p_value(c.p),
                str(c.n),
                self.finding(name),
            ]
            for name, c in self.contrasts.items()
        ]
        columns = ["metric", self.a, self.b, "difference", "95% interval", "p", "prompts", "finding"]
        notes = [*self.notes, *(f"{name}: {excluded(c)}" for name, c in self.contrasts.items() if c.left_out)]
        if any(c.p is not None for c in self.contrasts.values()):
            notes.append(
                "p: Wilcoxon's signed-rank test, two-sided. It compares ranks: a finding names a system only if a "
                "paired t-test of the means agrees."
            )
        if len(rows) > 1:
            notes.append("Findings are at p < .05 for each metric, without a correction for their number.")
        return Table(f"{self.a} and {self.b}, paired by prompt", columns, rows, notes)

    def plot(self) -> Plot:
        """The standardised mean difference of each metric with its interval; to the right, the first is more diverse.

        A plotly figure that `save` writes as PDF, SVG or PNG.
        """
        rows = []
        for name, c in self.contrasts.items():
            sign = self.directions[name] or 1
            label = f"{name} {ARROWS[self.directions[name]]}".strip()
            if c.d_z and c.difference and c.low is not None and c.high is not None:
                deviation = c.difference / c.d_z
                low, high = sorted(sign * end / deviation for end in (c.low, c.high))
                rows.append(Row(label, sign * c.d_z, low, high))
            else:
                rows.append(Row(label, None if c.difference is None else 0.0))
        axis = f"← {self.b} more diverse | standardised difference (d_z) | {self.a} more diverse →"
        return Plot((("", tuple(rows)),), axis, zero=True)

    def to_latex(self) -> str:
        """The tests as a table in LaTeX, which needs no package."""
        return to_latex(self.table())

    def __str__(self) -> str:
        """The tests as a table."""
        return to_text(self.table())

    __repr__ = __str__  # shown at a Python prompt

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html(float_format="{:.4f}".format))


def compare(
    a: Any,
    b: Any,
    metrics: str | Iterable[str] | None = None,
    *,
    names: tuple[str, str] = ("a", "b"),
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Test whether two systems differ in diversity on the same prompts, metric by metric.

    Two-sided Wilcoxon signed-rank tests and bootstrap intervals of the mean difference, paired by prompt. Where the
    systems have different numbers of scored responses to a prompt, as with blanks, equal numbers are compared: the
    first m of each. Scores that are computed already are left out there, unless the metric counts blanks as not valid.

    Args:
        a: The first system: its `Scores`, or response sets in any form that `score` takes.
        b: The second; sets are matched by prompt, or by position if no prompts were given.
        metrics: As in `score`, for systems that are not scored yet.
        names: Names of the systems, for tables.
        resamples: Number of bootstrap resamples over prompts.
        seed: Random seed of the bootstrap.

    Raises:
        InputError: They have no prompt or no metric in common, come from different profiles, or have scores with
            different signatures; a prompt is repeated, or there are no prompts and not equally many sets, or systems
            that are scored already have different numbers of responses to a prompt.
        ConfigurationError: As in `score`, or `names` is not two different texts.
    """
    check_resampling(resamples, seed)
    _check_names(names)
    if texts := [system for system in (a, b) if not isinstance(system, Scores)]:
        # The tests need no intervals of the means.
        scored = iter(score_all(texts, metrics, resamples=0, seed=seed, equal=len(texts) > 1))
        a, b = (system if isinstance(system, Scores) else next(scored) for system in (a, b))
    elif metrics is not None:
        raise ConfigurationError("both systems are scored already, so metrics has no effect", "leave it out")
    _check_comparable(a, b, names)
    directions = {mean.metric: mean.direction for mean in a.means if mean.metric in b.values}
    if not directions:
        raise InputError("the systems have no metric in common", "score both with the same metrics")
    systems = dict(zip(names, (a, b), strict=True))
    lacking = {name: without_answer(scores.counts) for name, scores in systems.items() if scores.counts}
    notes = [f"Without an answer: {name}: {said}." for name, said in lacking.items() if said]
    notes += [f"{name}: {note}" for name, scores in systems.items() for note in scores.notes]
    if unequal := _unequal(a, b):
        notes.append(unequal_note(len(unequal)) if len(texts) > 1 else _REFUSED)
        if len(texts) < 2:
            systems = {name: _without(scores, unequal) for name, scores in systems.items()}
    contrasts = {}
    for metric in directions:
        values = {name: dict(zip(scores.names, scores.values[metric], strict=True)) for name, scores in systems.items()}
        (contrasts[metric],) = paired_contrast(values, [names], expected="two-sided", resamples=resamples, seed=seed)
    return Comparison(*names, directions, contrasts, tuple(notes))


def _unequal(a: Scores, b: Scores) -> set[str]:
    """Return the prompts on which the systems have different numbers of scored responses."""
    numbers = [dict(zip(scores.names, scores.scored or scores.sizes, strict=True)) for scores in (a, b)]
    return {prompt for prompt in numbers[0] if numbers[0][prompt] != numbers[1].get(prompt, numbers[0][prompt])}


def _without(scores: Scores, prompts: set[str]) -> Scores:
    """Return scores without the values of these prompts, except for metrics that count all responses."""
    gap = Missing("another number of scored responses than the other system")
    values = {
        name: column
        if name in _COUNTING_ALL
        else tuple(gap if prompt in prompts else value for prompt, value in zip(scores.names, column, strict=True))
        for name, column in scores.values.items()
    }
    return replace(scores, values=values)


def _check_names(names: Any) -> None:
    if not isinstance(names, Sequence) or len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise ConfigurationError(f"names is {names!r}", "give two texts, such as names=('mine', 'theirs')")
    if names[0] == names[1]:
        raise ConfigurationError(f"both systems are named {names[0]!r}", "give them different names")


def _check_comparable(a: Scores, b: Scores, names: tuple[str, str]) -> None:
    """Check that the scores of two systems can be paired."""
    if a.profile != b.profile:
        raise InputError(f"the profiles differ: {a.profile} and {b.profile}", "score both with the same profile")
    for metric in (metric for metric in a.values if metric in b.values):
        signature, other = (scores.signatures.get(metric) for scores in (a, b))
        if signature != other:
            message = f"the scores of {metric} are not comparable: their signatures are {signature} and {other}"
            raise InputError(message, "score both with the same models and settings")
    for name, scores in zip(names, (a, b), strict=True):
        if len(set(scores.names)) < len(scores.names):
            raise InputError(f"{name} has a prompt twice", "give each prompt once")
    if not set(a.names) & set(b.names):
        raise InputError("the systems have no prompt in common", "score both on the same prompts")
    if len(a.names) != len(b.names) and all(scores.names == numbered(len(scores.names)) for scores in (a, b)):
        counts = f"{names[0]} has {counted(len(a.names), 'set')}, {names[1]} {len(b.names)}, and there are no prompts"
        raise InputError(counts, "give the prompts, so that sets can be matched: {prompt: responses, …}")
    sizes = [dict(zip(scores.names, scores.sizes, strict=True)) for scores in (a, b)]
    if unequal := [prompt for prompt in sizes[0] if sizes[0][prompt] != sizes[1].get(prompt, sizes[0][prompt])]:
        first, second = (counts[unequal[0]] for counts in sizes)
        raise InputError(
            f"the systems have different numbers of responses to {counted(len(unequal), 'prompt')}, such as "
            f"{first} and {second}",
            "give equally many: under most metrics, sets of different sizes are not comparable",
        )
