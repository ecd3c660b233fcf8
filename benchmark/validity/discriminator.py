"""Separates answers from junk: a mixture of answers and one kind of junk per reason, fitted to each response set.

For each reason, a logistic model estimates how much more likely a response's features are for such junk than for an
answer. The share of answers is estimated from the set itself (Saerens, Latinne & Decaestecker 2002, Adjusting the
outputs of a classifier to new a priori probabilities): a doubtful text counts as an answer among answers, and as junk
among junk. So short responses, which provide little evidence individually, are judged together.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.models.embedder import Embedder
from benchmark.validity.evidence import (
    FEATURES,
    REASONS,
    Features,
    Reason,
    other_prompts,
    refusal_texts,
    text_evidence,
    vector_evidence,
)
from benchmark.validity.word_order import WordOrderModel
from submissions.checking.response_kinds import is_scorable

Floats = NDArray[np.float64]
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
    given: Discriminator,
    embedder: Embedder | None,
    known: Mapping[str, Floats] = MappingProxyType({}),
) -> list[list[Features]]:
    """Compute the features of every response by set, response and reason; None if they are uninformative."""
    vectors: dict[str, Floats] = {}
    if embedder is not None:
        texts = {text for own in sets for text in own if is_scorable(text)}
        texts = (
            texts.union((each for each in prompts if each is not None), refusal_texts(), other_prompts()) - known.keys()
        )
        ordered = sorted(texts)
        vectors = {**known, **(dict(zip(ordered, embedder.embed(ordered), strict=True)) if ordered else {})}
        refusals, others = (np.array([vectors[text] for text in bank]) for bank in (refusal_texts(), other_prompts()))
    made = []
    for prompt, own in zip(prompts, sets, strict=True):
        found: dict[str, Features] = {}
        for text in set(own):
            found[text] = text_evidence(prompt or "", text, given.order, given.bits) if is_scorable(text) else {}
            if embedder is not None and prompt is not None and found[text]:
                found[text] |= vector_evidence(prompt, text, vectors[text], vectors[prompt], refusals, others)
        made.append([found[text] for text in own])
    return made


def judge(found: Sequence[Features], given: Discriminator) -> tuple[Reason | None, ...]:
    """Judge one response set: return for each response why it is not an answer, None if it is one."""
    return tuple(reason if answer < given.thresholds[reason] else None for reason, answer in suspicions(found, given))


def suspicions(found: Sequence[Features], given: Discriminator) -> list[tuple[Reason, float]]:
    """Return for each response of a set the most likely reason against it, and the probability that it is an answer."""
    if not found:
        return []
    ratios = np.zeros((len(found), 1 + len(REASONS)))
    for i, features in enumerate(found):
        for j, reason in enumerate(REASONS, start=1):
            ratios[i, j] = _log_odds(reason, features, given) * given.temper[reason]
    different, which = np.unique(ratios, axis=0, return_inverse=True)  # a repeated text is no new evidence
    probabilities = mixture(different, given.prior)[which]
    worst = np.argmax(probabilities[:, 1:], axis=1).tolist()
    return [(REASONS[j], answer) for j, answer in zip(worst, probabilities[:, 0].tolist(), strict=True)]


def _log_odds(reason: Reason, features: Features, given: Discriminator) -> float:
    """Return the log-odds of a reason; a text in symbols that is about the prompt is hardly unreadable."""
    values, about = features.get(reason), features.get("not about the prompt")
    if values is None:
        return _NO_EVIDENCE[reason]
    found = given.weights[reason].log_odds(values)
    if reason != "unreadable" or about is None or values[_MIXED] > 0:
        return found
    beyond = max(0.0, about[_ABOVE_OTHERS] - _ABOUT_FROM)
    return min(found, max(_NO_EVIDENCE[reason], found - _NATS_EACH * beyond))


def mixture(ratios: Floats, prior: tuple[float, float]) -> Floats:
    """Return the probability of each component for each response, with shares estimated from the set."""
    counts = np.array([prior[0], *[prior[1]] * (ratios.shape[1] - 1)])
    likelihood = np.exp(ratios - ratios.max(axis=1, keepdims=True))
    shares = counts / counts.sum()
    for _ in range(_ROUNDS):
        joint = likelihood * shares
        probabilities = joint / joint.sum(axis=1, keepdims=True)
        shares = (probabilities.sum(axis=0) + counts) / (len(ratios) + counts.sum())
    made: Floats = probabilities
    return made


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


def to_json(given: Discriminator) -> dict[str, Any]:
    """Return the JSON document of parameters."""
    return {
        "version": VERSION,
        "thresholds": dict(given.thresholds),
        "prior": list(given.prior),
        "temper": dict(given.temper),
        "reasons": {
            reason: {key: getattr(own, key) for key in ("intercept", "weights", "low", "high")}
            for reason, own in given.weights.items()
        },
        "word_order": {
            "words": list(given.order.words),
            "scores": given.order.scores.tolist(),
            "ends": given.order.ends.tolist(),
            "starts": given.order.starts.tolist(),
            "stops": given.order.stops.tolist(),
        },
        "letters": given.bits.tolist(),
    }


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
