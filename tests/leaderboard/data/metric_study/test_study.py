"""The files of a study: what was written is read, what is damaged is named, and what ships is of these metrics."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmark.analysis.gss.accuracy import MEAN, evaluate, published_blocks
from benchmark.analysis.gss.pairs import sanity_scores
from benchmark.analysis.reproduce.cells import read_published
from benchmark.metrics import METRICS
from benchmark.scoring.estimate import Resampling
from benchmark.scoring.profiles import find_profile
from benchmark.scoring.results import signature_line
from leaderboard.data.metric_study.build import make_study, read_scores, study_tasks
from leaderboard.data.metric_study.study import (
    DISAGREEMENTS_FILE,
    GAMING_FILE,
    MEASURED,
    OVERALL,
    PAIRS_FILE,
    SCORES_FILE,
    STUDY_FILE,
    load_studies,
    pair_table,
    read_pairs,
    read_study,
    write_study,
    write_table,
)
from tests.benchmark.analysis.test_gss_report import PAIRS, REFERENCES, model, result
from tests.leaderboard.data.metric_study.test_build import scores, task
from tests.leaderboard.shipped import shipped_study

__all__ = ["result"]  # a fixture

TASKS = [task("contest/story_gen"), task("mcdiv/story_gen", seed=1, human=False)]
COLUMNS = [scores(name, TASKS, seed) for seed, name in enumerate(("distinct_n", "self_bleu", "ead"))]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    study = make_study(TASKS, COLUMNS, find_profile("lexical"), Resampling(resamples=30))
    paths = write_study(tmp_path, study)
    again = read_study(tmp_path / STUDY_FILE)
    assert (again.settings, again.metrics, again.estimates) == (study.settings, study.metrics, study.estimates)
    assert (again.agreements, again.texts) == (study.agreements, study.texts)
    pd.testing.assert_frame_equal(again.disagreements, study.disagreements)
    assert set(study.disagreements.set_id) == study.texts.keys()
    place = TASKS[0].set_ids.index(study.disagreements.set_id[0])
    assert study.texts[TASKS[0].set_ids[place]] == (TASKS[0].contexts[place], TASKS[0].responses[place])
    shared = [path.read_bytes() for path in paths if path.name in (STUDY_FILE, DISAGREEMENTS_FILE)]
    assert not any(b"one 1" in content for content in shared)  # a response: its licence may be unknown


def _without(name: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table.drop(columns=name)


@pytest.mark.parametrize("name", [STUDY_FILE, PAIRS_FILE, GAMING_FILE])
def test_a_damaged_file_is_named_and_the_others_are_shown(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"{}" if name == GAMING_FILE else b"PAR1 not so")
    studies = load_studies(tmp_path)
    shown = {STUDY_FILE: studies.study, PAIRS_FILE: studies.pairs, GAMING_FILE: studies.gaming}
    assert [other for other, content in shown.items() if content is None] == [name]
    assert len(studies.faults) == 1
    assert studies.faults[0].startswith(f"{name}: not shown, {name} cannot be read")
    assert str(tmp_path) not in studies.faults[0]


def test_a_study_without_a_column_or_its_settings_is_not_shown(tmp_path: Path) -> None:
    whole = pd.read_parquet(MEASURED / STUDY_FILE)
    write_table(tmp_path / DISAGREEMENTS_FILE, pd.read_parquet(MEASURED / DISAGREEMENTS_FILE))
    bare = whole.copy()
    bare.attrs = {}
    for damaged in (whole.drop(columns="low"), bare):
        write_table(tmp_path / STUDY_FILE, damaged)
        assert load_studies(tmp_path).study is None


def test_accuracies_on_pairs_come_back_as_blocks(result: Any, tmp_path: Path) -> None:
    report = evaluate(
        PAIRS,
        "gssbench@0",
        [model(result, "a <b>", "self_bleu", "ead")],
        REFERENCES,
        Resampling(resamples=20),
        published=published_blocks(read_published()["gssbench-a10"]),
    )
    table = pair_table(report)
    write_table(tmp_path / PAIRS_FILE, table)
    study = read_pairs(tmp_path / PAIRS_FILE)
    assert set(table.signature.dropna().str.partition("|")[0]) == {"self_bleu", "ead"}
    assert (len(study.models), len(study.references)) == (1, 1)
    assert sanity_scores(PAIRS).keys() == {row.metric for row in study.references[0].rows}
    for mine, theirs in zip(study.blocks, report.blocks, strict=True):
        assert (mine.title, mine.beneath) == (theirs.title, theirs.beneath)
        for one, other in zip(mine.rows, theirs.rows, strict=True):
            assert (one.metric, one.pairs, one.cells.keys()) == (other.metric, other.pairs, other.cells.keys())
            assert one.cells[MEAN].value == pytest.approx(other.cells[MEAN].value, abs=5.1e-5)


def wanted_signatures() -> dict[str, str]:
    """Those of the metrics that a study of all metrics has."""
    profile = find_profile("offline").replace(metrics=["template_rate"], format="completion", outer_space="kept")
    wanted = [metric for metric in profile.metrics() if metric.direction and metric.reads != "reported"]
    return {metric.id: signature_line(metric, profile) for metric in wanted}


@pytest.mark.thorough
def test_the_study_that_ships_is_of_all_metrics() -> None:
    ours = {metric.name for metric in shipped_study().metrics.values() if metric.origin == "metric"}
    assert ours == set(wanted_signatures()), "run divbench metrics study, see CONTRIBUTING.md"


def test_the_study_that_ships_is_of_these_metrics_and_all_tasks() -> None:
    study = shipped_study()
    ours = {metric.name: metric.signature for metric in study.metrics.values() if metric.origin == "metric"}
    # A metric, model or layout that changed since makes its numbers those of another. A new metric may be lacking.
    assert ours.items() <= wanted_signatures().items(), "run divbench metrics study again, see CONTRIBUTING.md"
    assert set(read_scores(MEASURED / SCORES_FILE)) == set(ours.values())  # so that they need not be computed again
    assert study.tasks("spearman") == study_tasks()
    means = study.measured(OVERALL, "spearman")
    assert (set(means), study.counts("spearman")[OVERALL]) == (set(study.metrics), 9)
    assert set(study.disagreements.groupby(["task", "metric"]).size()) == {5}
    best = sorted(means, key=lambda name: -(means[name].value or 0))
    # As docs/metrics.md has it; the first was fitted on these sets, and is no better on others than here.
    assert best[:3] == ["learned_diversity", "released:sent_bert", "distance_beside_prompt"]


def test_the_accuracies_that_ship_are_of_these_metrics() -> None:
    study = read_pairs(MEASURED / PAIRS_FILE)
    assert {row.metric for row in study.models[0].rows} <= {metric.id for metric in METRICS}
    assert not study.has_real_model
    known = {row.metric: row.cells[MEAN].value for row in study.references[0].rows}
    assert (known["oracle"], known["constant"]) == (1, 0)
