"""Counting many sets at once gives what counting one n-gram at a time gives."""

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy

from benchmark.metrics.lexical import (
    MAX_N,
    NgramStatistics,
    Tokeniser,
    distinct_n,
    ngram_cosine_diversity,
    ngram_entropy,
    ngram_statistics,
    tevet_tokens,
    whitespace_tokens,
)
from benchmark.metrics.metric import Unscorable
from tests.benchmark import plain
from tests.benchmark.helpers import golden

# Words that repeat, that tokenisers part or join, that look alike, and any others. (A surrogate is no text.)
WORD = st.sampled_from(["a", "b", "the", "a.b", ".", "\t", "\n", "x\ny", " ", "é", "e\u0301", "中文", "🙂", "\x00", ""])
TEXT = st.one_of(
    st.lists(WORD, max_size=12).map(" ".join), st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)
SETS = st.lists(st.lists(TEXT, max_size=6), max_size=6)


@given(sets=SETS)
@example(sets=[])
@example(sets=[[], [""], ["a"], ["a", "a"], ["", "\t", "a b c d e f"], ["a b a b a b a b"] * 3])
@settings(max_examples=200, deadline=None)
@pytest.mark.parametrize(
    ("tokenise", "plain_words"),
    [(whitespace_tokens, str.split), (tevet_tokens, plain.tevet_words)],
)
def test_statistics_equal_those_of_the_plain_implementation(
    tokenise: Tokeniser, plain_words: Tokeniser, sets: list[list[str]]
) -> None:
    found = ngram_statistics(sets, tokenise)
    assert len(found) == len(sets)
    for statistics, texts in zip(found, sets, strict=True):
        assert statistics.responses == len(texts)
        for n in range(1, MAX_N + 1):
            counts = [plain.ngram_counts(plain_words(text), n) for text in texts]
            pooled = sum(counts, Counter())
            assert statistics.total[n - 1] == pooled.total()
            assert statistics.unique[n - 1] == len(pooled)
            assert statistics.entropy[n - 1] == pytest.approx(plain.entropy(counts), abs=1e-12)
            cosine = plain.mean_cosine(counts) if len(texts) > 1 else math.nan
            assert statistics.cosine[n - 1] == pytest.approx(cosine, abs=1e-12, nan_ok=True)


def test_sets_do_not_touch_one_another() -> None:
    # More sets than are counted at once, of all sizes, with the same words.
    sets = [["the a the b"] * (1 + i % 4) + [f"the {i} a"] for i in range(600)]
    assert ngram_statistics(sets) == [ngram_statistics([texts])[0] for texts in sets]


@pytest.mark.parametrize("case", golden("tevet_ngrams")["cases"], ids=lambda case: case["about"][:40])
def test_tevet_metrics_of_hand_made_sets(case: dict[str, Any]) -> None:
    found = ngram_statistics([case["responses"]], tevet_tokens)[0]
    shares = [unique / max(total, 1) for unique, total in zip(found.unique, found.total, strict=True)]
    computed = {
        "distinct": shares,
        "averaged_distinct": distinct_n(found),
        "cosine_diversity": [-value for value in found.cosine],
        "averaged_cosine_diversity": ngram_cosine_diversity(found),
    }
    expected = {name: value for name, value in case.items() if name in computed}
    assert len(expected) >= 2
    for name, value in expected.items():
        assert computed[name] == pytest.approx(value, abs=6e-7), name


def test_nothing_shared_is_exactly_zero() -> None:
    # Once a difference of two sums here left −1e−17, which prints as −0.000 where the released files have 0.000.
    sets = [[" ".join(f"{word}-{i}" for word in ("all", "words", "differ", "all")) for i in range(7)]]
    value = ngram_cosine_diversity(ngram_statistics(sets, tevet_tokens)[0])
    assert (value, math.copysign(1, value)) == (0, 1)


@pytest.mark.parametrize("n", range(1, MAX_N + 1))
def test_entropy_equals_scipys(n: int) -> None:
    texts = ["to be or not to be that is the question", "to be is to do", "do be do be do"]
    counts = sum((plain.ngram_counts(text.split(), n) for text in texts), Counter())
    expected = scipy_entropy(list(counts.values())) / math.log(counts.total())
    assert ngram_entropy(ngram_statistics([texts])[0], n) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("texts", [[], ["a"], ["", " "]])
def test_entropy_needs_two_ngrams(texts: list[str]) -> None:
    with pytest.raises(Unscorable, match="fewer than two 1-grams"):
        ngram_entropy(ngram_statistics([texts])[0], n=1)


def test_cosine_diversity_needs_two_responses() -> None:
    one: NgramStatistics = ngram_statistics([["a b c"]])[0]
    with pytest.raises(Unscorable, match="fewer than two responses"):
        ngram_cosine_diversity(one)
