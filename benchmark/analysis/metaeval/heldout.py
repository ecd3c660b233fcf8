"""Combinations of metrics, chosen on some sets and reported on others.

The best of many combinations looks good on the sets that it was chosen on. So the choice is made on one part of the
contexts, its numbers come from the rest, and the number of combinations tried is reported with them. Contexts are split
in two ways: into halves, by hash, so that a context is on the same side in every task that has it; or with one kind of
task (story, response, prompt) held out, so that the choice has seen none of its contexts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from benchmark.analysis.estimate import Resampling
from benchmark.analysis.metaeval.labelled import Labelled
from benchmark.analysis.metaeval.overall import Overall, evaluate_overall, kind_of
from benchmark.analysis.metaeval.scores import Scores
from benchmark.metrics.metric import Missing
from benchmark.scoring.compute import Value
from benchmark.scoring.resampling import half_of
from divbench.core.errors import ConfigurationError

Floats = NDArray[np.float64]
Members = tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Sets to choose on and sets to report on. No context is in both."""

    name: str  # name of the fold, such as `half 1` or `story_gen held out`
    choose: tuple[Labelled, ...]  # tasks with only the sets to choose on
    report: tuple[Labelled, ...]  # tasks with only the sets to report on


_SHOWN = 15
_DIGITS = 9  # of sums of z-scores, so that rounding errors do not order equal sums


@dataclass(frozen=True, slots=True)
class Tried:
    """A combination with its mean Spearman's rho on the sets for choosing, and on the held-out sets.

    None where it is constant on a task, so that it has no rho.
    """

    members: Members
    chosen_on: float | None
    held_out: float | None


@dataclass(frozen=True, slots=True)
class HeldOut:
    """One fold's outcome."""

    fold: str
    tried: int  # number of combinations tried, single metrics included
    chosen: Members
    chosen_single: str
    # Mean Spearman's rho of the chosen combination over the tasks that it was chosen on; its excess over the held-out
    # value is the optimism of choosing.
    chosen_on: float
    # The fifteen best combinations on the sets for choosing, with their values on the held-out sets.
    best: tuple[Tried, ...]
    # Results on the reported sets of the chosen combination, all single metrics and the references.
    held_out: tuple[Overall, ...]


def halves(tasks: Sequence[Labelled], seed: int = 0) -> list[Fold]:
    """Return two folds: each half of the contexts serves once to choose on and once to report on."""
    parts = []
    for side in (0, 1):
        kept = [task.rows(np.array([half_of(context, seed) == side for context in task.contexts])) for task in tasks]
        parts.append(tuple(kept))
    return [Fold("chosen on half 1", parts[0], parts[1]), Fold("chosen on half 2", parts[1], parts[0])]


def kinds(tasks: Sequence[Labelled]) -> list[Fold]:
    """Return a fold for each kind of task: choose on the other kinds, report on it.

    Sets of conTest and McDiv_nuggets are also in McDiv, but different kinds of tasks share no set.
    """
    made = []
    for kind in sorted({kind_of(task) for task in tasks}):
        others = tuple(task for task in tasks if kind_of(task) != kind)
        made.append(Fold(f"{kind} held out", others, tuple(task for task in tasks if kind_of(task) == kind)))
    return made


def candidates(names: Sequence[str], largest: int) -> list[Members]:
    """Return all combinations of up to `largest` metrics, single ones first."""
    return [members for size in range(1, largest + 1) for members in combinations(names, size)]


def held_out(
    fold: Fold,
    features: Sequence[Scores],
    references: Sequence[Scores] = (),
    *,
    largest: int = 3,
    against: str | None = None,
    resampling: Resampling | None = None,
) -> HeldOut:
    """Choose the combination with the highest mean Spearman's rho, and report it on the rest.

    A combination is the sum of its members' z-scores: one formula for all tasks, its means and standard deviations from
    the sets that it was chosen on.

    Args:
        features: Metrics to combine, larger for more diverse.
        references: Metrics that are reported but not combined.
        against: Name of the feature or reference to compare all others with.

    Raises:
        ConfigurationError: There are no scores named `against`, two metrics have the same name, a task has no set that
            every metric has scored, or every combination is constant on a task.
    """
    columns = [*features, *references]
    names = [each.name for each in columns]
    if len(set(names)) < len(names):
        raise ConfigurationError(f"two metrics are named {max(names, key=names.count)!r}", "give each once")
    if against is not None and against not in names:
        raise ConfigurationError(f"there are no scores named {against!r}", f"one of {', '.join(names)}")
    # Everything is measured on the same sets: those that all metrics have scored.
    choose = [_scored(task, columns) for task in fold.choose]
    report = [_scored(task, columns) for task in fold.report]
    for task, kept in zip((*fold.choose, *fold.report), (*choose, *report), strict=True):
        if not kept.set_ids:
            lacking = [each.name for each in columns if not np.isfinite(each.column(task.set_ids)).any()]
            raise ConfigurationError(
                f"{fold.name}: no set of {task.name} has a score of every metric",
                f"leave out {', '.join(lacking)}, without any score there" if lacking else "leave out a metric",
            )
    scale = _scale(choose, features)
    tried = candidates([each.name for each in features], largest)
    rho = _mean_rho(choose, features, scale, tried)
    if not np.isfinite(rho[: len(features)]).any():
        raise ConfigurationError(f"{fold.name}: every metric is constant on a task", "give one that varies")
    best = int(np.nanargmax(rho))
    single = int(np.nanargmax(rho[: len(features)]))
    chosen = combined(tried[best], features, scale, report)
    rest = _mean_rho(report, features, scale, tried)
    shown = [chosen, *columns] if len(tried[best]) > 1 else columns
    return HeldOut(
        fold=fold.name,
        tried=len(tried),
        chosen=tried[best],
        chosen_single=tried[single][0],
        chosen_on=float(rho[best]),
        best=tuple(
            Tried(tried[i], _defined(rho[i]), _defined(rest[i]))
            for i in np.argsort(-rho, kind="stable")[:_SHOWN].tolist()  # NaN comes last
        ),
        held_out=tuple(evaluate_overall(report, shown, against=against, resampling=resampling)),
    )


def combined(
    members: Members, features: Sequence[Scores], scale: dict[str, tuple[float, float]], tasks: Sequence[Labelled]
) -> Scores:
    """Compute the scores of a combination on the sets of these tasks; missing if any member is.

    Args:
        scale: Mean and standard deviation of each feature.
    """
    by_name = {each.name: each for each in features}
    values: dict[str, Value] = {}
    for name in {name for task in tasks for name in task.set_ids}:
        total = 0.0
        for member in members:
            found = by_name[member].values[name]
            if isinstance(found, Missing):
                values[name] = Missing(f"no {member}")
                break
            mean, sd = scale[member]
            total += (found - mean) / sd
        else:
            values[name] = round(total, _DIGITS)
    return Scores(" + ".join(members), "sum of z-scores", values)


def _scored(task: Labelled, columns: Sequence[Scores]) -> Labelled:
    return task.rows(np.logical_and.reduce([np.isfinite(each.column(task.set_ids)) for each in columns]))


def _scale(tasks: Sequence[Labelled], features: Sequence[Scores]) -> dict[str, tuple[float, float]]:
    """Return mean and standard deviation of each feature over the distinct sets; a constant gets the deviation 1."""
    ids = sorted({name for task in tasks for name in task.set_ids})
    made = {}
    for each in features:
        column = each.column(ids)
        made[each.name] = (float(column.mean()), float(column.std()) or 1.0)
    return made


def _mean_rho(
    tasks: Sequence[Labelled],
    features: Sequence[Scores],
    scale: dict[str, tuple[float, float]],
    tried: Sequence[Members],
) -> Floats:
    """Return the mean Spearman's rho of each combination over tasks; NaN for a combination constant on one."""
    place = {each.name: i for i, each in enumerate(features)}
    chosen = np.zeros((len(tried), len(features)))
    for row, members in enumerate(tried):
        chosen[row, [place[name] for name in members]] = 1.0
    from scipy.stats import rankdata

    total = np.zeros(len(tried))
    for task in tasks:
        z = np.stack([(each.column(task.set_ids) - scale[each.name][0]) / scale[each.name][1] for each in features])
        ranks, labels = rankdata((chosen @ z).round(_DIGITS), axis=1), rankdata(task.labels)
        ranks -= ranks.mean(axis=1, keepdims=True)
        labels -= labels.mean()
        with np.errstate(invalid="ignore", divide="ignore"):
            rho = (ranks @ labels) / np.sqrt((ranks**2).sum(axis=1) * (labels**2).sum())
        total += rho
    return total / len(tasks)


def _defined(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
