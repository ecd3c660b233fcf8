"""Scores attacks made from a system beside the system, to see which metrics reward responses that only look diverse.

A gain is the mean paired difference of attack minus source, in the direction of more diversity. Its unit is the
distance between the least and the most diverse real system on the same prompts, so that metrics can be compared.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from benchmark.metrics import Metric
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.estimate import Estimate, bootstrap_means
from benchmark.scoring.inputs import computed, score_sets
from benchmark.scoring.results import sign
from benchmark.surprisal.engine import ResponseSet
from datasets_build.schema import Suite
from submissions.gaming.attacks import ATTACKS, Attack
from submissions.gaming.baselines import attacked

Floats = NDArray[np.float64]
Responses = Mapping[str, tuple[str, ...]]  # by prompt id
SETS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Scores:
    """A metric's mean for one system or attack."""

    mean: Estimate  # mean over prompts, with its bootstrap interval
    # Number of prompts with a value, over which the mean is; for an attack, those where the source has one as well,
    # over which the gain is.
    prompts: int
    # Mean paired difference to the source, in the direction of more diversity and in units of the real range (of the
    # metric where `has_range` is false); None for real systems.
    gain: Estimate | None = None


@dataclass(frozen=True, slots=True)
class GamingStudy:
    """What each attack gains."""

    source: str
    suite: str
    k: int
    prompts: int
    profile: str
    seed: int
    signatures: Mapping[str, str]  # by metric, its signature: everything that its numbers depend on besides the texts
    # By metric, means of the least and the most diverse real system; None with fewer than two.
    ranges: Mapping[str, tuple[float, float] | None]
    systems: Mapping[str, Mapping[str, Scores]]  # scores by system (the source and the other real ones) and metric
    attacks: Mapping[str, Mapping[str, Scores]]
    # By system or attack, the number of responses that are not valid, by reason.
    invalid: Mapping[str, Mapping[str, int]]

    def as_json(self) -> dict[str, Any]:
        """Return the study as a JSON document."""
        return asdict(self) | {"kinds": {attack.name: attack.kind for attack in ATTACKS if attack.name in self.attacks}}


def study_gaming(
    source: str,
    systems: Mapping[str, Responses],
    suite: Suite,
    backends: ScoringBackends,
    metrics: Sequence[Metric],
    *,
    attacks: Sequence[Attack] = ATTACKS,
    seed: int = 0,
    resamples: int = 10_000,
    progress: Callable[[int], None] = lambda sets: None,
) -> GamingStudy:
    """Score a system, every attack made from it, and other real systems.

    Args:
        source: Name of the system to attack, one of `systems`.
        systems: Real systems by name (none is that of an attack), with k responses to the same prompts of the suite.
        metrics: Metrics to study; those that the profile cannot compute are skipped.

    Raises:
        ConfigurationError: A model cannot be loaded.
        ScoringFault: A metric failed.
    """
    chosen = computed(backends.profile.metrics(tuple(metrics)))
    prompts = {prompt.prompt_id: prompt.prompt for prompt in suite.prompts if prompt.prompt_id in systems[source]}
    k = len(next(iter(systems[source].values())))
    values, invalid = {}, {}
    made = {attack.name: attacked(attack, prompts, systems[source], seed) for attack in attacks}
    for name, responses in [*systems.items(), *made.items()]:
        values[name], invalid[name] = _score(prompts, responses, backends, chosen, progress)
    directions = np.array([float(metric.direction or 1) for metric in chosen])
    ranges = _ranges(chosen, [values[name] for name in systems])
    widths = np.array([r[1] - r[0] if has_range(r := ranges[metric.id]) else 1.0 for metric in chosen])

    def scores(name: str, *, is_attack: bool) -> dict[str, Scores]:
        means = bootstrap_means(values[name], resamples=resamples, seed=seed)
        if not is_attack:
            counts = _there(values[name])
            return {m.id: Scores(mean, n) for m, mean, n in zip(chosen, means, counts, strict=True)}
        differences = (values[name] - values[source]) * directions / widths
        gains = bootstrap_means(differences, resamples=resamples, seed=seed)
        both = zip(chosen, means, _there(differences), gains, strict=True)
        return {m.id: Scores(mean, n, gain) for m, mean, n, gain in both}

    return GamingStudy(
        source=source,
        suite=f"{suite.name}@{suite.revision}",
        k=k,
        prompts=len(prompts),
        profile=backends.profile.name,
        seed=seed,
        signatures={metric.id: str(sign(metric, backends.profile, suite, k, None)) for metric in chosen},
        ranges=ranges,
        systems={name: scores(name, is_attack=False) for name in systems},
        attacks={name: scores(name, is_attack=True) for name in made},
        invalid={name: dict(sorted(own.items())) for name, own in invalid.items()},
    )


def _there(values: Floats) -> list[int]:
    """Count the prompts on which each metric has a value, [metrics]."""
    return [int(count) for count in np.isfinite(values).sum(axis=0)]


def has_range(ends: tuple[float, float] | None) -> TypeGuard[tuple[float, float]]:
    """Whether real systems differ by a metric, so that gains can be in units of their range."""
    return ends is not None and ends[1] > ends[0]


def _score(
    prompts: Mapping[str, str],
    responses: Responses,
    backends: ScoringBackends,
    metrics: tuple[Metric, ...],
    progress: Callable[[int], None],
) -> tuple[Floats, Counter[str]]:
    """Return values [prompts, metrics], NaN where missing, and the number of invalid responses by reason."""
    rows: list[list[float]] = []
    invalid: Counter[str] = Counter()
    ids = list(prompts)
    backends.announce([[ResponseSet(prompts[i], responses[i]) for i in ids]], metrics)
    for start in range(0, len(ids), SETS_AT_ONCE):
        sets = [ResponseSet(prompts[i], responses[i]) for i in ids[start : start + SETS_AT_ONCE]]
        materials = backends.materials(sets, metrics)
        for found in score_sets(materials, metrics):
            values = (found[metric.id] for metric in metrics)
            rows.append([float("nan") if isinstance(value, Missing) else value for value in values])
        for own in materials.reasons or []:
            invalid.update(reason for reason in own if reason is not None)
        progress(len(sets))
    return np.array(rows), invalid


def _ranges(metrics: Sequence[Metric], real: Sequence[Floats]) -> dict[str, tuple[float, float] | None]:
    """Return the lowest and highest mean of real systems by metric."""
    if len(real) < 2:
        return dict.fromkeys(metric.id for metric in metrics)
    made: dict[str, tuple[float, float] | None] = {}
    for j, metric in enumerate(metrics):
        columns = [values[np.isfinite(values[:, j]), j] for values in real]
        means = [float(column.mean()) for column in columns if len(column)]
        made[metric.id] = (min(means), max(means)) if len(means) > 1 else None
    return made
