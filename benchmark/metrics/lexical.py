"""Metrics of the texts alone. Input: the responses of one set, or their n-gram statistics (`ngrams.py`)."""

import math
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations
from types import SimpleNamespace
from typing import Any

from benchmark.metrics.metric import Unscorable
from benchmark.metrics.ngrams import NgramStatistics
from datasets_build.errors import need

_BLEU_ORDER = 4
_WORDS_KEPT = 1 << 15  # stems; a few megabytes


def distinct_n(ngrams: NgramStatistics) -> float:
    """Averaged distinct-n: the share of different n-grams among all of a set, averaged over n = 1 … 5.

    An n for which the set has no n-gram counts as 0, as in Tevet & Berant's code; so short answers score low whatever
    they say: five different one-word answers get 0.2. With their tokens this is their metric to the digit.

    Args:
        ngrams: Of one set.

    Returns:
        In [0, 1]; more is more diverse.

    >>> from benchmark.metrics.ngrams import ngram_statistics, tevet_tokens
    >>> round(distinct_n(ngram_statistics([["i am going", "i am going", "lets go i i"]], tevet_tokens)[0]), 6)
    0.592857
    """
    shares = [unique / total if total else 0.0 for unique, total in zip(ngrams.unique, ngrams.total, strict=True)]
    return math.fsum(shares) / len(shares)


def ngram_cosine_diversity(ngrams: NgramStatistics) -> float:
    """Minus the mean cosine of the responses' n-gram count vectors over all pairs, averaged over n = 1 … 5.

    A pair without a shared n-gram has cosine 0, also where a response has no n-gram of that length; so short texts
    score high: identical one-word answers get −0.2, identical long ones −1.

    Args:
        ngrams: Of one set.

    Returns:
        In [−1, 0]; more is more diverse.

    Raises:
        Unscorable: Fewer than two responses.

    >>> from benchmark.metrics.ngrams import ngram_statistics, tevet_tokens
    >>> statistics = ngram_statistics([["i am going", "i am going", "lets go i i"]], tevet_tokens)[0]
    >>> round(ngram_cosine_diversity(statistics), 6)
    -0.262854
    """
    if ngrams.responses < 2:
        raise Unscorable("fewer than two answers")
    return 0.0 - math.fsum(ngrams.cosine) / len(ngrams.cosine)  # where nothing is shared 0, not −0


def expectation_adjusted_distinct(ngrams: NgramStatistics, vocabulary: int) -> float:
    """EAD: different n-grams over the number expected if as many were drawn evenly from a vocabulary; mean over n.

    Liu et al. 2022, eq. 4: N / (V (1 − ((V − 1)/V)^C)) for N different among C. It can pass 1, because C different
    n-grams are more than C draws with repeats would give. No n-gram of a length counts as 0.

    Args:
        ngrams: Of one set.
        vocabulary: V, here for every n, as in D_Can's baselines (50,257, GPT-2's).

    Returns:
        At least 0; more is more diverse.

    >>> from benchmark.metrics.ngrams import ngram_statistics
    >>> round(expectation_adjusted_distinct(ngram_statistics([["a b", "a c"]])[0], vocabulary=50257), 6)
    0.350006
    """
    ratios = []
    for unique, total in zip(ngrams.unique, ngrams.total, strict=True):
        # As written in the paper; log1p and expm1 would keep last digits in which published values differ (2e-12).
        expected = vocabulary * (1 - ((vocabulary - 1) / vocabulary) ** total)
        ratios.append(unique / expected if total else 0.0)
    return math.fsum(ratios) / len(ratios)


def unique_1grams(ngrams: NgramStatistics) -> float:
    """The number of different words of a set. It grows with length: compare sets of like length only.

    Raises:
        Unscorable: No word at all.
    """
    if not ngrams.total[0]:
        raise Unscorable("no words")
    return float(ngrams.unique[0])


def type_token_ratio(ngrams: NgramStatistics) -> float:
    """Different words over all words of a set, in (0, 1].

    Raises:
        Unscorable: No word at all.
    """
    if not ngrams.total[0]:
        raise Unscorable("no words")
    return ngrams.unique[0] / ngrams.total[0]


def ngram_entropy(ngrams: NgramStatistics, n: int) -> float:
    """The entropy of a set's n-grams over its largest possible value, the logarithm of their number. In [0, 1].

    Args:
        ngrams: Of one set.
        n: Length of the n-grams.

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


def compression_ratio(responses: Sequence[str]) -> float:
    """Compressed over original bytes of the responses, sorted and joined by spaces; more is more diverse.

    Raw DEFLATE at level 9, so no header or checksum counts; still a few bytes more than the original for a text too
    short to compress. Sorting makes it independent of the order and puts repeats beside each other. Longer texts
    compress better: compare sets of like length only.

    Returns:
        Above 0; about 0.4 for English, over 1 for very short texts.

    Raises:
        Unscorable: No byte to compress.

    >>> compression_ratio(["the same words again"] * 10) < compression_ratio([f"other words {i}" for i in range(10)])
    True
    """
    original = " ".join(sorted(responses)).encode()
    if not original.strip():
        raise Unscorable("no text")
    packer = zlib.compressobj(level=9, wbits=-zlib.MAX_WBITS)
    return len(packer.compress(original) + packer.flush()) / len(original)


def self_bleu(responses: Sequence[str]) -> float:
    """The mean BLEU-4 of each response against all others as references; less is more diverse.

    Sentence BLEU of sacrebleu, to the bit: 13a tokens, exponential smoothing, effective order for texts under four
    tokens. Counted here for all responses at once, for sacrebleu would count each one again as a reference of each.

    Returns:
        In [0, 1].

    Raises:
        Unscorable: Fewer than two responses.
    """
    if len(responses) < 2:
        raise Unscorable("fewer than two answers")
    compute = need("sacrebleu.metrics.bleu", "score").BLEU.compute_bleu
    texts = Counter(tuple(_tokenise_13a(text).split()) for text in responses)
    ngrams = [_up_to_4(words) for words in texts]
    # Of each n-gram, how often the text has it that has it most, and the next one: so others' most is known for each.
    most: dict[tuple[str, ...], tuple[int, int]] = {}
    for own in ngrams:
        for ngram, times in own.items():
            first, second = most.get(ngram, (0, 0))
            if times > second:
                most[ngram] = (times, first) if times > first else (first, times)
    scores = []
    for (words, repeats), own in zip(texts.items(), ngrams, strict=True):
        # An identical text among the references means BLEU 1 whatever the others are: not worth computing.
        if repeats > 1:
            scores.append(float(repeats))
            continue
        matched, total = [0] * _BLEU_ORDER, [0] * _BLEU_ORDER
        for ngram, times in own.items():
            first, second = most[ngram]
            matched[len(ngram) - 1] += min(times, second if times == first else first)
            total[len(ngram) - 1] += times
        lengths = [len(other) for other in texts if other != words]
        closest = min(lengths, key=lambda length: (abs(length - len(words)), length))
        found = compute(matched, total, len(words), closest, smooth_method="exp", effective_order=True)
        scores.append(min(found.score / 100, 1.0))
    return math.fsum(scores) / len(responses)


def rouge_l_similarity(responses: Sequence[str]) -> float:
    """The mean ROUGE-L F1 over all pairs of responses; less is more diverse. INSIDE's lexical similarity.

    Tokens of google's rouge-score: lower case, letters a–z and digits, Porter stems of words over three letters.
    Identical texts have similarity 1, also where they have no token.

    Returns:
        In [0, 1].

    Raises:
        Unscorable: Fewer than two responses, or two different ones without a token (another script, or symbols alone).

    >>> rouge_l_similarity(["the cat sat", "the cat ran"])
    0.6666666666666666
    """
    if len(responses) < 2:
        raise Unscorable("fewer than two answers")
    similarity = need("rapidfuzz.distance.LCSseq", "score").similarity
    tokens = {text: _rouge_tokens(text) for text in responses}
    if sum(not found for found in tokens.values()) > 1:
        raise Unscorable("no letters a-z or digits for ROUGE")
    scores = []
    for one, other in combinations(responses, 2):
        length = len(tokens[one]) + len(tokens[other])
        scores.append(1.0 if one == other else 2 * similarity(tokens[one], tokens[other]) / length)
    return math.fsum(scores) / len(scores)


def _up_to_4(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    """How often each run of one to four words stands in a text."""
    made = Counter[tuple[str, ...]]()
    for n in range(1, _BLEU_ORDER + 1):
        made.update(zip(*(words[i:] for i in range(n)), strict=False))
    return made


@lru_cache(maxsize=1)
def _13a() -> Any:
    return need("sacrebleu.tokenizers.tokenizer_13a", "score").Tokenizer13a()


def _tokenise_13a(text: str) -> str:
    return str(_13a()(text.rstrip()))


@lru_cache(maxsize=1)
def _rouge() -> tuple[Callable[..., list[str]], Any]:
    """What tokenises, and its stemmer, which does not stem the words again that it had lately."""
    stem = need("nltk.stem.porter", "score").PorterStemmer().stem
    return need("rouge_score.tokenize", "score").tokenize, SimpleNamespace(stem=lru_cache(maxsize=_WORDS_KEPT)(stem))


@lru_cache(maxsize=4096)
def _rouge_tokens(text: str) -> list[str]:
    tokenise, stemmer = _rouge()
    return tokenise(text, stemmer)
