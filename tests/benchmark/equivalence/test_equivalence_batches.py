"""How models of equivalence read pairs in batches: order, company, lack of memory; the same for all of them."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.equivalence.backend import EquivalenceBackend, EquivalenceSpec, Floats
from benchmark.equivalence.classifiers import (
    BothWaysNLI,
    ClassifierEquivalence,
    NLIEquivalence,
    PairClassifier,
    PairTokens,
    find_generation_similarity,
)
from benchmark.models.memory import OutOfMemory
from benchmark.models.model_files import find_model_files
from divbench.core.errors import ConfigurationError
from tests.benchmark.classifiers import POSITIONS, QUESTIONS, TEXTS, WINDOW, save_deberta, save_nli, save_roberta_nli
from tests.benchmark.encoders import MAX_TOKENS


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    where = tmp_path_factory.mktemp("models")
    return {
        "similarity": save_deberta(where / "similarity"),
        "nli": save_nli(where / "nli"),
        "roberta": save_roberta_nli(where / "roberta"),
    }


@pytest.fixture(params=["window", "strict", "RoBERTa"])
def spec(request: pytest.FixtureRequest, folders: dict[str, Path]) -> EquivalenceSpec:
    """A spec of each kind."""
    similarity = find_generation_similarity(str(folders["similarity"]), WINDOW)
    nli = BothWaysNLI(find_model_files(str(folders["nli"])), max_tokens=POSITIONS)
    found: dict[str, EquivalenceSpec] = {
        "window": similarity,
        "strict": nli,
        "RoBERTa": BothWaysNLI(find_model_files(str(folders["roberta"])), max_tokens=MAX_TOKENS),
    }
    return found[request.param]


def classifier_of(backend: EquivalenceBackend) -> PairClassifier:
    assert isinstance(backend, ClassifierEquivalence | NLIEquivalence)
    return backend._classifier


def test_scores_do_not_depend_on_the_order_of_questions(spec: EquivalenceSpec) -> None:
    backend = spec.load()
    found = backend.scores(QUESTIONS)
    assert found.shape == (len(QUESTIONS),)
    assert np.isfinite(found).all()
    assert len(np.unique(found)) > len(TEXTS)
    order = np.random.default_rng(0).permutation(len(QUESTIONS))
    assert np.array_equal(backend.scores([QUESTIONS[i] for i in order]), found[order])
    assert np.array_equal(backend.scores([*QUESTIONS, *QUESTIONS])[len(QUESTIONS) :], found)
    assert backend.scores([]).shape == (0,)


def test_company_in_a_batch_changes_only_last_digits(spec: EquivalenceSpec) -> None:
    backend = spec.load()
    together = backend.scores(QUESTIONS)
    classifier_of(backend).batch_tokens = 1
    assert backend.scores(QUESTIONS) == pytest.approx(together, abs=1e-5)
    assert backend.scores(QUESTIONS[:3]) == pytest.approx(together[:3], abs=1e-5)


def test_a_batch_that_does_not_fit_is_halved(spec: EquivalenceSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = spec.load()
    expected = backend.scores(QUESTIONS)
    classifier = classifier_of(backend)
    read, sizes = type(classifier.model).forward, []

    def small(self: Any, input_ids: Any, **options: Any) -> Any:
        sizes.append(len(input_ids))
        if len(input_ids) > 3:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")
        return read(self, input_ids=input_ids, **options)

    monkeypatch.setattr(type(classifier.model), "forward", small)
    assert backend.scores(QUESTIONS) == pytest.approx(expected, abs=1e-5)
    tried = [size for size in sizes if size > 3]
    assert 0 < len(tried) < 9  # what did not fit is not tried at that size again and again
    assert all(after <= before / 2 for before, after in pairwise(tried[:2]))


def test_one_pair_that_does_not_fit_is_an_error(spec: EquivalenceSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = spec.load()

    def none(self: Any, **given: Any) -> Any:
        raise torch.OutOfMemoryError("out of memory\nand more")

    monkeypatch.setattr(type(classifier_of(backend).model), "forward", none)
    with pytest.raises(OutOfMemory, match=r"1 pairs of up to \d+ tokens: out of memory: out of memory \(a smaller"):
        backend.scores(QUESTIONS)


def test_each_different_pair_is_read_once(spec: EquivalenceSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = spec.load()
    classifier = classifier_of(backend)
    read = classifier._read
    rows: list[PairTokens] = []

    def noted(batch: Sequence[PairTokens]) -> Floats:
        rows.extend(batch)
        return read(batch)

    monkeypatch.setattr(classifier, "_read", noted)
    backend.scores([*QUESTIONS, *(replace(question) for question in QUESTIONS)])
    assert len(rows) == len(set(rows)) <= len(QUESTIONS)
    lengths = [len(row.ids) for row in rows]
    assert lengths == sorted(lengths, reverse=True)


def test_a_model_whose_numbers_are_no_numbers_is_an_error(spec: EquivalenceSpec) -> None:
    backend = spec.load()
    with torch.no_grad():
        for weights in classifier_of(backend).model.classifier.parameters():
            weights.fill_(float("nan"))
    with pytest.raises(ConfigurationError, match=r"not finite.*float32"):
        backend.scores(QUESTIONS[:1])
