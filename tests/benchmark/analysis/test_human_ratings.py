"""What ratings say: a published value of alpha, scores by hand, and conTest's released ratings through the kit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.analysis.human_ratings import HumanScore, krippendorff_alpha, set_scores, write_rated_sets
from benchmark.analysis.metaeval.evaluate import evaluate_task
from benchmark.analysis.metaeval.labelled import read_set_file
from benchmark.analysis.metaeval.scores import Scores
from benchmark.scoring.estimate import Estimate
from submissions.choices import FormName
from submissions.judgements.rating_study import RatedSet, Study, make_study
from submissions.judgements.ratings import Rating, Ratings
from submissions.untrusted.findings import Rejected

# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example E: four observers, twelve units.
TABLE = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3),
    (0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0),
)
SETS = tuple(RatedSet(f"set-{i}", "A prompt", (f"one {i}", f"two {i}")) for i in range(12))


def study_of(form: str = "absolute") -> Study:
    return make_study(form, SETS[:12], raters_per_item=4, per_rater=20, seed=0)  # type: ignore[arg-type]


def table_ratings(study: Study) -> list[Rating]:
    item_of = {each.sets[0]: each.item for each in study.items if each.kind == "rating"}
    return [
        Rating(item_of[f"set-{unit}"], f"rater-{rater}", "content", answer, None)
        for rater, row in enumerate(TABLE)
        for unit, answer in enumerate(row)
        if answer
    ]


def given(ratings: list[Rating]) -> Ratings:
    return Ratings(tuple(ratings), 4, {}, 0, 0, 0, 1, 0)


def test_alpha_is_the_published_one_and_has_an_interval() -> None:
    study = study_of()
    found = krippendorff_alpha(study, table_ratings(study), "content", resamples=200)
    assert found.value == pytest.approx(0.815, abs=5e-4)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high <= 1
    last = next(each.item for each in study.items if each.sets[0] == "set-11")  # its single rating says nothing
    others = [each for each in table_ratings(study) if each.item != last]
    assert krippendorff_alpha(study, others, "content", resamples=200) == found
    same = [Rating(each.item, each.rater, "content", 3, None) for each in table_ratings(study)]
    assert krippendorff_alpha(study, same, "content", resamples=100).value is None
    assert krippendorff_alpha(study, [], "content", resamples=100).value is None


def test_the_pairs_of_a_set_are_resampled_together() -> None:
    """Ten pairs of a set that all say the same are one observation, not ten."""
    sets = [RatedSet(f"set-{i}", "A prompt", tuple(f"{word} {i}" for word in "abcde")) for i in range(8)]
    study = make_study("similarity", sets, raters_per_item=2, per_rater=100, seed=0)
    answers = {f"set-{i}": (1 + i % 5, 1 + (i * i) % 5) for i in range(8)}
    ratings = [
        Rating(each.item, who, "similarity", answer, None)
        for each in study.items
        if each.kind == "rating"
        for who, answer in zip("ab", answers[each.sets[0]], strict=True)
    ]
    all_pairs = krippendorff_alpha(study, ratings, "similarity", resamples=400)
    first = {each.sets[0]: each.item for each in study.items if each.kind == "rating"}
    one_pair = krippendorff_alpha(
        study, [each for each in ratings if each.item in first.values()], "similarity", resamples=400
    )
    widths = [each.high - each.low for each in (all_pairs, one_pair) if each.low is not None and each.high is not None]
    assert widths[0] == pytest.approx(widths[1], rel=0.15)


def test_scores_of_sets_by_hand() -> None:
    study = study_of()
    found = set_scores(study, table_ratings(study), "content")["set-5"]
    assert (found.mean, found.raters) == (2.5, 4)
    assert found.std == pytest.approx(np.std([1, 2, 3, 4]))
    similar = study_of("similarity")
    item = next(each for each in similar.items if each.sets == ("set-3",))
    rated = [Rating(item.item, "a", "similarity", 5, None), Rating(item.item, "b", "similarity", 2, None)]
    (found,) = set_scores(similar, rated, "similarity").values()
    assert (found.mean, found.raters) == (-3.5, 2)
    assert found.std == pytest.approx(1.5)
    ranked = study_of("ranking")
    item = next(each for each in ranked.items if each.kind == "rating")
    first, second = item.sets
    rated = [Rating(item.item, who, "more_different", answer, None) for who, answer in (("a", 1), ("b", 1), ("c", 2))]
    scores = set_scores(ranked, rated, "more_different")
    assert scores[first].mean == pytest.approx(2.5 / 3)
    assert scores[second].mean == pytest.approx(0.5 / 3)


@pytest.mark.parametrize("form", ["similarity", "ranking"])
def test_raters_who_agree_on_every_pair_leave_no_noise_however_pairs_differ(form: FormName) -> None:
    """The pairs of a set differ, and raters see different ones; that is no disagreement, and the ceiling is 1."""
    sets = [RatedSet(f"{i}-{j}", f"prompt {i}", ("a", "b", "c", "d")) for i in range(6) for j in range(4)]
    study = make_study(form, sets, raters_per_item=3, per_rater=20, seed=0)
    question, most = ("similarity", 5) if form == "similarity" else ("more_different", 3)
    answers = {each.item: 1 + int(each.item, 16) % most for each in study.items}

    def score(noise: float, seed: int = 0) -> tuple[dict[str, HumanScore], float]:
        rng = np.random.default_rng(seed)
        ratings = [
            Rating(name, f"{rater}", question, int(np.clip(round(answers[name] + rng.normal(0, noise)), 1, most)), None)
            for rater, names in enumerate(study.assignment)
            for name in names
            if study.by_id()[name].kind == "rating"
        ]
        found = set_scores(study, ratings, question)
        error = np.mean([each.std**2 / (each.raters - 1) for each in found.values()])
        return found, float(error)

    agreed, error = score(0)
    assert error == 0
    # The stated standard error is that of the mean: by as many studies whose raters err independently.
    repeated = [score(0.7, seed) for seed in range(150)]
    means = np.array([[own[name].mean for name in agreed] for own, _ in repeated])
    assert np.mean([error for _, error in repeated]) == pytest.approx(means.var(axis=0, ddof=1).mean(), rel=0.08)


def test_the_mean_is_over_pairs_even_if_some_lost_raters_and_single_ratings_tell_no_disagreement() -> None:
    study = make_study(
        "similarity", [RatedSet("s", "A prompt", ("a", "b", "c"))], raters_per_item=3, per_rater=9, seed=0
    )
    one, two, three = (each.item for each in study.items if each.kind == "rating")

    def score(*given: tuple[str, str, int]) -> HumanScore:
        return set_scores(
            study, [Rating(item, who, "similarity", answer, None) for item, who, answer in given], "similarity"
        )["s"]

    alone = score((one, "a", 5), (two, "b", 1), (three, "c", 3))
    assert (alone.mean, alone.raters) == (-3, 1)  # a file of rated sets with such a set has no noise ceiling
    both = score((one, "a", 5), (two, "a", 1), (two, "b", 1), (two, "c", 1))
    assert (both.mean, both.std, both.raters) == (-3, 0, 3)


def test_one_set_gives_alpha_no_interval_and_the_comparisons_of_a_prompt_are_resampled_together() -> None:
    one = make_study("similarity", [RatedSet("s", "A prompt", ("a", "b", "c"))], raters_per_item=2, per_rater=9, seed=0)
    pairs = [each.item for each in one.items if each.kind == "rating"]
    ratings = [Rating(item, who, "similarity", 1 + i, None) for i, item in enumerate(pairs) for who in "ab"]
    assert krippendorff_alpha(one, ratings, "similarity", resamples=100) == Estimate(1.0)
    sets = [RatedSet(f"{j}", "A prompt", ("a", "b")) for j in range(3)]
    ranking = make_study("ranking", sets, raters_per_item=2, per_rater=9, seed=0)
    pairs = [each.item for each in ranking.items if each.kind == "rating"]
    ratings = [Rating(item, who, "more_different", 1 + i, None) for i, item in enumerate(pairs) for who in "ab"]
    assert krippendorff_alpha(ranking, ratings, "more_different", resamples=100) == Estimate(1.0)


def test_metaeval_takes_rated_sets_and_refuses_half_of_their_columns(tmp_path: Path) -> None:
    study, path = study_of(), tmp_path / "rated.parquet"
    assert write_rated_sets(path, study, given(table_ratings(study)), "content") == 12
    task = read_set_file(path)
    assert task.label_name == "human content"
    assert task.human is not None
    np.testing.assert_array_equal(task.human, task.labels)
    assert task.human_spread is None  # one set has one rating: no deviation says anything
    scores = Scores("mean", "file", dict(zip(task.set_ids, task.human.tolist(), strict=True)))
    assert evaluate_task(task, [scores]).evaluations[0].measures["human_spearman"].value == pytest.approx(1)
    alike = replace(study, sets=tuple(replace(each, label=1.0, label_name="made") for each in study.sets))
    assert write_rated_sets(tmp_path / "alike.parquet", alike, given(table_ratings(study)), "content") == 12
    assert read_set_file(tmp_path / "alike.parquet").label_name == "human content"  # a constant ranks nothing
    for names, taken in ((("made", "made"), "made"), (("made", "other"), "human content")):
        sets = tuple(replace(each, label=i, label_name=names[i % 2]) for i, each in enumerate(study.sets))
        write_rated_sets(tmp_path / "l.parquet", replace(study, sets=sets), given(table_ratings(study)), "content")
        assert read_set_file(tmp_path / "l.parquet").label_name == taken
    table = pq.read_table(path)
    for broken in (
        table.drop_columns(["human_std"]),
        table.set_column(5, "human_mean", pa.array([np.nan] * 12)),
        table.set_column(7, "human_raters", pa.array([0] * 12)),
    ):
        pq.write_table(broken, tmp_path / "broken.parquet")
        with pytest.raises(Rejected):
            read_set_file(tmp_path / "broken.parquet")
