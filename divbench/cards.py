"""Cards of metrics: definition, direction, source, agreement with people, known failures; `divbench metrics show`."""

from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from divbench.core.console import JsonOption, out, print_json
from divbench.core.errors import ConfigurationError, did_you_mean

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

    by_id = {known.id: known for known in METRICS}
    if str(name) not in by_id:
        raise ConfigurationError(f"there is no metric {name!r}", did_you_mean(str(name), by_id))
    return _card(by_id[name])


def metrics() -> "pd.DataFrame":
    """List all metrics, one per row: title, family, direction, profiles, agreement with people, source.

    >>> metrics().loc["distinct_n", "family"]
    'words'
    """
    import pandas as pd

    from benchmark.metrics import METRICS

    cards = map(_card, METRICS)
    columns = ["metric", "title", "family", "direction", "profiles", "agreement", "source"]
    rows = [
        (c.id, c.title, c.family, c.direction, ", ".join(c.profiles), c.agreement[0] if c.agreement else None, c.source)
        for c in cards
    ]
    return pd.DataFrame(rows, columns=columns).set_index("metric")


@cache
def _study() -> "MetricStudy | None":
    """Return the study in the package, which does not change."""
    from leaderboard.data.metric_study.study import load_studies

    return load_studies().study


def _card(described: "Metric") -> Card:
    from benchmark.scoring.profiles import PROFILES
    from leaderboard.pages.trust import agreements

    number = agreements(_study()).get(described.id)
    profiles = [
        p.name for p in PROFILES if described.id in {m.id for m in p.metrics()} and described.reads != "reported"
    ]
    return Card(
        *(described.id, described.title, described.family, described.summary, described.formula, described.direction),
        *(described.bounds, described.unit, described.paper, described.version, tuple(profiles)),
        None if number is None or number.value is None else (number.value, number.low, number.high),
        described.failures,
    )


def _agreement(number: tuple[float, float | None, float | None] | None) -> str:
    study = _study()
    if number is None or study is None:
        return "none: not measured, or fitted to these labels"
    value, low, high = number
    interval = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
    return f"Spearman {value:.2f}{interval} with human labels, mean of nine tasks, profile {study.settings['profile']}"


def show(
    names: Annotated[list[str], typer.Argument(help="Ids of metrics, such as vendi_score.")],
    json: JsonOption = False,
) -> None:
    """Show what a metric measures, how it agrees with people, and where it fails.

    Example: divbench metrics show valid_distinct_k distance_beside_prompt
    """
    cards = [metric(name) for name in names]
    if json:
        print_json([asdict(card) for card in cards])
        return
    console = out()
    for index, card in enumerate(cards):
        if index:
            console.print()
        for line in str(card).splitlines():
            console.print(line, markup=False, soft_wrap=not console.is_terminal)  # a pipe gets whole lines
