"""Which responses are answers: a mixture of answers and of what is none, for each reason, fitted to each response set.

For each reason a logistic model says how much more likely a response's features are for such a text than for an answer.
How many responses of the set are answers is estimated from the set itself (Saerens, Latinne & Decaestecker 2002,
Adjusting the outputs of a classifier to new a priori probabilities): among answers, a doubtful text is one; among junk,
it is junk. So short responses, of which each says little, are judged together.
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
VERSION = 3  # of the parameters and of what is made of them; part of signatures
PARAMETERS = Path(__file__).with_name("parameters.json")
_ROUNDS = 30
_NO_EVIDENCE: Mapping[Reason, float] = {
    # A reason that cannot be told does not explain a text better than being an answer does ...
    **dict.fromkeys(REASONS, -4.0),
    # ... but a text without an order is as likely among shuffled ones: the others of its set decide.
    "word salad": 0.0,
}


@dataclass(frozen=True, slots=True)
class Discriminator:
    """Parameters that judge responses; see `parameters.json` and train.py.

    Attributes:
        order: Bigram model of word classes.
        bits: Bigram model of letters.
        weights: For each reason an intercept, and a weight and an upper and lower limit for each of its features.
        prior: Pseudo-counts of answers, and of each reason, in the mixture.
        temper: For each reason the weight of its log-odds: below 1 because the responses to a prompt are alike in what
            they seem to be.
        thresholds: For each reason, the probability of being an answer below which a response is none for that reason.
    """

    order: WordOrderModel
    bits: Floats
    weights: dict[Reason, "Logistic"]
    prior: tuple[float, float] = (2.0, 0.5)
    temper: Mapping[Reason, float] = field(
        default_factory=lambda: {**dict.fromkeys(REASONS, 0.3), "word salad": 0.2, "not about the prompt": 0.2}
    )
    thresholds: Mapping[Reason, float] = field(default_factory=lambda: dict.fromkeys(REASONS, 0.25))


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic model whose features are cut to the range that it was fitted on.

    Attributes:
        intercept: Log-odds where all features are 0.
        weights: [features].
        low: [features], lowest values.
        high: [features], highest values.
    """

    intercept: float
    weights: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def log_odds(self, features: Sequence[float]) -> float:
        """Log-odds of the reason against an answer."""
        cut = np.clip(np.array(features), self.low, self.high)
        return float(self.intercept + cut @ np.array(self.weights))


def evidence(
    prompts: Sequence[str | None],
    sets: Sequence[Sequence[str]],
    given: Discriminator,
    embedder: Embedder | None,
    known: Mapping[str, Floats] = MappingProxyType({}),
) -> list[list[Features]]:
    """Measure every response: by set, response and reason its features, None where they say nothing.

    Args:
        prompts: [sets], the prompts; what depends on one says nothing where it is None.
        sets: The responses to each; those that are blank or placeholders have no features.
        given: The models of word order and letters.
        embedder: Embedder of the parameters; None: what needs one says nothing.
        known: Vectors of the embedder that are there already, by text.
    """
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
        found = []
        for text in own:
            features: Features = {}
            if is_scorable(text):
                features = text_evidence(prompt or "", text, given.order, given.bits)
                if embedder is not None and prompt is not None:
                    features |= vector_evidence(prompt, text, vectors[text], vectors[prompt], refusals, others)
            found.append(features)
        made.append(found)
    return made


def judge(found: Sequence[Features], given: Discriminator) -> tuple[Reason | None, ...]:
    """Judge one response set: for each response why it is no answer, None for an answer.

    Args:
        found: Features of each response, as of `evidence`.
        given: Parameters.
    """
    return tuple(reason if answer < given.thresholds[reason] else None for reason, answer in suspicions(found, given))


def suspicions(found: Sequence[Features], given: Discriminator) -> list[tuple[Reason, float]]:
    """Return for each response of a set the likeliest reason against it, and the probability that it is an answer."""
    if not found:
        return []
    ratios = np.zeros((len(found), 1 + len(REASONS)))
    for i, features in enumerate(found):
        for j, reason in enumerate(REASONS, start=1):
            values = features.get(reason)
            log_odds = _NO_EVIDENCE[reason] if values is None else given.weights[reason].log_odds(values)
            ratios[i, j] = log_odds * given.temper[reason]
    different, which = np.unique(ratios, axis=0, return_inverse=True)  # a repeated text says nothing more of its set
    probabilities = mixture(different, given.prior)[which]
    worst = np.argmax(probabilities[:, 1:], axis=1).tolist()
    return [(REASONS[j], answer) for j, answer in zip(worst, probabilities[:, 0].tolist(), strict=True)]


def mixture(ratios: Floats, prior: tuple[float, float]) -> Floats:
    """Return the probability of each component for each response, the shares of the components estimated from the set.

    Args:
        ratios: [responses, 1 + reasons], log-likelihood ratios to an answer; column 0, answers, is 0.
        prior: Pseudo-counts of answers, and of each reason.

    Returns:
        [responses, 1 + reasons], rows that add up to 1: the maximum a posteriori by expectation maximisation.
    """
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
def load_discriminator(path: Path = PARAMETERS) -> Discriminator:
    """Read the parameters that ship with the package."""
    return from_json(json.loads(path.read_text(encoding="utf-8")))


def from_json(document: dict[str, Any]) -> Discriminator:
    """Parameters from a JSON document."""
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
