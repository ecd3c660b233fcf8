"""The published definitions in plain Python, one set at a time; `lexical.py` is tested against them.

Written from the papers and the specification, not from our code, and with reasonable care for speed: counts and norms
are computed once per response, and a dot product runs over the shorter of its two vectors.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

Counts = Counter[tuple[str, ...]]


def tevet_words(text: str) -> list[str]:
    """Return Tevet & Berant's tokens: periods and newlines deleted, split at each space, empty pieces dropped."""
    return [word for word in re.sub(r"[.\n]", "", text).split(" ") if word]


def ngram_counts(words: Sequence[str], n: int) -> Counts:
    """Count the n-grams of a text."""
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))


def entropy(responses: Sequence[Counts]) -> float:
    """Return the entropy in nats of the pooled n-grams; 0 without n-grams."""
    pooled: Counts = Counter()
    for counts in responses:
        pooled.update(counts)
    total = pooled.total()
    return -math.fsum(c / total * math.log(c / total) for c in pooled.values())


def mean_cosine(responses: Sequence[Counts]) -> float:
    """Return the mean cosine of count vectors over the unordered pairs; 0 for a pair that shares nothing."""
    norms = [math.sqrt(sum(c * c for c in counts.values())) for counts in responses]
    summed = 0.0
    for i, one in enumerate(responses):
        for j in range(i):
            short, long = (one, responses[j]) if len(one) < len(responses[j]) else (responses[j], one)
            dot = sum(c * long[gram] for gram, c in short.items() if gram in long)
            if dot:
                summed += dot / (norms[i] * norms[j])
    pairs = len(responses) * (len(responses) - 1) // 2
    return summed / pairs
