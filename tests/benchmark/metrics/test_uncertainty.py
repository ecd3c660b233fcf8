"""What a model's likelihoods say: golden values, brute force, laws, and what cannot be scored."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.metrics.internals import (
    ClassedInternals,
    Internals,
    ResponseScores,
    energy,
    mean_token_entropy,
    normalised_entropy,
    normalised_entropy_inside,
    perplexity,
    semantic_entropy,
    semantic_entropy_discrete,
    surprise_per_token,
)
from benchmark.metrics.metric import Unscorable
from benchmark.metrics.partition import Labels, Partition
from tests.benchmark.helpers import golden
from tests.benchmark.logits import read_logits

GOLDEN = golden("uncertainty")
close: Callable[..., object] = pytest.approx


def classed(values: Sequence[float], labels: Labels, counts: Sequence[int] | None = None) -> ClassedInternals:
    tokens = [1] * len(values) if counts is None else counts
    scores = tuple(ResponseScores(n, value) for n, value in zip(tokens, values, strict=True))
    return ClassedInternals(Partition(labels), Internals(scores))


@st.composite
def answers(draw: st.DrawFn) -> ClassedInternals:
    k, seed = draw(st.integers(1, 9)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 30, k)
    values = -rng.exponential(1.5, k) * counts
    return classed(values.tolist(), tuple(rng.integers(0, 4, k).tolist()), counts.tolist())


def sampled(*responses: ResponseScores) -> Internals:
    return Internals(responses)


def greedy(response: ResponseScores) -> Internals:
    return Internals((), response)


# Tokens


def test_golden_values_of_tokens() -> None:
    expected = GOLDEN["tokens"]
    logits = np.array(expected["logits"], dtype=np.float32)
    assert energy(greedy(read_logits(logits))) == close(expected["energy"], abs=1e-9)
    assert perplexity(greedy(read_logits(logits))) == close(expected["greedy_perplexity"], abs=1e-9)
    sample = read_logits(logits, np.array(expected["sampled"]))
    assert surprise_per_token(sample) == close(expected["sampled_perplexity"], abs=1e-9)
    # Where the largest is read, the sampled tokens do not matter.
    assert normalised_entropy_inside(sampled(sample)) == close(expected["greedy_perplexity"], abs=1e-9)


def test_tokens_by_brute_force() -> None:
    rng = np.random.default_rng(0)
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
            weights = [math.exp(value) for value in warm]
            top -= math.log(max(weights) / sum(weights)) / length
            normaliser -= math.log(total) / length
        rates.append(rate)
        largest.append(top)
        assert surprise_per_token(samples[-1]) == close(rate, abs=1e-12)
        assert energy(greedy(samples[-1])) == close(normaliser, abs=1e-12)
    assert normalised_entropy(sampled(*samples)) == close(sum(rates) / 3, abs=1e-12)
    assert normalised_entropy_inside(sampled(*samples)) == close(sum(largest) / 3, abs=1e-12)


def test_large_logits_do_not_overflow() -> None:
    scores = greedy(read_logits(np.array([[2000.0, 0], [-2000, -4000]], dtype=np.float32)))
    assert perplexity(scores) == energy(scores) == 0


def test_a_response_without_tokens_is_left_out() -> None:
    empty, full = read_logits(np.empty((0, 5))), read_logits(np.eye(2, 5))
    assert normalised_entropy(sampled(empty, full, empty)) == surprise_per_token(full)
    for metric in (normalised_entropy, normalised_entropy_inside, mean_token_entropy):
        for internals in (sampled(empty, empty), sampled()):
            with pytest.raises(Unscorable, match=r"^no token$"):
                metric(internals)
    for metric in (perplexity, energy):
        with pytest.raises(Unscorable, match=r"^no token$"):
            metric(greedy(empty))


def test_what_was_not_read_is_missing() -> None:
    bare = ResponseScores(2, -3.0)
    assert surprise_per_token(bare) == 1.5
    with pytest.raises(Unscorable, match=r"^no logits of the whole vocabulary$"):
        energy(greedy(bare))
    with pytest.raises(Unscorable, match=r"^no largest probabilities$"):
        normalised_entropy_inside(sampled(bare))
    with pytest.raises(Unscorable, match=r"^no logits of the whole vocabulary$"):
        mean_token_entropy(sampled(bare))


def test_scores_that_cannot_be() -> None:
    for numbers, reason in (
        ((1, math.nan), "not finite"),
        ((1, -1.0, None, math.inf), "not finite"),
        ((1, 0.1), "probabilities above 1"),
        ((1, -0.1, 0.1), "probabilities above 1"),
    ):
        with pytest.raises(Unscorable, match=reason):
            ResponseScores(*numbers)
    assert surprise_per_token(ResponseScores(1, 1e-6)) == 0  # the model's rounding
    with pytest.raises(ValueError, match="-1 tokens"):
        ResponseScores(-1, 0.0)


def test_token_entropy_is_the_expectation_of_the_normalised_entropy() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (1, 6))
    p = np.exp(logits[0]) / np.exp(logits[0]).sum()
    expected = -float(np.sum(p * np.log(p)))
    assert mean_token_entropy(sampled(read_logits(logits))) == close(expected, abs=1e-12)
    rates = [normalised_entropy(sampled(read_logits(logits, np.array([token])))) for token in range(6)]
    assert float(np.dot(p, rates)) == close(expected, abs=1e-12)
    two = sampled(read_logits(logits), read_logits(np.zeros((3, 6))), read_logits(np.empty((0, 6))))
    assert mean_token_entropy(two) == close((expected + math.log(6)) / 2, abs=1e-12)


# Semantic entropy


def test_golden_values_of_semantic_entropy() -> None:
    expected = GOLDEN["semantic_entropy"]
    responses = classed(expected["log_likelihoods"], tuple(expected["labels"]))
    assert semantic_entropy(responses) == close(expected["rao"], abs=1e-9)
    assert semantic_entropy_discrete(responses.partition) == close(expected["discrete"], abs=1e-9)


@given(answers())
def test_semantic_entropy_by_brute_force(responses: ClassedInternals) -> None:
    labels, samples = responses.partition.labels, responses.internals.samples
    rates = [math.exp(scores.log_likelihood / scores.tokens) for scores in samples]
    members = [[i for i, label in enumerate(labels) if label == c] for c in set(labels)]
    shares = [sum(rates[i] for i in group) / sum(rates) for group in members]
    assert semantic_entropy(responses) == close(-sum(p * math.log(p) for p in shares), abs=1e-9)
    counts = [len(group) / len(labels) for group in members]
    assert semantic_entropy_discrete(responses.partition) == close(-sum(p * math.log(p) for p in counts), abs=1e-9)


def test_semantic_entropy_ends() -> None:
    assert semantic_entropy(classed([-1, -2, -3], (0, 0, 0))) == 0
    assert semantic_entropy(classed([-1, -1, -1, -1], (0, 1, 2, 3))) == close(math.log(4), abs=1e-12)
    # Whole sequences whose probability is 0 in float64.
    assert semantic_entropy(classed([-2000, -2000], (0, 1))) == close(math.log(2))


def test_what_is_in_no_class_or_has_no_token_is_left_out() -> None:
    few = classed([-4, -3], (0, 1), [4, 2])
    more = classed([-9, -4, 0, -3], (None, 0, 0, 1), [3, 4, 0, 2])
    assert semantic_entropy(more) == semantic_entropy(few)
    for responses in (classed([], ()), classed([-1], (None,)), classed([0], (0,), [0])):
        with pytest.raises(Unscorable, match=r"^no response in a class$"):
            semantic_entropy(responses)
