"""Words that a tokeniser does not know: which are rewritten and how, and what that does to vectors."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from benchmark.models.embedder import SentenceTransformersEmbedder
from benchmark.models.tokenisers import with_known_words
from tests.benchmark.encoders import save_roberta

REWRITTEN = {
    "🐢": ["turtle"],
    "A 🎲!": ["a", "game", "die", "!"],
    "Great😀 day": ["great", "grinning", "day"],  # WordPiece alone reads the whole of "Great😀" as unknown
    "👨‍👩‍👧": ["man", "woman", "girl"],
    "🇫🇷": ["fr"],
    "\U0001d4d7\U0001d4ee\U0001d4f5\U0001d4f5\U0001d4f8 world": ["hello", "world"],
    "①": ["1"],
}
SCRIPTS = ["สวัสดีครับ", "ខ្មែរ", "አማርኛ", "ქართული", "ᏣᎳᎩ", "ދިވެހި", "မြန်မာ", "සිංහල", "ᠮᠣᠩᠭᠣᠯ", "龘靐", "a" * 350, "ก" * 350]


@pytest.fixture
def tokeniser(minilm: SentenceTransformersEmbedder) -> Any:
    return minilm._model.tokenizer


@pytest.mark.parametrize("text", REWRITTEN)
def test_an_emoji_is_read_as_its_name_and_a_letter_as_its_latin_one(tokeniser: Any, text: str) -> None:
    assert tokeniser.unk_token in tokeniser.tokenize(text)
    assert tokeniser.tokenize(*with_known_words(tokeniser, [text], 256)) == REWRITTEN[text]


@pytest.mark.parametrize("text", SCRIPTS)
def test_no_script_and_no_long_word_stays_unknown(tokeniser: Any, text: str) -> None:
    (found,) = with_known_words(tokeniser, [text], 256)
    assert tokeniser.unk_token in tokeniser.tokenize(text)
    assert tokeniser.unk_token not in tokeniser.tokenize(found)
    assert len(tokeniser.tokenize(found)) >= 2


def test_words_that_are_known_stay_as_they_are(tokeniser: Any) -> None:
    texts = ["", " A  cat\nsat. ", "naïve café — “so?”", "日本", "Привет", "नमस्ते", "x" * 100, "a.b" * 60]
    assert with_known_words(tokeniser, texts, 256) == texts


def test_the_text_around_an_unknown_word_is_kept_to_the_letter(tokeniser: Any) -> None:
    text = "  Zoë's naïve\t🐢 —  “né” 🎲\n"
    (found,) = with_known_words(tokeniser, [text], 256)
    assert found.replace(" turtle ", "🐢").replace(" game die ", "🎲") == text


def test_a_tokeniser_without_an_unknown_token_keeps_all_texts(tmp_path: Path) -> None:
    by_bytes = AutoTokenizer.from_pretrained(save_roberta(tmp_path / "mine"))
    texts = ["🐢", "สวัสดี"]
    for made in (with_known_words(by_bytes, texts, 256), with_known_words(object(), texts, 256)):
        assert made == texts


def test_different_emoji_have_different_vectors(minilm: SentenceTransformersEmbedder) -> None:
    vectors = minilm.embed(["🐢", "🎲", "🌟", "🦊", "😊"])
    assert max(float(a @ b) for a, b in combinations(vectors, 2)) < 0.6
    assert minilm.embed(["🐢"]) == pytest.approx(minilm.embed(["turtle"]), abs=1e-6)
