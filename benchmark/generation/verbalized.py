"""Verbalized sampling (arXiv:2510.01171): the model is asked for k responses with their probabilities in one call.

*verbalized* asks for responses as the model would give them, *verbalized-tail* for unlikely ones. The wording is
our own and asks for JSON. If a reply is not a list of k responses, another is requested with a new seed.
"""

import json
from typing import Any

from datasets_build.schema import Prompt

ATTEMPTS = 4
TAIL = 0.1  # each response of the tail variant should have a lower probability
_MODES = ("verbalized", "verbalized-tail")
_LONGEST = 2**20  # characters of a reply that are parsed
_NAMES = ("text", "response")


def is_verbalized(mode: str) -> bool:
    """Return whether a mode asks for all responses in one call."""
    return mode in _MODES


def instruction(prompt: Prompt, k: int, mode: str) -> str:
    """Return the user message that asks for k responses to a prompt."""
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
    """Parse k responses with their probabilities from a reply; None if it is not such a list.

    Text around the list, such as a code fence, is ignored; of more than k responses the first k are taken. A
    probability that is not a number in [0, 1] becomes None.

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
    except UnicodeEncodeError:  # an unpaired surrogate is not valid text
        return None
    stated = given.get("probability")
    if not isinstance(stated, int | float) or isinstance(stated, bool) or not 0 <= stated <= 1:
        return text, None
    return text, float(stated)
