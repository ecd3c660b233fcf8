"""Defines the two columns of the per-prompt table that hold the equivalence classes of each response set."""

from typing import Any

import pyarrow as pa

from benchmark.metrics.metric import Missing
from benchmark.metrics.partition import Partition, distinct_curve
from benchmark.metrics.reported import of_reported
from submissions.schema import Reported

COLUMN = "classes"
FIELD = pa.field(
    COLUMN,
    pa.struct(
        [
            pa.field("labels", pa.list_(pa.int32())),  # a response's class, 0, 1, …; null: in no class that counts
            pa.field("curve", pa.list_(pa.float64())),  # expected number of classes of 1, 2, … responses
            pa.field("rewards", pa.list_(pa.float64())),  # reward of each class's first response; null without a model
            pa.field("qualities", pa.list_(pa.float64())),  # 1 to 10, likewise
        ]
    ),
)
REPORTED_COLUMN = "reported_classes"  # that came with the submission
REPORTED_FIELD = pa.field(
    REPORTED_COLUMN,
    pa.struct(
        [
            pa.field("labels", pa.list_(pa.int32())),  # a response's class, 0, 1, …
            pa.field("qualities", pa.list_(pa.float64())),  # 1 to 10, of each class's first response
        ]
    ),
)


def record(partition: Partition | Missing) -> dict[str, Any] | None:
    """Return a row of the column `classes`; None if there are no classes."""
    if isinstance(partition, Missing):
        return None
    return {
        "labels": list(partition.labels),
        "curve": list(distinct_curve(partition)) if partition.heads else [],
        "rewards": None if partition.rewards is None else list(partition.rewards),
        "qualities": _first_qualities(partition),
    }


def reported_record(reported: Reported | None) -> dict[str, Any] | None:
    """Return a row of the column `reported_classes`; None if no classes came with the submission."""
    if reported is None:
        return None
    partition = of_reported(reported)
    return {"labels": list(partition.labels), "qualities": _first_qualities(partition)}


def _first_qualities(partition: Partition) -> list[float | None] | None:
    return None if partition.qualities is None else [partition.qualities[first] for first in partition.heads]
