"""The power of comparisons: subsets by brute force, scipy's own test, and resampled comparisons of known systems."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from benchmark.analysis.power import (
    Labels,
    components,
    headline_at,
    plan,
    power,
    prompts_needed,
    smallest_effect,
)
from leaderboard.reports.plan_command import reference_labels
from tests.conftest import divbench, document
from tests.test_readme import ROOT

SETS = [[0, 0, 1, 2, -1, 0], [0, 1, 2, 3, 4, 5], [-1] * 6, [0] * 6, [0, 0, 1, 1, 2, 2]]


@pytest.fixture(scope="module")
def labels() -> Labels:
    return reference_labels()


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_subsets_are_those_of_brute_force(k: int) -> None:
    found = headline_at(np.array([SETS]), k)
    for place, labels in enumerate(SETS):
        subsets = [set(each) for each in combinations(range(6), k)]
        here = np.array([len({labels[i] for i in subset} - {-1}) for subset in subsets])
        there = np.array([len({labels[i] for i in range(6) if i not in subset} - {-1}) for subset in subsets])
        assert found.means[0, place] == pytest.approx(here.mean())
        assert found.sampling[0, place] == pytest.approx(here.var())
        if k == 3:
            assert found.halves[0, place] == pytest.approx(np.mean(here * there) - here.mean() * there.mean())
        else:
            assert np.isnan(found.halves[0, place])


def test_components_of_made_up_systems_come_back() -> None:
    rng = np.random.default_rng(0)
    # Every response of a prompt is of one of so many classes: all variance within a prompt is sampling.
    many = rng.integers(1, 12, size=400)
    labels = np.stack([[rng.integers(0, classes, size=10) for classes in many] for _ in range(4)])
    found = components(headline_at(labels, 5))
    assert found.interaction == pytest.approx(0, abs=0.05)
    expected = np.array([classes * (1 - (1 - 1 / classes) ** 5) for classes in many])
    assert found.prompts == pytest.approx(expected.var(ddof=1), rel=0.1)
    with pytest.raises(ValueError, match="half of the responses"):
        components(headline_at(labels, 4))


def test_power_is_that_of_scipys_simulated_test() -> None:
    rng = np.random.default_rng(1)
    for effect, deviation, prompts in ((0.3, 1.0, 40), (1.0, 2.0, 12), (0.0, 1.0, 20)):
        drawn = rng.normal(effect, deviation, size=(4000, prompts))
        rejected = np.mean(np.less(stats.ttest_1samp(drawn, 0, axis=1).pvalue, 0.05))
        assert power(effect, deviation, prompts) == pytest.approx(rejected, abs=0.025)
    assert power(1.0, 1.0, prompts_needed(1.0, 1.0) or 0) >= 0.8 > power(1.0, 1.0, (prompts_needed(1.0, 1.0) or 0) - 1)
    assert prompts_needed(1e-6, 1.0) is None
    assert prompts_needed(smallest_effect(1.0, 120_000), 1.0) is None
    assert prompts_needed(smallest_effect(1.0, 90_000), 1.0) == pytest.approx(90_000, abs=1)
    assert power(smallest_effect(2.0, 50), 2.0, 50) == pytest.approx(0.8)


@pytest.mark.parametrize("k", [3, 8])
def test_resampled_comparisons_of_known_systems_have_the_power_that_is_told(labels: Labels, k: int) -> None:
    """Prompts are drawn with replacement, and so many of the ten responses to each; the share of small p is counted.

    With fewer prompts the t-test finds more than is told where differences are skewed, as next to the ceiling.
    """
    rng = np.random.default_rng(k)
    headline = headline_at(labels, k)
    pairs, deviations = list(combinations(range(len(labels)), 2)), headline.pair_deviations()
    draws, told, found = 1000, [], []
    for (a, b), deviation in zip(pairs, deviations.tolist(), strict=True):
        effect = float((headline.means[a] - headline.means[b]).mean())
        prompts = prompts_needed(abs(effect), deviation, 0.7)
        if prompts is not None and 40 <= prompts <= 300:
            drawn = rng.integers(0, labels.shape[1], size=(draws, prompts))
            paired = _different(labels[a][drawn], k, rng) - _different(labels[b][drawn], k, rng)
            found.append(float(np.mean(np.less(stats.ttest_1samp(paired, 0, axis=1).pvalue, 0.05))))
            told.append(power(effect, deviation, prompts))
    assert len(told) >= 5
    gaps = np.abs(np.subtract(found, told))
    assert gaps.mean() < 0.03
    assert gaps.max() < 0.10


def _different(labels: Labels, k: int, rng: np.random.Generator) -> Labels:
    """Different valid responses among k drawn of each prompt's, [draws, prompts]."""
    drawn = np.take_along_axis(labels, rng.random(labels.shape).argsort(axis=-1)[..., :k], axis=-1)
    ordered = np.sort(drawn, axis=-1)
    new = (ordered[..., 1:] != ordered[..., :-1]) & (ordered[..., 1:] >= 0)
    counts: Labels = new.sum(axis=-1) + (ordered[..., 0] >= 0)
    return counts


def test_fewer_prompts_are_needed_for_larger_differences(labels: Labels) -> None:
    small, large = (plan(labels, share, (5, 10), 100) for share in (0.1, 0.3))
    for row, other in zip(small, large, strict=True):
        assert row.prompts is not None
        assert other.prompts is not None
        assert other.prompts < row.prompts <= (row.prompts_hard or 0)
        assert other.smallest == row.smallest


def test_the_table_of_the_docs_is_what_the_command_prints(labels: Labels) -> None:
    text = (ROOT / "docs" / "questions.md").read_text("utf-8")
    for row in plan(labels, 0.1, (3, 5, 8, 10), 100):
        assert row.prompts is not None
        cells = (row.k, row.prompts, row.prompts_hard, f"{row.k * row.prompts:,}", f"{row.smallest:.1%}")
        assert f"| {' | '.join(map(str, cells))} |" in text


def test_the_command(labels: Labels) -> None:
    told = document(divbench("metrics", "plan", "--effect", "0.2", "--prompts", "90", "--json"))
    assert (told["effect"], told["prompts"], told["power"]) == (0.2, 90, 0.8)
    assert [row["k"] for row in told["rows"]] == [3, 4, 5, 6, 8, 10]
    assert told["rows"][-1]["prompts"] == plan(labels, 0.2, (10,), 100)[0].prompts
    ended = divbench("metrics", "plan")
    assert ended.returncode == 0
    assert "sampling" in ended.stdout
    few = divbench("metrics", "plan", "--prompts", "3").stdout
    assert "239.8%" not in few  # more than k are never different
    assert "A dash: more than 100,000 prompts, or a difference of over 100%." in " ".join(few.split())
    assert divbench("metrics", "plan", "--effect", "2").returncode == 2
    assert "did you mean divbench metrics plan" in divbench("plan").stderr
