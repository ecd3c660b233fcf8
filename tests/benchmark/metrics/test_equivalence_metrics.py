"""Metrics of classes: golden values, brute force, laws."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from benchmark.metrics import METRICS
from benchmark.metrics.metric import Unscorable
from benchmark.metrics.partition import (
    Partition,
    class_entropy,
    distinct_k,
    first_quality,
    largest_class_share,
    mean_head_quality,
    of_reported,
    rarefied,
    utility_k,
)
from submissions.schema import Reported

labels = st.lists(st.one_of(st.none(), st.integers(0, 4)), min_size=1, max_size=9).filter(
    lambda found: any(label is not None for label in found)
)


@given(labels)
def test_rarefaction_is_the_mean_over_all_subsets(found: list[int | None]) -> None:
    partition = Partition(tuple(found))
    there = [label for label in found if label is not None]
    for size in range(1, len(there) + 1):
        counts = [len(set(subset)) for subset in combinations(there, size)]
        assert rarefied(partition, size) == sum(counts) / len(counts)


def test_partitions_with_the_same_expectation_are_tied() -> None:
    # Two of ten responses are in one class as often under 7, 1, 1, 1 as under 6, 4: squares of the sizes sum to 52.
    one, other = Partition((0,) * 7 + (1, 2, 3)), Partition((0,) * 6 + (1,) * 4)
    assert rarefied(one, 2) == rarefied(other, 2) == 138 / 90


@given(labels)
def test_entropy_is_scipys(found: list[int | None]) -> None:
    partition = Partition(tuple(found))
    assert class_entropy(partition) == pytest.approx(float(entropy(partition.sizes, base=2)), abs=1e-12)
    assert largest_class_share(partition) == max(partition.sizes) / sum(partition.sizes)


def judged(*qualities: float | None) -> Partition:
    """Each response with a quality opens a class; the others are in the first."""
    found, classes = [], 0
    for each in qualities:
        found.append(classes if each is not None else 0)
        classes += each is not None
    return Partition(tuple(found), tuple(qualities))


def test_utility_of_known_sets() -> None:
    all_same = judged(10.0, *[None] * 9)
    assert utility_k(all_same, 0.8) == pytest.approx(2.2406, abs=5e-5)
    assert utility_k(all_same, 0.8) == pytest.approx(10 * (1 - 0.8) / (1 - 0.8**10), abs=1e-12)
    assert utility_k(judged(*[10.0] * 10), 0.8) == pytest.approx(10.0, abs=1e-12)
    some = judged(7.0, 2.0, None, 9.0)
    assert utility_k(some, 0.0) == 7.0  # patience 0: the first answer alone
    assert utility_k(some, 1.0) == pytest.approx((7 + 2 + 9) / 4)
    assert (mean_head_quality(some), first_quality(some)) == (6.0, 7.0)


@given(st.lists(st.one_of(st.none(), st.floats(1, 10)), min_size=1, max_size=10), st.floats(0, 0.999))
def test_utility_is_equation_2_and_at_most_10(rest: list[float | None], patience: float) -> None:
    partition = judged(5.0, *rest)
    k = len(partition.labels)
    qualities = partition.qualities or ()
    expected = (1 - patience) / (1 - patience**k) * sum(patience**i * (q or 0) for i, q in enumerate(qualities))
    assert utility_k(partition, patience) == pytest.approx(expected, rel=1e-9)
    assert 0 < utility_k(partition, patience) <= 10


def test_what_is_in_no_class_keeps_its_place_and_earns_nothing() -> None:
    partition = Partition((None, 0, 1), (None, 10.0, 10.0))
    assert utility_k(partition, 0.0) == 0.0
    assert utility_k(partition, 1.0) == pytest.approx(20 / 3)
    assert first_quality(partition) == 10.0
    assert partition.heads == (1, 2)


def test_what_cannot_be_scored_is_told() -> None:
    nothing = Partition((None, None), (None, None))
    for metric in (distinct_k, class_entropy, largest_class_share, mean_head_quality, first_quality):
        with pytest.raises(Unscorable, match="no response in a class"):
            metric(nothing)
    with pytest.raises(Unscorable, match="fewer than 3 responses"):
        rarefied(Partition((0, 1)), 3)
    for metric in (mean_head_quality, first_quality):
        with pytest.raises(Unscorable, match="no reward model"):
            metric(Partition((0, 1)))
    with pytest.raises(Unscorable, match="no quality of a class's first response"):
        utility_k(Partition((0, 1), (5.0, None)), 0.8)
    assert utility_k(nothing, 0.8) == 0.0


def test_reported_values_are_the_same_metrics() -> None:
    reported = Reported((0, 1, 0), (4.0, 6.0, 0.0), 2, None)
    partition = of_reported(reported)
    assert partition == Partition((0, 1, 0), (4.0, 6.0, None))
    by_id = {metric.id: metric for metric in METRICS}
    assert by_id["distinct_k_reported"].fn(reported) == distinct_k(partition) == 2.0
    assert by_id["utility_k_reported"].fn(reported) == utility_k(partition, 0.8)
    assert of_reported(Reported((0,), None, 1, None)).qualities is None
