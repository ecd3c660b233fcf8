"""Metrics against the packages that have them, too: stored values always, the packages themselves where installed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.analysis.metaeval.labelled import load_labelled
from benchmark.metrics.distances import bottleneck
from benchmark.models.embedder import SentenceTransformersEmbedder
from benchmark.models.tagger import PATTERN_TAGGER
from benchmark.perf.peers import PAIRS, TOLERANCE, Pair, is_installed, values
from tests.benchmark.helpers import golden
from tests.benchmark.peer_values import name_of, sets_of

REAL_SETS = 200


def theirs(pair: Pair, given: list[Any], folder: Path, patch: pytest.MonkeyPatch) -> list[float]:
    patch.chdir(folder)  # emb-diversity keeps distances in a folder here
    return values(pair.theirs, given)


def assert_same(pair: Pair, ours: list[float], expected: list[float]) -> None:
    if pair.measure == "hamdiv":  # theirs is the length of a circuit, ours of the shortest
        assert all(own <= other + TOLERANCE for own, other in zip(ours, expected, strict=True))
        assert any(own < 0.999 * other for own, other in zip(ours, expected, strict=True))
        assert all(own >= other / 2 for own, other in zip(ours, expected, strict=True))
    else:
        assert ours == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE), name_of(pair)


def test_values_are_those_that_other_packages_gave() -> None:
    stored = golden("peers")["values"]
    assert list(stored) == [name_of(pair) for pair in PAIRS]
    for pair in PAIRS:
        assert_same(pair, values(pair.ours, sets_of(pair)), stored[name_of(pair)])


@pytest.fixture(scope="module")
def real_sets(mirror: Path, minilm: SentenceTransformersEmbedder) -> dict[str, list[Any]]:
    """Vectors, texts and tags of 200 sets that people wrote."""
    chosen = load_labelled("contest/resp_gen", mirror=mirror).responses[:REAL_SETS]
    flat = minilm.embed([text for texts in chosen for text in texts])
    ends = np.cumsum([len(texts) for texts in chosen])[:-1]
    tagger = PATTERN_TAGGER.load()
    tags = [tagger.tag(texts) for texts in chosen]
    tags = [each for each in tags if any(len(sentence) >= 6 for own in each for sentence in own)]
    assert (
        REAL_SETS > len(tags) > 0.9 * REAL_SETS
    )  # where theirs is 0 because no template is possible, ours has no value
    return {"vectors": np.split(flat, ends), "texts": list(chosen), "tags": tags}


@pytest.mark.mirror
@pytest.mark.parametrize("pair", [pytest.param(pair, id=name_of(pair)) for pair in PAIRS])
def test_values_on_real_sets_are_those_of_the_package(
    pair: Pair, real_sets: dict[str, list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_installed(pair.package):
        pytest.skip(f"{pair.package} is not installed: extra peers")
    given = real_sets[pair.reads]
    if pair.measure == "mst_dispersion":  # theirs is too large where vectors are equal
        distinct = [own for own in given if bottleneck(own) > 0]
        assert REAL_SETS > len(distinct) > REAL_SETS - 5
        given = distinct
    assert_same(pair, values(pair.ours, given), theirs(pair, given, tmp_path, monkeypatch))
