"""Maintenance of the queue: adopt merged pull requests, add results, retry failed submissions, withdraw.

Every operation raises StoreFault if the store cannot be read or written and QueueBusy if other commits came first each
time; an operation on a submission also raises UnknownSubmission and DamagedState.
"""

import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from submissions.storage.file_store import FileStore
from submissions.storage.submission_folders import Submission
from submissions.work_queue.errors import IllegalTransition, QueueError
from submissions.work_queue.queue_files import (
    Step,
    all_result_paths,
    change,
    check_results,
    checked_id,
    found_in,
    new_results,
    publish_apart,
    read_listing,
    read_state,
    remove_results,
    result_paths,
    state_path,
)
from submissions.work_queue.schema import MAX_RESULTS, Identity, Record, State, utc_seconds
from submissions.work_queue.transitions import check_withdrawer, own_versions, received, retried, time_after, withdrawn

_FILE = re.compile(r"submissions/([0-9a-f]{16})/[^/]+")


def submissions_without_state(store: FileStore) -> list[str]:
    """List the submissions at the head that have files but no state, as after the merge of a pull request."""
    commit = store.head()
    there = {found[1] for path in store.paths(commit, "submissions") if (found := _FILE.fullmatch(path))}
    known = set(store.paths(commit, "states"))
    return sorted(name for name in there if state_path(name) not in known)


def adopt(store: FileStore, submission: Submission, by: str, now: datetime) -> State:
    """Queue a submission without a state by writing one. An existing state is left unchanged.

    Everything in it is untrusted, so its submitter is not verified, and its time of receipt is that of the adoption.

    Args:
        store: Store of submissions; it has the files.
        submission: Checked submission as fetched; its folder must be named by its id.
    """
    at, reason = utc_seconds(now), "submitted as a pull request"
    first = Record(state="pending", at=at, by=by, reason=reason, versions=own_versions(), attempt=1)
    state = received(submission, Identity(name=submission.manifest.submitter.name), first)

    def decide(commit: str) -> Step[State]:
        if state_path(submission.id) in store.paths(commit, "states"):
            return Step(read_state(store, commit, submission.id))
        return Step(state, f"adopt {submission.id} by {by}", (state,))

    return change(store, decide)


def add_results(
    store: FileStore,
    submission_id: str,
    results: Mapping[str, Path],
    by: str,
    now: datetime,
    profile: str,
    *,
    results_store: FileStore | None = None,
) -> State:
    """Publish more results of a scored submission.

    Args:
        results: Result folders by result id; existing files are left unchanged, missing ones are restored.
        results_store: Store of results, as in `finish`; None: the same.

    Returns:
        State whose last record has the old and the new results.

    Raises:
        IllegalTransition: It is not scored (any longer). Nothing was published in the store of submissions.
        QueueError: It has the maximum number of results or records.
        InputError: A result lacks a file.
    """
    check_results(results)
    token = secrets.token_hex(8)
    one_store = results_store is None or results_store.address == store.address

    def decide(commit: str) -> Step[State]:
        state = read_state(store, commit, checked_id(submission_id))
        if state.current.state != "scored":
            message = f"{submission_id} is {state.current.state}: results can be added only to a scored submission"
            raise IllegalTransition(message, "look at its history: divbench submissions status")
        files = new_results(store, results, commit) if one_store else {}
        if set(results) <= set(state.results):  # there may be files of theirs that the store has lost
            return Step(state, f"restore results of {submission_id} by {by}", files=files)
        joined = (*state.results, *sorted({*results} - {*state.results}))
        if len(joined) > MAX_RESULTS:
            raise QueueError(f"{submission_id} has {len(state.results)} results", f"at most {MAX_RESULTS} are kept")
        record = Record(
            state="scored",
            at=time_after(state, now),
            by=by,
            reason="scored again",
            versions=own_versions(),
            profile=profile,
            attempt=state.current.attempt,
            token=token,
            results=joined,
        )
        after = state.and_then(record)
        return Step(after, f"more results of {submission_id} by {by}", (after,), files)

    if results_store is not None and not one_store:
        decide(store.head())  # raises before anything is published
        message = f"results of {submission_id} by {by}"
        return publish_apart(store, results_store, submission_id, results, message, lambda: change(store, decide))
    return change(store, decide)


def retry(store: FileStore, submission_id: str, by: Identity, now: datetime, *, reason: str | None = None) -> State:
    """Requeue a failed or rejected submission with its full number of attempts, for the operator of the service.

    It keeps its history and its position, which depends on its time of receipt.

    Args:
        reason: Reason, such as what was fixed; public.

    Raises:
        IllegalTransition: It neither failed nor was rejected.
        QueueError: Its history is full.
    """

    def decide(commit: str) -> Step[State]:
        after = retried(read_state(store, commit, submission_id), by, now, reason)
        return Step(after, f"retry {submission_id} by {by.name}", (after,))

    return change(store, decide)


def withdraw(
    store: FileStore,
    submission_id: str,
    by: Identity,
    now: datetime,
    *,
    operator: bool = False,
    reason: str | None = None,
    results_store: FileStore | None = None,
) -> State:
    """Withdraw a submission in any state. Its history stays; its files and results leave the store's head.

    Earlier commits still have them, as in any repository.

    Args:
        by: Submitter; a submission made with a login is withdrawn only with that login.
        operator: Whether `by` is the operator of the service, who may withdraw any submission.
        reason: Reason; public.
        results_store: Store of results; None: the same. It is changed last; after an interruption, withdraw again.

    Raises:
        NotAllowed: It belongs to another submitter.
        IllegalTransition: It is already withdrawn, and none of its files are left. (Files may come back with the merge
            of a pull request that is older than the withdrawal; then withdraw again.)
    """
    elsewhere = None if results_store is None or results_store.address == store.address else results_store
    message = f"withdraw {submission_id} by {by.name}"

    def decide(commit: str) -> Step[tuple[State, set[str]]]:
        found = read_listing(store, commit)
        state = found_in(found, submission_id, store.address)
        others = (each for each in found.states if each.submission_id != submission_id)
        results = {*all_result_paths(state)} - {path for each in others for path in result_paths(each)}
        own = store.paths(commit, f"submissions/{submission_id}")
        gone = (*own, *sorted(results & {*store.paths(commit, "results")}))
        left = gone or (elsewhere is not None and results & {*elsewhere.paths(elsewhere.head(), "results")})
        if state.current.state == "withdrawn" and left:
            check_withdrawer(state, by, operator)
            return Step((state, results), message, gone=gone)
        after = withdrawn(state, by, now, operator, reason)
        return Step((after, results), message, (after,), gone=gone)

    after, results = change(store, decide)
    if elsewhere is not None:
        remove_results(elsewhere, results, message)
    return after
