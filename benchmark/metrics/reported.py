"""Metrics reported with a submission: recomputed from its partition and scores, never copied."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from benchmark.metrics.metric import Metric, Version
from benchmark.metrics.partition import NOVELTYBENCH, REWARD, Partition, distinct_k, utility_k

if TYPE_CHECKING:  # pydantic, which the surprisal engine does not need
    from submissions.schema import Reported


def of_reported(reported: "Reported") -> Partition:
    """Return the partition of a submission; scores other than those of first responses, which are 0, are dropped."""
    made = Partition(tuple(reported.partition))
    scores = reported.generation_scores
    if scores is None:
        return made
    heads = set(made.heads)
    return Partition(made.labels, tuple(score if i in heads else None for i, score in enumerate(scores)))


def _reported(metric: Callable[[Partition], float]) -> "Callable[[Reported], float]":
    """Apply a metric to a reported partition."""

    def of(reported: "Reported") -> float:
        return metric(of_reported(reported))

    of.__doc__ = (metric.func if isinstance(metric, partial) else metric).__doc__
    return of


_CAME = "It was reported by the submitter: how the classes were made is known only as far as the signature says."
_FIRST_REPORTED = Version(
    1, "2026-11-20", "first version: recomputed from reported classes and scores; distinct is the number of classes"
)


_metric = partial(Metric, reads="reported", direction=+1, needs=0, family="classes", history=(_FIRST_REPORTED,))

METRICS: tuple[Metric, ...] = (
    _metric(
        "distinct_k_reported",
        "number of equivalence classes, as reported",
        _reported(distinct_k),
        bounds=(1, "k"),
        unit="classes",
        paper=f"{NOVELTYBENCH}, eq. 1",
        formula="|{classes in the partition that came with the submission}|",
        summary="The number of equivalence classes as the submitter reported it.",
        failures=(
            _CAME,
            "NoveltyBench's published files were made by two different rules, and some separate identical texts.",
            "Files that count one too few are converted; a file with another rule cannot be detected.",
        ),
    ),
    _metric(
        "utility_k_reported",
        "NoveltyBench's utility, as reported",
        _reported(partial(utility_k, patience=0.8)),
        bounds=(0, 10),
        unit="quality, 0 to 10",
        paper=f"{NOVELTYBENCH}, eq. 2",
        parameters={"patience": "0.8"},
        formula="(1 − p) / (1 − pᵏ) · Σᵢ pⁱ⁻¹ uᵢ over responses that open a class, with classes and qualities that "
        "came with the submission, p = 0.8",
        summary="The utility of the responses, from the submitter's classes and qualities.",
        failures=(_CAME, REWARD, "People's short responses get low qualities, which suggests a preference for length."),
    ),
)
