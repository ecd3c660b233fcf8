"""Equivalence without a classifier: ROUGE-1 against its library, embeddings by hand, the rule for short answers."""

import json
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer

from benchmark.equivalence.backend import EquivalenceBackend, Floats, ResponsePair
from benchmark.equivalence.rules import (
    MINILM_COSINE,
    EmbeddingEquivalence,
    EmbeddingThreshold,
    Rouge1,
    ShortAnswers,
    short_answers_equivalent,
)
from benchmark.models.embedder import ALL_MINILM_L6_V2
from tests.benchmark.fakes import HashEmbedder, HashEquivalence

TEXTS = [
    "The river was high, and the bridge was closed.",
    "the bridge was closed; the RIVER was high",
    "ha ha ha ha",
    "ha",
    "Nobody had seen the lamp since Tuesday, 3.14 o'clock.",
    "Снег шёл всю ночь",
    "雨が降っている。",
    "",
    " \n",
]
QUESTIONS = [ResponsePair("Say something.", a, b) for a, b in product(TEXTS, TEXTS)]


def by_library(questions: Sequence[ResponsePair]) -> list[float]:
    scorer = RougeScorer(["rouge1"])
    return [scorer.score(question.a, question.b)["rouge1"].fmeasure for question in questions]


def cosine() -> EmbeddingEquivalence:
    return EmbeddingEquivalence(EmbeddingThreshold(ALL_MINILM_L6_V2, 0.2, "a test"), HashEmbedder())


BACKENDS: dict[str, EquivalenceBackend] = {
    "ROUGE-1": Rouge1().load(),
    "embeddings": cosine(),
    "short answers": ShortAnswers(Rouge1()).load(),
    "hash": HashEquivalence(seed=3),
    "equal": HashEquivalence(),
}


@pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)
def test_scores_are_finite_symmetric_and_do_not_depend_on_order_or_company(backend: EquivalenceBackend) -> None:
    found = backend.scores(QUESTIONS)
    assert found.shape == (len(QUESTIONS),)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
    assert backend.symmetric
    assert np.array_equal(backend.scores([ResponsePair(q.prompt, q.b, q.a) for q in QUESTIONS]), found)
    order = np.random.default_rng(0).permutation(len(QUESTIONS))
    assert np.array_equal(backend.scores([QUESTIONS[i] for i in order]), found[order])
    assert np.array_equal(backend.scores([*QUESTIONS, *QUESTIONS[:5]])[-5:], found[:5])
    assert np.array_equal(np.concatenate([backend.scores([question]) for question in QUESTIONS]), found)
    assert backend.scores([]).shape == (0,)


# ROUGE-1


def test_rouge_1_is_that_of_the_library_bit_by_bit() -> None:
    assert Rouge1().load().scores(QUESTIONS).tolist() == by_library(QUESTIONS)


@pytest.mark.mirror
def test_rouge_1_is_that_of_the_library_on_released_answers(mirror: Path) -> None:
    questions = []
    for path in sorted((mirror / "noveltybench" / "submissions").glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        questions += [
            ResponsePair(row["prompt"], a, b) for row in rows for a, b in combinations(row["generations"][:4], 2)
        ]
    chosen = [questions[i] for i in np.random.default_rng(0).permutation(len(questions))[:300]]
    found = Rouge1().load().scores(chosen)
    assert found.tolist() == by_library(chosen)
    assert 0.05 < np.mean(found > Rouge1().threshold) < 0.95  # or being equal says little


def test_rouge_1_knows_latin_letters_and_digits_only_and_no_stems() -> None:
    pairs = [("雨が降っている。", "雨が降っている。"), ("", ""), ("closed bridges", "closing bridge")]
    assert Rouge1().load().scores([ResponsePair("", a, b) for a, b in pairs]).tolist() == [0, 0, 0]
    assert Rouge1().signature == "rouge-1-f1,no-stemmer,over-0.458"


# Embeddings


def test_cosines_are_those_of_the_embedder() -> None:
    found = cosine().scores(QUESTIONS)
    for question, score in zip(QUESTIONS, found, strict=True):
        one, other = HashEmbedder().embed([question.a, question.b])
        assert score == pytest.approx(float(one @ other), abs=1e-12)


def test_the_embedder_of_the_wheel_tells_paraphrases_from_others() -> None:
    backend = MINILM_COSINE.load()
    assert backend.signature == MINILM_COSINE.signature
    bridge = "They closed the bridge because the river was high."
    alike, unlike = backend.scores([ResponsePair("", TEXTS[0], bridge), ResponsePair("", TEXTS[4], bridge)])
    assert alike > 0.7
    assert unlike < 0.3


# Short answers


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ("Giraffe", " giraffe ", True),
        ("Giraffe.", "Giraffe", False),
        ("Nairobi", "Nairobi, Kenya", False),
        ("Nairobi", "Nairobi Kenya", True),
        ("the cat", "the dog", True),
        ("a black cat", "a white dog", False),
        ("ha ha ha", "ha ha ha", False),  # as published
        ("ha ha", "ha ha", True),
        ("", "", True),
        ("", "yes", False),
        ("雨", "雨", True),
        ("one two three four five", "one two three", True),
        ("one two three four five", "one two", False),
        ("one two three four five six", "one two three four five six", None),
        ("one", "one two three four five six", None),
    ],
)
def test_the_rule_for_short_answers(a: str, b: str, verdict: bool | None) -> None:
    assert short_answers_equivalent(a, b) is verdict
    assert short_answers_equivalent(b, a) is verdict


class Spy(HashEquivalence):
    """Notes what it is asked; its threshold is below zero."""

    def __init__(self) -> None:
        super().__init__(seed=1, threshold=-3.0)
        self.symmetric = False
        self.asked: list[ResponsePair] = []

    def load(self, device: str = "cpu") -> "Spy":
        return self

    def scores(self, questions: Sequence[ResponsePair]) -> Floats:
        self.asked += questions
        return super().scores(questions)


def test_a_backend_is_asked_about_the_others_alone() -> None:
    spy = Spy()
    backend = ShortAnswers(spy).load()
    assert (backend.threshold, backend.symmetric) == (-3.0, False)
    assert backend.signature == f"short-answers-to-5-words,{spy.signature}"
    short, unlike, long = (ResponsePair("p", a, b) for a, b in [("a b", "a c"), ("a b c", "a"), (TEXTS[0], TEXTS[4])])
    found = backend.scores([long, short, unlike, long])
    assert spy.asked == [long, long]
    assert found.tolist() == [*HashEquivalence(1).scores([long]), -2.0, -4.0, found[0]]
    assert (found > backend.threshold).tolist() == [True, True, False, True]


# The fake
