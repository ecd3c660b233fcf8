"""The study of metrics: against scipy and scikit-learn on small sets, and against the bounds of its record."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError
from scipy.stats import rankdata, spearmanr
from sklearn.metrics import roc_auc_score

from benchmark.analysis.metaeval.labelled import CONFIGS, Labelled
from benchmark.analysis.metaeval.scores import Scores
from benchmark.metrics import METRICS
from benchmark.metrics.metric import Missing
from benchmark.scoring.estimate import Resampling
from benchmark.scoring.inputs import Value
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.results import sign
from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError
from leaderboard.data.board import make_boards
from leaderboard.data.metric_study.build import (
    OVERALL,
    make_study,
    rank_agreement,
    study_tasks,
    systems_agreement,
    worst_disagreements,
)
from leaderboard.data.metric_study.record import Agreement, MetricStudy, Number
from tests.leaderboard.data.test_board import aggregate, result

LEXICAL = find_profile("lexical")
HOW = Resampling(resamples=60)
Floats = NDArray[np.float64]


def task(name: str, sets: int = 24, seed: int = 0, human: bool = True) -> Labelled:
    """Made-up sets, two of a context; ties among people's scores."""
    rng = np.random.default_rng(seed)
    ids = tuple(f"{name.replace('/', '-')}-{i:02}" for i in range(sets))
    texts = tuple(tuple(f"{word} {i}" for word in ("one", "two", "three")) for i in range(sets))
    return Labelled(
        name=name,
        label="binary",
        set_ids=ids,
        contexts=tuple(f"{name} {i // 2}" for i in range(sets)),
        responses=texts,
        labels=np.array([i % 2 for i in range(sets)], np.float64),
        lengths=rng.uniform(5, 50, sets),
        human=np.round(rng.uniform(1, 5, sets), 1) if human else None,
        human_spread=rng.uniform(0.3, 1, sets) if human else None,
        released={},
        label_name="content diversity",
    )


def scores(name: str, tasks: list[Labelled], seed: int, missing: tuple[str, ...] = ()) -> Scores:
    """Scores that follow the label a little, to one decimal, so that some tie."""
    rng = np.random.default_rng(seed)
    values: dict[str, Value] = {}
    for each in tasks:
        for set_id, label in zip(each.set_ids, each.labels.tolist(), strict=True):
            values[set_id] = round(label + float(rng.normal()), 1)
    values |= {name: Missing("no text") for name in missing}
    return Scores(name, "metric v1", values)


def column(study: MetricStudy, name: str, metric: str, measure: str) -> Number:
    found = study.task(name)
    assert found is not None
    (own,) = [each for each in found.results if each.metric == metric]
    return {str(key): value for key, value in own.measures.items()}[measure]


def test_measures_are_those_of_scipy_and_scikit_learn_on_the_sets_that_all_metrics_scored() -> None:
    tasks = [task("contest/story_gen"), task("mcdiv/resp_gen", seed=1, human=False)]
    lacking = tasks[0].set_ids[5]
    columns = [scores("distinct_n", tasks, 1), scores("self_bleu", tasks, 2, (lacking,))]
    study = make_study(tasks, columns, LEXICAL, resampling=HOW)
    first, second = study.tasks
    assert (first.sets, first.evaluated, first.human, first.k) == (24, 23, True, 3)
    assert (second.evaluated, second.human, second.disagreements) == (24, False, {})
    assert first.results[1].missing == {"no text": 1}
    keep = np.array([name != lacking for name in tasks[0].set_ids])
    for each in columns:
        given = each.column(tasks[0].set_ids)[keep]
        labels, human = tasks[0].labels[keep], tasks[0].human
        assert human is not None
        wanted = {
            "spearman": spearmanr(given, labels).statistic,
            "human_spearman": spearmanr(given, human[keep]).statistic,
            "roc_auc": roc_auc_score(labels, given),
        }
        for measure, value in wanted.items():
            found = column(study, "contest/story_gen", each.name, measure)
            assert found.value == pytest.approx(value, abs=5.1e-4)
            assert found.low is not None
            assert found.high is not None
            assert found.low <= value <= found.high
        assert "human_spearman" not in {str(name) for name in second.results[0].measures}
    means = {each.metric: each.measures["spearman"].value for each in study.overall}
    for name, mean in means.items():
        own = [column(study, each.name, name, "spearman").value for each in tasks]
        assert mean == pytest.approx(np.mean([value for value in own if value is not None]), abs=2e-3)
        assert {each.tasks for each in study.overall} == {2}


def test_ranks_agree_as_in_scipy_and_what_is_missing_leaves_its_pairs_alone() -> None:
    rng = np.random.default_rng(3)
    values = np.round(rng.normal(size=(5, 30)), 1)
    values[1] = 2 * values[0] + 1  # the same ranks
    values[2] = -values[0]
    values[3] = 7.0  # says nothing
    values[4, ::3] = np.nan
    found = rank_agreement(values)
    assert found[0, 1] == pytest.approx(1)
    assert found[0, 2] == pytest.approx(-1)
    assert np.isnan(found[3]).all()
    there = np.isfinite(values[4])
    assert found[0, 4] == pytest.approx(spearmanr(values[0, there], values[4, there]).statistic)
    np.testing.assert_allclose(found, found.T)
    assert np.isnan(rank_agreement(values[:2, :2])).all()  # of two things a correlation is always 1 or -1


def test_a_groups_agreement_is_the_mean_of_its_tasks() -> None:
    tasks = [task("contest/story_gen"), task("contest/resp_gen", seed=1), task("mcdiv/story_gen", seed=2, human=False)]
    part = task("mcdiv_nuggets/story_gen_with_hds", seed=4)  # its sets stand in another split, too
    columns = [scores(name, [*tasks, part], seed) for seed, name in enumerate(("distinct_n", "ead", "entropy_1"))]
    study = make_study([*tasks, part], columns, LEXICAL, resampling=HOW)
    groups = {each.group: each for each in study.agreements}
    assert {name: each.members for name, each in groups.items()} == {
        OVERALL: [each.name for each in tasks],
        "contest": ["contest/story_gen", "contest/resp_gen"],
        "mcdiv": ["mcdiv/story_gen"],
    }

    def rho(each: Labelled, i: int, j: int) -> float:
        return float(spearmanr(columns[i].column(each.set_ids), columns[j].column(each.set_ids)).statistic)

    for name, members in ((OVERALL, tasks), ("contest", tasks[:2])):
        matrix = groups[name].matrix()
        for i in range(3):
            assert matrix[i][i] == 1
            for j in range(i + 1, 3):
                wanted = float(np.mean([rho(each, i, j) for each in members]))
                assert matrix[i][j] == matrix[j][i] == pytest.approx(wanted, abs=5.1e-4)
    assert study.overall[0].tasks == 3


def test_a_metric_that_was_not_tried_on_a_task_costs_the_others_nothing_there() -> None:
    tasks = [task("contest/story_gen"), task("dectest/story_gen", seed=1)]
    columns = [scores(name, tasks, seed) for seed, name in enumerate(("distinct_n", "ead"))]
    slow = scores("d_can", tasks[:1], 5)
    study = make_study(tasks, [columns[0], slow, columns[1]], find_profile("offline"), resampling=HOW)
    first, second = study.tasks
    assert [each.metric for each in first.results] == ["distinct_n", "d_can", "ead"]
    assert [each.metric for each in second.results] == list(second.disagreements) == ["distinct_n", "ead"]
    assert second.evaluated == 24
    assert second.results == make_study(tasks, columns, LEXICAL, resampling=HOW).tasks[1].results
    matrices = {each.group: each.matrix() for each in study.agreements}
    assert matrices["dectest"][0][1] is None
    assert matrices["dectest"][0][2] is not None
    one, other = (each.column(tasks[0].set_ids) for each in (columns[0], slow))
    assert matrices["contest"][0][1] == pytest.approx(spearmanr(one, other).statistic, abs=5.1e-4)


def test_worst_disagreements_are_those_of_a_plain_search() -> None:
    rng = np.random.default_rng(5)
    for size in (0, 1, 2, 7, 40):
        human, given = np.round(rng.uniform(1, 5, size), 1), np.round(rng.normal(size=size), 1)
        ids = [f"set-{i:03}" for i in rng.permutation(size)]
        found = worst_disagreements(ids, human, given, 5)
        if size:
            gaps = {name: abs(a - b) for name, a, b in zip(ids, rankdata(human), rankdata(given), strict=True)}
            wanted = sorted((name for name in ids if gaps[name]), key=lambda name: (-gaps[name], name))[:5]
            assert [each.set_id for each in found] == wanted
            for each in found:
                place = ids.index(each.set_id)
                assert abs(each.metric_rank - each.human_rank) == gaps[each.set_id]
                assert (each.human, each.value) == (human[place], given[place])
    same = np.array([1.0, 2.0, 3.0])
    assert worst_disagreements(["a", "b", "c"], same, 10 * same, 5) == []
    assert [each.set_id for each in worst_disagreements(["a", "b", "c"], same, -same, 1)] == ["a"]


def test_signatures_are_those_of_results_without_the_data() -> None:
    profile = find_profile("offline").replace(format="completion")
    tasks = [task("contest/story_gen")]
    columns = [scores(name, tasks, 0) for name in ("d_can", "self_bleu")]
    columns.append(Scores("released:sent_bert", "released with the texts, 3 decimals", columns[0].values))
    columns.append(Scores("mine:spread", "external, negated", columns[0].values))
    study = make_study(tasks, columns, profile, resampling=HOW)
    suite = Suite("x", "y", ())
    data = f"|data:x@{suite.revision}|k:3"
    for entry in study.metrics[:2]:
        metric = next(each for each in METRICS if each.id == entry.name)
        assert f"{entry.signature}{data}" == str(sign(metric, profile, suite, 3, None)).replace(data, "") + data
    assert [(each.origin, each.negated) for each in study.metrics] == [
        ("metric", False), ("metric", True), ("released", False), ("external", True),
    ]  # fmt: skip
    moved = replace(tasks[0], labels=1 - tasks[0].labels)
    assert make_study([moved], columns, profile, resampling=HOW).tasks[0].revision != study.tasks[0].revision


def test_a_reason_of_ones_own_stays_a_line_and_there_are_few() -> None:
    tasks = [task("contest/story_gen", sets=30)]
    values: dict[str, Value] = {name: Missing(f"bad\n\x1b[31m {name}" * 50) for name in tasks[0].set_ids[:25]}
    values |= dict.fromkeys(tasks[0].set_ids[25:], 1.0)
    study = make_study(tasks, [Scores("mine:f", "external", values)], LEXICAL, resampling=HOW)
    reasons = study.tasks[0].results[0].missing
    assert len(reasons) == 20
    assert all(len(each) <= 300 and each.isprintable() for each in reasons)
    nothing = make_study(tasks, [Scores("mine:f", "external", {})], LEXICAL, resampling=HOW)
    assert (nothing.tasks[0].evaluated, nothing.tasks[0].results[0].measures) == (0, {})


def test_two_metrics_of_one_name_and_none_at_all_are_refused() -> None:
    tasks = [task("contest/story_gen")]
    twice = [scores("distinct_n", tasks, 1), scores("distinct_n", tasks, 2)]
    with pytest.raises(ConfigurationError, match="two metrics are named 'distinct_n'"):
        make_study(tasks, twice, LEXICAL)
    with pytest.raises(ConfigurationError, match="there are no metrics"):
        make_study(tasks, [], LEXICAL)


def test_all_tasks_are_studied_and_the_parts_that_people_scored() -> None:
    every = study_tasks()
    assert len(every) == len(set(every)) == 18
    assert {name.partition("/")[0] for name in every} == set(CONFIGS)
    assert "dectest/story_gen_with_hds" in every
    assert study_tasks(["mcdiv/story_gen"]) == ["mcdiv/story_gen"]
    assert study_tasks(["dectest/story_gen"]) == ["dectest/story_gen", "dectest/story_gen_with_hds"]
    assert study_tasks(["dectest/story_gen_with_hds"]) == ["dectest/story_gen_with_hds"]
    with pytest.raises(ConfigurationError, match="not a dataset with labels"):
        study_tasks(["gssbench"])


def test_metrics_agree_on_systems_as_their_means_rank_them() -> None:
    rng = np.random.default_rng(8)
    means = rng.normal(size=(3, 6))
    names, directions = ("distinct_n", "self_bleu", "coherence"), (1, -1, 0)
    made = []
    for j in range(6):
        own = [aggregate(n, float(means[i, j]), direction=directions[i]) for i, n in enumerate(names)]
        made.append(result(f"system {j}", *own))
    (board,) = make_boards([(Path(f"r{j}"), each) for j, each in enumerate(made)])
    found = systems_agreement(board)
    assert found is not None
    assert sorted(found.metrics) == ["distinct_n", "self_bleu"]  # coherence says neither more nor less
    assert len(found.members) == 6
    assert found.rho[0][0] == pytest.approx(spearmanr(means[0], -means[1]).statistic, abs=5.1e-4)
    (few,) = make_boards([(Path(f"r{j}"), each) for j, each in enumerate(made[:2])])
    assert systems_agreement(few) is None


@pytest.mark.parametrize(
    ("rho", "metrics"),
    [([[0.5]], ["a", "b"]), ([[0.5], [0.5]], ["a", "b"]), ([[1.5], []], ["a", "b"]), ([[0.5], []], ["a", "a"])],
)
def test_an_agreement_is_a_triangle_of_correlations(rho: list[list[float | None]], metrics: list[str]) -> None:
    whole = Agreement(over="sets", group="g", members=[], metrics=["a", "b"], rho=[[0.5], []])
    assert whole.matrix() == [[1, 0.5], [0.5, 1]]
    with pytest.raises(ValidationError):
        Agreement(over="sets", group="g", members=[], metrics=metrics, rho=rho)
