"""`divbench import`: import, validate, and make the known-bad baselines."""

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from divbench.core.console import (
    JsonOption,
    MirrorOption,
    err,
    file_option,
    out,
    print_json,
    progress,
    sampling_option,
    say,
    system_option,
)
from divbench.core.errors import ConfigurationError
from submissions.choices import AnswersIn, Format, Mode, SystemType

_submission_option = partial(typer.Option, rich_help_panel="Submission")


def import_(
    file: Annotated[Path, typer.Argument(help="File with the responses.")],
    destination: Annotated[Path | None, typer.Option("--out", help="Submission folder to create (required).")] = None,
    name: Annotated[str | None, typer.Option(help="System's name on the board (required).")] = None,
    submitter: Annotated[str | None, typer.Option(help="Submitter's name (required).")] = None,
    from_: Annotated[Format | None, file_option("--from", help="Format of the file; default: detected.")] = None,
    field: Annotated[
        str | None,
        file_option(help="Field or column with the responses; default: detected by name."),
    ] = None,
    type_: Annotated[SystemType, system_option("--type", help="System type.")] = "model",
    suite: Annotated[
        str, file_option(help="Suite of the prompts; own: your own prompts, with their texts in the file.")
    ] = "noveltybench-curated",
    date: Annotated[
        datetime | None, _submission_option(formats=["%Y-%m-%d"], help="Date of generation; default: unknown.")
    ] = None,
    model_id: Annotated[str | None, system_option(help="Hub id or provider's name; default: as in the file.")] = None,
    revision: Annotated[str | None, system_option(help="Commit of the weights, or version of the API.")] = None,
    parameters: Annotated[int | None, system_option(help="Number of parameters.")] = None,
    open_weights: Annotated[
        bool | None, system_option("--open-weights/--closed-weights", help="Availability of the weights.")
    ] = None,
    licence: Annotated[str | None, system_option(help="Licence of the weights or responses.")] = None,
    mode: Annotated[Mode | None, sampling_option(help="Sampling mode.")] = None,
    temperature: Annotated[float | None, sampling_option(help="Sampling temperature; default: as in the file.")] = None,
    top_k: Annotated[
        int | None,
        sampling_option(help="Number of most probable tokens to sample from (top-k); default: as in the file."),
    ] = None,
    top_p: Annotated[
        float | None, sampling_option(help="Nucleus sampling threshold (top-p); default: as in the file.")
    ] = None,
    max_tokens: Annotated[
        int | None, sampling_option(help="Maximum number of new tokens per response; default: as in the file.")
    ] = None,
    seed: Annotated[int | None, sampling_option(help="Random seed of the sampling; default: as in the file.")] = None,
    k: Annotated[
        int | None, sampling_option(help="Number of responses per prompt to keep, from the first; default: all.")
    ] = None,
    contact: Annotated[str | None, _submission_option(help="Contact address of the submitter.")] = None,
    link: Annotated[
        list[str] | None, _submission_option(help="URL of a page about the system; may be repeated.")
    ] = None,
    notes: Annotated[str | None, _submission_option(help="Notes for readers.")] = None,
    reported_by: Annotated[
        str | None,
        file_option(help="Source of the partition and scores in the file, such as 'deberta-1.0, 2025-03-27'."),
    ] = None,
    id_field: Annotated[
        str | None,
        file_option(help="Field of doc with the prompt id in an lm-eval file; doc_id: position in the suite, from 0."),
    ] = None,
    answers: Annotated[AnswersIn, file_option(help="Field with the responses in an lm-eval file.")] = "resps",
    filter_: Annotated[
        str | None, file_option("--filter", help="Name of the filter to read from an lm-eval file.")
    ] = None,
    requests: Annotated[
        Path | None, file_option(help="Input file of the OpenAI batch, which contains the prompts.")
    ] = None,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Convert a file of responses to a submission folder, and check it. Nothing is written if a check fails.

    noveltybench: generations.jsonl, partitions.jsonl or scores.jsonl of NoveltyBench. Partitions and scores are kept as
    *reported* values; its 0-based `distinct` becomes the number of classes.

    jsonl, csv, parquet: one row per prompt with a list {"prompt_id", "responses": [...]}, or one row per response
    {"prompt_id", "response"}. Other common names, such as "outputs" or "completion", are detected; use --field for
    any other. Without ids, prompts are identified by their texts ("prompt"). Optional fields are "sample_idx" and
    "finish_reason(s)", and, with one value for the whole file, "model", "system_prompt", "temperature", "top_k",
    "top_p", "max_tokens" (or "max_new_tokens") and "seed". Commas, tabs or semicolons separate the columns of csv.

    lm-eval: samples_*.jsonl of lm-evaluation-harness (--log_samples, a generate_until task with repeats: k). Prompts
    are identified by the field "prompt_id" of "doc" (or the field given with --id-field), or by their texts. The
    responses are read from "resps": one per repeat, before any filter.

    openai-batch: output file of OpenAI's Batch API. The "custom_id" of a request should be the prompt id, or the id
    and a sample number ("curated-7-3"). Otherwise give the batch's input file with --requests: prompts are then
    identified by their texts.

    inspect: .eval or .json log of Inspect, one response per epoch (pip install "divbench[inspect]").

    Examples:
      divbench import scores.jsonl --name gpt-4o --submitter me --out subs/gpt-4o

    Responses to your own prompts, with "prompt" in each row:

      divbench import mine.csv --suite own --name my-model --submitter me --out subs/mine
    """
    from datasets_build.load import load_suite
    from divbench.core.tables import plain
    from submissions.checking.printing import print_report
    from submissions.importing.importers import ImportOptions, LmEvalOptions, detect_format, import_submission
    from submissions.untrusted.findings import problems_json

    needed = {"--out": destination, "--name": name, "--submitter": submitter}
    if destination is None or lacking(needed):
        message = f"missing options: {', '.join(lacking(needed))}"
        raise ConfigurationError(message, "give all of them; see divbench import --help")
    _check_date(date)
    known: dict[str, Any] = {
        "name": name,
        "suite": suite,
        "system": {
            "type": type_,
            "model_id": model_id,
            "revision": revision,
            "parameters": parameters,
            "open_weights": open_weights,
            "licence": licence,
        },
        "generation": {
            "k": k,
            "mode": mode,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "max_tokens": max_tokens,
            "seed": seed,
        },
        "submitter": {
            "name": submitter,
            "date": None if date is None else date.date(),
            "contact": contact,
            "links": tuple(link or ()),
        },
        "notes": notes,
        "reported": reported_by,
    }
    options = ImportOptions(field, LmEvalOptions(id_field, answers, filter_), requests)
    report, unused_fields = import_submission(
        file,
        detect_format(file) if from_ is None else from_,
        destination,
        known,
        partial(load_suite, mirror=mirror),
        options,
    )
    if json:
        document = {"id": report.submission.id if report.submission else None, "folder": str(destination)}
        print_json(document | {"fields_not_used": sorted(unused_fields)} | problems_json(report.findings))
        return
    print_report(report, out())
    if unused_fields:
        named = ", ".join(name or '""' for name in sorted(unused_fields))
        out().print(plain(f"Fields of the file that were not used: {named}"))
    out().print(f"Written to {destination}. Next: divbench score {destination}", markup=False)


def _check_date(date: datetime | None) -> None:
    """Check that responses are not dated in the future, anywhere on Earth."""
    latest = datetime.now(timezone(timedelta(hours=14))).date()
    if date is not None and date.date() > latest:
        hint = "give the day on which the responses were generated, or leave it out"
        raise ConfigurationError(f"--date {date.date()} is in the future", hint)


def lacking(given: Mapping[str, object]) -> list[str]:
    """Names of the required options that were not given."""
    return [name for name, value in given.items() if value is None]


def validate(
    folder: Annotated[Path, typer.Argument(help="Submission folder.")],
    strict: Annotated[bool, typer.Option("--strict", help="Strict mode: treats warnings as errors.")] = False,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Check a submission folder and list every problem with its row, field and suggested fix. Exit 1 if rejected.

    Example: divbench validate subs/my-model
    """
    from datasets_build.load import load_suite
    from submissions.checking.printing import print_report
    from submissions.checking.validate import validate as run

    with progress() as bar:
        task = bar.add_task("checking", total=None)
        find = partial(load_suite, mirror=mirror)
        report = run(folder, find, progress=lambda rows: bar.update(task, completed=rows))
    accepted = report.submission is not None and not (strict and report.findings.count("warning"))
    if json:
        print_json(report.as_json() | {"accepted": accepted})
    else:
        print_report(report, out())
    if not accepted:
        err().print("rejected", style="red")
        raise typer.Exit(1)


def baseline(
    given: Annotated[Path, typer.Argument(help="Submission folder whose responses are used.")],
    kind: Annotated[str, typer.Option(help="Attack to apply, such as repeated, shuffled-words or other-prompts.")],
    destination: Annotated[Path, typer.Option("--out", help="Submission folder to create.")],
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Make a known-bad baseline from a submission, which a good metric does not reward.

    Junk ignores the prompts: random-characters, random-words, random-sentences, shuffled-words, chinese-characters,
    other-prompts (responses to other prompts), book-sentences, prompt-openings (book sentences after words of the
    prompt), echoes (of the prompt), refusals.

    Disguises change how each response looks: numbered, random-suffixes, random-prefixes, homoglyphs,
    case-and-punctuation, synonyms, reordered-sentences, translated-openings, truncated, padded.

    Copies use only the first response: repeated, or reworded by rules.

    Example: divbench metrics baseline subs/my-model --kind repeated --out subs/repeated
    """
    from datasets_build.load import load_suite
    from submissions.checking.validate import open_submission
    from submissions.gaming.derive import find_attack, write_baseline

    chosen = find_attack(kind)
    submission, suite, _ = open_submission(given, partial(load_suite, mirror=mirror))
    made = write_baseline(chosen, submission, suite, destination, seed)
    document = {"id": made.id, "folder": str(destination)}
    say(document, f"{kind} from {given} is {made.id} in {destination}", as_json=json)
