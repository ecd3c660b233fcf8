"""The study of metrics, against scipy and scikit-learn on small sets; its scores are computed once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import rankdata, spearmanr
from sklearn.metrics import roc_auc_score

from benchmark.analysis.metaeval.labelled import CONFIGS, Labelled, load_tasks
from benchmark.analysis.metaeval.scores import Scores, metric_scores
from benchmark.metrics import METRICS, Metric, Version
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.estimate import Resampling
from benchmark.scoring.inputs import Value
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.results import sign
from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError, InputError
from leaderboard.data.board import make_boards
from leaderboard.data.metric_study import build
from leaderboard.data.metric_study.build import (
    make_study,
    measured_scores,
    merged,
    rank_agreement,
    read_scores,
    study_scores,
    study_tasks,
    systems_agreement,
    worst_disagreements,
    write_scores,
)
from leaderboard.data.metric_study.study import NOISE_CEILING, OVERALL, UNSCORED
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


def test_measures_are_those_of_scipy_and_scikit_learn_on_the_sets_that_all_metrics_scored() -> None:
    tasks = [task("contest/story_gen"), task("mcdiv/resp_gen", seed=1, human=False)]
    lacking = tasks[0].set_ids[5]
    columns = [scores("distinct_n", tasks, 1), scores("self_bleu", tasks, 2, (lacking,))]
    study = make_study(tasks, columns, LEXICAL, HOW)
    assert study.counts("spearman") == {"contest/story_gen": 23, "mcdiv/resp_gen": 24, OVERALL: 2}
    assert study.counts(UNSCORED) == {"contest/story_gen": 24, "mcdiv/resp_gen": 24}
    assert study.measured("contest/story_gen", UNSCORED)["self_bleu"].value == 1
    assert study.tasks("human_spearman") == study.tasks(NOISE_CEILING) == ["contest/story_gen"]
    assert set(study.disagreements.task) == {"contest/story_gen"}
    keep = np.array([name != lacking for name in tasks[0].set_ids])
    for column in columns:
        values = column.column(tasks[0].set_ids)[keep]
        labels, human = tasks[0].labels[keep], tasks[0].human
        assert human is not None
        wanted = {
            "spearman": spearmanr(values, labels).statistic,
            "human_spearman": spearmanr(values, human[keep]).statistic,
            "roc_auc": roc_auc_score(labels, values),
        }
        for measure, value in wanted.items():
            number = study.measured("contest/story_gen", measure)[column.name]
            assert number.value == pytest.approx(value, abs=5.1e-4)
            assert number.low is not None
            assert number.high is not None
            assert number.low <= value <= number.high
        both = [study.measured(each.name, "spearman")[column.name].value or 0.0 for each in tasks]
        assert study.measured(OVERALL, "spearman")[column.name].value == pytest.approx(np.mean(both), abs=2e-3)


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
    study = make_study([*tasks, part], columns, LEXICAL, HOW)
    groups = {agreement.group: agreement for agreement in study.agreements}
    assert set(groups) == {OVERALL, "contest", "mcdiv"}

    def rho(each: Labelled, i: int, j: int) -> float:
        return float(spearmanr(columns[i].column(each.set_ids), columns[j].column(each.set_ids)).statistic)

    for name, members in ((OVERALL, tasks), ("contest", tasks[:2])):
        matrix = groups[name].matrix
        for i in range(3):
            assert matrix[i][i] == 1
            for j in range(i + 1, 3):
                wanted = float(np.mean([rho(each, i, j) for each in members]))
                assert matrix[i][j] == matrix[j][i] == pytest.approx(wanted, abs=5.1e-4)
    assert study.counts("spearman")[OVERALL] == 3


def test_a_metric_that_was_not_tried_on_a_task_costs_the_others_nothing_there() -> None:
    tasks = [task("contest/story_gen"), task("dectest/story_gen", seed=1)]
    columns = [scores(name, tasks, seed) for seed, name in enumerate(("distinct_n", "ead"))]
    slow = scores("d_can", tasks[:1], 5)
    study = make_study(tasks, [columns[0], slow, columns[1]], find_profile("offline"), HOW)
    assert list(study.measured("contest/story_gen", "spearman")) == ["distinct_n", "d_can", "ead"]
    assert study.counts("spearman")["dectest/story_gen"] == 24
    without = make_study(tasks, columns, LEXICAL, HOW).measured("dectest/story_gen", "spearman")
    assert study.measured("dectest/story_gen", "spearman") == without
    matrices = {agreement.group: agreement.matrix for agreement in study.agreements}
    assert matrices["dectest"][0][1] is None
    assert matrices["dectest"][0][2] is not None
    one, other = (column.column(tasks[0].set_ids) for column in (columns[0], slow))
    assert matrices["contest"][0][1] == pytest.approx(spearmanr(one, other).statistic, abs=5.1e-4)


def test_worst_disagreements_are_those_of_a_plain_search() -> None:
    rng = np.random.default_rng(5)
    for size in (0, 1, 2, 7, 40):
        human, values = np.round(rng.uniform(1, 5, size), 1), np.round(rng.normal(size=size), 1)
        ids = [f"set-{i:03}" for i in rng.permutation(size)]
        worst = worst_disagreements(ids, human, values, 5)
        gaps = {name: abs(a - b) for name, a, b in zip(ids, rankdata(human), rankdata(values), strict=True)}
        wanted = sorted((name for name in ids if gaps[name]), key=lambda name: (-gaps[name], name))[:5]
        assert [name for name, *_ in worst] == wanted
        for name, people, value, human_rank, metric_rank in worst:
            assert abs(metric_rank - human_rank) == gaps[name]
            assert (people, value) == (human[ids.index(name)], values[ids.index(name)])


def test_signatures_are_those_of_results_without_the_data() -> None:
    profile = find_profile("offline").replace(format="completion", outer_space="kept")
    tasks = [task("contest/story_gen")]
    columns = [scores(name, tasks, 0) for name in ("d_can", "self_bleu")]
    columns[1] = replace(columns[1], origin="metric v1, negated")
    columns.append(Scores("released:sent_bert", "released with the texts, 3 decimals", columns[0].values))
    entries = list(make_study(tasks, columns, profile, HOW).metrics.values())
    suite = Suite("x", "y", ())
    data = f"|data:x@{suite.revision}|k:3"
    for entry in entries[:2]:
        metric = next(metric for metric in METRICS if metric.id == entry.name)
        assert f"{entry.signature}{data}" == str(sign(metric, profile, suite, 3, None)).replace(data, "") + data
    assert [(entry.origin, entry.negated) for entry in entries] == [
        ("metric", False), ("metric", True), ("released", False),
    ]  # fmt: skip


def test_other_metrics_of_an_earlier_study_are_kept() -> None:
    tasks = [task("contest/story_gen")]
    one, two, three = (scores(name, tasks, seed) for seed, name in enumerate(("self_bleu", "ead", "distinct_n")))
    earlier = make_study(tasks, [one, two], LEXICAL, HOW)
    both = merged(make_study(tasks, [three, replace(two, values=three.values)], LEXICAL, HOW), earlier)
    assert list(both.metrics) == ["distinct_n", "ead", "self_bleu"]
    known = both.measured("contest/story_gen", "spearman")
    assert known["self_bleu"] == earlier.measured("contest/story_gen", "spearman")["self_bleu"]
    assert known["ead"] == known["distinct_n"]
    matrix = both.agreements[0].matrix
    assert (matrix[0][1], matrix[0][2], matrix[1][2]) == (1, None, None)
    assert set(both.disagreements.metric) == {"distinct_n", "ead", "self_bleu"}
    assert set(both.disagreements.set_id) <= both.texts.keys()
    with pytest.raises(ConfigurationError, match="other tasks, other sets or another bootstrap"):
        merged(make_study([task("contest/story_gen", seed=7, sets=20)], [three], LEXICAL, HOW), earlier)


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
    i, j = found.metrics.index("distinct_n"), found.metrics.index("self_bleu")
    assert found.matrix[i][j] == pytest.approx(spearmanr(means[0], -means[1]).statistic, abs=5.1e-4)
    (few,) = make_boards([(Path(f"r{j}"), each) for j, each in enumerate(made[:2])])
    assert systems_agreement(few) is None


CHOSEN = [metric for metric in METRICS if metric.id in ("distinct_n", "self_bleu", "self_repetition")]


def quiet(what: str, done: int, total: int) -> None:
    """Report no progress."""


def test_only_what_the_file_of_scores_lacks_is_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, backends = tmp_path / "scores.parquet", ScoringBackends(LEXICAL)
    tasks = [task("one/a"), task("two/b", sets=4)]
    computed: list[list[str]] = []

    def counted(of: list[Labelled], metrics: list[Metric], *rest: Any) -> list[Scores]:
        computed.append([metric.id for metric in metrics])
        return metric_scores(of, metrics, *rest)

    monkeypatch.setattr(build, "metric_scores", counted)
    first = study_scores(tasks, CHOSEN[:2], backends, path, quiet)
    all_three = study_scores(tasks, CHOSEN, backends, path, quiet)
    assert computed == [["distinct_n", "self_bleu"], ["self_repetition"]]
    assert all_three[:2] == first
    # More sets, or another definition, are computed.
    study_scores([*tasks, task("three/c", sets=4)], CHOSEN[:1], backends, path, quiet)
    study_scores(tasks, [replace(CHOSEN[1], history=(Version(2, "2026-11-22", "tried"),))], backends, path, quiet)
    assert computed[2:] == [["distinct_n"], ["self_bleu"]]


def test_the_file_of_scores_has_single_precision_and_reasons(tmp_path: Path) -> None:
    tasks, path = [task("one/a")], tmp_path / "scores.parquet"
    assert read_scores(path) == {}
    (made,) = study_scores(tasks, CHOSEN[:1], ScoringBackends(LEXICAL), path, quiet)
    (exact,) = metric_scores(tasks, CHOSEN[:1], ScoringBackends(LEXICAL))
    ids = tasks[0].set_ids
    assert made.column(ids) == pytest.approx(exact.column(ids), rel=1e-7)
    assert list(read_scores(path).values()) == [made]
    lacking = replace(made, values={**made.values, ids[0]: Missing("no text")})
    write_scores(path, {"signed": lacking})
    assert read_scores(path) == {"signed": lacking}
    path.write_bytes(b"PAR1 not so")
    with pytest.raises(InputError, match="is not a file of scores"):
        read_scores(path)


@pytest.mark.mirror
def test_scores_that_come_with_the_package_are_those_that_it_computes(mirror: Path) -> None:
    (whole,) = load_tasks(["contest/story_gen"], mirror)
    few = whole.rows(np.arange(len(whole.set_ids)) < 4)
    known = measured_scores([few], ["distinct_n", "self_bleu", "d_can", "no-such-metric"])
    assert set(known) == {"distinct_n", "self_bleu", "d_can"}
    (ours,) = metric_scores([few], CHOSEN[:1], ScoringBackends(LEXICAL))
    assert known["distinct_n"].column(few.set_ids) == pytest.approx(ours.column(few.set_ids), rel=1e-6)
    reading = find_profile("offline").replace(format="completion", outer_space="kept")
    (read,) = metric_scores([few], [m for m in METRICS if m.id == "d_can"], ScoringBackends(reading))
    assert known["d_can"].column(few.set_ids) == pytest.approx(read.column(few.set_ids), rel=1e-4)
    assert measured_scores([few, task("own/sets")], ["distinct_n"]) == {}  # a set that is not among them
    shorter = replace(few, responses=tuple(texts[:3] for texts in few.responses))
    assert measured_scores([shorter], ["distinct_n"]) == {}  # other texts under the ids of released sets
