"""Speed of the n-gram metrics compared with plain Python: `python -m benchmark.perf.lexical [--mirror DIR]`.

Averaged distinct-n and n-gram cosine diversity of decTest's 2,979 sets of ten responses, by the package and by
`plain.py`, alternating in one process, so that other load on the machine affects both. Without a mirror the sets are
synthetic, of the same shape. The values are compared before any time is printed.
"""

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmark.metrics.lexical import distinct_n, ngram_cosine_diversity
from benchmark.metrics.ngrams import ngram_statistics, tevet_tokens
from benchmark.perf.plain import distinct_and_cosine
from benchmark.perf.script import Comparison, compare_ways, option_parser, print_document

Sets = list[list[str]]
Pairs = list[tuple[float, float]]
TASKS = ("story", "resp", "prompt")
TOLERANCE = 1e-12


def dectest_sets(mirror: Path) -> Sets:
    """Read the response sets of the three decTest files without human scores."""
    made: Sets = []
    for task in TASKS:
        path = mirror / "tevet" / "raw" / "decTest" / f"dec_test_1000_no_hds_{task}_gen.csv"
        with path.open(newline="", encoding="utf-8") as file:
            made += [[row[f"resp_{i}"] for i in range(10)] for row in csv.DictReader(file)]
    return made


def made_up_sets(count: int) -> Sets:
    """Make sets of ten texts of about nine words each, with word frequencies by Zipf's law."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(20_000)])
    shares = 1 / np.arange(1, len(words) + 1)
    shares /= shares.sum()
    made = []
    for _ in range(count):
        of_set = rng.choice(words, size=60, p=shares)  # the responses to one prompt share their words
        made.append([" ".join(rng.choice(of_set, size=max(n, 1))) + "." for n in rng.poisson(9, size=10)])
    return made


def package(sets: Sets) -> Pairs:
    """Compute both metrics with the package."""
    return [(distinct_n(one), ngram_cosine_diversity(one)) for one in ngram_statistics(sets, tevet_tokens)]


def plain(sets: Sets) -> Pairs:
    """Compute both metrics with the plain implementation, set by set."""
    return [distinct_and_cosine(one) for one in sets]


def compare(sets: Sets, rounds: int, data: str) -> Comparison:
    """Time both implementations in turns.

    Raises:
        ValueError: Their values differ.
    """
    tokens = sum(len(tevet_tokens(text)) for texts in sets for text in texts)
    about = {"data": data, "sets": len(sets), "tokens": tokens}
    return compare_ways(partial(plain, sets), partial(package, sets), rounds, TOLERANCE, about)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON document."""
    parser = option_parser(__doc__, mirror=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--sets", type=int, default=2979, help="Maximum number of sets.")
    given = parser.parse_args(arguments)
    sets = (made_up_sets(given.sets) if given.mirror is None else dectest_sets(given.mirror))[: given.sets]
    found = compare(sets, given.rounds, "made up" if given.mirror is None else "decTest")
    print_document(found)


if __name__ == "__main__":
    main()
