"""`divbench metrics study`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from benchmark.analysis.metaeval.commands import Metrics, Resamples, Seed
from benchmark.scoring.options import OFFLINE, CacheOption, ProfileOptions
from divbench.core.console import JsonOption, err, metrics_option, models_option, out, output_option, print_json, steps
from divbench.core.errors import ConfigurationError
from divbench.core.option_groups import with_option_groups
from divbench.core.tables import Table, to_terminal, with_interval

if TYPE_CHECKING:
    from benchmark.metrics import Metric
    from benchmark.scoring.estimate import Resampling
    from benchmark.scoring.profiles import Profile
    from leaderboard.data.metric_study.pair_accuracies import PairStudy
    from leaderboard.data.metric_study.record import MetricStudy


@with_option_groups
def metrics_study(
    destination: Annotated[Path, output_option("--out", help="Output folder.")] = Path("metric-study"),
    models: ProfileOptions = OFFLINE,
    task: Annotated[
        list[str] | None,
        metrics_option(help="Task, such as contest or mcdiv/story_gen; may be repeated; default: all."),
    ] = None,
    metric: Metrics = None,
    merge: Annotated[
        bool,
        metrics_option("--merge", help="Merge mode: keeps the results of other metrics in OUT/metric_study.json."),
    ] = False,
    released: Annotated[bool, metrics_option(help="Metric columns released with the texts, studied as well.")] = True,
    gss: Annotated[
        list[Path] | None,
        metrics_option(help="Result folder of the suite gssbench, for accuracies on prompt pairs; may be repeated."),
    ] = None,
    most_read: Annotated[
        int,
        models_option(
            min=1, help="Maximum number of responses per set for the language model; larger sets would take hours."
        ),
    ] = 10,
    worst: Annotated[
        int, output_option(min=0, max=20, help="Number of sets to list as a metric's worst disagreements.")
    ] = 5,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    cache: CacheOption = None,
    mirror: Annotated[
        Path | None,
        metrics_option(help="Folder with the released files, where they are not built. (env: DIVBENCH_MIRROR)"),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Study the metrics for the board's page Metrics: how they agree with people, labels, and each other.

    Writes OUT/metric_study.json (numbers without texts), OUT/disagreements.parquet (the texts of the sets that each
    metric ranks farthest from people) and, with --gss, OUT/gssbench.json. All sets with labels are read: conTest,
    McDiv, McDiv_nuggets and decTest. Surprisals are cached, so an interrupted run can be continued.

    OUT/scores.parquet keeps each metric's value of each set, so a repeated command computes only metrics whose
    signature is new. Without the file, --metric NEW --merge adds a metric to the study in OUT; its rank agreement with
    the others is then unknown.

    With the bundled models, without surprisals of decTest's sets of ten, in three quarters of an hour:

      divbench metrics study --most-read 5 --out study

    On one dataset, with lexical metrics, in half a minute:

      divbench metrics study --profile lexical --task contest --out study
    """
    from benchmark.analysis.metaeval.labelled import load_labelled
    from benchmark.analysis.metaeval.scores import released_scores
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.estimate import Resampling
    from benchmark.surprisal.cache import default_cache_path
    from leaderboard.data.metric_study.build import make_study, study_tasks
    from leaderboard.data.metric_study.files import (
        PAIRS_FILE,
        SCORES_FILE,
        STUDY_FILE,
        TEXTS_FILE,
        disagreement_texts,
        read_record,
        write_record,
        write_texts,
    )
    from leaderboard.data.metric_study.merge import merged
    from leaderboard.data.metric_study.record import MetricStudy
    from leaderboard.data.metric_study.score_file import study_scores

    chosen = models.load(metric, format="completion")
    wanted = _metrics(chosen, metric)
    how = Resampling(resamples=resamples, seed=seed)
    pairs = _pairs(gss or [], how)
    if destination.exists() and not destination.is_dir():
        raise ConfigurationError(f"{destination} is not a folder", "name an output folder")
    earlier = read_record(destination / STUDY_FILE, MetricStudy) if merge else None
    tasks = [load_labelled(name, mirror=mirror) for name in study_tasks(task or [])]
    destination.mkdir(parents=True, exist_ok=True)  # only now, after all checks of the arguments
    with steps() as tell:
        backends = ScoringBackends(chosen, cache or default_cache_path())
        columns = study_scores(tasks, wanted, backends, most_read, destination / SCORES_FILE, tell)
        columns += released_scores(tasks) if released else []
        study = make_study(tasks, columns, chosen, resampling=how, worst=worst, progress=tell)
    texts = disagreement_texts(study, tasks)
    if earlier is not None:
        study = merged(study, earlier)
    written = [destination / TEXTS_FILE, destination / STUDY_FILE]
    write_texts(written[0], texts)
    write_record(written[1], study)
    if pairs is not None:
        written.append(destination / PAIRS_FILE)
        write_record(written[-1], pairs)
    for path in written:
        err().print(f"written: {path}", markup=False, soft_wrap=True)
    if json:
        print_json({"written": [str(path) for path in written], "study": study.model_dump(mode="json")})
    else:
        _print(study)


def _metrics(profile: "Profile", wanted: list[str] | None) -> "list[Metric]":
    """Return the metrics of a profile that have a direction, or those of them that were named."""
    from benchmark.scoring.inputs import computed

    there = {each.id: each for each in computed(profile.metrics()) if each.direction}
    for name in wanted or []:
        if name not in there:
            message = f"the profile {profile.name} has no diversity metric {name!r}"
            raise ConfigurationError(message, f"one of {', '.join(there)}")
    return [each for name, each in there.items() if not wanted or name in wanted]


def _pairs(folders: list[Path], how: "Resampling") -> "PairStudy | None":
    """Evaluate results on GSSBench, with the paper's accuracies; called before the long work, because it may fail."""
    if not folders:
        return None
    from benchmark.analysis.gss.accuracy import Model, choose, evaluate, names_of, published_blocks
    from benchmark.analysis.gss.pairs import load_pairs, sanity_scores, scorers_of_result
    from benchmark.analysis.reproduce.cells import read_published
    from benchmark.metrics.metric import Missing
    from benchmark.scoring.results import read_result
    from divbench.core.errors import InputError
    from leaderboard.data.metric_study.pair_accuracies import pair_study

    results, scorers = [], []
    for folder in folders:
        found = read_result(folder)
        if isinstance(found, Missing):
            raise InputError(f"{folder}: {found.reason}", "score it again: divbench score")
        results.append(found)
        scorers.append(scorers_of_result(folder))
    suites = sorted({f"{found.suite}@{found.suite_revision}" for found in results})
    if len(suites) > 1:
        raise InputError(f"--gss: results of several suites: {', '.join(suites)}", "give those of one")
    models = [
        Model(name, found, *choose(found, own, None))
        for name, found, own in zip(names_of(results), results, scorers, strict=True)
    ]
    pairs = load_pairs()
    return pair_study(
        evaluate(
            pairs,
            suites[0],
            models,
            sanity_scores(pairs, how.seed),
            how,
            published=published_blocks(read_published()["gssbench-a10"]),
        )
    )


def _print(study: "MetricStudy") -> None:
    """Print the means over tasks, and the metric that agrees best with people on each."""
    if study.overall:
        rows = []
        for each in study.overall:
            own = each.measures
            numbers = (own.get("spearman"), own.get("oca_directional"), own.get("roc_auc"))
            rows.append((each.metric, *(with_interval(one[0] if one else None, None, None) for one in numbers)))
        columns = ("metric", "Spearman", "OCA", "AUC")
        out().print(to_terminal(Table("Means over the tasks with two labels", columns, rows)))
    for task in study.tasks:
        known = [(found.value, each.metric) for each in task.results if (found := each.measures.get("human_spearman"))]
        ranked = sorted(((value, metric) for value, metric in known if value is not None), reverse=True)
        best = f"; best with people: {ranked[0][1]}, {ranked[0][0]:.3f}" if ranked else ""
        out().print(f"{task.name}: {task.evaluated:,} of {task.sets:,} sets{best}", markup=False)
