"""Every metric has a card, and the card says what can be checked of it against the metric."""

from datetime import date

import numpy as np

from benchmark.metrics import FAMILIES, METRICS
from benchmark.models.embedder import unit_rows

CARDS = {metric.id: metric for metric in METRICS}


def test_every_family_has_a_metric() -> None:
    assert {card.family for card in CARDS.values()} == set(FAMILIES)
    assert CARDS["d_can"].family == "surprise"


def test_each_card_has_a_formula_a_sentence_and_known_failures() -> None:
    for name, card in CARDS.items():
        assert card.formula, name
        assert card.summary.endswith("."), name
        assert not card.summary.rstrip(".").count(". "), name  # one sentence
        assert card.failures, name
        assert len(set(card.failures)) == len(card.failures), name
        assert all(each.endswith((".", ")")) for each in card.failures), name
        for text in (card.formula, card.summary, *card.failures):
            assert text == " ".join(text.split()), name  # no line and no gap was lost where strings were joined
            assert "<" not in text.replace("i < j", ""), name  # they stand in pages


def test_the_newest_version_of_a_card_is_that_of_its_metric() -> None:
    for metric in METRICS:
        history = metric.history
        assert history, metric.id
        assert [each.number for each in history] == list(range(metric.version, 0, -1)), metric.id
        dates = [date.fromisoformat(each.date) for each in history]
        assert dates == sorted(dates, reverse=True), metric.id
        assert all(each.change for each in history), metric.id


def test_metrics_of_which_less_is_more_diverse_say_so() -> None:
    said = {name for name, card in CARDS.items() if "less is more diverse" in card.formula}
    assert said == {metric.id for metric in METRICS if metric.direction == -1}


def test_parameters_stand_in_the_formulas() -> None:
    for metric in METRICS:
        formula = metric.formula
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


def test_numbers_on_the_cards_of_kernels_are_the_functions_own() -> None:
    rows = unit_rows(np.random.default_rng(0).normal(size=(6, 384)) + 0.5)
    log_determinant, dcscore = CARDS["log_determinant"], CARDS["dcscore"]
    cost = log_determinant.fn(rows) - log_determinant.fn(np.vstack([rows, rows[:1]]))
    assert any(f"costs {cost:.0f} nats" in each for each in log_determinant.failures)
    assert any(f"get {dcscore.fn(np.eye(10)):.1f} of 10" in each for each in dcscore.failures)
