"""Computes metrics of response sets. Each kind of input is made once; metrics are pure functions of their inputs."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from benchmark.metrics import METRICS, Metric, Unscorable
from benchmark.metrics.metric import Missing, bounds_text
from benchmark.scoring.inputs import Materials, input_of
from divbench.core.errors import DivBenchError

ROUNDING = 1e-12  # tolerance at a metric's bounds

Value = float | Missing


class ScoringFault(DivBenchError):
    """An unexpected failure of a metric. It stops the run, so that an error never becomes a score."""


def make_inputs(materials: Materials, metrics: Sequence[Metric]) -> dict[str, Sequence[Any]]:
    """Return the inputs that the metrics read, by name; each is made once.

    Raises:
        ScoringFault: A metric's input cannot be made.
    """
    inputs: dict[str, Sequence[Any]] = {}
    for each in dict.fromkeys(map(input_of, metrics)):
        made = each.make(materials)
        if made is None:
            raise ScoringFault(f"metrics read {each.name}, and there is nothing to make it", "choose another profile")
        inputs[each.name] = made
    return inputs


def score_sets(
    materials: Materials,
    metrics: Sequence[Metric],
    names: Sequence[str] | None = None,
    made: Mapping[str, Sequence[Any]] = MappingProxyType({}),
) -> list[dict[str, Value]]:
    """Return the value of each metric for each response set.

    Blank responses and placeholders such as `[Blocked]` are left out before anything is counted, so that they are never
    scored as novel.

    Args:
        made: Inputs that exist already; the others are made here.

    Returns:
        For each set, by metric id, a finite number, or the reason why it is missing.

    Raises:
        ScoringFault: A metric raised an error other than `Unscorable`, or returned a value that is not finite or out of
            bounds; or a metric's input cannot be made.
    """
    inputs = {**made, **make_inputs(materials, [metric for metric in metrics if metric.reads not in made])}
    where = [f"set {i}" for i in range(len(materials.sets))] if names is None else names
    found: list[dict[str, Value]] = [{} for _ in materials.sets]
    sizes = [len(responses) for responses in materials.sets]
    for metric in metrics:
        given_sets = zip(found, inputs[metric.reads], materials.scorable, sizes, where, strict=True)
        for values, given, responses, k, name in given_sets:
            if isinstance(given, Missing):
                values[metric.id] = given
            elif len(responses) < metric.needs:
                values[metric.id] = Missing(f"fewer than {metric.needs} responses" if responses else "no response")
            else:
                try:
                    value = float(metric.fn(given))
                    _check_bounds(metric, value, k, name)
                    values[metric.id] = value
                except Unscorable as error:
                    values[metric.id] = Missing(str(error))
                except DivBenchError:
                    raise
                except Exception as error:
                    raise ScoringFault(f"{metric.id} failed on {name}: {type(error).__name__}: {error}") from error
    return found


def score_set(responses: Sequence[str], metrics: Sequence[Metric] | None = None) -> dict[str, Value]:
    """Return the values of one response set for all metrics that need no model.

    >>> values = score_set(["a red cat", "a red cat", "two dogs ran"])
    >>> values["type_token_ratio"]
    0.6666666666666666
    """
    chosen = [m for m in METRICS if not input_of(m).sources] if metrics is None else metrics
    return score_sets(Materials([responses]), chosen)[0]


def _check_bounds(metric: Metric, value: float, k: int, where: str) -> None:
    if not metric.within_bounds(value, k, ROUNDING):
        raise ScoringFault(f"{metric.id} gave {value} on {where}, outside its bounds {bounds_text(metric.bounds)}")
