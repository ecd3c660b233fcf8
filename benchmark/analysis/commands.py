"""`divbench metrics gaming`, `gss` and `record`: studies of metrics on submissions."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from benchmark.scoring.options import OFFLINE, SEMANTIC, ProfileOptions
from divbench.core.console import (
    JsonOption,
    MirrorOption,
    data_option,
    deliver,
    err,
    output_option,
    progress,
    say,
    statistics_option,
    with_option_groups,
)
from divbench.core.errors import ConfigurationError, InputError, counted
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
        Path | None, output_option("--out", help="Output file of all numbers: .md, .tex, .csv or .json.")
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
    destination: Annotated[Path | None, output_option("--out", help="Report file: .md, .tex, .csv or .json.")] = None,
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


def record(
    results: Annotated[list[Path], typer.Argument(help="Result folder scored by a judge; may be repeated.")],
    destination: Annotated[Path, typer.Option("--out", help="Output file of the record: .npz.")],
    base: Annotated[
        Path | None, typer.Option("--base", help="Record to add to; default: the one that ships with the package.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Add responses that a judge has scored to the record of judged responses, with which validity is estimated.

    The record has the vectors and scores of the first responses of classes, and no texts. Responses of other systems to
    the same prompts are then compared with them: score with --set record=FILE.

    Example: divbench metrics record results/3f2a… --out record.npz
    """
    from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder
    from benchmark.validity.record import SHIPPED, Judgement, load_record, prompt_key, quantised, record_of, save_record

    judged = [row for folder in results for row in _judged(folder)]
    texts = sorted({text for _, _, text, _ in judged})
    vectors = dict(zip(texts, SentenceTransformersEmbedder(ALL_MINILM_L6_V2).embed(texts), strict=True))
    old = load_record(base or SHIPPED).judgements()
    new = [
        Judgement(prompt_key(prompt), system, quantised(vectors[text]), score) for prompt, system, text, score in judged
    ]
    whole = record_of([*old, *new])
    save_record(whole, destination)
    say(
        {"record": str(destination), "added": len(whole.score) - len(old), "responses": len(whole.score)},
        f"{destination}: {counted(len(whole.score), 'judged response')} to {counted(len(whole.prompts), 'prompt')}, "
        f"{len(whole.score) - len(old):,} of them new",
        as_json=json,
    )


def _judged(folder: Path) -> Iterator[tuple[str, str, str, int]]:
    """Yield prompt, system, text and score of the first responses of scored classes, and of their bare answers."""
    import pyarrow.parquet as pq

    from benchmark.scoring.per_prompt import CLASSES, TEXTS
    from benchmark.scoring.results import PER_PROMPT_FILE, require_result
    from benchmark.validity.record import bare_answer

    result = require_result(folder)
    if not any("judge-score" in model for score in result.scores for model in score.signature.models):
        hint = "score the submission with --set equivalence=judge=MODEL@URL"
        raise InputError(f"{folder}: no judge scored these responses", hint)
    path = folder / PER_PROMPT_FILE
    if not {*TEXTS, CLASSES}.issubset(pq.read_schema(path).names):
        raise InputError(f"{folder}: the result has no texts", "name a result that was scored from a submission")
    rows: list[dict[str, Any]] = pq.read_table(path, columns=[*TEXTS, CLASSES]).to_pylist()
    for row in rows:
        classes = row[CLASSES] or {"labels": [], "qualities": None}
        for label, quality in enumerate(classes["qualities"] or ()):
            if quality is not None:
                first = row["responses"][classes["labels"].index(label)]
                for text in filter(None, (first, bare_answer(row["prompt"], first))):
                    yield row["prompt"], result.manifest.name, text, round(quality)
