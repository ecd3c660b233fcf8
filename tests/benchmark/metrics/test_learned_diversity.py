"""Distances beside the prompt, and the metric that was fitted to them."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.metrics import METRICS
from benchmark.metrics.learned_diversity import COLUMNS, learned_diversity, weights
from benchmark.metrics.metric import MOST_FOR_MODELS, Missing, Unscorable
from benchmark.models.embedder import SentenceTransformersEmbedder
from benchmark.scoring.inputs import Materials, make_inputs, score_sets
from benchmark.scoring.profiles import SENT_BERT, find_profile
from tests.benchmark.fakes import HashEmbedder

BY_ID = {metric.id: metric for metric in METRICS}
OURS = [BY_ID["learned_diversity"], BY_ID["distance_beside_prompt"]]
PROMPT = "Tell me about something that you did last weekend."
DIFFERENT = (
    "I painted the kitchen yellow.",
    "My cousin taught me how to mend a bicycle chain.",
    "We saw seals on the coast.",
    "I was ill and read two novels in bed.",
)
ALIKE = (
    "I painted the kitchen yellow.",
    "The kitchen was given a coat of yellow paint.",
    "I gave our kitchen yellow walls.",
    "We put yellow paint on the kitchen's walls.",
)


def test_by_hand() -> None:
    intercept, by_unit = weights()
    assert (by_unit > 0).all()
    pairs = np.array([[0.5, 0.2, 0.4], [0.7, 0.4, 0.2]])
    log_odds = intercept + 0.6 * by_unit[0] + 0.7 * by_unit[1] + 0.7 * by_unit[2]
    assert learned_diversity(pairs) == pytest.approx(1 / (1 + math.exp(-log_odds)), rel=1e-12)
    assert learned_diversity(np.full((6, 3), 0.9999)) < 0.05  # near what equal texts have by definition
    with pytest.raises(Unscorable):
        learned_diversity(np.empty((0, 3)))


def test_the_weights_are_a_few_hundred_bytes_with_their_origin() -> None:
    text = (resources.files("benchmark.metrics") / "learned_diversity.json").read_text("utf-8")
    assert len(text) < 500
    assert set(json.loads(text)) == {"fitted_on", "intercept", "weights"}
    assert tuple(json.loads(text)["weights"]) == COLUMNS


def test_real_sets(minilm: SentenceTransformersEmbedder) -> None:
    """The cosine beside the prompt is that of the vectors themselves, whose prompt's part is taken out."""
    sets = [DIFFERENT, ALIKE, ALIKE[:1] * 4, DIFFERENT]
    materials = Materials(sets, minilm, prompts=[PROMPT, PROMPT, PROMPT, " "])
    different, alike, equal, unknown = score_sets(materials, OURS)
    for metric in OURS:
        low, middle, high = (each[metric.id] for each in (equal, alike, different))
        assert isinstance(low, float)
        assert isinstance(middle, float)
        assert isinstance(high, float)
        assert low < middle < high, metric.id
        assert low == 0.0
        assert unknown[metric.id] == Missing("no prompt")
    vectors, [prompt] = minilm.embed(DIFFERENT), minilm.embed([PROMPT])
    beside = vectors - np.outer(vectors @ prompt, prompt)
    beside /= np.linalg.norm(beside, axis=1, keepdims=True)
    expected = 1 - (beside @ beside.T)[np.triu_indices(4, 1)].mean()
    assert different["distance_beside_prompt"] == pytest.approx(expected, abs=1e-6)
    [pairs, *_] = make_inputs(materials, OURS)["pairs:beside_prompt"]
    assert pairs.shape == (6, 3)


def test_more_responses_than_a_model_compares_in_pairs_have_a_reason(minilm: SentenceTransformersEmbedder) -> None:
    class Scorer:
        signature = "pairs"

        def score_pairs(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
            assert len(pairs) == 6
            return np.ones(6)

    chosen = [*OURS, BY_ID["bert_sts_diversity"]]
    sets = [[f"answer {number % 50}" for number in range(MOST_FOR_MODELS + 1)], DIFFERENT]  # equal texts embed once
    materials = Materials(sets, minilm, prompts=[PROMPT, PROMPT], pair_scorers={"pairs:sts": Scorer()})
    many, few = score_sets(materials, chosen)
    assert set(many.values()) == {Missing("more than 2,000 responses, too many for all pairs")}
    assert all(isinstance(value, float) for value in few.values())


def test_an_embedder_of_vectors_alone_leaves_it_missing() -> None:
    class Vectors:
        signature = "vectors"

        def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
            return HashEmbedder().embed(texts)

    [found] = score_sets(Materials([DIFFERENT], Vectors(), prompts=[PROMPT]), [*OURS, BY_ID["embedding_diversity"]])
    assert {found[metric.id] for metric in OURS} == {Missing("the embedder gives no states of tokens")}
    assert isinstance(found["embedding_diversity"], float)


def test_it_is_of_one_embedder_alone() -> None:
    profile, ours = find_profile("semantic"), {metric.id for metric in OURS}
    for other, expected in (
        (profile, ours),
        (replace(profile, embedder=SENT_BERT), set()),
        (find_profile("lexical"), set()),
    ):
        assert {metric.id for metric in other.metrics()} & ours == expected
