"""What speaks against a response being an answer: numbers for each reason, from its text and its vector."""

import math
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.validity.spelling import Spelling, spelling
from benchmark.validity.word_order import WordOrder, WordOrderModel, word_order
from submissions.checking.response_kinds import is_refusal

Floats = NDArray[np.float64]
Reason = Literal["unreadable", "word salad", "echo of the prompt", "refusal", "not about the prompt"]
REASONS: tuple[Reason, ...] = ("unreadable", "word salad", "echo of the prompt", "refusal", "not about the prompt")
NEED_VECTORS: tuple[Reason, ...] = ("refusal", "not about the prompt")
FEATURES: Mapping[Reason, tuple[str, ...]] = {
    "unreadable": ("bits", "bits of long texts", "case changes", "symbols", "mixed scripts"),
    "word salad": ("order", "order per pair", "capitals", "words", "known words"),
    "echo of the prompt": ("share of the prompt", "share that is new"),
    "refusal": ("like a refusal", "like the prompt", "length"),
    "not about the prompt": ("like the prompt", "length", "like the prompt, by length"),
}
_FEWEST_WORDS = 5  # shorter texts have no order to speak of
_FEWEST_KNOWN = 0.2  # share of known words, below which a text is not English prose


@cache
def refusal_texts() -> tuple[str, ...]:
    """Return refusals to compare responses with."""
    return tuple(tomllib.loads(Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8"))["texts"])


def text_evidence(
    prompt: str, response: str, order: WordOrderModel, bits: Floats
) -> dict[Reason, tuple[float, ...] | None]:
    """Measure what needs no model: the features of each reason; None where a text cannot tell.

    Args:
        prompt: The prompt.
        response: A response to it.
        order: Bigram model of word classes.
        bits: Bigram model of letters, as of `spelling`.
    """
    words = word_order(response, order)
    return {
        "unreadable": _unreadable(spelling(response, bits)),
        "word salad": _word_salad(words),
        "echo of the prompt": _echo(prompt, response),
    }


def vector_evidence(
    response: str, vector: Floats, prompt_vector: Floats, refusals: Floats, known_words: float
) -> dict[Reason, tuple[float, ...] | None]:
    """Measure what needs an embedder.

    Args:
        response: A response.
        vector: Its unit vector [dimensions].
        prompt_vector: That of the prompt.
        refusals: Those of `refusal_texts`, [refusals, dimensions].
        known_words: Share of its words that the model of word order knows.
    """
    like_prompt = float(vector @ prompt_vector)
    length = math.log(1 + len(response))
    # An English embedder says little of other languages: there, a low similarity is no evidence.
    foreign = not response.isascii() and _letters_beyond_latin(response) > 0.3
    foreign = foreign or (len(response.split()) >= _FEWEST_WORDS and known_words < _FEWEST_KNOWN / 2)
    return {
        "refusal": (max(float((refusals @ vector).max()), float(is_refusal(response))), like_prompt, length),
        "not about the prompt": None if foreign else (like_prompt, length, like_prompt * length),
    }


def _unreadable(found: Spelling) -> tuple[float, ...]:
    long = min(1.0, found.characters / 20)
    return (found.bits, found.bits * long, found.case_changes, found.symbols, found.mixed)


def _word_salad(found: WordOrder) -> tuple[float, ...] | None:
    if found.words < _FEWEST_WORDS or found.known < _FEWEST_KNOWN:
        return None
    return (found.z, found.gain, found.ends_z, math.log(found.words), found.known)


def _echo(prompt: str, response: str) -> tuple[float, ...] | None:
    """Share of the prompt's word pairs that the response has, and of its own that the prompt has not."""
    asked, said = _pairs(prompt), _pairs(response)
    if not asked or not said:
        return None
    common = sum((Counter(asked) & Counter(said)).values())
    return (common / len(asked), 1 - common / len(said))


def _pairs(text: str) -> Sequence[tuple[str, str]]:
    words = [word for each in text.casefold().split() if (word := each.strip("\"'*_“”‘’«».,;:!?…()[]>"))]
    return list(zip(words, words[1:], strict=False))


def _letters_beyond_latin(text: str) -> float:
    letters = [letter for letter in text if letter.isalpha()]
    return sum(ord(letter) > 0x024F for letter in letters) / max(1, len(letters))
