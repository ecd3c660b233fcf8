"""Metrics of words and n-grams. Input: the n-gram statistics of one response set.

Many sets are counted together on integer arrays. Tokens are numbered; the number of an n-gram is that of the pair (its
first n − 1 tokens, its last token) within its set. An n-gram that occurs once in its set adds one to the counts, and no
longer n-gram that begins with it can occur twice. So only repeated n-grams are followed from n to n + 1.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmark.metrics.metric import Metric, Unscorable, Version

MAX_N = 5
_SETS_AT_ONCE = 256  # keeps the arrays in the processor's caches
Tokeniser = Callable[[str], list[str]]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def whitespace_tokens(text: str) -> list[str]:
    """Split at white space, as in D_Can's baselines. In a script without spaces, a whole run is one token.

    >>> whitespace_tokens("Well, I am  going.")
    ['Well,', 'I', 'am', 'going.']
    """
    return text.split()


def tevet_tokens(text: str) -> list[str]:
    r"""Tokenise exactly as Tevet & Berant's code does.

    Periods and newlines are deleted, which joins their neighbours; then the text is split at spaces. Case, other
    punctuation and tabs inside tokens are kept.

    >>> tevet_tokens("I am. Going\nhome.")
    ['I', 'am', 'Goinghome']
    """
    return list(filter(None, text.replace(".", "").replace("\n", "").split(" ")))


@dataclass(frozen=True, slots=True)
class NgramStatistics:
    """N-gram statistics of one response set; entry n − 1 of each tuple is for n = 1 … 5."""

    responses: int
    total: tuple[int, ...]  # number of n-grams of all responses; none spans two responses
    unique: tuple[int, ...]  # number of different n-grams
    entropy: tuple[float, ...]  # entropy of their distribution in nats; 0 if there are none
    # Mean cosine of the count vectors over the unordered pairs of responses, 0 for a pair without a shared n-gram; NaN
    # if there are fewer than two responses.
    cosine: tuple[float, ...]


def ngram_statistics(
    sets: Sequence[Sequence[str]], tokenise: Tokeniser = whitespace_tokens, max_n: int = MAX_N
) -> list[NgramStatistics]:
    """Compute the n-gram statistics of each response set.

    >>> s = ngram_statistics([["a b a b", "a b"]], max_n=2)[0]
    >>> s.total, s.unique, [round(c, 6) for c in s.cosine]
    ((6, 4), (2, 2), [1.0, 0.894427])
    """
    blocks = (sets[i : i + _SETS_AT_ONCE] for i in range(0, len(sets), _SETS_AT_ONCE))
    return [statistics for block in blocks for statistics in _block(block, tokenise, max_n)]


def _block(sets: Sequence[Sequence[str]], tokenise: Tokeniser, max_n: int) -> list[NgramStatistics]:
    """Compute the statistics of several sets together."""
    sizes = np.array([len(texts) for texts in sets], dtype=np.int64)
    tokens: list[str] = []  # of all responses, one after another
    lengths: list[int] = []
    for texts in sets:
        for text in texts:
            words = tokenise(text)
            tokens += words
            lengths.append(len(words))
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    codes = np.fromiter(map(number.__getitem__, tokens), dtype=np.int64, count=len(tokens))
    counted = _count(codes, np.array(lengths, dtype=np.int64), sizes, max_n)
    columns = [zip(*(values.tolist() for values in each_n), strict=True) for each_n in zip(*counted, strict=True)]
    return [NgramStatistics(*values) for values in zip(sizes.tolist(), *columns, strict=True)]


def _count(
    codes: Integers, lengths: Integers, sizes: Integers, max_n: int
) -> Iterator[tuple[Integers, Integers, Floats, Floats]]:
    """Yield for n = 1 … max_n the total, unique, entropy and cosine of each set."""
    vocabulary = int(codes.max(initial=0)) + 1
    of_set = np.repeat(np.arange(len(sizes)), sizes)
    response = np.repeat(np.arange(len(lengths)), lengths)
    end = np.cumsum(lengths)[response]
    start = np.arange(len(codes))  # start of each n-gram that is followed
    gram = of_set[response]  # its number; for n = 0 that of the set
    for n in range(1, max_n + 1):
        fits = start + n <= end[start]
        start = start[fits]
        gram = pd.factorize(gram[fits] * vocabulary + codes[start + n - 1])[0].astype(np.int64)
        repeated = np.bincount(gram)[gram] > 1
        start, gram = start[repeated], gram[repeated]
        yield _measure(gram, response[start], np.maximum(lengths - n + 1, 0), of_set, sizes)


def _measure(
    gram: Integers, response: Integers, totals: Integers, of_set: Integers, sizes: Integers
) -> tuple[Integers, Integers, Floats, Floats]:
    """Compute the total, unique, entropy and cosine of each set for one n."""
    sets, responses = len(sizes), max(len(of_set), 1)
    # Occurrences of each n-gram by response; sorting the keys places responses that share an n-gram next to each other.
    keys, times = np.unique(gram * responses + response, return_counts=True)
    which, owner = np.divmod(keys, responses)
    first = np.flatnonzero(np.diff(which, prepend=-1))
    set_of = of_set[owner[first]]
    set_times = np.add.reduceat(times, first)
    total = np.bincount(of_set, weights=totals, minlength=sets)
    unique = total - np.bincount(set_of, weights=set_times - 1, minlength=sets)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.bincount(set_of, weights=set_times * np.log(set_times), minlength=sets)
        entropy = np.where(total > 0, np.log(total) - spread / total, 0.0)
    # For each n-gram (Σ x)² = Σ x² + 2 Σ over pairs, x its share of a response's unit vector: no loop over pairs.
    norm = np.sqrt(totals + np.bincount(owner, weights=times * (times - 1), minlength=len(totals)))
    share = times / norm[owner]
    products = (np.add.reduceat(share, first) ** 2 - np.add.reduceat(share**2, first)) / 2
    pairs = sizes * (sizes - 1) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.where(pairs > 0, np.bincount(set_of, weights=products, minlength=sets) / pairs, np.nan)
    return total.astype(np.int64), unique.astype(np.int64), np.maximum(entropy, 0.0), np.clip(cosine, 0.0, 1.0)


def distinct_n(ngrams: NgramStatistics) -> float:
    """Compute averaged distinct-n: the share of different n-grams among all n-grams of a set, averaged over n = 1 … 5.

    An n for which the set has no n-gram counts as 0, as in Tevet & Berant's code; so short responses score low whatever
    they say: five different one-word responses get 0.2. With their tokens, it equals their metric to the last digit.

    >>> from benchmark.metrics.lexical import ngram_statistics, tevet_tokens
    >>> round(distinct_n(ngram_statistics([["i am going", "i am going", "lets go i i"]], tevet_tokens)[0]), 6)
    0.592857
    """
    shares = [unique / total if total else 0.0 for unique, total in zip(ngrams.unique, ngrams.total, strict=True)]
    return math.fsum(shares) / len(shares)


def ngram_cosine_diversity(ngrams: NgramStatistics) -> float:
    """Compute minus the mean cosine of the responses' n-gram counts over all pairs, averaged over n = 1 … 5.

    A pair without a shared n-gram has cosine 0, even if a response has no n-gram of that length; so short texts score
    high: identical one-word responses get −0.2, identical long ones −1.

    >>> from benchmark.metrics.lexical import ngram_statistics, tevet_tokens
    >>> statistics = ngram_statistics([["i am going", "i am going", "lets go i i"]], tevet_tokens)[0]
    >>> round(ngram_cosine_diversity(statistics), 6)
    -0.262854
    """
    if ngrams.responses < 2:
        raise Unscorable("fewer than two responses")
    return 0.0 - math.fsum(ngrams.cosine) / len(ngrams.cosine)  # 0 instead of −0 if nothing is shared


def expectation_adjusted_distinct(ngrams: NgramStatistics, vocabulary: int) -> float:
    """Compute EAD: different n-grams over the number expected from as many uniform draws; the mean over n = 1 … 5.

    Liu et al. 2022, eq. 4: N / (V (1 − ((V − 1)/V)^C)) for N different among C n-grams. It can exceed 1, because C
    draws with repeats are expected to give fewer than C different n-grams. A length without n-grams counts as 0.

    >>> from benchmark.metrics.lexical import ngram_statistics
    >>> round(expectation_adjusted_distinct(ngram_statistics([["a b", "a c"]])[0], vocabulary=50257), 6)
    0.350006
    """
    ratios = []
    for unique, total in zip(ngrams.unique, ngrams.total, strict=True):
        # As written in the paper; with log1p and expm1 the last digits would differ from published values (2e-12).
        expected = vocabulary * (1 - ((vocabulary - 1) / vocabulary) ** total)
        ratios.append(unique / expected if total else 0.0)
    return math.fsum(ratios) / len(ratios)


def unique_1grams(ngrams: NgramStatistics) -> float:
    """Count the different words of a set. The number grows with length: compare only sets of similar length."""
    if not ngrams.total[0]:
        raise Unscorable("no words")
    return float(ngrams.unique[0])


def type_token_ratio(ngrams: NgramStatistics) -> float:
    """Compute the ratio of different words to all words of a set, in (0, 1]."""
    if not ngrams.total[0]:
        raise Unscorable("no words")
    return ngrams.unique[0] / ngrams.total[0]


def ngram_entropy(ngrams: NgramStatistics, n: int) -> float:
    """Compute the entropy of a set's n-grams, divided by its maximum, the logarithm of their number. In [0, 1].

    >>> from benchmark.metrics.lexical import ngram_statistics
    >>> ngram_entropy(ngram_statistics([["a a", "b b"]])[0], n=1)
    0.5
    """
    total = ngrams.total[n - 1]
    if total < 2:
        raise Unscorable(f"fewer than two {n}-grams")
    return min(ngrams.entropy[n - 1] / math.log(total), 1.0)


NOISE = "Random characters count as the most diverse: nothing in them repeats, although they say nothing."
SHUFFLED = "Shuffled words count as more diverse than the sentences they come from."
_ORDERLESS = "The order of words has no effect: shuffled words score the same as the sentences."
WORDING = "The same response in other words counts as a new one."
_NUGGETS = "On McDiv_nuggets, whose high and low sets have equal distinct-n, it is near chance."
_SHORT_LOW = "A length n that no response reaches counts as 0, so five different one-word responses get only 0.2."
SPACES = "In a script without spaces, such as Chinese or Thai, a whole sentence is one word."
LENGTH = "It depends on length: compare only sets of similar length."
FIRST = Version(1, "2026-11-20", "first version: words and n-grams")

_metric = partial(Metric, reads="ngrams:whitespace", direction=+1, family="words", history=(FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric(
        "distinct_n_tevet",
        "averaged distinct-n (Tevet & Berant)",
        distinct_n,
        reads="ngrams:tevet",
        bounds=(0, 1),
        unit="share of n-grams",
        paper="Tevet & Berant 2021, arXiv:2004.02990, section 5",
        parameters={"n": "1..5", "tokens": "tevet"},
        formula="(1/5) Σₙ₌₁..₅ |different n-grams| / |n-grams|, over all responses together; 0 for an n that has none. "
        "Periods and newlines are deleted, then the text is split at spaces",
        summary="The share of word sequences of one to five words that are not repeats, counted exactly as Tevet & "
        "Berant did.",
        failures=(
            _NUGGETS,
            WORDING,
            SHUFFLED,
            _SHORT_LOW,
            "A newline joins the words around it into one; case and other punctuation make words differ.",
            SPACES,
        ),
    ),
    _metric(
        "cosine_diversity_tevet",
        "n-gram cosine diversity (Tevet & Berant)",
        ngram_cosine_diversity,
        reads="ngrams:tevet",
        bounds=(-1, 0),
        unit="negative cosine",
        paper="Tevet & Berant 2021, arXiv:2004.02990, section 5",
        parameters={"n": "1..5", "tokens": "tevet"},
        needs=2,
        formula="−(1/5) Σₙ₌₁..₅ mean over pairs i < j of cos(cᵢ, cⱼ), c the n-gram counts of a response; a pair that "
        "shares no n-gram has cosine 0. Words as in distinct_n_tevet",
        summary="How few word sequences two responses share, averaged over all pairs and over one to five words.",
        failures=(
            NOISE,
            "Short texts score high whatever they say: identical one-word responses get −0.2, identical long ones −1.",
            WORDING,
            SHUFFLED,
            SPACES,
        ),
    ),
    _metric(
        "distinct_n",
        "averaged distinct-n",
        distinct_n,
        bounds=(0, 1),
        unit="share of n-grams",
        paper="Li et al. 2016, arXiv:1510.03055",
        parameters={"n": "1..5", "tokens": "whitespace"},
        formula="(1/5) Σₙ₌₁..₅ |different n-grams| / |n-grams|, over all responses together; 0 for an n that has none. "
        "Split at white space",
        summary="The share of word sequences of one to five words that are not repeats.",
        failures=(_NUGGETS, WORDING, SHUFFLED, f"{LENGTH} Longer texts repeat more.", _SHORT_LOW, SPACES),
    ),
    _metric(
        "ead",
        "expectation-adjusted distinct (EAD)",
        partial(expectation_adjusted_distinct, vocabulary=50257),
        bounds=(0, None),
        unit="ratio to expectation",
        paper="Liu et al. 2022, arXiv:2202.13587; averaged over n as Kirk et al. 2023, arXiv:2310.06452",
        parameters={"n": "1..5", "tokens": "whitespace", "V": "50257"},
        formula="(1/5) Σₙ₌₁..₅ Nₙ / (V (1 − ((V − 1)/V)^Cₙ)), Nₙ different among Cₙ n-grams, V = 50,257; 0 for an n "
        "that has none",
        summary="Distinct n-grams relative to the number expected from random draws from a fixed vocabulary, so that "
        "length matters less.",
        failures=(
            "With V this large, sets of a few hundred words are hardly corrected: it ranks them as distinct-n does.",
            "V is the same for every n, although there are far more possible pairs than words.",
            "It can exceed 1, because random draws repeat more than some texts do.",
            _NUGGETS,
            SHUFFLED,
            SPACES,
        ),
    ),
    _metric(
        "unique_1grams",
        "number of different words",
        unique_1grams,
        bounds=(1, None),
        unit="words",
        paper="counted as in GSSBench, Table 5, before its normalisation",
        parameters={"tokens": "whitespace"},
        formula="|different words| over all responses together",
        summary="How many different words all responses use together.",
        failures=(
            "It measures mainly length: one long response beats ten short different ones. On sets with labels it is "
            "at chance.",
            _ORDERLESS,
            SPACES,
        ),
    ),
    _metric(
        "type_token_ratio",
        "different words per word",
        type_token_ratio,
        bounds=(0, 1),
        unit="share of words",
        paper="Johnson 1944; pooled over the set, it is distinct-1",
        parameters={"tokens": "whitespace"},
        formula="|different words| / |words|, over all responses together",
        summary="The share of words that are not repeats: distinct-n for single words.",
        failures=(NOISE, f"{LENGTH} It falls as texts grow.", _ORDERLESS, WORDING, SPACES),
    ),
    _metric(
        "entropy_1",
        "normalised 1-gram entropy",
        partial(ngram_entropy, n=1),
        bounds=(0, 1),
        unit="share of the maximum",
        paper="Zhang et al. 2018, arXiv:1809.05972 (Ent-n), divided by its maximum",
        parameters={"n": "1", "tokens": "whitespace"},
        formula="−Σ p ln p / ln C, p the share of each word among all C words of the responses",
        summary="How evenly the words are used, relative to a text in which no word repeats.",
        failures=(NOISE, _ORDERLESS, f"{LENGTH} ln C grows with it.", WORDING, SPACES),
    ),
    _metric(
        "entropy_2",
        "normalised 2-gram entropy",
        partial(ngram_entropy, n=2),
        bounds=(0, 1),
        unit="share of the maximum",
        paper="Zhang et al. 2018, arXiv:1809.05972 (Ent-n), divided by its maximum",
        parameters={"n": "2", "tokens": "whitespace"},
        formula="−Σ p ln p / ln C, p the share of each pair of neighbouring words among all C pairs of the responses",
        summary="How evenly pairs of neighbouring words are used, relative to the maximum.",
        failures=(NOISE, SHUFFLED, "In short texts nearly every pair is new, so it is near 1 for most sets.", SPACES),
    ),
)
