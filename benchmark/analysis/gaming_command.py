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
from divbench.core.errors import ConfigurationError
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
    prompts: Annotated[
        int | None, data_option(min=2, help="Number of prompts, evenly spaced in the suite; default: all.")
    ] = None,
    destination: Annotated[Path | None, output_option("--out", help="Report file: .md, .csv or .json.")] = None,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Test whether metrics reward responses that only look diverse: score a submission beside 24 attacks made from it.

    A gain is the mean paired difference between an attack and its source over prompts, with a bootstrap interval, in
    units of the distance between the least and the most diverse real system (--real). The attacks are those of divbench
    metrics baseline. Of each prompt, as many responses are used as every system has. Finish reasons are left out,
    because attacks have none: truncated responses count as complete.

    Example: divbench metrics gaming subs/gpt-4o --real subs/humans --real subs/gemini --out gaming.md
    """
    from benchmark.analysis.gaming import gaming_report, study_gaming
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.options import metrics_named
    from benchmark.surprisal.cache import default_cache_path
    from datasets_build.load import load_suite
    from submissions.checking.validate import open_submission
    from submissions.gaming.attacks import ATTACKS

    check_report_path(destination)
    profile = models.load(metric)
    folders = (folder, *(real or []))
    find_suite = partial(load_suite, mirror=mirror)
    submissions, suites, _ = zip(*(open_submission(path, find_suite) for path in folders), strict=True)
    if len({suite.revision for suite in suites}) > 1:
        raise ConfigurationError("the submissions respond to different prompts", "name submissions of one suite")
    suite = suites[0]
    k = min(submission.manifest.generation.k for submission in submissions)
    count = min(prompts or len(suite.prompts), len(suite.prompts))
    chosen = {suite.prompts[i * len(suite.prompts) // count].prompt_id for i in range(count)}
    systems = {
        submission.manifest.name: {
            row.prompt_id: row.responses[:k] for row in submission.rows() if row.prompt_id in chosen
        }
        for submission in submissions
    }
    if len(systems) < len(submissions):
        raise ConfigurationError("two submissions have the same name", "name each system once")
    if taken := sorted(systems.keys() & {attack.name for attack in ATTACKS}):
        hint = "leave it out if it is a baseline, or import it under another name"
        raise ConfigurationError(f"a submission is named {taken[0]!r}, like an attack", hint)
    with progress() as bar:
        task = bar.add_task("scoring", total=(len(systems) + len(ATTACKS)) * count)
        study = study_gaming(
            submissions[0].manifest.name,
            systems,
            suite,
            ScoringBackends(profile, default_cache_path()),
            metrics_named(metric, profile),
            progress=lambda sets: bar.advance(task, sets),
        )
    deliver(gaming_report(study), destination, as_json=json)
