"""Evidence against a response being an answer: features for each reason, from its text and its vector."""

import itertools
import math
import re
import string
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmark.validity.spelling import Spelling, spelling
from benchmark.validity.word_order import WordOrder, WordOrderModel, word_order
from submissions.checking.languages import count_letters, is_foreign, is_foreign_prompt
from submissions.checking.response_kinds import is_refusal

Floats = NDArray[np.float64]
Reason = Literal["unreadable", "word salad", "echo of the prompt", "refusal", "not about the prompt"]
# Features by reason, None if a text is uninformative; empty for a response that is blank or a placeholder.
Features = dict[Reason, tuple[float, ...] | None]
REASONS: tuple[Reason, ...] = ("unreadable", "word salad", "echo of the prompt", "refusal", "not about the prompt")
FEATURES: Mapping[Reason, tuple[str, ...]] = {
    "unreadable": ("bits", "bits of long texts", "case changes", "symbols", "mixed scripts"),
    "word salad": ("order", "capitals after full stops", "pairs", "beginning and end", "late capital"),
    "echo of the prompt": ("share of the prompt", "share that is new", "answers in a sentence"),
    "refusal": ("like a refusal", "like the prompt", "length"),
    "not about the prompt": (
        *("like the prompt", "length", "like the prompt, by length"),
        *("above other prompts", "above the likest other prompt"),
    ),
}
_FEWEST_WORDS = 3  # shorter texts have no meaningful order
_FEWEST_WORDS_OF_A_TOPIC = 4  # of a prompt; shorter ones may be continued in any way
_FEWEST_LETTERS_OF_A_SCRIPT = 3  # "π" is a good answer to some prompts
_MOST_PAIRS = 20  # of words; more are hardly independent evidence
_MOST_NAMES = 8  # capitalised words that may be one or several names; more are sentences in capitals
_LONGEST_STRING = 12  # characters of a password or a number
_LONGEST_SOUND = 60  # characters of a passphrase or a sound
_MARKS = string.punctuation + "“”‘’«»…"
_INNER_MARKS = dict.fromkeys(map(ord, "'’-"))  # of a word


@cache
def _banks() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("banks.toml").read_text(encoding="utf-8"))


def refusal_texts() -> tuple[str, ...]:
    """Return refusals to compare responses with."""
    return tuple(_banks()["refusals"])


def text_evidence(prompt: str, response: str, order: WordOrderModel, bits: Floats) -> Features:
    """Compute the features of each reason that need no model; None if the text is uninformative."""
    notation = _asks_for("notation", prompt)
    foreign = is_foreign(response) or is_foreign_prompt(prompt)
    prose = not (notation or foreign or _is_list_or_code(response) or _is_names(response))
    string = _asks_for("strings", prompt) and len(response.strip()) <= _LONGEST_STRING
    found = spelling(response, bits)
    any_letters = string or (notation and not found.mixed) or _is_number(response)
    return {
        "unreadable": None if any_letters else _unreadable(found),
        "word salad": _word_salad(word_order(response, order)) if prose else None,
        "echo of the prompt": _echo(prompt, response, order.words),
    }


def other_prompts() -> tuple[str, ...]:
    """Return other prompts to compare responses with."""
    return tuple(_banks()["other_prompts"])


def vector_evidence(
    prompt: str, response: str, vector: Floats, prompt_vector: Floats, refusals: Floats, others: Floats
) -> Features:
    """Compute the features that need an embedder."""
    like_prompt, length = float(vector @ prompt_vector), math.log(1 + len(response))
    refusal = max(float((refusals @ vector).max()), float(is_refusal(response)))
    return {
        "refusal": (refusal, like_prompt, length),
        "not about the prompt": None
        if is_foreign_prompt(prompt)
        or (is_foreign(response) and _allows_languages(prompt))
        or _has_no_topic(prompt, response)
        else _about(like_prompt, length, others @ vector),
    }


def is_in_another_script(prompt: str, response: str) -> bool:
    """Whether most letters of a response are not Latin, although nothing in its English prompt asks for others.

    >>> is_in_another_script("Name a fruit.", "яблоко"), is_in_another_script("Name a fruit in Russian.", "яблоко")
    (True, False)
    """
    letters, others = count_letters(response)
    if others < _FEWEST_LETTERS_OF_A_SCRIPT or others <= 0.5 * letters:
        return False
    return not (_allows_languages(prompt) or _asks_for("notation", prompt) or _asks_for("strings", prompt))


@lru_cache(maxsize=64)
def _allows_languages(prompt: str) -> bool:
    """Whether a response may be in a language other than English: the prompt is, has a letter of one, or names one."""
    named = _languages().intersection(re.findall(r"[a-z]+", prompt.casefold()))
    return is_foreign(prompt) or count_letters(prompt)[1] > 0 or len(named) > 0


@cache
def _languages() -> frozenset[str]:
    return frozenset(_banks()["languages"])


def _about(like_prompt: float, length: float, like_others: Floats) -> tuple[float, ...]:
    return (
        *(like_prompt, length, like_prompt * length),
        *((like_prompt - float(like_others.mean())) / float(like_others.std()), like_prompt - float(like_others.max())),
    )


@lru_cache(maxsize=64)  # the responses to a prompt follow each other
def _asks_for(kind: str, prompt: str) -> bool:
    """Whether a prompt has a word from a bank of `asked_for`.

    The first word counts only for notation, as in "Draw a cat", and not for names, as in "Name a fruit".
    """
    words = re.findall(r"[a-z]+", prompt.casefold())
    return not _asked_for()[kind].isdisjoint(words if kind == "notation" else words[1:])


@cache
def _asked_for() -> Mapping[str, frozenset[str]]:
    return {kind: frozenset(words) for kind, words in _banks()["asked_for"].items()}


def _has_no_topic(prompt: str, response: str) -> bool:
    """Whether a response may be about anything: a name, a question or a string, if the prompt asks for one."""
    text = response.strip()
    return (
        _is_beginning(prompt)
        or _names_no_topic(prompt)
        or (_asks_for("strings", prompt) and len(text) <= _LONGEST_SOUND)
        or (_asks_for("names", prompt) and _is_names(text))
        or (_asks_for("questions", prompt) and "?" in text)
    )


def _is_number(text: str) -> bool:
    return text.strip().isdecimal() and len(text.strip()) <= _LONGEST_STRING


def _is_beginning(prompt: str) -> bool:
    """Whether a prompt is too short to have a topic, such as "It is a", which a response continues.

    >>> _is_beginning("It is a"), _is_beginning("It rained."), _is_beginning("Name a fruit.")
    (True, True, False)
    """
    words = prompt.split()
    is_request = prompt.rstrip().endswith((".", "?", "!")) and words[0].casefold() in _banks()["requests"]
    return len(words) < _FEWEST_WORDS_OF_A_TOPIC and not is_request


@lru_cache(maxsize=64)
def _names_no_topic(prompt: str) -> bool:
    """Whether a prompt asks for a text of some kind on any topic, as "Tell me a funny joke" does."""
    return set(re.findall(r"[a-z]+", prompt.casefold())) <= _words_without_topic()


@cache
def _words_without_topic() -> frozenset[str]:
    return frozenset(_banks()["words_without_topic"])


def _is_names(text: str) -> bool:
    """Whether a text consists of one or several names: each word has a capital, or no lower-case letter.

    >>> _is_names("Royce Gracie."), _is_names("iPhone SE"), _is_names("Apollo 11"), _is_names("The golden bough")
    (True, True, True, False)
    """
    words = [word for word in text.split() if any(map(str.isalnum, word))]
    return len(words) <= _MOST_NAMES and not any(word == word.lower() != word.upper() for word in words)


def _unreadable(found: Spelling) -> tuple[float, ...]:
    long = min(1.0, found.characters / 20)
    return (found.bits, found.bits * long, found.case_changes, found.symbols, found.mixed)


def _word_salad(found: WordOrder) -> tuple[float, ...] | None:
    if found.words < _FEWEST_WORDS:
        return None
    # For normal distributions, the log-odds are linear in the sum over pairs and in their number.
    pairs = min(_MOST_PAIRS, found.pairs)
    root = math.sqrt(pairs)
    return (found.z * root, found.ends_z * root, float(pairs), found.edges, float(found.late_capital))


def _is_list_or_code(text: str) -> bool:
    """Whether a text hardly consists of sentences, so that its words are in another kind of order.

    >>> _is_list_or_code("1. e4 e5 2. Nf3"), _is_list_or_code("salt, oil, rice"), _is_list_or_code("It is 8 o'clock.")
    (True, True, False)
    """
    words = text.split()
    breaks = sum(text.count(mark) for mark in ",\n;|")
    marks = sum(text.count(mark) for mark in "{}[]()=<>_/\\")
    return max(breaks, marks) > len(words) / 3 or sum(map(_is_word, words)) <= len(words) / 2


def _is_word(text: str) -> bool:
    """Whether a text without its outer marks consists of letters, and is not a single one other than "a" and "I"."""
    letters = text.strip(_MARKS).translate(_INNER_MARKS)
    return letters.isalpha() and (len(letters) > 1 or letters in "aI")


def _echo(prompt: str, response: str, common_words: Sequence[str]) -> tuple[float, ...] | None:
    """Return the share of the prompt's word pairs in the response, the share of new ones, and if it is a full answer.

    "One style is boxing" has most of "Name one style", but not its beginning, and has a new word.
    """
    asked, said = _words(prompt), _words(response)
    if len(asked) < 2 or len(said) < 2:
        return None
    pairs, own = Counter(itertools.pairwise(asked)), Counter(itertools.pairwise(said))
    common = sum((pairs & own).values())
    answers = _is_beginning(prompt) or tuple(asked[:2]) not in own
    answers &= not {*said}.issubset({*asked, *common_words})
    return (common / pairs.total(), 1 - common / own.total(), float(answers))


def _words(text: str) -> list[str]:
    return [word for each in text.casefold().split() if (word := each.strip("\"'*_“”‘’«».,;:!?…()[]>"))]
