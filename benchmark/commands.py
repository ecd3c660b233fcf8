"""`divbench score` and `divbench metrics list`."""

from contextlib import nullcontext
from functools import cache as cache_of
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmark.cluster.options import ActorLost, ClusterOptions
from benchmark.scoring.options import MetricNames, ScoringOptions
from divbench.core.console import (
    JsonOption,
    MirrorOption,
    data_option,
    err,
    out,
    output_option,
    print_json,
    progress,
    say,
    with_option_groups,
)
from divbench.core.errors import ConfigurationError, counted
from divbench.core.tables import Styled, Table, interval, to_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.progress import Progress, TaskID

    from benchmark.scoring.results import Counts, Result
    from benchmark.validity.stated import StatedValidity
    from datasets_build.schema import Suite
    from submissions.storage.submission_folders import Submission


@with_option_groups
def score(
    folders: Annotated[list[Path], typer.Argument(help="Submission folders; the models are loaded once.")],
    *,
    scoring: ScoringOptions,
    results: Annotated[Path, output_option("--out", help="Folder of results.")] = Path("results"),
    internals: Annotated[
        Path | None,
        data_option(
            help=(
                "Internals file (token likelihoods and hidden-state statistics); default: internals.parquet in the "
                "submission folder, if present."
            )
        ),
    ] = None,
    rewards: Annotated[
        Path | None,
        data_option(
            help=(
                "What was decided elsewhere of each response (.jsonl, .csv, .tsv or .parquet): prompt_id, index (of "
                "the response, from 0), and reward or valid (true, false). It replaces the profile's judgement of "
                "validity; the file's name is part of the signature."
            )
        ),
    ] = None,
    threshold: Annotated[float | None, data_option(help="Lowest reward of a valid response.")] = None,
    quantile: Annotated[
        float | None,
        data_option(help="The same as a quantile of the submission's rewards (0.5: the better half is valid)."),
    ] = None,
    metric: MetricNames = None,
    mirror: MirrorOption = None,
    cluster: ClusterOptions,
    json: JsonOption = False,
) -> None:
    """Score submissions with all metrics of a profile.

    Writes OUT/RESULT_ID/result.json (means with 95% intervals, missing values with reasons, the signature of every
    number) and per_prompt.parquet. After an interruption, run the same command to resume. An existing result is reused.

    All metrics that need no download:

      divbench score subs/my-model subs/another --out results

    D_Can with a language model of your choice, on a GPU if available (docs/gpu.md):

      divbench score subs/my-model --set lm=Qwen/Qwen2.5-3B@COMMIT

    With rewards or correctness from elsewhere: valid_distinct_k counts different correct responses, beside pass@k:

      divbench score subs/my-model --rewards correct.csv

    On a Ray cluster, with the same numbers (docs/scaling.md):

      divbench score subs/my-model --cluster HOST:6379

    The bundled language model is meant for trying things out; for numbers to publish, choose a model with --set lm. To
    compare systems with different numbers of responses, set --k to the smallest number. Perplexity, energy, entropies
    and EigenScores of hidden states need the output of divbench metrics internals or divbench generate --internals.
    """
    from benchmark.cluster.session import open_cluster
    from benchmark.scoring.backends import ScoringBackends
    from benchmark.scoring.internals_file import find_internals
    from benchmark.scoring.options import metrics_named
    from benchmark.scoring.scorer import result_id, score_submission
    from benchmark.surprisal.cache import default_cache_path
    from datasets_build.load import load_suite
    from submissions.checking.validate import open_submission

    if internals is not None and len(folders) > 1:
        raise ConfigurationError("--internals is for a single submission", "score the submissions one at a time")
    profile = scoring.load(metric)
    find_suite = cache_of(partial(load_suite, mirror=mirror))
    with progress() as bar:
        opened = [open_submission(folder, find_suite) for folder in bar.track(folders, description="checking")]
    stated = _stated(rewards, threshold, quantile, opened)
    profile = profile.replace(stated=None if stated is None else stated.rule)
    files = [find_internals(submission, internals) for submission, *_ in opened]
    lost: list[ActorLost] = []

    def report_loss(loss: ActorLost) -> None:
        lost.append(loss)
        err().print(str(loss), markup=False)

    place = cluster.chosen(report_loss)
    backends = ScoringBackends(profile, None if place else default_cache_path())
    wanted = [metrics_named(metric, profile, internals=file is not None) for file in files]
    for (submission, suite, _), metrics in zip(opened, wanted, strict=True):  # no wrong k ends hours of scoring
        result_id(submission, suite, profile, scoring.numbers(), metrics=metrics)
    outcomes, finished = [], 0
    with (
        progress() as bar,
        nullcontext() if place is None else open_cluster(place, backends, max(wanted, key=len)) as session,
    ):
        task = bar.add_task("scoring", total=sum(submission.prompts for submission, *_ in opened))

        def show(before: int, prompts: int) -> None:
            bar.update(task, completed=before + prompts)

        for (submission, suite, _), file, metrics in zip(opened, files, wanted, strict=True):
            doing = f"scoring {submission.manifest.name[:40]}"
            bar.update(task, description=doing, completed=finished)
            backends.listener = partial(_show_step, bar, task, doing)
            scored = score_submission(
                submission,
                suite,
                backends,
                results,
                scoring.numbers(),
                metrics=metrics,
                internals=file,
                stated=stated,
                progress=partial(show, finished),
                run=None if session is None else session.run,
            )
            finished += submission.prompts
            outcomes.append(scored)
        bar.update(task, completed=finished)
    if json:
        losses = {"lost_actors": len(lost), "repeated_prompts": sum(loss.prompts for loss in lost)}
        documents = [
            {"folder": str(scored.folder), "recognised": scored.recognised, "resumed_prompts": scored.resumed}
            | ({} if place is None else losses)
            | {"result": scored.result.model_dump(mode="json")}
            for scored in outcomes
        ]
        print_json({"results": documents})
        return
    for folder, (_, _, report), scored in zip(folders, opened, outcomes, strict=True):
        if count := report.findings.count("warning"):
            err().print(f"{counted(count, 'warning')}: divbench validate {folder}", markup=False)
        print_result(scored.result, out())
        how = "this result already exists; nothing to do" if scored.recognised else "written"
        out().print(f"{how}: {scored.folder}", markup=False)


def _show_step(bar: "Progress", task: "TaskID", doing: str, step: str) -> None:
    bar.update(task, description=f"{doing} ({step})")


def print_result(result: "Result", console: "Console") -> None:
    """Print the means with their intervals and the numbers of missing values."""
    from benchmark.metrics.metric import ARROWS

    rows = [
        (
            f"{score.metric} {ARROWS[score.direction]}",
            score.value,
            interval(score.low, score.high),
            score.n,
            ", ".join(f"{count} {reason}" for reason, count in score.missing.items()),
        )
        for score in result.scores
    ]
    columns = ("metric", "mean", "95% interval", "prompts", "missing")
    title = f"{result.manifest.name} on {result.suite}, k = {result.k}, profile {result.profile}"
    console.print(to_terminal(Table(title, columns, rows, numbers=columns[1:4])))
    if error := result.order_error:
        known = "unknown" if error.a_n is None else f"{error.a_n:.2g} bits/byte (for one prompt {error.a_n_of_one:.2g})"
        console.print(f"orders {error.orders}: standard error of the mean a_n from the choice of orders: {known}")
    if result.provenance:
        console.print(f"models: {' | '.join(map(str, result.provenance))}", markup=False, soft_wrap=True)
    print_counts(result.counts, console)


def print_counts(counts: "Counts | None", console: "Console") -> None:
    """Print how many responses are of each kind, and not read whole."""
    from benchmark.scoring.backends import beyond_text
    from submissions.checking.response_kinds import kinds_text

    if counts is None:
        return
    console.print(f"{counted(counts.responses, 'response')}: {kinds_text(counts.model_dump())}")
    if counts.invalid is not None:
        by_reason = ", ".join(f"{count} {reason}" for reason, count in counts.invalid.items())
        console.print(f"{sum(counts.invalid.values()):,} not valid{f': {by_reason}' if by_reason else ''}")
    if counts.beyond:
        console.print(beyond_text(counts.beyond, counts.responses), soft_wrap=True)


def metrics(json: JsonOption = False) -> None:
    """List the metrics: input, direction, bounds, unit and source of each.

    Example: divbench metrics list --json
    """
    from benchmark.metrics import METRICS
    from benchmark.metrics.metric import bounds_text

    names = ("id", "version", "title", "reads", "direction", "unit", "paper")
    document = [
        {name: getattr(metric, name) for name in names}
        | {"bounds": metric.bounds, "parameters": dict(metric.parameters), "needs_answers": metric.needs}
        for metric in METRICS
    ]
    rows = []
    for m in METRICS:
        way = {1: "higher", 0: "neither", -1: "lower"}[m.direction]
        rows.append((Styled(m.id, "code"), m.version, m.title, m.reads, way, bounds_text(m.bounds), m.unit, m.paper))
    columns = ("id", "v", "title", "reads", "more diverse", "bounds", "unit", "source")
    say(document, Table("Metrics", columns, rows, numbers=("v",)), as_json=json)


def _stated(
    rewards: Path | None,
    threshold: float | None,
    quantile: float | None,
    opened: "Sequence[tuple[Submission, Suite, object]]",
) -> "StatedValidity | None":
    """Read which responses are valid, if a file says so."""
    from benchmark.scoring.rewards_file import read_stated

    if rewards is None:
        if threshold is not None or quantile is not None:
            raise ConfigurationError("--threshold and --quantile are for --rewards", "name the file")
        return None
    if len(opened) > 1:
        raise ConfigurationError("--rewards is for a single submission", "score the submissions one at a time")
    [(submission, suite, _)] = opened
    return read_stated(rewards, suite.by_id.keys(), submission.manifest.generation.k, threshold, quantile)
