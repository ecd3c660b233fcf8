"""Measures against scipy, scikit-learn or a plain loop, and weights against copies of rows; laws; decoding tests."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import roc_auc_score

from benchmark.analysis.metaeval import agreement
from benchmark.analysis.metaeval.agreement import Floats, ones, ranking_test, resampled_spearman

Measure = Callable[[Floats, Floats, Floats], Floats]


def tied(rows: int = 60, seed: int = 0) -> Floats:
    return np.round(np.random.default_rng(seed).normal(size=rows), 1)


def two_labels(rows: int = 60, seed: int = 1) -> Floats:
    return (np.random.default_rng(seed).random(rows) < 0.4).astype(float)


def plain_oca(scores: Floats, high: NDArray[np.bool_], *, folded: bool, slack: float = 0.0) -> float:
    """By its definition: every score as a threshold, and one below all."""
    best = 0.0
    for threshold in [*scores.tolist(), -np.inf]:
        above = scores > threshold + slack
        accuracy = float(np.mean(above == high))
        best = max(best, accuracy, 1 - accuracy if folded else 0.0)
    return best


def of_labels(measure: Callable[..., Floats], **options: object) -> Measure:
    """A measure of two labels as one of numbers."""
    return lambda x, y, w: measure(x, y == 1, w, **options)


MEASURES: dict[str, Measure] = {
    "spearman": agreement.spearman,
    "pearson": agreement.pearson,
    "kendall": agreement.kendall,
    "roc_auc": of_labels(agreement.roc_auc),
    "oca_directional": of_labels(agreement.optimal_accuracy, folded=False),
    "oca_folded": of_labels(agreement.optimal_accuracy, folded=True),
}
every_measure = pytest.mark.parametrize("name", MEASURES)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("labels", [two_labels, lambda seed: np.round(np.random.default_rng(seed).random(60), 1)])
def test_correlations_equal_scipys(labels: Callable[..., Floats], seed: int) -> None:
    x, y = tied(seed=seed), labels(seed=seed + 50)
    assert agreement.spearman(x, y, ones(60)) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert agreement.pearson(x, y, ones(60)) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    assert agreement.kendall(x, y, ones(60)) == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


def test_kendall_in_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = tied(), np.round(np.random.default_rng(2).random(60), 1)
    whole = agreement.kendall(x, y, ones(60))
    monkeypatch.setattr(agreement, "_BLOCK", 7)
    assert agreement.kendall(x, y, ones(60)) == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_auc_and_oca_equal_independent_ones(seed: int) -> None:
    x, y = tied(seed=seed), two_labels(seed=seed + 9)
    assert agreement.roc_auc(x, y == 1, ones(60)) == pytest.approx(roc_auc_score(y, x), abs=1e-12)
    for folded in (False, True):
        for slack in (0.0, 0.15):
            ours = agreement.optimal_accuracy(x, y == 1, ones(60), folded=folded, slack=slack)
            assert ours == pytest.approx(plain_oca(x, y == 1, folded=folded, slack=slack), abs=1e-12)


@pytest.mark.parametrize(
    ("high", "low", "folded", "directional"),
    [([2, 3], [0, 1], 1.0, 1.0), ([0, 1], [2, 3], 1.0, 0.5), ([1, 1], [1, 1], 0.5, 0.5), ([1] * 3, [1], 0.75, 0.75)],
)
def test_oca_of_known_vectors(high: list[float], low: list[float], folded: float, directional: float) -> None:
    # Those of Tevet & Berant's code, and what their paper's definition makes of them.
    x, y = np.array([*high, *low], float), np.array([1] * len(high) + [0] * len(low)) == 1
    assert agreement.optimal_accuracy(x, y, ones(len(x)), folded=True, slack=1e-5)[0] == folded
    assert agreement.optimal_accuracy(x, y, ones(len(x)), folded=False)[0] == directional


@every_measure
def test_a_weight_is_so_many_copies_of_a_row(name: str) -> None:
    x, y = tied(), two_labels()
    draws = np.random.default_rng(3).integers(60, size=(20, 60))
    weights = np.array([np.bincount(each, minlength=60) for each in draws], float)
    together = MEASURES[name](x, y, weights)
    apart = [MEASURES[name](x[each], y[each], ones(60))[0] for each in draws]
    assert together == pytest.approx(apart, abs=1e-12)


@every_measure
@given(st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=4, max_size=30))
def test_only_the_order_of_scores_counts_and_not_that_of_rows(name: str, rows: list[tuple[int, bool]]) -> None:
    x, y = np.array([r[0] for r in rows], float), np.array([r[1] for r in rows], float)
    if len(set(y)) < 2 or name == "pearson":
        return
    found = MEASURES[name](x, y, ones(len(x)))
    places = np.random.default_rng(0).permutation(len(x))
    for other in (MEASURES[name](np.exp(x / 3), y, ones(len(x))), MEASURES[name](x[places], y[places], ones(len(x)))):
        np.testing.assert_allclose(other, found, atol=1e-12)


@every_measure
def test_the_label_itself_is_perfect(name: str) -> None:
    y = two_labels()
    assert MEASURES[name](y, y, ones(60)) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 + 0.1, -7.3])
def test_a_constant_has_no_correlation_and_the_accuracy_of_chance(value: float) -> None:
    x, y = np.full(60, value), two_labels()
    for name in ("spearman", "pearson", "kendall"):
        assert np.isnan(MEASURES[name](x, y, ones(60))[0]), name
    assert agreement.roc_auc(x, y == 1, ones(60))[0] == 0.5
    assert agreement.optimal_accuracy(x, y == 1, ones(60), folded=True)[0] == max(np.mean(y), 1 - np.mean(y))


@every_measure
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_one_class_alone_is_no_number(name: str, label: float) -> None:
    assert np.isnan(MEASURES[name](tied(), np.full(60, label), ones(60))[0])


def test_squares_that_overflow_are_correlated_too() -> None:
    x, y = tied(), two_labels()
    assert agreement.pearson(1e306 * x, y, ones(60)) == pytest.approx(agreement.pearson(x, y, ones(60)))


def test_partial_spearman_is_that_of_the_residuals_ranks() -> None:
    rng = np.random.default_rng(5)
    x, y, z = rng.normal(size=(3, 80))
    x, y = x + z, y + z
    weights = ones(80)
    ours = agreement.partial(
        agreement.spearman(x, y, weights), agreement.spearman(x, z, weights), agreement.spearman(y, z, weights)
    )
    rx, ry, rz = (stats.rankdata(each) for each in (x, y, z))

    def rest(ranks: Floats) -> Floats:
        fit = stats.linregress(rz, ranks)
        return np.asarray(ranks - fit.slope * rz - fit.intercept)

    assert ours[0] == pytest.approx(stats.pearsonr(rest(rx), rest(ry)).statistic, abs=1e-12)
    # z explains x wholly: nothing is left to correlate.
    assert np.isnan(agreement.partial(np.array([0.5]), np.array([1.0]), np.array([0.5]))[0])


def test_pairs_within_are_all_pairs_of_a_context_with_different_labels() -> None:
    groups, labels = ["a", "b", "a", "a", "b", "c"], np.array([1.0, 0, 0, 1, 0, 1])
    found = agreement.pairs_within(groups, labels)
    expected = {
        (i, j) if labels[i] > labels[j] else (j, i)
        for i, j in combinations(range(6), 2)
        if groups[i] == groups[j] and labels[i] != labels[j]
    }
    assert set(zip(found.first.tolist(), found.second.tolist(), strict=True)) == expected == {(0, 2), (3, 2)}
    scores = np.array([2.0, 0, 2, 3, 0, 0])
    assert agreement.pair_accuracy(scores, found, ones(6))[0] == 0.75  # a tie, and one that is right


def test_no_pairs_no_accuracy() -> None:
    none = agreement.pairs_within(["a", "b"], np.array([1.0, 0.0]))
    assert np.isnan(agreement.pair_accuracy(np.array([1.0, 0.0]), none, ones(2))[0])


def test_reliability_recovers_what_made_the_ratings() -> None:
    # True scores of variance 4, ten raters of variance 5 each: the mean of ten has error variance 0.5.
    rng = np.random.default_rng(6)
    truth = rng.normal(scale=2.0, size=20_000)
    ratings = truth[:, None] + rng.normal(scale=5**0.5, size=(20_000, 10))
    found = agreement.reliability(ratings.mean(axis=1), ratings.std(axis=1), ones(20_000))[0]
    assert found == pytest.approx(4 / 4.5, abs=0.005)
    # Its root bounds the correlation of anything with the mean rating: that of the truth reaches it.
    assert np.corrcoef(truth, ratings.mean(axis=1))[0, 1] == pytest.approx(found**0.5, abs=0.005)
    assert np.isnan(agreement.reliability(np.ones(5), np.ones(5), ones(5))[0])


RNG = np.random.default_rng(7)
LABELS = np.repeat(np.linspace(0.2, 1.2, 25), 4)
SCORES = LABELS + RNG.normal(0, 0.3, 100)


def test_a_draw_of_all_sets_is_spearmans_rho() -> None:
    found = resampled_spearman(SCORES, LABELS, size=100, draws=3)
    assert found.mean == pytest.approx(stats.spearmanr(SCORES, LABELS).statistic, abs=1e-12)
    assert found.sd == pytest.approx(0, abs=1e-12)


def test_draws_have_the_mean_and_spread_of_scipys_on_random_subsets() -> None:
    plain = []
    for _ in range(2000):
        rows = RNG.choice(100, 40, replace=False)
        plain.append(stats.spearmanr(SCORES[rows], LABELS[rows]).statistic)
    found = resampled_spearman(SCORES, LABELS, size=40, draws=2000, seed=1)
    # Standard errors of both means together are 0.002, of both standard deviations 0.0015.
    assert found.mean == pytest.approx(np.mean(plain), abs=0.008)
    assert found.sd == pytest.approx(np.std(plain), abs=0.006)


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
