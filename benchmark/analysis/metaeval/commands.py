"""`divbench metrics metaeval`."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchmark.scoring.options import LEXICAL, ProfileOptions
from divbench.core.console import (
    JsonOption,
    data_option,
    deliver,
    err,
    metrics_option,
    output_option,
    statistics_option,
    steps,
)
from divbench.core.errors import ConfigurationError
from divbench.core.option_groups import with_option_groups
from divbench.core.tables import check_report_path
from submissions.untrusted.plain_text import one_line

if TYPE_CHECKING:
    from benchmark.analysis.metaeval.evaluate import TaskReport
    from benchmark.analysis.metaeval.labelled import Labelled
    from benchmark.analysis.metaeval.overall import Overall
    from benchmark.analysis.metaeval.scores import Progress, Scores
    from benchmark.scoring.estimate import Resampling

Metrics = Annotated[list[str] | None, metrics_option(help="Metric of the profile; may be repeated; default: all.")]
TimeLimit = Annotated[float, metrics_option(min=0.01, help="Seconds that --external may take per set.")]
Resamples = Annotated[int, statistics_option(min=100, help="Number of bootstrap resamples over contexts.")]
Seed = Annotated[int, statistics_option(min=0, help="Random seed of the resamples.")]
Numbers = Annotated[Path | None, output_option("--out", help="Output file of all numbers: .json or .md.")]
Mirror = Annotated[
    Path | None,
    data_option(help="Folder with the released files, where they are not built. (env: DIVBENCH_MIRROR)"),
]


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
    models: ProfileOptions = LEXICAL,
    metric: Metrics = None,
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
    released: Annotated[bool, data_option(help="Metric columns released with the texts, tested as well.")] = True,
    against: Annotated[
        str | None, statistics_option(help="Metric to compare all others with, on the same sets and resamples.")
    ] = None,
    time_limit: TimeLimit = 60.0,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    destination: Annotated[
        Path | None, output_option("--out", help="Output file of all numbers: .json, .csv or .md.")
    ] = None,
    mirror: Mirror = None,
    json: JsonOption = False,
) -> None:
    """Test metrics against ground truth: labels by construction, people's scores or decoding settings.

    Without tasks: the nine with two labels (contest, mcdiv, mcdiv_nuggets, each story_gen, resp_gen, prompt_gen).
    Each number has a bootstrap interval over contexts. A set that lacks one metric's score is excluded for all metrics,
    unless that metric has no scores at all.

    The lexical metrics beside the released columns, in a minute:

      divbench metrics metaeval --against released:sent_bert

    A custom metric, in mine.py in this folder, on one task:

      divbench metrics metaeval contest/story_gen --external mine:spread

    Scores that you computed elsewhere:

      divbench metrics metaeval mcdiv --scores my_scores.csv --json

    Your own sweep of a decoding parameter, from divbench generate --sweep:

      divbench metrics metaeval sweep.parquet
    """
    from benchmark.analysis.metaeval.inputs import given_scores, load_tasks, package_metrics
    from benchmark.analysis.metaeval.report import report_of
    from benchmark.scoring.estimate import Resampling

    check_report_path(destination)
    how = Resampling(resamples=resamples, seed=seed)
    labelled = load_tasks(list(tasks or []), mirror)
    with steps() as tell:
        chosen = models.load(metric, format="completion")
        given = given_scores(  # before our metrics, which may take hours: a misspelt name is told at once
            labelled,
            external or [],
            scores or [],
            time_limit,
            tell,
            lower_is_more_diverse=lower_is_more_diverse,
            mirror=mirror,
        )
        columns = [*package_metrics(labelled, chosen, metric, tell), *given]
        if released:
            from benchmark.analysis.metaeval.scores import released_scores

            columns += released_scores(labelled)
        empty = [each for each in columns if each.origin.startswith("external") and not each.has_values()]
        columns = [each for each in columns if each not in empty]  # it would exclude every set for all
        if columns:
            reports, overall = _evaluate(labelled, columns, against, how, tell)
    warn({each.name: each.problems for each in columns} | {each.name: [_no_value(each)] for each in empty})
    if columns:
        document = _document(labelled, [*columns, *empty], reports, overall) | {"profile": chosen.name}
        deliver(report_of(reports, overall, document), destination, as_json=json)
    if empty:
        raise typer.Exit(1)


def _no_value(scores: "Scores") -> str:
    """State why a function's scores are left out."""
    reasons = scores.reasons(list(scores.values))
    reason = max(reasons, key=lambda reason: reasons[reason], default="there is no set")
    return f"left out, because it has no value for any set: {one_line(reason)}"


def _evaluate(
    labelled: "list[Labelled]", columns: "list[Scores]", against: str | None, how: "Resampling", tell: "Progress"
) -> "tuple[list[TaskReport], list[Overall]]":
    from benchmark.analysis.metaeval.evaluate import evaluate_task
    from benchmark.analysis.metaeval.overall import evaluate_overall

    names = [each.name for each in columns]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ConfigurationError(f"two metrics are named {repeated!r}", "rename a file or a column")
    if against is not None and against not in names:
        raise ConfigurationError(f"there are no scores named {against!r}", f"one of {', '.join(names)}")
    reports = []
    for done, task in enumerate(labelled):
        tell(f"evaluating {task.name}", done, len(labelled))
        reports.append(evaluate_task(task, columns, against=against, resampling=how))
    tell("evaluating all tasks together", len(labelled), len(labelled))
    return reports, evaluate_overall(labelled, columns, against=against, resampling=how)


def _document(
    labelled: "list[Labelled]", columns: "list[Scores]", reports: "list[TaskReport]", overall: "list[Overall]"
) -> dict[str, Any]:
    """The JSON document."""
    ids = sorted({name for task in labelled for name in task.set_ids})
    return {
        "tasks": reports,
        "overall": overall,
        "problems": {each.name: list(each.problems) for each in columns if each.problems},
        "missing": {each.name: found for each in columns if (found := each.missing(ids))},
    }


def warn(problems: Mapping[str, Iterable[str]]) -> None:
    """Print the problems of each metric's scores on stderr."""
    for name, own in problems.items():
        for problem in own:
            err().print(f"{name}: {problem}", style="yellow", markup=False)
