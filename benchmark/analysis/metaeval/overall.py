"""Means over tasks. Tasks share sets and contexts, so they are resampled together, by context."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmark.analysis.metaeval import agreement
from benchmark.analysis.metaeval.evaluate import FEWEST_TESTED, chance_of
from benchmark.analysis.metaeval.labelled import Labelled
from benchmark.analysis.metaeval.scores import Scores
from benchmark.scoring.estimate import Estimate, Floats, Resampling, estimate, weights_with_original

OVERALL = ("spearman", "oca_directional", "roc_auc")


@dataclass(frozen=True, slots=True)
class Overall:
    """The unweighted mean of a metric's measures over tasks with two labels, on the sets that all metrics scored."""

    metric: str
    tasks: int
    measures: dict[str, Estimate]
    # Differences from the metric to compare with; empty without such a metric, and for that metric.
    less: dict[str, Estimate]


def evaluate_overall(
    tasks: Sequence[Labelled],
    columns: Sequence[Scores],
    *,
    against: str | None = None,
    resampling: Resampling | None = None,
) -> list[Overall]:
    """Compute means over the tasks with two labels; an empty list if there are fewer than two such tasks.

    Args:
        tasks: Tasks; those without binary labels, or without sets of both labels that all metrics scored, are skipped.
        columns: Scores; a metric without a score in any of these tasks has no mean, and skips no task.
    """
    how = resampling or Resampling()
    binary = [task for task in tasks if task.label == "binary"]
    scored = [each for each in columns if any(np.isfinite(each.column(task.set_ids)).any() for task in binary)]
    kept = []
    for task in binary if scored else []:
        there = np.logical_and.reduce([np.isfinite(each.column(task.set_ids)) for each in scored])
        if len(np.unique(task.labels[there])) > 1:
            kept.append(task.rows(there))
    if len(kept) < 2:
        return []
    # Different kinds of tasks share no context; each kind is resampled separately, so that its size does not vary.
    # A user's file has no kind, and may share contexts with any task.
    kinds = sorted(set(map(kind_of, kept)))
    groups = [kept] if "" in kinds else [[task for task in kept if kind_of(task) == kind] for kind in kinds]
    fewest = min(len({context for task in group for context in task.contexts}) for group in groups)
    parts = [_weights(group, how.resamples if fewest > 1 else 0, how.seed) for group in groups]
    weights = {name: each for part in parts for name, each in part.items()}
    means = {each.name: _means(kept, each, weights) for each in scored}
    is_tested = fewest >= FEWEST_TESTED
    made = []
    for name, found in means.items():
        other = means[against] if against in means and name != against else {}
        measures = {
            measure: estimate(draws, chance_of(measure) if is_tested else None, clusters=fewest)
            for measure, draws in found.items()
        }
        less = {
            measure: estimate(found[measure] - draws, 0.0 if is_tested else None, clusters=fewest)
            for measure, draws in other.items()
        }
        made.append(Overall(name, len(kept), measures, less))
    return made


def kind_of(task: Labelled) -> str:
    """Return the kind of a task (story, response or prompt): its split without the suffix for human scores.

    The kind of a user's own file is empty.
    """
    return task.name.partition("/")[2].removesuffix("_with_hds")


def _weights(tasks: Sequence[Labelled], resamples: int, seed: int) -> dict[tuple[str, str], Floats]:
    """Return the weights of each task's rows, [1 + resamples, rows], by the task's name and kind."""
    contexts = list(dict.fromkeys(context for task in tasks for context in task.contexts))
    weights = weights_with_original(len(contexts), resamples=resamples, seed=seed)
    place = {context: i for i, context in enumerate(contexts)}
    return {(task.name, kind_of(task)): weights[:, [place[context] for context in task.contexts]] for task in tasks}


def _means(tasks: Sequence[Labelled], scores: Scores, weights: dict[tuple[str, str], Floats]) -> dict[str, Floats]:
    """Return the mean over tasks of each measure, [1 + resamples]."""
    found: dict[str, list[Floats]] = {name: [] for name in OVERALL}
    for task in tasks:
        column, given, high = scores.column(task.set_ids), weights[task.name, kind_of(task)], task.labels == 1
        found["spearman"].append(agreement.spearman(column, task.labels, given))
        found["oca_directional"].append(agreement.optimal_accuracy(column, high, given, folded=False))
        found["roc_auc"].append(agreement.roc_auc(column, high, given))
    return {name: np.mean(values, axis=0) for name, values in found.items()}
