"""`divbench submit` and `divbench submissions`: submit, follow, list, retry, withdraw."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from divbench.core.console import JsonOption, MirrorOption, err, out, print_json, say

_SUBMITTER = "give another name with --submitter"
Store = Annotated[str, typer.Option(help="Store of the service: a folder, or hf://datasets/ORG/NAME.")]
Reason = Annotated[str | None, typer.Option(help="Reason in one line; public.")]
Id = Annotated[str, typer.Argument(help="Submission id: 16 hex digits.", metavar="ID")]


def submit(
    folder: Annotated[Path, typer.Argument(help="Submission folder.", metavar="DIR")],
    to: Annotated[str, typer.Option("--to", help="Store of the service: a folder, or hf://datasets/ORG/NAME.")],
    submitter: Annotated[str | None, typer.Option(help="Submitter's name; default: the one in the manifest.")] = None,
    as_pull_request: Annotated[
        bool,
        typer.Option("--as-pull-request", help="Pull request instead of a direct commit (no write access needed)."),
    ] = False,
    mirror: MirrorOption = None,
    json: JsonOption = False,
) -> None:
    """Check a submission and submit it for scoring. Nothing is sent if a check fails.

    The id is derived from the content, so submitting the same folder again changes nothing; with --as-pull-request, it
    opens another pull request as long as none is merged. Anyone who can read the store can read the submission's texts.

    Example: divbench submit subs/my-model --to hf://datasets/ORG/submissions
    """
    from contextlib import suppress
    from functools import partial

    from datasets_build.load import load_suite
    from divbench.core.errors import ConfigurationError
    from submissions.storage.commits import NoWriteAccess, StoreFault
    from submissions.storage.file_store import open_store
    from submissions.work_queue.operations import PullRequestStore, listing, propose
    from submissions.work_queue.operations import submit as run
    from submissions.work_queue.printing import print_receipt, receipt_json
    from submissions.work_queue.schema import identity

    store = open_store(to)
    by = identity(submitter or _submitter_of(folder), _SUBMITTER)
    find = partial(load_suite, mirror=mirror)
    now = datetime.now(UTC)
    if as_pull_request and not isinstance(store, PullRequestStore):
        raise ConfigurationError(f"{to} takes no pull requests", "submit without --as-pull-request")
    try:
        if as_pull_request and isinstance(store, PullRequestStore):
            receipt = propose(store, folder, by, now, find_suite=find)
        else:
            receipt = run(store, folder, by, now, find_suite=find)
    except NoWriteAccess as error:
        if as_pull_request or not isinstance(store, PullRequestStore):
            raise
        raise NoWriteAccess(error.message, "propose it with --as-pull-request, or log in: hf auth login") from error
    place = None
    if receipt.address is None:
        with suppress(StoreFault):  # it is already submitted, even if its position cannot be read now
            place = listing(store).queue_position(receipt.state.submission_id, now)
    if json:
        print_json(receipt_json(receipt, place))
    else:
        print_receipt(receipt, place, folder, to, out(), err())


def list_(
    store: Store,
    json: JsonOption = False,
) -> None:
    """List all submissions: state, age, submitter. Exit 1 if a state is damaged.

    Example: divbench submissions list --store hf://datasets/ORG/submissions
    """
    from submissions.storage.file_store import open_store
    from submissions.work_queue.operations import listing
    from submissions.work_queue.printing import print_list, state_json

    found = listing(opened := open_store(store, existing=True))
    now = datetime.now(UTC)
    for each in found.damaged:
        err().print(f"left out {each.path}: {each.reason}", style="yellow", markup=False)
    if json:
        damaged = [{"path": each.path, "reason": each.reason} for each in found.damaged]
        print_json({"submissions": [state_json(state, now) for state in found.states], "damaged": damaged})
    else:
        print_list(found.states, opened.address, now, out())
    if found.damaged:
        raise typer.Exit(1)


def status(submission_id: Id, store: Store, json: JsonOption = False) -> None:
    """Show a submission's status, history, position in the queue, files and results.

    Example: divbench submissions status 0123456789abcdef --store hf://datasets/ORG/submissions
    """
    from submissions.storage.file_store import open_store
    from submissions.work_queue.errors import UnknownSubmission
    from submissions.work_queue.operations import listing
    from submissions.work_queue.printing import print_files, print_history, print_status, state_json
    from submissions.work_queue.queue_files import checked_id, found_in, result_paths

    opened = open_store(store, existing=True)
    found = listing(opened)
    files = opened.paths(found.commit, f"submissions/{checked_id(submission_id)}")
    try:
        state = found_in(found, submission_id, opened.address)
    except UnknownSubmission as error:
        if not files:
            raise
        message = f"{opened.address} has files of {submission_id}, but no worker has queued it"
        hint = "a worker does, if they pass its checks; see its messages, or check them: divbench validate"
        raise UnknownSubmission(message, hint) from error
    now = datetime.now(UTC)
    place = found.queue_position(submission_id, now)
    same = [s for s in found.states if s.rows_digest == state.rows_digest and s.submission_id != submission_id]
    if json:
        document = state_json(state, now) | {
            "queue_position": place.as_json(),
            "files": files,
            "results": result_paths(state),
            "same_rows": [each.submission_id for each in same],
        }
        print_json(document)
    else:
        print_status(state, place, now, out())
        print_history(state, out())
        print_files(files, result_paths(state), same, opened.address, out())


def retry(
    submission_id: Id,
    store: Store,
    by: Annotated[str, typer.Option(help="Operator's name, for the history.")],
    reason: Reason = None,
    json: JsonOption = False,
) -> None:
    """Requeue a failed or rejected submission with its full number of attempts (for operators).

    Example: divbench submissions retry 0123456789abcdef --store hf://datasets/ORG/submissions --by ann
    """
    from submissions.storage.file_store import open_store
    from submissions.work_queue.maintenance import retry as run
    from submissions.work_queue.printing import state_json
    from submissions.work_queue.schema import identity

    now = datetime.now(UTC)
    operator = identity(by, "give another name with --by")
    state = run(open_store(store, existing=True), submission_id, operator, now, reason=reason)
    say(state_json(state, now), f"{submission_id} is pending again", as_json=json)


def withdraw(
    submission_id: Id,
    store: Store,
    submitter: Annotated[str, typer.Option(help="Submitter's name, or the operator's.")],
    operator: Annotated[bool, typer.Option("--operator", help="Operator mode: withdraws any submission.")] = False,
    reason: Reason = None,
    results_store: Annotated[str | None, typer.Option(help="Store of the results; default: --store.")] = None,
    json: JsonOption = False,
) -> None:
    """Withdraw a submission: remove its texts and results from the store; its history stays.

    Earlier commits still contain them. To remove these as well, the owner of a Hub repository can squash its history.

    Example: divbench submissions withdraw 0123456789abcdef --store hf://datasets/ORG/submissions --submitter me
    """
    from submissions.storage.file_store import open_store
    from submissions.work_queue.maintenance import withdraw as run
    from submissions.work_queue.printing import state_json
    from submissions.work_queue.queue_files import all_result_paths
    from submissions.work_queue.schema import identity

    now, opened = datetime.now(UTC), open_store(store, existing=True)
    of_results = opened if results_store is None else open_store(results_store)
    there = of_results.paths(of_results.head(), "results")
    state = run(
        opened,
        submission_id,
        identity(submitter, _SUBMITTER),
        now,
        operator=operator,
        reason=reason,
        results_store=of_results,
    )
    say(state_json(state, now), f"{submission_id} is withdrawn", as_json=json)
    if state.results and not {*all_result_paths(state)} & {*there}:
        said = f"{of_results.address} had none of its results: if another store has, repeat this with --results-store"
        err().print(said, style="yellow", markup=False, soft_wrap=True)


def _submitter_of(folder: Path) -> str:
    """Return the submitter in a manifest; a placeholder if it is unreadable, which the checks will report."""
    from submissions.storage.submission_folders import MANIFEST_FILE
    from submissions.untrusted.findings import Findings
    from submissions.untrusted.json_files import read_manifest

    manifest = read_manifest(folder / MANIFEST_FILE, Findings())
    return "nobody" if manifest is None else manifest.submitter.name
