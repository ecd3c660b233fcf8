"""The tagger of parts of speech: known sentences, any text, and a machine that lacks it or has another version."""

import sys
from dataclasses import replace

import pytest

import divbench
from benchmark.models.tagger import PATTERN_TAGGER, is_in_latin_script
from divbench.core.errors import ConfigurationError, MissingExtra
from tests.benchmark.helpers import pattern_tagger
from tests.benchmark.samples import ODD


def test_known_sentences_have_the_tags_of_the_penn_treebank() -> None:
    expected = {
        "The black cat sat on the mat.": "DT JJ NN VBD IN DT NN .",
        "She doesn't like it, and they’ve left!": "PRP VBZ RB IN PRP , CC PRP VBP VBN .",
        "John's 3 dogs ran quickly.": "NNP POS CD NNS VBD RB .",
    }
    found = pattern_tagger().tag(list(expected))
    assert [" ".join(tag for sentence in tags for tag in sentence) for tags in found] == list(expected.values())
    counted = ["One ends. Two begins.\n\nA title\n\nThree", "no end"]
    assert [len(sentences) for sentences in pattern_tagger().tag(counted)] == [4, 1]


def test_any_text_has_tags_and_the_same_ones_each_time() -> None:
    texts = [text for each in ODD.values() for text in each]
    assert pattern_tagger().tag(texts) == PATTERN_TAGGER.load().tag(texts[::-1])[::-1]
    assert all(tag for tags in pattern_tagger().tag(texts) for sentence in tags for tag in sentence)


def test_long_runs_without_a_space_are_read_in_pieces() -> None:
    # Whole, punctuation would take time by the square of its length: hours for the longest that a submission may have.
    [[letters], [marks]] = pattern_tagger().tag(["x" * 250, "(" * 250])
    assert (len(letters), len(marks)) == (3, 250)


def test_a_script_is_that_of_most_letters() -> None:
    latin = ("", "42", "🙂", "naïve Übermut", "Tiếng Việt", "ab вг", "今 day")
    other = ("今天 a", "Привет", "مرحبا", "Καλημέρα, Bob", "ひらがな")
    assert [is_in_latin_script(text) for text in (*latin, *other)] == [True] * len(latin) + [False] * len(other)


def test_a_machine_without_it_is_told_which_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match=r"version 0\.20\.0 of textblob is installed, but 0\.1\.0 is needed"):
        replace(PATTERN_TAGGER, version="0.1.0").load()
    monkeypatch.setitem(sys.modules, "textblob", None)
    monkeypatch.delitem(sys.modules, "textblob.en", raising=False)
    with pytest.raises(MissingExtra, match=r'textblob.* is not installed \(.*pip install "divbench\[syntax\]"\)'):
        divbench.score([["one", "two"]], metrics=["template_rate"])
    assert PATTERN_TAGGER.signature == "textblob@0.20.0,penn-tags"
