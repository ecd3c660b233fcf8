"""From the responses of some prompts to the values of all metrics: inputs made once, then pure functions."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics import METRICS, Metric, Reads, Unscorable
from benchmark.metrics.internals import ClassedInternals, Internals
from benchmark.metrics.metric import Missing
from benchmark.metrics.ngrams import Tokeniser, ngram_statistics, tevet_tokens, whitespace_tokens
from benchmark.metrics.partition import Partition
from benchmark.models.embedder import Embedder
from benchmark.models.pair_scorer import PairScorer
from benchmark.surprisal.engine import SetSurprisals
from datasets_build.errors import DivBenchError
from submissions.checking.response_kinds import is_scorable
from submissions.schema import Reported

ROUNDING = 1e-12  # by which a value may pass its bounds
TEXTUAL = ("responses", "ngrams:tevet", "ngrams:whitespace")  # what is made of the texts alone
TOKENISERS: dict[str, Tokeniser] = {"ngrams:tevet": tevet_tokens, "ngrams:whitespace": whitespace_tokens}


Value = float | Missing


class ScoringFault(DivBenchError):
    """A metric failed in a way it did not foresee. The run stops: a fault is never a score."""


def score_sets(
    sets: Sequence[Sequence[str]],
    metrics: Sequence[Metric],
    *,
    embedder: Embedder | None = None,
    pair_scorers: Mapping[Reads, PairScorer] = MappingProxyType({}),
    readings: Sequence[SetSurprisals | Missing] | None = None,
    partitions: "Sequence[Partition | Missing] | None" = None,
    internals: Sequence[Internals] | None = None,
    reported: Sequence[Reported | None] | None = None,
    names: Sequence[str] | None = None,
) -> list[dict[str, Value]]:
    """The values of each metric for each response set.

    Blank responses and placeholders such as `[Blocked]` are no answers: they are left out before anything is counted,
    so that they are never scored as novel.

    Args:
        sets: The responses of each prompt.
        metrics: What to compute.
        embedder: For metrics that read embeddings.
        pair_scorers: By what they make; for metrics that read similarities of pairs.
        readings: For each set what a language model found of its answers; for metrics that read surprisals.
        partitions: For each set the classes of its responses, or why there are none; for metrics that read them.
        internals: For each set what the model that answered says of its responses, all of them.
        reported: For each set the values that came with it, if any; for metrics that read them.
        names: Of the sets, for messages.

    Returns:
        For each set, by metric id, a finite number or why it is missing.

    Raises:
        ScoringFault: A metric raised something else than `Unscorable`, or returned a value that is not finite.
    """
    answers = [list(answers_of(texts)) for texts in sets]
    reads = {metric.reads for metric in metrics}
    inputs: dict[str, Sequence[Any]] = {"responses": answers}
    for name in sorted(reads & TOKENISERS.keys()):
        inputs[name] = ngram_statistics(answers, TOKENISERS[name])
    if "embeddings" in reads and embedder is not None:
        inputs["embeddings"] = _embed(answers, embedder)
    for paired in sorted(reads & pair_scorers.keys()):
        inputs[paired] = [_similarities(each, pair_scorers[paired]) for each in answers]
    if readings is not None:
        inputs["surprisals"] = inputs["surprisals:curve"] = readings
    if partitions is not None:
        inputs["partition"] = inputs["partition+rewards"] = partitions
    if internals is not None:
        inputs["internals"] = [each.take(_answered(texts)) for texts, each in zip(sets, internals, strict=True)]
        inputs["partition+internals"] = _classed(partitions, internals)
    inputs["reported"] = [None] * len(sets) if reported is None else reported
    if lacking := sorted(reads - inputs.keys()):
        raise ScoringFault(f"metrics read {lacking[0]}, and there is nothing to make it", "choose another profile")
    values: list[dict[str, Value]] = [{} for _ in sets]
    places = range(len(sets)) if names is None else names
    for metric in metrics:
        for made, given, own, place in zip(values, inputs[metric.reads], answers, places, strict=True):
            where = place if isinstance(place, str) else f"set {place}"
            made[metric.id] = _value(metric, given, len(own), where)
    return values


def _classed(
    partitions: Sequence[Partition | Missing] | None, internals: Sequence[Internals]
) -> list[ClassedInternals | Missing]:
    return [
        part if isinstance(part, Missing) else ClassedInternals(part, each)
        for part, each in zip(partitions or [Missing("no classes")] * len(internals), internals, strict=True)
    ]


def _answered(responses: Sequence[str]) -> list[int]:
    """The places of those that are scored."""
    return [place for place, text in enumerate(responses) if is_scorable(text)]


def answers_of(responses: Sequence[str]) -> tuple[str, ...]:
    """Those that are scored: neither blank nor a placeholder."""
    return tuple(text for text in responses if is_scorable(text))


def score_set(responses: Sequence[str], metrics: Sequence[Metric] | None = None) -> dict[str, Value]:
    """The values of one set of responses under the metrics that need no model.

    >>> values = score_set(["a red cat", "a red cat", "two dogs ran"])
    >>> values["type_token_ratio"]
    0.6666666666666666
    """
    chosen = [m for m in METRICS if m.reads in TEXTUAL] if metrics is None else list(metrics)
    return score_sets([responses], chosen)[0]


def _embed(answers: Sequence[Sequence[str]], embedder: Embedder) -> list[Any]:
    """The vectors of each set, from one call over all texts."""
    texts = [text for each in answers for text in each]
    if not texts:
        return [None] * len(answers)
    vectors = embedder.embed(texts)
    made, start = [], 0
    for each in answers:
        made.append(vectors[start : start + len(each)])
        start += len(each)
    return made


def _similarities(answers: Sequence[str], scorer: PairScorer) -> NDArray[np.float64]:
    """Of all unordered pairs. One call a set, so that its numbers do not depend on its neighbours.

    A scorer may give (a, b) and (b, a) different scores; pairs are in the order of their texts, so that the order of
    the responses does not matter.
    """
    return scorer.score_pairs(list(combinations(sorted(answers), 2)))


def _value(metric: Metric, given: Any, answers: int, where: str) -> Value:
    if metric.reads == "reported" and given is None:
        return Missing("not reported")
    if isinstance(given, Missing):
        return Missing(given.reason)
    if isinstance(given, Missing):
        return given
    if answers < metric.needs:
        return Missing("no response" if answers == 0 else f"fewer than {metric.needs} responses")
    try:
        value = float(metric.fn(given.surprisals if isinstance(given, SetSurprisals) else given))
    except Unscorable as error:
        return Missing(str(error))
    except DivBenchError:
        raise
    except Exception as error:
        raise ScoringFault(f"{metric.id} failed on {where}: {type(error).__name__}: {error}") from error
    low, high = metric.bounds
    above = low is None or value >= low - ROUNDING
    below = high is None or value <= high + ROUNDING
    if not (math.isfinite(value) and above and below):
        raise ScoringFault(f"{metric.id} gave {value} on {where}, outside its bounds {metric.bounds}")
    return value
