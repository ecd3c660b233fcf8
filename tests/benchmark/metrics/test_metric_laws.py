"""What every metric of `METRICS` must keep. A new metric is tested here without being named.

If a law cannot hold for a metric by its definition, name the metric in the law's list of exceptions, with the reason,
and state it among the known failures of its card.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.metrics import METRICS, Metric
from benchmark.metrics.distances import MOST_IN_CIRCUIT
from benchmark.metrics.lexical import MAX_N
from benchmark.metrics.metric import Missing
from benchmark.scoring.per_prompt import SURPRISALS
from tests.benchmark.helpers import WORDS, random_responses, value_of, values_of
from tests.benchmark.samples import ALIKE, ODD

# What reads a reported partition or stated validity scores that, whatever the texts: laws of texts are not its own.
OF_TEXTS = [metric for metric in METRICS if metric.reads not in ("reported", "partition+stated")]
# A reader with little patience sees the first responses alone: utility is of an order, by its definition.
ORDERLESS = [metric for metric in OF_TEXTS if metric.id not in ("utility_k", "first_quality")]
# A part of another metric, or a diagnostic, does not say which of two sets is more diverse; and how certain the model
# was does not follow from how alike its responses are.
ALIKE_IS_LESS = [m for m in METRICS if m.direction and not (m.reads == "internals" and not m.id.startswith("e_"))]
ALIKE_IS_LESS = [m for m in ALIKE_IS_LESS if m.needs]  # the headline takes a sample of words without order for junk
# Sets that a metric takes to be less diverse than copies of a response, against the law.
MORE_ALIKE_THAN_COPIES = {
    ("tag_compression_ratio", "same words in other orders"),  # numbers have one tag: they pack better than a sentence
}
# Metrics for which a set without a valid response is worth nothing, and not missing.
HEADLINES = {metric.id for metric in METRICS if metric.needs == 0}
LARGE = random_responses(0, k=80)  # without structure, so that k-means from other starts ends elsewhere


def numbers_of(texts: Sequence[str], metrics: Sequence[Metric]) -> dict[str, float]:
    """The values of metrics that must all have one."""
    found = values_of(texts, metrics)
    assert not (missing := {name: value for name, value in found.items() if isinstance(value, Missing)}), missing
    return {name: value for name, value in found.items() if not isinstance(value, Missing)}


def is_sound(metric: Metric, value: float | Missing, k: int) -> bool:
    """A finite number within the bounds, or missing with a reason."""
    if isinstance(value, Missing):
        return bool(value.reason.strip())
    return metric.within_bounds(value, k, 1e-12)


def assert_all_sound(texts: Sequence[str]) -> None:
    values = values_of(texts)
    for metric in METRICS:
        assert is_sound(metric, values[metric.id], len(texts)), (metric.id, values[metric.id], texts)


def test_every_set_has_a_number_within_bounds_or_a_reason() -> None:
    for texts in (*ALIKE.values(), *ODD.values()):
        assert_all_sound(texts)


def test_without_a_response_to_score_there_is_no_number_or_nothing() -> None:
    for name in ("nothing", "all blank", "all placeholders"):
        for metric, value in values_of(ODD[name], OF_TEXTS).items():
            nothing = 0.0 if metric in HEADLINES else Missing("no response")
            assert value == nothing, (metric, name)


@pytest.mark.parametrize("texts", [*ALIKE.values(), LARGE], ids=[*ALIKE, "large"])
def test_the_order_of_responses_does_not_matter(texts: tuple[str, ...]) -> None:
    metrics = [metric for metric in ORDERLESS if len(texts) <= MOST_IN_CIRCUIT or metric.id != "hamdiv"]
    expected = numbers_of(texts, metrics)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(texts))
        found = numbers_of([texts[i] for i in order], metrics)
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, abs=1e-9), f"{name}: in another order of responses"


def test_identical_texts_are_least_diverse() -> None:
    values = {name: numbers_of(texts, ALIKE_IS_LESS) for name, texts in ALIKE.items()}
    for text in (text for texts in ALIKE.values() for text in texts):
        identical = numbers_of([text] * 6, ALIKE_IS_LESS)
        for metric in ALIKE_IS_LESS:
            for name, each in values.items():
                if (metric.id, name) not in MORE_ALIKE_THAN_COPIES:
                    assert metric.direction * identical[metric.id] <= metric.direction * each[metric.id] + 1e-9, (
                        f"{metric.id}: the set {name!r} is less diverse than copies of {text!r}. Wrong direction?"
                    )


def test_unrelated_texts_are_more_diverse_than_identical_ones() -> None:
    texts = ALIKE["unrelated"]
    unrelated, identical = numbers_of(texts, ALIKE_IS_LESS), numbers_of(texts[:1] * 6, ALIKE_IS_LESS)
    for metric in ALIKE_IS_LESS:
        least = metric.direction * identical[metric.id]
        assert metric.direction * unrelated[metric.id] > least + 0.01 * abs(least), (
            f"{metric.id}: {unrelated[metric.id]} for unrelated responses, {identical[metric.id]} for identical ones. "
            "Wrong direction?"
        )


def test_blanks_and_placeholders_are_left_out() -> None:
    of_answers = [metric for metric in OF_TEXTS if metric.id != "valid_share"]  # its k has blanks
    for name in ("unrelated", "one odd", "one response", "identical words"):
        texts = (ALIKE | ODD)[name]
        expected = values_of(texts, of_answers)
        for added in ("", " \n", "[Blocked]", "[refused]", "[empty]"):
            assert values_of([*texts, added, added], of_answers) == expected, (name, added)
            assert values_of([added, *texts], of_answers) == expected, (name, added)


def content(value: Any) -> object:
    """A copy of what an input holds, without what it keeps of its own computations."""
    if is_dataclass(value):
        return [content(getattr(value, each.name)) for each in fields(value)]
    if isinstance(value, list | tuple):
        return [content(each) for each in value]
    return value.tobytes() if isinstance(value, np.ndarray) else value


def test_a_metric_leaves_its_input_and_the_global_generators_alone() -> None:
    """Metrics share one input, and users' programs the generators."""

    def states(given: Any) -> list[object]:
        numpys = content(np.random.get_state())  # noqa: NPY002
        return [content(given), random.getstate(), numpys, torch.get_rng_state().numpy().tobytes()]

    def watched(fn: Callable[[Any], float], given: Any) -> float:
        before = states(given)
        try:
            return fn(given)
        finally:
            assert states(given) == before, "its input or a global generator was changed"

    for texts in (*ALIKE.values(), *ODD.values()):
        # A fault names the metric.
        values_of(texts, [replace(metric, fn=partial(watched, metric.fn)) for metric in METRICS])


def bound(metric: Metric) -> dict[str, Any]:
    """The parameters that are bound in a metric's function."""
    return dict(metric.fn.keywords) if isinstance(metric.fn, partial) else {}


PARAMETERS = [pytest.param(m, name, id=f"{m.id}-{name}") for m in OF_TEXTS for name in bound(m)]


@pytest.mark.parametrize(("metric", "name"), PARAMETERS)
def test_each_bound_parameter_changes_the_result(metric: Metric, name: str) -> None:
    value = bound(metric)[name]
    assert isinstance(metric.fn, partial)
    other = value + 1 if isinstance(value, int) else value / 2 if value <= 1 else 1.5 * value
    changed = replace(metric, fn=partial(metric.fn.func, **(bound(metric) | {name: other})), bounds=(None, None))
    sets = [*ALIKE.values(), LARGE]
    assert any(value_of(changed, texts) != value_of(metric, texts) for texts in sets)


def test_the_signature_states_what_is_bound() -> None:
    for metric in METRICS:
        stated = set(metric.parameters.values())
        assert {f"{value:g}" for value in bound(metric).values()} <= stated, metric.id
        if metric.reads.startswith("ngrams:"):
            assert metric.parameters["tokens"] == metric.reads.removeprefix("ngrams:"), metric.id
        if metric.parameters.get("n") == "1..5":
            assert MAX_N == 5


def test_every_parameter_is_bound() -> None:
    for metric in METRICS:
        _, *others = signature(metric.fn).parameters.values()
        free = [each.name for each in others if each.name not in bound(metric)]
        assert not free, f"{metric.id}: bind {free} in METRICS with partial, and state the values in its parameters"


def test_a_metric_says_what_it_is() -> None:
    for metric in METRICS:
        function = metric.fn.func if isinstance(metric.fn, partial) else metric.fn
        assert metric.title.strip(), metric.id
        assert metric.unit.strip(), metric.id
        assert re.search(r"\b(19|20)\d\d\b|GSSBench", metric.paper), f"{metric.id} names no source"
        assert function.__doc__, f"{metric.id} says nothing of its function"
        assert metric.version >= 1, metric.id
        assert metric.direction in (1, 0, -1), metric.id
        low, high = metric.bounds
        assert low is None or high is None or high == "k" or low < high, metric.id


def test_ids_are_unique_column_names() -> None:
    ids = [metric.id for metric in METRICS]
    assert len(set(ids)) == len(ids)
    # Of the per-prompt table, beside its own columns.
    assert not set(ids) & {
        "prompt_id",
        "category",
        "prompt",
        "responses",
        "finish_reasons",
        "answers",
        "missing",
        SURPRISALS,
    }
    assert all(re.fullmatch(r"[a-z][a-z0-9_]{2,40}", name) for name in ids)


def test_a_metric_needs_exactly_as_many_responses_as_it_says() -> None:
    texts = [" ".join(np.random.default_rng(i).permutation(WORDS)[:6]) for i in range(10)]
    for metric in OF_TEXTS:
        if metric.needs > 1:
            expected = Missing(f"fewer than {metric.needs} responses")
            assert value_of(metric, texts[: metric.needs - 1]) == expected, metric.id
        assert isinstance(value_of(metric, texts[: metric.needs]), float), metric.id
