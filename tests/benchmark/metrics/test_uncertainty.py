"""What a model's likelihoods say: golden values, brute force, laws, and what cannot be scored."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.metrics.metric import Unscorable
from benchmark.metrics.partition import Labels
from benchmark.metrics.uncertainty import (
    ClassedLikelihoods,
    ResponseScores,
    discrete_semantic_entropy,
    energy,
    length_normalised_entropy,
    mean_token_entropy,
    perplexity,
    semantic_entropy,
)
from tests.benchmark.helpers import golden
from tests.benchmark.logits import read_logits

GOLDEN = golden("uncertainty")
close: Callable[..., object] = pytest.approx


@st.composite
def answers(draw: st.DrawFn) -> ClassedLikelihoods:
    k, seed = draw(st.integers(1, 9)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 30, k)
    labels = tuple(int(each) for each in rng.integers(0, 4, k))
    return ClassedLikelihoods(labels, -rng.exponential(1.5, k) * counts, counts)


def classed(values: list[float], labels: Labels, counts: list[int] | None = None) -> ClassedLikelihoods:
    lengths = np.ones(len(values), dtype=np.int64) if counts is None else np.array(counts)
    return ClassedLikelihoods(labels, np.array(values, dtype=np.float64), lengths)


# Tokens


def test_golden_values_of_tokens() -> None:
    expected = GOLDEN["tokens"]
    logits = np.array(expected["logits"], dtype=np.float32)
    greedy = read_logits(logits)
    assert energy(greedy) == close(expected["energy"], abs=1e-9)
    assert perplexity(greedy) == close(expected["greedy_perplexity"], abs=1e-9)
    sampled = read_logits(logits, np.array(expected["sampled"]))
    assert perplexity(sampled) == close(expected["sampled_perplexity"], abs=1e-9)
    # Where the largest is read the sampled tokens do not matter.
    assert length_normalised_entropy([sampled], "inside") == close(expected["greedy_perplexity"], abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_tokens_by_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    samples, rates, largest = [], [], []
    for length in (3, 1, 7):
        logits = rng.normal(0, 4, (length, 11))
        tokens = rng.integers(0, 11, length)
        warped = np.where(logits >= np.sort(logits, axis=1)[:, -4:-3], logits / 0.7, -np.inf)
        samples.append(read_logits(logits, tokens, warped))
        rate = top = normaliser = 0.0
        for row, warm, token in zip(logits.tolist(), warped.tolist(), tokens.tolist(), strict=True):
            total = sum(math.exp(value) for value in row)
            rate -= math.log(math.exp(row[token]) / total) / length
            kept = [math.exp(value) for value in warm]
            top -= math.log(max(kept) / sum(kept)) / length
            normaliser -= math.log(total) / length
        rates.append(rate)
        largest.append(top)
        assert perplexity(samples[-1]) == close(rate, abs=1e-12)
        assert energy(samples[-1]) == close(normaliser, abs=1e-12)
    assert length_normalised_entropy(samples) == close(sum(rates) / 3, abs=1e-12)
    assert length_normalised_entropy(samples, "inside") == close(sum(largest) / 3, abs=1e-12)


@given(seed=st.integers(0, 10**6), shift=st.floats(-50, 50))
def test_laws_of_tokens(seed: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 3, (4, 9))
    greedy, moved = read_logits(logits), read_logits(logits + shift)
    assert 0 <= perplexity(greedy) <= math.log(9)
    assert perplexity(moved) == close(perplexity(greedy), abs=1e-9)
    # Energy is no function of the probabilities: it moves with the logits.
    assert energy(moved) == close(energy(greedy) - shift, abs=1e-9)
    assert perplexity(read_logits(logits, rng.integers(0, 9, 4))) >= perplexity(greedy) - 1e-12
    samples = [read_logits(logits[:n], rng.integers(0, 9, n)) for n in (1, 2, 4)]
    assert length_normalised_entropy(samples[::-1]) == close(length_normalised_entropy(samples), abs=1e-12)


def test_perplexity_of_even_logits_is_its_maximum() -> None:
    assert perplexity(read_logits(np.zeros((5, 16)))) == close(math.log(16), abs=1e-12)


def test_large_logits_do_not_overflow() -> None:
    scores = read_logits(np.array([[2000.0, 0], [-2000, -4000]], dtype=np.float32))
    assert perplexity(scores) == 0
    assert energy(scores) == 0


def test_a_response_without_tokens_is_left_out() -> None:
    empty = read_logits(np.empty((0, 5)))
    full = read_logits(np.eye(2, 5))
    assert length_normalised_entropy([empty, full, empty]) == perplexity(full)
    for variant in ("mc", "inside"):
        with pytest.raises(Unscorable, match=r"^no token$"):
            length_normalised_entropy([empty, empty], variant)
    for metric in (perplexity, energy):
        with pytest.raises(Unscorable, match=r"^no token$"):
            metric(empty)
    with pytest.raises(Unscorable, match=r"^no token$"):
        length_normalised_entropy([])


def test_what_was_not_read_is_missing() -> None:
    bare = ResponseScores(2, -3.0)
    assert perplexity(bare) == 1.5
    with pytest.raises(Unscorable, match=r"^no logits of the whole vocabulary$"):
        energy(bare)
    with pytest.raises(Unscorable, match=r"^no largest probabilities$"):
        length_normalised_entropy([bare], "inside")
    with pytest.raises(Unscorable, match=r"^no logits of the whole vocabulary$"):
        mean_token_entropy([bare])


def test_what_no_response_scores_are() -> None:
    with pytest.raises(Unscorable, match="not finite"):
        ResponseScores(1, math.nan)
    with pytest.raises(Unscorable, match="not finite"):
        ResponseScores(1, -1.0, normaliser=math.inf)
    with pytest.raises(Unscorable, match="not finite"):
        read_logits(np.array([[0.0, -np.inf]]), np.array([1]))
    with pytest.raises(Unscorable, match="probabilities above 1"):
        ResponseScores(1, 0.1)
    with pytest.raises(Unscorable, match="probabilities above 1"):
        ResponseScores(1, -0.1, largest=0.1)
    assert perplexity(ResponseScores(1, 1e-6)) == 0  # rounding of the model's
    with pytest.raises(ValueError, match="tokens"):
        ResponseScores(-1, 0.0)
    with pytest.raises(ValueError, match="do not fit"):
        read_logits(np.zeros((2, 3)), np.array([0]))


def test_token_entropy_is_the_expectation_of_the_entropy_mc() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (1, 6))
    p = np.exp(logits[0]) / np.exp(logits[0]).sum()
    expected = -float(np.sum(p * np.log(p)))
    assert mean_token_entropy([read_logits(logits)]) == close(expected, abs=1e-12)
    each = [length_normalised_entropy([read_logits(logits, np.array([token]))]) for token in range(6)]
    assert float(np.dot(p, each)) == close(expected, abs=1e-12)
    two = [read_logits(logits), read_logits(np.zeros((3, 6))), read_logits(np.empty((0, 6)))]
    assert mean_token_entropy(two) == close((expected + math.log(6)) / 2, abs=1e-12)
    with pytest.raises(Unscorable, match=r"^no token$"):
        mean_token_entropy([])


# Semantic entropy


def test_golden_values_of_semantic_entropy() -> None:
    expected = GOLDEN["semantic_entropy"]
    given_answers = classed(expected["log_likelihoods"], tuple(expected["labels"]))
    assert semantic_entropy(given_answers) == close(expected["rao"], abs=1e-9)
    assert discrete_semantic_entropy(given_answers.labels) == close(expected["discrete"], abs=1e-9)


@given(answers())
def test_semantic_entropy_by_brute_force(made: ClassedLikelihoods) -> None:
    k = len(made.labels)
    rates = [math.exp(v / n) for v, n in zip(made.log_likelihoods.tolist(), made.token_counts.tolist(), strict=True)]
    members = {label: [i for i in range(k) if made.labels[i] == label] for label in made.labels}
    shares = [sum(rates[i] for i in each) / sum(rates) for each in members.values()]
    assert semantic_entropy(made) == close(-sum(p * math.log(p) for p in shares), abs=1e-9)
    counts = [len(each) / k for each in members.values()]
    assert discrete_semantic_entropy(made.labels) == close(-sum(p * math.log(p) for p in counts), abs=1e-9)


@given(answers(), st.integers(0, 10**6))
def test_laws_of_semantic_entropy(made: ClassedLikelihoods, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(made.labels))
    renamed = tuple(9 - label for label in (made.labels[i] or 0 for i in order))
    shuffled = ClassedLikelihoods(renamed, made.log_likelihoods[order], made.token_counts[order])
    assert semantic_entropy(shuffled) == close(semantic_entropy(made), abs=1e-9)
    assert discrete_semantic_entropy(renamed) == close(discrete_semantic_entropy(made.labels), abs=1e-12)
    most = math.log(len(set(made.labels))) + 1e-12
    assert 0 <= semantic_entropy(made) <= most
    assert 0 <= discrete_semantic_entropy(made.labels) <= most


def test_semantic_entropy_ends() -> None:
    assert semantic_entropy(classed([-1, -2, -3], (0, 0, 0))) == 0
    assert discrete_semantic_entropy((5, 5, 5)) == 0
    assert discrete_semantic_entropy((0, 1, 2, 3)) == close(math.log(4), abs=1e-12)
    assert semantic_entropy(classed([-1, -1, -1, -1], (0, 1, 2, 3))) == close(math.log(4), abs=1e-12)
    # Whole sequences whose probability is 0 in float64.
    assert semantic_entropy(classed([-2000, -2000], (0, 1))) == close(math.log(2))


def test_what_is_in_no_class_or_has_no_token_is_left_out() -> None:
    few = classed([-4, -3], (0, 1), [4, 2])
    more = classed([-9, -4, 0, -3], (None, 0, 0, 1), [3, 4, 0, 2])
    assert semantic_entropy(more) == semantic_entropy(few)
    for none in (classed([], ()), classed([-1], (None,)), classed([0], (0,), [0])):
        with pytest.raises(Unscorable, match=r"^no response in a class$"):
            semantic_entropy(none)


def test_what_no_classed_likelihoods_are() -> None:
    with pytest.raises(Unscorable, match=r"^no response in a class$"):
        discrete_semantic_entropy((None, None))
    with pytest.raises(Unscorable, match="not finite"):
        classed([-math.inf], (0,))
    with pytest.raises(Unscorable, match="probabilities above 1"):
        classed([0.5], (0,))
    with pytest.raises(ValueError, match="do not fit"):
        classed([-1, -2], (0,))
    with pytest.raises(ValueError, match="do not fit"):
        classed([-1], (0,), [-1])
    with pytest.raises(ValueError, match="integers"):
        ClassedLikelihoods((0,), np.array([-1.0]), np.array([1.0]))
