"""Metrics of words and n-grams. Input: the n-gram statistics of one response set (`ngrams.py`)."""

import math
from functools import partial

from benchmark.metrics.metric import Metric, Unscorable, Version
from benchmark.metrics.ngrams import NgramStatistics


def distinct_n(ngrams: NgramStatistics) -> float:
    """Compute averaged distinct-n: the share of different n-grams among all n-grams of a set, averaged over n = 1 … 5.

    An n for which the set has no n-gram counts as 0, as in Tevet & Berant's code; so short responses score low whatever
    they say: five different one-word responses get 0.2. With their tokens, it equals their metric to the last digit.

    Returns:
        In [0, 1]; higher is more diverse.

    >>> from benchmark.metrics.ngrams import ngram_statistics, tevet_tokens
    >>> round(distinct_n(ngram_statistics([["i am going", "i am going", "lets go i i"]], tevet_tokens)[0]), 6)
    0.592857
    """
    shares = [unique / total if total else 0.0 for unique, total in zip(ngrams.unique, ngrams.total, strict=True)]
    return math.fsum(shares) / len(shares)


def ngram_cosine_diversity(ngrams: NgramStatistics) -> float:
    """Compute minus the mean cosine of the responses' n-gram counts over all pairs, averaged over n = 1 … 5.

    A pair without a shared n-gram has cosine 0, even if a response has no n-gram of that length; so short texts score
    high: identical one-word responses get −0.2, identical long ones −1.

    Returns:
        In [−1, 0]; higher is more diverse.

    Raises:
        Unscorable: Fewer than two responses.

    >>> from benchmark.metrics.ngrams import ngram_statistics, tevet_tokens
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

    Args:
        vocabulary: V, the same for every n, as in D_Can's baselines (50,257, GPT-2's).

    Returns:
        At least 0; higher is more diverse.

    >>> from benchmark.metrics.ngrams import ngram_statistics
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
    """Count the different words of a set. The number grows with length: compare only sets of similar length.

    Raises:
        Unscorable: There are no words.
    """
    if not ngrams.total[0]:
        raise Unscorable("no words")
    return float(ngrams.unique[0])


def type_token_ratio(ngrams: NgramStatistics) -> float:
    """Compute the ratio of different words to all words of a set, in (0, 1].

    Raises:
        Unscorable: There are no words.
    """
    if not ngrams.total[0]:
        raise Unscorable("no words")
    return ngrams.unique[0] / ngrams.total[0]


def ngram_entropy(ngrams: NgramStatistics, n: int) -> float:
    """Compute the entropy of a set's n-grams, divided by its maximum, the logarithm of their number. In [0, 1].

    Raises:
        Unscorable: Fewer than two n-grams of that length.

    >>> from benchmark.metrics.ngrams import ngram_statistics
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
