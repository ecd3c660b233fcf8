"""`divbench metrics heldout`."""

from pathlib import Path
from typing import Annotated, Literal

from divbench.core.console import JsonOption, deliver, metrics_option, statistics_option, steps
from divbench.core.tables import check_report_path
from leaderboard.reports.metaeval.commands import Metrics, Mirror, Numbers, Resamples, TimeLimit, warn


def heldout(
    profile: Annotated[
        str, metrics_option(help="Profile of metrics to combine: lexical, offline or paper.")
    ] = "offline",
    metric: Metrics = None,
    external: Annotated[
        list[str] | None,
        metrics_option(help="Custom metric, MODULE:FUNCTION, larger for more diverse; combined with the others."),
    ] = None,
    scores: Annotated[
        list[Path] | None,
        metrics_option(
            help="Scores file (.csv or .parquet) with set_id and a numeric column per metric, or qwen25_curves "
            "(metrics from the released results of Qwen2.5-3B), larger for more diverse; combined as well."
        ),
    ] = None,
    combine_released: Annotated[
        list[str] | None,
        metrics_option(help="Released column to combine, such as sent_bert; the others are shown for comparison."),
    ] = None,
    largest: Annotated[int, metrics_option(min=1, max=4, help="Maximum number of metrics in a combination.")] = 3,
    by: Annotated[
        Literal["halves", "kinds"],
        statistics_option(
            help="Split to choose on: halves (half of the contexts) or kinds (two of story, response and prompt)."
        ),
    ] = "halves",
    against: Annotated[str, statistics_option(help="Metric to compare all others with.")] = "released:sent_bert",
    time_limit: TimeLimit = 60.0,
    resamples: Resamples = 1000,
    seed: Annotated[int, statistics_option(min=0, help="Random seed of the halves and the resamples.")] = 0,
    destination: Numbers = None,
    mirror: Mirror = None,
    json: JsonOption = False,
) -> None:
    """Choose the best combination of metrics on some contexts and report it on the others, whether it wins or not.

    The tasks are the nine with two labels. A combination is a sum of z-scores; all combinations of up to --largest
    metrics are tried, and their number is reported. The released columns, which were not chosen on these sets, are
    shown for comparison.

    Example: divbench metrics heldout --profile offline --out heldout.md
    """
    from benchmark.analysis.estimate import Resampling
    from benchmark.analysis.metaeval.heldout import halves, held_out, kinds
    from benchmark.analysis.metaeval.scores import released_scores, unique_sets
    from leaderboard.reports.metaeval.inputs import given_scores, load_tasks, package_metrics, profile_of
    from leaderboard.reports.metaeval.report import heldout_report, missing_sets

    check_report_path(destination, endings=(".md", ".json"))
    labelled = load_tasks([], mirror)
    with steps() as tell:
        given = given_scores(labelled, external or [], scores or [], time_limit, tell, mirror=mirror)
        features = [*package_metrics(labelled, profile_of(profile, metric), metric, tell), *given]
        released = released_scores(labelled)
        features += [each for each in released if each.name.removeprefix("released:") in (combine_released or [])]
        references = [each for each in released if each not in features]
        folds = halves(labelled, seed) if by == "halves" else kinds(labelled)
        found = []
        for done, fold in enumerate(folds):
            tell(f"{fold.name}: trying combinations", done, len(folds))
            how = Resampling(resamples=resamples, seed=seed)
            found.append(held_out(fold, features, references, largest=largest, against=against, resampling=how))
    ids = list(unique_sets(labelled))
    warn({each.name: [*each.problems, *missing_sets(each, ids)] for each in features})
    deliver(heldout_report(found), destination, as_json=json)
