"""`divbench metrics gss`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.scoring.options import OFFLINE, ProfileOptions
from divbench.core.console import (
    JsonOption,
    data_option,
    deliver,
    err,
    output_option,
    progress,
    statistics_option,
    with_option_groups,
)
from divbench.core.errors import ConfigurationError, InputError
from divbench.core.tables import check_report_path

if TYPE_CHECKING:
    from benchmark.metrics import Metric
    from benchmark.scoring.internals_file import InternalsFile
    from benchmark.scoring.profiles import Profile
    from datasets_build.schema import Suite
    from submissions.storage.submission_folders import Submission

_SUITE = "gssbench"


@with_option_groups
def gss(
    submissions: Annotated[
        list[Path] | None, typer.Argument(help="Submission folders of the suite gssbench, or their result folders.")
    ] = None,
    models: ProfileOptions = OFFLINE,
    scores: Annotated[
        list[Path] | None,
        data_option(
            help="File of your own scores (.csv or .parquet): prompt_id, and a column of numbers for each metric, "
            "larger for more diverse; may be repeated."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        data_option(help="Metric to evaluate; may be repeated; default: the paper's, and others that are fast."),
    ] = None,
    against: Annotated[
        str | None,
        statistics_option(help="Metric or reference to compare the others with, on the same resamples of sets."),
    ] = None,
    results: Annotated[Path, output_option(help="Folder of the submissions' results.")] = Path("results"),
    resamples: Annotated[
        int, statistics_option(min=100, help="Number of bootstrap resamples over sets of pairs.")
    ] = 1000,
    destination: Annotated[
        Path | None, output_option("--out", help="Output file of all numbers: .md, .csv or .json.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Test metrics on GSSBench (arXiv:2510.12699): do they measure how many good responses a prompt allows?

    It has 9,300 pairs of prompts in six splits; one prompt of each pair has the larger generation space. A metric is
    right on a pair if it scores that prompt's responses as more diverse. Reference scorers: chance, the prompt's
    length, a constant and an oracle.

    Submissions are scored first, into --results; existing results are reused. Perplexity, energy, entropies and
    EigenScores of hidden states need the submission's internals.parquet, which divbench metrics internals makes.

      divbench metrics gss subs/model-a subs/model-b --out table.md

    A result of divbench score:

      divbench metrics gss results/0123456789abcdef --against eigenscore_output

    Scores of the prompts that you computed elsewhere:

      divbench metrics gss --scores mine.csv
    """
    from benchmark.analysis.gss.accuracy import Model, evaluate, models_of, report_of
    from benchmark.analysis.gss.pairs import load_pairs, sanity_scores, scorers_of_file
    from benchmark.metrics import METRICS
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.estimate import Resampling
    from benchmark.scoring.profiles import find_profile
    from benchmark.scoring.scorer import score_submission
    from benchmark.surprisal.cache import default_cache_path
    from datasets_build.load import load_suite

    check_report_path(destination)
    if not submissions and not scores:
        raise ConfigurationError("nothing to evaluate is named", "name a submission or result folder, or --scores FILE")
    pairs = load_pairs()
    files = [Model(path.stem, None, tuple(scorers_of_file(path, pairs))) for path in scores or []]
    for scorer in (scorer for model in files for scorer in model.scorers):
        for problem in scorer.problems:
            err().print(f"{scorer.name}: {problem}", style="yellow", markup=False)
    wanted = _wanted(metric, against, [scorer.name for model in files for scorer in model.scorers])
    metrics = tuple(candidate for candidate in METRICS if candidate.id in wanted)
    profile = models.load(metric) if submissions else find_profile(models.profile)
    suite = load_suite(_SUITE)
    opened = [_open(folder, suite) for folder in submissions or []]
    for submission, internals in filter(None, opened):
        _check_metrics(submission, profile, metrics, named=bool(metric), internals=internals is not None)
    backends = ScoringBackends(profile, default_cache_path())
    scored: dict[Path, Path] = {}  # folders of submissions by those of their results
    with progress() as bar:

        def score(submission: "Submission", internals: "InternalsFile | None") -> Path:
            task = bar.add_task(f"scoring {submission.manifest.name[:40]}", total=submission.prompts)
            result = score_submission(
                *(submission, suite, backends, results),
                metrics=metrics,
                internals=internals,
                progress=lambda prompts: bar.update(task, completed=prompts),
            )
            bar.update(task, completed=submission.prompts)
            scored[result.folder] = submission.folder
            return result.folder

        folders = [score(*pair) if pair else folder for folder, pair in zip(submissions or [], opened, strict=True)]
        evaluated = [*models_of(folders, wanted, suite, scored), *files]
        references = sanity_scores(pairs)
        task = bar.add_task("evaluating", total=sum(len(model.scorers) for model in evaluated) + len(references))
        study = evaluate(
            pairs,
            f"{suite.name}@{suite.revision}",
            evaluated,
            references,
            Resampling(resamples),
            against=against,
            progress=lambda: bar.advance(task),
        )
    deliver(report_of(study), destination, as_json=json)


def _wanted(metric: list[str] | None, against: str | None, from_files: list[str]) -> tuple[str, ...]:
    """Return the ids of the metrics to evaluate beside the scores in files."""
    from benchmark.analysis.gss.accuracy import REFERENCES, USUAL
    from benchmark.metrics import METRICS

    direction = {candidate.id: candidate.direction for candidate in METRICS}
    hint = f"one of {', '.join(name for name, sign in direction.items() if sign)}"
    for name in metric or []:
        if name not in direction:
            raise ConfigurationError(f"there is no metric {name!r}", hint)
        if not direction[name]:
            raise ConfigurationError(f"{name} does not measure diversity", hint)
    wanted = tuple(dict.fromkeys(metric or USUAL))
    names = [*wanted, *REFERENCES, *from_files]
    if against is not None and against not in names:
        raise ConfigurationError(f"there are no scores named {against!r}", f"one of {', '.join(names)}")
    return wanted


def _open(folder: Path, suite: "Suite") -> "tuple[Submission, InternalsFile | None] | None":
    """Open a submission and its internals, if it has any; None for the folder of a result."""
    from benchmark.scoring.internals_file import INTERNALS_FILE, open_internals
    from benchmark.scoring.results import RESULT_FILE
    from submissions.checking.validate import open_submission
    from submissions.storage.submission_folders import MANIFEST_FILE, read_manifest
    from submissions.untrusted.findings import Findings

    hint = f"give the folder of a submission to {_SUITE}, or of its result"
    if not folder.is_dir():
        raise ConfigurationError(f"there is no folder {folder}", hint)
    if (folder / RESULT_FILE).exists():
        return None
    if not (folder / MANIFEST_FILE).exists():
        raise InputError(f"{folder} has neither {MANIFEST_FILE} nor {RESULT_FILE}", hint)
    manifest = read_manifest(folder / MANIFEST_FILE, Findings())  # `open_submission` reports what is wrong with it
    if manifest is not None and manifest.suite != _SUITE:
        raise InputError(f"{folder} is a submission to {manifest.suite}", f"give one to the suite {_SUITE}")
    submission, _, _ = open_submission(folder, lambda name: suite)
    path = folder / INTERNALS_FILE
    return submission, open_internals(path, submission.id) if path.exists() else None


def _check_metrics(
    submission: "Submission", profile: "Profile", metrics: "tuple[Metric, ...]", *, named: bool, internals: bool
) -> None:
    """Check, before the work, that the profile can compute each named metric, and some metric of this submission."""
    from benchmark.analysis.gss.accuracy import no_internals

    possible = profile.metrics(metrics, internals=True)
    lacking = [metric.id for metric in metrics if metric not in possible]
    if named and lacking:
        known = ", ".join(metric.id for metric in profile.metrics(internals=True))
        raise ConfigurationError(f"the profile {profile.name} has no metric {lacking[0]!r}", f"one of {known}")
    if not profile.metrics(metrics, internals=internals):
        reason, hint = no_internals(submission.folder)
        raise ConfigurationError(f"{submission.folder}: none of the metrics can be computed: {reason}", hint)
