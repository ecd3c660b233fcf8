"""From the responses of some prompts to the values of all metrics: inputs made once, then pure functions."""

import math
from collections.abc import Sequence
from typing import Any

from benchmark.metrics import METRICS, Metric, Unscorable
from benchmark.metrics.metric import Missing
from benchmark.scoring.inputs import Materials, input_of
from datasets_build.errors import DivBenchError
from submissions.checking.response_kinds import is_scorable

ROUNDING = 1e-12  # by which a value may pass its bounds


Value = float | Missing


class ScoringFault(DivBenchError):
    """A metric failed in a way it did not foresee. The run stops: a fault is never a score."""


def score_sets(
    materials: Materials, metrics: Sequence[Metric], names: Sequence[str] | None = None
) -> list[dict[str, Value]]:
    """The values of each metric for each response set; each kind of input is made once.

    Blank responses and placeholders such as `[Blocked]` are left out before anything is counted, so that they are never
    scored as novel.

    Args:
        materials: The response sets, and what inputs are made of.
        metrics: Metrics to compute.
        names: Names of the sets, for messages.

    Returns:
        For each set, by metric id, a finite number or why it is missing.

    Raises:
        ScoringFault: A metric raised something else than `Unscorable`, or returned a value that is not finite; or there
            is nothing to make its input of.
    """
    inputs: dict[str, Sequence[Any]] = {}
    for each in dict.fromkeys(map(input_of, metrics)):
        made = each.make(materials)
        if made is None:
            raise ScoringFault(f"metrics read {each.name}, and there is nothing to make it", "choose another profile")
        inputs[each.name] = made
    sizes = [len(texts) for texts in materials.scorable]
    where = [f"set {i}" for i in range(len(sizes))] if names is None else names
    return [
        {metric.id: _value(metric, inputs[metric.reads][i], sizes[i], where[i]) for metric in metrics}
        for i in range(len(sizes))
    ]


def answers_of(responses: Sequence[str]) -> tuple[str, ...]:
    """Those that are scored: neither blank nor a placeholder."""
    return tuple(text for text in responses if is_scorable(text))


def score_set(responses: Sequence[str], metrics: Sequence[Metric] | None = None) -> dict[str, Value]:
    """The values of one set of responses under the metrics that need no model.

    >>> values = score_set(["a red cat", "a red cat", "two dogs ran"])
    >>> values["type_token_ratio"]
    0.6666666666666666
    """
    chosen = [m for m in METRICS if not input_of(m).sources] if metrics is None else metrics
    return score_sets(Materials([responses]), chosen)[0]


def _value(metric: Metric, given: Any, answers: int, where: str) -> Value:
    if isinstance(given, Missing):
        return given
    if answers < metric.needs:
        return Missing("no response" if answers == 0 else f"fewer than {metric.needs} responses")
    try:
        value = float(metric.fn(given))
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
