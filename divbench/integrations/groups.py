"""Scores groups of responses for harnesses and training loops; the models of a profile are loaded once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from benchmark.metrics import Metric
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import Materials, Value, score_sets
from benchmark.scoring.profiles import Profile
from benchmark.scoring.results import signature_line
from benchmark.surprisal.engine import ResponseSet
from benchmark.validity.stated import Verdicts
from divbench.core.errors import ConfigurationError
from divbench.scores import choose_metrics

HEADLINES = "valid_distinct_k,valid_share,distinct_k,distinct_n"


def metric_names(metrics: str | Iterable[str]) -> tuple[str, ...]:
    """Return ids of metrics that are given as a list, or separated by commas."""
    names = [name.strip() for name in metrics.split(",")] if isinstance(metrics, str) else list(metrics)
    return tuple(dict.fromkeys(name for name in names if name))


@dataclass(frozen=True, slots=True)
class GroupScorer:
    """A profile with its models, and metrics.

    Attributes:
        profile: The profile.
        metrics: The metrics, the headline first.
    """

    profile: Profile
    metrics: tuple[Metric, ...]
    _backends: ScoringBackends = field(repr=False)

    @property
    def signatures(self) -> dict[str, str]:
        """Everything that the values depend on except the texts, by metric id."""
        return {metric.id: signature_line(metric, self.profile) for metric in self.metrics}

    def materials(
        self,
        prompts: Sequence[str],
        groups: Sequence[Sequence[str]],
        finish_reasons: Sequence[Sequence[str | None]] | None = None,
        verdicts: Sequence[Verdicts] | None = None,
    ) -> Materials:
        """Run the models on groups of responses."""
        sets = [ResponseSet(prompt, tuple(texts)) for prompt, texts in zip(prompts, groups, strict=True)]
        return self._backends.materials(sets, self.metrics, finish_reasons=finish_reasons, verdicts=verdicts)

    def values(self, materials: Materials) -> list[dict[str, Value]]:
        """Return the value of each metric, or the reason why it is missing, for each group."""
        return score_sets(materials, self.metrics)


@cache
def group_scorer(metrics: tuple[str, ...], profile: str | None, stated: str | None = None) -> GroupScorer:
    """Return the scorer of a profile's metrics; the profile as in `divbench.score`, `stated` as in `Profile.stated`."""
    if not metrics:
        raise ConfigurationError("no metric is named", f"name some, such as {HEADLINES}")
    chosen, selected = choose_metrics(metrics, profile, stated)
    return GroupScorer(chosen, selected, ScoringBackends(chosen))


class CollapseWarning(UserWarning):
    """The model's responses have become much less diverse than at first, or have lost their values."""


def check_headline(metric: Metric) -> None:
    """Check that losing a share of a metric's value means less diversity."""
    if metric.direction != 1 or metric.bounds[0] is None or metric.bounds[0] < 0:
        hint = "choose a headline that is never negative and higher for more diverse, such as distinct_k"
        raise ConfigurationError(f"a collapse cannot be seen as a share of {metric.id} that is lost", hint)
