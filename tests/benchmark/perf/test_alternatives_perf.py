"""`benchmark/perf/alternatives.py` runs at a small size and compares equal numbers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.perf import alternatives, classifier_work

TINY: dict[str, Any] = {
    "vocab_size": 16_000,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "initializer_range": 0.3,
}


@pytest.mark.thorough
def test_both_kinds_of_models_give_the_numbers_of_the_libraries(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DIVBENCH_MIRROR", raising=False)
    make: Any = classifier_work.random_classifier
    monkeypatch.setattr(alternatives, "random_classifier", lambda texts, layers: make(texts, layers, **TINY))
    alternatives.main(["--rounds", "1", "--texts", "12", "--pairs", "20", "--layers", "1"])
    found = json.loads(capsys.readouterr().out)
    assert [(each["about"]["work"], each["about"]["items"]) for each in found["comparisons"]] == [
        ("embeddings", 12),
        ("classifier", 20),
        ("classifier", 20),
    ]
    for each in found["comparisons"]:
        assert each["largest_difference"] <= alternatives.TOLERANCE[each["about"]["work"]]
        assert each["about"]["tokens"] > each["about"]["items"]


def test_words_that_the_library_does_not_know_do_not_stop_it() -> None:
    [found] = alternatives.embeddings(["A 🐢 in a shell.", "A 🎲 on a table.", "A red ball."], 1)
    assert found.largest_difference <= alternatives.TOLERANCE["embeddings"]


def test_it_stops_where_the_numbers_differ() -> None:
    ways = [lambda value=value: np.array([value]) for value in (0.5, 0.6)]
    with pytest.raises(ValueError, match="classifier: the package and other differ by"):
        alternatives.compare("classifier", 1, 9, ways[0], {"other": ways[1]}, 1)


@pytest.mark.thorough
@pytest.mark.mirror
def test_it_reads_the_released_responses(mirror: Path) -> None:
    responses = classifier_work.released_responses(mirror)
    assert len(responses) == 600
    assert {len(texts) for _, texts in responses} == {8, 10}
    assert len(classifier_work.questions_of(responses, 100)) == 100
