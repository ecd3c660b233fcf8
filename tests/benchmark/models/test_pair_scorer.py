"""Scorers of pairs, on tiny random models: BERTScore against the bert-score library and by hand, laws, refusals."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import bert_score
import numpy as np
import pytest
from sentence_transformers import CrossEncoder

from benchmark.models import tokenisers
from benchmark.models.model_files import ModelFiles, find_model_files
from benchmark.models.pair_scorer import (
    ROBERTA_LARGE_BERT_SCORE,
    BertScorer,
    BertScoreSpec,
    CrossEncoderScorer,
    CrossEncoderSpec,
    PairScorer,
    PairScorerSpec,
)
from divbench.core.errors import ConfigurationError
from tests.benchmark.encoders import MAX_TOKENS, save_cross_encoder, save_roberta
from tests.benchmark.fakes import HashPairScorer

TEXTS = [
    "The river was high, and the bridge was closed.",
    "Nobody had seen the lamp since Tuesday.",
    " The lamp  was under the paper. ",
    "Снег шёл всю ночь",
    "雨が降っている。 🙂",
    "yes",
    "x " * 200,  # cut
]
PAIRS = list(product(TEXTS, TEXTS))


@pytest.fixture(scope="module")
def bert_spec(tmp_path_factory: pytest.TempPathFactory) -> BertScoreSpec:
    folder = save_roberta(tmp_path_factory.mktemp("models") / "roberta")
    return BertScoreSpec(find_model_files(str(folder)), layer=3, baseline=0.4, max_tokens=MAX_TOKENS)


@pytest.fixture(scope="module")
def cross_spec(tmp_path_factory: pytest.TempPathFactory) -> CrossEncoderSpec:
    folder = save_cross_encoder(tmp_path_factory.mktemp("models") / "cross")
    return CrossEncoderSpec(find_model_files(str(folder)), max_tokens=MAX_TOKENS)


@pytest.fixture(params=["hash", "BERTScore", "cross-encoder"])
def spec(request: pytest.FixtureRequest, bert_spec: BertScoreSpec, cross_spec: CrossEncoderSpec) -> PairScorerSpec:
    """A spec of each implementation of the protocol."""
    found: dict[str, PairScorerSpec] = {"BERTScore": bert_spec, "cross-encoder": cross_spec, "hash": HashPairScorer()}
    return found[request.param]


@pytest.fixture
def scorer(spec: PairScorerSpec) -> PairScorer:
    return spec.load()


def test_one_finite_score_a_pair_and_equal_ones_for_equal_pairs(scorer: PairScorer) -> None:
    found = scorer.score_pairs([*PAIRS, *PAIRS])
    assert found.shape == (2 * len(PAIRS),)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
    assert np.array_equal(found[: len(PAIRS)], found[len(PAIRS) :])
    assert len(np.unique(found)) > len(TEXTS)
    assert scorer.score_pairs([]).shape == (0,)


def test_company_in_a_batch_changes_only_last_digits(
    bert_spec: BertScoreSpec, cross_spec: CrossEncoderSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    for scorer in (BertScorer(bert_spec), CrossEncoderScorer(cross_spec)):
        together = scorer.score_pairs(PAIRS)
        with monkeypatch.context() as patch:
            patch.setattr(tokenisers, "CPU_TOKENS", 1)
            alone = scorer.score_pairs(PAIRS)
        assert not np.array_equal(together, alone)  # so the batches were others
        assert together == pytest.approx(alone, abs=1e-5)
        assert scorer.score_pairs(PAIRS[:1]) == pytest.approx(alone[:1], abs=1e-5)


def test_the_signature_is_known_without_loading(spec: PairScorerSpec, scorer: PairScorer) -> None:
    assert scorer.signature == spec.signature


# BERTScore


def test_bert_score_is_that_of_the_bert_score_library(bert_spec: BertScoreSpec) -> None:
    candidates, references = zip(*PAIRS, strict=True)
    _, _, found = bert_score.score(
        list(candidates),
        list(references),
        model_type=str(bert_spec.files.folder),
        num_layers=bert_spec.layer,
        device="cpu",
    )
    raw = replace(bert_spec, baseline=0.0).load().score_pairs(PAIRS)
    assert raw == pytest.approx(found.double().numpy(), abs=1e-5)
    assert np.ptp(raw) > 0.2  # or being equal says little


def test_bert_score_is_symmetric_and_highest_for_identical_texts(bert_spec: BertScoreSpec) -> None:
    scores = bert_spec.load().score_pairs(PAIRS).reshape(len(TEXTS), len(TEXTS))
    assert np.array_equal(scores, scores.T)
    assert np.diag(scores) == pytest.approx(1, abs=1e-12)
    assert scores.max() <= 1


def test_white_space_around_a_text_is_not_seen_and_a_text_of_none_scores_0(bert_spec: BertScoreSpec) -> None:
    found = replace(bert_spec, baseline=0.0).load().score_pairs([("a b", " a b\n"), ("a b", ""), ("", " ")])
    assert found.tolist() == [pytest.approx(1, abs=1e-12), 0.0, 0.0]


def test_special_tokens_in_texts_are_text(scorer: PairScorer) -> None:
    one, other = scorer.score_pairs([("a </s> b", "a b"), ("a <mask> b", "a b")])
    assert one != other
    if isinstance(scorer, BertScorer):
        [ids] = scorer._tokeniser(["a </s> b"], split_special_tokens=True).input_ids
        assert ids.count(scorer._tokeniser.sep_token_id) == 1
    if isinstance(scorer, CrossEncoderScorer):
        ids = scorer._model.preprocess([["a </s> b", "a b"]])["input_ids"][0].tolist()
        assert ids.count(scorer._model.tokenizer.sep_token_id) == 3  # between and after the texts


def test_the_numbers_of_roberta_large_are_those_of_the_library() -> None:
    folder = Path(bert_score.__file__).parent / "rescale_baseline" / "en"
    line = (folder / "roberta-large.tsv").read_text(encoding="utf-8").splitlines()[1 + 17]
    assert line.split(",") == ["17", "0.83150584", "0.8314941", str(ROBERTA_LARGE_BERT_SCORE.baseline)]
    assert bert_score.utils.lang2model["en"] == "roberta-large"
    assert bert_score.utils.model2layers["roberta-large"] == ROBERTA_LARGE_BERT_SCORE.layer
    assert ROBERTA_LARGE_BERT_SCORE.signature == (
        "FacebookAI/roberta-large@722cf37b1afa,float32,512-tokens,layer-17,idf-off,baseline-0.83122575"
    )


@pytest.mark.parametrize("layer", [5, 17])
def test_a_model_without_the_layer_is_refused(bert_spec: BertScoreSpec, layer: int) -> None:
    with pytest.raises(ConfigurationError, match=f"no RoBERTa with {layer} layers.*give the files of roberta-large"):
        replace(bert_spec, layer=layer).load()


def test_a_model_that_lacks_weights_is_refused(tmp_path: Path) -> None:
    folder = save_roberta(tmp_path / "mine", num_hidden_layers=2)
    config = (folder / "config.json").read_text(encoding="utf-8")
    text = config.replace('"num_hidden_layers": 2', '"num_hidden_layers": 3')
    (folder / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"lacks weights, such as encoder\.layer\.2"):
        BertScoreSpec(find_model_files(str(folder)), 3, 0.0).load()


# The cross-encoder


def test_a_model_without_a_head_is_no_cross_encoder(tmp_path: Path) -> None:
    folder = save_roberta(tmp_path / "mine")
    with pytest.raises(ConfigurationError, match=r"lacks weights, such as classifier\.dense"):
        CrossEncoderSpec(find_model_files(str(folder))).load()


def test_a_cross_encoders_score_is_the_librarys(cross_spec: CrossEncoderSpec) -> None:
    model = CrossEncoder(str(cross_spec.files.folder), device="cpu", max_length=MAX_TOKENS)
    expected = model.predict([list(pair) for pair in PAIRS], show_progress_bar=False)
    found = cross_spec.load().score_pairs(PAIRS)
    assert found == pytest.approx(expected.astype(np.float64), abs=1e-6)
    assert ((found >= 0) & (found <= 1)).all()


def test_a_cross_encoder_of_several_outputs_is_refused(tmp_path: Path) -> None:
    files = find_model_files(str(save_cross_encoder(tmp_path / "cross", outputs=3)))
    with pytest.raises(ConfigurationError, match="3 outputs, and a similarity is one"):
        CrossEncoderSpec(files).load()


# Files


def test_other_settings_with_the_same_weights_are_another_model(tmp_path: Path) -> None:
    folder = save_roberta(tmp_path / "mine")
    pinned = find_model_files(str(folder))
    (folder / "README.md").write_text("notes", encoding="utf-8")
    assert find_model_files(str(folder)) == pinned
    seen = {pinned.signature}
    for name in ("config.json", "tokenizer_config.json", "chat_template.jinja", "1_Pooling/config.json"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{path.read_text(encoding='utf-8') if path.exists() else '{}'}\n", encoding="utf-8")
        seen.add(find_model_files(str(folder)).signature)
    assert len(seen) == 5
    with pytest.raises(ConfigurationError, match="the files differ from the pinned ones"):
        pinned.locate()


@pytest.mark.parametrize("spec", [BertScoreSpec, CrossEncoderSpec])
def test_a_model_whose_commit_is_not_known_has_no_signature_and_is_not_loaded(spec: Any) -> None:
    files = ModelFiles("org/name", None)
    made = spec(files, 1, 0.0) if spec is BertScoreSpec else spec(files)
    for use in (lambda: made.signature, made.load):
        with pytest.raises(ConfigurationError, match=r"no commit of org/name is pinned.*ORG/NAME@<40 hex digits>"):
            use()
