"""The metrics that agree best with people, as the study has them, beside what attacks gain under them."""

from dataclasses import replace
from xml.etree import ElementTree

import pandas as pd
import pytest

from leaderboard.data.metric_study.study import (
    GAMING_FILE,
    MEASURED,
    NUMBERS,
    OVERALL,
    PAID,
    Gaming,
    MetricStudy,
    read_gaming,
)
from leaderboard.pages.trust import (
    FITTED,
    dominated,
    dominated_sentence,
    metric_sentences,
    trust_sentence,
    trust_table,
    trusted,
)
from tests.leaderboard.injections import HTML
from tests.leaderboard.shipped import shipped_study


def record(**gains: dict[str, float]) -> Gaming:
    """What made-up attacks gain, by attack and metric."""
    attacks = {attack.replace("_", "-"): scores for attack, scores in gains.items()}
    metrics = {metric for scores in gains.values() for metric in scores}
    by_metric = {
        metric: {attack: scores[metric] for attack, scores in attacks.items() if metric in scores} for metric in metrics
    }
    return Gaming("a", 20, "semantic", 2, tuple(attacks), by_metric)


def with_agreement(study: MetricStudy, numbers: dict[str, float], far: float = 0.02, tasks: int = 9) -> MetricStudy:
    """A study with other means over tasks."""
    rows = [(OVERALL, name, "spearman", value, value - far, value + far, tasks) for name, value in numbers.items()]
    table = pd.DataFrame(rows, columns=list(NUMBERS))
    table.attrs = study.numbers.attrs
    return replace(study, numbers=table)


def test_ten_metrics_stand_by_their_agreement_with_people() -> None:
    study = shipped_study()
    rows = trusted(study, None)
    fair = [number for name, number in study.measured(OVERALL, "spearman").items() if name not in FITTED]
    wanted = sorted(fair, key=lambda number: -(number.value or -2))[:10]
    assert [row.agreement for row in rows] == wanted
    assert [row.paid for row in rows] == [None] * 10
    assert trust_sentence(rows, study, None).startswith(f"{rows[0].metric} agrees best with people: Spearman ")
    assert "mean of 3 tasks" in trust_sentence(rows, with_agreement(study, {rows[0].metric: 0.5}, tasks=3), None)
    text = str(trust_table(study, None))
    assert "not measured" not in text
    assert not FITTED & {*dominated(study, None), *dominated(study, None).values()}
    assert "fitted to these labels: learned_diversity." in text
    assert rows[0].metric.startswith("released:")
    assert "Names that begin with “released:” are scores" in text


def test_attacks_that_pay_are_counted_and_the_worst_is_named() -> None:
    study = shipped_study()
    first, second, *_ = [row.metric for row in trusted(study, None)]
    gaming = record(
        random_words={first: PAID + 0.5, second: PAID - 0.01},
        echoes={first: PAID + 0.1, second: -1.0},
        refusals={second: PAID},
    )
    one, other, third = trusted(study, gaming)[:3]
    assert (one.paid, one.worst) == (2, f"random words +{PAID + 0.5:.2f}")
    assert (other.paid, other.worst) == (0, "")
    assert (third.paid, third.worst) == (None, "")
    assert f"{second} agrees best among the metrics that reward no attack" in trust_sentence(
        trusted(study, gaming), study, gaming
    )
    text = str(trust_table(study, gaming))
    assert "of 3 attacks on a (20 prompts, profile semantic)" in text
    assert "the most diverse of 2 real systems" in text


def test_a_metric_is_dominated_by_a_better_one_that_costs_no_more() -> None:
    study = shipped_study()
    texts, vectors, model = "distinct_n", "embedding_diversity", "d_can"

    ranked = with_agreement(study, {texts: 0.3, "self_bleu": 0.2, vectors: 0.5, "vendi_score": 0.49, model: 0.4})
    found = dominated(ranked, None)
    # What reads texts alone is cheaper than embeddings; 0.49 is within the interval of 0.5.
    assert found == {"self_bleu": texts, model: vectors}
    assert dominated_sentence(ranked, None).endswith("d_can by embedding_diversity; self_bleu by distinct_n.")
    assert "if both were attacked, rewards no more attacks" in dominated_sentence(ranked, None)  # here none was
    attacked = record(echoes={texts: PAID + 1, "self_bleu": 0.0, vectors: 0.0})
    assert dominated(ranked, attacked) == {model: vectors}
    alike = record(echoes={texts: PAID + 1, "self_bleu": PAID + 1})
    assert dominated(ranked, alike) == found
    assert dominated(ranked, record(echoes={texts: PAID + 1, vectors: 0.0})) == found  # self_bleu was not attacked
    assert dominated_sentence(with_agreement(study, {vectors: 0.5}), None) == ""
    assert dominated(with_agreement(study, {model: 0.6, vectors: 0.5}), None) == {}  # a language model is larger
    assert dominated(with_agreement(study, {"template_rate": 0.6, texts: 0.5}), None) == {
        texts: "template_rate"
    }  # a lexicon
    assert (
        dominated(with_agreement(study, {texts: 0.75, "self_bleu": 0.25}, far=0.25), None) == {}
    )  # the intervals touch


def test_no_name_becomes_markup() -> None:
    study = with_agreement(shipped_study(), dict.fromkeys(HTML[:9], 0.5))
    html = str(trust_table(study, None, lambda name: f"metrics?{name}"))
    tree = ElementTree.fromstring(html)  # noqa: S314 - our own table
    own = {"section", "p", "bdi", "table", "caption", "thead", "tbody", "tr", "th", "td", "span", "small", "a"}
    assert {element.tag for element in tree.iter()} <= own | {"svg", "line", "circle", "rect", "text"}
    assert {element.text for element in tree.iter("bdi")} >= set(HTML[:9])


def test_every_metric_has_one_plain_sentence_with_its_better_end_and_its_agreement() -> None:
    said = metric_sentences(shipped_study())
    assert "Higher = more diverse." in said["distinct_n"]
    assert "Lower = more diverse." in said["self_bleu"]
    agreement = shipped_study().measured(OVERALL, "spearman")["distinct_n"]
    claim = f"Agreement with people (profile offline): Spearman {agreement.value:.2f}."
    assert claim.replace(" 0.", " .") in said["distinct_n"]
    assert "Agreement with people: not measured." in said["utility_k"]
    assert all("<" not in text for text in said.values())


@pytest.mark.skipif(not (MEASURED / GAMING_FILE).exists(), reason="gains of attacks do not ship")
def test_gains_that_ship_are_read() -> None:
    gaming = read_gaming(MEASURED / GAMING_FILE)
    assert len(gaming.attacks) == 24
    paid = {
        metric: sum(gain > PAID for gain in gaming.gains[metric].values())
        for metric in ("valid_distinct_k", "distinct_k", "distinct_n", "embedding_diversity")
    }
    assert min(paid, key=lambda metric: paid[metric]) == "valid_distinct_k"  # which is why boards rank by it
    assert f"valid_distinct_k rewards {paid['valid_distinct_k']}" in str(trust_table(shipped_study(), gaming))
