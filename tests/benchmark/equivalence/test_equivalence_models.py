"""NoveltyBench's classifier, on tiny random models: against one pair at a time; windows, limits, refusals."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from benchmark.equivalence.backend import EquivalenceSpec, ResponsePair
from benchmark.equivalence.classifiers import (
    DEBERTA_V3_LARGE_TOKENISER,
    BothWaysNLI,
    GenerationSimilarity,
    find_generation_similarity,
    load_pair_classifier,
)
from benchmark.models.model_files import ModelFiles, find_model_files
from divbench.core.errors import ConfigurationError
from tests.benchmark.classifiers import POSITIONS, QUESTIONS, TEXTS, WINDOW, save_bare_deberta, save_deberta, save_nli
from tests.benchmark.encoders import pickle_weights, save_cross_encoder


@pytest.fixture(scope="module")
def classifier_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_deberta(tmp_path_factory.mktemp("models") / "similarity")


@pytest.fixture
def similarity(classifier_folder: Path) -> GenerationSimilarity:
    return find_generation_similarity(str(classifier_folder), WINDOW)


@pytest.fixture(scope="module")
def nli(tmp_path_factory: pytest.TempPathFactory) -> BothWaysNLI:
    folder = save_nli(tmp_path_factory.mktemp("models") / "nli")
    return BothWaysNLI(find_model_files(str(folder)), max_tokens=POSITIONS)


def one_by_one(folder: Path, questions: Sequence[ResponsePair], window: int = WINDOW) -> list[float]:
    """By the published definition, with the library's own model and nothing else of the package."""
    tokeniser = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    made = []
    for question in questions:
        a, b = (tokeniser(text, add_special_tokens=False).input_ids[:window] for text in (question.a, question.b))
        ids = [1, *a, 2, *b, 2]
        types = [0] * (len(a) + 2) + [1] * (len(b) + 1)
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types])).logits[0]
        made.append(float(logits.double().softmax(-1)[1]))
    return made


def test_probabilities_are_those_of_one_pair_at_a_time(
    similarity: GenerationSimilarity, classifier_folder: Path
) -> None:
    found = similarity.load().scores(QUESTIONS)
    assert found == pytest.approx(one_by_one(classifier_folder, QUESTIONS), abs=1e-5)
    assert np.ptp(found) > 0.1  # or being equal says little


def test_nothing_is_read_behind_the_window(similarity: GenerationSimilarity) -> None:
    backend = similarity.load()
    long = TEXTS[-1]
    cut, more, other = backend.scores(
        [
            ResponsePair("", long, "yes"),
            ResponsePair("", f"{long} and a lamp", "yes"),
            ResponsePair("", f"a lamp {long}", "yes"),
        ]
    )
    assert cut == more != other
    a, b = backend._join(list(range(10, 50)), [7]), backend._join([7], list(range(10, 50)))
    assert a.ids == (1, *range(10, 10 + WINDOW), 2, 7, 2)
    assert a.types == (0,) * (WINDOW + 2) + (1, 1)
    assert b.ids == (1, 7, 2, *range(10, 10 + WINDOW), 2)


@pytest.mark.parametrize(
    ("a", "b", "kept"), [(5, 5, (5, 5)), (5, 90, (5, 22)), (90, 5, (22, 5)), (90, 90, (14, 13)), (13, 90, (13, 14))]
)
def test_full_text_cuts_the_longer_answer_first(
    a: int, b: int, kept: tuple[int, int], similarity: GenerationSimilarity
) -> None:
    backend = replace(similarity, window=None, max_tokens=30).load()
    joined = backend._join([7] * a, [8] * b)
    assert (joined.ids.count(7), joined.ids.count(8)) == kept
    assert len(joined.ids) == min(a + b + 3, 30)


def test_a_special_token_in_an_answer_is_plain_text(similarity: GenerationSimilarity, nli: BothWaysNLI) -> None:
    tokeniser = similarity.load()._classifier.tokeniser
    assert 2 in tokeniser("yes [SEP] no", add_special_tokens=False, split_special_tokens=True).input_ids  # the trap
    text = "yes [SEP] no [CLS][MASK] [PAD]"
    special = set(tokeniser.all_special_ids) - {tokeniser.unk_token_id}
    classifier = similarity.load()._classifier
    assert not special & set(classifier.encode([text])[0])
    [joined] = nli.load()._classifier.encode_pairs([(text, text)], 90)
    assert [i for i in joined.ids if i in special] == [1, 2, 2]


def test_whatever_changes_scores_changes_the_signature(similarity: GenerationSimilarity, nli: BothWaysNLI) -> None:
    tokeniser = DEBERTA_V3_LARGE_TOKENISER
    changed: list[EquivalenceSpec] = [
        similarity,
        replace(similarity, window=128),
        replace(similarity, window=None),
        replace(similarity, window=None, max_tokens=90),
        replace(similarity, threshold=0.5),
        replace(similarity, dtype="bfloat16"),
        replace(similarity, tokeniser=tokeniser),
        replace(similarity, files=replace(similarity.files, revision="0" * 64)),
        nli,
        replace(nli, rule="lax"),
        replace(nli, with_prompt=False),
        replace(nli, max_tokens=90),
        replace(nli, dtype="bfloat16"),
    ]
    assert len({each.signature for each in changed}) == len(changed)
    assert replace(similarity, window=None).signature.endswith("full-text-to-512-tokens,no-prompt,p-over-0.102")


@pytest.mark.parametrize(("window", "longest"), [(47, 97), (None, 512)])
def test_what_does_not_fit_the_models_positions_is_refused(
    window: int | None, longest: int, similarity: GenerationSimilarity
) -> None:
    with pytest.raises(ConfigurationError, match=f"reads at most {POSITIONS} tokens, and up to {longest} are needed"):
        replace(similarity, window=window).load()


def test_a_classifier_with_other_outputs_is_refused(tmp_path: Path) -> None:
    spec = find_generation_similarity(str(save_deberta(tmp_path / "mine", outputs=3)))
    with pytest.raises(ConfigurationError, match="mine is a deberta-v2 with 3 outputs"):
        spec.load()


def test_a_model_that_was_not_trained_to_classify_is_refused(tmp_path: Path) -> None:
    spec = find_generation_similarity(str(save_bare_deberta(tmp_path / "mine")))
    with pytest.raises(ConfigurationError, match=r"lacks weights, such as classifier\.bias"):
        spec.load()


def test_a_tokeniser_of_another_model_is_refused(classifier_folder: Path, tmp_path: Path) -> None:
    other = save_cross_encoder(tmp_path / "other")
    with pytest.raises(ConfigurationError, match="the tokeniser belongs to another model"):
        load_pair_classifier(find_model_files(str(classifier_folder)), find_model_files(str(other)))


def test_weights_that_are_no_safetensors_are_refused(tmp_path: Path) -> None:
    folder = save_deberta(tmp_path / "mine")
    files = find_model_files(str(folder))
    pickle_weights(folder)
    for spec in (GenerationSimilarity(files, window=WINDOW), BothWaysNLI(files)):
        with pytest.raises(ConfigurationError, match=r"no \*\.safetensors"):
            spec.load()
    with pytest.raises(ConfigurationError, match=r"no \*\.safetensors"):
        find_generation_similarity(str(folder))


def test_a_folder_without_tokeniser_takes_debertas(tmp_path: Path, classifier_folder: Path) -> None:
    assert find_generation_similarity(str(classifier_folder)).tokeniser is None
    (tmp_path / "model.safetensors").write_bytes((classifier_folder / "model.safetensors").read_bytes())
    assert find_generation_similarity(str(tmp_path)).tokeniser == DEBERTA_V3_LARGE_TOKENISER
    assert find_generation_similarity(f"org/name@{'0' * 40}", window=None) == GenerationSimilarity(
        ModelFiles("org/name", "0" * 40), DEBERTA_V3_LARGE_TOKENISER, None
    )


def test_a_tokeniser_that_nothing_here_can_read_is_told_with_a_hint(
    classifier_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*given: Any, **options: Any) -> Any:
        raise ValueError("`tiktoken` is required to read a `tiktoken` file.")

    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", read)
    with pytest.raises(ConfigurationError, match=r"sentencepiece model.*pip install"):
        load_pair_classifier(find_model_files(str(classifier_folder)))
