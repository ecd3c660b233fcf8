"""Prompt pairs: scorers whose accuracy is known beforehand, and every number against loops."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmark.analysis.gss.pairs import (
    PairEvaluation,
    compare_pairs,
    evaluate_pairs,
    load_pairs,
    sanity_scores,
    scorers_of_result,
)
from benchmark.metrics import METRICS
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.scorer import Options, score_submission
from datasets_build.gssbench import SPLITS
from datasets_build.load import load_suite
from divbench.core.errors import InputError
from divbench.core.files import plain_json
from tests.benchmark.helpers import rows_of, submit, suite_of

RowsBySplit = dict[str, list[dict[str, Any]]]
FEW = 100  # resamples, where intervals do not matter


@pytest.fixture(scope="module")
def pairs() -> RowsBySplit:
    return load_pairs()


@pytest.fixture(scope="module")
def scorers(pairs: RowsBySplit) -> dict[str, dict[str, float]]:
    return sanity_scores(pairs)


def strict(found: PairEvaluation) -> dict[str, float | None]:
    return {split: each.accuracy.strict.value for split, each in found.splits.items()}


def test_the_six_splits(pairs: RowsBySplit) -> None:
    assert {split: len(rows) for split, rows in pairs.items()} == dict(
        zip(SPLITS, [500, 500, 500, 1800, 3000, 3000], strict=True)
    )


def test_length_alone_decides_five_splits(pairs: RowsBySplit, scorers: dict[str, dict[str, float]]) -> None:
    found = evaluate_pairs(pairs, scorers["prompt_length"], resamples=FEW)
    assert strict(found) == {
        "complement": 1.0,
        "factualqa": 0.092,
        "random_choice": 1.0,
        "subset": 0.0,
        "union": 1.0,
        "intersection": 0.0,
    }
    assert found.longer == ("complement", "random_choice", "union")
    assert found.shorter == ("subset", "intersection")
    assert found.length_balanced is not None
    assert found.length_balanced.strict.value == 0.5
    factual = found.splits["factualqa"]
    assert (factual.ties, factual.accuracy.half.value) == (2, 0.094)
    assert (factual.longer_is_larger, factual.shorter_is_larger) == (0.09, 0.904)  # of bytes, as é has two
    # Bytes and characters differ in a few accents alone.
    for split in found.splits.values():
        assert split.length_spearman.value == pytest.approx(1, abs=1e-3)
        assert split.length_pearson.value == pytest.approx(1, abs=1e-3)
    assert found.mean_of_splits.strict.value == pytest.approx(3.092 / 6)
    assert found.pair_weighted.strict.value == pytest.approx((500 + 46 + 500 + 3000) / 9300)


def test_a_constant_is_wrong_or_half_right(pairs: RowsBySplit, scorers: dict[str, dict[str, float]]) -> None:
    found = evaluate_pairs(pairs, scorers["constant"], resamples=FEW)
    for each in [*(split.accuracy for split in found.splits.values()), found.mean_of_splits, found.pair_weighted]:
        assert (each.strict.value, each.half.value, each.tie_rate.value, each.missing_rate.value) == (0, 0.5, 1, 0)
        assert (each.half.low, each.half.high) == (0.5, 0.5)
    assert found.splits["union"].length_spearman.value is None


def test_what_differs_by_rounding_is_tied_and_95_percent_are_enough() -> None:
    rows = [
        {"a_id": f"a{i}", "b_id": f"b{i}", "a": "x" * (3 if i == 0 else 1), "b": "xx", "set_id": f"s{i}"}
        for i in range(20)
    ]
    scores = {f"a{i}": 3.0 for i in range(20)} | {f"b{i}": 3 * (1 + 1e-13) if i < 10 else 4.0 for i in range(20)}
    found = evaluate_pairs({"made": rows}, scores, resamples=FEW)
    accuracy = found.splits["made"].accuracy
    assert (accuracy.strict.value, accuracy.half.value, accuracy.tie_rate.value) == (0.5, 0.75, 0.5)
    assert (found.longer, found.shorter) == (("made",), ())  # in 19 of 20 pairs
    assert evaluate_pairs({"made": [*rows[:19], rows[0] | {"set_id": "t"}]}, scores, resamples=FEW).longer == ()
    swapped = [row | {"a": row["b"], "b": row["a"]} for row in rows]
    assert evaluate_pairs({"made": swapped}, scores, resamples=FEW).shorter == ("made",)


def small(pairs: RowsBySplit) -> RowsBySplit:
    """Some sets of each kind of split, so that loops are fast."""
    return {split: pairs[split][:200] for split in ("factualqa", "union", "subset")}


def rounded(pairs: RowsBySplit) -> dict[str, float]:
    """Scores with many ties and some that are missing."""
    drawn = sanity_scores(pairs, 3)["random"]
    made = {prompt: math.floor(6 * value) / 3 for prompt, value in drawn.items()}
    for i, prompt in enumerate(list(made)):
        if i % 17 == 0:
            made[prompt] = math.nan
        if i % 23 == 0:
            del made[prompt]
    return made


def test_every_number_equals_a_plain_count(pairs: RowsBySplit) -> None:
    few, scores = small(pairs), rounded(pairs)
    found = evaluate_pairs(few, scores, resamples=150, seed=5)
    macro = np.zeros(151)
    right_of_all, all_counted = np.zeros(151), np.zeros(151)
    for place, (split, rows) in enumerate(few.items()):
        sets = list(dict.fromkeys(row["set_id"] for row in rows))
        members = [[row for row in rows if row["set_id"] == name] for name in sets]
        draws = np.random.default_rng(5 + place).integers(len(sets), size=(150, len(sets)))
        rates, ties = [], []
        for picks in [range(len(sets)), *draws]:
            right = tied = missing = counted = 0
            for row in (row for i in picks for row in members[i]):
                a, b = scores.get(row["a_id"], math.nan), scores.get(row["b_id"], math.nan)
                gone = math.isnan(a) or math.isnan(b)
                missing += gone
                counted += 1
                right += a < b
                tied += a == b
            rates.append(right / counted)
            ties.append(tied / counted)
            at = len(rates) - 1
            right_of_all[at] += right
            all_counted[at] += counted
            if at == 0:
                assert (found.splits[split].ties, found.splits[split].missing) == (tied, missing)
                assert found.splits[split].accuracy.missing_rate.value == pytest.approx(missing / len(rows))
        ours = found.splits[split].accuracy
        for estimate, plain in ((ours.strict, rates), (ours.tie_rate, ties)):
            ends = np.quantile(plain[1:], [0.025, 0.975])
            assert [estimate.value, estimate.low, estimate.high] == pytest.approx([plain[0], *ends])
        macro += np.array(rates) / 3
    for estimate, plain_mean in (
        (found.mean_of_splits.strict, macro),
        (found.pair_weighted.strict, right_of_all / all_counted),
    ):
        ends = np.quantile(plain_mean[1:], [0.025, 0.975])
        assert [estimate.value, estimate.low, estimate.high] == pytest.approx([plain_mean[0], *ends])


def test_what_differs_by_rounding_is_a_tie_and_what_is_infinite_is_missing() -> None:
    row = {"a_id": "a", "b_id": "b", "a": "x", "b": "y", "set_id": "s"}

    def ties_and_missing(a: float, b: float) -> tuple[int, int]:
        found = evaluate_pairs({"one": [row]}, {"a": a, "b": b}, resamples=5).splits["one"]
        return found.ties, found.missing

    assert ties_and_missing(1e9, 1e9 * (1 + 5e-13)) == (1, 0)
    assert ties_and_missing(1e9, 1e9 * (1 + 5e-12)) == (0, 0)
    assert ties_and_missing(0.0, 0.0) == (1, 0)
    assert ties_and_missing(1.0, math.inf) == (0, 1)


def test_correlations_with_length_are_scipys_over_different_prompts(pairs: RowsBySplit) -> None:
    scores = rounded(pairs)
    for split, each in evaluate_pairs(pairs, scores, resamples=FEW).splits.items():
        texts = {row[f"{side}_id"]: row[side] for row in pairs[split] for side in "ab"}
        there = [prompt for prompt in texts if math.isfinite(scores.get(prompt, math.nan))]
        x, y = [scores[prompt] for prompt in there], [len(texts[prompt].encode()) for prompt in there]
        for ours, theirs in (
            (each.length_spearman, stats.spearmanr(x, y).statistic),
            (each.length_pearson, stats.pearsonr(x, y).statistic),
        ):
            assert ours.value == pytest.approx(theirs)
            assert ours.low is not None
            assert ours.high is not None
            assert ours.low < theirs < ours.high


def test_intervals_follow_sets_and_not_pairs(pairs: RowsBySplit) -> None:
    # A scorer that is right on whole sets or wrong on whole sets: 60 draws, not 3,000.
    scores = dict(sanity_scores(pairs)["oracle"])
    for row in pairs["union"]:
        if int(row["set_id"].split("-")[1]) % 2:
            for side in ("a_id", "b_id"):
                scores[row[side]] = -abs(scores[row[side]])
    accuracy = evaluate_pairs(pairs, scores).splits["union"].accuracy.strict
    assert accuracy.value is not None
    assert accuracy.low is not None
    assert accuracy.high is not None
    assert accuracy.value == pytest.approx(0.5)
    assert accuracy.high - accuracy.low == pytest.approx(2 * 1.96 * math.sqrt(0.25 / 60), rel=0.15)


def test_a_prompt_of_several_sets_is_resampled_with_the_first() -> None:
    places = [("p", "q", "one"), ("r", "s", "one"), ("p", "q", "two")]
    rows = [{"a_id": a, "b_id": b, "a": a, "b": 2 * b, "set_id": own} for a, b, own in places]
    found = evaluate_pairs({"made": rows}, dict(zip("pqrs", (1, 3, 2, 4), strict=True)), resamples=FEW).splits["made"]
    # Of the lengths 1, 2, 1, 2 with the ranks 1½, 3½, 1½, 3½. All resamples of the one set are alike.
    assert found.length_spearman.value == pytest.approx(2 / 5**0.5)
    assert found.length_spearman.low == found.length_spearman.high == found.length_spearman.value


def test_two_scorers_are_compared_on_the_same_sets(pairs: RowsBySplit, scorers: dict[str, dict[str, float]]) -> None:
    length, oracle = scorers["prompt_length"], scorers["oracle"]
    found = compare_pairs(pairs, oracle, length, resamples=200)
    assert found.strict["subset"].value == 1.0
    assert found.strict["subset"].p == pytest.approx(1 / 201)
    assert found.strict["complement"].p == 1.0
    assert found.strict["length_balanced"].value == 0.5
    alone = evaluate_pairs(pairs, length, resamples=200).mean_of_splits.strict
    gap = found.strict["mean_of_splits"]
    assert gap.low is not None
    assert [gap.value, gap.low, gap.high] == pytest.approx(
        [1 - (alone.value or 0), 1 - (alone.high or 0), 1 - (alone.low or 0)]
    )
    same = compare_pairs(pairs, length, {p: 2 * v for p, v in length.items()}, resamples=FEW)
    assert {each.value for each in [*same.strict.values(), *same.half.values()]} == {0.0}
    json.dumps(plain_json(found), allow_nan=False)


def test_pairs_that_contradict_each_other_have_no_oracle() -> None:
    row = {"a": "x", "b": "y", "set_id": "s"}
    rows = [row | {"a_id": "a", "b_id": "b"}, row | {"a_id": "b", "b_id": "a"}]
    with pytest.raises(ValueError, match="contradict"):
        sanity_scores({"made up": rows})


def test_scores_come_from_a_result_of_the_suite(tmp_path: Path, pairs: RowsBySplit) -> None:
    suite = load_suite("gssbench")
    # The more words a prompt has, the more different ones its answers have; one prompt has no answer.
    rows = rows_of(suite, 2, lambda i, k: tuple(f"a{j} " * (i % 7 + 1) if i else " " for j in range(k)))
    submission = submit(tmp_path / "submission", suite, rows)
    few = tuple(metric for metric in METRICS if metric.id in {"distinct_n", "unique_1grams", "distinct_k"})
    backends = ScoringBackends(find_profile("lexical"))
    scored = score_submission(submission, suite, backends, tmp_path / "results", Options(resamples=100), metrics=few)
    found = {scorer.name: scorer.scores for scorer in scorers_of_result(scored.folder)}
    assert found.keys() == {score.metric for score in scored.result.scores} == {metric.id for metric in few}
    assert found["distinct_n"].keys() == set(suite.by_id)
    first = suite.prompts[0].prompt_id
    assert math.isnan(found["distinct_n"][first])
    assert found["unique_1grams"][suite.prompts[1].prompt_id] == 2
    evaluation = evaluate_pairs(pairs, found["distinct_n"], resamples=20)
    assert sum(split.missing for split in evaluation.splits.values()) == sum(
        first in (row["a_id"], row["b_id"]) for each in pairs.values() for row in each
    )


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no result in"):
        scorers_of_result(tmp_path)
    suite = suite_of(2)
    submission = submit(tmp_path / "submission", suite, rows_of(suite, 2))
    scored = score_submission(
        submission, suite, ScoringBackends(find_profile("lexical")), tmp_path / "out", Options(resamples=100)
    )
    with pytest.raises(InputError, match="a result of made-up"):
        scorers_of_result(scored.folder)
