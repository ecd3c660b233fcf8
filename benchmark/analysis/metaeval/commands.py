"""`divbench metrics metaeval`."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchmark.scoring.options import SEMANTIC, ProfileOptions
from divbench.core.console import (
    JsonOption,
    data_option,
    deliver,
    err,
    metrics_option,
    output_option,
    statistics_option,
    steps,
    with_option_groups,
)
from divbench.core.errors import ConfigurationError
from divbench.core.tables import check_report_path
from submissions.untrusted.plain_text import one_line

if TYPE_CHECKING:
    from benchmark.analysis.metaeval.evaluate import Overall, TaskReport
    from benchmark.analysis.metaeval.labelled import Labelled
    from benchmark.analysis.metaeval.scores import Progress, Scores
    from benchmark.metrics import Metric
    from benchmark.scoring.estimate import Resampling
    from benchmark.scoring.profiles import Profile


@with_option_groups
def metaeval(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            help=(
                "Tasks: contest, mcdiv, mcdiv_nuggets, dectest; a split, such as contest/story_gen; or FILE.parquet of "
                "labelled sets, as divbench generate --sweep writes."
            )
        ),
    ] = None,
    models: ProfileOptions = SEMANTIC,
    metric: Annotated[
        list[str] | None, metrics_option(help="Metric of the profile; may be repeated; default: all.")
    ] = None,
    external: Annotated[
        list[str] | None,
        metrics_option(
            help=(
                "Custom metric, MODULE:FUNCTION, called with the list of responses, and with context= if it takes it."
            )
        ),
    ] = None,
    scores: Annotated[
        list[Path] | None,
        metrics_option(
            help="Scores file (.csv or .parquet) with set_id and a numeric column per metric, or "
            "qwen25_curves: metrics of surprisals from the released results of Qwen2.5-3B."
        ),
    ] = None,
    lower_is_more_diverse: Annotated[
        bool, data_option("--lower-is-more-diverse", help="Negation of the scores of --external and --scores.")
    ] = False,
    against: Annotated[
        str | None, statistics_option(help="Metric to compare all others with, on the same sets and resamples.")
    ] = None,
    resamples: Annotated[int, statistics_option(min=100, help="Number of bootstrap resamples over contexts.")] = 1000,
    destination: Annotated[
        Path | None, output_option("--out", help="Output file of all numbers: .json, .csv or .md.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Test metrics against ground truth: labels by construction, people's scores or decoding settings.

    Without tasks: the nine with two labels (contest, mcdiv, mcdiv_nuggets, each story_gen, resp_gen, prompt_gen).
    Each number has a bootstrap interval over contexts. A set that lacks one metric's score is excluded for all metrics,
    unless that metric has no scores at all. The columns released with the texts are tested as well.

    The metrics of words beside the released columns, in a minute (without --profile, embeddings and classes, too):

      divbench metrics metaeval --profile lexical --against released:sent_bert

    A custom metric, in mine.py in this folder, on one task:

      divbench metrics metaeval contest/story_gen --external mine:spread

    Scores that you computed elsewhere:

      divbench metrics metaeval mcdiv --scores my_scores.csv --json

    Your own sweep of a decoding parameter, from divbench generate --sweep:

      divbench metrics metaeval sweep.parquet
    """
    from benchmark.analysis.metaeval.labelled import load_tasks
    from benchmark.analysis.metaeval.report import report_of
    from benchmark.analysis.metaeval.scores import metric_scores, released_scores
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.estimate import Resampling
    from benchmark.surprisal.cache import default_cache_path

    check_report_path(destination)
    labelled = load_tasks(tasks or [])
    with steps() as progress:
        profile = models.load(metric, format="completion")
        # First, because our own metrics may take hours: a misspelt name is reported at once.
        own = _own_scores(labelled, scores or [], external or [], lower_is_more_diverse, progress)
        backends = ScoringBackends(profile, default_cache_path())
        columns = metric_scores(labelled, _profile_metrics(profile, metric), backends, progress)
        columns += [*own, *released_scores(labelled)]
        empty = [column for column in columns if column.origin.startswith("external") and not column.has_values()]
        columns = [column for column in columns if column not in empty]  # it would exclude every set for all
        if columns:
            reports, overall = _evaluate(labelled, columns, against, Resampling(resamples), progress)
    for column in columns:
        for problem in column.problems:
            _warn(column, problem)
    for column in empty:
        reasons = column.reasons(column.values)
        reason = max(reasons, key=lambda reason: reasons[reason], default="there is no set")
        _warn(column, f"left out, because it has no value for any set: {one_line(reason)}")
    if note := backends.beyond_note():
        err().print(note, markup=False, soft_wrap=True)
    if columns:
        ids = sorted({name for task in labelled for name in task.set_ids})
        document: dict[str, Any] = {
            "tasks": reports,
            "overall": overall,
            "problems": {column.name: list(column.problems) for column in columns if column.problems},
            "missing": {column.name: missing for column in (*columns, *empty) if (missing := column.missing(ids))},
            "profile": profile.name,
        }
        deliver(report_of(reports, overall, document), destination, as_json=json)
    if empty:
        raise typer.Exit(1)


def _own_scores(
    labelled: "list[Labelled]", paths: list[Path], functions: list[str], lower: bool, progress: "Progress"
) -> "list[Scores]":
    """Collect the scores in files or of Qwen2.5-3B's curves, and those of functions; these print to stderr."""
    from benchmark.analysis.metaeval import qwen25
    from benchmark.analysis.metaeval.scores import file_scores, find_function, function_scores, unique_sets

    known = unique_sets(labelled)
    columns = []
    for path in paths:
        if str(path) == qwen25.NAME:
            columns += qwen25.curve_scores(labelled)
        else:
            columns += file_scores(path, "set_id", known, lower_is_more_diverse=lower)
    with redirect_stdout(sys.stderr):
        for name in functions:
            function = find_function(name)
            columns.append(function_scores(labelled, function, name, lower_is_more_diverse=lower, progress=progress))
    return columns


def _profile_metrics(profile: "Profile", names: list[str] | None) -> "list[Metric]":
    """Return the named metrics of a profile, or all that have a direction."""
    from benchmark.scoring.inputs import computed

    available = {metric.id: metric for metric in computed(profile.metrics())}
    for name in names or []:
        if name not in available:
            hint = f"one of {', '.join(available)}; or with another --profile"
            raise ConfigurationError(f"the profile {profile.name} has no metric {name!r}", hint)
    if names:
        return [available[name] for name in names]
    return [metric for metric in available.values() if metric.direction]


def _evaluate(
    labelled: "list[Labelled]",
    columns: "list[Scores]",
    against: str | None,
    resampling: "Resampling",
    progress: "Progress",
) -> "tuple[list[TaskReport], list[Overall]]":
    from benchmark.analysis.metaeval.evaluate import evaluate_overall, evaluate_task

    names = [column.name for column in columns]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ConfigurationError(f"two metrics are named {repeated!r}", "rename a file or a column")
    if against is not None and against not in names:
        raise ConfigurationError(f"there are no scores named {against!r}", f"one of {', '.join(names)}")
    reports = []
    for done, task in enumerate(labelled):
        progress(f"evaluating {task.name}", done, len(labelled))
        reports.append(evaluate_task(task, columns, against=against, resampling=resampling))
    progress("evaluating all tasks together", len(labelled), len(labelled))
    return reports, evaluate_overall(labelled, columns, against=against, resampling=resampling)


def _warn(scores: "Scores", problem: str) -> None:
    err().print(f"{scores.name}: {problem}", style="yellow", markup=False)
