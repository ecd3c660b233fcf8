"""Features of all pairs of a response set: meaning and words, weighted by what the other responses have in common.

Words that most of a set's other responses have (a frame, an opening, headings) tell little about a pair, as do words
that many texts have (`generic`, counted in responses to other prompts). The pair's own two responses are not among
those others, so in a set of two nothing is common.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmark.equivalence.backend import Floats
from benchmark.equivalence.learned.conflicts import Sentence, conflict
from benchmark.equivalence.learned.words import OF_PROMPT, STOP_WORDS, WORD, Prompt, piece_word, words_of
from benchmark.models.embedder import TokenStates

Single = NDArray[np.float32]
Words = frozenset[str]
MOST_PIECES = 2048  # of a response whose states are compared
_TELLING = 0.3  # weight from which a word is not generic
_ANSWER = 5  # number of a response's most telling words
_FAR = 0.5  # cosine under which a piece has no counterpart
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|\n+")
_MARKED = re.compile(r'\*\*(.+?)\*\*|"([^"\n]{2,80})"|“([^”\n]{2,80})”')
_CREATIVE = re.compile(
    r"\b(?:story|poem|haiku|joke|riddle|fable|plot|biograph|memoir|text|message|write|scenario)", re.I
)
_SEVERAL = re.compile(r"\b(?:list|three|3|several|some)\b", re.I)
# Features of which the pair's standing among the set's pairs is one, too.
_RANKED = ("cosine", "set_content_cosine", "set_align_lower", "words_set_jaccard", "words_jaccard")


@dataclass(frozen=True, slots=True, eq=False)
class SetText:
    """A response as the features of its set need it."""

    sentence: Sentence
    words: tuple[str, ...]  # in order, in lower case
    capitalised: Words  # capitalised words that are neither stop words nor the prompt's
    numbers: Words
    first: Words  # words of the first sentence
    marked: Words  # words in bold or quotation marks
    sentences: int
    vector: Floats
    pieces: tuple[str, ...]
    states: Single  # [pieces, dimensions], unit rows; one row of zeros if there is no piece
    weights: Single  # [pieces], how telling each piece is wherever it stands
    in_first: Single  # [pieces], 1 for those of the first sentence, about


def set_text(text: str, read: TokenStates, prompt: Prompt) -> SetText:
    """Compute the parts of a response."""
    cased = WORD.findall(text)
    words = tuple(word.lower() for word in cased)
    uninformative = prompt.words | STOP_WORDS
    sentences = [part for part in _SENTENCE_END.split(text.strip()) if WORD.search(part)]
    first = [word.lower() for part in sentences[:1] for word in WORD.findall(part)]
    marked = " ".join(part for groups in _MARKED.findall(text) for part in groups)
    pieces = read.pieces[:MOST_PIECES] or ("",)
    states = read.states[:MOST_PIECES].astype(np.float32)
    letters = np.cumsum([len(piece_word(piece)) for piece in pieces])
    return SetText(
        sentence=Sentence.of(text),
        words=words,
        capitalised=frozenset(word.lower() for word in cased if word[0].isupper()) - uninformative,
        numbers=frozenset(word for word in words if word[0].isdigit()),
        first=frozenset(first),
        marked=words_of(marked) - STOP_WORDS,
        sentences=len(sentences),
        vector=read.vector,
        pieces=pieces,
        states=states if len(states) else np.zeros((1, len(read.vector)), np.float32),
        weights=np.array([_piece_weight(piece, prompt) for piece in pieces], np.float32),
        in_first=(letters <= sum(map(len, first)) * 1.1 + 8).astype(np.float32),
    )


def _piece_weight(piece: str, prompt: Prompt) -> float:
    word = piece_word(piece)
    if not any(letter.isalnum() for letter in word):
        return 0.0
    if piece.startswith("##"):
        return OF_PROMPT if word in prompt.words else 1.0
    return prompt.weight(word)


class _Pairs:
    """Collects features given as matrices [k, k] of the responses, by name."""

    def __init__(self, k: int) -> None:
        self.rows, self.columns = np.triu_indices(k, 1)
        self.columns_by_name: dict[str, Floats] = {}

    def put(self, name: str, matrix: Floats) -> None:
        self.columns_by_name[name] = np.asarray(matrix[self.rows, self.columns], np.float64)

    def both(self, name: str, matrix: Floats) -> None:
        """Add the lower and the higher one of (i, j) and (j, i)."""
        self.put(f"{name}_lower", np.minimum(matrix, matrix.T))
        self.put(f"{name}_higher", np.maximum(matrix, matrix.T))

    def fill(self, name: str, value: float) -> None:
        """Add a feature of the whole set."""
        self.columns_by_name[name] = np.full(len(self.rows), value)


def set_features(prompt: Prompt, direction: Floats, texts: Sequence[SetText]) -> dict[str, Floats]:
    """Return the features of all pairs of distinct responses, by name, each [pairs] in the order of `combinations`.

    NaN where there is nothing to compare. A pair's features do not depend on the order of the responses.
    """
    features = _Pairs(len(texts))
    _add_vectors(features, direction, np.array([text.vector for text in texts]))
    _add_states(features, texts)
    _add_words(features, prompt, texts)
    _add_standing(features, len(texts))
    lengths = np.log1p(np.array([len(text.words) for text in texts]))
    sentences = [text.sentence for text in texts]
    conflicts = [conflict(sentences[i], sentences[j], prompt) for i, j in combinations(range(len(texts)), 2)]
    features.columns_by_name["conflict"] = np.array(conflicts, np.float64)
    features.fill("set_size", min(len(texts), 12))
    features.fill("set_log_words", float(np.median(lengths)))
    features.fill("prompt_words", float(np.log1p(len(prompt.words))))
    features.fill("creative", float(bool(_CREATIVE.search(prompt.text))))
    features.fill("several", float(bool(_SEVERAL.search(prompt.text))))
    return features.columns_by_name


def _add_vectors(features: _Pairs, direction: Floats, vectors: Floats) -> None:
    """Add cosines of the embeddings: as they are, without the prompt's part, without the other responses' mean."""
    k = len(vectors)
    cosines = vectors @ vectors.T
    features.put("cosine", cosines)
    beside = _units(vectors - (vectors @ direction)[:, None] * direction, vectors)
    features.put("cosine_beside_prompt", beside @ beside.T)
    if k > 2:  # the vectors of a pair minus the mean of the others, by products of the vectors
        own, other = 1 + 1 / (k - 2), 1 / (k - 2)
        total = vectors.sum(axis=0)
        along, whole = (vectors @ total)[:, None], float(total @ total)
        square = np.diag(cosines)[:, None]
        product = own * other * (square + square.T) + (own**2 + other**2) * cosines
        product += -(own * other + other**2) * (along + along.T) + other**2 * whole
        norm = own**2 * square + other**2 * square.T + other**2 * whole + 2 * own * other * cosines
        norm += -2 * own * other * along - 2 * other**2 * along.T
        norms = np.sqrt(np.maximum(norm, 1e-12))
        features.put("centred_cosine", product / np.maximum(norms * norms.T, 1e-9))
    else:
        features.fill("centred_cosine", np.nan)
    features.both("relevance", np.repeat((vectors @ direction)[:, None], k, 1))


def _add_states(features: _Pairs, texts: Sequence[SetText]) -> None:
    """Add how well the token states of each response are matched by those of each other one."""
    k, others = len(texts), max(len(texts) - 2, 1)
    codes: dict[str, int] = {}
    coded = [np.array([codes.setdefault(piece, len(codes)) for piece in text.pieces]) for text in texts]
    has = np.zeros((len(codes), k), np.float32)
    for i, code in enumerate(coded):
        has[code, i] = 1
    frequency = has.sum(axis=1)
    matches = _best_cosines([text.states for text in texts])
    names = ("align", "set_align", "first_align", "lacking", "set_lacking", "far")
    matrices = {name: np.zeros((k, k)) for name in names}
    contents = np.zeros((3, k, texts[0].states.shape[1]))
    for i, (text, code) in enumerate(zip(texts, coded, strict=True)):
        best = matches[i]
        also = has[code]  # [pieces, k], whether each text has the piece
        common = np.clip((frequency[code][:, None] - 1 - also) / others, 0, 1)  # share of the other texts that have it
        plain = np.repeat(text.weights[:, None], k, 1)
        special = plain * (1 - common)
        initial = special * text.in_first[:, None]
        for name, weights in (("align", plain), ("set_align", special), ("first_align", initial)):
            matrices[name][i] = _ratio((weights * best).sum(0), weights.sum(0), 0.5)
        matrices["lacking"][i] = _ratio((plain * (1 - also)).sum(0), plain.sum(0), 1)
        matrices["set_lacking"][i] = _ratio((special * (1 - also)).sum(0), special.sum(0), 0.5)
        matrices["far"][i] = _ratio((special * (best < _FAR)).sum(0), special.sum(0), 0.5)
        rare = text.weights * (1 - np.clip((frequency[code] - 1) / max(k - 1, 1), 0, 1) * (k > 2))
        contents[:, i] = [text.weights @ text.states, rare @ text.states, (rare * text.in_first) @ text.states]
    for name, matrix in matrices.items():
        features.both(name, matrix)
    vectors = np.array([text.vector for text in texts])
    for name, content in zip(("content_cosine", "set_content_cosine", "set_first_cosine"), contents, strict=True):
        units = _units(content, vectors)
        features.put(name, units @ units.T)


def _best_cosines(states: Sequence[Single]) -> list[Single]:
    """Return the highest cosine of each piece of each text in each text, [pieces, k] for each of k texts."""
    best = [np.ones((len(own), len(states)), np.float32) for own in states]
    for i, own in enumerate(states):
        for j in range(i + 1, len(states)):
            cosines = own @ states[j].T
            best[i][:, j], best[j][:, i] = cosines.max(axis=1), cosines.max(axis=0)
    return best


def _add_words(features: _Pairs, prompt: Prompt, texts: Sequence[SetText]) -> None:
    """Add the overlap of words, and of those that the other responses lack."""
    k, others = len(texts), max(len(texts) - 2, 1)
    index = {word: i for i, word in enumerate(dict.fromkeys(word for text in texts for word in text.words))}
    weight = np.array([*map(prompt.weight, index), 0.0])  # the last column is nobody's, so that there always is one

    def incidence(sets: Iterable[Words]) -> csr_array:
        columns = [sorted(index[word] for word in words if word in index) for words in sets]
        flat = np.array([column for own in columns for column in own], np.int64)
        ends = np.cumsum([0, *map(len, columns)])
        return csr_array((np.ones(len(flat)), flat, ends), shape=(k, len(weight)))

    def product(left: Any, right: csr_array) -> Floats:
        return np.asarray((left @ right.T).toarray())

    present = incidence([frozenset(text.words) for text in texts])
    count = np.asarray(present.sum(axis=0)).ravel()
    two = weight * (1 - np.clip((count - 2) / others, 0, 1))  # weights of words that both responses of a pair have
    one = weight * (1 - np.clip((count - 1) / others, 0, 1))  # weights of words that one of them has
    for name, left in (("words", present), ("first", incidence([text.first for text in texts]))):
        shared, own = product(left * weight, left), np.asarray((left * weight).sum(axis=1)).reshape(-1, 1)
        features.put(f"{name}_jaccard", _ratio(shared, own + own.T - shared, np.nan))
        features.put(f"{name}_overlap", _ratio(shared, np.minimum(own, own.T), np.nan))
        shared = product(left * two, left)
        only = np.asarray((left * one).sum(axis=1)).reshape(-1, 1) - product(left * one, present)
        only = np.maximum(only, 0)
        features.put(f"{name}_set_shared", np.log1p(shared))
        features.put(f"{name}_set_jaccard", _ratio(shared, shared + only + only.T, np.nan))
        features.put(f"{name}_set_overlap", _ratio(shared, shared + np.minimum(only, only.T), np.nan))
        features.both(f"{name}_set_only", np.log1p(only))
    exclusive = ((count == 2) & (weight > _TELLING)).astype(np.float64)
    features.put("exclusive", np.log1p(product(present * exclusive, present)) if k > 2 else np.full((k, k), np.nan))
    framed = product(present * (weight * np.clip((count - 2) / others, 0, 1)), present)
    features.put("frame", _ratio(framed, product(present * weight, present), 0))
    emphasis = incidence([text.marked for text in texts]) + incidence([text.first for text in texts]) / 2
    emphasis = emphasis + incidence([text.capitalised for text in texts]) / 2
    salience = present * weight + present.multiply(emphasis) * weight
    elsewhere = np.clip((count - 1) / max(k - 1, 1), 0, 1) * (k > 2)
    for name, scores in (("answer", salience), ("set_answer", salience * (1 - elsewhere))):
        best = _highest(scores, _ANSWER)
        sums = np.asarray(best.sum(axis=1)).reshape(-1, 1) + np.zeros((k, k))
        features.both(name, _ratio(product(best, present), sums, np.nan))
    for name in ("capitalised", "numbers", "marked"):
        sets = incidence([getattr(text, name) for text in texts])
        shared, own = product(sets, sets), np.asarray(sets.sum(axis=1)).reshape(-1, 1)
        features.put(f"{name}_jaccard", _ratio(shared, own + own.T - shared, np.nan))
        features.put(f"{name}_set_shared", np.log1p(product(sets * two, sets)))
    features.put("words_f1", _f1([Counter(text.words) for text in texts]))
    features.put("bigrams_f1", _f1([Counter(map(" ".join, pairwise(text.words))) for text in texts]))
    lengths = np.log1p(np.array([[len(text.words)] for text in texts], np.float64))
    features.both("log_words", np.repeat(lengths, k, 1))
    features.put("length_ratio", np.abs(lengths - lengths.T))
    features.both("log_sentences", np.repeat(np.log1p([[float(text.sentences)] for text in texts]), k, 1))


def _add_standing(features: _Pairs, k: int) -> None:
    """Add where a pair stands among the set's pairs; missing in sets of up to three."""
    for name in _RANKED:
        values = np.nan_to_num(features.columns_by_name[name])
        if k > 3:
            features.columns_by_name[f"{name}_z"] = (values - values.mean()) / (values.std() + 0.02)
            rounded = np.round(values, 9)
            lower = np.searchsorted(np.sort(rounded), rounded)
            features.columns_by_name[f"{name}_rank"] = lower / len(values)
            matrix = np.full((k, k), -np.inf)
            matrix[features.rows, features.columns] = matrix[features.columns, features.rows] = values
            highest = matrix.max(axis=1, keepdims=True)
            features.put(f"{name}_below_best", np.maximum(highest, highest.T) - matrix)
        else:
            for kind in ("z", "rank", "below_best"):
                features.fill(f"{name}_{kind}", np.nan)
        features.fill(f"{name}_mean", float(values.mean()) if k > 2 else np.nan)
    features.fill("set_sd", float(features.columns_by_name["cosine"].std()) if k > 3 else np.nan)


def _highest(scores: csr_array, most: int) -> csr_array:
    """Keep the highest scores of each row."""
    kept = scores.tocsr()
    kept.sort_indices()
    for start, end in pairwise(kept.indptr):
        values = kept.data[start:end]
        values[np.argsort(-values, kind="stable")[most:]] = 0
    return kept


def _f1(bags: Sequence[Counter[str]]) -> Floats:
    """Return the F1 of the shared occurrences of all pairs of bags, [k, k]."""
    codes: dict[tuple[str, int], int] = {}
    rows = [
        [codes.setdefault((key, n), len(codes)) for key, count in bag.items() for n in range(count)] for bag in bags
    ]
    ends = np.cumsum([0, *map(len, rows)])
    flat = np.array([code for row in rows for code in row], np.int64)
    matrix = csr_array((np.ones(len(flat)), flat, ends), shape=(len(bags), max(len(codes), 1)))
    totals = np.diff(ends).astype(np.float64)[:, None]
    return _ratio(2 * np.asarray((matrix @ matrix.T).toarray()), totals + totals.T, np.nan)


def _units(vectors: Floats, otherwise: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(norms > 1e-6, vectors / np.maximum(norms, 1e-6), otherwise)


def _ratio(above: Floats, below: Floats, otherwise: float) -> Floats:
    return np.where(below > 1e-9, above / np.maximum(below, 1e-9), otherwise)
