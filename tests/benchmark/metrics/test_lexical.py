"""Lexical metrics against the libraries that others use for them, and against values by hand."""

import gzip
import math
import zlib
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU

from benchmark.metrics import text_overlap
from benchmark.metrics.lexical import (
    NgramStatistics,
    expectation_adjusted_distinct,
    ngram_statistics,
    type_token_ratio,
    unique_1grams,
)
from benchmark.metrics.metric import Unscorable
from benchmark.metrics.text_overlap import compression_ratio, rouge_l_similarity, self_bleu
from tests.benchmark.helpers import golden, random_responses

SETS = [
    ("The cat sat on the mat.", "The cat lay on the mat, purring!", "A dog barked at nothing."),
    ("yes", "no", "yes, yes"),
    ("Same words here.", "Same words here.", "Others were there."),
    ("It's 3.14 -- isn't it?", "It is 3,14 (isn't it)?", "  leading and trailing  "),
    ("Line one\nline two", "line one line two", "Über naïve cafés", "naïve Übermut"),
    ("running runners ran", "he runs and runs", "generously generous generations"),
    *(random_responses(place, k=6) for place in range(4)),
]


@pytest.mark.parametrize("texts", SETS)
def test_rouge_l_equals_google_rouge_scores(texts: tuple[str, ...]) -> None:
    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    pairs = [scorer.score(one, other)["rougeL"].fmeasure for one, other in combinations(texts, 2)]
    assert rouge_l_similarity(texts) == pytest.approx(np.mean(pairs), abs=1e-12)


WORDS = st.sampled_from(["a", "b", "cat", "cats", "The", "ran.", "x-y"])
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=12).map(" ".join), min_size=2, max_size=8)


@given(texts=st.lists(st.lists(WORDS, min_size=1, max_size=12).map(tuple), min_size=2, max_size=8, unique=True))
@settings(max_examples=100, deadline=None)
def test_self_bleu_of_different_texts_is_sacrebleus_to_the_bit(texts: list[tuple[str, ...]]) -> None:
    bleu, raw = BLEU(effective_order=True), [" ".join(words) for words in texts]
    scores = [bleu.sentence_score(text, [*raw[:i], *raw[i + 1 :]]).score for i, text in enumerate(raw)]
    assert self_bleu(raw) == math.fsum(min(score / 100, 1.0) for score in scores) / len(raw)


def test_rouge_l_golden_values() -> None:
    expected = golden("rouge_l")
    texts = expected["responses"]
    pairs = [rouge_l_similarity(pair) for pair in combinations(texts, 2)]
    assert pairs == pytest.approx(expected["pairs"], abs=1e-12)
    assert rouge_l_similarity(texts) == pytest.approx(expected["mean"], abs=1e-12)


def test_rouge_l_counts_identical_texts_without_tokens_as_equal() -> None:
    # rouge-score gives 0 for them, so that two empty answers would look diverse.
    assert rouge_l_similarity(["你好", "你好"]) == 1
    assert rouge_l_similarity(["你好", "hello", "hello"]) == pytest.approx(1 / 3)


def test_rouge_l_is_missing_where_it_cannot_tell_texts_apart() -> None:
    with pytest.raises(Unscorable, match="no letters a-z or digits"):
        rouge_l_similarity(["你好", "再见", "hello"])


def test_rouge_l_is_missing_for_texts_whose_pairs_would_take_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["one two", "one three", "four"]  # 2 * 2 + 2 * 1 + 2 * 1
    monkeypatch.setattr(text_overlap, "_MOST_COMPARED", 8)
    assert rouge_l_similarity(texts) == pytest.approx(1 / 6)
    monkeypatch.setattr(text_overlap, "_MOST_COMPARED", 7)
    with pytest.raises(Unscorable, match="texts too long to compare all pairs"):
        rouge_l_similarity(texts)


@pytest.mark.parametrize("metric", [self_bleu, rouge_l_similarity])
def test_pairwise_metrics_need_two_responses(metric: Callable[[list[str]], float]) -> None:
    with pytest.raises(Unscorable, match="fewer than two responses"):
        metric(["alone"])


# By hand from eq. 4 of Liu et al. 2022: N different among C, V = 10.
@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["a"], [1.0]),  # expected from one draw: 10 (1 − 0.9) = 1
        (["a", "b"], [2 / 1.9]),
        (["a", "a"], [1 / 1.9]),
        (["a b"], [2 / 1.9, 1.0]),
        ([""], []),
    ],
)
def test_ead_by_hand(texts: list[str], expected: list[float]) -> None:
    value = expectation_adjusted_distinct(ngram_statistics([texts])[0], vocabulary=10)
    assert value == pytest.approx(sum(expected) / 5, abs=1e-12)


def test_words_are_counted_over_the_set() -> None:
    statistics = ngram_statistics([["a b a", "b c", "d"]])[0]
    assert unique_1grams(statistics) == 4
    assert type_token_ratio(statistics) == 4 / 6


@pytest.mark.parametrize("metric", [unique_1grams, type_token_ratio])
def test_word_counts_need_a_word(metric: Callable[[NgramStatistics], float]) -> None:
    with pytest.raises(Unscorable, match="no words"):
        metric(ngram_statistics([["", " \t"]])[0])


def test_compression_ratio_is_of_the_deflated_bytes_alone() -> None:
    texts = ["one fish two fish", "red fish blue fish"]
    joined = " ".join(sorted(texts)).encode()
    # gzip adds 18 bytes of header and checksum, zlib 6; on a short text they would be a third of the ratio.
    assert compression_ratio(texts) * len(joined) == pytest.approx(len(gzip.compress(joined, 9)) - 18, abs=1e-9)
    assert compression_ratio(texts) * len(joined) == pytest.approx(len(zlib.compress(joined, 9)) - 6, abs=1e-9)


def test_compression_ratio_nears_its_ends() -> None:
    rng = np.random.default_rng(0)
    noise = ["".join(map(chr, rng.integers(33, 127, size=500))) for _ in range(10)]
    # 94 letters drawn evenly: log2(94) of 8 bits cannot be saved.
    assert compression_ratio(noise) == pytest.approx(math.log2(94) / 8, abs=0.02)
    assert compression_ratio(["spam " * 100] * 10) < 0.01


@pytest.mark.parametrize("texts", [[], ["", " "]])
def test_compression_ratio_needs_text(texts: list[str]) -> None:
    with pytest.raises(Unscorable, match="no text"):
        compression_ratio(texts)
