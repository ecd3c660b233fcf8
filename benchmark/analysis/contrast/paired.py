"""Paired tests between systems on the same prompts, as in the OLMo study (arXiv:2606.01811, section 4.3)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal

import numpy as np

from benchmark.metrics.metric import Missing
from benchmark.scoring.estimate import (
    Alternative,
    Floats,
    bonferroni,
    bootstrap_means,
    cohens_dz,
    differences,
    holm,
    mean_agrees,
    wilcoxon,
)
from benchmark.scoring.inputs import Value

Expected = Literal["greater", "two-sided"]
_LEVEL = 0.05
Pairing = Literal["consecutive", "all"]


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two systems compared by one metric."""

    a: str  # the first system
    b: str  # the second
    alternative: Alternative  # alternative hypothesis in the metric's own values; *greater*: a's values are greater
    n: int  # prompts on which both have a value; all statistics below are over these prompts
    left_out: int  # prompts on which at least one system has no value
    reasons: dict[str, int]  # counts of missing values by `system: reason`
    mean_a: float | None  # mean of a; None where n is 0
    mean_b: float | None  # mean of b; None where n is 0
    difference: float | None  # mean of a − b; None where n is 0
    low: float | None  # lower end of the percentile bootstrap interval over prompts; None with fewer than two prompts
    high: float | None  # upper end; None with fewer than two prompts
    d_z: float | None  # Cohen's d of the paired differences; None where they do not vary
    statistic: float | None  # Wilcoxon's statistic; None where untested
    rank_biserial: float | None  # matched-pairs rank-biserial correlation of a − b; None where untested
    p: float | None  # p-value; None where untested
    p_bonferroni: float | None  # p times the number of pairs tested, at most 1
    p_holm: float | None  # p adjusted over the same pairs by Holm's method
    untested: str | None

    @property
    def disagrees(self) -> bool:
        """Whether the test finds a difference at p < .05 that the means do not show."""
        return bool(self.difference) and self.p is not None and self.p < _LEVEL and not self.means_agree

    @property
    def means_agree(self) -> bool:
        """Whether the means show what the test of ranks may find; see `mean_agrees`."""
        ranks = self.rank_biserial or 0.0
        return mean_agrees(self.difference or 0.0, self.d_z, ranks, self.n, self.alternative)

    def finding(self, direction: int, *, corrected: bool = False) -> str:
        """Say which system is more diverse, if the test finds a difference at p < .05; *corrected*: by Holm's p.

        The test is of ranks. Where the mean difference has the other sign (a few large differences against many small
        ones), or a paired t-test does not find it at p < .05, neither system is named.
        """
        p = self.p_holm if corrected else self.p
        if p is None:
            return f"untested: {self.untested}"
        if p >= _LEVEL or not self.difference:
            return "no significant difference"
        if self.disagrees:
            return "means and ranks disagree"
        if not direction:
            return f"{self.a} {'higher' if self.difference > 0 else 'lower'}"
        return f"{self.a if self.difference * direction > 0 else self.b} more diverse"


def pairs_of(systems: Sequence[str], pairing: Pairing) -> tuple[tuple[str, str], ...]:
    """Return the pairs to compare, each in the order of the systems.

    >>> pairs_of(["base", "sft", "dpo"], "consecutive")
    (('base', 'sft'), ('sft', 'dpo'))
    >>> len(pairs_of(["base", "sft", "dpo", "instruct"], "all"))
    6
    """
    return tuple(pairwise(systems) if pairing == "consecutive" else combinations(systems, 2))


def alternative_of(expected: Expected, direction: int) -> Alternative:
    """Return the alternative hypothesis in a metric's own values; *greater*: the first system is more diverse."""
    if expected == "two-sided" or direction == 0:
        return "two-sided"
    return "greater" if direction > 0 else "less"


def paired_contrast(
    values: Mapping[str, Mapping[str, Value]],
    pairs: Sequence[tuple[str, str]],
    *,
    expected: Expected = "greater",
    direction: int = 1,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[Contrast, ...]:
    """Compare systems prompt by prompt on one metric, from its values by system and prompt id; NaN is missing.

    The p-values of all pairs are corrected together; the intervals of their differences come from the same resamples of
    prompts.
    """
    prompts = list(dict.fromkeys(prompt for system in values for prompt in values[system]))
    absent = Missing("prompt not there")
    columns = {name: [by_prompt.get(prompt, absent) for prompt in prompts] for name, by_prompt in values.items()}
    numbers = {
        name: np.array([np.nan if isinstance(value, Missing) else value for value in column])
        for name, column in columns.items()
    }
    gaps = np.array([differences(numbers[a], numbers[b]) for a, b in pairs]).reshape(len(pairs), len(prompts))
    means = bootstrap_means(gaps.T, resamples=resamples, seed=seed)
    alternative = alternative_of(expected, direction)
    tests = [wilcoxon(numbers[a], numbers[b], alternative) for a, b in pairs]
    p = np.array([np.nan if test.p is None else test.p for test in tests])
    by_bonferroni, by_holm = bonferroni(p), holm(p)
    contrasts = []
    for i, ((a, b), test) in enumerate(zip(pairs, tests, strict=True)):
        both = np.isfinite(gaps[i])
        contrasts.append(
            Contrast(
                a=a,
                b=b,
                alternative=alternative,
                n=test.n,
                left_out=len(prompts) - test.n,
                reasons=_reasons({name: columns[name] for name in (a, b)}),
                mean_a=_mean(numbers[a][both]),
                mean_b=_mean(numbers[b][both]),
                difference=_mean(gaps[i][both]),
                low=means[i].low,
                high=means[i].high,
                d_z=_finite(cohens_dz(gaps[i])),
                statistic=test.statistic,
                rank_biserial=test.rank_biserial,
                p=test.p,
                p_bonferroni=_finite(by_bonferroni[i]),
                p_holm=_finite(by_holm[i]),
                untested=test.untested,
            )
        )
    return tuple(contrasts)


def _reasons(columns: Mapping[str, Sequence[Value]]) -> dict[str, int]:
    reasons = Counter(
        f"{name}: {value.reason if isinstance(value, Missing) else 'not a number'}"
        for name, values in columns.items()
        for value in values
        if isinstance(value, Missing) or not np.isfinite(value)
    )
    return dict(sorted(reasons.items()))


def excluded(contrast: Contrast) -> str:
    """Say how many prompts were excluded and why, why there is no test, and whether it contradicts the means."""
    reasons = ", ".join(f"{reason} ({count})" for reason, count in contrast.reasons.items())
    untested = [f"not tested: {contrast.untested}"] if contrast.untested else []
    disagree = ["means and ranks disagree"] * contrast.disagrees
    return "; ".join([f"{contrast.left_out} excluded: {reasons}"] * bool(contrast.left_out) + untested + disagree)


def _mean(values: Floats) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
