"""Measure how well your own metric agrees with human labels, compared with known metrics."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, SupportsFloat

import pandas as pd

from benchmark.analysis.metaeval.evaluate import Overall, TaskReport, evaluate_overall, evaluate_task
from benchmark.analysis.metaeval.labelled import load_tasks
from benchmark.analysis.metaeval.report import most_frequent
from benchmark.analysis.metaeval.scores import function_scores, metric_scores, released_scores
from benchmark.metrics import METRICS
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.estimate import Estimate, Resampling
from datasets_build.sources.tevet import SOURCE
from divbench.core.errors import ConfigurationError, counted, did_you_mean
from divbench.core.tables import Cell, Styled, Table, p_value, to_latex, to_text
from divbench.plots import Plot, Row
from divbench.scores import check_resampling, choose_metrics
from leaderboard.data.metric_study.build import measured_scores
from submissions.untrusted.plain_text import one_line

BESIDE = ("valid_distinct_k", "distance_beside_prompt", "embedding_diversity", "self_bleu", "distinct_n")
MEASURES = ("spearman", "oca_directional", "roc_auc")
_BY_PEOPLE = ("content diversity", "human ")  # names of labels: of texts written by people to instructions; ratings


@dataclass(frozen=True, slots=True, repr=False)
class Agreement:
    """How well metrics agree with labels of content diversity, all on the same sets and resamples.

    Attributes:
        tasks: Reports, one per task.
        overall: Means over the tasks with two labels, one per metric; empty for fewer than two tasks.
        missing: Sets of all tasks without a score of the metric, by reason.
        against: Metric that the others are compared with; None: none.
    """

    tasks: tuple[TaskReport, ...]
    overall: tuple[Overall, ...]
    missing: dict[str, int]
    against: str | None = None

    def to_pandas(self) -> pd.DataFrame:
        """A row per task and metric: Spearman's rho, optimal classification accuracy and AUC, with 95% intervals."""
        rows, index = [], []
        for task, metric, measures in self._lines():
            index.append((task, metric))
            rows.append([part for name in MEASURES for part in _parts(measures.get(name))])
        columns = [f"{name}{end}" for name in MEASURES for end in ("", "_low", "_high")]
        names = pd.MultiIndex.from_tuples(index, names=["task", "metric"])
        return pd.DataFrame(rows, index=names, columns=columns, dtype=float)

    def _lines(self) -> list[tuple[str, str, dict[str, Estimate]]]:
        lines = [("mean", mean.metric, mean.measures) for mean in self.overall]
        return lines + [(task.task, e.metric, e.measures) for task in self.tasks for e in task.evaluations]

    def _shown(self) -> list[tuple[str, str, dict[str, Estimate]]]:
        """Return the means over tasks, or the lines of each task if there are none; the best metric of each first."""
        lines = [line for line in self._lines() if line[0] == "mean" or not self.overall]
        tasks = list(dict.fromkeys(task for task, _, _ in lines))
        rho = [getattr(line[2].get("spearman"), "value", None) or 0.0 for line in lines]
        return [lines[i] for i in sorted(range(len(lines)), key=lambda i: (tasks.index(lines[i][0]), -rho[i]))]

    def _difference(self, task: str, metric: str) -> Estimate | None:
        """Return how much higher a metric's Spearman correlation is than that of the metric to compare with."""
        if task == "mean":
            return next((mean.less.get("spearman") for mean in self.overall if mean.metric == metric), None)
        compared = (each for report in self.tasks if report.task == task for each in report.comparisons)
        return next((c.difference for c in compared if (c.a, c.measure) == (metric, "spearman")), None)

    def plot(self) -> Plot:
        """Spearman's correlation of each metric with the labels, with its interval; a panel for each task of the table.

        A plotly figure that `save` writes as PDF, SVG or PNG.
        """
        panels: dict[str, list[Row]] = {}
        for task, metric, measures in self._shown():
            rho = measures.get("spearman", Estimate(None))
            panels.setdefault(task, []).append(Row(metric, rho.value, rho.low, rho.high))
        return Plot(tuple((task, tuple(rows)) for task, rows in panels.items()), "Spearman's correlation", zero=True)

    def to_latex(self) -> str:
        """The table in LaTeX, which needs no package."""
        return to_latex(self.table())

    def table(self) -> Table:
        """The means over the tasks with two labels, or each task if there are fewer than two of them, as a table."""
        lines = self._shown()
        tasks = list(dict.fromkeys(task for task, _, _ in lines))
        compared = [] if self.against is None else [f"Spearman − {self.against}", "p"]
        columns = ["task", "metric", *MEASURES, *compared][len(tasks) == 1 :]
        rows: list[list[Cell]] = []
        for task, metric, measures in lines:
            row: list[Cell] = [task, Styled(metric, "code"), *(str(measures.get(name, "-")) for name in MEASURES)]
            if compared:
                difference = self._difference(task, metric)
                row += ["-", "-"] if difference is None else [str(difference), p_value(difference.p)]
            rows.append(row[len(tasks) == 1 :])
        count = self.overall[0].tasks if self.overall else len(self.tasks)
        tasks_shown = [task for task in self.tasks if task.label == "binary" or not self.overall]
        by_people = all(task.label_name.startswith(_BY_PEOPLE) for task in tasks_shown)  # and not a decoding parameter
        title = f"Agreement with {'human labels' if by_people else 'labels'}, {counted(count, 'task')}"
        return Table(title, columns, rows, self._notes(), numbers=[*MEASURES, *compared])

    def _notes(self) -> list[str]:
        """Say what the table lacks: sets, tasks of the mean, scores released with the texts."""
        notes = []
        count, mine = sum(self.missing.values()), self.tasks[0].evaluations[0].metric
        if count:
            reasons = one_line(most_frequent(self.missing))
            notes.append(f"Left out for all metrics: {counted(count, 'set')} without a score of {mine} ({reasons}).")
        evaluations = [evaluation for task in self.tasks for evaluation in task.evaluations]
        others = {e.metric for e in evaluations if e.missing and e.measures} - {mine}
        if others:
            also = ", too" if count else ""
            notes.append(f"Left out for all metrics{also}: sets without a score of {', '.join(sorted(others))}.")
        unscored = [task for task in self.tasks if not all(evaluation.measures for evaluation in task.evaluations)]
        if outside := [task.task for task in unscored if task.label == "binary" and self.overall]:
            notes.append(f"The mean leaves out {', '.join(outside)}, where a metric has no score.")
        released = {config.name for config in SOURCE.configs}
        alone = [
            task.task
            for task in self.tasks
            if task.task.partition("/")[0] in released
            and not any(e.measures for e in task.evaluations if e.metric.startswith("released:"))
        ]
        if alone:
            notes.append(
                f"No released scores (sent-BERT and others) of {', '.join(alone)}: their files are not "
                "downloaded, and no mirror had them; divbench data info lists them."
            )
        return notes

    def __str__(self) -> str:
        """The table as text."""
        return to_text(self.table())

    __repr__ = __str__  # shown at a Python prompt

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html(float_format="{:.3f}".format))


def evaluate_metric(
    function: Callable[..., SupportsFloat],
    tasks: str | Path | Sequence[str | Path] | None = None,
    *,
    name: str | None = None,
    beside: str | Iterable[str] | None = None,
    against: str | None = None,
    lower_is_more_diverse: bool = False,
    resamples: int = 1000,
    seed: int = 0,
    mirror: str | Path | None = None,
) -> Agreement:
    """Test your own metric against human labels, with intervals, next to known metrics.

    The function is called in this process; an exception or a value that is not a finite number makes that set's score
    missing. A set without a score of one metric is excluded for all.

    Args:
        function: Takes a set's responses, and `context` if it has a parameter of that name; returns a number.
        tasks: Tasks, such as `contest/story_gen`, `mcdiv` for all its splits, or a .parquet file of labelled sets;
            None: the nine with two labels.
        name: Name of the metric; None: the function's.
        beside: Ids of metrics to test as well; None: `BESIDE` on the datasets of this package, and distinct_n on your
            own files. Scores that come with the package are not computed again. The columns released with the texts
            (sent-BERT, distinct-n and others) are always included where a mirror has them.
        against: Metric to compare all others with, on the same sets and resamples: one of those tested, or an id.
        lower_is_more_diverse: Whether less means more diverse.
        resamples: Number of bootstrap resamples over contexts.
        seed: Random seed of the bootstrap.
        mirror: Folder with the released files; None: the built datasets, or the folder that DIVBENCH_MIRROR names.

    Raises:
        ConfigurationError: There is no such task or metric, its files are not available, the function fails on every
            set, or a number is negative.
        InputError: A file of labelled sets is rejected, or a released file has other bytes.
    """
    check_resampling(resamples, seed)
    if not callable(function):
        hint = "give a function that takes a list of responses; metrics of the package go into beside="
        raise ConfigurationError(f"{function!r:.60} is not a function", hint)
    labelled = load_tasks(_task_names(tasks), None if mirror is None else Path(mirror))
    title = str(name or getattr(function, "__name__", type(function).__name__))
    released = released_scores(labelled)
    beside_ids = list(BESIDE) if beside is None else [beside] if isinstance(beside, str) else list(beside)
    compared = [against] if against in {metric.id for metric in METRICS} - {title} else []
    known = measured_scores(labelled, [*beside_ids, *compared])
    metrics = dict.fromkeys([*(beside_ids if beside is not None else list(known) or ["distinct_n"]), *compared])
    tested = [title, *(scores.name for scores in released), *metrics]
    if against is not None and against not in tested:
        raise ConfigurationError(f"there are no scores named {against!r:.60}", did_you_mean(str(against), tested))
    unknown = [metric for metric in metrics if metric not in known]
    chosen = choose_metrics(unknown, None) if unknown else None
    if title in {*metrics, *(scores.name for scores in released)}:
        raise ConfigurationError(f"another metric is named {title!r}", "give name=")
    mine = function_scores(labelled, function, title, lower_is_more_diverse=lower_is_more_diverse)
    if not mine.has_values():
        reasons = mine.missing(mine.values).values()
        raise ConfigurationError(f"{title} gave no number for any set", f"the first: {next(iter(reasons))}")
    if chosen:
        backends = ScoringBackends(chosen[0].replace(format="completion"))  # as `divbench metrics metaeval` reads
        known |= {scores.name: scores for scores in metric_scores(labelled, chosen[1], backends)}
    columns = [mine, *released, *(known[metric] for metric in metrics)]
    how = Resampling(resamples=resamples, seed=seed)
    return Agreement(
        tuple(evaluate_task(task, columns, against=against, resampling=how) for task in labelled),
        tuple(evaluate_overall(labelled, columns, against=against, resampling=how)),
        mine.reasons(mine.values),
        against,
    )


def _task_names(tasks: Any) -> list[str]:
    named = [tasks] if isinstance(tasks, str | Path) else tasks
    if named is None:
        return []
    if not isinstance(named, Sequence) or not named or not all(isinstance(task, str | Path) for task in named):
        hint = "name tasks, such as 'contest/story_gen', or leave tasks out for the nine with two labels"
        raise ConfigurationError(f"tasks is {tasks!r:.60}", hint)
    return [str(task) for task in named]


def _parts(estimate: Estimate | None) -> tuple[float | None, float | None, float | None]:
    return (None, None, None) if estimate is None else (estimate.value, estimate.low, estimate.high)
