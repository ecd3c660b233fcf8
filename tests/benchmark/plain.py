"""The published definitions in plain Python, one set at a time; `ngrams.py` is tested and timed against them.

Written from the papers and the specification, not from our code, and with reasonable care for speed: counts and norms
are computed once per response, and a dot product runs over the shorter of its two vectors.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence

Counts = Counter[tuple[str, ...]]
MAX_N = 5


def tevet_words(text: str) -> list[str]:
    """Return Tevet & Berant's tokens: periods and newlines deleted, split at each space, empty pieces dropped."""
    return [word for word in re.sub(r"[.\n]", "", text).split(" ") if word]


def ngram_counts(words: Sequence[str], n: int) -> Counts:
    """Count the n-grams of a text."""
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))


def distinct(responses: Sequence[Counts]) -> float:
    """Return distinct-n for one n: different n-grams over all n-grams, pooled over the responses; 0 without n-grams."""
    pooled: Counts = Counter()
    for counts in responses:
        pooled.update(counts)
    total = pooled.total()
    return len(pooled) / total if total else 0.0


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


def averaged(
    responses: Sequence[str], words: Callable[[str], list[str]], of: Sequence[Callable[[Sequence[Counts]], float]]
) -> list[float]:
    """Return measures of one set, each averaged over n = 1 … 5."""
    split = [words(text) for text in responses]
    each_n = [[ngram_counts(text, n) for text in split] for n in range(1, MAX_N + 1)]
    return [sum(map(measure, each_n)) / MAX_N for measure in of]


def distinct_and_cosine(responses: Sequence[str]) -> tuple[float, float]:
    """Return Tevet & Berant's two metrics of one set: averaged distinct-n and n-gram cosine diversity."""
    found = averaged(responses, tevet_words, (distinct, mean_cosine))
    return found[0], -found[1]
