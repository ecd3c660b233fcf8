"""Deterministic fakes of models, without weights: their numbers come from hashes."""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmark.equivalence.backend import ResponsePair
from benchmark.models.causal_lm import Encoding, TokenSequence
from benchmark.models.embedder import TokenStates, unit_rows
from benchmark.models.pair_scorer import Pair
from benchmark.models.reward import SKYWORK_GEMMA_THRESHOLDS

Floats = NDArray[np.float64]


class HashLM:
    """Causal language model.

    Tokens are runs of letters, each with the space before it, and single other characters. A token that has followed
    the same token before costs 1 bit; any other 4 to 12, from a hash of both tokens.
    """

    signature = "hash"
    bos: int | None = None

    def __init__(self, context: int | None = None, batch_tokens: int = 2048) -> None:
        self.context = context
        self.batch_tokens = batch_tokens

    def encode(self, texts: Sequence[str], *, begin: bool = False) -> list[Encoding]:
        """As `CausalLM.encode`; an id is a hash of the token's text."""
        made = []
        for text in texts:
            found = list(re.finditer(r" ?[^\W\d_]+|.", text, re.DOTALL))
            ids = [_token_id(m.group()) for m in found]
            offsets = np.array([m.span() for m in found], np.int64).reshape(-1, 2)
            made.append(Encoding(np.array(ids, np.int64), offsets))
        return made

    def surprisals(self, sequences: Sequence[TokenSequence]) -> list[Floats]:
        """As `CausalLM.surprisals`."""
        return [self._one(sequence) for sequence in sequences]

    def _one(self, sequence: TokenSequence) -> Floats:
        ids = sequence.ids.astype(np.uint64)
        pairs = (ids[:-1] << np.uint64(32)) | ids[1:]
        drawn = pairs * np.uint64(0x9E3779B97F4A7C15)  # wraps; its high bits are as good as random
        bits = 4 + 8 * (drawn >> np.uint64(32)).astype(np.float64) / 2**32
        first = np.zeros(len(pairs), bool)
        first[np.unique(pairs, return_index=True)[1]] = True
        return np.where(first, bits, 1.0)[sequence.scored - 1]


@lru_cache(maxsize=100_000)
def _token_id(token: str) -> int:
    return int.from_bytes(hashlib.sha256(token.encode()).digest()[:4])


class HashEmbedder:
    """Embedder: a text's vector follows from its hash."""

    signature = "hash,16"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return unit vectors, float64 [texts, 16]; different texts have unrelated vectors."""
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) for text in texts]
        return unit_rows(np.array([np.random.default_rng(seed).standard_normal(16) for seed in seeds]).reshape(-1, 16))

    def read(self, texts: Sequence[str]) -> list[TokenStates]:
        """Return a state for each word, by its hash."""
        words = [tuple(text.casefold().split()) for text in texts]
        return [
            TokenStates(own, self.embed(own).astype(np.float16), vector)
            for own, vector in zip(words, self.embed(texts), strict=True)
        ]


class HashEquivalence:
    """Equivalence, its own spec.

    Responses that are equal but for case and white space score 1; others 0, or with a seed a number in [0, 1) from a
    hash, the same for (a, b) and (b, a), and different for each prompt.

    Args:
        seed: Seed of the hash; None: 0 for all that differ.
        threshold: `EquivalenceBackend.threshold`; the share of different responses that are not equivalent.
    """

    symmetric = True

    def __init__(self, seed: int | None = None, threshold: float = 0.5) -> None:
        self.signature = f"hash-equivalence,{'equal' if seed is None else f'seed:{seed}'},over-{threshold}"
        self.threshold = threshold
        self._seed = seed

    def load(self, device: str = "cpu") -> "HashEquivalence":
        """As `EquivalenceSpec.load`."""
        return self

    def scores(self, pairs: Sequence[ResponsePair]) -> Floats:
        """As `EquivalenceBackend.scores`."""
        return np.array([self._score(pair) for pair in pairs], dtype=np.float64)

    def _score(self, pair: ResponsePair) -> float:
        a, b = sorted(" ".join(text.casefold().split()) for text in (pair.a, pair.b))
        if a == b:
            return 1.0
        if self._seed is None:
            return 0.0
        digest = hashlib.sha256("\0".join([str(self._seed), pair.prompt, a, b]).encode()).digest()
        return int.from_bytes(digest[:4]) / 2**32


class HashPairScorer:
    """Pair scorer, its own spec: 1 for equal texts, else from a hash of the ordered pair."""

    signature = "hash-pairs"

    def load(self, device: str = "cpu") -> "HashPairScorer":
        """As `PairScorerSpec.load`."""
        return self

    def score_pairs(self, pairs: Sequence[Pair]) -> Floats:
        """Return scores in [0, 1], float64 [pairs]; a pair and its reverse have different ones."""
        digests = (hashlib.sha256("\0".join(pair).encode()).digest() for pair in pairs)
        drawn = [int.from_bytes(digest[:4]) / 2**32 for digest in digests]
        return np.array([1.0 if a == b else score for (a, b), score in zip(pairs, drawn, strict=True)])


class HashReward:
    """Reward model, its own spec: rewards from -10 to 0 from the hash of the pair."""

    signature = "hash-reward"

    def __init__(self) -> None:
        self.thresholds: tuple[float, ...] | None = SKYWORK_GEMMA_THRESHOLDS

    def load(self) -> "HashReward":
        """As `RewardModelSpec.load`."""
        return self

    def rewards(self, pairs: Sequence[Pair]) -> Floats:
        """As `RewardModel.rewards`."""
        digests = (hashlib.sha256("\0".join(pair).encode()).digest() for pair in pairs)
        return np.array([10 * int.from_bytes(digest[:4]) / 2**32 - 10 for digest in digests], np.float64)
