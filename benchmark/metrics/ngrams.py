"""Counting the n-grams of many response sets at once: the input that the n-gram metrics share.

Many sets are counted together on integer arrays. Tokens are numbered; the number of an n-gram is that of the pair (its
first n − 1 tokens, its last token) within its set. An n-gram that occurs once in its set adds one to the counts, and no
longer n-gram that begins with it can occur twice. So only repeated n-grams are followed from n to n + 1; most texts
have few of them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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

    Args:
        sets: Response sets, which may be empty.

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
            found = tokenise(text)
            tokens += found
            lengths.append(len(found))
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
    """Compute the total, unique, entropy and cosine of each set for one n.

    Args:
        gram: Number of each occurrence of an n-gram that its set contains more than once.
        totals: Number of n-grams of each response.
        of_set: The set of each response.
    """
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
