"""The board of metrics as tables: the numbers of the study, and nothing that it does not say."""

from dataclasses import replace

import pytest

from benchmark.metrics import METRICS, Metric
from divbench.core.tables import Table
from leaderboard.data.metric_study.study import MEASURES, OVERALL, MetricStudy
from leaderboard.pages.metrics import (
    about_study,
    agreement_table,
    correlations,
    definition,
    disagreement_text,
    disagreements,
    pair_accuracies,
    table_map,
)
from tests.leaderboard.shipped import shipped_pairs, shipped_study


def properties(table: Table) -> dict[str, str]:
    return {row[0]: row[1] for row in table.texts}


@pytest.fixture(scope="module")
def study() -> MetricStudy:
    return shipped_study()


def test_correlations_are_those_of_the_study_best_first(study: MetricStudy) -> None:
    view = correlations(study, "spearman")
    assert view.columns[2] == "mean of 9 tasks"
    means = [row[2] for row in view.values if row[2] is not None]
    assert means == sorted(means, reverse=True)
    assert all(row[2] is None for row in view.values[len(means) :])  # those without a mean come last
    for row in view.values:
        for name, value in zip(view.columns[3:], row[3:], strict=True):
            numbers = study.measured(name, "spearman")
            assert value == (numbers[row[0]].value if row[0] in numbers else None)


def test_a_measure_shows_only_tasks_that_have_it(study: MetricStudy) -> None:
    shown = correlations(study, "human_spearman").columns[2:]  # there is no mean
    assert list(shown) == study.tasks("human_spearman")
    assert 0 < len(shown) < len(study.tasks("spearman"))


def test_the_mean_is_over_the_tasks_that_the_caption_names(study: MetricStudy) -> None:
    for measure in MEASURES:
        view, text = correlations(study, measure), about_study(study, measure)
        binary = ("contest/", "mcdiv/", "mcdiv_nuggets/")
        averaged = [
            place
            for place, name in enumerate(view.columns)
            if name.startswith(binary) and not name.endswith("_with_hds")
        ]
        if not view.columns[2].startswith("mean of "):
            assert "mean is over" not in text
            continue
        assert f"The mean is over the {len(averaged)} tasks" in text
        row = view.frame().set_index("metric").loc["embedding_diversity"]
        assert row.iloc[1] == pytest.approx(row.iloc[[place - 1 for place in averaged]].mean(), abs=0.002)


def test_what_the_table_is_of_is_said(study: MetricStudy) -> None:
    for measure in MEASURES:
        text = about_study(study, measure)
        assert MEASURES[measure][1:] in text
        assert study.settings["profile"] in text
        assert "95%" in text
        tasks, evaluated = study.tasks(measure), study.counts(measure)
        sets = sum(evaluated[task] for task in tasks)
        assert f", on {len(tasks)} tasks with {sets:,} response sets (some are in several tasks)" in text
        assert "lack scores of some: template_rate, templates_per_token, and metrics studied with them." in text


def test_pair_accuracies_have_every_row(study: MetricStudy) -> None:
    pairs = shipped_pairs()
    view = pair_accuracies(pairs)
    assert [(row[0], row[1]) for row in view.values] == [
        (block.title, row.metric) for block in pairs.blocks for row in block.rows
    ]


def test_agreement_is_symmetric_with_ones_on_the_diagonal(study: MetricStudy) -> None:
    for each in study.agreements:
        rows = agreement_table(each).values
        for i, row in enumerate(rows):
            assert row[1 + i] == 1.0
            assert all(row[1 + j] == rows[j][1 + i] for j in range(len(rows)))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.id)
def test_every_metric_is_described_with_formula_version_and_failures(metric: Metric, study: MetricStudy) -> None:
    name = metric.id
    said = properties(definition(name, study))
    assert f"{name}, version {metric.version}" in said["Metric"]
    assert metric.formula in said["Formula"]
    assert said["Known failures"].count("•") == len(metric.failures)
    assert metric.paper in said["Source"]


def test_a_metric_that_the_study_does_not_know_yet_is_not_measured(study: MetricStudy) -> None:
    numbers = study.numbers[study.numbers.metric != "distinct_n"]
    numbers.attrs["metrics"] = [entry for entry in numbers.attrs["metrics"] if entry["name"] != "distinct_n"]
    without = replace(study, numbers=numbers)
    assert properties(definition("distinct_n", without))["Agreement with people"] == "not measured"
    assert "Agreement with people" not in properties(definition("distinct_n", study))


def test_a_metric_of_somebody_else_is_described_by_its_own_word(study: MetricStudy) -> None:
    released = next(metric for metric in study.metrics.values() if metric.origin == "released")
    assert properties(definition(released.name, study))["Source of its scores"] == released.signature
    assert "unknown" in properties(definition("no_such", study))["Source of its scores"]


def test_who_agrees_not_at_all_stands_between_who_agrees_and_who_disagrees(study: MetricStudy) -> None:
    numbers = study.numbers.copy()
    means = numbers[(numbers.task == OVERALL) & (numbers.measure == "spearman")].index
    numbers.loc[means, "value"] = [0.5, 0.0, -0.5] + [float("nan")] * (len(means) - 3)
    view = correlations(replace(study, numbers=numbers), "spearman")
    assert [row[2] for row in view.values[:3]] == [0.5, 0.0, -0.5]
    assert all(row[2] is None for row in view.values[3:])
    assert len(view.values) > 3


def test_disagreements_are_far_in_rank_and_their_texts_are_found_by_task_and_set(study: MetricStudy) -> None:
    view = disagreements(study, "distinct_n")
    assert view.values
    rows = study.disagreements[study.disagreements.metric == "distinct_n"]
    assert [row[3] for row in view.values] == rows.human_rank.to_list()
    assert ((rows.human_rank - rows.metric_rank).abs() > rows.sets / 3).all()
    set_id = str(rows.set_id.iloc[1])
    with_texts = replace(study, texts={set_id: ("context", ("one", "two"))})
    assert disagreement_text(with_texts, "distinct_n", 1) == ("context", ("one", "two"))
    assert disagreement_text(with_texts, "distinct_n", 0) is None
    assert disagreement_text(with_texts, "distinct_n", 10_000) is None


def test_figures_show_the_values_of_their_tables(study: MetricStudy) -> None:
    view = correlations(study, "spearman")
    figure = table_map(view, 2)
    assert [tuple(row) for row in figure.data[0].z] == [row[2:] for row in view.values]
    assert [table_map(view, 2, lowest).data[0].zmid for lowest in (-1.0, 0.0)] == [0.0, 0.5]  # chance level
