"""`divbench metaeval`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from datasets_build.console import JsonOption, err, out, print_json, progress
from datasets_build.errors import ConfigurationError

if TYPE_CHECKING:
    from benchmark.analysis.estimate import Resampling
    from benchmark.analysis.metaeval.evaluate import TaskReport
    from benchmark.analysis.metaeval.labelled import Labelled
    from benchmark.analysis.metaeval.overall import Overall
    from benchmark.analysis.metaeval.scores import Progress, Scores
    from benchmark.scoring.profiles import Profile

Dtype = Literal["float32", "bfloat16", "float16"]
_PAIRS = "gssbench"
# Options that both commands have.
Metrics = Annotated[
    list[str] | None,
    typer.Option(help="Metric of the profile; may be repeated; default: all.", rich_help_panel="Metrics"),
]
TimeLimit = Annotated[
    float, typer.Option(min=0.01, help="Seconds that --external may take per set.", rich_help_panel="Metrics")
]
Resamples = Annotated[
    int, typer.Option(min=100, help="Number of bootstrap resamples over contexts.", rich_help_panel="Statistics")
]
Mirror = Annotated[
    Path | None,
    typer.Option(
        help="Folder with the released files, where they are not built. (env: DIVBENCH_MIRROR)", rich_help_panel="Data"
    ),
]


def metaeval(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            help=(
                "Tasks: contest, mcdiv, mcdiv_nuggets, dectest; a split, as contest/story_gen; FILE.parquet of "
                "labelled sets, as divbench generate --sweep writes; or gssbench."
            )
        ),
    ] = None,
    profile: Annotated[
        str,
        typer.Option(
            help="Profile of metrics to test: lexical (seconds), offline (minutes), paper (the papers' models).",
            rich_help_panel="Metrics",
        ),
    ] = "lexical",
    metric: Metrics = None,
    external: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "Function of your own, MODULE:FUNCTION, called with the list of responses, and with context= if "
                "it takes it."
            ),
            rich_help_panel="Metrics",
        ),
    ] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            help="Scores file (.csv or .parquet) with set_id (gssbench: prompt_id) and a numeric column per metric.",
            rich_help_panel="Metrics",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(help="Result folder of a gssbench submission, for the task gssbench.", rich_help_panel="Metrics"),
    ] = None,
    lower_is_more_diverse: Annotated[
        bool,
        typer.Option(
            "--lower-is-more-diverse",
            help="Negation of the numbers of --external and --scores.",
            rich_help_panel="Metrics",
        ),
    ] = False,
    released: Annotated[
        bool, typer.Option(help="Metric columns released with the texts, tested as well.", rich_help_panel="Metrics")
    ] = True,
    against: Annotated[
        str | None,
        typer.Option(
            help="Metric to compare all others with, on the same sets and resamples.", rich_help_panel="Statistics"
        ),
    ] = None,
    time_limit: TimeLimit = 60.0,
    lm: Annotated[
        str | None,
        typer.Option(
            help="Language model of D_Can, as in divbench score: ORG/NAME@COMMIT or a folder.", rich_help_panel="Models"
        ),
    ] = None,
    dtype: Annotated[
        Dtype, typer.Option(help="Precision of the language model.", rich_help_panel="Models")
    ] = "float32",
    device: Annotated[
        str, typer.Option(help="Device of the language and reward models: cpu, cuda, cuda:1.", rich_help_panel="Models")
    ] = "cpu",
    resamples: Resamples = 1000,
    seed: Annotated[int, typer.Option(help="Random seed of the resamples.", rich_help_panel="Statistics")] = 0,
    destination: Annotated[
        Path | None,
        typer.Option("--out", help="Output file of all numbers: .json, .csv or .md.", rich_help_panel="Output"),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Output file of the scores at each label: .html.", rich_help_panel="Output")
    ] = None,
    mirror: Mirror = None,
    json: JsonOption = False,
) -> None:
    """Test metrics against what is known: labels by construction, people's scores, decoding settings, prompt pairs.

    Without tasks: the nine with two labels (contest, mcdiv, mcdiv_nuggets, each story_gen, resp_gen, prompt_gen).
    Each number has a bootstrap interval over contexts. A set that one metric has no score for is left out for all.

    The lexical metrics beside the released columns, in a minute:

      divbench metaeval --against released:sent_bert

    A metric of your own, in mine.py of this folder, on one task, with a figure:

      divbench metaeval contest/story_gen --external mine:spread --figure spread.html

    Scores that you computed elsewhere:

      divbench metaeval mcdiv --scores my_scores.csv --json

    A sweep of a decoding parameter of your own, from divbench generate --sweep:

      divbench metaeval sweep.parquet
    """
    from benchmark.analysis.estimate import Resampling

    check_outputs(destination, figure)
    named = list(tasks or [])
    how = Resampling(resamples=resamples, seed=seed)
    if _PAIRS in named:
        if named != [_PAIRS]:
            raise ConfigurationError("gssbench has pairs of prompts, the others sets", "ask for it alone")
        _pairs(results, scores or [], lower_is_more_diverse, against, how, destination, json)
        return
    if results is not None:
        raise ConfigurationError("--results is for gssbench", "give --scores with set_ids")
    labelled = load_tasks(named, mirror)
    with progress() as bar:
        work = bar.add_task("", total=None)

        def tell(what: str, done: int, total: int) -> None:
            bar.update(work, description=what, completed=done, total=total)

        columns = package_metrics(labelled, profile_of(profile, lm, dtype, device), metric, tell)
        columns += given_scores(labelled, external or [], scores or [], lower_is_more_diverse, time_limit, tell)
        if released:
            from benchmark.analysis.metaeval.scores import released_scores

            columns += released_scores(labelled)
        reports, overall = _evaluate(labelled, columns, against, how, tell)
    _deliver(labelled, columns, reports, overall, destination, json)
    if figure is not None:
        _draw(labelled, columns, figure)


def check_outputs(
    destination: Path | None, figure: Path | None, endings: tuple[str, ...] = (".json", ".csv", ".md")
) -> None:
    """Before the work, not after."""
    if destination is not None and destination.suffix not in endings:
        said = f"{', '.join(endings[:-1])} nor {endings[-1]}"
        raise ConfigurationError(f"{destination} is neither {said}", "name it by what it is to be")
    if figure is not None:
        from datasets_build.errors import need

        need("plotly", "board")
    for path in (destination, figure):
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise ConfigurationError(f"{path} cannot be written", "name a file in a folder that is there")


def load_tasks(named: list[str], mirror: Path | None) -> "list[Labelled]":
    """The tasks of those names, and of files; without any the nine with two labels."""
    from benchmark.analysis.metaeval.labelled import BINARY_TASKS, load_labelled, task_names
    from benchmark.analysis.metaeval.set_files import SUFFIX, check_apart, read_set_file

    files = [Path(name) for name in dict.fromkeys(named) if name.endswith(SUFFIX)]
    tasks = task_names([name for name in named if not name.endswith(SUFFIX)]) if named else BINARY_TASKS
    made = [read_set_file(path) for path in files]  # first: others are larger
    made = [load_labelled(name, mirror=mirror) for name in tasks] + made
    if files:
        check_apart(made)
    return made


def package_metrics(
    labelled: "list[Labelled]", chosen: "Profile", wanted: list[str] | None, tell: "Progress"
) -> "list[Scores]":
    """The scores of the profile's metrics that have a direction, or of those that were named."""
    from benchmark.analysis.metaeval.scores import metric_scores
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.surprisal.cache import default_cache_path

    there = {metric.id: metric for metric in chosen.metrics() if metric.reads != "reported"}
    unknown = [name for name in wanted or [] if name not in there]
    if unknown:
        raise ConfigurationError(
            f"the profile {chosen.name} has no metric {unknown[0]!r}",
            f"one of {', '.join(there)}; or with another --profile",
        )
    metrics = [there[name] for name in wanted] if wanted else [m for m in there.values() if m.direction]
    return metric_scores(labelled, metrics, ScoringBackends(chosen, default_cache_path()), tell)


def profile_of(name: str, lm: str | None, dtype: Dtype, device: str) -> "Profile":
    """The profile, its language model reading these sets as what they are: beginnings that responses go on from."""
    from benchmark.models.hf_lm import find_causal_lm_spec
    from benchmark.scoring.profile_overrides import with_overrides
    from benchmark.scoring.profiles import find_profile, with_reading

    chosen = with_overrides(with_reading(find_profile(name), format="completion"), device=device)
    spec = chosen.causal_lm if lm is None else find_causal_lm_spec(lm)
    return chosen if spec is None else replace(chosen, causal_lm=replace(spec, dtype=dtype, device=device))


def given_scores(
    labelled: "list[Labelled]",
    external: list[str],
    files: list[Path],
    lower_is_more_diverse: bool,
    time_limit: float,
    tell: "Progress",
) -> "list[Scores]":
    """The scores of functions and files."""
    from benchmark.analysis.metaeval.scores import external_scores, file_scores, unique_sets

    known = unique_sets(labelled).keys()
    made = []
    for path in files:
        made += file_scores(path, "set_id", known, lower_is_more_diverse=lower_is_more_diverse)
    for name in external:
        made.append(
            external_scores(
                labelled, name, lower_is_more_diverse=lower_is_more_diverse, time_limit=time_limit, progress=tell
            )
        )
    return made


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


def _deliver(
    labelled: "list[Labelled]",
    columns: "list[Scores]",
    reports: "list[TaskReport]",
    overall: "list[Overall]",
    destination: Path | None,
    json: bool,
) -> None:
    """To the terminal, and to a file."""
    from datasets_build.files import readable_json, write_text
    from leaderboard.reports.metaeval.printing import LEGEND, as_csv, as_markdown, print_overall, print_report

    ids = sorted({name for task in labelled for name in task.set_ids})
    document = {
        "tasks": [report.as_json() for report in reports],
        "overall": [each.as_json() for each in overall],
        "problems": {each.name: list(each.problems) for each in columns if each.problems},
        "missing": {each.name: found for each in columns if (found := each.missing(ids))},
    }
    for each in columns:
        for problem in each.problems:
            err().print(f"{each.name}: {problem}", style="yellow", markup=False)
    if destination is not None:
        kinds = {".json": readable_json(document), ".csv": as_csv(reports), ".md": as_markdown(reports, overall)}
        write_text(destination, kinds[destination.suffix])
        err().print(f"written: {destination}", markup=False, soft_wrap=True)
    if json:
        print_json(document)
        return
    for report in reports:
        print_report(report, out())
    if overall:
        print_overall(overall, out())
    out().print(LEGEND, markup=False)


def _draw(labelled: "list[Labelled]", columns: "list[Scores]", path: Path) -> None:
    from datasets_build.files import write_text
    from leaderboard.reports.metaeval.figure import label_figure, page

    write_text(path, page([label_figure(task, columns) for task in labelled], "Scores by label"))
    err().print(f"written: {path}", markup=False, soft_wrap=True)


def _pairs(
    results: Path | None,
    files: list[Path],
    lower_is_more_diverse: bool,
    against: str | None,
    how: "Resampling",
    destination: Path | None,
    json: bool,
) -> None:
    """GSSBench: does a metric score the prompt with the larger generation space higher?"""
    from benchmark.analysis.metaeval import pair_reports
    from benchmark.analysis.metaeval.prompt_pairs import load_pairs
    from datasets_build.files import readable_json, write_text
    from leaderboard.reports.metaeval import pairs

    rows = load_pairs()
    scorers = pair_reports.collect(rows, results, files, lower_is_more_diverse)
    document = pair_reports.evaluate(rows, scorers, against, how)
    for name, problems in document.problems.items():
        for problem in problems:
            err().print(f"{name}: {problem}", style="yellow", markup=False)
    if destination is not None:
        kinds = {
            ".json": readable_json(document.as_json()),
            ".csv": pairs.as_csv(document),
            ".md": pairs.as_markdown(document),
        }
        write_text(destination, kinds[destination.suffix])
    if json:
        print_json(document.as_json())
    else:
        pairs.print_pairs(document, out())
