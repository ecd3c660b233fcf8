"""Tells apart different numbers that answer a prompt, which the model of pairs mistakes for each other."""

import re
from collections.abc import Sequence

import numpy as np

from benchmark.equivalence.backend import Floats, ResponsePair

_MOST = 0.02  # not 0, because the published classes sometimes put different numbers together
_ASKS_FOR_A_NUMBER = re.compile(
    r"\b(?:dice|digits?|integers?|numbers?(?! of\b)|random year|(?:what|which) year|roll\b.{0,60}\bdie|zip codes?)\b",
    re.I,
)
_LIST_MARK = re.compile(r"^[^\w\n]*(?:\w+ )?\d+[.:)] ", re.M)  # "3. " or "Answer 3: "; who adds one says nothing new
_NUMBER = re.compile(r"(?<!\w)\d+(?!\w)")  # not part of a word


def telling_numbers_apart(pairs: Sequence[ResponsePair], probabilities: Floats) -> Floats:
    """Return the probabilities [pairs], at most 0.02 for pairs with `different_numbers`."""
    read = {(pair.prompt, text) for pair in pairs for text in (pair.a, pair.b)}
    numbers = {(prompt, text): _numbers(prompt, text) for prompt, text in read}
    different = [_differ(numbers[pair.prompt, pair.a], numbers[pair.prompt, pair.b]) for pair in pairs]
    return np.where(different, np.minimum(probabilities, _MOST), probabilities)


def different_numbers(prompt: str, a: str, b: str) -> bool:
    """Return whether a prompt asks for a number, and both responses have numbers but none in common.

    Numbers of the prompt and of lists do not count. Other prompts do not matter, because an attack may add numbers.

    >>> different_numbers("Pick a number between 1 and 10.", "1 to 10? I choose 7.", "I choose 3.")
    True
    >>> different_numbers("Pick a number between 1 and 10.", "1. I choose 7.", "2. I choose 7.")
    False
    >>> different_numbers("Name a film.", "Catch 22", "Catch 23")
    False
    """
    return _differ(_numbers(prompt, a), _numbers(prompt, b))


def _numbers(prompt: str, text: str) -> frozenset[str]:
    """Return the numbers of a response that are not the prompt's; none if the prompt asks for none."""
    if not _ASKS_FOR_A_NUMBER.search(prompt):
        return frozenset()
    return frozenset(_NUMBER.findall(_LIST_MARK.sub("", text))) - frozenset(_NUMBER.findall(prompt))


def _differ(a: frozenset[str], b: frozenset[str]) -> bool:
    return bool(a and b) and a.isdisjoint(b)
