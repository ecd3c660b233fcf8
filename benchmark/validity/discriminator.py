"""Separates answers from junk: a mixture of answers and one kind of junk per reason, fitted to each response set.

For each reason, a logistic model estimates from features of a response's text and vector how much more likely they are
for such junk than for an answer. The share of answers is estimated from the set itself (Saerens, Latinne & Decaestecker
2002, Adjusting the outputs of a classifier to new a priori probabilities): a doubtful text counts as an answer among
answers, and as junk among junk. So short responses, which provide little evidence individually, are judged together.
"""

import itertools
import json
import math
import re
import string
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from benchmark.models.embedder import Embedder
from benchmark.validity.text_statistics import Floats, Spelling, WordOrder, WordOrderModel, spelling, word_order
from submissions.checking.response_kinds import count_letters, is_foreign, is_foreign_prompt, is_refusal, is_scorable

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
VERSION = 5  # changed with the parameters or the judgements; part of signatures
PARAMETERS = Path(__file__).with_name("parameters.json")
_ROUNDS = 30
# A text in symbols that is about the prompt, such as an equation, is not unreadable: this many nats are subtracted for
# each standard deviation, after the first two, by which it is more like the prompt than like other prompts. Few random
# characters are more than two above.
_ABOUT_FROM, _NATS_EACH = 2.0, 3.0
_MIXED = FEATURES["unreadable"].index("mixed scripts")
_ABOVE_OTHERS = FEATURES["not about the prompt"].index("above other prompts")
_NO_EVIDENCE: Mapping[Reason, float] = {
    # Without features, a reason is much less likely than being an answer ...
    **dict.fromkeys(REASONS, -4.0),
    # ... but a text too short to have a word order is as likely among shuffled texts, so the rest of its set decides.
    "word salad": 0.0,
}


@dataclass(frozen=True, slots=True)
class Discriminator:
    """Parameters that judge responses; see `parameters.json` and train.py."""

    order: WordOrderModel  # bigram model of word classes
    bits: Floats  # bigram model of letters
    weights: dict[Reason, "Logistic"]  # logistic model of each reason
    prior: tuple[float, float] = (2.0, 0.5)  # pseudo-counts of answers, and of each reason, in the mixture
    # Weight of the log-odds of each reason; below 1, because the responses to a prompt resemble each other.
    temper: Mapping[Reason, float] = field(
        default_factory=lambda: {**dict.fromkeys(REASONS, 0.3), "word salad": 0.2, "not about the prompt": 0.2}
    )
    # For each reason, the probability of being an answer below which a response is invalid.
    thresholds: Mapping[Reason, float] = field(default_factory=lambda: dict.fromkeys(REASONS, 0.25))


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic model whose features are clipped to the range on which it was fitted."""

    intercept: float  # log-odds where all features are 0
    weights: tuple[float, ...]  # [features]
    low: tuple[float, ...]  # [features], lowest values
    high: tuple[float, ...]  # [features], highest values

    def log_odds(self, features: Sequence[float]) -> float:
        """Return the log-odds of the reason against an answer."""
        cut = np.clip(np.array(features), self.low, self.high)
        return float(self.intercept + cut @ np.array(self.weights))


def evidence(
    prompts: Sequence[str | None],
    sets: Sequence[Sequence[str]],
    models: Discriminator,
    embedder: Embedder | None,
    known: Mapping[str, Floats] = MappingProxyType({}),
) -> list[list[Features]]:
    """Compute the features of every response by set, response and reason; None if they are uninformative."""
    vectors: dict[str, Floats] = {}
    if embedder is not None:
        texts = {text for responses in sets for text in responses if is_scorable(text)}
        texts = (
            texts.union(
                (known_prompt for known_prompt in prompts if known_prompt is not None), refusal_texts(), other_prompts()
            )
            - known.keys()
        )
        ordered = sorted(texts)
        vectors = {**known, **(dict(zip(ordered, embedder.embed(ordered), strict=True)) if ordered else {})}
        refusals, others = (np.array([vectors[text] for text in bank]) for bank in (refusal_texts(), other_prompts()))
    features_of_sets = []
    for prompt, responses in zip(prompts, sets, strict=True):
        features: dict[str, Features] = {}
        for text in set(responses):
            features[text] = text_evidence(prompt or "", text, models.order, models.bits) if is_scorable(text) else {}
            if embedder is not None and prompt is not None and features[text]:
                features[text] |= vector_evidence(prompt, text, vectors[text], vectors[prompt], refusals, others)
        features_of_sets.append([features[text] for text in responses])
    return features_of_sets


def judge(features: Sequence[Features], models: Discriminator) -> tuple[Reason | None, ...]:
    """Judge one response set: return for each response why it is not an answer, None if it is one."""
    return tuple(
        reason if answer < models.thresholds[reason] else None for reason, answer in suspicions(features, models)
    )


def suspicions(responses: Sequence[Features], models: Discriminator) -> list[tuple[Reason, float]]:
    """Return for each response of a set the most likely reason against it, and the probability that it is an answer."""
    if not responses:
        return []
    ratios = np.zeros((len(responses), 1 + len(REASONS)))
    for i, features in enumerate(responses):
        for j, reason in enumerate(REASONS, start=1):
            ratios[i, j] = _log_odds(reason, features, models) * models.temper[reason]
    different, which = np.unique(ratios, axis=0, return_inverse=True)  # a repeated text is no new evidence
    probabilities = mixture(different, models.prior)[which]
    worst = np.argmax(probabilities[:, 1:], axis=1).tolist()
    return [(REASONS[j], answer) for j, answer in zip(worst, probabilities[:, 0].tolist(), strict=True)]


def _log_odds(reason: Reason, features: Features, models: Discriminator) -> float:
    """Return the log-odds of a reason; a text in symbols that is about the prompt is hardly unreadable."""
    values, about = features.get(reason), features.get("not about the prompt")
    if values is None:
        return _NO_EVIDENCE[reason]
    odds = models.weights[reason].log_odds(values)
    if reason != "unreadable" or about is None or values[_MIXED] > 0:
        return odds
    beyond = max(0.0, about[_ABOVE_OTHERS] - _ABOUT_FROM)
    return min(odds, max(_NO_EVIDENCE[reason], odds - _NATS_EACH * beyond))


def mixture(ratios: Floats, prior: tuple[float, float]) -> Floats:
    """Return the probability of each component for each response, with shares estimated from the set."""
    counts = np.array([prior[0], *[prior[1]] * (ratios.shape[1] - 1)])
    likelihood = np.exp(ratios - ratios.max(axis=1, keepdims=True))
    shares = counts / counts.sum()
    for _ in range(_ROUNDS):
        joint = likelihood * shares
        probabilities = joint / joint.sum(axis=1, keepdims=True)
        shares = (probabilities.sum(axis=0) + counts) / (len(ratios) + counts.sum())
    result: Floats = probabilities
    return result


@cache
def load_discriminator() -> Discriminator:
    """Read the parameters that ship with the package."""
    return from_json(json.loads(PARAMETERS.read_text(encoding="utf-8")))


def from_json(document: dict[str, Any]) -> Discriminator:
    """Return the parameters in a JSON document."""
    order = document["word_order"]
    return Discriminator(
        WordOrderModel(
            tuple(order["words"]), *(np.array(order[name]) for name in ("scores", "ends", "starts", "stops"))
        ),
        np.array(document["letters"]),
        {reason: Logistic(**{k: _tuple(v) for k, v in document["reasons"][reason].items()}) for reason in FEATURES},
        (document["prior"][0], document["prior"][1]),
        {reason: document["temper"][reason] for reason in REASONS},
        {reason: document["thresholds"][reason] for reason in REASONS},
    )


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


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
    letters = spelling(response, bits)
    any_letters = string or (notation and not letters.mixed) or _is_number(response)
    return {
        "unreadable": None if any_letters else _unreadable(letters),
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


def _unreadable(letters: Spelling) -> tuple[float, ...]:
    long = min(1.0, letters.characters / 20)
    return (letters.bits, letters.bits * long, letters.case_changes, letters.symbols, letters.mixed)


def _word_salad(order: WordOrder) -> tuple[float, ...] | None:
    if order.words < _FEWEST_WORDS:
        return None
    # For normal distributions, the log-odds are linear in the sum over pairs and in their number.
    pairs = min(_MOST_PAIRS, order.pairs)
    root = math.sqrt(pairs)
    return (order.z * root, order.ends_z * root, float(pairs), order.edges, float(order.late_capital))


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
    asked, answered = _words(prompt), _words(response)
    if len(asked) < 2 or len(answered) < 2:
        return None
    pairs, answer_pairs = Counter(itertools.pairwise(asked)), Counter(itertools.pairwise(answered))
    common = sum((pairs & answer_pairs).values())
    answers = _is_beginning(prompt) or tuple(asked[:2]) not in answer_pairs
    answers &= not {*answered}.issubset({*asked, *common_words})
    return (common / pairs.total(), 1 - common / answer_pairs.total(), float(answers))


def _words(text: str) -> list[str]:
    return [word for token in text.casefold().split() if (word := token.strip("\"'*_“”‘’«».,;:!?…()[]>"))]
