"""The split `scenarios`: five families of known structure, each on five prompts, with ten responses per set.

Source: the D_Can paper (arXiv:2606.01811, appendix B.2). The texts are ours. If the paper's code and text differ, we
follow the text: its incoherent and coherent multi-mode sets have five modes ("scrambled words within a template";
"recipe, poem, code"); in the code they have four and three. So our numbers differ from the paper's Tables 1 and 5; only
the order of the families can be compared. The paper gives no proportions for "a mixture of coherent and incoherent
responses": ours is half and half.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from datasets_build.scenarios.forms import Topic, topic
from datasets_build.scenarios.garbage import INCOHERENT, noise
from divbench.core.rng import different, shuffled, some, stream

TOPICS = ("about_bread", "about_train_journey", "about_garden", "about_night_sky", "about_music")
RESPONSES = 10

# A response and its mode; -1 if the set has no number of modes.
Labelled = tuple[str, int]
Writer = Callable[[random.Random], str]


def topics() -> tuple[Topic, ...]:
    """Read the five topics."""
    return tuple(map(topic, TOPICS))


def _each_twice(writers: Sequence[Writer], rng: random.Random) -> list[Labelled]:
    """Write two responses of each format, in random order."""
    made = [(text, mode) for mode, write in enumerate(writers) for text in different(2, partial(write, rng))]
    return shuffled(rng, made)


def _noise(_: Topic, rng: random.Random) -> list[Labelled]:
    return [(text, -1) for text in different(RESPONSES, partial(noise, rng))]


def _incoherent(_: Topic, rng: random.Random) -> list[Labelled]:
    return _each_twice(INCOHERENT, rng)


def _multi_mode(topic: Topic, rng: random.Random) -> list[Labelled]:
    return _each_twice([form.write for form in topic.forms], rng)


def _one_mode(topic: Topic, rng: random.Random) -> list[Labelled]:
    return [(text, 0) for text in different(RESPONSES, partial(topic.paragraph.write, rng))]


def _mixed(topic: Topic, rng: random.Random) -> list[Labelled]:
    """Write five sensible responses, one of each form; three incoherent ones of different formats; two of noise."""
    sensible = [form.write(rng) for form in topic.forms]
    senseless = [write(rng) for write in some(rng, INCOHERENT, 3)]
    return [(text, -1) for text in shuffled(rng, sensible + senseless + [noise(rng), noise(rng)])]


FAMILIES: dict[str, tuple[int | None, Callable[[Topic, random.Random], list[Labelled]]]] = {
    "noise": (None, _noise),
    "incoherent": (5, _incoherent),
    "multi_mode": (5, _multi_mode),
    "one_mode": (1, _one_mode),
    "mixed": (None, _mixed),  # the noise in it belongs to no mode
}


def rows(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the 25 sets. `mode_of` has positions in the formats `garbage.INCOHERENT`, or in the topic's `forms`."""
    for family, (modes, make) in FAMILIES.items():
        for each in topics():
            made = make(each, stream(seed, "scenarios", family, each.name))
            yield {
                "set_id": f"{family}-{each.name}",
                "context": each.prompt,
                "responses": [text for text, _ in made],
                "family": family,
                "modes": modes,
                "mode_of": None if modes is None else [mode for _, mode in made],
                "draw": 0,
            }
