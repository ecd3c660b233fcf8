"""Groups of prompts: each number against someone else's or a plain version, laws, files of labels, and the command."""

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmark.analysis.contrast import label_study
from benchmark.analysis.contrast.label_report import report_of
from benchmark.analysis.contrast.label_study import LabelStudy, contrast_groups
from benchmark.analysis.contrast.labels import (
    LabelContrast,
    Labels,
    MetricScores,
    PromptScores,
    Threshold,
    best_threshold,
    correlations,
    held_out_predictions,
    macro_f1,
    stars,
)
from benchmark.analysis.metaeval.agreement import ones
from benchmark.metrics.metric import Missing
from benchmark.scoring.estimate import Floats, holm
from benchmark.scoring.inputs import Value
from divbench.core.errors import ConfigurationError
from divbench.core.tables import write_report

Group = Sequence[Value]


def scores_of(*metrics: MetricScores, prompt_bytes: Sequence[float] | None = None) -> PromptScores:
    prompts = len(metrics[0].values)
    lengths = np.arange(prompts, dtype=np.float64) % 7 + 1 if prompt_bytes is None else np.array(prompt_bytes, float)
    ids = tuple(f"p{i}" for i in range(prompts))
    return PromptScores("a system", "0" * 16, "1" * 16, "own@123456789abc", "lexical", 10, ids, lengths, metrics)


def metric_of(values: Sequence[Value], direction: int = 1, name: str = "m") -> MetricScores:
    return MetricScores(name, 1, direction, "computed", f"{name}|v:1", tuple(values))


def labels_of(is_1: Sequence[bool], columns: Mapping[str, Sequence[float]] | None = None) -> Labels:
    numbers = {name: {f"p{i}": v for i, v in enumerate(own)} for name, own in (columns or {}).items()}
    return Labels("a file", "ones", "zeros", {f"p{i}": each for i, each in enumerate(is_1)}, {}, numbers)


def contrast(one: Group, zero: Group, direction: int = 1, **options: Any) -> LabelContrast:
    """One metric on two groups, the first of which is group 1."""
    is_1 = [True] * len(one) + [False] * len(zero)
    options = {"resamples": 100} | options
    study = contrast_groups(scores_of(metric_of([*one, *zero], direction)), labels_of(is_1), **options)
    return study.contrasts[0]


def there(value: float | None) -> float:
    """A number that must be there."""
    assert value is not None
    return value


def drawn(seed: int = 0, one: int = 60, zero: int = 45, shift: float = 0.7) -> tuple[list[float], list[float]]:
    """Rounded, so that there are ties; of unequal variance."""
    rng = np.random.default_rng(seed)
    return (
        np.round(rng.normal(shift, 1.0, one), 1).tolist(),
        np.round(rng.normal(0.0, 2.0, zero), 1).tolist(),
    )


def test_welchs_t_is_the_golden_one() -> None:
    found = contrast([1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 5.0])
    assert (found.t, found.df, found.p) == pytest.approx((-0.420084025208, 3.597510373444, 0.698283243114), abs=1e-12)
    assert (found.n1, found.n0, found.mean1, found.mean0, found.stars) == (4, 3, 2.5, 3.0, "")
    pooled = math.sqrt((3 * np.var([1, 2, 3, 4], ddof=1) + 2 * np.var([2, 2, 5], ddof=1)) / 5)
    assert found.d == pytest.approx(-0.5 / pooled, rel=1e-12)


@pytest.mark.parametrize("direction", [1, 0, -1])
@pytest.mark.parametrize("seed", range(3))
def test_t_and_auroc_are_scipys(seed: int, direction: int) -> None:
    one, zero = drawn(seed)
    found = contrast(one, zero, direction)
    theirs = stats.ttest_ind(one, zero, equal_var=False)
    assert (found.t, found.p, found.df) == pytest.approx((theirs.statistic, theirs.pvalue, theirs.df), rel=1e-10)
    u = stats.mannwhitneyu(one, zero).statistic / (len(one) * len(zero))
    assert found.auroc.value == pytest.approx(1 - u if direction < 0 else u, rel=1e-12)
    sign = -1 if direction < 0 else 1
    hard = np.array([True] * len(one) + [False] * len(zero))
    assert found.auroc.value == pytest.approx(roc_auc_score(hard, sign * np.array([*one, *zero])), rel=1e-12)
    low, value, high = (there(each) for each in (found.auroc.low, found.auroc.value, found.auroc.high))
    assert low < value < high


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("seed", range(4))
def test_swapping_the_groups_turns_the_numbers_round(seed: int, direction: int) -> None:
    one, zero = drawn(seed)
    here, swapped = contrast(one, zero, direction), contrast(zero, one, direction)
    turned = (-there(here.t), -there(here.d), 1 - there(here.auroc.value))
    assert (swapped.t, swapped.d, swapped.auroc.value) == pytest.approx(turned, rel=1e-12)
    assert (swapped.df, swapped.p, swapped.n1, swapped.n0) == (here.df, here.p, here.n0, here.n1)
    assert (swapped.mean1, swapped.mean0) == (here.mean0, here.mean1)


def test_a_perfect_separator_is_told_as_one() -> None:
    rng = np.random.default_rng(0)
    high, low = rng.uniform(5, 6, 40).tolist(), rng.uniform(0, 1, 30).tolist()
    found = contrast(high, low)
    told = found.classifier
    assert told is not None
    assert (found.auroc.value, told.accuracy.value, told.macro_f1.value) == (1, 1, 1)
    assert (told.accuracy.low, told.above, told.folds) == (1, True, 5)
    assert told.majority == pytest.approx(4 / 7)
    assert told.threshold == pytest.approx((min(high) + max(low)) / 2)
    assert found.stars == "***"
    below = contrast(low, high)
    assert below.classifier is not None
    assert (below.auroc.value, below.classifier.accuracy.value, below.classifier.above) == (0, 1, False)
    assert below.classifier.majority == told.majority  # the larger group is now group 0
    assert contrast(low, high, direction=-1).auroc.value == 1


def test_shuffled_labels_tell_no_more_than_the_majority() -> None:
    accuracies = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=400)
        is_1 = rng.permutation(400) < 280
        predicted = held_out_predictions(values, is_1, seed=seed)
        accuracies.append(float(np.mean(predicted == is_1)))
    assert np.mean(accuracies) == pytest.approx(0.7, abs=0.02)
    assert max(accuracies) < 0.75


SCORES = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=12)


@given(SCORES)
def test_the_threshold_is_the_best_of_all(rows: list[tuple[int, bool]]) -> None:
    scores = np.array([score for score, _ in rows], np.float64)
    is_1 = np.array([label for _, label in rows])
    cuts = [-np.inf, *(value + 0.5 for value in range(-4, 4)), np.inf]
    best = max(float(np.mean(((scores > cut) == above) == is_1)) for cut in cuts for above in (True, False))
    found = best_threshold(scores, is_1)
    assert np.mean(found.predict(scores) == is_1) == best
    if np.isfinite(found.cut):
        low, high = scores[scores <= found.cut].max(), scores[scores > found.cut].min()
        assert found.cut == (low + high) / 2


def test_of_equally_good_thresholds_the_middle_one_is_taken() -> None:
    alternating = np.array([False, True, False, True, False, True])
    assert best_threshold(np.arange(6.0), alternating) == Threshold(2.5, True)  # 0.5, 2.5, 4.5 are right four times
    assert best_threshold(np.arange(4.0), alternating[:4]) == Threshold(0.5, True)  # 0.5 and 2.5: the lower
    assert best_threshold(np.arange(6.0), ~alternating) == Threshold(2.5, False)
    assert best_threshold(np.arange(3.0), np.array([True, False, True])).above  # of both sides, which tie
    neighbours = np.array([1.0, np.nextafter(1.0, 2.0)])
    assert best_threshold(neighbours, np.array([False, True])).predict(neighbours).tolist() == [False, True]
    assert math.isinf(best_threshold(np.ones(3), np.array([True, True, False])).cut)


def test_what_is_predicted_of_a_prompt_comes_from_other_folds() -> None:
    one, zero = drawn(3)
    scores, is_1 = np.array([*one, *zero], np.float64), np.arange(105) < 60
    predicted = held_out_predictions(scores, is_1, seed=7)
    for train, rest in StratifiedKFold(5, shuffle=True, random_state=7).split(scores, is_1):
        cuts = np.arange(-10, 10, 0.05) + 0.025
        sides = [(cut, above) for above in (True, False) for cut in cuts]
        right = [int(np.sum(((scores[train] > cut) == above) == is_1[train])) for cut, above in sides]
        chosen = best_threshold(scores[train], is_1[train])
        assert np.sum(chosen.predict(scores[train]) == is_1[train]) == max(right)
        assert (predicted[rest] == chosen.predict(scores[rest])).all()
    assert len({held_out_predictions(scores, is_1, seed=seed).tobytes() for seed in range(9)}) > 1
    found = contrast(one, zero, seed=7)
    assert found.classifier is not None
    assert found.classifier.accuracy.value == pytest.approx(accuracy_score(is_1, predicted))
    assert found.classifier.macro_f1.value == pytest.approx(f1_score(is_1, predicted, average="macro"))
    assert found.classifier.majority == pytest.approx(60 / 105)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3)), min_size=1, max_size=15))
def test_macro_f1_is_scikit_learns(rows: list[tuple[bool, bool, int]]) -> None:
    is_1, predicted, times = (np.array(column) for column in zip(*rows, strict=True))
    if times.sum() == 0:
        return
    options: dict[str, Any] = {"average": "macro", "labels": [False, True], "zero_division": 0}
    expected = f1_score(is_1, predicted, sample_weight=times, **options)
    repeated = f1_score(is_1.repeat(times), predicted.repeat(times), **options)
    found = macro_f1(is_1.astype(bool), predicted.astype(bool), times[None, :].astype(np.float64))
    assert found.tolist() == pytest.approx([expected])
    assert expected == pytest.approx(repeated)


def residuals(values: Floats, on: Floats) -> Floats:
    """What a straight line leaves."""
    slope, intercept = np.polyfit(on, values, 1)
    return np.asarray(values - slope * on - intercept)


@pytest.mark.parametrize("seed", range(3))
def test_correlations_are_scipys_and_partial_ones_those_of_residuals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    length = rng.integers(10, 40, 80).astype(np.float64)
    x = np.round(0.05 * length + rng.normal(size=80), 1)
    y = np.round(0.1 * length - 0.3 * x + rng.normal(size=80), 1)
    pearson, spearman, partial_pearson, partial_spearman = (each[0] for each in correlations(x, y, length, ones(80)))
    assert pearson == pytest.approx(stats.pearsonr(x, y).statistic)
    assert spearman == pytest.approx(stats.spearmanr(x, y).statistic)
    assert partial_pearson == pytest.approx(stats.pearsonr(residuals(x, length), residuals(y, length)).statistic)
    of_x, of_y, of_length = (stats.rankdata(each) for each in (x, y, length))
    by_rank = stats.pearsonr(residuals(of_x, of_length), residuals(of_y, of_length)).statistic
    assert partial_spearman == pytest.approx(by_rank)


def test_intervals_of_correlations_are_those_of_a_plain_bootstrap() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    y = x + rng.normal(size=50)
    length = rng.normal(size=50)
    study = contrast_groups(
        scores_of(metric_of(x.tolist()), prompt_bytes=length.tolist()),
        labels_of([i % 2 == 0 for i in range(50)], {"tokens": y.tolist()}),
        resamples=2000,
    )
    [found] = study.contrasts[0].correlations
    plain = []
    for _ in range(2000):
        rows = rng.integers(50, size=50)
        plain.append([stats.pearsonr(x[rows], y[rows]).statistic, stats.spearmanr(x[rows], y[rows]).statistic])
    low, high = np.quantile(plain, [0.025, 0.975], axis=0)
    assert (found.pearson.low, found.spearman.low) == pytest.approx(tuple(low), abs=0.04)
    assert (found.pearson.high, found.spearman.high) == pytest.approx(tuple(high), abs=0.04)
    assert (found.n, found.left_out, found.untested) == (50, 0, None)
    assert found.partial_pearson.low is not None


def test_blocks_of_resamples_are_as_good_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    one, zero = drawn()
    done: list[int] = []
    whole = contrast(one, zero, resamples=3000)
    monkeypatch.setattr(label_study, "_CELLS_AT_ONCE", 105 * 700)
    parts = contrast(one, zero, resamples=3000, progress=done.append)
    assert done == [700, 700, 700, 700, 200]
    assert parts.auroc.value == whole.auroc.value
    assert (parts.auroc.low, parts.auroc.high) == pytest.approx((whole.auroc.low, whole.auroc.high), abs=0.01)


def test_what_is_missing_leaves_that_metric_and_is_counted() -> None:
    one, zero = drawn()
    gone: list[Value] = [Missing("fewer than two responses"), Missing("fewer than two responses"), math.nan]
    columns = {"tokens": [*np.arange(105.0).tolist(), *([5.0] * 3)]}
    is_1 = [True] * 60 + [False] * 45 + [True, False, False]
    study = contrast_groups(
        scores_of(metric_of([*one, *zero, *gone]), metric_of(np.arange(108.0).tolist(), name="other")),
        labels_of(is_1, columns),
        resamples=100,
    )
    found, other = study.contrasts
    alone = contrast(one, zero)
    assert (found.n1, found.n0, found.left_out) == (60, 45, 3)
    assert found.reasons == {"fewer than two responses": 2, "not a number": 1}
    assert (found.t, found.p, found.auroc.value, found.mean1) == (alone.t, alone.p, alone.auroc.value, alone.mean1)
    assert (found.correlations[0].n, found.correlations[0].left_out) == (105, 3)
    assert (other.n1, other.n0, other.left_out) == (61, 47, 0)
    assert (study.n1, study.n0) == (61, 47)


def test_prompts_without_a_label_are_in_no_number() -> None:
    one, zero = drawn()
    labels = labels_of([True] * 60 + [False] * 45)
    more: list[Value] = [1e6, -1e6]
    study = contrast_groups(scores_of(metric_of([*one, *zero, *more])), labels, resamples=100)
    assert study.contrasts[0] == contrast(one, zero)


@pytest.mark.parametrize(
    ("one", "zero", "why"),
    [
        ([1.0, 2.0, 3.0], [], "all labels are equal"),
        ([], [1.0, 2.0], "all labels are equal"),
        ([1.0, 2.0, 3.0], [2.0], "fewer than two prompts of a group have a value"),
        ([1.0, 2.0, 3.0], [2.0, Missing("x")], "fewer than two prompts of a group have a value"),
        ([Missing("x")] * 3, [Missing("x")] * 3, "fewer than two prompts of a group have a value"),
        ([0.3] * 3, [0.3, 0.1 + 0.2, 0.3], "the metric is constant"),
        ([0.0] * 3, [0.0] * 3, "the metric is constant"),
    ],
    ids=["no zeros", "no ones", "one zero", "one value", "no values", "constant but for rounding", "zeros"],
)
def test_what_cannot_be_told_is_missing_with_its_reason(one: list[Value], zero: list[Value], why: str) -> None:
    found = contrast(one, zero)
    assert found.untested == why
    assert (found.t, found.df, found.p, found.p_holm, found.d, found.classifier) == (None,) * 6
    assert (found.auroc.value, found.auroc.low, found.stars) == (None, None, "")


def test_stars_are_the_usual_ones() -> None:
    assert [stars(p) for p in (None, 0.05, 0.049, 0.01, 0.009, 0.001, 0.0009)] == ["", "", "*", "*", "**", "**", "***"]


def test_a_group_that_does_not_vary_is_tested_against_one_that_does() -> None:
    found, theirs = contrast([2.0] * 4, [1.0, 1.5, 3.0]), stats.ttest_1samp([1.0, 1.5, 3.0], 2.0)
    assert (found.t, found.p) == pytest.approx((-theirs.statistic, theirs.pvalue))


def test_groups_that_do_not_vary_have_no_t_but_can_be_told_apart() -> None:
    found = contrast([2.0] * 4, [1.0] * 5)
    assert (found.t, found.p, found.d, found.untested) == (None, None, None, "no value varies within a group: no t")
    assert found.auroc.value == 1
    assert found.classifier is not None
    assert (found.classifier.accuracy.value, found.classifier.folds) == (1, 4)


@pytest.mark.parametrize(
    ("values", "column", "lengths", "why"),
    [
        ([1.0, 2.0, 3.0, math.nan], [1.0, 2.0, 3.0, 4.0], None, "fewer than 4 prompts have both"),
        ([1.0, 1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0], None, "constant: metric"),
        ([1.0, 2.0, 3.0, 1.0, 2.0], [7.0] * 5, None, "constant: column"),
        ([1.0, 2.0, 3.0, 1.0, 2.0], [1.0, 4.0, 2.0, 4.0, 3.0], [5.0] * 5, "no partial correlation"),
        ([1.0, 2.0, 3.0, 1.0, 2.0], [1.0, 4.0, 2.0, 4.0, 3.0], [1.0, 4.0, 2.0, 4.0, 3.0], "no partial correlation"),
    ],
    ids=["few", "constant metric", "constant column", "constant length", "the length itself"],
)
def test_a_correlation_that_cannot_be_had_is_missing(
    values: list[Value], column: list[float], lengths: list[float] | None, why: str
) -> None:
    labels = labels_of([i % 2 == 0 for i in range(len(values))], {"tokens": column})
    study = contrast_groups(scores_of(metric_of(values), prompt_bytes=lengths), labels, resamples=100)
    [found] = study.contrasts[0].correlations
    assert found.untested is not None
    assert found.untested.startswith(why)
    assert (found.pearson.value is None) == (lengths is None)
    assert (found.partial_pearson.value, found.partial_spearman.value) == (None, None)


def many_metrics(**options: Any) -> LabelStudy:
    rng = np.random.default_rng(0)
    is_1 = np.arange(80) < 35
    shifted = [metric_of((rng.normal(size=80) + s * is_1).tolist(), name=f"m{s}") for s in (0.0, 0.3, 0.6, 2.0)]
    flat = metric_of([1.0] * 80, -1, "flat")
    labels = labels_of(is_1.tolist(), {"=tokens|x": rng.normal(size=80).tolist()})
    return contrast_groups(scores_of(flat, *shifted), labels, **{"resamples": 100} | options)


def test_p_is_corrected_over_the_metrics_that_are_tested() -> None:
    tested = [each for each in many_metrics().contrasts if each.p is not None]
    assert len(tested) == 4
    assert [each.p_holm for each in tested] == pytest.approx(holm([there(each.p) for each in tested]).tolist())


def test_a_study_is_the_same_again() -> None:
    assert many_metrics() == many_metrics()
    assert many_metrics(seed=1) != many_metrics()


def test_csv_has_every_digit_and_markdown_every_metric(tmp_path: Path) -> None:
    study = many_metrics()
    rows = list(csv.DictReader(report_of(study).text(".csv").splitlines()))
    assert [row["metric"] for row in rows] == ["flat", "m0.0", "m0.3", "m0.6", "m2.0"]
    for row, each in zip(rows, study.contrasts, strict=True):
        assert row["t"] == ("" if each.t is None else repr(each.t))
        told = each.classifier
        assert row["accuracy low"] == ("" if told is None else repr(told.accuracy.low))
        assert row["pearson of =tokens|x"] == ("" if each.t is None else repr(each.correlations[0].pearson.value))
    table = report_of(study).text(".md").splitlines()
    assert sum(line.startswith(("| m", "| flat")) for line in table) == 12  # with both headings
    assert any("=tokens\\|x" in line for line in table)
    assert any("missing: the metric is constant" in line for line in table)
    for ending in ("md", "csv", "json"):
        write_report(report_of(study), tmp_path / f"out.{ending}")
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8")) == json.loads(json.dumps(asdict(study)))
    with pytest.raises(ConfigurationError, match="does not end in"):
        write_report(report_of(study), tmp_path / "out.txt")
