"""`divbench export`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from benchmark.scoring.options import OFFLINE, ProfileOptions
from divbench.core.console import MirrorOption, data_option, err, out, output_option, progress, with_option_groups
from divbench.core.errors import ConfigurationError, counted
from divbench.core.tables import Table, check_report_path, to_terminal

if TYPE_CHECKING:
    from benchmark.exports.dpo import Exported, Measure
    from benchmark.exports.results import ScoredResult
    from submissions.schema import Generation
    from submissions.storage.submission_folders import Submission

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Export results to other formats, and preference pairs for training.",
)

ResultFolders = Annotated[list[Path], typer.Argument(help="Result folders (result.json and per_prompt.parquet).")]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", help="Metric to export (repeatable); default: all metrics with a value."),
]


@app.command()
@with_option_groups
def dpo(
    folder: Annotated[Path, typer.Argument(help="Submission folder.")],
    rewards: Annotated[
        Path,
        data_option(
            help="Rewards file (.jsonl, .csv, .tsv or .parquet): prompt_id, index (of the response, from 0), reward."
        ),
    ],
    diversity: Annotated[
        Literal["looe", "nll", "embedding"],
        data_option(
            help=(
                "Diversity measure: looe (leave-one-out EigenScore), nll (−ln p per token), embedding (distance "
                "from the mean embedding)."
            )
        ),
    ],
    destination: Annotated[Path, output_option("--out", help="Output file of pairs: .jsonl.")],
    rho: Annotated[
        float | None,
        data_option(
            min=0,
            max=1,
            help=(
                "Size of the pools, as a share of the range of a prompt's rewards; default: as in GSSBench (looe 0.6, "
                "nll 0.3, embedding 0.6)."
            ),
        ),
    ] = None,
    conversational: Annotated[
        bool | None,
        output_option(
            "--conversational/--standard",
            help=(
                "Format of the pairs, lists of messages or plain texts; default: the format in which the model was "
                "prompted, according to the manifest."
            ),
        ),
    ] = None,
    models: ProfileOptions = OFFLINE,
    mirror: MirrorOption = None,
) -> None:
    """Write preference pairs that favour diverse responses, for DPO training: DivPO, arXiv:2501.18101.

    For each prompt, responses with high rewards form the chosen pool and responses with low rewards the rejected pool.
    The pair consists of the most diverse response of the chosen pool and the least diverse of the rejected pool. With
    rho = 0.3, a reward is in the chosen pool if it is within 30% of the prompt's range of rewards below the best, and
    in the rejected pool if it is within 30% above the worst.

    You provide the rewards, from any reward model; missing rewards are not filled in. Responses without a reward, blank
    ones and placeholders are in neither pool; prompts without a pair are counted by reason.

    OUT has one JSON object per line, as read by TRL's DPOTrainer and others: prompt, chosen, rejected; also prompt_id
    and meta (all rewards and diversities of the prompt, the positions of both responses, and how they were chosen).

      divbench export dpo subs/mine --rewards rewards.jsonl --diversity looe --out pairs.jsonl

    Without the generating model, by distances between sentence embeddings:

      divbench export dpo subs/mine --rewards rewards.csv --diversity embedding --out pairs.jsonl
    """
    from functools import partial

    from benchmark.exports.dpo import PUBLISHED_RHO, is_conversational, preference_pairs, write_pairs
    from benchmark.scoring.rewards_file import read_rewards
    from datasets_build.load import load_suite
    from submissions.checking.validate import open_submission

    check_report_path(destination, (".jsonl",))
    if destination.absolute() == rewards.absolute():
        raise ConfigurationError(f"{destination} is the file of rewards", "name another file with --out")
    submission, suite, report = open_submission(folder, partial(load_suite, mirror=mirror))
    generation = submission.manifest.generation
    as_messages = is_conversational(generation, conversational)
    known = read_rewards(rewards, suite.by_id.keys(), generation.k)
    measure = _measure(diversity, submission, models)
    chosen_rho = PUBLISHED_RHO[diversity] if rho is None else rho
    with progress() as bar:
        task = bar.add_task("measuring diversity", total=submission.prompts)
        exported = preference_pairs(
            submission, suite, known, measure, chosen_rho, lambda prompts: bar.update(task, completed=prompts)
        )
    write_pairs(destination, exported, generation, conversational=as_messages)
    if problems := report.findings.count("warning"):
        err().print(f"{counted(problems, 'warning')}: divbench validate {folder}", markup=False)
    for warning in _warnings(exported, generation, submission.prompts - len(known), conversational):
        err().print(f"warning: {warning}", markup=False)
    counts = [(len(exported.rows), "a pair"), *((count, f"no pair: {why}") for why, count in exported.skipped.items())]
    means = [(side, *exported.means(side)) for side in ("chosen", "rejected")]
    out().print(to_terminal(Table(f"{diversity}, rho = {chosen_rho:g}", ("prompts", ""), counts, numbers=("prompts",))))
    out().print(to_terminal(Table("Means over pairs", ("", "reward", "diversity"), means)))
    kind = "conversational" if as_messages else "standard"
    out().print(f"written: {destination}, {kind}", markup=False, soft_wrap=True)


@app.command("every-eval-ever")
def every_eval_ever(
    results: ResultFolders,
    destination: Annotated[Path, typer.Option("--out", help="Datastore folder; files go below its data/.")],
    metrics: Metrics = None,
    relationship: Annotated[
        Literal["first_party", "third_party", "collaborative", "other"],
        typer.Option(help="Relation of the evaluator to the model; other if not stated."),
    ] = "other",
) -> None:
    """Write results in the schema of Every Eval Ever 0.3: a JSON file of scores and a JSON Lines file of prompts.

    Scores keep their intervals, n, direction, bounds and signature. A prompt has one record per metric, with all
    responses; --metric makes the file smaller. Files are named by ids, and the same result gives the same bytes.

      divbench export every-eval-ever results/0123456789abcdef --metric distinct_k --out datastore
    """
    from benchmark.exports.every_eval_ever import write_every_eval_ever

    for scored in _opened(results, metrics):
        _report(scored, write_every_eval_ever(scored, destination, relationship))


@app.command("dataset")
def dataset_(
    results: ResultFolders,
    destination: Annotated[Path, typer.Option("--out", help="Dataset folder to create.")],
    metrics: Metrics = None,
) -> None:
    """Write results as a Hub dataset: tables of means and of per-prompt values, with a card; no texts.

    The dataset viewer and `load_dataset` open the folder as it is; `hf upload ORG/NAME scores --repo-type dataset`
    publishes it.

      divbench export dataset results/* --out scores
    """
    from benchmark.exports.hub import write_results_dataset

    opened = _opened(results, metrics)
    files = write_results_dataset(opened, destination)
    for scored in opened:
        _report(scored, ())
    out().print(f"written: {', '.join(map(str, files))}", markup=False, soft_wrap=True)


@app.command("eval-results")
def eval_results(
    result: Annotated[Path, typer.Argument(help="Result folder (result.json and per_prompt.parquet).")],
    destination: Annotated[Path, typer.Option("--out", help="Output file: .eval_results/NAME.yaml.")],
    dataset: Annotated[
        str, typer.Option(help="Hub dataset of the leaderboard for the values: ORG/NAME or ORG/NAME@REVISION.")
    ],
    metrics: Metrics = None,
    task_id: Annotated[
        str | None,
        typer.Option(
            help="Task id of the single metric, as in the dataset's eval.yaml; default: SUITE_METRIC for each."
        ),
    ] = None,
) -> None:
    """Write a result as Hugging Face's `.eval_results/*.yaml`, for the repository of the generating model.

    An entry has one value, so each metric is a task. Facts without a field (signature, interval, n, direction) go into
    the entry's notes. The date is the manifest's.

      divbench export eval-results results/0123456789abcdef --dataset org/divbench --metric distinct_k --out dk.yaml
    """
    from benchmark.exports.hub import entries, write_eval_results

    [scored] = _opened([result], metrics)
    write_eval_results(destination, entries(scored, dataset, task_id=task_id))
    _report(scored, (destination,))


def _opened(folders: Sequence[Path], metrics: Sequence[str] | None) -> "list[ScoredResult]":
    """Open all results before anything is written."""
    from benchmark.exports.results import open_result

    return [open_result(folder, metrics or ()) for folder in folders]


def _report(scored: "ScoredResult", files: Sequence[Path]) -> None:
    """Print which files were written for a result, and which metrics have no value."""
    result = scored.result
    about = f"{result.result_id}, {result.suite}, k = {result.k}: {counted(len(scored.scores), 'metric')}"
    lines = [f"{result.manifest.name} ({about})"]
    if scored.left_out:
        lines.append(f"left out, without a value: {', '.join(scored.left_out)}")
    for line in (*lines, *(f"written: {path}" for path in files)):
        out().print(line, markup=False, soft_wrap=True)


def _measure(
    diversity: Literal["looe", "nll", "embedding"], submission: "Submission", models: ProfileOptions
) -> "Measure":
    """Return the chosen measure of diversity, with its model loaded."""
    from benchmark.exports.dpo import measure_embeddings, measure_internals
    from benchmark.models.embedder import SentenceTransformersEmbedder
    from benchmark.scoring.internals_file import find_internals

    if diversity == "embedding":
        profile = models.load()
        if profile.embedder is None:
            hint = "choose another profile, or name an embedder: --set embedder=MODEL"
            raise ConfigurationError(f"the profile {profile.name} has no embedder", hint)
        return measure_embeddings(SentenceTransformersEmbedder(profile.embedder, profile.device))
    internals = find_internals(submission)
    if internals is None:
        raise ConfigurationError(
            f"--diversity {diversity} reads the model's internals, and {submission.folder} has no internals.parquet",
            f"make it: divbench metrics internals {submission.folder} --model MODEL; or use --diversity embedding",
        )
    return measure_internals(diversity, internals)


def _warnings(
    exported: "Exported", generation: "Generation", unrewarded_prompts: int, conversational: bool | None
) -> Iterator[str]:
    """Yield what a user should know before training on the pairs."""
    if generation.mode == "system-prompt" and generation.system_prompt is None:
        yield "the manifest does not state the system prompt, so the pairs lack it"
    stated = (generation.chat_template, generation.prompt_template, generation.system_prompt)
    if conversational is None and set(stated) == {None}:
        yield (
            "the manifest does not state how the model was prompted, so the pairs are plain texts; for a chat model, "
            "use --conversational"
        )
    if unrewarded_prompts:
        yield f"{counted(unrewarded_prompts, 'prompt')} without rewards"
    if exported.unrewarded:
        yield f"{counted(exported.unrewarded, 'response')} without a reward, to prompts that have some rewards"
    pairs, margins = counted(len(exported.rows), "pair"), exported.margins()
    if inverted := sum(margin < 0 for margin in margins):
        yield f"in {inverted} of {pairs}, the chosen response has the lower reward; below --rho 0.5, none has"
    if tied := margins.count(0):
        yield f"in {tied} of {pairs}, both responses have the same reward, so the pair prefers only diversity"
    if exported.truncated:
        yield (
            f"in {exported.truncated} of {pairs}, the chosen response is truncated; a model trained on it learns to "
            "stop there"
        )
