"""The split `mode_count`: one prompt, and sets with exactly m = 1 to 10 formats of response.

Source: the design of the D_Can paper, appendix B.3 (arXiv:2606.01811): draw m formats, use them as evenly as possible,
shuffle. Theirs has 50 formats of rain, 12 or 20 responses and 1,000 draws. Here the prompt, the 67 formats and all
words are ours, with 12 responses and 20 draws.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from datasets_build.scenarios.forms import Form, forms
from divbench.core.rng import different, shuffled, some, stream

PROMPT = "Write a short piece about the sea."
FILES = ("sea_verse_and_tales", "sea_everyday_notes", "sea_public_voices", "sea_official_papers")
RESPONSES = 12
MOST_MODES = 10
DRAWS = 20


def sea_forms() -> tuple[Form, ...]:
    """Read the 67 formats of a short piece about the sea."""
    return tuple(form for file in FILES for form in forms(file))


def rows(seed: int) -> Iterator[dict[str, Any]]:
    """Yield the 200 sets. `mode_of` has positions in `sea_forms()`: the same number is the same format in every set."""
    every = sea_forms()
    for modes in range(1, MOST_MODES + 1):
        for draw in range(DRAWS):
            rng = stream(seed, "mode_count", modes, draw)
            made: list[tuple[str, int]] = []
            for turn, which in enumerate(some(rng, range(len(every)), modes)):
                # The forms are in random order, so those that write one text more than the others are random.
                share = RESPONSES // modes + (turn < RESPONSES % modes)
                made += [(text, which) for text in different(share, partial(every[which].write, rng))]
            made = shuffled(rng, made)
            yield {
                "set_id": f"mode_count-{modes:02}-{draw:02}",
                "context": PROMPT,
                "responses": [text for text, _ in made],
                "family": "mode_count",
                "modes": modes,
                "mode_of": [which for _, which in made],
                "draw": draw,
            }
