"""Metrics of shared wording: compression, self-BLEU, ROUGE-L and self-repetition. Input: the responses of one set."""

import math
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import chain, combinations
from types import SimpleNamespace
from typing import Any

from benchmark.metrics.lexical import FIRST, LENGTH, NOISE, SHUFFLED, SPACES, WORDING
from benchmark.metrics.metric import MOST, Metric, Unscorable, Version, too_many
from divbench.core.errors import need

_BLEU_ORDER = 4
_MOST_COMPARED = 10**12  # products of two texts' tokens, added up over all pairs: some minutes
_WORDS_KEPT = 1 << 15  # cached stems: a few megabytes


def compression_ratio(responses: Sequence[str]) -> float:
    """Compute compressed over original bytes of the responses, sorted and joined by spaces; higher is more diverse.

    Raw DEFLATE at level 9, so no header or checksum counts; a text too short to compress still gets a few bytes longer.
    Sorting makes it independent of the order and puts repeats next to each other. Longer texts compress better: compare
    only sets of similar length.

    >>> compression_ratio(["the same words again"] * 10) < compression_ratio([f"other words {i}" for i in range(10)])
    True
    """
    original = " ".join(sorted(responses)).encode()
    if not original.strip():
        raise Unscorable("no text")
    packer = zlib.compressobj(level=9, wbits=-zlib.MAX_WBITS)
    return len(packer.compress(original) + packer.flush()) / len(original)


def self_bleu(responses: Sequence[str]) -> float:
    """Compute the mean BLEU-4 of each response against all others as references; lower is more diverse.

    Sentence BLEU of sacrebleu, to the bit: 13a tokens, exponential smoothing, effective order for texts under four
    tokens. N-grams are counted once per response; sacrebleu would count them again for every reference.
    """
    if len(responses) < 2:
        raise Unscorable("fewer than two responses")
    compute = need("sacrebleu.metrics.bleu", "score").BLEU.compute_bleu
    texts = Counter(tuple(_tokenise_13a(text).split()) for text in responses)
    ngrams = [_up_to_4(words) for words in texts]
    # The two highest counts of each n-gram in any text, which give the highest count in the other texts for each text.
    highest: dict[tuple[str, ...], tuple[int, int]] = {}
    for counts in ngrams:
        for ngram, times in counts.items():
            first, second = highest.get(ngram, (0, 0))
            if times > second:
                highest[ngram] = (times, first) if times > first else (first, times)
    lengths = Counter(map(len, texts))
    scores = []
    for (words, repeats), counts in zip(texts.items(), ngrams, strict=True):
        # An identical text among the references means BLEU 1, whatever the others are.
        if repeats > 1:
            scores.append(float(repeats))
            continue
        matched, total = [0] * _BLEU_ORDER, [0] * _BLEU_ORDER
        for ngram, times in counts.items():
            first, second = highest[ngram]
            matched[len(ngram) - 1] += min(times, second if times == first else first)
            total[len(ngram) - 1] += times
        others = (length for length, times in lengths.items() if length != len(words) or times > 1)
        closest = min(others, key=lambda length: (abs(length - len(words)), length))
        bleu = compute(matched, total, len(words), closest, smooth_method="exp", effective_order=True)
        scores.append(min(bleu.score / 100, 1.0))
    return math.fsum(scores) / len(responses)


def rouge_l_similarity(responses: Sequence[str]) -> float:
    """Compute the mean ROUGE-L F1 over all pairs of responses, INSIDE's lexical similarity; lower is more diverse.

    Tokens are those of Google's rouge-score: lower case, letters a–z and digits, Porter stems of words over three
    letters. Identical texts have similarity 1, even without tokens.

    >>> rouge_l_similarity(["the cat sat", "the cat ran"])
    0.6666666666666666
    """
    if len(responses) < 2:
        raise Unscorable("fewer than two responses")
    if len(responses) > MOST:
        raise Unscorable(too_many(MOST))
    similarity = need("rapidfuzz.distance.LCSseq", "score").similarity
    tokens = {text: _rouge_tokens(text) for text in responses}
    if sum(not words for words in tokens.values()) > 1:
        raise Unscorable("no letters a-z or digits for ROUGE")
    lengths = [len(tokens[text]) for text in responses]
    if sum(lengths) ** 2 - sum(length**2 for length in lengths) > 2 * _MOST_COMPARED:
        raise Unscorable("texts too long to compare all pairs")
    scores = []
    for one, other in combinations(responses, 2):
        length = len(tokens[one]) + len(tokens[other])
        scores.append(1.0 if one == other else 2 * similarity(tokens[one], tokens[other]) / length)
    return math.fsum(scores) / len(scores)


def self_repetition(responses: Sequence[str], n: int) -> float:
    """Compute the mean over responses of ln(1 + occurrences of their n-grams in the others); lower is more diverse.

    Words are separated by white space and keep case and punctuation. An n-gram counts once per response; a response
    with fewer words has none.

    >>> self_repetition(["a b c d", "a b c d", "e f g h"], n=4) == 2 * math.log(2) / 3
    True
    """
    if not responses:
        raise Unscorable("no response")
    ngrams = [set(zip(*(words[i:] for i in range(n)), strict=False)) for words in map(str.split, responses)]
    seen: set[tuple[str, ...]] = set()
    repeated: set[tuple[str, ...]] = set()
    for of_response in ngrams:
        repeated |= seen & of_response
        seen |= of_response
    shared = [of_response & repeated for of_response in ngrams]
    holders = Counter(chain.from_iterable(shared))
    repeats = (sum(map(holders.__getitem__, of_response)) - len(of_response) for of_response in shared)
    return math.fsum(map(math.log1p, repeats)) / len(responses)


def _up_to_4(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    """Count each sequence of one to four words in a text."""
    counts = Counter[tuple[str, ...]]()
    for n in range(1, _BLEU_ORDER + 1):
        counts.update(zip(*(words[i:] for i in range(n)), strict=False))
    return counts


@lru_cache(maxsize=1)
def _13a() -> Any:
    return need("sacrebleu.tokenizers.tokenizer_13a", "score").Tokenizer13a()


def _tokenise_13a(text: str) -> str:
    return str(_13a()(text.rstrip()))


@lru_cache(maxsize=1)
def _rouge() -> tuple[Callable[..., list[str]], Any]:
    """Return the tokeniser and a stemmer that caches recent words."""
    stem = need("nltk.stem.porter", "score").PorterStemmer().stem
    return need("rouge_score.tokenize", "score").tokenize, SimpleNamespace(stem=lru_cache(maxsize=_WORDS_KEPT)(stem))


@lru_cache(maxsize=4096)
def _rouge_tokens(text: str) -> list[str]:
    tokenise, stemmer = _rouge()
    return tokenise(text, stemmer)


_metric = partial(Metric, reads="responses", direction=-1, needs=2, family="words", history=(FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric(
        "compression_ratio",
        "compression ratio (compressed / original)",
        compression_ratio,
        direction=+1,
        bounds=(0, None),
        unit="bytes / byte",
        paper="Shaib et al. 2024, arXiv:2403.00553, inverted as GSSBench, Table 5",
        parameters={"codec": "deflate-9"},
        formula="bytes(DEFLATE₉(responses, sorted, joined by spaces)) / bytes(responses, sorted, joined by spaces)",
        summary="How much of the text is left after compression, which removes repetition.",
        failures=(
            NOISE,
            f"{LENGTH} Longer texts compress better, and very short ones exceed 1.",
            "Compression looks back only 32,768 bytes: in long responses, distant repeats are missed.",
            WORDING,
            SHUFFLED,
        ),
    ),
    _metric(
        "self_bleu",
        "mean BLEU of each response against the others",
        self_bleu,
        bounds=(0, 1),
        unit="BLEU",
        paper="Zhu et al. 2018, arXiv:1802.01886; sentence BLEU-4 of sacrebleu",
        parameters={"n": "1..4", "tokens": "13a", "smooth": "exp"},
        formula="mean over responses i of BLEU₄(response i; references: all others), with exponential smoothing; less "
        "is more diverse",
        summary="How many phrases of one to four words each response shares with the others, as BLEU counts them.",
        failures=(
            NOISE,
            "Each response is compared with all others at once, so more responses give higher values: compare "
            "equal k only.",
            "Responses under four words are judged by shorter phrases, and their score depends strongly on smoothing.",
            WORDING,
            SPACES,
        ),
    ),
    _metric(
        "rouge_l_similarity",
        "lexical similarity (ROUGE-L)",
        rouge_l_similarity,
        bounds=(0, 1),
        unit="F1",
        paper="Lin et al. 2024, arXiv:2305.19187; as coded in INSIDE, arXiv:2402.03744",
        parameters={"stemmer": "porter"},
        formula="mean over pairs i < j of 2 LCS(i, j) / (|i| + |j|), LCS the longest common subsequence of stemmed "
        "words; less is more diverse",
        summary="How many words two responses share in the same order, averaged over all pairs.",
        failures=(
            NOISE,
            "Only the letters a–z and digits count: responses in other scripts, or of symbols, cannot be scored.",
            WORDING,
            "GSSBench prints it with the sign of a similarity in some tables and of a diversity in others.",
        ),
    ),
    _metric(
        "self_repetition",
        "self-repetition of 4-grams",
        partial(self_repetition, n=4),
        bounds=(0, None),
        unit="log count",
        paper="Salkar et al. 2022, arXiv:2210.08145; Shaib et al. 2024, arXiv:2403.00553",
        parameters={"n": "4", "tokens": "whitespace"},
        formula="mean over responses i of ln(1 + Σ over different 4-grams g of i of the number of other responses "
        "with g); less is more diverse",
        summary="How many phrases of four words a response shares with the others, on a logarithmic scale.",
        failures=(
            NOISE,
            "It misses shorter phrases: copies of a response of three words get 0, the best value.",
            "It grows with length and with the number of responses: compare only sets of similar length and equal k.",
            WORDING,
            SHUFFLED,
            SPACES,
        ),
        history=(Version(1, "2026-11-22", "first version: phrases of four words in several responses"),),
    ),
)
