"""The simulated figures of docs/: how often 95% intervals cover the truth, and tests separate equal systems.

`python -m tests.benchmark.analysis.coverage_study` prints them. Truth is known because samples are drawn from what
is measured: the scores of the reference results (prompts drawn with replacement), or from a stated distribution.
"""

import json
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow.parquet as pq
import typer
from numpy.typing import NDArray
from rich.text import Text
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import ttest_1samp

from benchmark.analysis.human_ratings import _alpha
from benchmark.analysis.metaeval import agreement
from benchmark.analysis.power import prompts_needed
from benchmark.analysis.ranking import standings
from benchmark.scoring.estimate import (
    Estimate,
    bootstrap_means,
    cohens_dz,
    estimate,
    mean_agrees,
    resample_weights,
    weights_with_original,
    wilcoxon,
)
from divbench.core.console import out, progress
from divbench.core.tables import Table, to_markdown

REFERENCE = Path(__file__).resolve().parents[3] / "leaderboard" / "measured" / "reference"
METRICS = ("valid_distinct_k", "distinct_k", "distinct_n", "self_bleu", "embedding_diversity", "d_can")
ALIKE = 0.6  # pairs of systems whose d_z is smaller are taken for nearly equal
RESAMPLES = 400

Floats = NDArray[np.float64]


@cache
def scores(metric: str, k: int, baselines: bool = False) -> tuple[list[str], Floats]:
    """Read the scores of real systems, people among them, or of the baselines, on NoveltyBench's curated prompts.

    Returns:
        The systems and their scores, [prompts, systems], NaN where missing.
    """
    found: dict[str, dict[str, float]] = {}
    for path in sorted(REFERENCE.glob("*/result.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        is_baseline = result["manifest"]["system"]["type"] == "baseline"
        if (result["suite"], result["k"], is_baseline) == ("noveltybench-curated", k, baselines):
            table = pq.read_table(path.with_name("per_prompt.parquet"), columns=["prompt_id", metric]).to_pydict()
            named = zip(table["prompt_id"], table[metric], strict=True)
            found[result["manifest"]["name"]] = {prompt: np.nan if x is None else x for prompt, x in named}
    prompts = sorted(set().union(*found.values()))
    rows = [[of_system.get(prompt, np.nan) for of_system in found.values()] for prompt in prompts]
    return list(found), np.array(rows, dtype=np.float64)


def covers(interval: Estimate, truth: float) -> bool:
    """Return whether an interval has the truth in it, up to rounding."""
    if interval.low is None or interval.high is None:
        return False
    return interval.low - 1e-9 <= truth <= interval.high + 1e-9


def tested(apart: Floats) -> tuple[bool, bool, bool]:
    """Test paired differences by a t-test, by Wilcoxon's test with their sign, and as findings in words are."""
    test = wilcoxon(apart, np.zeros(len(apart)))
    by_ranks = test.p is not None and test.rank_biserial is not None and test.p < 0.05
    balance = test.rank_biserial or 0.0
    is_named = by_ranks and apart.mean() * balance > 0
    is_found = is_named and mean_agrees(float(apart.mean()), cohens_dz(apart), balance, len(apart))
    return bool(ttest_1samp(apart, 0).pvalue < 0.05), bool(is_named), bool(is_found)


def means(rng: np.random.Generator, times: int) -> Iterator[tuple[str, str, float]]:
    """Count how often an interval covers the mean of a random system."""
    for metric in (*METRICS, "valid_share"):
        values = scores(metric, 10)[1]
        if metric == "valid_share":  # of systems with any invalid response
            values = values[:, np.nanmin(values, axis=0) < 1]
        for prompts in (100, 12):
            hits = 0
            for seed in range(times):
                column = values[:, rng.integers(values.shape[1])]
                column = column[np.isfinite(column)]
                drawn = rng.choice(column, prompts)[:, None]
                hits += covers(bootstrap_means(drawn, resamples=RESAMPLES, seed=seed)[0], column.mean())
            yield "interval of a mean covers it", f"{metric}, {prompts} prompts", hits / times


def equals(rng: np.random.Generator, times: int) -> Iterator[tuple[str, str, float]]:
    """Count findings about two systems on 100 prompts whose mean difference is 0.

    Real differences of nearly equal systems are weighted exponentially until their mean is 0, which keeps their
    values and their skewness.
    """
    for metric in METRICS:
        values, found = scores(metric, 10)[1], []
        for one, other in combinations(values.T, 2):
            apart = one - other
            apart = apart[np.isfinite(apart)]
            if not apart.min() < 0 < apart.max() or abs(apart.mean() / apart.std()) > ALIKE:
                continue
            apart /= apart.std()
            tilt = brentq(lambda by, of=apart: float(_tilted(of, by) @ of), -30, 30)
            for _ in range(max(1, times // 10)):
                drawn = rng.choice(apart, 100, p=_tilted(apart, tilt))
                found.append(tested(drawn))
        _, by_ranks, both = np.mean(found, axis=0)
        yield "Wilcoxon's test finds a difference of equal means", metric, by_ranks
        yield "Wilcoxon's test and the t-test find one", metric, both


def _tilted(values: Floats, by: float) -> Floats:
    weights = np.exp(by * values - np.max(by * values))
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def separated(rng: np.random.Generator, times: int) -> Iterator[tuple[str, str, float]]:
    """Count tables that separate equal systems: their scores are exchanged at random within each prompt."""
    values = scores("valid_distinct_k", 10)[1]
    for systems, prompts in ((2, 100), (9, 100), (9, 20), (9, 5)):
        found = 0
        for _ in range(times):
            rows = rng.choice(len(values), prompts)
            drawn = rng.permuted(values[rows], axis=1)[:, :systems]
            found += len({each.group for each in standings(drawn)}) > 1
        yield "equal systems are separated", f"{systems} systems, {prompts} prompts", found / times


def planned(rng: np.random.Generator, times: int) -> Iterator[tuple[str, str, float]]:
    """Count findings of a difference of a tenth with the number of prompts planned for a power of .8."""
    values = scores("valid_distinct_k", 8)[1]
    effect, found = 0.1 * float(np.nanmean(values)), []
    for one, other in combinations(values.T, 2):
        apart = np.abs(one - other)
        apart = apart[np.isfinite(apart)]
        share = (1 + effect / apart.mean()) / 2  # of the differences in favour of the first system
        prompts = prompts_needed(effect, float(np.sqrt(np.mean(apart**2) - effect**2)))
        for _ in range(max(1, times // 10) if share <= 1 and prompts else 0):
            drawn = rng.choice(apart, prompts) * np.where(rng.random(prompts) < share, 1, -1)
            found.append(tested(drawn))
    by_mean, _, both = np.mean(found, axis=0)
    yield "a planned power of .8", "t-test", by_mean
    yield "a planned power of .8", "and Wilcoxon's test", both


def accuracies(rng: np.random.Generator, times: int) -> Iterator[tuple[str, str, float]]:
    """Count how often an interval covers the accuracy of the best threshold on 1,000 sets with normal scores."""
    for effect in (0.0, 0.2, 0.5, 1.0, 2.0):
        truth, hits = float(ndtr(effect / 2)), 0
        for seed in range(times // 2):
            high = rng.random(1000) < 0.5
            values = rng.normal(size=1000) + effect * high
            weights = weights_with_original(1000, resamples=RESAMPLES // 2, seed=seed)
            found = estimate(agreement.optimal_accuracy(values, high, weights, folded=False))
            hits += covers(found, truth)
        yield "interval of the classification accuracy covers it", f"true accuracy {truth:.2f}", hits / (times // 2)


def gains(rng: np.random.Generator, times: int) -> Iterator[tuple[str, str, float]]:
    """Count how often intervals cover gains of attacks over half of the real systems' range, which is estimated."""
    for metric in METRICS[:-1]:
        (names, real), (_, attacks) = scores(metric, 8), scores(metric, 8, baselines=True)
        apart = attacks - real[:, [names.index("gpt-4o")]]
        true = np.nanmean(apart, axis=0) / np.ptp(np.nanmean(real, axis=0))
        large = np.abs(true) > 0.5
        hits = np.zeros(large.sum())
        for seed in range(times // 4):
            rows = rng.integers(len(real), size=len(real))
            unit = np.ptp(np.nanmean(real[rows], axis=0))
            found = bootstrap_means(apart[rows][:, large] / unit, resamples=RESAMPLES, seed=seed)
            hits += [covers(interval, truth) for interval, truth in zip(found, true[large], strict=True)]
        if large.any():
            yield "interval of a gain over half covers it, worst attack", metric, hits.min() / (times // 4)


def alphas(rng: np.random.Generator, times: int) -> Iterator[tuple[str, str, float]]:
    """Count how often an interval covers Krippendorff's alpha of all raters.

    Ten of them, who differ in strictness, are drawn, and five of these rate each of 200 sets.
    """
    truth = float(np.mean([_alpha(_ratings(rng, 400, 400)) for _ in range(3)]))
    hits = 0
    for seed in range(times // 8):
        counts = _ratings(rng, 200, 10)
        weights = resample_weights(200, resamples=120, seed=seed)
        found = estimate(np.array([_alpha(counts), *(_alpha(np.repeat(counts, drawn, axis=0)) for drawn in weights)]))
        hits += covers(found, truth)
    yield "interval of alpha covers that of all raters", "10 raters, 200 sets", hits / (times // 8)


def _ratings(rng: np.random.Generator, sets: int, raters: int) -> NDArray[np.int64]:
    """Draw how often each set is rated 1 to 5, by five of the raters, whose strictness has a deviation of 0.6."""
    diversity, strictness = rng.normal(size=sets), rng.normal(size=raters) * 0.6
    by = np.array([rng.choice(raters, 5, replace=False) for _ in range(sets)])
    answers = np.round(3 + diversity[:, None] + strictness[by] + rng.normal(size=by.shape) * 0.8)
    return np.array([np.bincount(row, minlength=5) for row in np.clip(answers, 1, 5).astype(int) - 1])


def _main(
    times: Annotated[int, typer.Option(min=40, help="Number of samples for a row, where it is not fewer.")] = 400,
) -> None:
    """Print how often intervals cover the truth and tests find a difference, simulated."""
    warnings.simplefilter("ignore", UserWarning)  # SciPy's, about ties
    studies = (means, equals, planned, accuracies, gains, alphas, separated)
    rows = []
    with progress() as bar:
        for number, study in enumerate(bar.track(studies, description="simulating")):
            found = study(np.random.default_rng(number), times)
            rows += [(what, case, f"{share:.0%}") for what, case, share in found]
    out().print(Text(to_markdown(Table("", ("simulated", "case", "share of samples"), rows))), soft_wrap=True)


if __name__ == "__main__":
    typer.run(_main)
