"""The record of the axioms that metrics obey, written by `divbench metrics axioms --out FILE.json`."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from benchmark.scoring.result_schema import Word
from leaderboard.data.metric_study.record import MAX_METRICS, MetricName

AxiomName = Annotated[str, StringConstraints(min_length=1, max_length=40, pattern=r"^[a-z][a-z ]*$")]


class AxiomStudy(BaseModel):
    """The content of `axioms.json`; untrusted, so unknown fields are errors and sizes are limited."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    profile: Word
    # Whether a metric obeys all cases of an axiom, by metric and axiom; null if it has no value.
    metrics: dict[MetricName, dict[AxiomName, bool | None]] = Field(min_length=1, max_length=MAX_METRICS)

    @property
    def axioms(self) -> tuple[str, ...]:
        """Names of the axioms."""
        return tuple(next(iter(self.metrics.values())))

    @model_validator(mode="after")
    def _is_a_table(self) -> Self:
        if not 0 < len(self.axioms) <= 20:
            raise ValueError(f"{len(self.axioms)} axioms")
        for metric, own in self.metrics.items():
            if tuple(own) != self.axioms:
                raise ValueError(f"{metric} has other axioms than {next(iter(self.metrics))}")
        return self
