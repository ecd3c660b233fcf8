"""Merges a new study with an earlier one: the new study's metrics, and the earlier study's other metrics."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from benchmark.metrics import METRICS
from divbench.core.errors import ConfigurationError
from leaderboard.data.metric_study.record import Agreement, Measured, MetricStudy, Overall, Task

T = TypeVar("T", Measured, Overall)
_PLACES = {metric.id: place for place, metric in enumerate(METRICS)}


def merged(new: MetricStudy, earlier: MetricStudy) -> MetricStudy:
    """Add the earlier study's results for other metrics, with their signatures, to the new study.

    The rank agreement of two metrics comes from the new study; if it is not there and both signatures are unchanged, it
    comes from the earlier study; otherwise it is missing.

    Args:
        earlier: Study of the same tasks with the same bootstrap.

    Raises:
        ConfigurationError: The tasks, their sets or the bootstrap differ.
    """
    if _fixed(new) != _fixed(earlier):
        raise ConfigurationError(
            "the earlier study has other tasks, other sets or another bootstrap",
            "run the study again with all metrics",
        )
    names = {each.name for each in new.metrics}
    kept = {each.name for each in earlier.metrics} - names
    entries = sorted(
        [*new.metrics, *(each for each in earlier.metrics if each.name in kept)],
        key=lambda each: _PLACES.get(each.name, len(_PLACES)),
    )
    order = {each.name: place for place, each in enumerate(entries)}
    signatures = {each.name: each.signature for each in earlier.metrics}
    same = kept | {each.name for each in new.metrics if signatures.get(each.name) == each.signature}
    document = new.model_copy(
        update={
            "metrics": entries,
            "tasks": [_task(*both, kept, order) for both in zip(new.tasks, earlier.tasks, strict=True)],
            "overall": _ordered(new.overall, earlier.overall, kept, order),
            "agreements": [
                _agreement(each, other, list(order), same)
                for each in new.agreements
                for other in earlier.agreements
                if (each.over, each.group, each.members) == (other.over, other.group, other.members)
            ],
        }
    )
    return MetricStudy.model_validate(document.model_dump())


def _fixed(study: MetricStudy) -> tuple[object, ...]:
    """The properties that two studies must share to be merged."""
    tasks = [(task.name, task.revision) for task in study.tasks]
    return study.profile, study.level, study.resamples, study.seed, tasks


def _ordered(new: Sequence[T], earlier: Sequence[T], kept: set[str], order: Mapping[str, int]) -> list[T]:
    """The results of both studies, in the order of the metrics."""
    found = list(new)
    found += [each for each in earlier if each.metric in kept]
    return sorted(found, key=lambda each: order[each.metric])


def _task(new: Task, earlier: Task, kept: set[str], order: Mapping[str, int]) -> Task:
    """Merge a task's results; disagreements with ranks beyond the new study's number of sets are left out."""
    worst = {
        name: [each for each in found if max(each.human_rank, each.metric_rank) <= new.evaluated]
        for name, found in earlier.disagreements.items()
        if name in kept
    }
    found = new.disagreements | worst
    return new.model_copy(
        update={
            "results": _ordered(new.results, earlier.results, kept, order),
            "disagreements": {name: found[name] for name in sorted(found, key=order.__getitem__) if found[name]},
        }
    )


def _agreement(new: Agreement, earlier: Agreement, order: Sequence[str], same: set[str]) -> Agreement:
    known = {
        (one, other): value
        for study, usable in ((earlier, same), (new, set(new.metrics)))  # the new one's values win
        for one, row in zip(study.metrics, study.matrix(), strict=True)
        for other, value in zip(study.metrics, row, strict=True)
        if {one, other} <= usable
    }
    there = {*new.metrics, *(set(earlier.metrics) & same)}
    metrics = [name for name in order if name in there]
    rho = [[known.get((one, other)) for other in metrics[place + 1 :]] for place, one in enumerate(metrics)]
    return new.model_copy(update={"metrics": metrics, "rho": rho})
