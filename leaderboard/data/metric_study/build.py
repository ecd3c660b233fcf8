"""Studies metrics on labelled response sets: their scores, their agreement with labels, people and each other."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.analysis.metaeval.evaluate import evaluate_overall, evaluate_task
from benchmark.analysis.metaeval.labelled import CONFIGS, Labelled, task_names
from benchmark.analysis.metaeval.scores import Progress, Scores, metric_scores, unique_sets
from benchmark.metrics import METRICS, Metric
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.estimate import LEVEL, Estimate, Floats, Resampling
from benchmark.scoring.inputs import Value, metrics_from
from benchmark.scoring.profiles import Profile, find_profile
from benchmark.scoring.results import package_version, signature_line
from datasets_build.sources import find_config
from datasets_build.sources.tevet import content_digits
from divbench.core.errors import ConfigurationError, InputError, first_line
from divbench.core.files import atomic_file, content_id
from leaderboard.data.board import Board
from leaderboard.data.metric_study.study import (
    MEASURED,
    MEASURES,
    NOISE_CEILING,
    NUMBERS,
    OVERALL,
    RHO,
    SCORES_FILE,
    UNSCORED,
    Agreement,
    MetricStudy,
    full_matrix,
    rounded,
)

WORST = 5  # disagreements per metric and task
MOST_READ = 5  # maximum number of responses per set for the language model; larger sets would take hours
_FEWEST = 3  # items for a rank correlation: with two it is always 1 or -1
_PART = "_with_hds"  # suffix of splits with human scores, which are parts of larger splits
_PLACES = {metric.id: place for place, metric in enumerate(METRICS)}
_DISAGREEMENT = ("task", "metric", "set_id", "human", "value", "human_rank", "metric_rank", "sets")


def study_tasks(names: Sequence[str] = ()) -> list[str]:
    """The tasks with these names, as in `divbench metrics metaeval`, and their splits with human scores."""
    splits = {config: {split.name for split in find_config(config)[1].splits} for config in CONFIGS}
    tasks = []
    for name in task_names(names or CONFIGS):
        config, _, split = name.partition("/")
        tasks += [name, f"{name}{_PART}"] if f"{split}{_PART}" in splits[config] else [name]
    return list(dict.fromkeys(tasks))


def make_study(
    tasks: Sequence[Labelled],
    columns: Sequence[Scores],
    profile: Profile,
    resampling: Resampling = Resampling(),  # noqa: B008 - frozen
    progress: Progress = lambda what, done, total: None,
) -> MetricStudy:
    """Evaluate metrics on tasks; a metric that scores no set of a task does not affect the task's other metrics."""
    numbers: list[tuple[Any, ...]] = []
    disagreements: list[tuple[Any, ...]] = []
    texts: dict[str, tuple[str, tuple[str, ...]]] = {}
    for done, task in enumerate(tasks):
        progress(f"evaluating {task.name}", done, len(tasks))
        tried = scored_on(task, columns)
        report = evaluate_task(task, tried, resampling=resampling)
        sets, scores = evaluated_sets(task, tried)
        evaluated = len(sets.set_ids)
        if report.noise_ceiling is not None:
            numbers.append((task.name, "", NOISE_CEILING, *rounded(report.noise_ceiling), evaluated))
        for evaluation in report.evaluations:
            about = (task.name, evaluation.metric)
            numbers += [(*about, *row, evaluated) for row in _measures(evaluation.measures)]
            numbers.append((*about, UNSCORED, sum(evaluation.missing.values()), None, None, report.sets))
        if sets.human is not None:
            for column, values in zip(tried, scores, strict=True):
                worst = worst_disagreements(sets.set_ids, sets.human, values)
                disagreements += [(task.name, column.name, *row, evaluated) for row in worst]
                of = {name: i for i, name in enumerate(sets.set_ids)}
                texts |= {name: (sets.contexts[of[name]], sets.responses[of[name]]) for name, *_ in worst}
    progress("evaluating all tasks together", len(tasks), len(tasks))
    whole = [task for task in tasks if not task.name.endswith(_PART)]
    for mean in evaluate_overall(whole, columns, resampling=resampling):
        numbers += [(OVERALL, mean.metric, *row, mean.tasks) for row in _measures(mean.measures)]
    numbers += _agreements(whole, columns)
    table = pd.DataFrame(numbers, columns=list(NUMBERS)).astype(dict.fromkeys(("value", "low", "high"), "float64"))
    table.attrs = {
        "divbench": package_version(),
        "profile": profile.name,
        "level": LEVEL,
        "resamples": resampling.resamples,
        "seed": resampling.seed,
        "metrics": [_entry(column, profile) for column in columns],
        "tasks": {task.name: content_id([list(task.set_ids), task.labels.tolist()]) for task in tasks},
    }
    return MetricStudy(table, pd.DataFrame(disagreements, columns=list(_DISAGREEMENT)), texts)


def _measures(estimates: Mapping[str, Estimate]) -> list[tuple[Any, ...]]:
    return [(name, *rounded(estimates[name])) for name in MEASURES if name in estimates]


def _entry(scores: Scores, profile: Profile) -> dict[str, object]:
    """The entry of a metric, with the part of its signature that does not depend on the response sets."""
    kind = scores.origin.partition(" ")[0].rstrip(",")
    metric = next((metric for metric in METRICS if metric.id == scores.name), None)
    ours = metric is not None and kind == "metric"
    return {
        "name": scores.name,
        "origin": "metric" if ours else kind,
        "negated": scores.origin.endswith("negated"),
        "signature": signature_line(metric, profile) if metric is not None and ours else scores.origin,
    }


def scored_on(task: Labelled, columns: Sequence[Scores]) -> list[Scores]:
    """The metrics that score any set of the task; all metrics if none does."""
    return [column for column in columns if np.isfinite(column.column(task.set_ids)).any()] or list(columns)


def evaluated_sets(task: Labelled, columns: Sequence[Scores]) -> tuple[Labelled, Floats]:
    """The sets that all metrics score, and the scores [metrics, sets]."""
    values = np.array([column.column(task.set_ids) for column in columns])
    complete = np.isfinite(values).all(axis=0)
    return task.rows(complete), values[:, complete]


def worst_disagreements(
    set_ids: Sequence[str], human: Floats, scores: Floats, count: int = WORST
) -> list[tuple[str, float, float, float, float]]:
    """Set, human score, metric's value and both ranks where the ranks differ most; ties are broken by id."""
    from scipy.stats import rankdata

    by_people, by_metric = rankdata(human), rankdata(scores)
    gaps = np.abs(by_metric - by_people)
    order = sorted(range(len(set_ids)), key=lambda i: (-gaps[i], set_ids[i]))[:count]
    return [
        (set_ids[i], float(f"{human[i]:.6g}"), float(f"{scores[i]:.6g}"), float(by_people[i]), float(by_metric[i]))
        for i in order
        if gaps[i] > 0
    ]


def rank_agreement(values: Floats) -> Floats:
    """Spearman's rho [metrics, metrics] over items [metrics, items]; NaN with fewer than three or a constant metric."""
    rho = np.asarray(pd.DataFrame(values.T).corr("spearman", min_periods=_FEWEST), np.float64)
    return np.clip(rho, -1.0, 1.0)  # rounding can exceed the bounds by 1e-16


def _agreements(tasks: Sequence[Labelled], columns: Sequence[Scores]) -> list[tuple[Any, ...]]:
    """Rows of rank agreement over response sets: over all tasks with binary labels, and within each dataset.

    The value of a group is the mean of the rank correlations within its tasks, because differences between tasks are
    due to their prompts and not to agreement between metrics.
    """
    names = [column.name for column in columns]
    by_task = {}
    for task in tasks:
        tried = scored_on(task, columns)
        rho = rank_agreement(evaluated_sets(task, tried)[1])
        known = [column.name for column in tried]
        by_task[task.name] = pd.DataFrame(rho, known, known).reindex(index=names, columns=names).to_numpy()
    groups: dict[str, list[str]] = {OVERALL: [task.name for task in tasks if task.label == "binary"]}
    for task in tasks:
        groups.setdefault(task.name.partition("/")[0], []).append(task.name)
    rows: list[tuple[Any, ...]] = []
    for group, members in groups.items():
        stacked = np.array([by_task[name] for name in members])
        for i, j in np.argwhere(np.triu(np.isfinite(stacked).any(axis=0), 1)) if members else ():
            mean = round(float(np.nanmean(stacked[:, i, j])), 3)
            rows.append((group, names[i], f"{RHO}{names[j]}", mean, None, None, len(members)))
    return rows


def systems_agreement(board: Board) -> Agreement | None:
    """Rank agreement over the systems' means of a board's metrics with a direction; None with too few of either."""
    columns = [column for column in board.columns if column.direction]
    if len(board.entries) < _FEWEST or len(columns) < 2:
        return None
    values = np.full((len(columns), len(board.entries)), np.nan)
    for i, column in enumerate(columns):
        for j, entry in enumerate(board.entries):
            cell = entry.cells.get(column.signature)
            if cell is not None and cell.value is not None:
                values[i, j] = column.direction * cell.value
    labels = tuple(column.label for column in columns)
    return Agreement("systems", board.name, labels, full_matrix(rank_agreement(values).round(3)))


def merged(new: MetricStudy, earlier: MetricStudy) -> MetricStudy:
    """Add an earlier study's other metrics to a study; their rank agreement with the new ones is unknown."""
    same = ("profile", "level", "resamples", "seed", "tasks")
    if any(new.numbers.attrs[name] != earlier.numbers.attrs[name] for name in same):
        message = "the earlier study has other tasks, other sets or another bootstrap"
        raise ConfigurationError(message, "study all metrics, or name another folder with --out")
    others = [name for name in earlier.metrics if name not in new.metrics]
    old = earlier.numbers
    partner = old.measure.where(old.measure.str.startswith(RHO), RHO).str.removeprefix(RHO)
    numbers = pd.concat([new.numbers, old[old.metric.isin(others) & partner.isin(["", *others])]], ignore_index=True)
    entries = new.numbers.attrs["metrics"] + [row for row in old.attrs["metrics"] if row["name"] in others]
    entries.sort(key=lambda row: _PLACES.get(row["name"], len(_PLACES)))
    numbers.attrs = {**new.numbers.attrs, "metrics": entries}
    worst = earlier.disagreements[earlier.disagreements.metric.isin(others)]
    disagreements = pd.concat([new.disagreements, worst], ignore_index=True)
    return replace(new, numbers=numbers, disagreements=disagreements, texts={**earlier.texts, **new.texts})


def write_scores(path: Path, columns: Mapping[str, Scores]) -> None:
    """Write scores by signature, one row per set; signatures and reasons for missing scores are columns' metadata."""
    ids = sorted({name for scores in columns.values() for name in scores.values})
    fields: list[Any] = [pa.field("set_id", pa.string())]
    arrays: list[Any] = [pa.array(ids, pa.string())]
    for signature, scores in columns.items():
        values = [scores.values.get(name) for name in ids]
        reasons = {name: value.reason for name, value in zip(ids, values, strict=True) if isinstance(value, Missing)}
        about = {"signature": signature, "origin": scores.origin, "missing": json.dumps(reasons)}
        fields.append(pa.field(scores.name, pa.float32(), metadata=about))
        arrays.append(pa.array([None if isinstance(value, Missing) else value for value in values], pa.float32()))
    with atomic_file(path) as temporary:
        pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), temporary, compression="zstd")


def read_scores(path: Path, names: Sequence[str] | None = None) -> dict[str, Scores]:
    """Read scores of some or all metrics by signature; empty if there is no such file."""
    if not path.exists():
        return {}
    columns = {}
    try:
        wanted = [name for name in pq.read_schema(path).names if names is None or name in ("set_id", *names)]
        table = pq.read_table(path, columns=wanted)
        ids: list[Any] = table["set_id"].to_pylist()
        for field in table.schema:
            if field.name != "set_id":
                about = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
                numbers = zip(ids, table[field.name].to_pylist(), strict=True)
                values: dict[str, Value] = {name: value for name, value in numbers if value is not None}
                values |= {name: Missing(reason) for name, reason in json.loads(about["missing"]).items()}
                columns[about["signature"]] = Scores(field.name, about["origin"], values)
    except (pa.ArrowException, OSError, KeyError, AttributeError, ValueError) as error:
        hint = "delete the file to compute all metrics again"
        raise InputError(f"{path} is not a file of scores: {first_line(error)}", hint) from error
    return columns


def measured_scores(tasks: Sequence[Labelled], names: Sequence[str]) -> dict[str, Scores]:
    """The named metrics' scores that come with the package, where they cover all sets and are of the present version.

    None are returned if a set has other texts than its id says, such as responses that a user shortened.
    """
    sets = unique_sets(tasks)
    if not all(name.endswith(f"-{content_digits(*content)}") for name, content in sets.items()):
        return {}
    profile = find_profile("offline").replace(format="completion", outer_space="kept")  # as in the study
    known = read_scores(MEASURED / SCORES_FILE, names)
    scores = {metric.id: known.get(signature_line(metric, profile)) for metric in METRICS if metric.id in names}
    return {name: column for name, column in scores.items() if column is not None and _covers(column, sets)}


def study_scores(
    tasks: Sequence[Labelled], metrics: Sequence[Metric], backends: ScoringBackends, path: Path, progress: Progress
) -> list[Scores]:
    """Score metrics, in their order: scores in the file are reused, and new ones are added to it.

    Values are rounded to float32, as in the file, so that a study does not depend on whether the file exists.
    """
    reading = metrics_from("causal_lm", metrics)
    signatures = {metric.id: signature_line(metric, backends.profile) for metric in metrics}
    known = read_scores(path)
    for some, of in (
        ([metric for metric in metrics if metric not in reading], tasks),
        (list(reading), [task for task in tasks if max(map(len, task.responses)) <= MOST_READ]),
    ):
        ids = unique_sets(of)
        lacking = [metric for metric in some if not _covers(known.get(signatures[metric.id]), ids)]
        if lacking and ids:
            names = {metric.id for metric in lacking}
            known = {signature: scores for signature, scores in known.items() if scores.name not in names}
            for scores in metric_scores(of, lacking, backends, progress):
                known[signatures[scores.name]] = replace(scores, values=_single_precision(scores.values))
            write_scores(path, known)
    return [known[signatures[metric.id]] for metric in metrics if signatures[metric.id] in known]


def _single_precision(values: Mapping[str, Value]) -> dict[str, Value]:
    return {name: v if isinstance(v, Missing) else float(np.float32(v)) for name, v in values.items()}


def _covers(scores: Scores | None, ids: Iterable[str]) -> bool:
    """Whether every set has a value or a reason for its absence."""
    return scores is not None and all(name in scores.values for name in ids)
