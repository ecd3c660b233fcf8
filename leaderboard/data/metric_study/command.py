"""`divbench metrics study`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from benchmark.scoring.options import OFFLINE, ProfileOptions, metrics_named
from divbench.core.console import (
    JsonOption,
    err,
    metrics_option,
    out,
    output_option,
    print_json,
    steps,
    with_option_groups,
)
from divbench.core.errors import ConfigurationError
from divbench.core.tables import Table, number, to_terminal

if TYPE_CHECKING:
    import pandas as pd

    from leaderboard.data.metric_study.study import MetricStudy


@with_option_groups
def metrics_study(
    destination: Annotated[Path, output_option("--out", help="Output folder.")] = Path("metric-study"),
    models: ProfileOptions = OFFLINE,
    task: Annotated[
        list[str] | None,
        metrics_option(help="Task, such as contest or mcdiv/story_gen; may be repeated; default: all."),
    ] = None,
    metric: Annotated[
        list[str] | None, metrics_option(help="Metric of the profile; may be repeated; default: all.")
    ] = None,
    gss: Annotated[
        list[Path] | None,
        metrics_option(help="Result folder of the suite gssbench, for accuracies on prompt pairs; may be repeated."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Study the metrics for the board's page Metrics: how they agree with people, labels, and each other.

    Writes OUT/metric_study.parquet and OUT/disagreements.parquet (numbers without texts), OUT/texts.parquet (the texts
    of the sets that each metric ranks farthest from people) and, with --gss, OUT/gssbench.parquet. All sets with labels
    are read: conTest, McDiv, McDiv_nuggets and decTest; the language model reads no set of more than five responses.

    OUT/scores.parquet keeps each metric's value of each set, so a repeated command computes only metrics whose
    signature is new. With --metric, the results of other metrics in OUT are kept; their rank agreement with the new
    ones is unknown.

    With the bundled models, in three quarters of an hour:

      divbench metrics study --out study

    On one dataset, with lexical metrics, in half a minute:

      divbench metrics study --profile lexical --task contest --out study
    """
    from benchmark.analysis.metaeval.labelled import load_labelled
    from benchmark.analysis.metaeval.scores import released_scores
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.inputs import computed
    from benchmark.surprisal.cache import default_cache_path
    from leaderboard.data.metric_study.build import make_study, merged, study_scores, study_tasks
    from leaderboard.data.metric_study.study import (
        PAIRS_FILE,
        SCORES_FILE,
        STUDY_FILE,
        read_study,
        write_study,
        write_table,
    )

    chosen = models.load(metric, format="completion", outer_space="kept")
    metrics = [m for m in computed(metrics_named(metric, chosen)) if m.direction]
    if metric and len(metrics) < len(metric):
        raise ConfigurationError("a metric has no direction or comes with a submission", "name metrics of diversity")
    pairs = _pair_accuracies(gss) if gss else None
    if destination.exists() and not destination.is_dir():
        raise ConfigurationError(f"{destination} is not a folder", "name an output folder")
    earlier = read_study(destination / STUDY_FILE) if metric and (destination / STUDY_FILE).is_file() else None
    tasks = [load_labelled(name) for name in study_tasks(task or [])]
    destination.mkdir(parents=True, exist_ok=True)  # only now, after all checks of the arguments
    with steps() as progress:
        backends = ScoringBackends(chosen, default_cache_path())
        columns = study_scores(tasks, metrics, backends, destination / SCORES_FILE, progress)
        columns += released_scores(tasks) if earlier is None else []
        study = make_study(tasks, columns, chosen, progress=progress)
    if earlier is not None:
        study = merged(study, earlier)
    written = write_study(destination, study)
    if pairs is not None:
        write_table(destination / PAIRS_FILE, pairs)
        written.append(destination / PAIRS_FILE)
    for path in written:
        err().print(f"written: {path}", markup=False, soft_wrap=True)
    if json:
        print_json({"written": [str(path) for path in written]})
    else:
        _print(study)


def _pair_accuracies(folders: list[Path]) -> "pd.DataFrame":
    """Evaluate results on GSSBench, beside the paper's accuracies."""
    from benchmark.analysis.gss.accuracy import Model, choose, evaluate, names_of, published_blocks
    from benchmark.analysis.gss.pairs import load_pairs, sanity_scores, scorers_of_result
    from benchmark.analysis.reproduce.cells import read_published
    from benchmark.scoring.estimate import Resampling
    from benchmark.scoring.results import require_result
    from divbench.core.errors import InputError
    from leaderboard.data.metric_study.study import pair_table

    results = [require_result(folder) for folder in folders]
    suites = sorted({f"{result.suite}@{result.suite_revision}" for result in results})
    if len(suites) > 1:
        raise InputError(f"--gss: results of several suites: {', '.join(suites)}", "give those of one")
    models = [
        Model(name, result, *choose(result, scorers_of_result(folder), None))
        for name, result, folder in zip(names_of(results), results, folders, strict=True)
    ]
    pairs, resampling = load_pairs(), Resampling()
    published = published_blocks(read_published()["gssbench-a10"])
    references = sanity_scores(pairs, resampling.seed)
    return pair_table(evaluate(pairs, suites[0], models, references, resampling, published=published))


def _print(study: "MetricStudy") -> None:
    """Print the means over tasks, and the metric that agrees best with people on each."""
    from leaderboard.data.metric_study.study import OVERALL, UNSCORED

    measures = ("spearman", "oca_directional", "roc_auc")
    means = [study.measured(OVERALL, measure) for measure in measures]
    rows = [(name, *(number(mean[name].value if name in mean else None) for mean in means)) for name in means[0]]
    if rows:
        columns = ("metric", "Spearman", "OCA", "AUC")
        out().print(to_terminal(Table("Means over the tasks with two labels", columns, rows)))
    evaluated, sets = study.counts("spearman"), study.counts(UNSCORED)
    for task in study.tasks("spearman"):
        known = study.measured(task, "human_spearman")
        ranked = sorted((-rho.value, name) for name, rho in known.items() if rho.value is not None)
        best = f"; best with people: {ranked[0][1]}, {-ranked[0][0]:.3f}" if ranked else ""
        out().print(f"{task}: {evaluated[task]:,} of {sets[task]:,} sets{best}", markup=False)
