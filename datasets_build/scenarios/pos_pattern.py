"""The split `pos_pattern`: sentences of one part-of-speech pattern, and the same words without it.

Source: the design of the D_Can paper's experiment (spec of its code, 6.6). There the two families used different words,
and capitals caused part of the difference in distinct-n. Here a scrambled sentence has the words of its partner in
another order, and there are neither capitals nor full stops: within a draw the two families have equal unigrams,
sentence by sentence, so that only a metric that is sensitive to order can distinguish them.

A pattern sentence has one order of its word classes; a scrambled one has one of the 7! / (2! 2!) - 1 = 1,259 others,
all equally likely: 10.3 bits per sentence that only a reader of the pattern can save.
"""

import random
from collections.abc import Iterator
from typing import Any

from datasets_build.word_banks import word_bank
from divbench.core.rng import pick, shuffled, some, stream

PROMPT = "Write a short sentence in lower case, without punctuation."
RESPONSES = 40
DRAWS = 20

PATTERN = ("adjective", "noun", "verb", "adverb", "preposition", "adjective", "noun")


def _sentence(rng: random.Random) -> tuple[str, ...]:
    """Draw the words of one sentence, in the order of `PATTERN`."""
    bank = word_bank("scenarios", "parts_of_speech")
    first, second = some(rng, bank["adjectives"], 2)
    verb, adverb, preposition = (pick(rng, bank[part]) for part in ("verbs", "adverbs", "prepositions"))
    return (first, pick(rng, bank["agents"]), verb, adverb, preposition, second, pick(rng, bank["places"]))


def _scrambled(words: tuple[str, ...], rng: random.Random) -> tuple[str, ...]:
    """Put the words in a random order with another pattern; all such orders are equally likely."""
    while True:
        order = shuffled(rng, range(len(PATTERN)))
        if tuple(PATTERN[i] for i in order) != PATTERN:
            return tuple(words[i] for i in order)


def rows(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the 40 sets; the two of a draw have the same words. `modes` is 1 with the pattern and null without it."""
    for family in ("pos_pattern", "pos_scrambled"):
        for draw in range(DRAWS):
            rng = stream(seed, "pos_pattern", "words", draw)
            sentences = [_sentence(rng) for _ in range(RESPONSES)]
            if family == "pos_scrambled":
                rng = stream(seed, "pos_pattern", "orders", draw)
                sentences = [_scrambled(words, rng) for words in sentences]
            one_mode = family == "pos_pattern"
            yield {
                "set_id": f"{family}-{draw:02}",
                "context": PROMPT,
                "responses": [" ".join(words) for words in sentences],
                "family": family,
                "modes": 1 if one_mode else None,
                "mode_of": [0] * RESPONSES if one_mode else None,
                "draw": draw,
            }
