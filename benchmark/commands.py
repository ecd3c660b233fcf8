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
    with_option_groups,
)
from divbench.core.errors import ConfigurationError, counted
from divbench.core.tables import Styled, Table, interval, to_terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from benchmark.scoring.results import Result


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
    metric: MetricNames = None,
    cache: Annotated[
        Path | None,
        output_option(
            help="Cache file for the language model's surprisals; default: in the user's cache (none with --cluster)."
        ),
    ] = None,
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
    chosen = scoring.load(metric)
    find_suite = cache_of(partial(load_suite, mirror=mirror))
    with progress() as bar:
        opened = [open_submission(folder, find_suite) for folder in bar.track(folders, description="checking")]
    said = [find_internals(submission, internals) for submission, *_ in opened]
    lost: list[ActorLost] = []  # actors, where there are any

    def tell(each: ActorLost) -> None:
        lost.append(each)
        err().print(str(each), markup=False)

    place = cluster.chosen(tell)
    backends = ScoringBackends(chosen, cache or (None if place else default_cache_path()))
    wanted = [metrics_named(metric, chosen, internals=each is not None) for each in said]
    every = max(wanted, key=len)
    for (submission, suite, _), metrics in zip(opened, wanted, strict=True):  # no wrong k ends hours of scoring
        result_id(submission, suite, chosen, scoring.numbers(), metrics=metrics)
    done = []
    with (
        progress() as bar,
        nullcontext() if place is None else open_cluster(place, backends, every) as held,
    ):
        line = OverallProgress(bar, [submission.prompts for submission, *_ in opened])
        for (submission, suite, _), own, metrics in zip(opened, said, wanted, strict=True):
            line.begin(submission.manifest.name)
            scored = score_submission(
                submission,
                suite,
                backends,
                results,
                scoring.numbers(),
                metrics=metrics,
                internals=own,
                progress=line.completed,
                run=None if held is None else held.run,
            )
            line.end(recognised=scored.recognised)
            done.append(scored)
    documents = []
    for scored in done:
        state: dict[str, object] = {
            "folder": str(scored.folder),
            "recognised": scored.recognised,
            "resumed_prompts": scored.resumed,
        }
        if place is not None:
            state["lost_actors"], state["repeated_prompts"] = len(lost), sum(each.prompts for each in lost)
        documents.append(state | {"result": scored.result.model_dump(mode="json")})
    if json:
        print_json({"results": documents})
        return
    for folder, (_, _, report), scored in zip(folders, opened, done, strict=True):
        if count := report.findings.count("warning"):
            err().print(f"{counted(count, 'warning')}: divbench validate {folder}", markup=False)
        print_result(scored.result, out())
        how = "this result already exists; nothing to do" if scored.recognised else "written"
        out().print(f"{how}: {scored.folder}", markup=False)


def print_result(result: "Result", console: "Console") -> None:
    """Print the means with their intervals and the numbers of missing values."""
    from benchmark.metrics.metric import ARROWS
    from submissions.checking.response_kinds import kinds_text

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
    counts = result.counts
    console.print(f"{counted(counts.responses, 'response')}: {kinds_text(counts.model_dump())}")
    if counts.invalid is not None:
        by_reason = ", ".join(f"{count} {reason}" for reason, count in counts.invalid.items())
        console.print(f"{sum(counts.invalid.values()):,} not valid{f': {by_reason}' if by_reason else ''}")


class OverallProgress:
    """Progress over all submissions in one line: one for each of hundreds would hide the current one.

    Args:
        prompts: Number of prompts of each submission, in the order of scoring.
    """

    def __init__(self, bar: "Progress", prompts: list[int]) -> None:
        self._bar, self._prompts = bar, prompts
        self._begun = self._finished = 0
        self._total = sum(prompts)
        self._task = bar.add_task("scoring", total=self._total)

    def begin(self, name: str) -> None:
        """Name the next submission."""
        self._begun += 1
        of = f" ({self._begun} of {len(self._prompts)})" if len(self._prompts) > 1 else ""
        self._bar.update(self._task, description=f"scoring {name[:40]}{of}")

    def completed(self, prompts: int) -> None:
        """Show how many prompts of the submission are scored."""
        self._bar.update(self._task, completed=self._finished + prompts)

    def end(self, *, recognised: bool) -> None:
        """Count the submission as done; a recognised result took no time, so it says nothing about the time left."""
        prompts = self._prompts[self._begun - 1]
        if recognised:
            self._total -= prompts
            self._bar.update(self._task, total=self._total)
        else:
            self._finished += prompts
            self._bar.update(self._task, completed=self._finished)


def metrics(json: JsonOption = False) -> None:
    """List the metrics: input, direction, bounds, unit and source of each.

    Example: divbench metrics list --json
    """
    from benchmark.metrics import METRICS
    from benchmark.metrics.metric import bounds_text

    if json:
        print_json(
            [
                {
                    "id": m.id,
                    "version": m.version,
                    "title": m.title,
                    "reads": m.reads,
                    "direction": m.direction,
                    "bounds": list(m.bounds),
                    "unit": m.unit,
                    "paper": m.paper,
                    "parameters": dict(m.parameters),
                    "needs_answers": m.needs,
                }
                for m in METRICS
            ]
        )
        return
    rows = []
    for m in METRICS:
        way = {1: "higher", 0: "neither", -1: "lower"}[m.direction]
        rows.append((Styled(m.id, "code"), m.version, m.title, m.reads, way, bounds_text(m.bounds), m.unit, m.paper))
    columns = ("id", "v", "title", "reads", "more diverse", "bounds", "unit", "source")
    out().print(to_terminal(Table("Metrics", columns, rows, numbers=("v",))))
