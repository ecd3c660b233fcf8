"""Metrics of part-of-speech tags: values by hand and by brute force, and sets that have none."""

import zlib

import pytest

from benchmark.metrics import METRICS
from benchmark.metrics.metric import Missing, Unscorable
from benchmark.metrics.syntax import tag_compression_ratio, template_rate, templates_per_token
from benchmark.scoring.inputs import Materials, metrics_from, score_sets
from tests.benchmark.helpers import pattern_tagger
from tests.benchmark.peer_values import TAGS

OURS = metrics_from("tagger", METRICS)


def test_a_template_is_a_sequence_that_another_response_has() -> None:
    one, other, third = ["DT", "JJ", "NN", "VBZ"], ["UH", "DT", "JJ", "NN"], ["CD", "CD", "CD", "CD"]
    assert template_rate([[one], [other], [third]], n=3) == 2 / 3
    assert templates_per_token([[one], [other], [third]], n=3) == pytest.approx((1 / 4 + 1 / 4 + 0) / 3)
    assert template_rate([[third, third], [one]], n=3) == 0  # what a response repeats by itself is no template
    assert template_rate([[["DT", "JJ"], ["NN", "VBZ"]], [one]], n=2) == 1
    assert template_rate([[["DT", "JJ"], ["NN", "VBZ"]], [["UH", "JJ", "NN"]]], n=2) == 0  # not across sentences


def test_values_are_those_of_a_search_for_each_sequence() -> None:
    for responses in TAGS:
        texts = ["|".join(f" {' '.join(tags)} " for tags in each) for each in responses]
        begins = []
        for i, each in enumerate(responses):
            others = texts[:i] + texts[i + 1 :]
            own = [tags[at : at + 6] for tags in each for at in range(len(tags) - 5)]
            begins.append(sum(any(f" {' '.join(gram)} " in other for other in others) for gram in own))
        assert template_rate(responses, 6) == sum(count > 0 for count in begins) / 6
        shares = [count / sum(map(len, each)) for count, each in zip(begins, responses, strict=True)]
        assert templates_per_token(responses, 6) == pytest.approx(sum(shares) / 6, abs=1e-15)
        plain = " ".join(sorted(" ".join(" ".join(tags) for tags in each) for each in responses)).encode()
        packed = zlib.compress(plain, 9)[2:-4]  # without header and checksum
        assert tag_compression_ratio(responses) == len(packed) / len(plain)


def test_responses_that_are_all_too_short_have_no_templates_and_no_value() -> None:
    for metric in (template_rate, templates_per_token):
        with pytest.raises(Unscorable, match="no sentence of 6 tokens"):
            metric([[["UH", "."]], [["UH", "."]]], 6)


def test_wording_plays_no_part_and_another_script_has_no_value() -> None:
    same_build = ("The old bridge stands near the city.", "A young doctor waits in a school.")
    found = score_sets(Materials([same_build, ("The city sleeps.", "Город спит")], tagger=pattern_tagger()), OURS)
    assert found[0]["template_rate"] == 1
    other = Missing("a response is not in Latin script, and the tagger reads English")
    assert found[1] == {metric.id: other for metric in OURS}
