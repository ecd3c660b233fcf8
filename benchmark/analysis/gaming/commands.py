"""`divbench metrics gaming`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from benchmark.scoring.options import SEMANTIC, ProfileOptions
from divbench.core.console import (
    JsonOption,
    MirrorOption,
    data_option,
    deliver,
    output_option,
    progress,
    with_option_groups,
)
from divbench.core.tables import check_report_path


@with_option_groups
def gaming(
    folder: Annotated[Path, typer.Argument(help="Submission folder of the system to attack.")],
    *,
    models: ProfileOptions = SEMANTIC,
    real: Annotated[
        list[Path] | None,
        data_option(
            help="Submission folder of another real system; may be repeated. Gains are in units of their range."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None, data_option(help="Metric to study; may be repeated; default: all of the profile's.")
    ] = None,
    kind: Annotated[list[str] | None, data_option(help="Attack to make; may be repeated; default: all.")] = None,
    prompts: Annotated[
        int | None, data_option(min=2, help="Number of prompts, evenly spaced in the suite; default: all.")
    ] = None,
    k: Annotated[
        int | None,
        data_option(
            min=1, help="Number of responses per prompt, from the first; default: as many as every system has."
        ),
    ] = None,
    resamples: Annotated[int, data_option(min=100, help="Number of bootstrap resamples over prompts.")] = 10_000,
    seed: Annotated[int, data_option(min=0, help="Random seed of the attacks and the bootstrap.")] = 0,
    destination: Annotated[Path | None, output_option("--out", help="Report file: .md, .csv or .json.")] = None,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Test whether metrics reward responses that only look diverse: score a submission beside 22 attacks made from it.

    A gain is the mean paired difference between an attack and its source over prompts, with a bootstrap interval, in
    units of the distance between the least and the most diverse real system (--real). The attacks are those of divbench
    metrics baseline. Finish reasons are left out, because attacks have none: truncated responses count as complete.

    Example: divbench metrics gaming subs/gpt-4o --real subs/humans --real subs/gemini --out gaming.md
    """
    from benchmark.analysis.gaming.report import gaming_report
    from benchmark.analysis.gaming.study import study_gaming
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.options import metrics_named
    from benchmark.surprisal.cache import default_cache_path
    from datasets_build.load import load_suite
    from divbench.core.errors import ConfigurationError
    from submissions.checking.validate import open_submission
    from submissions.gaming.attacks import ATTACKS
    from submissions.gaming.baselines import find_attack

    check_report_path(destination)
    chosen = models.load(metric)
    opened = [open_submission(each, partial(load_suite, mirror=mirror))[:2] for each in (folder, *(real or []))]
    suite = opened[0][1]
    if len({each.revision for _, each in opened}) > 1:
        raise ConfigurationError("the submissions respond to different prompts", "name submissions of one suite")
    fewest = min(submission.manifest.generation.k for submission, _ in opened)
    if k is not None and k > fewest:
        message = f"k = {k}, but a submission has {fewest} responses per prompt"
        raise ConfigurationError(message, f"choose k from 1 to {fewest}")
    k = k or fewest
    count = min(prompts or len(suite.prompts), len(suite.prompts))
    kept = {suite.prompts[i * len(suite.prompts) // count].prompt_id for i in range(count)}
    systems = {
        submission.manifest.name: {
            row.prompt_id: row.responses[:k] for row in submission.rows() if row.prompt_id in kept
        }
        for submission, _ in opened
    }
    if len(systems) < len(opened):
        raise ConfigurationError("two submissions have the same name", "name each system once")
    attacks = ATTACKS if not kind else tuple(map(find_attack, kind))
    if taken := sorted(systems.keys() & {attack.name for attack in attacks}):
        hint = "leave it out if it is a baseline, or import it under another name"
        raise ConfigurationError(f"a submission is named {taken[0]!r}, like an attack", hint)
    with progress() as bar:
        task = bar.add_task("scoring", total=(len(systems) + len(attacks)) * count)
        study = study_gaming(
            next(iter(systems)),
            systems,
            suite,
            ScoringBackends(chosen, default_cache_path()),
            metrics_named(metric, chosen),
            attacks=attacks,
            seed=seed,
            resamples=resamples,
            progress=lambda sets: bar.advance(task, sets),
        )
    deliver(gaming_report(study), destination, as_json=json)
