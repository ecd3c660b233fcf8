"""`divbench metrics gss`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.scoring.options import OFFLINE, ProfileOptions
from divbench.core.console import (
    JsonOption,
    data_option,
    deliver,
    err,
    out,
    output_option,
    progress,
    statistics_option,
)
from divbench.core.errors import ConfigurationError, InputError
from divbench.core.option_groups import with_option_groups
from divbench.core.tables import check_report_path

if TYPE_CHECKING:
    from rich.progress import Progress

    from benchmark.analysis.gss.accuracy import Model
    from benchmark.analysis.gss.pairs import Scorer
    from benchmark.metrics import Metric
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.internals_file import InternalsFile
    from benchmark.scoring.profiles import Profile
    from benchmark.scoring.results import Result
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
    metric: Annotated[list[str] | None, data_option(help="Metric to evaluate; may be repeated.")] = None,
    all_metrics: Annotated[
        bool,
        data_option(
            "--all-metrics", help="All metrics of the profile, including the slow ones (D_Can and its family)."
        ),
    ] = False,
    k: Annotated[int | None, data_option(help="Number of responses per prompt, from the first; default: all.")] = None,
    against: Annotated[
        str | None,
        statistics_option(help="Metric or reference to compare the others with, on the same resamples of sets."),
    ] = None,
    published: Annotated[bool, output_option("--published", help="Published accuracies, shown beside ours.")] = False,
    results: Annotated[Path, output_option(help="Folder of the submissions' results.")] = Path("results"),
    resamples: Annotated[
        int, statistics_option(min=100, help="Number of bootstrap resamples over sets of pairs.")
    ] = 1000,
    seed: Annotated[
        int, statistics_option(min=0, help="Random seed of the resamples and of the random reference.")
    ] = 0,
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
    from benchmark.analysis.gss.accuracy import Model, evaluate, published_blocks
    from benchmark.analysis.gss.pairs import load_pairs, sanity_scores, scorers_of_file
    from benchmark.analysis.gss.report import report_of
    from benchmark.analysis.reproduce.cells import read_published
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.estimate import Resampling
    from benchmark.scoring.profiles import find_profile
    from benchmark.surprisal.cache import default_cache_path
    from datasets_build.load import load_suite

    check_report_path(destination)
    if not submissions and not scores:
        raise ConfigurationError("nothing to evaluate is named", "name a submission or result folder, or --scores FILE")
    pairs = load_pairs()
    files = [Model(path.stem, None, tuple(scorers_of_file(path, pairs))) for path in scores or []]
    for scorer in (each for model in files for each in model.scorers):
        for problem in scorer.problems:
            err().print(f"{scorer.name}: {problem}", style="yellow", markup=False)
    chosen = models.load(metric) if submissions else find_profile(models.profile)
    wanted = _wanted(metric, all_metrics, against, [each.name for model in files for each in model.scorers])
    suite = load_suite(_SUITE)
    given = [_open(folder, suite) for folder in submissions or []]
    work = _Work(suite, ScoringBackends(chosen, default_cache_path()), wanted, named=bool(metric), k=k, results=results)
    for each in given:
        if isinstance(each, _Submitted):
            work.metrics(each)  # raises before the work
    with progress() as bar:
        evaluated = [*_models(given, work, bar), *files]
        references = sanity_scores(pairs, seed)
        task = bar.add_task("evaluating", total=sum(len(each.scorers) for each in evaluated) + len(references))
        study = evaluate(
            pairs,
            f"{suite.name}@{suite.revision}",
            evaluated,
            references,
            Resampling(resamples=resamples, seed=seed),
            against=against,
            published=published_blocks(read_published()["gssbench-a10"]) if published else (),
            progress=lambda: bar.advance(task),
        )
    deliver(report_of(study, out()), destination, as_json=json)


@dataclass(frozen=True, slots=True)
class _Submitted:
    """A checked submission, with its internals if it has any."""

    folder: Path
    submission: "Submission"
    internals: "InternalsFile | None"


@dataclass(frozen=True, slots=True)
class _Scored:
    """A result with its scores; `folder` is the submission's folder if the result was made by this command."""

    result: "Result"
    scorers: "Sequence[Scorer]"
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class _Work:
    """Settings for scoring submissions; `named`: whether the wanted metrics were requested by name."""

    suite: "Suite"
    backends: "ScoringBackends"
    wanted: tuple[str, ...] | None
    named: bool
    k: int | None
    results: Path

    def metrics(self, given: _Submitted) -> "tuple[Metric, ...]":
        """Return the metrics to score a submission with."""
        from benchmark.analysis.gss.accuracy import no_internals
        from benchmark.metrics import METRICS

        profile: Profile = self.backends.profile
        asked = METRICS if self.wanted is None else tuple(each for each in METRICS if each.id in self.wanted)
        possible = profile.metrics(asked, internals=True)
        if self.named and (lacking := [each.id for each in asked if each not in possible]):
            known = ", ".join(each.id for each in profile.metrics(internals=True))
            raise ConfigurationError(f"the profile {profile.name} has no metric {lacking[0]!r}", f"one of {known}")
        if not profile.metrics(asked, internals=given.internals is not None):
            reason, hint = no_internals(str(given.folder))
            raise ConfigurationError(f"{given.folder}: none of the metrics can be computed: {reason}", hint)
        return asked


def _wanted(metric: list[str] | None, all_metrics: bool, against: str | None, own: list[str]) -> tuple[str, ...] | None:
    """Return the ids of the metrics to evaluate beside one's own scores; None: all."""
    from benchmark.analysis.gss.accuracy import REFERENCES, USUAL
    from benchmark.metrics import METRICS

    if metric and all_metrics:
        raise ConfigurationError("--metric and --all-metrics exclude each other", "give one of them")
    direction = {each.id: each.direction for each in METRICS}
    there = [name for name, sign in direction.items() if sign]
    for name in metric or []:
        if name not in direction:
            raise ConfigurationError(f"there is no metric {name!r}", f"one of {', '.join(there)}")
        if not direction[name]:
            raise ConfigurationError(f"{name} does not measure diversity", f"one of {', '.join(there)}")
    wanted = None if all_metrics else tuple(dict.fromkeys(metric or USUAL))
    names = [*(there if wanted is None else wanted), *REFERENCES, *own]
    if against is not None and against not in names:
        raise ConfigurationError(f"there are no scores named {against!r}", f"one of {', '.join(names)}")
    return wanted


def _open(folder: Path, suite: "Suite") -> _Submitted | _Scored:
    """Open the submission or the result in a folder."""
    from benchmark.scoring.internals_file import INTERNALS_FILE, open_internals
    from benchmark.scoring.results import RESULT_FILE
    from submissions.checking.validate import open_submission
    from submissions.storage.submission_folders import MANIFEST_FILE, read_manifest
    from submissions.untrusted.findings import Findings

    hint = f"give the folder of a submission to {_SUITE}, or of its result"
    if not folder.is_dir():
        raise ConfigurationError(f"there is no folder {folder}", hint)
    if (folder / RESULT_FILE).exists():
        return _scored(folder, suite)
    if not (folder / MANIFEST_FILE).exists():
        raise InputError(f"{folder} has neither {MANIFEST_FILE} nor {RESULT_FILE}", hint)
    manifest = read_manifest(folder / MANIFEST_FILE, Findings())  # `open_submission` reports what is wrong with it
    if manifest is not None and manifest.suite != _SUITE:
        raise InputError(f"{folder} is a submission to {manifest.suite}", f"give one to the suite {_SUITE}")
    submission, _, _ = open_submission(folder, lambda name: suite)
    path = folder / INTERNALS_FILE
    return _Submitted(folder, submission, open_internals(path, submission.id) if path.exists() else None)


def _scored(folder: Path, suite: "Suite", submission: Path | None = None) -> _Scored:
    from benchmark.analysis.gss.pairs import scorers_of_result
    from benchmark.scoring.results import require_result

    scorers = scorers_of_result(folder)
    result = require_result(folder)
    if result.suite_revision != suite.revision:
        raise InputError(
            f"{folder} is for revision {result.suite_revision} of {_SUITE}, but the pairs are of {suite.revision}",
            "score the submission again",
        )
    return _Scored(result, scorers, submission)


def _models(given: "Sequence[_Submitted | _Scored]", work: _Work, bar: "Progress") -> "list[Model]":
    """Return the scores of each result, after scoring the submissions."""
    from benchmark.analysis.gss.accuracy import Model, choose, names_of

    scored = [_score(each, work, bar) if isinstance(each, _Submitted) else each for each in given]
    names = names_of([each.result for each in scored])
    made = []
    for name, each in zip(names, scored, strict=True):
        folder = None if each.folder is None else str(each.folder)
        made.append(Model(name, each.result, *choose(each.result, each.scorers, work.wanted, folder)))
    return made


def _score(given: _Submitted, work: _Work, bar: "Progress") -> _Scored:
    from benchmark.scoring.scorer import Options, score_submission

    name = given.submission.manifest.name[:40]
    task = bar.add_task(f"scoring {name}", total=given.submission.prompts)
    scored = score_submission(
        given.submission,
        work.suite,
        work.backends,
        work.results,
        Options(k=work.k),
        metrics=work.metrics(given),
        internals=given.internals,
        progress=lambda prompts: bar.update(task, completed=prompts),
    )
    bar.update(task, completed=given.submission.prompts)
    return _scored(scored.folder, work.suite, given.folder)
