"""Classes with the quality of their first answers, and how a result keeps them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from benchmark.equivalence.backend import Equivalence
from benchmark.equivalence.judgement_cache import JudgementCache, default_judgements_path
from benchmark.equivalence.llm_judge import JudgeSpec, SetJudge
from benchmark.equivalence.partitioning import Answers, PartitionSpec, judged, partition
from benchmark.metrics.metric import Missing
from benchmark.metrics.partition import Labels, Partition, distinct_curve, of_reported
from benchmark.models.reward import RewardModel, quality
from submissions.schema import Reported

COLUMN = "classes"  # of the per-prompt table
FIELD = pa.field(
    COLUMN,
    pa.struct(
        [
            pa.field("labels", pa.list_(pa.int32())),  # a response's class, 0, 1, …; null: in no class that counts
            pa.field("curve", pa.list_(pa.float64())),  # classes expected of 1, 2, … answers
            pa.field("rewards", pa.list_(pa.float64())),  # raw, of the first answer of each class; null without a model
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
            pa.field("qualities", pa.list_(pa.float64())),  # 1 to 10, of the first answer of each class
        ]
    ),
)


@dataclass(frozen=True, slots=True)
class RatedPartition:
    """A set's classes.

    Attributes:
        partition: With qualities where a reward model judged the first answer of each class.
        rewards: As the model gave them, one a class; None where none judged.
    """

    partition: Partition
    rewards: tuple[float, ...] | None = None


def load_backend(spec: PartitionSpec) -> Equivalence | SetJudge:
    """What decides; a judge with the cache of what judges said before.

    Raises:
        ConfigurationError: It is not pinned, or cannot be had.
    """
    if isinstance(spec.backend, JudgeSpec):
        return spec.backend.load(JudgementCache(default_judgements_path()))
    return spec.backend.load()


def part_with(
    answers: Sequence[Answers], backend: Equivalence | SetJudge, spec: PartitionSpec
) -> list[Labels | Missing]:
    """The classes of each set, or why it has none.

    Raises:
        DivBenchError: A judge cannot be asked.
    """
    if isinstance(spec.backend, JudgeSpec):
        judge: Any = backend
        return [Missing(each.reason) if isinstance(each, Missing) else each for each in judged(answers, judge)]
    decides: Any = backend
    algorithm: Any = spec.algorithm
    return list(partition(answers, decides, algorithm))


def partitions_of(parted: Sequence[RatedPartition | Missing] | None) -> list[Partition | Missing] | None:
    """The classes without rewards, as metrics read them."""
    return None if parted is None else [each if isinstance(each, Missing) else each.partition for each in parted]


def judge_heads(
    answers: Sequence[Answers], labels: Sequence[Labels | Missing], reward: RewardModel | None
) -> list[RatedPartition | Missing]:
    """Give the first answer of each class its quality. No other answer is judged: no metric needs it.

    Args:
        answers: The sets.
        labels: Their classes.
        reward: None: no qualities.
    """
    parts = [found if isinstance(found, Missing) else Partition(found) for found in labels]
    if reward is None:
        return [each if isinstance(each, Missing) else RatedPartition(each) for each in parts]
    asked = [
        (each.prompt, each.texts[head])
        for each, part in zip(answers, parts, strict=True)
        if not isinstance(part, Missing)
        for head in part.heads
    ]
    rewards = iter(reward.rewards(asked).tolist())
    made: list[RatedPartition | Missing] = []
    for part in parts:
        if isinstance(part, Missing):
            made.append(part)
            continue
        own = [next(rewards) for _ in part.heads]
        found = dict(zip(part.heads, own, strict=True))
        qualities = None
        if reward.thresholds is not None:
            cuts = reward.thresholds
            qualities = tuple(
                float(quality(found[place], cuts)) if place in found else None for place in range(len(part.labels))
            )
        made.append(RatedPartition(Partition(part.labels, qualities), tuple(own)))
    return made


def record(parted: RatedPartition | Missing) -> dict[str, Any] | None:
    """A row of the column; None where there are no classes."""
    if isinstance(parted, Missing):
        return None
    part = parted.partition
    return {
        "labels": list(part.labels),
        "curve": list(distinct_curve(part)) if part.heads else [],
        "rewards": None if parted.rewards is None else list(parted.rewards),
        "qualities": _of_heads(part),
    }


def reported_record(reported: Reported | None) -> dict[str, Any] | None:
    """A row of the column of classes that came with a submission; None where none came."""
    if reported is None:
        return None
    part = of_reported(reported)
    return {"labels": list(part.labels), "qualities": _of_heads(part)}


def _of_heads(part: Partition) -> list[float | None] | None:
    """The quality of each class's first answer."""
    return None if part.qualities is None else [part.qualities[head] for head in part.heads]
