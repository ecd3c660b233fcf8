"""Scores attacks made from a system beside the system, to see which metrics reward responses that only look diverse.

A gain is the mean paired difference of attack minus source, in the direction of more diversity. Its unit is the
distance between the least and the most diverse real system on the same prompts, so that metrics can be compared.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeGuard

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
from divbench.core.errors import counted
from divbench.core.tables import Block, Cell, Report, Styled, Table
from submissions.gaming.attacks import ATTACKS, Attack
from submissions.gaming.baselines import attacked

Floats = NDArray[np.float64]
Responses = Mapping[str, tuple[str, ...]]  # by prompt id
SETS_AT_ONCE = 64
SEED = 0
HIGH = 0.15  # share of the real range: such a gain lets an attack overtake real systems
_KINDS = {attack.name: attack.kind for attack in ATTACKS}


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

    def kind(self, name: str) -> str:
        """Return the kind of an attack, *source* or *real*."""
        return "source" if name == self.source else _KINDS.get(name, "real")

    def rows(self, metric: str) -> list[tuple[str, Scores]]:
        """Return all systems and attacks with their scores by a metric."""
        return [(name, scores[metric]) for name, scores in [*self.systems.items(), *self.attacks.items()]]


def study_gaming(
    source: str,
    systems: Mapping[str, Responses],
    suite: Suite,
    backends: ScoringBackends,
    metrics: Sequence[Metric],
    *,
    attacks: Sequence[Attack] = ATTACKS,
    resamples: int = 10_000,
    progress: Callable[[int], None] = lambda sets: None,
) -> GamingStudy:
    """Score real systems, with k responses to the same prompts, and every attack made from one of them, the source.

    Metrics that the profile cannot compute are skipped.
    """
    chosen = computed(backends.profile.metrics(tuple(metrics)))
    prompts = {prompt.prompt_id: prompt.prompt for prompt in suite.prompts if prompt.prompt_id in systems[source]}
    k = len(next(iter(systems[source].values())))
    values, invalid = {}, {}
    attack_texts = {attack.name: attacked(attack, prompts, systems[source], SEED) for attack in attacks}
    for name, responses in [*systems.items(), *attack_texts.items()]:
        values[name], invalid[name] = _score(prompts, responses, backends, chosen, progress)
    directions = np.array([float(metric.direction or 1) for metric in chosen])
    ranges = _ranges(chosen, [values[name] for name in systems])
    widths = np.array([r[1] - r[0] if has_range(r := ranges[metric.id]) else 1.0 for metric in chosen])

    def scores(name: str) -> dict[str, Scores]:
        means = bootstrap_means(values[name], resamples=resamples, seed=SEED)
        if name in systems:
            counts = np.isfinite(values[name]).sum(axis=0).tolist()
            return {m.id: Scores(mean, n) for m, mean, n in zip(chosen, means, counts, strict=True)}
        differences = (values[name] - values[source]) * directions / widths
        gains = bootstrap_means(differences, resamples=resamples, seed=SEED)
        counts = np.isfinite(differences).sum(axis=0).tolist()
        return {m.id: Scores(*numbers) for m, *numbers in zip(chosen, means, counts, gains, strict=True)}

    return GamingStudy(
        source=source,
        suite=f"{suite.name}@{suite.revision}",
        k=k,
        prompts=len(prompts),
        profile=backends.profile.name,
        seed=SEED,
        signatures={metric.id: str(sign(metric, backends.profile, suite, k, None)) for metric in chosen},
        ranges=ranges,
        systems={name: scores(name) for name in systems},
        attacks={name: scores(name) for name in attack_texts},
        invalid={name: dict(sorted(reasons.items())) for name, reasons in invalid.items()},
    )


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
    invalid = Counter[str]()
    sets = [ResponseSet(text, responses[prompt_id]) for prompt_id, text in prompts.items()]
    backends.announce([sets], metrics)
    for start in range(0, len(sets), SETS_AT_ONCE):
        batch = sets[start : start + SETS_AT_ONCE]
        materials = backends.materials(batch, metrics)
        for scores in score_sets(materials, metrics):
            values = (scores[metric.id] for metric in metrics)
            rows.append([float("nan") if isinstance(value, Missing) else value for value in values])
        judged = [reasons for reasons in materials.reasons or [] if not isinstance(reasons, Missing)]
        invalid.update(reason for reasons in judged for reason in reasons if reason is not None)
        progress(len(batch))
    return np.array(rows), invalid


def _ranges(metrics: Sequence[Metric], real: Sequence[Floats]) -> dict[str, tuple[float, float] | None]:
    """Return the lowest and highest mean of real systems by metric; None with fewer than two."""
    ranges: dict[str, tuple[float, float] | None] = {}
    for j, metric in enumerate(metrics):
        columns = [values[np.isfinite(values[:, j]), j] for values in real]
        means = [float(column.mean()) for column in columns if len(column)]
        ranges[metric.id] = (min(means), max(means)) if len(means) > 1 else None
    return ranges


def gaming_report(study: GamingStudy) -> Report:
    """Return tables of the headline with intervals and reasons, and of the gains under every metric."""
    blocks: list[Block] = [
        f"{study.source} on {study.suite}: {counted(study.prompts, 'prompt')}, k = {study.k}, profile {study.profile}, "
        f"seed {study.seed}."
    ]
    reasons = {
        name: ", ".join(f"{count} {reason}" for reason, count in counts.items())
        for name, counts in study.invalid.items()
    }
    for metric in study.signatures:
        if metric in ("valid_distinct_k", "distinct_k"):
            rows = [
                (Styled(name, "code"), study.kind(name), str(scores.mean), str(scores.gain or ""), reasons[name])
                for name, scores in study.rows(metric)
            ]
            columns = ("system", "kind", "mean", "gain", "not valid")
            blocks.append(Table(metric, columns, rows, numbers=("mean", "gain")))
    blocks.append(_gains(study))
    records: list[list[Cell]] = [
        [
            *(metric, name, study.kind(name), scores.mean.value, scores.mean.low, scores.mean.high),
            *((None, None, None) if scores.gain is None else (scores.gain.value, scores.gain.low, scores.gain.high)),
            scores.prompts,
        ]
        for metric in study.signatures
        for name, scores in study.rows(metric)
    ]
    heads = ("metric", "system", "kind", "mean", "low", "high", "gain", "gain_low", "gain_high", "prompts")
    document = asdict(study) | {"kinds": {name: study.kind(name) for name in study.attacks}}
    return Report("What attacks gain", blocks, document, blocks, Table("", heads, records))


def _gains(study: GamingStudy) -> Table:
    """One row per metric: the attacks that gain most, and how many gain more than `HIGH`."""
    rows: list[list[Cell]] = []
    notes = []
    any_range = any(map(has_range, study.ranges.values()))
    for metric, ends in study.ranges.items():
        gains = {
            name: scores.gain.value
            for name, scores in study.rows(metric)
            if scores.gain is not None and scores.gain.value is not None
        }
        worst = sorted(gains, key=lambda name: (-gains[name], name))[:3]
        highest = ", ".join(f"{name} {gains[name]:+.2f}" for name in worst)
        rows.append(
            [
                Styled(metric, "code"),
                "-" if ends is None else f"{ends[0]:.3f} … {ends[1]:.3f}",
                # Without a range, .15 of the metric's own unit says nothing.
                sum(value > HIGH for value in gains.values()) if has_range(ends) else "-",
                highest if has_range(ends) or not any_range else f"{highest} (in units of the metric)",
            ]
        )
        fewer = [f"{name} {scores.prompts}" for name, scores in study.rows(metric) if scores.prompts < study.prompts]
        if fewer:  # these numbers are not over all prompts
            some = f"some of the {study.prompts} prompts"
            notes.append(f"{metric} has no value on {some}; it has one on: {', '.join(fewer)}.")
    unit = "units of the real range" if any_range else "units of the metric (no real range)"
    columns = ("metric", "real range", f"attacks over {HIGH}", "highest gains")
    return Table(f"Gains of attacks in {unit}", columns, rows, notes, numbers=columns[1:3])
