"""The record of a metric study: results of metrics on labelled response sets, without texts.

A record is untrusted input: unknown fields are errors, numbers are bounded and finite, and fields must be consistent
with each other. Scores are oriented so that higher is more diverse. Texts are in a separate file (files.py), since the
licence of some response sets is unknown.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, StringConstraints, model_validator

from benchmark.scoring.estimate import Estimate
from benchmark.scoring.internals_file import Part
from benchmark.scoring.results import Hex, Word

MAX_METRICS, MAX_TASKS, MAX_WORST, MAX_REASONS, MAX_SETS = 200, 100, 20, 20, 1_000_000

# External metrics are named by module and function, or by file and column.
MetricName = Annotated[str, StringConstraints(max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]*$")]
MAX_LINE = 600
Line = Annotated[str, StringConstraints(min_length=1, max_length=MAX_LINE, pattern=r"^[^\x00-\x1f\x7f]*$")]
SetName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Count = Annotated[int, Field(ge=0, le=MAX_SETS)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Rank = Annotated[float, Field(ge=1, le=MAX_SETS)]
Rho = Annotated[float, Field(ge=-1, le=1)]
Measure = Literal["spearman", "oca_directional", "roc_auc", "partial_spearman", "human_spearman"]
Origin = Literal["metric", "released", "external", "file"]

MEASURES: dict[Measure, str] = {
    "spearman": "Spearman's rho with the label",
    "oca_directional": "optimal classification accuracy of 'high above the threshold'",
    "roc_auc": "area under the ROC curve, ties as half",
    "partial_spearman": "Spearman's rho with the label, controlling for mean response length",
    "human_spearman": "Spearman's rho with the mean human score",
}
CORRELATIONS = ("spearman", "partial_spearman", "human_spearman")


class Number(NamedTuple):
    """A number with its bootstrap interval; null if undefined or without an interval. A list in JSON."""

    value: Finite | None
    low: Finite | None
    high: Finite | None


def rounded(found: Estimate, places: int = 3) -> Number:
    """Round an estimate; intervals are at least ten times as wide as the last decimal."""
    return Number(*(None if each is None else round(each, places) for each in (found.value, found.low, found.high)))


class Disagreement(NamedTuple):
    """A response set that a metric and people rank very differently. A list in JSON."""

    set_id: SetName
    human: Finite  # mean human score, higher for more diverse
    value: Finite  # the metric's value, higher for more diverse
    human_rank: Rank  # rank by human score among the task's evaluated sets: 1 is the least diverse, ties are averaged
    metric_rank: Rank  # rank by the metric, in the same order


class MetricEntry(Part):
    """A metric that was studied."""

    name: MetricName
    # *metric*: a metric of this package; *released*: published with the sets; *external*, *file*: the user's.
    origin: Origin
    negated: bool = False  # whether scores were negated because lower is more diverse
    signature: Line  # signature without data and k, for metrics of this package; else the source of the scores


class Measured(Part):
    """The results of a metric on a task: its measures, and the number of sets without a score by reason."""

    metric: MetricName
    measures: dict[Measure, Number]
    missing: dict[Line, Count] = Field(default={}, max_length=MAX_REASONS)

    @model_validator(mode="after")
    def _in_bounds(self) -> Self:
        _check_measures(self.metric, self.measures)
        return self


class Task(Part):
    """A split of a dataset whose response sets have labels and perhaps human scores."""

    config: Word
    split: Word
    revision: Hex  # fingerprint of the ids and labels of its sets, in order
    # *binary*: sets made to be more or less diverse; *graded*: many values, such as temperatures.
    label: Literal["binary", "graded"]
    label_name: Line
    k: Annotated[int, Field(ge=0, le=10_000)]  # responses per set; 0 if it varies
    sets: Count
    # Number of sets that all metrics with a result score; all measures are over these, but those of metrics from an
    # earlier study that was merged are over its own.
    evaluated: Count
    contexts: Count
    human: bool
    noise_ceiling: Number | None = None  # maximum correlation with people that disagreement between raters allows
    results: list[Measured] = Field(max_length=MAX_METRICS)
    # Sets with the largest rank differences from people, largest first, by metric; only if `human`.
    disagreements: dict[MetricName, Annotated[list[Disagreement], Field(max_length=MAX_WORST)]] = Field(
        default={}, max_length=MAX_METRICS
    )

    @property
    def name(self) -> str:
        """Config and split, such as `mcdiv/story_gen`."""
        return f"{self.config}/{self.split}"

    @model_validator(mode="after")
    def _fits(self) -> Self:
        _once(self.name, [each.metric for each in self.results])
        if self.evaluated > self.sets or self.contexts > self.evaluated:
            raise ValueError(
                f"{self.name}: {self.evaluated} sets evaluated of {self.sets}, of {self.contexts} contexts"
            )
        if self.disagreements and not self.human:
            raise ValueError(f"{self.name}: disagreements with people, but no human scores")
        strange = self.disagreements.keys() - {each.metric for each in self.results}
        if strange:
            raise ValueError(f"{self.name}: disagreements of {min(strange)}, which has no result")
        for metric, worst in self.disagreements.items():
            if any(max(each.human_rank, each.metric_rank) > self.evaluated for each in worst):
                raise ValueError(f"{self.name}: {metric} ranks a set below all {self.evaluated}")
            _once(f"{self.name}: {metric}", [each.set_id for each in worst])
        return self


class Overall(Part):
    """A metric's unweighted means over the tasks with binary labels, with intervals from joint resamples."""

    metric: MetricName
    tasks: Annotated[int, Field(ge=1, le=MAX_TASKS)]
    measures: dict[Measure, Number]

    @model_validator(mode="after")
    def _in_bounds(self) -> Self:
        _check_measures(self.metric, self.measures)
        return self


class Agreement(Part):
    """Rank agreement between metrics: Spearman's rho between every two."""

    # *sets*: over response sets, averaged over a group's tasks; *systems*: over a board's systems by their means.
    over: Literal["sets", "systems"]
    group: Line  # a dataset, `overall`, or a board
    members: list[Line] = Field(max_length=10_000)  # tasks over which the correlations are averaged, or systems
    # Names of the metrics, or labels of a board's columns, in the order of the rows.
    metrics: list[Line] = Field(max_length=MAX_METRICS)
    # The triangle above the diagonal: row i has the values of metric i with metrics i + 1, i + 2, …; null if a metric
    # is constant.
    rho: list[Annotated[list[Rho | None], Field(max_length=MAX_METRICS)]] = Field(max_length=MAX_METRICS)

    @model_validator(mode="after")
    def _is_a_triangle(self) -> Self:
        _once(f"agreement over {self.group}", self.metrics)
        wanted = list(range(len(self.metrics) - 1, -1, -1))
        if [len(row) for row in self.rho] != wanted:
            raise ValueError(f"agreement over {self.group}: not a triangle over {len(self.metrics)} metrics")
        return self

    def matrix(self) -> list[list[float | None]]:
        """The full matrix [metrics, metrics], with 1 on the diagonal and None if undefined."""
        size = len(self.metrics)
        made: list[list[float | None]] = [[1.0 if i == j else None for j in range(size)] for i in range(size)]
        for i, row in enumerate(self.rho):
            for j, value in enumerate(row, i + 1):
                made[i][j] = made[j][i] = value
        return made


class MetricStudy(Part):
    """The content of `metric_study.json`."""

    schema_version: Literal[1] = 1
    divbench: Line
    profile: Word
    level: Annotated[float, Field(gt=0, lt=1)]
    resamples: Annotated[int, Field(ge=1, le=1_000_000)]
    seed: int
    metrics: list[MetricEntry] = Field(min_length=1, max_length=MAX_METRICS)  # metrics in display order
    tasks: list[Task] = Field(min_length=1, max_length=MAX_TASKS)
    # Means over tasks, one per metric; empty if fewer than two tasks have binary labels.
    overall: list[Overall] = Field(default=[], max_length=MAX_METRICS)
    agreements: list[Agreement] = Field(default=[], max_length=MAX_TASKS)

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        names = [each.name for each in self.metrics]
        _once("metrics", names)
        _once("tasks", [task.name for task in self.tasks])
        _once("overall", [each.metric for each in self.overall])
        _once("agreements", [f"{each.over} {each.group}" for each in self.agreements])
        for task in self.tasks:
            _known(task.name, [each.metric for each in task.results], names)
        _known("overall", [each.metric for each in self.overall], names)
        for each in self.agreements:
            _known(f"agreement over {each.group}", each.metrics, names)
        return self

    def task(self, name: str) -> Task | None:
        """The task with a name, such as `mcdiv/story_gen`; None if there is none."""
        return next((task for task in self.tasks if task.name == name), None)

    def entry(self, metric: str) -> MetricEntry | None:
        """The metric with a name; None if there is none."""
        return next((each for each in self.metrics if each.name == metric), None)


def _check_measures(metric: str, measures: dict[Measure, Number]) -> None:
    for name, number in measures.items():
        lowest = -1.0 if name in CORRELATIONS else 0.0
        if any(each is not None and not lowest <= each <= 1 for each in number):
            raise ValueError(f"{metric}: {name} outside {lowest:g} … 1")
        if number.low is not None and number.high is not None and number.low > number.high:
            raise ValueError(f"{metric}: the interval of {name} is reversed")


def _once(where: str, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        raise ValueError(f"{where}: {next(name for name in names if names.count(name) > 1)} is repeated")


def _known(where: str, names: Sequence[str], known: Sequence[str]) -> None:
    strange = [name for name in names if name not in known]
    if strange:
        raise ValueError(f"{where}: {strange[0]} is not among the metrics")
