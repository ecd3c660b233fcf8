"""Axioms: what is known of some metrics by their definitions is found on the constructed sets."""

from dataclasses import replace

from benchmark.analysis.axioms import AXIOMS, axioms_obeyed, axioms_report, topics
from benchmark.metrics import METRICS
from benchmark.models.embedder import SentenceTransformersEmbedder
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import computed
from benchmark.scoring.profiles import find_profile


def test_what_follows_from_definitions_is_found(minilm: SentenceTransformersEmbedder) -> None:
    backends = ScoringBackends(find_profile("semantic"), embedder=minilm)
    metrics = [metric for metric in computed(backends.profile.metrics()) if metric.direction]
    reversed_ = replace(next(m for m in METRICS if m.id == "distinct_k"), id="fewer_classes", direction=-1)
    found = axioms_obeyed(backends, [*metrics, reversed_])
    assert list(found) == [*(metric.id for metric in metrics), "fewer_classes"]
    # A number of classes, and a Hill number of similarities, do not change if every response stands twice.
    assert all(found[name]["twin property"] for name in ("distinct_k", "valid_distinct_k", "vendi_score"))
    # The mean of pairs does: twins are pairs without distance. So do words per word.
    assert not any(found[name]["twin property"] for name in ("embedding_diversity", "type_token_ratio"))
    # And it is highest with two clusters of copies at the ends.
    assert all(found[name]["uniqueness"] for name in ("distinct_k", "valid_distinct_k", "vendi_score"))
    assert [name for name, own in found.items() if not own["order"]] == []
    assert found["distinct_k"]["replication"]
    assert not found["class_entropy"]["replication"]
    # A metric in the wrong direction breaks what the right one obeys.
    assert not found["fewer_classes"]["uniqueness"]
    text = axioms_report(found, "semantic").text(".md")
    assert all(axiom.name in text for axiom in AXIOMS)


def test_a_metric_without_a_value_obeys_nothing_and_breaks_nothing() -> None:
    backends = ScoringBackends(find_profile("lexical"))
    of_ten = replace(next(m for m in METRICS if m.id == "distinct_n"), id="of_ten", needs=10)
    found = axioms_obeyed(backends, [of_ten])
    assert set(found["of_ten"].values()) == {None}
    assert "-: unknown, because the metric has no value on a set." in axioms_report(found, "lexical").text(".md")


def test_constructed_texts_are_as_many_as_the_cases_need() -> None:
    for axiom in AXIOMS:
        for each in topics():
            for case in axiom.cases(each):
                assert len(case.prompts) == len(case.sets)
    assert all(len(each.different) == len(each.translated[1]) == 5 for each in topics())
