"""The commands that make, check, submit and follow submissions."""

from dataclasses import replace
from datetime import UTC, datetime
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
from submissions.choices import ABOUT_HELP, Format, Mode, manifest_fields

_SUBMITTER = "give another name with --submitter"
Store = Annotated[str, typer.Option(help="Store of the service: a folder, or hf://datasets/ORG/NAME.")]
Reason = Annotated[str | None, typer.Option(help="Reason in one line; public.")]
FieldOption = Annotated[
    str | None, file_option(help="Field of the responses, with dots for inner fields; default: detected.")
]
PromptFieldOption = Annotated[str | None, file_option(help="Field of the prompts; default: detected.")]
IdFieldOption = Annotated[
    str | None, file_option(help="Field of the prompts' ids; doc_id of lm-eval: position in the suite, from 0.")
]
PromptsOption = Annotated[
    Path | None, file_option("--prompts", "--requests", help="File with the prompts by id; of a batch, its requests.")
]
ByOption = Annotated[
    str | None, file_option(help="Column that names the system of each row: one system per value; none: one in all.")
]
KeepThinkingOption = Annotated[
    bool, file_option("--keep-thinking", help="Keep thinking text such as <think>…</think>; default: removed.")
]
CleanOption = Annotated[
    bool, file_option("--clean", help="Remove control tokens, roles, HTML entities and other traces of tools.")
]
Id = Annotated[str, typer.Argument(help="Submission id: 16 hex digits.", metavar="ID")]


def import_(
    file: Annotated[
        str,
        typer.Argument(help="File with the responses; of NoveltyBench also a folder, or hf://datasets/ORG/NAME/RUN."),
    ],
    destination: Annotated[Path, typer.Option("--out", help="Submission folder to create.")],
    name: Annotated[str, typer.Option(help="System's name on the board.")],
    submitter: Annotated[str, typer.Option(help="Submitter's name.")],
    from_: Annotated[Format | None, file_option("--from", help="Format of the file; default: detected.")] = None,
    field: FieldOption = None,
    prompt_field: PromptFieldOption = None,
    id_field: IdFieldOption = None,
    prompts: PromptsOption = None,
    by: ByOption = None,
    keep_thinking: KeepThinkingOption = False,
    clean: CleanOption = False,
    suite: Annotated[
        str | None,
        file_option(help="Suite of the prompts; own: your own prompts. Default: detected by the prompts."),
    ] = None,
    mode: Annotated[Mode | None, sampling_option(help="Sampling mode.")] = None,
    temperature: Annotated[float | None, sampling_option(help="Sampling temperature; default: as in the file.")] = None,
    k: Annotated[
        int | None, sampling_option(help="Number of responses per prompt to keep, from the first; default: all.")
    ] = None,
    about: Annotated[list[str] | None, system_option(metavar="KEY=VALUE", help=ABOUT_HELP)] = None,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Convert a file of responses to a submission folder, and check it. Nothing is written if a check fails.

    noveltybench: the folder of a run of NoveltyBench, or its generations.jsonl, partitions.jsonl or scores.jsonl.
    Partitions and scores are kept as *reported* values, those of versions 1.0 and 1.1 apart (`--about
    reported_by='deberta-1.0, 2025-03-27'` names their source); the 0-based `distinct` of version 1.0 becomes the number
    of classes. If rows have no responses, they are joined by id with generations.jsonl, which must be in the same
    folder or, for a folder such as v1.1, beside it. The suite chooses between nb-curated and nb-wildchat.

    Other files have rows: JSON Lines, JSON, CSV, Parquet or .xlsx (pip install "divbench[xlsx]"), also compressed (.gz,
    .zst). One row per prompt with a list {"prompt_id", "responses": [...]}, or one row per response {"prompt",
    "response"}. Other names, replies of APIs (OpenAI, Anthropic, Gemini, their batches), conversations, and the files
    of lm-evaluation-harness, vLLM, HELM, promptfoo, AlpacaEval and MT-Bench are detected; use --field, --prompt-field
    and --id-field for any other. Without ids, prompts are identified by their texts. Optional fields are "sample_idx"
    and "finish_reason(s)", and, with one value for the whole file, "model", "system_prompt", "temperature", "top_k",
    "top_p", "max_tokens" (or "max_new_tokens") and "seed".

    Replies of a batch do not have the prompts: the "custom_id" of a request is the prompt id, or the id and a sample
    number ("curated-7-3"), or --prompts names the file of the requests.

    inspect: .eval or .json log of Inspect, one response per epoch (pip install "divbench[inspect]").

    With --by COLUMN, each value of the column is one system, whose submission is a folder in --out.

    Examples:
      divbench import hf://datasets/yimingzhang/novelty-bench/results/2026-09-10_claude-opus-5 --name claude-opus-5
        --submitter me --out subs/claude-opus-5

      divbench import scores.jsonl --name gpt-4o --submitter me --out subs/gpt-4o --about model_id=gpt-4o-2024-11-20

    Responses to your own prompts, with "prompt" in each row:

      divbench import mine.csv --name my-model --submitter me --out subs/mine
    """
    from datasets_build.load import load_suite
    from divbench.core.tables import plain
    from submissions.checking.printing import print_report
    from submissions.importing.imported import NOT_SPLIT, ImportOptions
    from submissions.importing.importers import detect_format, folder_name, import_submission, suite_of, systems_of

    source = file if file.startswith("hf://") else Path(file)
    options = ImportOptions(field, prompt_field, id_field, prompts, by, None, keep_thinking, clean)
    find = partial(load_suite, mirror=mirror)
    known: dict[str, Any] = manifest_fields(about or ()) | {"name": name}
    known["suite"] = suite_of(source, options, find)[0] if suite is None else suite
    known["generation"] |= {"k": k, "mode": mode, "temperature": temperature}
    known["submitter"] |= {"name": submitter}
    known["system"] = {"type": "model"} | known["system"]
    kind = detect_format(source) if from_ is None else from_
    split = isinstance(source, Path) and by is not None and by != NOT_SPLIT
    systems = systems_of(Path(file), str(by)) if split else [None]
    documents = []
    for system in systems:
        folder = destination if system is None else destination / folder_name(system)
        named = known if system is None else known | {"name": f"{name} {system}"}
        report, unused = import_submission(source, kind, folder, named, find, replace(options, only=system))
        document = {"id": report.submission.id if report.submission else None, "folder": str(folder)}
        documents.append(document | {"fields_not_used": sorted(unused)} | report.findings.as_json())
        if json:
            continue
        print_report(report, out())
        if unused:
            names = ", ".join(name or '""' for name in sorted(unused))
            out().print(plain(f"Fields of the file that were not used: {names}"))
        out().print(f"Written to {folder}. Next: divbench score {folder}", markup=False)
    if json:
        print_json({"submissions": documents} if split else documents[0])


def validate(
    folder: Annotated[str, typer.Argument(help="Submission folder; with --pull-request, the store of a service.")],
    pull_request: Annotated[
        int | None, typer.Option(min=1, help="Number of a pull request to the store, to check before it is merged.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Strict mode: treats warnings as errors.")] = False,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Check a submission folder and list every problem with its row, field and suggested fix. Exit 1 if rejected.

    A pull request to the store of a service may only add whole submissions that pass these checks: states and results
    are the service's to write.

    Examples:
      divbench validate subs/my-model

      divbench validate hf://datasets/ORG/submissions --pull-request 12
    """
    from datasets_build.load import load_suite
    from submissions.checking.printing import print_findings, print_report
    from submissions.checking.validate import validate as run

    if pull_request is not None:
        from submissions.storage import open_store
        from submissions.work_queue.pull_requests import check_pull_request

        findings = check_pull_request(open_store(folder), pull_request, mirror)
        if json:
            print_json(findings.as_json() | {"accepted": not findings.rejected()})
        else:
            print_findings(findings, out())
        if findings.rejected():
            err().print("do not merge this pull request", style="red")
            raise typer.Exit(1)
        return
    with progress() as bar:
        task = bar.add_task("checking", total=None)
        find = partial(load_suite, mirror=mirror)
        report = run(Path(folder), find, progress=lambda rows: bar.update(task, completed=rows))
    accepted = report.submission is not None and not (strict and report.findings.count("warning"))
    if json:
        print_json(report.as_json() | {"accepted": accepted})
    else:
        print_report(report, out())
    if not accepted:
        err().print("rejected", style="red")
        raise typer.Exit(1)


def baseline(
    folder: Annotated[Path, typer.Argument(help="Submission folder whose responses are used.")],
    kind: Annotated[str, typer.Option(help="Attack to apply, such as repeated, shuffled-words or other-prompts.")],
    destination: Annotated[Path, typer.Option("--out", help="Submission folder to create.")],
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
    from submissions.gaming.baselines import find_attack, write_baseline

    attack = find_attack(kind)
    submission, suite, _ = open_submission(folder, partial(load_suite, mirror=mirror))
    written = write_baseline(attack, submission, suite, destination)
    document = {"id": written.id, "folder": str(destination)}
    say(document, f"{kind} from {folder} is {written.id} in {destination}", as_json=json)


def submit(
    folder: Annotated[Path, typer.Argument(help="Submission folder.", metavar="DIR")],
    to: Annotated[str, typer.Option("--to", help="Store of the service: a folder, or hf://datasets/ORG/NAME.")],
    as_pull_request: Annotated[
        bool,
        typer.Option("--as-pull-request", help="Pull request instead of a direct commit (no write access needed)."),
    ] = False,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Check a submission and submit it for scoring, in the name of the manifest's submitter.

    Nothing is sent if a check fails. The id is derived from the content, so submitting the same folder again changes
    nothing; with --as-pull-request, it opens another pull request as long as none is merged. Anyone who can read the
    store can read the submission's texts.

    Example: divbench submit subs/my-model --to hf://datasets/ORG/submissions
    """
    from contextlib import suppress

    from datasets_build.load import load_suite
    from submissions.storage import open_store
    from submissions.storage.file_store import NoWriteAccess, StoreFault
    from submissions.work_queue.operations import PullRequestStore, listing, propose
    from submissions.work_queue.operations import submit as run
    from submissions.work_queue.printing import print_receipt, receipt_json

    store = open_store(to)
    find = partial(load_suite, mirror=mirror)
    now = datetime.now(UTC)
    if as_pull_request and not isinstance(store, PullRequestStore):
        raise ConfigurationError(f"{to} takes no pull requests", "submit without --as-pull-request")
    try:
        if as_pull_request and isinstance(store, PullRequestStore):
            receipt = propose(store, folder, now, find_suite=find)
        else:
            receipt = run(store, folder, None, now, find_suite=find)
    except NoWriteAccess as error:
        if as_pull_request or not isinstance(store, PullRequestStore):
            raise
        raise NoWriteAccess(error.message, "propose it with --as-pull-request, or log in: hf auth login") from error
    position = None
    if receipt.address is None:
        with suppress(StoreFault):  # it is already submitted, even if its position cannot be read now
            position = listing(store).queue_position(receipt.state.submission_id, now)
    if json:
        print_json(receipt_json(receipt, position))
    else:
        print_receipt(receipt, position, folder, to, out(), err())


def list_(store: Store, json: JsonOption = False) -> None:
    """List all submissions: state, age, submitter; and what is ignored. Exit 1 if a state is damaged or not signed.

    With DIVBENCH_SERVICE_KEY, only states that the service has signed count. Results that no state names are ignored.

    Example: divbench submissions list --store hf://datasets/ORG/submissions
    """
    from submissions.storage import open_store
    from submissions.work_queue.operations import ignored_results, listing
    from submissions.work_queue.printing import print_list, state_json
    from submissions.work_queue.signatures import NOT_PROTECTED, service_key

    submissions = listing(opened := open_store(store, existing=True))
    ignored, protected = ignored_results(opened, submissions), service_key() is not None
    if not protected:
        err().print(NOT_PROTECTED, style="yellow", markup=False, soft_wrap=True)
    for path in ignored:
        err().print(f"ignored {path}: no state names it", style="yellow", markup=False)
    now = datetime.now(UTC)
    for file in submissions.damaged:
        err().print(f"left out {file.path}: {file.reason}", style="yellow", markup=False)
    if json:
        damaged = [{"path": file.path, "reason": file.reason} for file in submissions.damaged]
        listed = [state_json(state) for state in submissions.states]
        print_json({"submissions": listed, "damaged": damaged, "ignored": ignored, "protected": protected})
    else:
        print_list(submissions.states, opened.address, now, out())
    if submissions.damaged:
        raise typer.Exit(1)


def status(submission_id: Id, store: Store, json: JsonOption = False) -> None:
    """Show a submission's status, history, position in the queue, files and results.

    Example: divbench submissions status 0123456789abcdef --store hf://datasets/ORG/submissions
    """
    from submissions.storage import open_store
    from submissions.work_queue.operations import listing
    from submissions.work_queue.printing import print_files, print_history, print_status, state_json
    from submissions.work_queue.queue_files import checked_id, found_in, result_paths
    from submissions.work_queue.schema import UnknownSubmission

    opened = open_store(store, existing=True)
    submissions = listing(opened)
    files = opened.paths(submissions.commit, f"submissions/{checked_id(submission_id)}")
    try:
        state = found_in(submissions, submission_id, opened.address)
    except UnknownSubmission as error:
        if not files:
            raise
        message = f"{opened.address} has files of {submission_id}, but no worker has queued it"
        hint = "a worker does, if they pass its checks; see its messages, or check them: divbench validate"
        raise UnknownSubmission(message, hint) from error
    now = datetime.now(UTC)
    position = submissions.queue_position(submission_id, now)
    twins = submissions.with_same_rows(state.rows_digest, submission_id)
    if json:
        document = state_json(state) | {
            "queue_position": position.as_json(),
            "files": files,
            "results": result_paths(state),
            "same_rows": [twin.submission_id for twin in twins],
        }
        print_json(document)
    else:
        print_status(state, position, now, out())
        print_history(state, out())
        print_files(files, result_paths(state), twins, opened.address, out())


def retry(
    submission_id: Id,
    store: Store,
    by: Annotated[str, typer.Option(help="Operator's name, for the history.")],
    reason: Reason = None,
) -> None:
    """Requeue a failed or rejected submission with its full number of attempts (for operators).

    Example: divbench submissions retry 0123456789abcdef --store hf://datasets/ORG/submissions --by ann
    """
    from submissions.storage import open_store
    from submissions.work_queue.operations import retry as run
    from submissions.work_queue.schema import identity

    operator = identity(by, "give another name with --by")
    run(open_store(store, existing=True), submission_id, operator, datetime.now(UTC), reason=reason)
    out().print(f"{submission_id} is pending again", markup=False)


def withdraw(
    submission_id: Id,
    store: Store,
    submitter: Annotated[str, typer.Option(help="Submitter's name, or the operator's.")],
    operator: Annotated[bool, typer.Option("--operator", help="Operator mode: withdraws any submission.")] = False,
    results_store: Annotated[str | None, typer.Option(help="Store of the results; default: --store.")] = None,
) -> None:
    """Withdraw a submission: remove its texts and results from the store; its history stays.

    Earlier commits still contain them. To remove these as well, the owner of a Hub repository can squash its history.

    Example: divbench submissions withdraw 0123456789abcdef --store hf://datasets/ORG/submissions --submitter me
    """
    from submissions.storage import open_store
    from submissions.work_queue.operations import withdraw as run
    from submissions.work_queue.queue_files import all_result_paths
    from submissions.work_queue.schema import identity

    opened = open_store(store, existing=True)
    results = opened if results_store is None else open_store(results_store)
    stored = {*results.paths(results.head(), "results")}
    by = identity(submitter, _SUBMITTER)
    state = run(opened, submission_id, by, datetime.now(UTC), operator=operator, results_store=results)
    out().print(f"{submission_id} is withdrawn", markup=False)
    if state.results and not {*all_result_paths(state)} & stored:
        message = f"{results.address} had none of its results: if another store has, repeat this with --results-store"
        err().print(message, style="yellow", markup=False, soft_wrap=True)


def repair(
    store: Store,
    by: Annotated[str, typer.Option(help="Operator's name, for the history.")],
    drop: Annotated[bool, typer.Option("--drop", help="Remove submissions whose files are damaged.")] = False,
    results_store: Annotated[str | None, typer.Option(help="Store of the results; default: --store.")] = None,
    mirror: MirrorOption = None,
) -> None:
    """Repair a store after damage to its files (for operators). All its files are read.

    A lost HEAD of a folder is set to the last intact commit. A damaged or forged state is rebuilt from its submission,
    which waits again; without an intact submission it is removed. A submission with damaged results is scored again.
    One with damaged files is named: submit the same folder again, or remove it with --drop.

    Example: divbench submissions repair --store hf://datasets/ORG/submissions --by ann
    """
    from submissions.storage import open_store
    from submissions.work_queue.repair import repair as run
    from submissions.work_queue.schema import identity

    results = None if results_store is None else open_store(results_store)
    name = identity(by, "give another name with --by").name
    opened, line = open_store(store, existing=True), ""
    for line in run(opened, name, datetime.now(UTC), drop=drop, results_store=results, mirror=mirror):
        out().print(line, markup=False, soft_wrap=True)
    if not line:
        out().print("nothing is damaged")
