"""The headline counts classes with a valid response: by hand, and without any."""

from benchmark.metrics.partition import JudgedPartition, Partition, valid_distinct_k, valid_share

JUDGED = (
    JudgedPartition(Partition((0, 0, 1, 2, 2, None)), (None, "echo of the prompt", None, "refusal", "refusal", None)),
    JudgedPartition(Partition((0, 1, 2)), ("word salad",) * 3),
    JudgedPartition(Partition((0,)), (None,)),
    JudgedPartition(Partition(()), ()),
    JudgedPartition(Partition((0, 0, 1)), (None, None, "refusal"), blanks=2),
    JudgedPartition(Partition(()), (), blanks=3),
)


def test_only_classes_with_a_valid_response_count() -> None:
    assert list(map(valid_distinct_k, JUDGED)) == [2, 0, 1, 0, 1, 0]
    assert list(map(valid_share, JUDGED)) == [0.5, 0, 1, 0, 0.4, 0]
