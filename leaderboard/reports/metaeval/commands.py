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
Metrics = Annotated[list[str] | None, typer.Option(help="Of the profile, only this; may be repeated.")]
TimeLimit = Annotated[float, typer.Option(min=0.01, help="Seconds that --external may take for one set.")]
Resamples = Annotated[int, typer.Option(min=100, help="Of contexts, for intervals.")]
Mirror = Annotated[
    Path | None,
    typer.Option(help="A folder with the released files, where they are not built. (env: DIVBENCH_MIRROR)"),
]


def metaeval(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            help="contest, mcdiv, mcdiv_nuggets, dectest; a split, as contest/story_gen; FILE.parquet of labelled "
            "sets, as divbench generate --sweep makes them; or gssbench."
        ),
    ] = None,
    profile: Annotated[
        str, typer.Option(help="Metrics to test: lexical (seconds), offline (minutes), paper (models of the papers).")
    ] = "lexical",
    metric: Metrics = None,
    external: Annotated[
        list[str] | None,
        typer.Option(
            help="MODULE:FUNCTION of your own: called with the list of responses, and context= if it takes it."
        ),
    ] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(help="CSV or Parquet with set_id (gssbench: prompt_id) and a column of numbers for each metric."),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(help="gssbench: a folder that divbench score made of a submission to the suite gssbench."),
    ] = None,
    lower_is_more_diverse: Annotated[
        bool, typer.Option("--lower-is-more-diverse", help="Of --external and --scores: negate their numbers.")
    ] = False,
    released: Annotated[bool, typer.Option(help="Test the metric columns released with the texts, too.")] = True,
    against: Annotated[
        str | None,
        typer.Option(help="Compare all others with this metric, on the same sets and resamples."),
    ] = None,
    time_limit: TimeLimit = 60.0,
    lm: Annotated[
        str | None,
        typer.Option(help="The language model of D_Can, as in divbench score: ORG/NAME@COMMIT or a folder."),
    ] = None,
    dtype: Annotated[Dtype, typer.Option(help="Of --lm.")] = "float32",
    device: Annotated[str, typer.Option(help="Of the language model and a reward model, as torch names it.")] = "cpu",
    resamples: Resamples = 1000,
    seed: Annotated[int, typer.Option(help="Of the resamples.")] = 0,
    destination: Annotated[
        Path | None,
        typer.Option("--out", help="Write all numbers to a file: .json, .csv or .md."),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(help="Write an HTML file: how each metric's scores lie at each label."),
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

    _check_outputs(destination, figure)
    named = list(tasks or [])
    how = Resampling(resamples=resamples, seed=seed)
    if _PAIRS in named:
        if named != [_PAIRS]:
            raise ConfigurationError("gssbench has pairs of prompts, the others sets", "ask for it alone")
        _pairs(results, scores or [], lower_is_more_diverse, against, how, destination, json)
        return
    if results is not None:
        raise ConfigurationError("--results is for gssbench", "give --scores with set_ids")
    labelled = _load(named, mirror)
    with progress() as bar:
        work = bar.add_task("", total=None)

        def tell(what: str, done: int, total: int) -> None:
            bar.update(work, description=what, completed=done, total=total)

        columns = _package(labelled, _profile(profile, lm, dtype, device), metric, tell)
        columns += _given(labelled, external or [], scores or [], lower_is_more_diverse, time_limit, tell)
        if released:
            from benchmark.analysis.metaeval.scores import released_scores

            columns += released_scores(labelled)
        reports, overall = _evaluate(labelled, columns, against, how, tell)
    _deliver(labelled, columns, reports, overall, destination, json)
    if figure is not None:
        _draw(labelled, columns, figure)


def heldout(
    profile: Annotated[str, typer.Option(help="Metrics to combine: lexical, offline or paper.")] = "offline",
    metric: Metrics = None,
    external: Annotated[
        list[str] | None,
        typer.Option(help="MODULE:FUNCTION of your own, combined with the others."),
    ] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(help="CSV or Parquet with set_id and a column of numbers for each metric; combined, too."),
    ] = None,
    combine_released: Annotated[
        list[str] | None,
        typer.Option(help="A released column to combine, such as sent_bert; the others are shown beside."),
    ] = None,
    largest: Annotated[int, typer.Option(min=1, max=4, help="Metrics in a combination at most.")] = 3,
    by: Annotated[
        Literal["halves", "kinds"],
        typer.Option(help="halves: choose on half of the contexts; kinds: on two of story, response and prompt."),
    ] = "halves",
    against: Annotated[str, typer.Option(help="Compare all with this.")] = "released:sent_bert",
    time_limit: TimeLimit = 60.0,
    resamples: Resamples = 1000,
    seed: Annotated[int, typer.Option(help="Of the halves and the resamples.")] = 0,
    destination: Annotated[
        Path | None,
        typer.Option("--out", help="Write all numbers to a file: .json or .md."),
    ] = None,
    mirror: Mirror = None,
    json: JsonOption = False,
) -> None:
    """Choose the best combination of metrics on some contexts and report it on the others, win or lose.

    Over the nine tasks with two labels. A combination is a sum of z-scores; every one of up to --largest metrics is
    tried, and the number tried is told. What was not chosen from these sets, the released columns, stands beside.
    """
    from benchmark.analysis.estimate import Resampling
    from benchmark.analysis.metaeval.heldout import halves, held_out, kinds
    from benchmark.analysis.metaeval.scores import released_scores
    from datasets_build.files import readable_json, write_text
    from leaderboard.reports.metaeval.printing import heldout_markdown, print_held_out

    _check_outputs(destination, None, endings=(".json", ".md"))
    labelled = _load([], mirror)
    with progress() as bar:
        work = bar.add_task("", total=None)

        def tell(what: str, done: int, total: int) -> None:
            bar.update(work, description=what, completed=done, total=total)

        features = _package(labelled, _profile(profile, None, "float32", "cpu"), metric, tell)
        features += _given(labelled, external or [], scores or [], False, time_limit, tell)
        released = released_scores(labelled)
        features += [each for each in released if each.name.removeprefix("released:") in (combine_released or [])]
        references = [each for each in released if each not in features]
        folds = halves(labelled, seed) if by == "halves" else kinds(labelled)
        found = []
        for done, fold in enumerate(folds):
            tell(f"{fold.name}: trying combinations", done, len(folds))
            how = Resampling(resamples=resamples, seed=seed)
            found.append(held_out(fold, features, references, largest=largest, against=against, resampling=how))
    if destination is not None:
        document = {"held_out": [each.as_json() for each in found]}
        write_text(destination, heldout_markdown(found) if destination.suffix == ".md" else readable_json(document))
        err().print(f"written: {destination}", markup=False, soft_wrap=True)
    if json:
        print_json({"held_out": [each.as_json() for each in found]})
        return
    for each in found:
        print_held_out(each, out())


def _check_outputs(
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


def _load(named: list[str], mirror: Path | None) -> "list[Labelled]":
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


def _package(
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


def _profile(name: str, lm: str | None, dtype: Dtype, device: str) -> "Profile":
    """The profile, its language model reading these sets as what they are: beginnings that responses go on from."""
    from benchmark.models.hf_lm import find_causal_lm_spec
    from benchmark.scoring.profile_overrides import with_overrides
    from benchmark.scoring.profiles import find_profile, with_reading

    chosen = with_overrides(with_reading(find_profile(name), format="completion"), device=device)
    spec = chosen.causal_lm if lm is None else find_causal_lm_spec(lm)
    return chosen if spec is None else replace(chosen, causal_lm=replace(spec, dtype=dtype, device=device))


def _given(
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
