"""What a meta-evaluation says of few contexts, metrics without scores, and files of two groups of sets."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.analysis.metaeval.evaluate import evaluate_overall, evaluate_task
from benchmark.analysis.metaeval.labelled import Labelled, read_set_file, write_sets
from benchmark.analysis.metaeval.report import report_of
from benchmark.analysis.metaeval.scores import Scores
from divbench.core.tables import Table
from tests.benchmark.analysis.test_metaeval import FEW, labelled, noisy, scores


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
