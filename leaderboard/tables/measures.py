"""The kinds of diversity that the first page can show, each with its agreement with people."""

from collections.abc import Mapping
from dataclasses import dataclass

from benchmark.metrics import METRICS
from benchmark.scoring.estimate import Estimate
from benchmark.scoring.results import signature_parts
from leaderboard.data.board import Board, Column, ranking_column
from leaderboard.data.metric_study.study import OVERALL, MetricStudy

# The metrics of each kind of diversity; the first one that a board has represents the kind.
KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("meaning", ("valid_distinct_k", "distinct_k", "embedding_diversity")),
    ("judged classes", ("distinct_k_reported",)),
    ("words", ("distinct_n", "ead", "self_bleu")),
    ("model's own", ("semantic_entropy", "e_average")),
)

FITTED = frozenset({"learned_diversity"})
"""Metrics fitted to the study's labels. Their agreement with the same labels says little, so it is not compared."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A kind of diversity on a board."""

    name: str
    column: Column
    # Mean Spearman correlation with the labels of the tasks written by people; None if not measured, as for the same
    # metric with other models.
    agreement: float | None

    @property
    def label(self) -> str:
        """The name with the agreement, such as `words (.43)`."""
        return self.name if self.agreement is None else f"{self.name} ({_short(self.agreement)})"


def measures(board: Board, study: MetricStudy | None) -> tuple[Measure, ...]:
    """The kinds of diversity for which a board has a metric; the first is its headline."""
    found = agreements(study)
    made = []
    for name, metrics in KINDS:
        column = next((c for metric in metrics for c in board.columns if c.metric == metric), None)
        if column is None:
            continue
        known = column.metric in found and study is not None and _is_studied(column, study)
        made.append(Measure(name, column, found[column.metric].value if known else None))
    headline = ranking_column(board)
    if not made and headline is not None:
        made.append(Measure(headline.label, headline, None))
    return tuple(made)


def _is_studied(column: Column, study: MetricStudy) -> bool:
    """Whether a study has a column's metric with the same version, parameters and models."""
    own = column.signature
    settings = study.settings
    parts = signature_parts(own.version, own.parameters, own.models, settings["profile"], divbench=settings["divbench"])
    studied = study.metrics.get(column.metric)
    return studied is not None and studied.signature == "|".join((column.metric, *parts))


def agreements(study: MetricStudy | None) -> Mapping[str, Estimate]:
    """Each metric's agreement with people: mean Spearman correlation with the labels of the tasks written by people.

    Metrics in `FITTED` are left out; docs/metrics.md has their agreement on sets that they were not fitted to.
    """
    if study is None:
        return {}
    return {name: number for name, number in study.measured(OVERALL, "spearman").items() if name not in FITTED}


def metric_sentences(study: MetricStudy | None) -> dict[str, str]:
    """Describe each metric by id: a summary in plain words, its direction, and its agreement with people.

    The agreement is that of the study's profile.
    """
    found, made = agreements(study), {}
    for metric in METRICS:
        said = [metric.summary]
        said += {1: ["Higher = more diverse."], -1: ["Lower = more diverse."], 0: []}[metric.direction]
        number = found.get(metric.id)
        agrees = "not measured" if number is None or number.value is None else f"Spearman {_short(number.value)}"
        where = "" if number is None or study is None else f" (profile {study.settings['profile']})"
        made[metric.id] = " ".join([*said, f"Agreement with people{where}: {agrees}."])
    return made


def _short(value: float) -> str:
    """A correlation with two decimals and without the leading zero.

    >>> _short(0.432), _short(-0.1)
    ('.43', '-.10')
    """
    return f"{value:.2f}".replace("0.", ".", 1)
