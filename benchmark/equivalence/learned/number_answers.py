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
    """Return the probabilities [pairs], at most 0.02 where a prompt asks for a number and the responses differ in it.

    They differ if both have numbers but none in common. Numbers of the prompt and of lists do not count. Other prompts
    do not matter, because an attack may add numbers.

    >>> asked = ResponsePair("Pick a number between 1 and 10.", "1 to 10? I choose 7.", "I choose 3.")
    >>> not_asked = ResponsePair("Name a film.", "Catch 22", "Catch 23")
    >>> telling_numbers_apart([asked, not_asked], np.array([0.7, 0.7])).tolist()
    [0.02, 0.7]
    """
    read = {(pair.prompt, text) for pair in pairs for text in (pair.a, pair.b)}
    numbers = {key: _numbers(*key) for key in read}  # once a response, not once a pair
    given = [(numbers[pair.prompt, pair.a], numbers[pair.prompt, pair.b]) for pair in pairs]
    different = [bool(a and b) and a.isdisjoint(b) for a, b in given]
    return np.where(different, np.minimum(probabilities, _MOST), probabilities)


def _numbers(prompt: str, text: str) -> frozenset[str]:
    """Return the numbers of a response that are not the prompt's; none if the prompt asks for none."""
    if not _ASKS_FOR_A_NUMBER.search(prompt):
        return frozenset()
    return frozenset(_NUMBER.findall(_LIST_MARK.sub("", text))) - frozenset(_NUMBER.findall(prompt))
