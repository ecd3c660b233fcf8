"""Evaluations: what is left out, what intervals and p promise, and what was published."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmark.analysis.metaeval.agreement import Floats
from benchmark.analysis.metaeval.evaluate import evaluate_overall, evaluate_task
from benchmark.analysis.metaeval.labelled import (
    BINARY_TASKS,
    Labelled,
    load_labelled,
    read_set_file,
    task_names,
    write_sets,
)
from benchmark.analysis.metaeval.report import missing_of, report_of
from benchmark.analysis.metaeval.scores import Scores, metric_scores, released_scores
from benchmark.metrics import METRICS
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.estimate import Resampling
from benchmark.scoring.inputs import Value
from benchmark.scoring.profiles import find_profile
from divbench.core.errors import ConfigurationError
from divbench.core.tables import Table

FEW = Resampling(resamples=200)


def labelled(
    contexts: int = 40, *, name: str = "made/story_gen", seed: int = 0, human: bool = False, graded: bool = False
) -> Labelled:
    """A high and a low set of each context; in graded ones one set of a context, with temperatures."""
    rng = np.random.default_rng(seed)
    rows = contexts if graded else 2 * contexts
    labels = np.round(rng.uniform(0.2, 1.2, rows), 2) if graded else np.tile([1.0, 0.0], contexts)
    names = [f"{name}/{i if graded else i // 2}" for i in range(rows)]
    return Labelled(
        name=name,
        label="graded" if graded else "binary",
        set_ids=tuple(f"{name}/set-{i}" for i in range(rows)),
        contexts=tuple(names),
        responses=tuple(("a", "b") for _ in range(rows)),
        labels=labels,
        lengths=rng.uniform(10, 90, rows),
        human=labels + rng.normal(size=rows) if human else None,
        human_spread=np.full(rows, 0.5) if human else None,
        released={},
    )


def scores(name: str, task: Labelled, values: Sequence[float] | Floats) -> Scores:
    """NaN where missing."""
    found: list[Value] = [float(value) if np.isfinite(value) else Missing("hidden") for value in values]
    return Scores(name, "made", dict(zip(task.set_ids, found, strict=True)))


def noisy(task: Labelled, noise: float, seed: int = 1) -> Floats:
    return task.labels + np.random.default_rng(seed).normal(scale=noise, size=len(task.labels))


def test_the_label_is_perfect_its_reverse_is_not_and_a_constant_is_nothing() -> None:
    task = labelled(human=True)
    columns = [
        scores("label", task, task.labels),
        scores("reverse", task, -task.labels),
        scores("constant", task, np.ones(80)),
    ]
    found = {each.metric: each.measures for each in evaluate_task(task, columns, resampling=FEW).evaluations}
    # Length held fixed, the label is still itself.
    for measure in (
        "spearman",
        "pearson",
        "kendall",
        "oca_directional",
        "oca_folded",
        "roc_auc",
        "pair_accuracy",
        "partial_spearman",
    ):
        assert found["label"][measure].value == pytest.approx(1.0), measure
        assert found["label"][measure].low == pytest.approx(1.0), measure
    values = {measure: each.value for measure, each in found["reverse"].items()}
    assert values["spearman"] == values["pearson"] == values["kendall"] == pytest.approx(-1.0)
    assert (values["oca_folded"], values["oca_directional"], values["roc_auc"], values["pair_accuracy"]) == (
        1,
        0.5,
        0,
        0,
    )
    of_constant = {measure: each.value for measure, each in found["constant"].items()}
    for measure in ("spearman", "pearson", "kendall", "partial_spearman", "human_spearman"):
        assert of_constant[measure] is None, measure
    assert of_constant["oca_folded"] == of_constant["roc_auc"] == of_constant["pair_accuracy"] == 0.5


def test_a_set_that_one_metric_lacks_is_left_out_for_all() -> None:
    task = labelled()
    hidden = noisy(task, 1.0)
    hidden[[0, 7, 8]] = np.nan
    report = evaluate_task(
        task, [scores("whole", task, noisy(task, 0.5)), scores("holes", task, hidden)], resampling=FEW
    )
    whole, holes = report.evaluations
    assert (whole.sets, whole.missing, whole.left_out) == (77, {}, 3)
    assert (holes.sets, holes.missing, holes.left_out) == (77, {"hidden": 3}, 0)
    there = np.isfinite(hidden)
    expected = stats.spearmanr(noisy(task, 0.5)[there], task.labels[there]).statistic
    assert whole.measures["spearman"].value == pytest.approx(expected)
    assert report.pairs == 37  # the three sets are of three contexts


def test_a_metric_that_scores_no_set_leaves_out_none() -> None:
    task = labelled()
    columns = [scores("whole", task, noisy(task, 0.5)), scores("none", task, np.full(80, np.nan))]
    alone, with_it = (evaluate_task(task, given, against="whole", resampling=FEW) for given in (columns[:1], columns))
    assert with_it.evaluations[0] == alone.evaluations[0]
    none = with_it.evaluations[1]
    assert (none.sets, none.missing, none.measures, with_it.comparisons) == (0, {"hidden": 80}, {}, ())
    assert missing_of(with_it)[0].text == "none: no score for any set (80 hidden)"


def test_the_most_frequent_reasons_are_listed() -> None:
    """A function may give another reason for every set."""
    task = labelled()
    given = [Missing(f"raised ValueError: {i if i < 60 else 'same'}") if i < 70 else 1.0 for i in range(80)]
    (line,) = missing_of(evaluate_task(task, [Scores("m", "made", dict(zip(task.set_ids, given, strict=True)))]))
    assert line.text.startswith(
        "m: no score for 70 sets, excluded for all metrics (10 raised ValueError: same, 1 raised "
    )
    assert line.text.endswith(", and 58 for other reasons)")


def test_intervals_follow_contexts_not_rows() -> None:
    # Every context ten times over: the same evidence, and the same interval; rows would make it three times narrower.
    task = labelled(30)
    often = Labelled(
        task.name,
        task.label,
        tuple(f"{name}/{copy}" for copy in range(10) for name in task.set_ids),
        task.contexts * 10,
        task.responses * 10,
        np.tile(task.labels, 10),
        np.tile(task.lengths, 10),
        None,
        None,
        {},
    )
    values = noisy(task, 1.0)
    (once,) = evaluate_task(task, [scores("m", task, values)], resampling=FEW).evaluations
    (tenfold,) = evaluate_task(often, [scores("m", often, np.tile(values, 10))], resampling=FEW).evaluations
    for name in ("spearman", "roc_auc", "pair_accuracy"):
        a, b = once.measures[name], tenfold.measures[name]
        assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), abs=0.01)


def test_p_of_shuffled_labels_is_uniform() -> None:
    rng = np.random.default_rng(8)
    found: dict[str, list[float]] = {"spearman": [], "roc_auc": [], "difference": []}
    for seed in range(250):
        task = labelled(60, graded=False, seed=seed)
        # Labels that say nothing: scores are drawn without them, with a part that a context shares.
        columns = [
            scores(name, task, np.repeat(rng.normal(size=60), 2) + rng.normal(size=120)) for name in ("one", "other")
        ]
        report = evaluate_task(task, columns, against="other", resampling=Resampling(150, seed=seed))
        for measure in ("spearman", "roc_auc"):
            found[measure].append(report.evaluations[0].measures[measure].p or 0)
        (difference,) = [each for each in report.comparisons if each.measure == "spearman"]
        found["difference"].append(difference.difference.p or 0)
    for name, values in found.items():
        assert stats.kstest(values, "uniform").pvalue > 0.01, name
        assert 0.02 <= np.mean(np.array(values) < 0.05) <= 0.09, name


def test_a_comparison_is_paired() -> None:
    # Two metrics that differ by a whisker: each interval is wide, that of the difference is not, and it says which.
    task = labelled(100)
    values = noisy(task, 1.0)
    better = values + 0.15 * task.labels
    report = evaluate_task(task, [scores("a", task, better), scores("b", task, values)], against="b", resampling=FEW)
    of_rho = next(each.difference for each in report.comparisons if each.measure == "spearman")
    a, b = (each.measures["spearman"] for each in report.evaluations)
    assert (a.low or 0) < (b.high or 0)
    assert of_rho.value == pytest.approx((a.value or 0) - (b.value or 0))
    assert (of_rho.low or 0) > 0
    assert {each.a for each in report.comparisons} == {"a"}
    same = evaluate_task(task, [scores("a", task, values), scores("b", task, values)], against="b", resampling=FEW)
    assert {(each.difference.value, each.difference.p) for each in same.comparisons} == {(0.0, 1.0)}


def test_temperatures_have_the_decoding_tests_and_no_accuracy() -> None:
    task = labelled(500, graded=True)
    report = evaluate_task(
        task, [scores("label", task, task.labels), scores("m", task, noisy(task, 0.3))], resampling=FEW
    )
    assert not {"oca_directional", "oca_folded", "roc_auc", "pair_accuracy"} & set(report.evaluations[0].measures)
    perfect, noise = report.decoding
    assert (perfect.resampled.mean, perfect.ranking.accuracy.mean) == pytest.approx((1, 1))
    assert noise.resampled.mean == pytest.approx(report.evaluations[1].measures["spearman"].value, abs=0.01)


def test_the_mean_over_tasks_is_the_mean_of_the_tasks() -> None:
    tasks = [
        labelled(seed=1),
        labelled(30, name="made/resp_gen", seed=2),
        labelled(graded=True, name="made/prompt_gen"),
    ]
    columns = [
        Scores(name, "made", {k: v for t in tasks for k, v in scores(name, t, noisy(t, noise)).values.items()})
        for name, noise in (("a", 0.5), ("b", 1.5))
    ]
    found = evaluate_overall(tasks, columns, against="b", resampling=FEW)
    for place, each in enumerate(found):
        assert each.tasks == 2
        for measure, estimate in each.measures.items():
            of_tasks = [evaluate_task(t, columns, resampling=FEW).evaluations[place].measures for t in tasks[:2]]
            assert estimate.value == pytest.approx(np.mean([m[measure].value for m in of_tasks]))
    assert found[0].less["spearman"].value == pytest.approx(
        (found[0].measures["spearman"].value or 0) - (found[1].measures["spearman"].value or 0)
    )
    assert found[1].less == {}
    assert evaluate_overall(tasks[1:], columns) == []


def test_tasks_by_name() -> None:
    assert task_names(["contest"]) == ["contest/story_gen", "contest/resp_gen", "contest/prompt_gen"]
    assert task_names(["mcdiv_nuggets", "mcdiv_nuggets/resp_gen"]) == [
        f"mcdiv_nuggets/{t}" for t in ("story_gen", "resp_gen", "prompt_gen")
    ]
    assert task_names(["dectest/story_gen_with_hds"]) == ["dectest/story_gen_with_hds"]
    for wrong in ("olmo_stages", "contest/nothing", "nothing"):
        with pytest.raises(ConfigurationError):
            task_names([wrong])


@pytest.mark.mirror
def test_published_numbers_come_back(mirror: Path) -> None:
    # Spec of the data: (rho, folded OCA) of the released sent-BERT column and of distinct-n from the texts.
    tasks = [load_labelled(name, mirror=mirror) for name in BINARY_TASKS]
    chosen = [metric for metric in METRICS if metric.id == "distinct_n_tevet"]
    columns = [
        *metric_scores(tasks, chosen, ScoringBackends(find_profile("lexical"))),
        *released_scores(tasks, ["sent_bert"]),
    ]
    expected = {
        "contest/story_gen": (0.573, 0.772, 0.770, 0.896),
        "contest/resp_gen": (0.346, 0.677, 0.591, 0.791),
        "contest/prompt_gen": (0.333, 0.675, 0.682, 0.815),
        "mcdiv/story_gen": (0.535, 0.744, 0.753, 0.867),
        "mcdiv/resp_gen": (0.517, 0.738, 0.678, 0.830),
        "mcdiv/prompt_gen": (0.476, 0.746, 0.796, 0.897),
        "mcdiv_nuggets/story_gen": (-0.002, 0.510, 0.633, 0.803),
        "mcdiv_nuggets/resp_gen": (-0.002, 0.507, 0.532, 0.758),
        "mcdiv_nuggets/prompt_gen": (-0.003, 0.514, 0.728, 0.850),
    }
    for task in tasks:
        found = [
            each.measures[name].value
            for each in evaluate_task(task, columns, resampling=FEW).evaluations
            for name in ("spearman", "oca_folded")
        ]
        # distinct-n from the texts, not rounded to three decimals as the published numbers were.
        assert found[:2] == pytest.approx(expected[task.name][:2], abs=0.005)
        assert found[2:] == pytest.approx(expected[task.name][2:], abs=0.0006)


@pytest.mark.mirror
def test_the_blank_set_is_left_out_for_every_metric(mirror: Path) -> None:
    task = load_labelled("dectest/prompt_gen", mirror=mirror)
    chosen = [metric for metric in METRICS if metric.id == "distinct_n_tevet"]
    columns = [
        *metric_scores([task], chosen, ScoringBackends(find_profile("lexical"))),
        *released_scores([task], ["sent_bert"]),
    ]
    report = evaluate_task(task, columns, resampling=FEW)
    distinct, sent_bert = report.evaluations
    assert (report.sets, distinct.sets, distinct.missing, sent_bert.left_out) == (1000, 999, {"no response": 1}, 1)
    # D_Can's Table 3, which drops it: .917 and .747; with it .912 and .742.
    assert distinct.measures["spearman"].value == pytest.approx(0.917, abs=0.0006)
    assert sent_bert.measures["spearman"].value == pytest.approx(0.747, abs=0.0006)


@pytest.mark.parametrize(
    ("contexts", "has_interval", "has_p"), [(1, False, False), (19, True, False), (20, True, True)]
)
def test_one_context_gives_no_interval_and_few_give_no_p_value(contexts: int, has_interval: bool, has_p: bool) -> None:
    """All resamples of a single context are alike: their interval would be a point, and p the smallest possible."""
    task = replace(labelled(20), contexts=tuple(f"context {i // 2 % contexts}" for i in range(40)))
    columns = [scores("a", task, noisy(task, 0.5)), scores("b", task, noisy(task, 2.0))]
    report = evaluate_task(task, columns, against="b", resampling=FEW)
    found = [*report.evaluations[0].measures.values(), *(each.difference for each in report.comparisons)]
    both = [task, labelled(20, name="made/resp_gen")]  # the second has more contexts
    for mean in evaluate_overall(both, [all_scores("a", both), all_scores("b", both)], against="b", resampling=FEW):
        found += [*mean.measures.values(), *mean.less.values()]
    assert all(each.value is not None for each in found)
    assert {each.low is not None for each in found} == {has_interval}
    assert any(each.p is not None for each in found) == has_p


@pytest.mark.parametrize(
    ("with_pairs", "has_interval", "has_p"), [(1, False, False), (19, True, False), (20, True, True)]
)
def test_of_many_contexts_only_those_with_pairs_count_for_the_accuracy_on_pairs(
    with_pairs: int, has_interval: bool, has_p: bool
) -> None:
    made = labelled(20)
    contexts = [name if row < 2 * with_pairs else f"{row}" for row, name in enumerate(made.contexts)]
    task = replace(made, contexts=tuple(contexts))
    report = evaluate_task(task, [scores("label", task, task.labels)], resampling=FEW)
    found = report.evaluations[0].measures
    accuracy = found["pair_accuracy"]
    assert (report.pairs, accuracy.value) == (with_pairs, 1.0)
    assert (accuracy.low is not None, accuracy.p is not None) == (has_interval, has_p)
    assert found["spearman"].p is not None


def all_scores(name: str, tasks: Sequence[Labelled]) -> Scores:
    return Scores(name, "made", {k: v for t in tasks for k, v in scores(name, t, noisy(t, 0.5)).values.items()})


def test_a_users_file_is_resampled_with_the_tasks_whose_contexts_it_shares() -> None:
    """It varies with them as a task of the same kind does."""
    task = labelled(30)
    some = task.rows(np.arange(len(task.set_ids)) >= 20)
    scored = [all_scores("a", [task])]
    (mine,), (other,) = (
        evaluate_overall([task, replace(some, name=name)], scored, resampling=FEW)
        for name in ("mine", task.name.replace("made", "other"))
    )
    assert mine == other


def test_a_metric_without_scores_leaves_the_means_over_tasks_as_they_are_and_fewer_tasks_are_told() -> None:
    tasks = [labelled(seed=1), labelled(30, name="made/resp_gen", seed=2), labelled(30, name="made/prompt_gen")]
    a, nothing = all_scores("a", tasks), Scores("nothing", "file", {})
    assert evaluate_overall(tasks, [a, nothing], resampling=FEW) == evaluate_overall(tasks, [a], resampling=FEW)
    assert evaluate_overall(tasks, [nothing], resampling=FEW) == []
    reports = [evaluate_task(each, [a], resampling=FEW) for each in tasks]

    def said(number: int) -> str:
        own = evaluate_overall(tasks, [a, all_scores("b", tasks[:number])], resampling=FEW)
        blocks = report_of(reports, own, {"profile": "lexical"}).blocks
        return " ".join(each.title if isinstance(each, Table) else str(each) for each in blocks)

    assert "No mean over tasks: fewer than two tasks have sets of both labels that all metrics scored." in said(1)
    assert "Mean over 2 tasks of 3; the others have no sets of both labels that all metrics scored" in said(2)
    assert "Mean over 3 tasks made/" in said(3)
    assert "Profile of this package's metrics: lexical." in said(3)


def test_a_task_of_which_one_label_is_scored_has_no_measures_and_is_not_in_the_mean() -> None:
    tasks = [labelled(seed=1), labelled(30, name="made/resp_gen", seed=2), labelled(30, name="made/prompt_gen")]
    only_high = [replace(task, labels=np.where(task.labels == 1, 1.0, np.nan)) for task in tasks]
    some = {name: value for task in tasks[:2] for name, value in scores("b", task, noisy(task, 0.5)).values.items()}
    some |= scores("b", tasks[2], only_high[2].labels).values
    columns = [all_scores("a", tasks), Scores("b", "made", some)]
    (alone, _) = evaluate_task(tasks[2], columns, resampling=FEW).evaluations
    assert alone.sets == 30
    assert {each.value for name, each in alone.measures.items() if name != "human_spearman"} == {None}
    mean, _ = evaluate_overall(tasks, columns, resampling=FEW)
    assert (mean.tasks, mean) == (2, evaluate_overall(tasks[:2], columns, resampling=FEW)[0])


def test_a_file_of_labels_0_and_1_is_a_task_with_two_labels(tmp_path: Path) -> None:
    path, rng = tmp_path / "two.parquet", np.random.default_rng(0)
    rows = [
        {"set_id": f"s{i}", "context": f"c{i // 2}", "responses": ["a", "b"], "label": i % 2, "label_name": "condition"}
        for i in range(40)
    ]
    write_sets(path, rows, {})
    task = read_set_file(path)
    report = evaluate_task(task, [scores("m", task, task.labels + rng.normal(size=40))], resampling=FEW)
    assert {"oca_directional", "roc_auc"} <= report.evaluations[0].measures.keys()
    assert report.decoding == ()  # those tests are of a decoding parameter
    (table,) = (each for each in report_of([report], [], {}).blocks if isinstance(each, Table))
    assert table.title.startswith("two by condition: 40 of 40 sets")
    write_sets(path, [row | {"label": 2 * float(str(row["label"]))} for row in rows], {})
    assert read_set_file(path).label == "graded"
    assert len(evaluate_overall([task, labelled()], [all_scores("a", [task, labelled()])], resampling=FEW)) == 1
