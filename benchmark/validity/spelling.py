"""Measures whether a text is spelt like words: a bigram model of letters, and words that mix several scripts."""

import itertools
import re
import unicodedata
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SYMBOLS = "abcdefghijklmnopqrstuvwxyz0 .,'\"-:;!?()*\n"
_OTHER_ASCII = len(SYMBOLS)
_OTHER_LETTER, _OTHER = _OTHER_ASCII + 1, _OTHER_ASCII + 2
CLASSES = _OTHER + 1
_ALPHABETS = ("LATIN", "GREEK", "CYRILLIC")  # whose letters look alike
LONGEST = 2000  # characters
_CASE_CHANGE = re.compile("[a-z](?=[A-Z](?![a-z]{2}))")
_INVISIBLE = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad")


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
def _symbol(letter: str) -> int:
    if letter.isascii():
        folded = letter.lower()
        folded = "0" if folded.isdigit() else " " if folded == "\t" else folded
        found = SYMBOLS.find(folded)
        return found if found >= 0 else _OTHER_ASCII
    return _OTHER_LETTER if letter.isalpha() else _OTHER


@cache
def _alphabet(letter: str) -> str:
    name = unicodedata.name(letter, "").partition(" ")[0] if letter.isalpha() else ""
    return name if name in _ALPHABETS else ""


def spelling(text: str, bits: Floats) -> Spelling:
    """Compute the statistics of a text's letters."""
    text = " ".join(text.split(" "))[:LONGEST]
    symbols = np.array([_symbol(letter) for letter in f" {text}"], np.int64)
    ascii_ = symbols[1:] <= _OTHER_ASCII
    surprise = bits[symbols[:-1], symbols[1:]][ascii_]
    shown = [letter for letter in text if not letter.isspace()]
    pairs = sum((a + b).isascii() and (a + b).isalpha() for a, b in itertools.pairwise(text))
    words = text.split()
    return Spelling(
        len(shown),
        float(surprise.mean()) if len(surprise) else 0.0,
        len(_CASE_CHANGE.findall(text)) / max(1, pairs),
        sum(_symbol(letter) == _OTHER_ASCII for letter in shown) / max(1, len(shown)),
        sum(map(_is_mixed, words)) / max(1, len(words)),
    )


def _is_mixed(word: str) -> bool:
    alphabets = [_alphabet(letter) for letter in word]
    letters = [each for each in alphabets if each]
    inside = any(letter in _INVISIBLE and 0 < i < len(word) - 1 for i, letter in enumerate(word))
    return len(letters) >= 3 and (len(set(letters)) > 1 or (inside and "LATIN" in letters))


def fit_spelling(text: str) -> Floats:
    """Estimate a bigram model of symbols from running text: float64 [CLASSES, CLASSES], in bits."""
    symbols = np.array([_symbol(letter) for letter in text], np.int64)
    counts = np.ones((CLASSES, CLASSES))  # a pseudo-count of 1
    np.add.at(counts, (symbols[:-1], symbols[1:]), 1)
    bits: Floats = -np.log2(counts / counts.sum(1, keepdims=True))
    return np.asarray(np.round(np.minimum(bits, 12), 1), np.float64)
