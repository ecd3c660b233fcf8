"""Features of two responses to a prompt: meaning apart from the prompt, content, words and names.

No feature depends on the other responses of a set, so adding or removing a response does not change the probabilities
of other pairs.
"""

import math
import re
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmark.equivalence.backend import Floats
from benchmark.models.embedder import TokenStates

Key = TypeVar("Key", str, tuple[str, str])

# Features, each with the direction in which it may change the probability of equivalence: 1, −1, or 0 for either.
FEATURES: tuple[tuple[str, int], ...] = (
    ("cosine", 1),
    ("cosine_beside_prompt", 1),  # of the parts of both vectors that are orthogonal to the prompt's
    ("content_cosine", 1),  # of the states' mean, weighted by content
    ("alignment_lower", 1),  # mean of each token's highest cosine in the other response; of the two, the lower
    ("content_alignment", 1),  # weighted by content; the mean of the two
    ("content_alignment_lower", 1),
    ("content_alignment_higher", 1),
    ("unmatched_higher", -1),  # share of the content in tokens that the other response lacks
    ("unmatched_lower", -1),
    ("words_f1", 0),  # ROUGE-1, ROUGE-2; high but uninformative for one sentence with two different names
    ("bigrams_f1", 0),
    ("content_words_f1", 1),
    ("content_words_overlap", 1),  # relative to the response that has fewer
    ("content_words_jaccard", 1),
    ("capitalised_jaccard", 1),
    ("numbers_jaccard", 0),
    ("marked_jaccard", 1),  # words in bold or in quotation marks
    ("first_sentence_overlap", 1),  # of content words
    ("opening_jaccard", 1),  # of the first eight content words
    ("shorter_log_words", 0),
    ("longer_log_words", 0),
)
LINEAR = 9  # number of features in the linear part of the model: the first ones, which are never missing
_OPENING = 8
_OF_PROMPT, _OF_STOP_WORDS = 0.1, 0.15  # weights of tokens that carry little content
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|\n+")
_MARKED = re.compile(r'\*\*(.+?)\*\*|"([^"\n]{2,80})"|“([^”\n]{2,80})”')
_NUMBER = re.compile(r"\d+")
_STOP_WORDS = frozenset(
    """
    a an the and or but if of to in on at by for with from as is are was were be been being am i you he she it
    we they me him her us them my your his its our their this that these those there here so not no do does
    did done have has had will would can could should may might must shall what which who whom how when where
    why s t ll re ve d m don isn wasn about into over up down out than then too very just also some any all
    more most such own same only each every other
    """.split()  # noqa: SIM905 - a list would be a hundred lines
)


@dataclass(frozen=True, slots=True, eq=False)
class TextParts:
    """The parts of a response, computed once for all its pairs."""

    vector: Floats  # the embedding, a unit vector [dimensions]
    beside_prompt: Floats  # the part of it orthogonal to the prompt's, scaled to a unit vector
    content_vector: Floats
    states: NDArray[np.float32]  # [pieces, dimensions], float32 unit rows
    weights: NDArray[np.float32]  # [pieces], 0 for punctuation, reduced for stop words
    content: NDArray[np.float32]  # [pieces], the weights, reduced for pieces of the prompt
    pieces: frozenset[str]
    in_order: tuple[str, ...]  # the pieces in order
    words: Counter[str]
    bigrams: Counter[tuple[str, str]]  # pairs of consecutive words with their counts
    content_words: Counter[str]  # words with their counts, without stop words and words of the prompt
    capitalised: frozenset[str]  # content words that begin with a capital
    numbers: frozenset[str]  # runs of digits
    marked: frozenset[str]  # content words in bold or in quotation marks
    first_sentence: frozenset[str]  # content words of the first sentence
    opening: frozenset[str]  # the first content words


def text_parts(text: str, read: TokenStates, prompt: str, prompt_read: TokenStates) -> TextParts:
    """Compute the parts of a response."""
    uninformative = {word.lower() for word in _WORD.findall(prompt)} | _STOP_WORDS
    cased = _WORD.findall(text)
    words = [word.lower() for word in cased]
    content_words = [word for word in words if word not in uninformative]
    sentences = [part for part in _SENTENCE_END.split(text.strip()) if _WORD.search(part)]
    marked = " ".join(part for groups in _MARKED.findall(text) for part in groups)
    states = read.states.astype(np.float32)
    weights = np.array([_weight(piece) for piece in read.pieces], np.float32)
    of_prompt = set(prompt_read.pieces)
    content = weights * np.array([_OF_PROMPT if piece in of_prompt else 1 for piece in read.pieces], np.float32)
    return TextParts(
        vector=read.vector,
        beside_prompt=_unit(read.vector - read.vector @ prompt_read.vector * prompt_read.vector, read.vector),
        content_vector=_unit((states * content[:, None]).sum(axis=0).astype(np.float64), read.vector),
        states=states,
        weights=weights,
        content=content,
        pieces=frozenset(read.pieces),
        in_order=read.pieces,
        words=Counter(words),
        bigrams=Counter(pairwise(words)),
        content_words=Counter(content_words),
        capitalised=frozenset(
            word.lower() for word in cased if word[0].isupper() and word.lower() not in uninformative
        ),
        numbers=frozenset(_NUMBER.findall(text)),
        marked=frozenset(word.lower() for word in _WORD.findall(marked)) - _STOP_WORDS,
        first_sentence=frozenset(word.lower() for part in sentences[:1] for word in _WORD.findall(part))
        - uninformative,
        opening=frozenset(content_words[:_OPENING]),
    )


def pair_features(a: TextParts, b: TextParts) -> list[float]:
    """Return the `FEATURES` of two responses to one prompt, [features]; NaN where there is nothing to compare.

    The features of (a, b) and (b, a) are equal up to rounding.
    """
    to_b, to_a = _highest_cosines(a, b)
    aligned = sorted((_mean(to_b, a.weights), _mean(to_a, b.weights)))
    content = sorted((_mean(to_b, a.content), _mean(to_a, b.content)))
    unmatched = sorted((_unmatched(a, b), _unmatched(b, a)))
    lengths = sorted((a.words.total(), b.words.total()))
    words_a, words_b = set(a.content_words), set(b.content_words)
    return [
        _dot(a.vector, b.vector),
        _dot(a.beside_prompt, b.beside_prompt),
        _dot(a.content_vector, b.content_vector),
        aligned[0],
        (content[0] + content[1]) / 2,
        content[0],
        content[1],
        unmatched[1],
        unmatched[0],
        _f1(a.words, b.words),
        _f1(a.bigrams, b.bigrams),
        _f1(a.content_words, b.content_words),
        _overlap(words_a, words_b),
        _jaccard(words_a, words_b),
        _jaccard(a.capitalised, b.capitalised),
        _jaccard(a.numbers, b.numbers),
        _jaccard(a.marked, b.marked) if a.marked and b.marked else math.nan,
        _overlap(a.first_sentence, b.first_sentence),
        _jaccard(a.opening, b.opening),
        math.log1p(lengths[0]),
        math.log1p(lengths[1]),
    ]


def _weight(piece: str) -> float:
    word = piece.removeprefix("##")
    if not any(letter.isalnum() for letter in word):
        return 0.0
    return _OF_STOP_WORDS if word in _STOP_WORDS else 1.0


def _unit(vector: Floats, otherwise: Floats) -> Floats:
    """Scale a vector to length 1; return `otherwise` if it is too short to have a direction."""
    norm = float(np.linalg.norm(vector))
    return np.asarray(vector / norm) if norm > 1e-6 else otherwise


def _highest_cosines(a: TextParts, b: TextParts) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return each token's highest cosine with a token of the other response, [pieces of a] and [pieces of b]."""
    if not len(a.states) or not len(b.states):
        return np.zeros(len(a.states), np.float32), np.zeros(len(b.states), np.float32)
    cosines = a.states @ b.states.T
    return cosines.max(axis=1), cosines.max(axis=0)


def _mean(values: NDArray[np.float32], weights: NDArray[np.float32]) -> float:
    total = float(weights.sum())
    return float((values * weights).sum()) / total if total > 0 else 0.0


def _unmatched(a: TextParts, b: TextParts) -> float:
    total = float(a.content.sum())
    lacking = np.array([piece not in b.pieces for piece in a.in_order], np.bool_)
    return float(a.content[lacking].sum()) / total if total > 0 else 1.0


def _dot(a: Floats, b: Floats) -> float:
    return float(np.sum(a * b))  # not a matrix product, whose last digits change with its shape


def _f1(a: Counter[Key], b: Counter[Key]) -> float:
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else math.nan


def _overlap(a: Set[str], b: Set[str]) -> float:
    return len(a & b) / min(len(a), len(b)) if a and b else math.nan


def _jaccard(a: Set[str], b: Set[str]) -> float:
    return len(a & b) / len(a | b) if a or b else math.nan
