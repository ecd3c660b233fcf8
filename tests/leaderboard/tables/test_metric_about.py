"""What is said of metrics: of every one, and what can be checked of it against the metrics themselves."""

import pytest

from benchmark.metrics import METRICS, Metric
from leaderboard.tables.metric_cards import ABOUT, BY_FAMILY, FAMILIES, family_of


def test_no_metric_is_forgotten_and_none_is_told_of_twice() -> None:
    assert set(ABOUT) == {metric.id for metric in METRICS}
    assert sum(map(len, BY_FAMILY.values())) == len(ABOUT)
    assert set(BY_FAMILY) == set(FAMILIES)
    assert family_of("d_can") == "surprise"
    assert family_of("mine:spread") is None


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.id)
def test_each_has_a_formula_a_sentence_and_its_failures(metric: Metric) -> None:
    about = ABOUT[metric.id]
    assert about.formula
    assert about.plain.endswith(".")
    assert not about.plain.rstrip(".").count(". ")  # one sentence
    assert about.failures
    assert len(set(about.failures)) == len(about.failures)
    assert all(each.endswith((".", ")")) for each in about.failures)
    for text in (about.formula, about.plain, *about.failures):
        assert text == " ".join(text.split())  # no line and no gap was lost where strings were joined
        assert "<" not in text.replace("i < j", "")  # they stand in pages


def test_metrics_of_which_less_is_more_diverse_say_so() -> None:
    said = {name for name, about in ABOUT.items() if "less is more diverse" in about.formula}
    assert said == {metric.id for metric in METRICS if metric.direction == -1}


def test_parameters_stand_in_the_formulas() -> None:
    for metric in METRICS:
        formula = ABOUT[metric.id].formula
        if "alpha" in metric.parameters:
            assert "10⁻³" in formula
            assert "log₁₀" in formula
        if "V" in metric.parameters:
            assert "50,257" in formula
        if "patience" in metric.parameters:
            assert f"p = {metric.parameters['patience']}" in formula
        if metric.parameters.get("n") == "1..5":
            assert "Σₙ₌₁..₅" in formula
        if "of" in metric.parameters:
            assert f"C(N, {metric.parameters['of']})" in formula
