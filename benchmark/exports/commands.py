"""`divbench export`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from benchmark.exports.choices import DiversityName, PoolUnit, Relationship
from benchmark.scoring.options import OFFLINE, ProfileOptions
from divbench.core.console import JsonOption, MirrorOption, data_option, err, out, output_option, print_json, progress
from divbench.core.errors import ConfigurationError, counted
from divbench.core.option_groups import with_option_groups
from divbench.core.tables import Table, plain, to_terminal

if TYPE_CHECKING:
    from benchmark.exports.diversities import Measure
    from benchmark.exports.dpo import Exported
    from benchmark.exports.preference import PoolRule
    from benchmark.exports.scored import ScoredResult
    from submissions.storage.submission_folders import Submission

_pairs_option = partial(typer.Option, rich_help_panel="Pairs")

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Export results to other formats, and preference pairs for training.",
)

ResultFolder = Annotated[Path, typer.Argument(help="Result folder (result.json and per_prompt.parquet).")]
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
            help=(
                "Rewards file (.jsonl, .csv, .tsv or .parquet): prompt_id, index (from 0), reward; or prompt_id, "
                "rewards (a list)."
            )
        ),
    ],
    diversity: Annotated[
        DiversityName,
        _pairs_option(
            help=(
                "Diversity measure: looe (leave-one-out EigenScore), nll (−ln p per token), embedding (distance "
                "from the mean embedding)."
            )
        ),
    ],
    destination: Annotated[Path, output_option("--out", help="Output file of pairs: .jsonl.")],
    rho: Annotated[
        float | None,
        _pairs_option(
            help="Size of the pools, from 0 to 1; default: as in GSSBench (looe 0.6, nll 0.3, embedding 0.6)."
        ),
    ] = None,
    rule: Annotated[
        PoolUnit,
        _pairs_option(
            help="Meaning of rho: a share of the range of a prompt's rewards, or of the number of its responses."
        ),
    ] = "range",
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
    responses: Annotated[
        Path | None,
        output_option(
            "--table", help="Output file for the reward and diversity of every response: .csv, .parquet or .jsonl."
        ),
    ] = None,
    internals: Annotated[
        Path | None,
        data_option(help="Internals file, for looe and nll; default: internals.parquet in the submission folder."),
    ] = None,
    models: ProfileOptions = OFFLINE,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Write preference pairs that favour diverse responses, for DPO training: DivPO, arXiv:2501.18101.

    For each prompt, responses with high rewards form the chosen pool and responses with low rewards the rejected pool.
    The pair consists of the most diverse response of the chosen pool and the least diverse of the rejected pool. By
    range, with rho = 0.3, a reward is in the chosen pool if it is within 30% of the prompt's range of rewards below the
    best, and in the rejected pool if it is within 30% above the worst.

    You provide the rewards, from any reward model; missing rewards are not filled in. Responses without a reward, blank
    ones and placeholders are in neither pool; prompts without a pair are counted by reason.

    OUT has one JSON object per line, as read by TRL's DPOTrainer and others: prompt, chosen, rejected; also prompt_id
    and meta (all rewards and diversities of the prompt, the positions of both responses, and how they were chosen).

      divbench export dpo subs/mine --rewards rewards.jsonl --diversity looe --out pairs.jsonl --table looe.csv

    Without the generating model, by distances between sentence embeddings:

      divbench export dpo subs/mine --rewards rewards.csv --diversity embedding --out pairs.jsonl
    """
    from functools import partial

    from benchmark.exports.dpo import NO_REWARDS, Files, candidates_of, check_files, export_pairs, format_of
    from benchmark.exports.rewards import read_rewards
    from benchmark.scoring.internals_file import INTERNALS_FILE
    from datasets_build.load import load_suite
    from submissions.checking.validate import open_submission
    from submissions.storage.submission_folders import GENERATIONS_FILE, MANIFEST_FILE, REPORTED_FILE

    chosen_rule = _rule(diversity, rho, rule)
    files = Files(destination, responses)
    own = (MANIFEST_FILE, GENERATIONS_FILE, REPORTED_FILE, INTERNALS_FILE)
    check_files(files, [rewards, internals, *(folder / name for name in own)])
    submission, suite, report = open_submission(folder, partial(load_suite, mirror=mirror))
    generation = submission.manifest.generation
    pair_format = format_of(
        generation, None if conversational is None else "conversational" if conversational else "standard"
    )
    rewarded = read_rewards(rewards, suite.by_id.keys(), generation.k)
    measure = _measure(diversity, submission, internals, models)
    with progress() as bar:
        task = bar.add_task("measuring diversity", total=submission.prompts)
        candidates = candidates_of(
            submission, suite, rewarded, measure, lambda prompts: bar.update(task, completed=prompts)
        )
    exported = export_pairs(submission, suite, candidates, measure, chosen_rule, pair_format, files)
    if warnings := report.findings.count("warning"):
        err().print(f"{counted(warnings, 'warning')}: divbench validate {folder}", markup=False)
    if generation.mode == "system-prompt" and generation.system_prompt is None:
        err().print("warning: the manifest does not state the system prompt, so the pairs lack it")
    if conversational is None and {
        generation.chat_template,
        generation.prompt_template,
        generation.system_prompt,
    } == {None}:
        err().print(
            "warning: the manifest does not state how the model was prompted, so the pairs are plain texts; for a chat "
            "model, use --conversational"
        )
    if lacking := exported.prompts - len(rewarded):
        err().print(f"warning: {lacking} of {exported.prompts} prompts have {NO_REWARDS}")
    if exported.unrewarded:
        which = counted(exported.unrewarded, "response")
        err().print(f"warning: {which} without a reward, to prompts that have some rewards")
    pairs = counted(len(exported.pairs.rows), "pair")
    for count, what in (
        (exported.inverted, "the chosen response has the lower reward; below --rho 0.5, none has"),
        (exported.tied, "both responses have the same reward, so the pair prefers only diversity"),
        (exported.truncated, "the chosen response is truncated; a model trained on it learns to stop there"),
    ):
        if count:
            err().print(f"warning: in {count} of {pairs}, {what}")
    if json:
        print_json(exported.as_json())
    else:
        _print_pairs(exported)


@app.command("every-eval-ever")
def every_eval_ever(
    results: ResultFolders,
    destination: Annotated[Path, typer.Option("--out", help="Datastore folder; files go below its data/.")],
    metrics: Metrics = None,
    relationship: Annotated[
        Relationship, typer.Option(help="Relation of the evaluator to the model; other if not stated.")
    ] = "other",
    json: JsonOption = False,
) -> None:
    """Write results in the schema of Every Eval Ever 0.3: a JSON file of scores and a JSON Lines file of prompts.

    Scores keep their intervals, n, direction, bounds and signature. A prompt has one record per metric, with all
    responses; --metric makes the file smaller. Files are named by ids, and the same result gives the same bytes.

      divbench export every-eval-ever results/0123456789abcdef --metric distinct_k --out datastore
    """
    from benchmark.exports.every_eval_ever import write_every_eval_ever
    from benchmark.exports.scored import open_result

    opened = [open_result(folder, metrics or ()) for folder in results]  # read all before anything is written
    written = [(scored, write_every_eval_ever(scored, destination, relationship)) for scored in opened]
    _report(written, json=json)


@app.command("dataset")
def dataset_(
    results: ResultFolders,
    destination: Annotated[Path, typer.Option("--out", help="Dataset folder to create.")],
    metrics: Metrics = None,
    json: JsonOption = False,
) -> None:
    """Write results as a Hub dataset: tables of means and of per-prompt values, with a card; no texts.

    The dataset viewer and `load_dataset` open the folder as it is; `hf upload ORG/NAME scores --repo-type dataset`
    publishes it.

      divbench export dataset results/* --out scores
    """
    from benchmark.exports.results_dataset import write_results_dataset
    from benchmark.exports.scored import open_result

    opened = [open_result(folder, metrics or ()) for folder in results]
    files = write_results_dataset(opened, destination)
    if json:
        print_json({"exported": [_exported(scored, files) for scored in opened]})
    else:
        _report([(scored, ()) for scored in opened], json=False)
        out().print(f"written: {', '.join(map(str, files))}", markup=False, soft_wrap=True)


@app.command("eval-results")
def eval_results(
    result: ResultFolder,
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
    source_url: Annotated[
        str | None, typer.Option(help="URL of a page with the result, linked from the model's page.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Write a result as Hugging Face's `.eval_results/*.yaml`, for the repository of the generating model.

    An entry has one value, so each metric is a task. Facts without a field (signature, interval, n, direction) go into
    the entry's notes. The date is the manifest's.

      divbench export eval-results results/0123456789abcdef --dataset org/divbench --metric distinct_k --out dk.yaml
    """
    from benchmark.exports.eval_results import benchmark_of, entries, write_eval_results
    from benchmark.exports.scored import open_result

    benchmark = benchmark_of(dataset)
    scored = open_result(result, metrics or ())
    write_eval_results(destination, entries(scored, benchmark, task_id=task_id, source_url=source_url))
    _report([(scored, (destination,))], json=json)


@app.command()
def harness(
    result: ResultFolder,
    destination: Annotated[Path, typer.Option("--out", help="Output folder; files go into RESULT_ID/.")],
    metrics: Metrics = None,
    json: JsonOption = False,
) -> None:
    """Write a result in lm-evaluation-harness's format: results_DATE.json and samples_SUITE_DATE.jsonl.

    The responses to a prompt are written as its repeats. Facts for which the harness has no field, such as intervals
    and signatures, go into the task's metadata. `divbench import --from lm-eval` reads the samples back, but without
    finish reasons, so that scores of what it reads also count classes of truncated responses.

      divbench export harness results/0123456789abcdef --out harness
    """
    from benchmark.exports.harness import write_harness
    from benchmark.exports.scored import open_result

    scored = open_result(result, metrics or ())
    files = write_harness(scored, destination)
    _report([(scored, files)], json=json)


def _report(written: "Sequence[tuple[ScoredResult, Sequence[Path]]]", *, json: bool) -> None:
    """Print which files were written for each result, and which metrics have no value."""
    if json:
        print_json({"exported": [_exported(scored, files) for scored, files in written]})
        return
    for scored, files in written:
        result = scored.result
        about = f"{result.result_id}, {result.suite}, k = {result.k}: {counted(len(scored.scores), 'metric')}"
        out().print(Text.assemble(plain(result.manifest.name), f" ({about})"), soft_wrap=True)
        if scored.left_out:
            out().print(f"left out, without a value: {', '.join(scored.left_out)}", markup=False, soft_wrap=True)
        for path in files:
            out().print(f"written: {path}", markup=False, soft_wrap=True)


def _print_pairs(exported: "Exported") -> None:
    """Print how many prompts gave a pair, why others did not, and the means of chosen and rejected responses."""
    rule, rows = exported.provenance.rule, exported.pairs.rows
    counts = [(len(rows), "a pair"), *((count, f"no pair: {why}") for why, count in exported.pairs.skipped.items())]
    title = f"{exported.provenance.metric}, rho = {rule.rho:g} by {rule.by}"
    means = [(side, own["reward"], own["diversity"]) for side, own in exported.means.items()]
    out().print(to_terminal(Table(title, ("prompts", ""), counts, numbers=("prompts",))))
    out().print(to_terminal(Table("Means over pairs", ("", "reward", "diversity"), means)))
    out().print(f"written: {exported.files.pairs}, {exported.format}", markup=False, soft_wrap=True)
    if exported.files.table is not None:
        out().print(f"written: {exported.files.table}", markup=False, soft_wrap=True)


def _exported(scored: "ScoredResult", files: Sequence[Path]) -> dict[str, Any]:
    return {
        "result_id": scored.result.result_id,
        "metrics": [score.metric for score in scored.scores],
        "left_out": dict(scored.left_out),
        "files": [str(path) for path in files],
    }


def _rule(diversity: DiversityName, rho: float | None, by: PoolUnit) -> "PoolRule":
    from benchmark.exports.diversities import PUBLISHED_RHO
    from benchmark.exports.preference import PoolRule

    try:
        return PoolRule(PUBLISHED_RHO[diversity] if rho is None else rho, by)
    except ValueError as error:
        raise ConfigurationError(str(error), "such as 0.3") from error


def _measure(
    diversity: DiversityName,
    submission: "Submission",
    internals: Path | None,
    models: ProfileOptions,
) -> "Measure":
    """Return the chosen measure of diversity, with its model loaded."""
    from benchmark.exports.diversities import measure_embeddings, measure_internals
    from benchmark.models.embedder import SentenceTransformersEmbedder
    from benchmark.scoring.internals_file import INTERNALS_FILE, open_internals

    if diversity == "embedding":
        if internals is not None:
            raise ConfigurationError("--diversity embedding reads no internals", "leave out --internals")
        profile = models.load()
        if profile.embedder is None:
            hint = "choose another profile, or name an embedder: --set embedder=MODEL"
            raise ConfigurationError(f"the profile {profile.name} has no embedder", hint)
        return measure_embeddings(SentenceTransformersEmbedder(profile.embedder, profile.device))
    if models.settings:
        hint = "leave out --set, or use --diversity embedding"
        raise ConfigurationError(f"--diversity {diversity} reads no embeddings", hint)
    path = internals or submission.folder / INTERNALS_FILE
    if not path.is_file():
        raise ConfigurationError(
            f"--diversity {diversity} reads the model's internals, and there is no file {path}",
            f"make it: divbench metrics internals {submission.folder} --model MODEL; or use --diversity embedding",
        )
    return measure_internals(diversity, open_internals(path, submission.id))
