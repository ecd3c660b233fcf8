"""Response sets of the three splits; the texts are ours, the designs the D_Can paper's (arXiv:2606.01811, appendix B).

- `scenarios`: five families on five prompts. Where the paper's code and text differ, we follow the text: its
  incoherent and coherent multi-mode sets have five modes; in the code four and three. So our numbers differ from the
  paper's Tables 1 and 5, and only the order of the families can be compared. The paper gives no proportions for "a
  mixture of coherent and incoherent responses": ours is half and half.
- `mode_count`: draw m formats, use them as evenly as possible, shuffle. Theirs has 50 formats of rain, 12 or 20
  responses and 1,000 draws; ours 67 formats, 12 responses and 20 draws.
- `pos_pattern`: in the paper's experiment the two families used different words, and capitals caused part of the
  difference in distinct-n. Here a scrambled sentence has the words of its partner in another order, and there are
  neither capitals nor full stops: within a draw the two families have equal unigrams, sentence by sentence, so that
  only a metric that is sensitive to order can distinguish them.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from datasets_build.scenarios.texts import INCOHERENT, Form, Topic, forms, noise, topic
from datasets_build.word_banks import word_bank
from divbench.core.errors import ConfigurationError
from divbench.core.rng import different, pick, shuffled, some, stream

VERSION = "1.0.0"
SEED = 0
SCHEMA = pa.schema(
    [
        pa.field("set_id", pa.string(), nullable=False),
        pa.field("context", pa.string(), nullable=False),
        pa.field("responses", pa.list_(pa.string()), nullable=False),
        pa.field("family", pa.string(), nullable=False),
        pa.field("modes", pa.int32()),  # null for noise, mixed and scrambled, which have no number of modes
        pa.field("mode_of", pa.list_(pa.int32())),  # one entry per response; null if `modes` is null
        pa.field("draw", pa.int32(), nullable=False),
    ]
)
TOPICS = ("about_bread", "about_train_journey", "about_garden", "about_night_sky", "about_music")
RESPONSES = 10
SEA_PROMPT = "Write a short piece about the sea."
SEA_FILES = ("sea_verse_and_tales", "sea_everyday_notes", "sea_public_voices", "sea_official_papers")
SEA_RESPONSES = 12
MOST_MODES = 10
PATTERN_PROMPT = "Write a short sentence in lower case, without punctuation."
PATTERN = ("adjective", "noun", "verb", "adverb", "preposition", "adjective", "noun")
PATTERN_RESPONSES = 40
DRAWS = 20  # of each number of modes, and of each family of patterns

Labelled = tuple[str, int]  # a response and its mode; -1 if the set has no number of modes
Writer = Callable[[random.Random], str]


def topics() -> tuple[Topic, ...]:
    """Read the five topics."""
    return tuple(map(topic, TOPICS))


def sea_forms() -> tuple[Form, ...]:
    """Read the 67 formats of a short piece about the sea."""
    return tuple(form for file in SEA_FILES for form in forms(file))


def scenarios(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the 25 sets. `mode_of` has positions in the formats `INCOHERENT`, or in the topic's `forms`."""
    for family, (modes, make) in FAMILIES.items():
        for subject in topics():
            responses = make(subject, stream(seed, "scenarios", family, subject.name))
            yield _row(f"{family}-{subject.name}", subject.prompt, responses, family, modes, 0)


def mode_count(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the 200 sets. `mode_of` has positions in `sea_forms()`: the same number is the same format in every set."""
    formats = sea_forms()
    for modes in range(1, MOST_MODES + 1):
        for draw in range(DRAWS):
            rng = stream(seed, "mode_count", modes, draw)
            responses: list[Labelled] = []
            for turn, mode in enumerate(some(rng, range(len(formats)), modes)):
                # The forms are in random order, so those that write one text more than the others are random.
                share = SEA_RESPONSES // modes + (turn < SEA_RESPONSES % modes)
                responses += [(text, mode) for text in different(share, partial(formats[mode].write, rng))]
            name = f"mode_count-{modes:02}-{draw:02}"
            yield _row(name, SEA_PROMPT, shuffled(rng, responses), "mode_count", modes, draw)


def pos_pattern(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the 40 sets; the two of a draw have the same words. `modes` is 1 with the pattern and null without it."""
    for family, modes in (("pos_pattern", 1), ("pos_scrambled", None)):
        for draw in range(DRAWS):
            rng = stream(seed, "pos_pattern", "words", draw)
            sentences = [_sentence(rng) for _ in range(PATTERN_RESPONSES)]
            if family == "pos_scrambled":
                rng = stream(seed, "pos_pattern", "orders", draw)
                sentences = [_scrambled(words, rng) for words in sentences]
            responses = [(" ".join(words), 0) for words in sentences]
            yield _row(f"{family}-{draw:02}", PATTERN_PROMPT, responses, family, modes, draw)


def _row(
    name: str, prompt: str, responses: Sequence[Labelled], family: str, modes: int | None, draw: int
) -> dict[str, Any]:
    return {
        "set_id": name,
        "context": prompt,
        "responses": [text for text, _ in responses],
        "family": family,
        "modes": modes,
        "mode_of": None if modes is None else [mode for _, mode in responses],
        "draw": draw,
    }


def _each_twice(writers: Sequence[Writer], rng: random.Random) -> list[Labelled]:
    """Write two responses of each format, in random order."""
    return shuffled(
        rng, [(text, mode) for mode, write in enumerate(writers) for text in different(2, partial(write, rng))]
    )


def _noise(_: Topic, rng: random.Random) -> list[Labelled]:
    return [(text, -1) for text in different(RESPONSES, partial(noise, rng))]


def _incoherent(_: Topic, rng: random.Random) -> list[Labelled]:
    return _each_twice(INCOHERENT, rng)


def _multi_mode(subject: Topic, rng: random.Random) -> list[Labelled]:
    return _each_twice([form.write for form in subject.forms], rng)


def _one_mode(subject: Topic, rng: random.Random) -> list[Labelled]:
    return [(text, 0) for text in different(RESPONSES, partial(subject.paragraph.write, rng))]


def _mixed(subject: Topic, rng: random.Random) -> list[Labelled]:
    """Write five sensible responses, one of each form; three incoherent ones of different formats; two of noise."""
    sensible = [form.write(rng) for form in subject.forms]
    senseless = [write(rng) for write in some(rng, INCOHERENT, 3)]
    return [(text, -1) for text in shuffled(rng, sensible + senseless + [noise(rng), noise(rng)])]


# Number of modes and writer of each family; noise belongs to no mode.
FAMILIES: dict[str, tuple[int | None, Callable[[Topic, random.Random], list[Labelled]]]] = {
    "noise": (None, _noise),
    "incoherent": (5, _incoherent),
    "multi_mode": (5, _multi_mode),
    "one_mode": (1, _one_mode),
    "mixed": (None, _mixed),
}


def _sentence(rng: random.Random) -> tuple[str, ...]:
    """Draw the words of one sentence, in the order of `PATTERN`."""
    bank = word_bank("scenarios", "parts_of_speech")
    first, second = some(rng, bank["adjectives"], 2)
    verb, adverb, preposition = (pick(rng, bank[part]) for part in ("verbs", "adverbs", "prepositions"))
    return (first, pick(rng, bank["agents"]), verb, adverb, preposition, second, pick(rng, bank["places"]))


def _scrambled(words: tuple[str, ...], rng: random.Random) -> tuple[str, ...]:
    """Put the words in one of the 7! / (2! 2!) - 1 = 1,259 orders of another pattern; all are equally likely."""
    while True:
        order = shuffled(rng, range(len(PATTERN)))
        if tuple(PATTERN[i] for i in order) != PATTERN:
            return tuple(words[i] for i in order)


_ROWS: dict[str, Callable[[int], Iterator[dict[str, Any]]]] = {
    "scenarios": scenarios,
    "mode_count": mode_count,
    "pos_pattern": pos_pattern,
}
SPLITS: tuple[str, ...] = tuple(_ROWS)


def rows(split: str, seed: int = SEED) -> Iterator[dict[str, Any]]:
    """Make the rows of one split, each with the fields of `SCHEMA`; every set has its own random stream."""
    if split not in _ROWS:
        raise ConfigurationError(f"no split {split!r}", f"one of {', '.join(SPLITS)}")
    return _ROWS[split](seed)
