"""What every metric of `METRICS` must keep. A new metric is tested here without being named."""

import math
import re
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.metrics import METRICS, Metric
from benchmark.metrics.metric import Missing
from benchmark.metrics.ngrams import MAX_N
from benchmark.models.embedder import SentenceTransformersEmbedder
from benchmark.scoring.compute import TOKENISERS, score_sets
from benchmark.scoring.surprisal_columns import COLUMN
from tests.benchmark.helpers import WORDS, number_of, random_responses, value_of
from tests.benchmark.samples import ALIKE, ODD

EVERY = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.id)
# What reads a reported partition scores that, whatever the texts: laws about texts are not its own.
OF_TEXTS = pytest.mark.parametrize(
    "metric", [m for m in METRICS if m.reads != "reported"], ids=lambda metric: metric.id
)
# A part of another metric, or a diagnostic, does not say which of two sets is more diverse.
DIRECTED = pytest.mark.parametrize("metric", [m for m in METRICS if m.direction], ids=lambda metric: metric.id)
# How certain the model was does not follow from how alike its responses are.
ALIKE_IS_LESS = pytest.mark.parametrize(
    "metric",
    [m for m in METRICS if m.direction and not (m.reads == "internals" and not m.id.startswith("e_"))],
    ids=lambda metric: metric.id,
)
LARGE = random_responses(0, k=80)  # without structure, so that k-means from other starts ends elsewhere


def is_sound(metric: Metric, value: float | Missing) -> bool:
    """A finite number within the bounds, or missing with a reason."""
    if isinstance(value, Missing):
        return bool(value.reason.strip())
    low, high = metric.bounds
    return math.isfinite(value) and (low is None or value >= low - 1e-12) and (high is None or value <= high + 1e-12)


@EVERY
@pytest.mark.parametrize("texts", [*ALIKE.values(), *ODD.values()], ids=[*ALIKE, *ODD])
def test_every_set_has_a_number_within_bounds_or_a_reason(metric: Metric, texts: tuple[str, ...]) -> None:
    assert is_sound(metric, value_of(metric, texts))


def test_odd_sets_are_no_trouble_for_the_real_embedder(minilm: SentenceTransformersEmbedder) -> None:
    semantic = [metric for metric in METRICS if metric.reads == "embeddings"]
    for values in score_sets(list(ODD.values()), semantic, embedder=minilm, names=list(ODD)):
        for metric in semantic:
            assert is_sound(metric, values[metric.id]), metric.id


WORD = st.sampled_from(["a", "the", "cat.", "x\ny", "中文", "🙂", "[Blocked]", "", "\t"])
TEXT = st.one_of(
    st.lists(WORD, max_size=8).map(" ".join), st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
)


@EVERY
@given(texts=st.lists(TEXT, max_size=6))
@settings(max_examples=50, deadline=None)
def test_any_text_has_a_number_within_bounds_or_a_reason(metric: Metric, texts: list[str]) -> None:
    assert is_sound(metric, value_of(metric, texts))


@OF_TEXTS
@pytest.mark.parametrize("name", ["nothing", "all blank", "all placeholders"])
def test_no_answer_is_never_a_number(metric: Metric, name: str) -> None:
    assert value_of(metric, ODD[name]) == Missing("no response")


@pytest.mark.parametrize(
    "metric",
    # A reader with little patience sees the first answers alone: utility is of an order, by its definition.
    [m for m in METRICS if m.reads != "reported" and m.id not in ("utility_k", "first_quality")],
    ids=lambda metric: metric.id,
)
@pytest.mark.parametrize("texts", [*ALIKE.values(), LARGE], ids=[*ALIKE, "large"])
def test_the_order_of_responses_does_not_matter(metric: Metric, texts: tuple[str, ...]) -> None:
    expected = number_of(metric, texts)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(texts))
        assert number_of(metric, [texts[i] for i in order]) == pytest.approx(expected, abs=1e-9)


@ALIKE_IS_LESS
def test_identical_texts_are_least_diverse(metric: Metric) -> None:
    values = {name: metric.direction * number_of(metric, texts) for name, texts in ALIKE.items()}
    for text in (text for texts in ALIKE.values() for text in texts):
        assert metric.direction * number_of(metric, [text] * 6) <= min(values.values()) + 1e-9, (text, values)


@ALIKE_IS_LESS
def test_unrelated_texts_are_more_diverse_than_identical_ones(metric: Metric) -> None:
    texts = ALIKE["unrelated"]
    least = metric.direction * number_of(metric, texts[:1] * 6)
    assert metric.direction * number_of(metric, texts) > least + 0.01 * abs(least)


@OF_TEXTS
@pytest.mark.parametrize("added", ["", " \n", "[Blocked]", "[refused]", "[empty]"])
@pytest.mark.parametrize("name", ["unrelated", "one odd", "one response", "identical words"])
def test_blanks_and_placeholders_are_left_out(metric: Metric, name: str, added: str) -> None:
    texts = (ALIKE | ODD)[name]
    assert value_of(metric, [*texts, added, added]) == value_of(metric, texts)
    assert value_of(metric, [added, *texts]) == value_of(metric, texts)


def bound(metric: Metric) -> dict[str, Any]:
    """The parameters that are bound in a metric's function."""
    return dict(metric.fn.keywords) if isinstance(metric.fn, partial) else {}


PARAMETERS = [pytest.param(m, name, id=f"{m.id}-{name}") for m in METRICS for name in bound(m)]


@pytest.mark.parametrize(("metric", "name"), PARAMETERS)
def test_each_bound_parameter_changes_the_result(metric: Metric, name: str) -> None:
    value = bound(metric)[name]
    assert isinstance(metric.fn, partial)
    other = value + 1 if isinstance(value, int) else value / 2
    changed = Metric(
        **{field: getattr(metric, field) for field in metric.__slots__}
        | {"fn": partial(metric.fn.func, **(bound(metric) | {name: other}))}
    )
    sets = [*ALIKE.values(), LARGE]
    assert [value_of(changed, texts) for texts in sets] != [value_of(metric, texts) for texts in sets]


@EVERY
def test_the_signature_states_what_is_bound(metric: Metric) -> None:
    stated = set(metric.parameters.values())
    assert {f"{value:g}" for value in bound(metric).values()} <= stated
    if metric.reads in TOKENISERS:
        assert metric.parameters["tokens"] == metric.reads.removeprefix("ngrams:")
    if metric.parameters.get("n") == "1..5":
        assert MAX_N == 5


@EVERY
def test_a_metric_says_what_it_is(metric: Metric) -> None:
    function = metric.fn.func if isinstance(metric.fn, partial) else metric.fn
    assert metric.title.strip()
    assert metric.unit.strip()
    assert re.search(r"\b(19|20)\d\d\b|GSSBench", metric.paper), "names no source"
    assert len(function.__doc__ or "") > 60, "says nothing of its function"
    assert metric.version >= 1
    assert metric.direction in (1, 0, -1)
    low, high = metric.bounds
    assert low is None or high is None or low < high


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
        COLUMN,
    }
    assert all(re.fullmatch(r"[a-z][a-z0-9_]{2,40}", name) for name in ids)


def test_two_metrics_of_one_function_differ_in_their_parameters() -> None:
    known = [
        (m.fn.func if isinstance(m.fn, partial) else m.fn, m.reads, str(sorted(bound(m).items()))) for m in METRICS
    ]
    assert len(set(known)) == len(METRICS)


@OF_TEXTS
def test_a_metric_needs_exactly_as_many_answers_as_it_says(metric: Metric) -> None:
    texts = [" ".join(np.random.default_rng(i).permutation(WORDS)[:6]) for i in range(10)]
    if metric.needs > 1:
        expected = Missing(f"fewer than {metric.needs} responses")
        assert value_of(metric, texts[: metric.needs - 1]) == expected
    assert isinstance(value_of(metric, texts[: metric.needs]), float)
