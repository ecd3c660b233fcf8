"""Measures whether words are in the order of sentences, and spelt like words.

A bigram model of word classes scores every ordered pair of a text's words. The mean score of all ordered pairs is the
expected score of neighbours in a shuffle of the text, so the comparison needs neither sampled shuffles nor a language
model. Words that the model does not know are classified by their endings. A bigram model of letters, and words that mix
several scripts, show whether a text is spelt like words.
"""

import itertools
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d[\d.,]*")  # without marks of quotations, lists and Markdown
ENDINGS = (
    *("ing", "ed", "ly", "tion", "ness", "ment", "ous", "ful", "able", "ive", "al", "er", "est", "es"),
    *("s", "y", "e", "t", "n", "d"),
)
_ALWAYS_CAPITAL = ("I", "I'", "I’")
_ABBREVIATION = re.compile(
    r"(?:[a-z]\.)+|(?:approx|co|corp|dr|etc|inc|jr|ltd|mr|mrs|ms|no|prof|sr|st|vs)\.", re.IGNORECASE
)
# "Sure!", "Of course!" and other beginnings that prose hardly has.
_INTERJECTION = re.compile(r"^\s*[^\W\d_]+(?:\s[^\W\d_]+){0,2}!\s+(?=\S)")
LONGEST = 200  # words; more add little, and the number of pairs grows with the square
SYMBOLS = "abcdefghijklmnopqrstuvwxyz0 .,'\"-:;!?()*\n"
_OTHER_ASCII = len(SYMBOLS)
_OTHER_LETTER, _OTHER = _OTHER_ASCII + 1, _OTHER_ASCII + 2
CLASSES = _OTHER + 1
_ALPHABETS = ("LATIN", "GREEK", "CYRILLIC")  # whose letters look alike
_LONGEST_SPELT = 2000  # characters
_CASE_CHANGE = re.compile("[a-z](?=[A-Z](?![a-z]{2}))")
_INVISIBLE = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad")


@dataclass(frozen=True)
class WordOrderModel:
    """A bigram model of word classes."""

    words: tuple[str, ...]  # words that have a separate class, in lower case
    scores: Floats  # float64 [classes, classes], log2 of how much more often a class follows another than by chance
    # float64 [3, 3], the same for the end of a word (no mark, a comma or similar, a full stop or similar) and the
    # beginning of the next (lower case, capital, or neither: a number or an acronym).
    ends: Floats
    starts: Floats  # float64 [classes], log2 of how much more often a class begins a sentence than by chance
    stops: Floats  # float64 [classes], the same for the end of a sentence

    @cached_property
    def _index(self) -> Mapping[str, int]:
        return {word: i for i, word in enumerate(self.words)}

    def classes(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Return the class of each word, int64 [words]; those below `len(self.words)` are known words."""
        return np.array([self._class(word) for word in words], np.int64)

    def _class(self, word: str) -> int:
        known = len(self.words)
        token = token_of(word)
        for known_as in (token, token.partition("'")[0]):  # "here's" as "here"
            if known_as in self._index:
                return self._index[known_as]
        if not token[:1].isalpha():
            return known + (0 if token else 1)
        for i, ending in enumerate(ENDINGS):
            if token.endswith(ending) and len(token) > len(ending) + 2:
                return known + 2 + i
        return known + 2 + len(ENDINGS)

    @property
    def size(self) -> int:
        """Number of classes."""
        return len(self.words) + 3 + len(ENDINGS)


@dataclass(frozen=True, slots=True)
class LanguageModels:
    """Bigram models of English prose, in `language.json`."""

    order: WordOrderModel  # of word classes
    letters: Floats  # of letter classes, float64 [CLASSES, CLASSES], in bits
    # Logistic model of shuffled words against prose, from features of word order: intercept, weights, clipping range.
    word_salad: tuple[float, Floats, Floats, Floats]

    def salad_log_odds(self, features: Floats) -> Floats:
        """Return the log-odds that words are shuffled [responses] from features of their order [responses, 5]."""
        intercept, weights, low, high = self.word_salad
        return np.asarray(intercept + np.clip(features, low, high) @ weights)


@cache
def load_language_models() -> LanguageModels:
    """Read the models that ship with the package."""
    document = json.loads(Path(__file__).with_name("language.json").read_text(encoding="utf-8"))
    order = document["word_order"]
    arrays = (np.array(order[name]) for name in ("scores", "ends", "starts", "stops"))
    salad = document["word_salad"]
    return LanguageModels(
        WordOrderModel(tuple(order["words"]), *arrays),
        np.array(document["letters"]),
        (salad["intercept"], *(np.array(salad[name]) for name in ("weights", "low", "high"))),
    )


@dataclass(frozen=True, slots=True)
class WordOrder:
    """Statistics of the order of a text's words."""

    words: int  # number of words used
    pairs: int  # number of pairs of neighbours in the same line
    gain: float  # mean score of neighbours minus that of all ordered pairs, in bits per pair; near 0 for shuffled words
    z: float  # `gain` in standard errors under shuffling
    ends_z: float  # the same for capitals after full stops
    # Score of the first word as a beginning and of the last as an end, minus the mean of all words, in bits.
    edges: float
    late_capital: bool  # whether a common word has a capital in the middle of a sentence that begins in lower case


def word_order(text: str, model: WordOrderModel) -> WordOrder:
    """Compare the order of a text's words with its shuffles, in closed form."""
    words, breaks = _words_in_lines(_INTERJECTION.sub("", text))
    if len(words) < 2:
        return WordOrder(len(words), 0, 0.0, 0.0, 0.0, 0.0, False)
    classes = model.classes(words)
    gain, z = _against_shuffles(model.scores[np.ix_(classes, classes)], ~breaks[:-1])
    ended, begun = endings(words), beginnings(words)
    ended[:-1][breaks[:-1] & (begun[1:] == 1)] = 2  # headings and items of lists need no full stop
    _, ends_z = _against_shuffles(model.ends[np.ix_(ended, begun)], np.ones(len(words) - 1, bool))
    starts, stops = model.starts[classes], model.stops[classes]
    return WordOrder(
        words=len(words),
        pairs=int((~breaks[:-1]).sum()),
        gain=gain,
        z=z,
        ends_z=ends_z,
        edges=float(starts[0] - starts.mean() + stops[-1] - stops.mean()),
        late_capital=words[0][:1].islower() and _late_capital(words, ended == 2, classes < len(model.words)),
    )


def _words_in_lines(text: str) -> tuple[list[str], NDArray[np.bool_]]:
    """Return the first `LONGEST` words of a text, and which are the last of their lines."""
    lines = [words_of(line) for line in text.splitlines()]
    words = [word for line in lines for word in line][:LONGEST]
    breaks = np.zeros(len(words), bool)
    breaks[[end - 1 for end in itertools.accumulate(map(len, lines)) if 0 < end <= len(words)]] = True
    return words, breaks


def words_of(text: str) -> list[str]:
    """Return a text's words, without separate punctuation marks and emoji."""
    return [word for word in text.split() if any(map(str.isalnum, word))]


def token_of(word: str) -> str:
    """Return a word in lower case without the marks around it; empty if it has no letters or digits."""
    match = _TOKEN.search(word)
    return match.group().lower().replace("’", "'") if match else ""


def _late_capital(words: Sequence[str], stopped: NDArray[np.bool_], known: NDArray[np.bool_]) -> bool:
    """Whether a common word that is not always capitalised has a capital, but not after a full stop."""
    return any(
        word[:1].isupper() and not stop and is_known and word[:2] not in _ALWAYS_CAPITAL
        for word, stop, is_known in zip(words[1:], stopped[:-1], known[1:], strict=True)
    )


def _against_shuffles(scores: Floats, used: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the mean score of neighbours minus that of all shuffles, also in standard errors."""
    neighbours = np.diagonal(scores, offset=1)[used]
    if not len(neighbours):
        return 0.0, 0.0
    apart = ~np.eye(len(scores), dtype=bool)
    mean, spread = float(scores[apart].mean()), float(scores[apart].std())
    gain = float(neighbours.mean()) - mean
    return gain, 0.0 if spread < 1e-9 else gain / spread * float(np.sqrt(len(neighbours)))


def endings(words: Sequence[str]) -> NDArray[np.int64]:
    """Return how each word ends: 2 with a full stop or similar, 1 with a comma or similar, otherwise 0."""
    return np.array([_end(word) for word in words], np.int64)


def _end(word: str) -> int:
    bare = word.strip("\"'*()“”‘’")
    if bare[-1:] in tuple(".!?"):
        return 0 if _ABBREVIATION.fullmatch(bare) else 2
    return int(word[-1:] in tuple(",;:"))


def beginnings(words: Sequence[str]) -> NDArray[np.int64]:
    """Return how each word begins: 0 in lower case, 1 with a capital, 2 with neither (numbers and acronyms)."""
    return np.array([_begin(word.lstrip("\"'*(“‘")) for word in words], np.int64)


def _begin(word: str) -> int:
    if word[:1].isupper():
        return 2 if word[1:2].isupper() else 1
    return 0 if word[:1].islower() else 2


@dataclass(frozen=True, slots=True)
class Spelling:
    """Statistics of the letters of a text."""

    characters: int  # number of characters, without white space
    bits: float  # mean bits per ASCII character under the bigram model; 0 if there are none
    # Share of neighbouring ASCII letters that change from lower to upper case, unless lower-case letters of a word or
    # syllable follow, as in PyTorch.
    case_changes: float
    symbols: float  # share of characters that are neither letters, digits nor common marks, without white space
    mixed: float  # share of words that have letters of two alphabets, or an invisible character between letters


@cache
def letter_class(letter: str) -> int:
    """Return the class of a character: one of `SYMBOLS`, another of ASCII, another letter, or another."""
    if letter.isascii():
        folded = letter.lower()
        folded = "0" if folded.isdigit() else " " if folded == "\t" else folded
        return SYMBOLS.index(folded) if folded in SYMBOLS else _OTHER_ASCII
    return _OTHER_LETTER if letter.isalpha() else _OTHER


@cache
def _alphabet(letter: str) -> str:
    name = unicodedata.name(letter, "").partition(" ")[0] if letter.isalpha() else ""
    return name if name in _ALPHABETS else ""


def spelling(text: str, bits: Floats) -> Spelling:
    """Compute the statistics of a text's letters."""
    text = " ".join(text.split(" "))[:_LONGEST_SPELT]
    symbols = np.array([letter_class(letter) for letter in f" {text}"], np.int64)
    ascii_ = symbols[1:] <= _OTHER_ASCII
    surprise = bits[symbols[:-1], symbols[1:]][ascii_]
    shown = [letter for letter in text if not letter.isspace()]
    pairs = sum((a + b).isascii() and (a + b).isalpha() for a, b in itertools.pairwise(text))
    words = text.split()
    return Spelling(
        len(shown),
        float(surprise.mean()) if len(surprise) else 0.0,
        len(_CASE_CHANGE.findall(text)) / max(1, pairs),
        sum(letter_class(letter) == _OTHER_ASCII for letter in shown) / max(1, len(shown)),
        sum(map(_is_mixed, words)) / max(1, len(words)),
    )


def _is_mixed(word: str) -> bool:
    alphabets = [_alphabet(letter) for letter in word]
    letters = [alphabet for alphabet in alphabets if alphabet]
    inside = any(letter in _INVISIBLE and 0 < i < len(word) - 1 for i, letter in enumerate(word))
    return len(letters) >= 3 and (len(set(letters)) > 1 or (inside and "LATIN" in letters))
