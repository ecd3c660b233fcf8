"""`benchmark/perf/equivalence.py` runs at a small size and reports what it says. How fast is not for tests to say."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark.perf import equivalence

TINY: dict[str, Any] = {
    "vocab_size": 16_000,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "initializer_range": 0.3,
}


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same shape, smaller."""
    make = equivalence.random_classifier
    monkeypatch.setattr(equivalence, "random_classifier", lambda texts, layers: make(texts, layers, **TINY))


@pytest.mark.thorough
def test_both_ways_are_compared_on_the_same_pairs(tiny: None) -> None:
    answers = equivalence.made_up_responses(2)
    questions = equivalence.questions_of(answers, 50)
    classifier = equivalence.random_classifier([text for _, texts in answers for text in texts], 1)
    found = equivalence.compare([*questions, *questions[:5]], classifier, rounds=2, data="made up")
    assert (found.pairs, found.different_pairs, found.layers) == (55, 50, 1)
    assert (len(found.plain_seconds), len(found.package_seconds)) == (2, 2)
    assert found.largest_difference <= equivalence.TOLERANCE
    assert found.ratio == pytest.approx(found.package_pairs_per_second / found.plain_pairs_per_second)


def test_it_stops_where_the_values_differ(tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = equivalence.made_up_responses(1)
    classifier = equivalence.random_classifier(answers[0][1], 1)
    monkeypatch.setattr(equivalence, "TOLERANCE", -1.0)
    with pytest.raises(ValueError, match="the two ways differ by"):
        equivalence.compare(equivalence.questions_of(answers, 5), classifier, rounds=1, data="made up")


def test_it_prints_one_json_document(
    tiny: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DIVBENCH_MIRROR", raising=False)
    options = ["--rounds", "1", "--pairs", "60", "--layers", "2"]
    equivalence.main(options)
    found = json.loads(capsys.readouterr().out)
    assert (found["pairs"], found["layers"], found["data"]) == (60, 2, "made up")


@pytest.mark.thorough
@pytest.mark.mirror
def test_it_reads_the_released_responses(mirror: Path) -> None:
    answers = equivalence.released_responses(mirror)
    assert len(answers) == 600
    assert {len(texts) for _, texts in answers} == {8, 10}
    assert len(equivalence.questions_of(answers, 100)) == 100
