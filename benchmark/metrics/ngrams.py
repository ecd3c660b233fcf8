"""Counting the n-grams of many response sets at once: the input that the n-gram metrics share.

All sets are counted together on integer arrays. Tokens get numbers; the number of an n-gram is that of the pair
(its first n − 1 tokens, its last token); counts of a set are runs in a sorted array of (set, n-gram) keys.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

MAX_N = 5
Tokeniser = Callable[[str], list[str]]
Integers = NDArray[np.int64]


def whitespace_tokens(text: str) -> list[str]:
    """Split at white space, as in D_Can's baselines. A script without spaces gives one token a run.

    >>> whitespace_tokens("Well, I am  going.")
    ['Well,', 'I', 'am', 'going.']
    """
    return text.split()


def tevet_tokens(text: str) -> list[str]:
    r"""Make tokens exactly as Tevet & Berant's code does.

    Periods and newlines vanish, joining their neighbours; then the text is split at single spaces. Case and other
    punctuation stay, tabs stay inside tokens.

    >>> tevet_tokens("I am. Going\nhome.")
    ['I', 'am', 'Goinghome']
    """
    return [token for token in text.replace(".", "").replace("\n", "").split(" ") if token]


@dataclass(frozen=True, slots=True)
class NgramStatistics:
    """What the n-gram metrics need of one response set; place n − 1 of each tuple is for n = 1 … 5.

    Attributes:
        responses: How many there are.
        total: N-grams of all responses together; none spans two responses.
        unique: Different ones among them.
        entropy: Of their distribution, in nats; 0 where there are none.
        cosine: Mean cosine of the count vectors over the unordered pairs of responses, 0 for a pair without a shared
            n-gram; NaN where there are fewer than two responses.
    """

    responses: int
    total: tuple[int, ...]
    unique: tuple[int, ...]
    entropy: tuple[float, ...]
    cosine: tuple[float, ...]


def ngram_statistics(
    sets: Sequence[Sequence[str]], tokenise: Tokeniser = whitespace_tokens, max_n: int = MAX_N
) -> list[NgramStatistics]:
    """The n-gram statistics of each response set.

    Args:
        sets: Response sets; they may differ in size, and be empty.
        tokenise: Makes the tokens of one response.
        max_n: The longest n-gram.

    >>> s = ngram_statistics([["a b a b", "a b"]], max_n=2)[0]
    >>> s.total, s.unique, [round(c, 6) for c in s.cosine]
    ((6, 4), (2, 2), [1.0, 0.894427])
    """
    sizes = np.array([len(texts) for texts in sets], dtype=np.int64)
    tokens = [tokenise(text) for texts in sets for text in texts]
    lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    of_set = np.repeat(np.arange(len(sets)), sizes)
    codes, _ = pd.factorize(np.array([t for each in tokens for t in each], dtype=object), use_na_sentinel=False)
    counted = [
        _count(gram, response, of_set, sizes) for gram, response in _ngrams(codes.astype(np.int64), lengths, max_n)
    ]
    return [
        NgramStatistics(
            responses=int(sizes[i]),
            total=tuple(int(c.total[i]) for c in counted),
            unique=tuple(int(c.unique[i]) for c in counted),
            entropy=tuple(float(c.entropy[i]) for c in counted),
            cosine=tuple(float(c.cosine[i]) for c in counted),
        )
        for i in range(len(sets))
    ]


def _ngrams(codes: Integers, lengths: Integers, max_n: int) -> "list[tuple[Integers, Integers]]":
    """For n = 1 … max_n: the number of each n-gram, and the response it stands in."""
    response = np.repeat(np.arange(len(lengths)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))  # tokens from here to the response's end
    vocabulary = int(codes.max()) + 1 if len(codes) else 1
    made = [(codes, response)]
    gram = codes
    starts = np.arange(len(codes))
    for n in range(2, max_n + 1):
        keep = left[starts] >= n
        starts = starts[keep]
        pairs = gram[keep] * vocabulary + codes[starts + n - 1]
        gram = pd.factorize(pairs)[0].astype(np.int64)  # numbered anew, so that they stay small
        made.append((gram, response[starts]))
    return made


@dataclass(frozen=True, slots=True)
class _Counted:
    total: Integers
    unique: Integers
    entropy: NDArray[np.float64]
    cosine: NDArray[np.float64]


def _count(gram: Integers, response: Integers, of_set: Integers, sizes: Integers) -> _Counted:
    """The statistics of each set for one n."""
    sets, responses = len(sizes), len(of_set)
    grams = int(gram.max()) + 1 if len(gram) else 1
    total = np.bincount(of_set[response], minlength=sets)
    # Counts of each n-gram in each response, and of each n-gram in each set.
    in_response, count = np.unique(response * grams + gram, return_counts=True)
    owner, which = np.divmod(in_response, grams)
    keys, place = np.unique(of_set[owner] * grams + which, return_inverse=True)
    key_set = keys // grams
    set_count = np.bincount(place, weights=count, minlength=len(keys))
    unique = np.bincount(key_set, minlength=sets)
    with np.errstate(divide="ignore", invalid="ignore"):
        plogp = np.bincount(key_set, weights=set_count * np.log(set_count), minlength=sets)
        entropy = np.where(total > 0, np.log(total) - plogp / total, 0.0)
    # The mean cosine over pairs from one sum: |Σ unit vectors|² = number of them + 2 Σ over pairs.
    norm = np.sqrt(np.bincount(owner, weights=count.astype(np.float64) ** 2, minlength=responses))
    summed = np.bincount(place, weights=count / norm[owner], minlength=len(keys))
    square = np.bincount(key_set, weights=summed**2, minlength=sets)
    nonzero = np.bincount(of_set, weights=norm > 0, minlength=sets)
    pairs = sizes * (sizes - 1) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        cosine = np.where(pairs > 0, np.maximum(square - nonzero, 0.0) / 2 / pairs, np.nan)
    return _Counted(total, unique, np.maximum(entropy, 0.0), np.minimum(cosine, 1.0))
