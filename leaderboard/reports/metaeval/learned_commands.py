"""`divbench metrics learn`."""

from pathlib import Path
from typing import Annotated

from divbench.core.console import JsonOption, deliver, metrics_option, output_option, statistics_option, steps
from divbench.core.tables import check_report_path
from leaderboard.reports.metaeval.commands import Mirror, Numbers, Resamples


def learn(
    scheme: Annotated[
        list[str] | None,
        statistics_option(
            help="Hold-out scheme: within tasks, all tasks, across generation tasks or across datasets; default: all."
        ),
    ] = None,
    version: Annotated[
        list[str] | None,
        metrics_option(
            help="Version to fit: open (no language model), surprisals (adds those of Qwen2.5-3B) or sent-bert (also "
            "adds sent-BERT's released scores); default: all."
        ),
    ] = None,
    features: Annotated[
        Path | None,
        metrics_option(
            help="Parquet file of pair features: read if it exists, otherwise computed in minutes and written."
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        metrics_option(
            help="Scores file (.csv or .parquet) with set_id and a column for each metric; missing ones are computed."
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        output_option(help="Output file of the weights of learned_diversity, fitted on all tasks: .json."),
    ] = None,
    resamples: Resamples = 1000,
    seed: Annotated[int, statistics_option(min=0, help="Random seed of the folds and the resamples.")] = 0,
    destination: Numbers = None,
    mirror: Mirror = None,
    json: JsonOption = False,
) -> None:
    """Fit metrics to labels and report how well they do on held-out sets, compared with sent-BERT.

    The tasks are the nine with two labels. Features and penalty are chosen by cross-validation within the training
    sets, no context or set is on both sides, and the number of candidates is reported. Surprisals are the released
    ones of Qwen2.5-3B.

    Example: divbench metrics learn --version open --features pairs.parquet --out learned.md
    """
    from benchmark.analysis.estimate import Resampling
    from benchmark.analysis.learned.candidates import VERSIONS
    from benchmark.analysis.learned.study import SCHEMES, fitted_weights, run, table_of
    from benchmark.analysis.metaeval.scores import released_scores
    from divbench.core.errors import ConfigurationError, did_you_mean
    from divbench.core.files import atomic_file
    from leaderboard.reports.metaeval.inputs import learned_features, load_tasks
    from leaderboard.reports.metaeval.report import learned_report

    check_report_path(destination, endings=(".md", ".json"))
    check_report_path(weights, endings=(".json",))
    if features is not None and not features.is_file():
        check_report_path(features, endings=(".parquet",))
    for given, known in ((scheme, SCHEMES), (version, VERSIONS)):
        if unknown := [name for name in given or [] if name not in known]:
            raise ConfigurationError(f"there is no {unknown[0]!r}", did_you_mean(unknown[0], list(known)))
    labelled = load_tasks([], mirror)
    with steps() as tell:
        wanted = {name: VERSIONS[name] for name in version or VERSIONS}
        needed = {feature for tried in wanted.values() for each in tried for feature in each.features}
        columns = learned_features(labelled, needed, features, scores, mirror, tell)
        [reference] = released_scores(labelled, ["sent_bert"])
        table = table_of(labelled, columns)
        how = Resampling(resamples=resamples, seed=seed)
        found = [
            run(name, way, labelled, table, tried, reference, resampling=how, tell=tell)
            for way in scheme or SCHEMES
            for name, tried in wanted.items()
        ]
        if weights is not None:
            with atomic_file(weights) as temporary:
                temporary.write_text(fitted_weights(table), encoding="utf-8")
    deliver(learned_report(found), destination, as_json=json)
