"""The split `pos_pattern`: sentences of one part-of-speech pattern, and the same words without it.

Source: the design of the D_Can paper's experiment (spec of its code, 6.6). There the two families had words of their
own, and capitals made part of the difference in distinct-n. Here a scrambled sentence has the very words of its partner
in another order, and there are neither capitals nor full stops: within a draw the two families have equal unigrams,
sentence by sentence, so that whatever tells them apart sees order.

A pattern sentence has one order of its word classes; a scrambled one has one of the 7! / (2! 2!) - 1 = 1,259 others,
all equally likely: 10.3 bits a sentence that only a reader of the pattern can save.
"""

import random
from collections.abc import Iterator
from typing import Any

from datasets_build.rng import pick, shuffled, some, stream
from datasets_build.scenarios.forms import Bank

PROMPT = "Write a short sentence in lower case, without punctuation."
RESPONSES = 40
DRAWS = 20

# No word is in two banks. Nouns that are also verbs ("guards") and the like are left out: a scrambled order must not
# read as another sentence.
ADJECTIVES: Bank = (
    "ancient", "beautiful", "curious", "dusty", "elegant", "enormous", "famous", "foreign", "forgotten", "friendly",
    "gloomy", "modest", "lonely", "magnificent", "mysterious", "solemn", "ordinary", "peculiar", "shabby", "sleepy",
    "splendid", "strange", "tiny", "unusual",
)  # fmt: skip
AGENTS: Bank = (
    "acrobats", "actors", "beetles", "brothers", "children", "cousins", "dancers", "farmers", "gardeners", "giants",
    "hermits", "kittens", "monks", "musicians", "nuns", "owls", "painters", "philosophers", "pilgrims", "sailors",
    "sparrows", "teachers", "travellers", "weavers",
)  # fmt: skip
PLACES: Bank = (
    "abbeys", "barns", "canals", "castles", "cathedrals", "chapels", "cottages", "forests", "fountains", "hotels",
    "islands", "lakes", "libraries", "meadows", "mountains", "museums", "orchards", "palaces", "rivers", "statues",
    "temples", "theatres", "villages", "vineyards",
)  # fmt: skip
VERBS: Bank = (
    "appear", "arrive", "assemble", "celebrate", "complain", "gather", "hesitate", "kneel", "linger", "listen",
    "meditate", "mingle", "pray", "rejoice", "sing", "wander",
)  # fmt: skip
ADVERBS: Bank = (
    "briefly", "calmly", "cheerfully", "eagerly", "gracefully", "happily", "loudly", "nervously", "noisily",
    "patiently", "politely", "quietly", "sadly", "secretly", "slowly", "stubbornly",
)  # fmt: skip
PREPOSITIONS: Bank = ("around", "behind", "beside", "between", "beyond", "near")

PATTERN = ("adjective", "noun", "verb", "adverb", "preposition", "adjective", "noun")
ORDERS = 7


def _sentence(rng: random.Random) -> tuple[str, ...]:
    """The words of one sentence, in the order of `PATTERN`."""
    first, second = some(rng, ADJECTIVES, 2)
    verb, adverb, preposition = pick(rng, VERBS), pick(rng, ADVERBS), pick(rng, PREPOSITIONS)
    return (first, pick(rng, AGENTS), verb, adverb, preposition, second, pick(rng, PLACES))


def _scrambled(words: tuple[str, ...], rng: random.Random) -> tuple[str, ...]:
    """The same words in an order of another pattern; all such orders are equally likely."""
    while True:
        order = shuffled(rng, range(len(PATTERN)))
        if tuple(PATTERN[i] for i in order) != PATTERN:
            return tuple(words[i] for i in order)


def rows(seed: int) -> Iterator[dict[str, Any]]:
    """The 40 sets; those of one draw have the same words. `modes` is 1 for the pattern, and none without it."""
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
