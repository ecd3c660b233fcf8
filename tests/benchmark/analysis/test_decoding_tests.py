"""The resampled correlation and the ranking test against plain versions and laws."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmark.analysis.metaeval.agreement import ranking_test, resampled_spearman

RNG = np.random.default_rng(7)
LABELS = np.repeat(np.linspace(0.2, 1.2, 25), 4)
SCORES = LABELS + RNG.normal(0, 0.3, 100)


def test_a_draw_of_all_sets_is_spearmans_rho() -> None:
    found = resampled_spearman(SCORES, LABELS, size=100, draws=3)
    assert found.mean == pytest.approx(spearmanr(SCORES, LABELS).statistic, abs=1e-12)
    assert found.sd == pytest.approx(0, abs=1e-12)


def test_draws_have_the_mean_and_spread_of_scipys_on_random_subsets() -> None:
    plain = []
    for _ in range(2000):
        rows = RNG.choice(100, 40, replace=False)
        plain.append(spearmanr(SCORES[rows], LABELS[rows]).statistic)
    found = resampled_spearman(SCORES, LABELS, size=40, draws=2000, seed=1)
    # Standard errors of both means together are 0.002, of both standard deviations 0.0015.
    assert found.mean == pytest.approx(np.mean(plain), abs=0.008)
    assert found.sd == pytest.approx(np.std(plain), abs=0.006)


def test_draws_repeat_and_their_seed_matters() -> None:
    assert resampled_spearman(SCORES, LABELS, size=50) == resampled_spearman(SCORES, LABELS, size=50)
    assert resampled_spearman(SCORES, LABELS, size=50) != resampled_spearman(SCORES, LABELS, size=50, seed=1)
    assert ranking_test(SCORES, LABELS, pairs=40) == ranking_test(SCORES, LABELS, pairs=40)


def test_rows_without_a_score_are_left_out() -> None:
    scores, labels = np.append(SCORES, np.nan), np.append(LABELS, 5.0)
    assert resampled_spearman(scores, labels, size=60) == resampled_spearman(SCORES, LABELS, size=60)
    assert ranking_test(scores, labels, pairs=30) == ranking_test(SCORES, LABELS, pairs=30)


def test_more_sets_than_there_are_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="200 sets cannot be drawn from 100"):
        resampled_spearman(SCORES, LABELS)


def test_the_correlation_of_a_constant_is_not_a_number() -> None:
    assert np.isnan(resampled_spearman(np.ones(100), LABELS, size=50).mean)


def test_ranking_of_a_perfect_and_of_an_opposite_metric() -> None:
    perfect, opposite = ranking_test(LABELS, LABELS, pairs=40), ranking_test(-LABELS, LABELS, pairs=40)
    assert (perfect.accuracy.mean, opposite.accuracy.mean) == (1, 0)
    assert (perfect.spearman.mean, opposite.spearman.mean) == pytest.approx((1, -1))
    assert (perfect.pairs, perfect.accuracy.sd) == (40, 0)


def test_equal_scores_are_a_miss() -> None:
    tied = np.where(RNG.random(100) < 0.5, LABELS, np.round(LABELS))
    found = ranking_test(np.ones(100), LABELS)
    assert found.accuracy.mean == 0
    assert ranking_test(np.round(LABELS), LABELS).accuracy.mean < ranking_test(LABELS, LABELS).accuracy.mean == 1
    assert 0 < ranking_test(tied, LABELS).accuracy.mean < 1


def test_pairs_share_no_set_and_have_different_temperatures() -> None:
    # Of 100 sets of two temperatures at most 50 pairs can differ; a pair of equal ones would be a miss.
    found = ranking_test(SCORES * 0 + np.repeat([0.0, 1.0], 50), np.repeat([0.0, 1.0], 50))
    rng = np.random.default_rng(0)
    differing = [int((rng.permutation(100).reshape(-1, 2) < 50).sum(axis=1) % 2 @ np.ones(50)) for _ in range(100)]
    assert found.pairs == min(differing)
    assert found.accuracy.mean == 1
    with pytest.raises(ValueError, match="no two pairs of different temperatures among 100 sets"):
        ranking_test(SCORES, np.ones(100))


def test_equal_differences_of_a_grid_are_ties() -> None:
    labels = RNG.integers(1, 7, 100)
    counts = labels + RNG.integers(0, 4, 100)
    whole = ranking_test(counts.astype(np.float64), labels.astype(np.float64))
    shares = ranking_test(counts / 9, np.round(0.2 * labels, 1))  # where 0.6 - 0.4 is not 0.4 - 0.2
    assert shares.spearman.mean == pytest.approx(whole.spearman.mean, abs=1e-9)
    assert shares.accuracy == whole.accuracy
