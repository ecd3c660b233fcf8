"""The power of comparisons: scipy's own test on simulated differences, and the shipped variances by brute force."""

import json
from itertools import combinations

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

from benchmark.analysis.plan import KNOWN, power, prompts_needed
from leaderboard.data.reference.build import PROFILE
from leaderboard.data.reference.results import reference_results
from leaderboard.data.reference.systems import GROUPED, SUITE
from tests.conftest import divbench, document
from tests.test_readme import ROOT

K = 10


def test_power_is_that_of_scipys_simulated_test() -> None:
    rng = np.random.default_rng(1)
    for effect, deviation, prompts in ((0.3, 1.0, 40), (1.0, 2.0, 12), (0.0, 1.0, 20)):
        drawn = rng.normal(effect, deviation, size=(4000, prompts))
        rejected = np.mean(np.less(stats.ttest_1samp(drawn, 0, axis=1).pvalue, 0.05))
        assert power(effect, deviation, prompts) == pytest.approx(rejected, abs=0.025)


@pytest.mark.parametrize(("effect", "wanted"), [(1.0, 0.8), (0.05, 0.8), (0.3, 0.95)])
def test_the_number_of_prompts_is_the_smallest_with_the_power(effect: float, wanted: float) -> None:
    prompts = prompts_needed(effect, 1.0, wanted)
    assert prompts is not None
    assert power(effect, 1.0, prompts) >= wanted > power(effect, 1.0, prompts - 1)
    assert prompts_needed(1e-6, 1.0, wanted) is None
    assert prompts_needed(1e6, 1.0, 0.2) == 2


def classes() -> list[list[list[int]]]:
    """The classes of ten responses of each of nine systems, by prompt; -1 for invalid ones."""
    systems = []
    known = {system.name for system in GROUPED if system.k == K}
    for folder, result in reference_results().results.items():
        if (result.suite, result.k, result.profile) == (SUITE, K, PROFILE) and result.manifest.name in known:
            rows = pq.read_table(folder / "per_prompt.parquet", columns=["prompt_id", "classes", "invalid"]).to_pylist()
            rows.sort(key=lambda row: str(row["prompt_id"]))
            systems.append([valid(row["classes"]["labels"], row["invalid"]) for row in rows])
    return systems


def valid(labels: list[int], reasons: list[str | None]) -> list[int]:
    kept = [label if reason is None else -1 for label, reason in zip(labels, reasons, strict=True)]
    return kept + [-1] * (K - len(kept))  # blank responses have no class


@pytest.mark.parametrize("k", KNOWN)
def test_shipped_variances_are_those_of_all_subsets_of_the_reference_results(k: int) -> None:
    labels = np.array(classes())
    assert labels.shape == (9, 100, K)
    ordered = np.sort(labels[..., np.array(list(combinations(range(K), k)))], axis=-1)
    first = (ordered[..., 1:] != ordered[..., :-1]) & (ordered[..., 1:] >= 0)
    counts = first.sum(axis=-1) + (ordered[..., 0] >= 0)  # different valid responses, [systems, prompts, subsets]
    means, variances = counts.mean(axis=-1), counts.var(axis=-1)
    deviations = [
        np.sqrt((means[a] - means[b]).var(ddof=1) + (variances[a] + variances[b]).mean())
        for a, b in combinations(range(9), 2)
    ]
    assert KNOWN[k] == pytest.approx((means.mean(), *np.quantile(deviations, (0.5, 0.9))))


def test_the_command_prints_what_the_documentation_says() -> None:
    rows = {row["k"]: row for row in document(divbench("metrics", "plan", "--json"))["rows"]}
    written = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
    for k in (3, 5, 8, 10):
        prompts, hard = rows[k]["prompts"], rows[k]["prompts_hard"]
        assert f"| {k} | {prompts} | {hard} | {prompts * k:,} | {rows[k]['smallest']:.1%} |" in written
    assert str(rows[8]["prompts"]) in divbench("metrics", "plan").stdout
    few = json.loads(divbench("metrics", "plan", "--effect", 0.001, "--prompts", 3, "--json").stdout)["rows"]
    assert few[0]["prompts"] is None
    assert few[0]["smallest"] > 1
