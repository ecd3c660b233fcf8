"""The headline counts classes with a valid response: by hand, in expectation by brute force, and without any."""

from itertools import combinations

import pytest

from benchmark.metrics.metric import Unscorable
from benchmark.metrics.partition import Partition
from benchmark.metrics.valid import JudgedPartition, valid_distinct_k, valid_rarefied, valid_share

JUDGED = (
    JudgedPartition(Partition((0, 0, 1, 2, 2, None)), (None, "echo of the prompt", None, "refusal", "refusal", None)),
    JudgedPartition(Partition((0, 1, 2)), ("word salad",) * 3),
    JudgedPartition(Partition((0,)), (None,)),
    JudgedPartition(Partition(()), ()),
)


def test_only_classes_with_a_valid_response_count() -> None:
    assert list(map(valid_distinct_k, JUDGED)) == [2, 0, 1, 0]
    assert list(map(valid_share, JUDGED)) == [0.5, 0, 1, 0]


def test_the_expected_number_is_the_mean_over_all_draws() -> None:
    judged = JUDGED[0]
    for size in range(1, 7):
        draws = [
            JudgedPartition(
                Partition(tuple(judged.partition.labels[i] for i in drawn)), tuple(judged.reasons[i] for i in drawn)
            )
            for drawn in combinations(range(6), size)
        ]
        assert valid_rarefied(judged, size) == pytest.approx(sum(map(valid_distinct_k, draws)) / len(draws))
    with pytest.raises(Unscorable, match="fewer than 7 responses"):
        valid_rarefied(judged, 7)
