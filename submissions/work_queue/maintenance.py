"""The queue's upkeep: proposals come to a state, scored submissions to more results, what failed to another try.

And what its submitter takes back leaves the store's head.
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
    read_listing,
    read_state,
    result_paths,
    state_path,
)
from submissions.work_queue.schema import MAX_RESULTS, Identity, Record, State, utc_seconds
from submissions.work_queue.transitions import own_versions, retried, time_after, withdrawn

_FILE = re.compile(r"submissions/([0-9a-f]{16})/[^/]+")


def submissions_without_state(store: FileStore) -> list[str]:
    """The submissions at the head whose files are there and whose state is not, as after a proposal that was taken.

    Raises:
        StoreFault: The store cannot be read.
    """
    commit = store.head()
    there = {found[1] for path in store.paths(commit, "submissions") if (found := _FILE.fullmatch(path))}
    known = set(store.paths(commit, "states"))
    return sorted(name for name in there if state_path(name) not in known)


def adopt(store: FileStore, submission: Submission, by: str, now: datetime) -> State:
    """Write the state of a submission that came without one: it waits from now on. One that has a state is left so.

    All of it is untrusted, so its submitter is not verified, and it counts as received when it is adopted.

    Args:
        store: Of submissions; it has the files.
        submission: Checked, as it was fetched. Its id is that of its content, and so must be its folder's name.
        by: Who adopts: the worker.
        now: When.

    Raises:
        DamagedState: It has a state, which cannot be read.
        QueueBusy: The store changed again and again.
        StoreFault: The store cannot be written.
    """
    at, manifest = utc_seconds(now), submission.manifest
    record = Record(
        state="pending", at=at, by=by, reason="submitted as a pull request", versions=own_versions(), attempt=1
    )
    state = State(
        submission_id=submission.id,
        name=manifest.name,
        suite=manifest.suite,
        submitter=Identity(name=manifest.submitter.name),
        received=at,
        rows_digest=submission.rows_digest,
        history=(record,),
    )

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
    """Publish more results of a submission that is scored, beside those that are there.

    Args:
        store: Of submissions.
        submission_id: Which.
        results: Result folders by the ids of the results. What the submission has already changes nothing.
        by: Who made them.
        now: When.
        profile: That they were made with.
        results_store: Of results; None: the same. As in `finish`.

    Returns:
        The state, whose last record has the old and the new results.

    Raises:
        IllegalTransition: It is not scored, or not any more. Nothing was published in the store of submissions.
        QueueError: It has as many results, or records, as it may.
        InputError: A result lacks a file.
        UnknownSubmission: There is none of that id.
        DamagedState: Its state cannot be read.
        QueueBusy: The store changed again and again.
        StoreFault: The store cannot be written.
    """
    check_results(results)
    token = secrets.token_hex(8)
    one_store = results_store is None or results_store.address == store.address

    def decide(commit: str) -> Step[State]:
        state = read_state(store, commit, checked_id(submission_id))
        if state.current.state != "scored":
            message = f"{submission_id} is {state.current.state}: results can be added only to a scored submission"
            raise IllegalTransition(message, "look at its history: divbench submissions status")
        if set(results) <= set(state.results):
            return Step(state)
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
        files = new_results(store, results, commit) if one_store else {}
        after = state.and_then(record)
        return Step(after, f"more results of {submission_id} by {by}", (after,), files)

    if results_store is not None and not one_store:
        decide(store.head())  # nothing is published of what cannot have it
        message = f"results of {submission_id} by {by}"
        change(results_store, lambda commit: Step(None, message, files=new_results(results_store, results, commit)))
    return change(store, decide)


def retry(store: FileStore, submission_id: str, by: Identity, now: datetime, *, reason: str | None = None) -> State:
    """Let a submission that failed or was refused wait again, with all its attempts: for who runs the service.

    Its history stays, and so does its place in the queue, which is by when it was received.

    Args:
        store: Of submissions.
        submission_id: Which.
        by: Who runs the service.
        now: When.
        reason: Reason, such as what was fixed; public.

    Raises:
        IllegalTransition: It neither failed nor was refused.
        QueueError: Its history is full.
        UnknownSubmission: There is none of that id.
        DamagedState: Its state cannot be read.
        QueueBusy: The store changed again and again.
        StoreFault: The store cannot be written.
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
    """Take a submission back, whatever its state. Its history stays; its files and results leave the store's head.

    The commits before still have them, as those of any repository.

    Args:
        store: Of submissions.
        submission_id: Which.
        by: The submitter; what a login submitted, only that login withdraws.
        now: When.
        operator: Who runs the service may withdraw any.
        reason: Why; anybody may read it.
        results_store: Of results; None: the same. It is changed after the other; where that is broken off, withdraw
            again.

    Raises:
        NotAllowed: It is somebody else's.
        IllegalTransition: It is withdrawn already.
        UnknownSubmission: There is none of that id.
        DamagedState: Its state cannot be read.
        QueueBusy: The store changed again and again.
        StoreFault: The store cannot be written.
    """
    elsewhere = None if results_store is None or results_store.address == store.address else results_store
    message = f"withdraw {submission_id} by {by.name}"

    def decide(commit: str) -> Step[tuple[State, set[str]]]:
        found = read_listing(store, commit)
        state = found_in(found, submission_id, store.address)
        others = (each for each in found.states if each.submission_id != submission_id)
        results = {*all_result_paths(state)} - {path for each in others for path in result_paths(each)}
        before = state.current.state == "withdrawn"
        if elsewhere is not None and before and results & {*elsewhere.paths(elsewhere.head(), "results")}:
            return Step((state, results))
        after = withdrawn(state, by, now, operator, reason)
        own = store.paths(commit, f"submissions/{submission_id}")
        here = sorted(results & {*store.paths(commit, "results")})
        return Step((after, results), message, (after,), gone=(*own, *here))

    after, results = change(store, decide)
    if elsewhere is not None:

        def take_out(commit: str) -> Step[None]:
            return Step(None, message, gone=tuple(sorted(results & {*elsewhere.paths(commit, "results")})))

        change(elsewhere, take_out)
    return after
