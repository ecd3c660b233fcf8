"""Diversities of single responses: laws, what is left out, and what cannot be measured."""

import numpy as np
import pytest

from benchmark.exports.diversities import centre_distances, leave_one_out_diversities, measure_embeddings, surprises
from benchmark.metrics.internals import Internals
from benchmark.metrics.metric import Missing, Unscorable
from benchmark.metrics.uncertainty import ResponseScores
from submissions.checking.response_kinds import is_scorable
from submissions.schema import Row
from tests.benchmark.fakes import HashEmbedder
from tests.benchmark.helpers import hash_internals


def test_distances_from_the_centre() -> None:
    rng = np.random.default_rng(0)
    vectors = HashEmbedder().embed([str(i) for i in rng.permutation(9)])
    found = centre_distances(vectors)
    euclidean = np.linalg.norm(vectors - vectors.mean(axis=0), axis=1)
    assert np.argsort(found).tolist() == np.argsort(euclidean).tolist()
    assert centre_distances(np.repeat(vectors[:1], 7, axis=0)).tolist() == pytest.approx([0.0] * 7, abs=1e-15)
    repeated = centre_distances(np.vstack([vectors, vectors, vectors[::-1]]))
    assert repeated[:9].tolist() == repeated[9:18].tolist() == repeated[18:][::-1].tolist()
    with pytest.raises(Unscorable, match="fewer than two responses"):
        centre_distances(vectors[:1])
    with pytest.raises(Unscorable, match="mean is zero"):
        centre_distances(np.vstack([vectors, -vectors]))


def test_measures_leave_out_what_is_no_answer() -> None:
    texts = ("one", "", "two", "[Blocked]", "three", "four")
    answers = tuple(text for text in texts if is_scorable(text))
    for measured in (leave_one_out_diversities, surprises):
        found = measured(texts, hash_internals(texts))
        assert [value is None for value in found] == [not is_scorable(text) for text in texts]
        alone = measured(answers, hash_internals(answers))
        assert [value for value in found if value is not None] == pytest.approx(alone)
    rows = [Row(1, "p", None, texts), Row(2, "q", None, ("", "x")), Row(3, "r", None, ("", " "))]
    first, *others = measure_embeddings(HashEmbedder()).of(rows)
    assert isinstance(first, tuple)
    assert [value for value in first if value is not None] == pytest.approx(
        centre_distances(HashEmbedder().embed(answers)).tolist()
    )
    assert others == [Missing("fewer than two responses")] * 2
    assert measure_embeddings(HashEmbedder()).of(rows[2:]) == others[1:]


def test_a_response_without_tokens_is_missing_and_the_others_are_measured() -> None:
    empty, some = ResponseScores(0, 0.0), ResponseScores(2, -3.0)
    assert surprises(("a", "b", "c"), Internals((empty, some, None))) == (None, 1.5, None)


def test_what_cannot_be_measured() -> None:
    with pytest.raises(Unscorable, match="no response"):
        surprises(("", "[Blocked]"), hash_internals(("", "[Blocked]")))
    with pytest.raises(Unscorable, match="no likelihoods"):
        surprises(("a", "b"), Internals((None, None)))
    with pytest.raises(Unscorable, match="no hidden states"):
        leave_one_out_diversities(("a", "b", "c"), Internals(hash_internals(("a", "b", "c")).responses))
    with pytest.raises(Unscorable, match="fewer than three responses"):
        leave_one_out_diversities(("a", "b", ""), hash_internals(("a", "b", "")))
