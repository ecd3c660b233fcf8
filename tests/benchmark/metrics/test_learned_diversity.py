"""Distances beside the prompt, and the metric that was fitted to them."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmark.metrics import METRICS
from benchmark.metrics.learned_diversity import learned_diversity, weights
from benchmark.metrics.metric import Missing, Unscorable
from benchmark.models.embedder import SentenceTransformersEmbedder
from benchmark.scoring.inputs import Materials, make_inputs, score_sets
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


def test_an_embedder_of_vectors_alone_leaves_it_missing() -> None:
    class Vectors:
        signature = "vectors"

        def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
            return HashEmbedder().embed(texts)

    [found] = score_sets(Materials([DIFFERENT], Vectors(), prompts=[PROMPT]), [*OURS, BY_ID["embedding_diversity"]])
    assert {found[metric.id] for metric in OURS} == {Missing("the embedder gives no states of tokens")}
    assert isinstance(found["embedding_diversity"], float)
