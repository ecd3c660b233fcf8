"""Equivalence without a classifier: by shared words, by embeddings, or by a rule for short responses."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.sparse import csr_array

from benchmark.equivalence.backend import EquivalenceBackend, EquivalenceSpec, Floats, Refusing, ResponsePair
from benchmark.models.causal_lm import Integers
from benchmark.models.embedder import ALL_MINILM_L6_V2, Embedder, EmbedderSpec, SentenceTransformersEmbedder
from divbench.core.errors import need

_CACHED_EMBEDDINGS = 100_000  # some hundreds of megabytes
_CACHED_TEXTS = 4096  # tokenised texts: some megabytes; more texts than in a shard of the scorer
_AT_ONCE = 2048  # pairs compared at once: some tens of megabytes


@dataclass(frozen=True, slots=True)
class Rouge1:
    """ROUGE-1 F1 above a threshold, NoveltyBench's `unigram`.

    Tokens are those of Google's rouge-score without stemming, as in NoveltyBench's src/partition.py: lower-case runs of
    the letters a–z and digits. A text without tokens, such as one in another script, is equivalent to no text, not even
    to itself. The prompt is not read.
    """

    threshold: float = 0.458

    @property
    def signature(self) -> str:
        """Implement `Spec.signature`."""
        return f"rouge-1-f1,no-stemmer,over-{self.threshold}"

    def load(self, device: str = "cpu") -> "Rouge1Equivalence":
        """Implement `Spec.load`."""
        return Rouge1Equivalence(self)


class Rouge1Equivalence:
    """Scores pairs by ROUGE-1 F1, in [0, 1], bit-identical to rouge-score; each distinct text is tokenised once."""

    symmetric = True

    def __init__(self, spec: Rouge1) -> None:
        self.signature = spec.signature
        self.threshold = spec.threshold
        tokenise = need("rouge_score.tokenizers", "score").DefaultTokenizer(use_stemmer=False).tokenize
        self._tokenise = lru_cache(maxsize=_CACHED_TEXTS)(tokenise)  # because later calls have the same texts

    def scores(self, pairs: Sequence[ResponsePair]) -> Floats:
        """Implement `EquivalenceBackend.scores`."""
        texts, firsts, seconds = _distinct_texts(pairs)
        bags = self._bags(texts)
        lengths = np.diff(bags.indptr)
        shared = np.zeros(len(pairs), dtype=np.int64)
        for start in range(0, len(pairs), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            shared[some] = bags[firsts[some]].multiply(bags[seconds[some]]).sum(axis=1)
        # The library's steps, so that scores near the threshold fall on the same side.
        recall = shared / np.maximum(lengths[firsts], 1)
        precision = shared / np.maximum(lengths[seconds], 1)
        total = precision + recall
        f1: Floats = np.divide(2 * precision * recall, total, out=np.zeros(len(pairs)), where=total > 0)
        return f1

    def _bags(self, texts: Sequence[str]) -> csr_array:
        """Return [texts, occurrences], 1 for the n-th occurrence of a word in a text; products count shared words."""
        places: dict[tuple[str, int], int] = {}
        columns: list[int] = []
        ends = [0]
        for text in texts:
            seen: Counter[str] = Counter()
            for word in self._tokenise(text):
                columns.append(places.setdefault((word, seen[word]), len(places)))
                seen[word] += 1
            ends.append(len(columns))
        ones = np.ones(len(columns), dtype=np.int64)
        return csr_array((ones, np.array(columns, np.int64), np.array(ends)), shape=(len(texts), max(len(places), 1)))


@dataclass(frozen=True, slots=True)
class EmbeddingThreshold:
    """Cosine of sentence embeddings above a threshold. The prompt is not read."""

    embedder: EmbedderSpec
    threshold: float  # cosine above which responses are equivalent
    calibrated_on: str  # name of the data on which the threshold was chosen

    @property
    def signature(self) -> str:
        """Implement `Spec.signature`."""
        return f"cosine,{self.embedder.signature},over-{self.threshold},calibrated-on-{self.calibrated_on}"

    def load(self, device: str = "cpu") -> "EmbeddingEquivalence":
        """Implement `Spec.load`."""
        return EmbeddingEquivalence(self, SentenceTransformersEmbedder(self.embedder, device))


class EmbeddingEquivalence:
    """Scores pairs by the cosine of embeddings, in [−1, 1]; each distinct text is embedded once."""

    symmetric = True

    def __init__(self, spec: EmbeddingThreshold, embedder: Embedder) -> None:
        self.signature = spec.signature
        self.threshold = spec.threshold
        self._embedder = embedder
        self._known: dict[str, Floats] = {}

    def scores(self, pairs: Sequence[ResponsePair]) -> Floats:
        """Implement `EquivalenceBackend.scores`."""
        texts, firsts, seconds = _distinct_texts(pairs)
        if not texts:
            return np.empty(0)
        vectors = self._vectors(texts)
        # Products and sums of rows, not a matrix product, whose last digits change with its shape.
        parts = [
            np.sum(vectors[firsts[start : start + _AT_ONCE]] * vectors[seconds[start : start + _AT_ONCE]], axis=1)
            for start in range(0, len(pairs), _AT_ONCE)
        ]
        cosines: Floats = np.concatenate(parts)
        return cosines

    def forget(self) -> None:
        """Clear the cache of embeddings; see `ScoringBackends.materials`."""
        self._known = {}

    def _vectors(self, texts: Sequence[str]) -> Floats:
        """Return the embedding of each text, cached because algorithms compare the same texts in many rounds."""
        if len(self._known) > _CACHED_EMBEDDINGS:
            self._known = {}
        new = [text for text in texts if text not in self._known]
        if new:
            self._known |= dict(zip(new, self._embedder.embed(new), strict=True))
        return np.stack([self._known[text] for text in texts])


# Chosen by the adjusted Rand index with the published partitions (v1.0) of six systems, curated prompts, greedy: it is
# flat from 0.74 to 0.84; the best is 0.84 on one half of the prompts and 0.74 on the other.
MINILM_THRESHOLD = 0.8
MINILM_CALIBRATED_ON = "noveltybench-curated-v1.0"
MINILM_COSINE = EmbeddingThreshold(ALL_MINILM_L6_V2, MINILM_THRESHOLD, MINILM_CALIBRATED_ON)


@dataclass(frozen=True, slots=True)
class ShortAnswers:
    """NoveltyBench's rule for responses of up to five words, applied before a backend.

    If the longer response has at most five words (split at white space, in lower case), two responses are equivalent
    if they share at least half as many distinct words as the longer one has words; the backend decides all other pairs.
    The rule is as published, with its consequences: punctuation is part of a word ("Giraffe." differs from "Giraffe"),
    "the cat" is equivalent to "the dog", and "ha ha ha" is not equivalent to itself (1 distinct word, 3 words).

    The rule was added to NoveltyBench's code after the 20 models of its paper were scored, so their partitions do not
    follow it, but later ones do.
    """

    backend: EquivalenceSpec  # backend for all other pairs

    @property
    def signature(self) -> str:
        """Implement `Spec.signature`."""
        return f"short-answers-to-{_SHORT}-words,{self.backend.signature}"

    def load(self, device: str = "cpu") -> "ShortAnswersEquivalence":
        """Implement `Spec.load`."""
        return ShortAnswersEquivalence(self.backend.load(device), self.signature)


class ShortAnswersEquivalence:
    """Scores pairs that the rule decides with the backend's threshold ± 1, and all others with the backend."""

    def __init__(self, backend: EquivalenceBackend, signature: str) -> None:
        self.signature = signature
        self.threshold = backend.threshold
        self.symmetric = backend.symmetric
        self._backend = backend

    def scores(self, pairs: Sequence[ResponsePair]) -> Floats:
        """Implement `EquivalenceBackend.scores`."""
        ruled = [short_answers_equivalent(pair.a, pair.b) for pair in pairs]
        asked = self._backend.scores([q for q, verdict in zip(pairs, ruled, strict=True) if verdict is None])
        scores = np.array([self.threshold + (1 if verdict else -1) for verdict in ruled], dtype=np.float64)
        scores[np.array([verdict is None for verdict in ruled], dtype=np.bool_)] = asked
        return scores

    def refusal(self, pair: ResponsePair) -> str | None:
        """Implement `Refusing.refusal`."""
        if not isinstance(self._backend, Refusing) or short_answers_equivalent(pair.a, pair.b) is not None:
            return None
        return self._backend.refusal(pair)


_SHORT = 5


def short_answers_equivalent(a: str, b: str) -> bool | None:
    """Apply the rule of `ShortAnswers`; None if a response is too long for it.

    >>> short_answers_equivalent("A giraffe", "giraffe"), short_answers_equivalent("Giraffe.", "giraffe")
    (True, False)
    """
    words = a.strip().lower().split(), b.strip().lower().split()
    longer = max(map(len, words))
    if longer > _SHORT:
        return None
    return 2 * len(set(words[0]) & set(words[1])) >= longer


def _distinct_texts(pairs: Sequence[ResponsePair]) -> tuple[list[str], Integers, Integers]:
    """Return the distinct texts, and the indices of each pair's first and second text, int64 [pairs] each."""
    texts = sorted({text for pair in pairs for text in (pair.a, pair.b)})
    index = {text: i for i, text in enumerate(texts)}
    firsts = np.array([index[pair.a] for pair in pairs], dtype=np.int64)
    seconds = np.array([index[pair.b] for pair in pairs], dtype=np.int64)
    return texts, firsts, seconds
