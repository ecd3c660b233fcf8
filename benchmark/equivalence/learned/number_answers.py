"""Tells apart different numbers that answer a prompt, which the model of pairs mistakes for each other."""

import re
from collections.abc import Sequence

import numpy as np

from benchmark.equivalence.backend import Floats, ResponsePair

_MOST = 0.02  # the probability that different numbers are equivalent; published classes are sometimes of this opinion
_ASKS_FOR_A_NUMBER = re.compile(
    r"\b(?:dice|digits?|integers?|numbers?(?! of\b)|random year|(?:what|which) year|roll\b.*\bdie|zip codes?)\b", re.I
)
_LIST_MARK = re.compile(r"^[^\w\n]*(?:\w+ )?\d+[.:)] ", re.M)  # "3. " or "Answer 3: "; who adds one says nothing new
_NUMBER = re.compile(r"(?<!\w)\d+(?!\w)")  # not part of a word


def telling_numbers_apart(pairs: Sequence[ResponsePair], probabilities: Floats) -> Floats:
    """Return the probabilities [pairs], at most 0.02 for pairs with `different_numbers`."""
    different = [different_numbers(pair.prompt, pair.a, pair.b) for pair in pairs]
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
    if not _ASKS_FOR_A_NUMBER.search(prompt):
        return False
    own_a, own_b = (set(_NUMBER.findall(_LIST_MARK.sub("", text))) - set(_NUMBER.findall(prompt)) for text in (a, b))
    return bool(own_a and own_b) and own_a.isdisjoint(own_b)
