"""The file of scores: what it has is not computed again, and nothing else is taken from it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.analysis.metaeval.inputs import load_tasks
from benchmark.analysis.metaeval.labelled import Labelled
from benchmark.analysis.metaeval.scores import Scores, metric_scores
from benchmark.metrics import METRICS, Metric, Version
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.profiles import find_profile
from divbench.core.errors import InputError
from leaderboard.data.metric_study import score_file
from leaderboard.data.metric_study.score_file import measured_scores, read_scores, study_scores, write_scores
from tests.leaderboard.data.metric_study.test_build import LEXICAL, task

CHOSEN = [metric for metric in METRICS if metric.id in ("distinct_n", "self_bleu", "self_repetition")]


def test_only_what_the_file_lacks_is_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, tasks, backends = (
        tmp_path / "scores.parquet",
        [task("one/a"), task("two/b", sets=4)],
        ScoringBackends(LEXICAL),
    )
    computed: list[list[str]] = []

    def counted(of: list[Labelled], metrics: list[Metric], *rest: Any) -> list[Scores]:
        computed.append([metric.id for metric in metrics])
        return metric_scores(of, metrics, *rest)

    monkeypatch.setattr(score_file, "metric_scores", counted)
    first = study_scores(tasks, CHOSEN[:2], backends, 5, path)
    both = study_scores(tasks, CHOSEN, backends, 5, path)
    assert computed == [["distinct_n", "self_bleu"], ["self_repetition"]]
    assert [each.name for each in both] == ["distinct_n", "self_bleu", "self_repetition"]
    assert both[:2] == first
    written = path.read_bytes()
    assert study_scores(tasks, CHOSEN, backends, 5, path) == both
    assert path.read_bytes() == written
    # More sets, or another definition, are computed.
    study_scores([*tasks, task("three/c", sets=4)], CHOSEN[:1], backends, 5, path)
    study_scores(tasks, [replace(CHOSEN[1], history=(Version(2, "2026-11-22", "tried"),))], backends, 5, path)
    assert computed[2:] == [["distinct_n"], ["self_bleu"]]
    assert [(each.name, len(each.values)) for each in read_scores(path).values()] == [
        ("self_repetition", 28),
        ("distinct_n", 32),
        ("self_bleu", 28),
    ]


def test_values_are_those_that_were_computed_to_single_precision(tmp_path: Path) -> None:
    tasks, path = [task("one/a")], tmp_path / "scores.parquet"
    (made,) = study_scores(tasks, CHOSEN[:1], ScoringBackends(LEXICAL), 5, path)
    (exact,) = metric_scores(tasks, CHOSEN[:1], ScoringBackends(LEXICAL))
    ids = tasks[0].set_ids
    assert made.column(ids) == pytest.approx(exact.column(ids), rel=1e-7)
    assert np.array_equal(made.column(ids), made.column(ids).astype(np.float32))
    write_scores(path, read_scores(path))
    assert list(read_scores(path).values()) == [made]
    lacking = replace(made, values={**made.values, ids[0]: Missing("no text")})
    write_scores(path, {"signed": lacking})
    assert read_scores(path) == {"signed": lacking}


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scores.parquet"
    assert read_scores(path) == {}
    path.write_bytes(b"PAR1 not so")
    with pytest.raises(InputError, match="is not a file of scores"):
        read_scores(path)


@pytest.mark.mirror
def test_scores_that_come_with_the_package_are_those_that_it_computes(mirror: Path) -> None:
    (whole,) = load_tasks(["contest/story_gen"], mirror)
    few = whole.rows(np.arange(len(whole.set_ids)) < 4)
    found = measured_scores([few], ["distinct_n", "self_bleu", "d_can", "no-such-metric"])
    assert set(found) == {"distinct_n", "self_bleu", "d_can"}
    (ours,) = metric_scores([few], CHOSEN[:1], ScoringBackends(LEXICAL))
    assert found["distinct_n"].column(few.set_ids) == pytest.approx(ours.column(few.set_ids), rel=1e-6)
    reading = find_profile("offline").replace(format="completion")
    (read,) = metric_scores([few], [m for m in METRICS if m.id == "d_can"], ScoringBackends(reading))
    assert found["d_can"].column(few.set_ids) == pytest.approx(read.column(few.set_ids), rel=1e-4)
    assert measured_scores([few, task("own/sets")], ["distinct_n"]) == {}  # a set that is not among them
    shorter = replace(few, responses=tuple(texts[:3] for texts in few.responses))
    assert measured_scores([shorter], ["distinct_n"]) == {}  # other texts under the ids of released sets
