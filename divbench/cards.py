"""Describe each metric: definition, direction, source, agreement with people, known failures."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd

    from benchmark.metrics import Metric
    from leaderboard.data.metric_study.study import MetricStudy


@dataclass(frozen=True, slots=True, repr=False)
class Card:
    """A metric's card.

    Attributes:
        id: Name in files and columns.
        title: Name for readers.
        family: Kind of diversity that it measures, such as *words* or *meaning*.
        summary: One sentence for readers who do not know it.
        formula: Definition.
        direction: +1 if higher is more diverse, −1 if lower is, 0 if neither.
        bounds: Lowest and highest value; None if unbounded, and "k" for the number of responses.
        unit: Unit of the value.
        source: Paper that defines it.
        version: Version of the definition.
        profiles: Profiles that compute it.
        agreement: Mean Spearman correlation with the labels of the nine tasks written by people, and its 95% interval,
            under the profile *offline*; None if the shipped study has none, or the metric was fitted to these labels.
        failures: Known failures, worst first.
    """

    id: str
    title: str
    family: str
    summary: str
    formula: str
    direction: int
    bounds: tuple[float | None, float | Literal["k"] | None]
    unit: str
    source: str
    version: int
    profiles: tuple[str, ...]
    agreement: tuple[float, float | None, float | None] | None
    failures: tuple[str, ...]

    def __str__(self) -> str:
        """The card as text."""
        from benchmark.metrics.metric import bounds_text

        arrows = {1: "higher is more diverse", -1: "lower is more diverse", 0: "neither direction is more diverse"}
        lines = [
            f"{self.id} (version {self.version}): {self.title}",
            self.summary,
            f"Definition: {self.formula}",
            f"Direction: {arrows[self.direction]}; bounds {bounds_text(self.bounds)}; unit: {self.unit}",
            f"Source: {self.source}",
            f"Profiles: {', '.join(self.profiles) or 'none: comes with a submission'}",
            f"Agreement with people: {_agreement(self.agreement)}",
        ]
        return "\n".join([*lines, *(f"Fails: {failure}" for failure in self.failures)])

    __repr__ = __str__  # shown at a Python prompt


def metric(name: str) -> Card:
    """Return the card of a metric.

    Args:
        name: Id, such as `vendi_score`.

    Raises:
        ConfigurationError: There is no such metric; the message suggests the nearest.

    >>> metric("distinct_n").direction
    1
    """
    from benchmark.metrics import METRICS
    from divbench.core.errors import ConfigurationError, did_you_mean

    found = next((each for each in METRICS if each.id == name), None)
    if found is None:
        raise ConfigurationError(f"there is no metric {name!r}", did_you_mean(str(name), [each.id for each in METRICS]))
    return _card(found, _study())


def metrics() -> "pd.DataFrame":
    """List all metrics, one per row: title, family, direction, profiles, agreement with people, source.

    >>> metrics().loc["distinct_n", "family"]
    'words'
    """
    import pandas as pd

    from benchmark.metrics import METRICS

    study = _study()
    cards = [_card(each, study) for each in METRICS]
    rows = [
        (c.title, c.family, c.direction, ", ".join(c.profiles), c.agreement[0] if c.agreement else None, c.source)
        for c in cards
    ]
    columns = ["title", "family", "direction", "profiles", "agreement", "source"]
    return pd.DataFrame(rows, index=pd.Index([c.id for c in cards], name="metric"), columns=columns)


@cache
def _study() -> "MetricStudy | None":
    """Return the study in the package, which does not change."""
    from leaderboard.data.metric_study.study import load_studies

    return load_studies().study


def _card(given: "Metric", study: "MetricStudy | None") -> Card:
    from benchmark.scoring.profiles import PROFILES
    from leaderboard.tables.measures import agreements

    computed = given.reads != "reported"
    number = agreements(study).get(given.id)
    return Card(
        given.id,
        given.title,
        given.family,
        given.summary,
        given.formula,
        given.direction,
        given.bounds,
        given.unit,
        given.paper,
        given.version,
        tuple(each.name for each in PROFILES if computed and given.id in {m.id for m in each.metrics()}),
        None if number is None or number.value is None else (number.value, number.low, number.high),
        given.failures,
    )


def _agreement(found: tuple[float, float | None, float | None] | None) -> str:
    study = _study()
    if found is None or study is None:
        return "none: not measured, or fitted to these labels"
    value, low, high = found
    interval = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
    return f"Spearman {value:.2f}{interval} with human labels, mean of nine tasks, profile {study.settings['profile']}"
