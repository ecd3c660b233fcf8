"""Verbalized sampling (arXiv:2510.01171): the model is asked for k responses with their probabilities in one call.

*verbalized* asks for responses as the model would give them, *verbalized-tail* for unlikely ones. The wording is ours,
and asks for JSON. A reply that is no list of k responses is asked for again with another seed.
"""

import json
from typing import Any

from datasets_build.schema import Prompt

ATTEMPTS = 4
TAIL = 0.1  # each response of the tail variant is to have a lower probability
_MODES = ("verbalized", "verbalized-tail")
_LONGEST = 2**20  # letters of a reply that is parsed
_NAMES = ("text", "response")


def is_verbalized(mode: str) -> bool:
    """Whether a mode asks for all responses in one call."""
    return mode in _MODES


def instruction(prompt: Prompt, k: int, mode: str) -> str:
    """Return the message of the user that asks for k responses to a prompt."""
    which = (
        f"Choose unlikely ones: each probability is below {TAIL}."
        if mode == "verbalized-tail"
        else "Sample them from all that you might say."
    )
    return (
        f"Give {k} different responses to the message below, each with the probability that you would give it. {which} "
        f'Reply with JSON alone: a list of {k} objects {{"text": …, "probability": …}}.\n\n{prompt.prompt}'
    )


def parse(reply: str, k: int) -> list[tuple[str, float | None]] | None:
    """Read k responses with their probabilities from a reply; None if it is no such list.

    Text around the list is ignored, such as a code fence; of more than k responses the first k count. A probability
    that is no number in [0, 1] is None.

    >>> parse('Sure: [{"text": "A cat.", "probability": 0.3}, {"text": "A dog.", "probability": "high"}]', 2)
    [('A cat.', 0.3), ('A dog.', None)]
    """
    begin, end = reply.find("["), reply.rfind("]")
    if begin < 0 or end < begin or end - begin > _LONGEST:
        return None
    try:
        found = json.loads(reply[begin : end + 1])
    except (ValueError, RecursionError):
        return None
    made = [_response(each) for each in found] if isinstance(found, list) else []
    whole = [each for each in made if each is not None]
    return whole[:k] if len(whole) == len(made) and len(whole) >= k else None


def _response(given: Any) -> tuple[str, float | None] | None:
    if not isinstance(given, dict):
        return None
    text = next((given[name] for name in _NAMES if isinstance(given.get(name), str)), None)
    if text is None:
        return None
    try:
        text.encode()
    except UnicodeEncodeError:  # an unpaired surrogate is no text
        return None
    stated = given.get("probability")
    if not isinstance(stated, int | float) or isinstance(stated, bool) or not 0 <= stated <= 1:
        return text, None
    return text, float(stated)
