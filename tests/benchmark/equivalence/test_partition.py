"""Classes of answers: each algorithm against a plain one, no question too many, and what is never novel."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmark.equivalence.backend import ResponsePair
from benchmark.equivalence.partitioning import (
    PartitionSpec,
    ResponsesToGroup,
    canonical,
    normalised,
    partition_by_pairs,
    partition_sets,
)
from benchmark.equivalence.rules import Rouge1
from benchmark.metrics.metric import MOST_FOR_MODELS, Missing
from benchmark.metrics.partition import Labels
from benchmark.models import Algorithm

ALGORITHMS: tuple[Algorithm, ...] = ("greedy", "components", "complete", "average")
ORDER_FREE: tuple[Algorithm, ...] = ("components", "complete")
WORDS = [f"word {letter}" for letter in "abcdefghij"]


class Scored:
    """Scores by a table of texts; keeps what it was asked."""

    signature, threshold = "table", 0.5

    def __init__(self, scores: dict[tuple[str, str], float], *, symmetric: bool = True) -> None:
        self.symmetric = symmetric
        self.asked: list[ResponsePair] = []
        self._scores = {(normalised(a), normalised(b)): score for (a, b), score in scores.items()}

    def scores(self, questions: Sequence[ResponsePair]) -> NDArray[np.float64]:
        self.asked += questions
        return np.array([self._scores[normalised(each.a), normalised(each.b)] for each in questions])


def random_scores(texts: Sequence[str], seed: int, *, symmetric: bool = True) -> dict[tuple[str, str], float]:
    rng = np.random.default_rng(seed)
    made: dict[tuple[str, str], float] = {}
    for a, b in combinations(texts, 2):
        made[a, b] = float(np.round(rng.random(), 1))  # ties, and some at the threshold itself
        made[b, a] = made[a, b] if symmetric else float(np.round(rng.random(), 1))
    return made


def answers(*texts: str, prompt: str = "Say a word.", reasons: Sequence[str | None] | None = None) -> ResponsesToGroup:
    return ResponsesToGroup.of(prompt, texts, reasons)


def one(texts: Sequence[str], backend: Scored, algorithm: Algorithm = "greedy") -> Labels:
    (found,) = partition_by_pairs([answers(*texts)], backend, algorithm)
    return found


def plain_greedy(texts: Sequence[str], scores: dict[tuple[str, str], float]) -> tuple[list[int], list[tuple[str, str]]]:
    """The labels, and what had to be asked."""
    labels, heads, asked = [-1] * len(texts), 0, []
    for i, head in enumerate(texts):
        if labels[i] >= 0:
            continue
        labels[i] = heads
        for j in range(i + 1, len(texts)):
            if labels[j] < 0:
                asked.append((head, texts[j]))
                if scores[head, texts[j]] > 0.5:
                    labels[j] = heads
        heads += 1
    return labels, asked


@pytest.mark.parametrize("seed", range(20))
def test_greedy_is_the_published_algorithm_and_asks_what_it_needs(seed: int) -> None:
    scores = random_scores(WORDS, seed, symmetric=False)
    backend = Scored(scores, symmetric=False)
    labels, needed = plain_greedy(WORDS, scores)
    assert one(WORDS, backend) == tuple(labels)
    assert sorted((each.a, each.b) for each in backend.asked) == sorted(needed)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_components_are_those_of_the_graph(seed: int, symmetric: bool) -> None:
    scores = {pair: value - 0.3 for pair, value in random_scores(WORDS, seed, symmetric=symmetric).items()}
    backend = Scored(scores, symmetric=symmetric)
    found = one(WORDS, backend, "components")
    reached = {text: {text} for text in WORDS}
    for _ in WORDS:
        for a, b in combinations(WORDS, 2):
            if (scores[a, b] - 0.5) + (scores[b, a] - 0.5) > 0:  # the mean of both orders
                reached[a] = reached[b] = reached[a] | reached[b]
                for text in reached[a]:
                    reached[text] = reached[a]
    assert {frozenset(t for t, label in zip(WORDS, found, strict=True) if label == own) for own in found} == {
        frozenset(group) for group in reached.values()
    }
    assert len(backend.asked) <= (45 if symmetric else 90)
    assert len(set(backend.asked)) == len(backend.asked)


@pytest.mark.parametrize("seed", range(20))
def test_complete_classes_match_throughout_and_no_two_could_be_one(seed: int) -> None:
    scores = random_scores(WORDS, seed)
    found = one(WORDS, Scored(scores), "complete")

    def match(a: int, b: int) -> bool:
        return scores[WORDS[a], WORDS[b]] > 0.5

    groups = [
        [i for i, label in enumerate(found) if label == own] for own in sorted({x for x in found if x is not None})
    ]
    assert all(match(a, b) for group in groups for a, b in combinations(group, 2))
    assert not any(all(match(a, b) for a in one_ for b in other) for one_, other in combinations(groups, 2))


@pytest.mark.parametrize("algorithm", ORDER_FREE)
@pytest.mark.parametrize("symmetric", [True, False])
@given(seed=st.integers(0, 10_000))
def test_the_order_changes_nothing_where_it_should_not(algorithm: Algorithm, symmetric: bool, seed: int) -> None:
    texts = [*WORDS[:7], "Word a.", "WORD B"]
    scores = random_scores(texts, seed, symmetric=symmetric)
    order = np.random.default_rng(seed).permutation(len(texts)).tolist()
    given_order = one(texts, Scored(scores, symmetric=symmetric), algorithm)
    other = one([texts[i] for i in order], Scored(scores, symmetric=symmetric), algorithm)
    back: list[int | None] = [None] * len(texts)
    for label, place in zip(other, order, strict=True):
        back[place] = label
    assert canonical(back) == given_order


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_repeating_an_answer_adds_no_class(algorithm: Algorithm) -> None:
    for seed in range(30):
        scores = random_scores(WORDS, seed)
        before = len(set(one(WORDS, Scored(scores), algorithm)))
        for text in WORDS:
            for repeat in (text, f" {text.upper()}!"):
                assert len(set(one([*WORDS, repeat], Scored(scores), algorithm))) == before


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_equal_texts_are_one_class_whatever_the_backend_says(algorithm: Algorithm) -> None:
    backend = Scored({("Nairobi", "Paris"): 0.0, ("Paris", "Nairobi"): 0.0})
    assert one(["Nairobi", "**nairobi**.", "Paris", "NAIROBI"], backend, algorithm) == (0, 0, 1, 0)
    assert len(set(backend.asked)) == 1


def test_what_differs_in_meaning_is_not_the_same_text() -> None:
    for a, b in (("5", "-5"), ("C", "C++"), ("C", "C#"), ("1.5", "15"), ("a b", "ab"), ("?!", "..."), ("€5", "5")):
        assert normalised(a) != normalised(b), (a, b)
    same = (("Yes", "yes."), ("‘yes’", "YES"), ("a\n b", "a b"), ("Straße", "STRASSE"), ("香蕉", "「香蕉」。"))
    for a, b in (*same, ("किताब", "किताब।"), ("¿Sí?", "sí"), ("كتاب", "كتاب؟"), ("İzmir", "izmir")):
        assert normalised(a) == normalised(b), (a, b)


def test_a_threshold_is_not_reached_by_what_equals_it() -> None:
    for algorithm in ALGORITHMS:
        assert one(["a", "b"], Scored({("a", "b"): 0.5, ("b", "a"): 0.5}), algorithm) == (0, 1)
        assert one(["a", "b"], Scored({("a", "b"): np.nextafter(0.5, 1), ("b", "a"): 0.51}), algorithm) == (0, 0)


def test_what_is_no_answer_is_in_no_class() -> None:
    everything = Scored(dict.fromkeys([(a, b) for a in WORDS for b in WORDS], 0.0))
    texts = [WORDS[0], "", "[Blocked]", "I'm sorry, but I can't assist with that.", WORDS[1], "\u200b", WORDS[0]]
    for algorithm in ALGORITHMS:
        assert one(texts, everything, algorithm) == (0, None, None, None, 1, None, 0)


def test_what_was_cut_off_is_never_novel() -> None:
    scores = dict.fromkeys([(a, b) for a in WORDS for b in WORDS], 0.0)
    scores |= {(WORDS[0], WORDS[1]): 1.0, (WORDS[1], WORDS[0]): 1.0}
    reasons = ["length", "stop", "length", None]
    for algorithm in ALGORITHMS:
        (found,) = partition_by_pairs([answers(*WORDS[:4], reasons=reasons)], Scored(scores), algorithm)
        # The first joins what the second says in full; the third opens nothing.
        assert found == (0, 0, None, 1)


def test_only_too_many_different_responses_cannot_be_grouped() -> None:
    spec = PartitionSpec(Rouge1())
    different = [str(number) for number in range(MOST_FOR_MODELS + 1)]
    repeated = ["7", *(f"{number % 2}." for number in range(MOST_FOR_MODELS))]
    sets = [ResponsesToGroup.of("Name a number.", texts) for texts in (different, repeated)]
    many, few = partition_sets(sets, spec.load(), spec)
    assert many == Missing("more than 2,000 different responses, too many for all pairs")
    assert few == (0, *[1, 2] * (MOST_FOR_MODELS // 2))
