"""The headline metric: equivalence classes among valid responses. Junk is never novel, and never missing.

Input: a `JudgedPartition`, from an equivalence backend and a judge of validity (benchmark/validity).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics.metric import Metric, Version
from benchmark.metrics.partition import CEILING, RULE, Partition


@dataclass(frozen=True)
class JudgedPartition:
    """The classes of a set's responses other than blanks and placeholders, and which of them are valid."""

    partition: Partition
    reasons: tuple[str | None, ...]  # [responses], why each response is not valid; None for a valid one
    blanks: int = 0  # number of blanks and placeholders in the set; none is valid

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of valid responses in each class that has any."""
        pairs = zip(self.partition.labels, self.reasons, strict=True)
        return tuple(Counter(label for label, reason in pairs if reason is None and label is not None).values())


def valid_distinct_k(judged: JudgedPartition) -> float:
    """Count the equivalence classes that have a valid response. In [0, k].

    >>> valid_distinct_k(JudgedPartition(Partition((0, 0, 1, 2)), (None, None, None, "word salad")))
    2.0
    """
    return float(len(judged.sizes))


def valid_distinct_curve(sizes: Sequence[int], k: int) -> NDArray[np.float64]:
    """Compute the expected number of classes with a valid response among m of k responses, for m = 1, 2, … k. [k]

    Hurlbert 1971, The nonconcept of species diversity; an invalid response takes a position and adds nothing. For one
    response it is `valid_share` if every valid response is in a class, for k responses it is `valid_distinct_k`.

    Args:
        sizes: [classes], number of valid responses in each class; together at most k.

    >>> valid_distinct_curve((2, 1), 4).round(3)
    array([0.75 , 1.333, 1.75 , 2.   ])
    """
    drawn = np.arange(k)
    left = np.maximum(k - np.asarray(sizes, np.int64)[:, None] - drawn, 0)
    return np.asarray((1 - np.cumprod(left / (k - drawn), axis=1)).sum(axis=0), np.float64)


def valid_share(judged: JudgedPartition) -> float:
    """Compute the share of valid responses among all k, blanks and placeholders included; 0 without responses.

    >>> valid_share(JudgedPartition(Partition((0, 0)), (None, "word salad"), blanks=2))
    0.25
    """
    return sum(reason is None for reason in judged.reasons) / max(1, len(judged.reasons) + judged.blanks)


_FIRST = Version(1, "2026-11-22", "first version: classes among responses that are valid")
_VALIDITY = (
    "Validity is judged by a discriminator: offline, from spelling, word order and similarity to the prompt. It does "
    "not know whether a response is true, safe or good."
)

_metric = partial(Metric, reads="partition+validity", needs=0, family="classes", history=(_FIRST,))

METRICS: tuple[Metric, ...] = (
    _metric(
        "valid_distinct_k",
        "different valid responses of k",
        valid_distinct_k,
        direction=+1,
        bounds=(0, "k"),
        unit="classes",
        paper="DivBench, 2026; based on the classes of Zhang et al. 2025, arXiv:2504.05228",
        formula="|{classes with a valid response among the k responses}|",
        summary="How many different things the responses say that answer the prompt: 0 if none does, k if all do and "
        "all differ; only a valid response that means something new raises it.",
        failures=(
            RULE,
            _VALIDITY,
            "The learned equivalence backend also compares responses without empty openings; the same response after a "
            "longer opening, or one that is not a separate sentence, may still be a new class.",
            "Some honest responses that are mostly symbols (equations, drawings made of characters, lists of colours) "
            "are judged invalid: look at valid_share on such prompts.",
            "A response that is wrong, but fluent and about the prompt, counts as valid. So does most text from "
            "elsewhere after words of the prompt.",
            "In reply to an English prompt, a response in another script is not valid, and many in other languages are "
            "not (30 of 50 in German, 13 of 50 in Spanish), unless the prompt names a language.",
            "If the prompt is in another language, only blanks, unreadable texts, echoes and English refusals are "
            "recognised: refusals in that language, shuffled words and responses to other prompts count as valid.",
            "A class that has only truncated responses does not count, even if they are valid: if all responses are "
            "truncated, it is 0.",
            "It hardly recognises junk of one or two words, unless the whole set is junk.",
            "The learned equivalence backend reads English: in other languages, other words count as other meanings.",
            CEILING,
        ),
    ),
    _metric(
        "valid_share",
        "share of valid responses",
        valid_share,
        direction=0,
        bounds=(0, 1),
        unit="share of the responses",
        paper="DivBench, 2026",
        formula="|{valid responses}| / k",
        summary="The share of responses that answer the prompt at all: only a minimum of quality.",
        failures=(_VALIDITY, "It does not measure diversity."),
    ),
)
