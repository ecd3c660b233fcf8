"""Builds the record of a metric study from labelled response sets and scores, as in `divbench metrics metaeval`."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import get_args

import numpy as np
import pandas as pd

from benchmark.analysis.metaeval.evaluate import TaskReport, evaluate_task
from benchmark.analysis.metaeval.labelled import CONFIGS, Labelled, task_names
from benchmark.analysis.metaeval.overall import evaluate_overall
from benchmark.analysis.metaeval.scores import Scores
from benchmark.metrics import METRICS
from benchmark.scoring.estimate import LEVEL, Estimate, Floats, Resampling
from benchmark.scoring.profiles import Profile
from benchmark.scoring.results import package_version, signature_line
from datasets_build.sources import find_config
from divbench.core.errors import ConfigurationError
from divbench.core.files import content_id
from leaderboard.data.board import Board
from leaderboard.data.metric_study.record import (
    MAX_LINE,
    MAX_REASONS,
    Agreement,
    Disagreement,
    Measure,
    Measured,
    MetricEntry,
    MetricStudy,
    Number,
    Overall,
    Task,
    rounded,
)
from submissions.untrusted.plain_text import shortened

WORST = 5  # disagreements per metric and task
OVERALL = "overall"
_FEWEST = 3  # items for a rank correlation: with two it is always 1 or -1
_LETTERS = 300  # maximum number of characters of a line
_PLACES = 3  # decimals; intervals are at least ten times as wide as the last one
_PART = "_with_hds"  # suffix of splits with human scores, which are parts of larger splits
_MEASURES: tuple[Measure, ...] = get_args(Measure)


def study_tasks(named: Sequence[str] = ()) -> list[str]:
    """The tasks with these names, as in `divbench metrics metaeval`, and their splits with human scores.

    Raises:
        ConfigurationError: There is no such task.
    """
    chosen = task_names(named or CONFIGS)
    splits = {config: {each.name for each in find_config(config)[1].splits} for config in CONFIGS}
    made = []
    for name in chosen:
        config, _, split = name.partition("/")
        made += [name, f"{name}{_PART}"] if f"{split}{_PART}" in splits[config] else [name]
    return list(dict.fromkeys(made))


def make_study(
    tasks: Sequence[Labelled],
    columns: Sequence[Scores],
    profile: Profile,
    *,
    resampling: Resampling | None = None,
    worst: int = WORST,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> MetricStudy:
    """Evaluate metrics on tasks.

    A metric that scores no set of a task has no result there, and does not affect the task's other metrics.

    Args:
        tasks: Tasks with different names (`config/split`).
        worst: Number of disagreements to record per metric and task with human scores.

    Raises:
        ConfigurationError: Two metrics have the same name, or there are no metrics.
    """
    how = resampling or Resampling()
    names = [each.name for each in columns]
    if not names or len(set(names)) < len(names):
        message = f"two metrics are named {max(names, key=names.count)!r}" if names else "there are no metrics"
        raise ConfigurationError(message, "give at least one metric, each once")
    made = []
    for done, task in enumerate(tasks):
        progress(f"evaluating {task.name}", done, len(tasks))
        tried = scored_on(task, columns)
        made.append(_task(task, tried, evaluate_task(task, tried, resampling=how), worst))
    progress("evaluating all tasks together", len(tasks), len(tasks))
    whole = [task for task in tasks if not task.name.endswith(_PART)]
    return MetricStudy(
        divbench=package_version(),
        profile=profile.name,
        level=LEVEL,
        resamples=how.resamples,
        seed=how.seed,
        metrics=[entry_of(each, profile) for each in columns],
        tasks=made,
        overall=[
            Overall(metric=each.metric, tasks=each.tasks, measures=_numbers(each.measures))
            for each in evaluate_overall(whole, columns, resampling=how)
        ],
        agreements=agreements(whole, columns),
    )


def entry_of(scores: Scores, profile: Profile) -> MetricEntry:
    """The entry of a metric, with the part of its signature that does not depend on the response sets."""
    origin, _, _ = scores.origin.partition(" ")
    metric = next((each for each in METRICS if each.id == scores.name), None)
    if metric is not None and origin == "metric":
        return MetricEntry(
            name=metric.id, origin="metric", negated=metric.direction == -1, signature=signature_line(metric, profile)
        )
    kind = origin.rstrip(",")
    return MetricEntry(
        name=scores.name,
        origin="released" if kind == "released" else "file" if kind == "file" else "external",
        negated=scores.origin.endswith("negated"),
        signature=_line(scores.origin),
    )


def _task(task: Labelled, columns: Sequence[Scores], report: TaskReport, worst: int) -> Task:
    config, _, split = task.name.partition("/")
    sizes = {len(texts) for texts in task.responses}
    kept, values = evaluated_sets(task, columns)
    disagreements = {}
    if kept.human is not None:
        for each, scores in zip(columns, values, strict=True):
            disagreements[each.name] = worst_disagreements(kept.set_ids, kept.human, scores, worst)
    return Task(
        config=config,
        split=split,
        revision=content_id([list(task.set_ids), task.labels.tolist()]),
        label=task.label,
        label_name=task.label_name,
        k=sizes.pop() if len(sizes) == 1 else 0,
        sets=report.sets,
        evaluated=len(kept.set_ids),
        contexts=report.contexts,
        human=task.human is not None,
        noise_ceiling=None if report.noise_ceiling is None else rounded(report.noise_ceiling),
        results=[
            Measured(metric=each.metric, measures=_numbers(each.measures), missing=_reasons(each.missing))
            for each in report.evaluations
        ],
        disagreements={name: found for name, found in disagreements.items() if found},
    )


def _reasons(missing: dict[str, int]) -> dict[str, int]:
    """The most frequent reasons, since an external function may give a different reason for every set."""
    made: Counter[str] = Counter()
    for reason, count in missing.items():
        made[_line(reason)] += count
    return dict(made.most_common(MAX_REASONS))


def _line(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)[:_LETTERS] or "?"


def scored_on(task: Labelled, columns: Sequence[Scores]) -> list[Scores]:
    """The metrics that score any set of the task; all metrics if none does."""
    return [each for each in columns if np.isfinite(each.column(task.set_ids)).any()] or list(columns)


def evaluated_sets(task: Labelled, columns: Sequence[Scores]) -> tuple[Labelled, Floats]:
    """The sets that all metrics score, and the scores [metrics, sets]."""
    values = np.array([each.column(task.set_ids) for each in columns])
    there = np.isfinite(values).all(axis=0)
    return task.rows(there), values[:, there]


def worst_disagreements(set_ids: Sequence[str], human: Floats, scores: Floats, count: int) -> list[Disagreement]:
    """The sets with the largest differences between a metric's rank and people's rank, largest first.

    Args:
        human: Human scores [sets]; higher is more diverse.
        scores: Scores of the metric [sets]; higher is more diverse.
        count: Maximum number of sets; ties are broken by id.
    """
    from scipy.stats import rankdata

    by_people, by_metric = rankdata(human), rankdata(scores)
    gaps = np.abs(by_metric - by_people)
    order = sorted(range(len(set_ids)), key=lambda i: (-gaps[i], set_ids[i]))[:count]
    return [
        Disagreement(
            set_ids[i],
            float(f"{human[i]:.6g}"),
            float(f"{scores[i]:.6g}"),
            float(by_people[i]),
            float(by_metric[i]),
        )
        for i in order
        if gaps[i] > 0
    ]


def rank_agreement(values: Floats) -> Floats:
    """Spearman's rho between every two metrics, [metrics, metrics].

    Args:
        values: Values [metrics, items]; items with NaN for one of two metrics are left out of their correlation.

    Returns:
        The matrix; NaN if fewer than three items have both values or one of the metrics is constant.
    """
    found = np.asarray(pd.DataFrame(values.T).corr("spearman", min_periods=_FEWEST), np.float64)
    return np.clip(found, -1.0, 1.0)  # rounding can exceed the bounds by 1e-16


def agreements(tasks: Sequence[Labelled], columns: Sequence[Scores]) -> list[Agreement]:
    """Rank agreement of metrics over response sets: within each dataset, and over all tasks with binary labels.

    The value of a group is the mean of the rank correlations within its tasks, because differences between tasks are
    due to their prompts and not to agreement between metrics.
    """
    found = {}
    for task in tasks:
        tried = scored_on(task, columns)
        places = [place for place, each in enumerate(columns) if each in tried]
        found[task.name] = np.full((len(columns), len(columns)), np.nan)
        found[task.name][np.ix_(places, places)] = rank_agreement(evaluated_sets(task, tried)[1])
    groups: dict[str, list[str]] = {OVERALL: [task.name for task in tasks if task.label == "binary"]}
    for task in tasks:
        groups.setdefault(task.name.partition("/")[0], []).append(task.name)
    names = [each.name for each in columns]
    return [
        Agreement(over="sets", group=group, members=members, metrics=names, rho=_triangle([found[m] for m in members]))
        for group, members in groups.items()
        if members
    ]


def systems_agreement(board: Board) -> Agreement | None:
    """Rank agreement of a board's metrics over the means of its systems; only metrics with a direction.

    Returns:
        The agreement; None if there are fewer than three systems or fewer than two such metrics.
    """
    columns = [column for column in board.columns if column.direction]
    if len(board.entries) < _FEWEST or len(columns) < 2:
        return None
    values = np.full((len(columns), len(board.entries)), np.nan)
    for i, column in enumerate(columns):
        for j, entry in enumerate(board.entries):
            cell = entry.cells.get(column.signature)
            if cell is not None and cell.value is not None:
                values[i, j] = column.direction * cell.value
    return Agreement(
        over="systems",
        group=board.name,
        members=[entry.result.submission_id for entry in board.entries],
        metrics=[shortened(column.label, MAX_LINE) for column in columns],
        rho=_triangle([rank_agreement(values)]),
    )


def _triangle(matrices: Sequence[Floats]) -> list[list[float | None]]:
    """The part above the diagonal of the mean of the matrices; NaN values are left out of the mean."""
    stacked = np.array(matrices)
    there = np.isfinite(stacked).sum(axis=0)
    mean = np.nansum(stacked, axis=0) / np.maximum(there, 1)
    return [
        [round(float(mean[i, j]), _PLACES) if there[i, j] else None for j in range(i + 1, len(mean))]
        for i in range(len(mean))
    ]


def _numbers(found: dict[str, Estimate]) -> dict[Measure, Number]:
    return {name: rounded(found[name]) for name in _MEASURES if name in found}
