"""The queue of the submission service: submitters submit, workers claim and finish, anybody reads.

A submission is named by its content, so submitting the same again changes nothing. Every operation reads one commit of
the store, decides, and makes one commit on top of it; if another commit came first, it starts again. So no two workers
get the same submission, and nobody sees half of a change. Times are arguments; no function reads the clock.

Every operation raises StoreFault if the store cannot be read or written and QueueBusy if other commits came first each
time. Operations that conclude a claim also raise ClaimLost if the claim no longer holds, and DamagedState.

Paths in the store are in queue_files.py, states and their transitions in schema.py, the records that each operation
appends in transitions.py.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

from datasets_build.load import load_suite
from submissions.checking.validate import FindSuite, open_submission
from submissions.schema import Problem
from submissions.storage.file_store import FileStore
from submissions.work_queue import transitions
from submissions.work_queue.errors import QueueError, UnknownSubmission
from submissions.work_queue.queue_files import (
    Step,
    change,
    check_results,
    found_in,
    new_results,
    publish_apart,
    read_listing,
    read_state,
    submission_files,
)
from submissions.work_queue.schema import Claim, Identity, Listing, Quota, Receipt, Record, State
from submissions.work_queue.schema import utc_seconds as utc


@runtime_checkable
class PullRequestStore(FileStore, Protocol):
    """A store that accepts pull requests from users without write access."""

    def as_pull_request(self, add: Mapping[str, bytes | Path], message: str) -> str:
        """Propose files; return the address of the pull request."""
        ...


# For submitters


def submit(
    store: FileStore,
    folder: Path,
    submitter: Identity,
    now: datetime,
    *,
    quota: Quota | None = None,
    find_suite: FindSuite = load_suite,
) -> Receipt:
    """Submit a folder: commit its files and its state together. A known submission is left unchanged.

    Args:
        folder: Submission folder; it is checked as the service checks it.
        quota: Limit on submissions; None: no limit. Submitting the same again does not count.

    Raises:
        Rejected: The submission has errors.
        QuotaUsed: The submitter has reached the quota.
        DamagedState: The submission is known, but its state cannot be read.
        ConfigurationError: As in `open_submission`.
    """
    return change(store, _submitting(store, folder, submitter, now, quota, find_suite))


def propose(
    store: PullRequestStore, folder: Path, submitter: Identity, now: datetime, *, find_suite: FindSuite = load_suite
) -> Receipt:
    """Submit without write access, by a pull request with the files alone.

    A worker writes its state once the pull request is merged; see `adopt` in maintenance.py.

    Raises:
        Rejected: The submission has errors.
        DamagedState: The submission is known, but its state cannot be read.
        ConfigurationError: As in `open_submission`.
    """
    step = _submitting(store, folder, submitter, now, None, find_suite)(store.head())
    if step.files:
        return replace(step.outcome, address=store.as_pull_request(step.files, step.message))
    return step.outcome


def _submitting(
    store: FileStore, folder: Path, submitter: Identity, now: datetime, quota: Quota | None, find_suite: FindSuite
) -> Callable[[str], Step[Receipt]]:
    """Read and check a folder, and return the function that decides what submitting it changes on a commit."""
    at = utc(now)
    submission, _, report = open_submission(folder, find_suite)
    warnings = report.findings.count("warning")

    def decide(commit: str) -> Step[Receipt]:
        found = read_listing(store, commit)
        same = tuple(
            s for s in found.states if s.rows_digest == submission.rows_digest and s.submission_id != submission.id
        )
        with suppress(UnknownSubmission):
            return Step(Receipt(found_in(found, submission.id, store.address), False, same, warnings))
        if quota is not None:
            transitions.check_quota(quota, found.states, submitter, at)
        first = Record(state="pending", at=at, by=submitter.name, versions=transitions.own_versions(), attempt=1)
        state = transitions.received(submission, submitter, first)
        message = f"submit {submission.id} by {submitter.name}"
        return Step(Receipt(state, True, same, warnings), message, (state,), submission_files(submission.id, folder))

    return decide


# For workers


def claim(
    store: FileStore,
    worker: str,
    lease: timedelta,
    now: datetime,
    profile: str | None = None,
    *,
    versions: Mapping[str, str] | None = None,
    wanted: Callable[[State], bool] = lambda state: True,
    token: str | None = None,
) -> Claim | None:
    """Claim the oldest waiting submission; None if nothing waits. No other worker gets it before the lease expires.

    A submission whose lease has expired waits again with one attempt less; after its last attempt it is marked as
    failed here.

    Args:
        lease: Duration of the lease, in whole seconds; `renew` extends it.
        versions: Versions of the worker's software; None: the version of this package.
        wanted: Predicate for the submissions that the worker can score, such as those of a suite that it has. Claiming
            and releasing the others would keep it from those behind them.
        token: Random id of the claim, 16 hex digits. The same token again, after a lost reply, returns the existing
            claim. None: a new one.

    Raises:
        ValueError: The lease is shorter than a second, or a name, profile, version or token is malformed.
    """
    if lease < timedelta(seconds=1):
        raise ValueError("a lease lasts a second or longer")
    at, lease = utc(now), timedelta(seconds=int(lease.total_seconds()))
    record = Record(
        state="claimed",
        at=at,
        by=worker,
        versions=transitions.own_versions() if versions is None else dict(versions),
        profile=profile,
        attempt=1,
        lease_until=at + lease,
        token=token or secrets.token_hex(8),
    )

    def decide(commit: str) -> Step[Claim | None]:
        lapsed: list[State] = []
        made: Claim | None = None
        found = read_listing(store, commit).states
        if ours := [state for state in found if state.current.state == "claimed" and state.current.token == token]:
            return Step(Claim(ours[0], lease, record.versions))
        for state in found:
            with suppress(QueueError):  # one full history must not block the others
                if state.attempts_exhausted(at):
                    lapsed.append(transitions.given_up(state, worker, at))
                elif made is None and state.is_waiting(at) and wanted(state):
                    made = Claim(transitions.claimed(state, record), lease, record.versions)
        words = [] if made is None else [f"claim {made.submission_id} by {worker}"]
        words += [f"give up {len(lapsed)} by {worker}"] if lapsed else []
        return Step(made, ", ".join(words), (*lapsed, *([] if made is None else [made.state])))

    return change(store, decide)


def renew(store: FileStore, claim: Claim, now: datetime) -> Claim:
    """Renew a claim: its lease starts anew. An expired lease can be renewed as long as no other worker has claimed it.

    Raises:
        ClaimLost: Another worker has the submission, or it was withdrawn or failed.
        QueueError: Its history is full of renewals; the last lease still holds.
    """

    def decide(commit: str) -> Step[Claim]:
        state = transitions.check_lease(read_state(store, commit, claim.submission_id), claim)
        after = transitions.renewed(state, claim, now)
        return Step(replace(claim, state=after), f"renew {claim.submission_id} by {claim.record.by}", (after,))

    return change(store, decide)


def release(store: FileStore, claim: Claim, reason: str, now: datetime) -> State:
    """Release a submission unscored, without using an attempt; it fails once its history is full."""
    return _conclude(
        store, claim, now, "release", lambda state: transitions.released(claim, reason, len(state.history))
    )


def reject(store: FileStore, claim: Claim, problems: Sequence[Problem], now: datetime) -> State:
    """Reject a submission for its problems; the first 50 are kept, errors first."""
    return _conclude(store, claim, now, "reject", lambda state: transitions.rejected(claim, problems))


def fail(store: FileStore, claim: Claim, log_tail: str, now: datetime) -> State:
    """Record a failed attempt. The submission waits again; after the last attempt it has failed.

    Args:
        log_tail: End of its log, without secrets; its last 20 lines become public.
    """
    return _conclude(store, claim, now, "fail", lambda state: transitions.failed(claim, log_tail))


def finish(
    store: FileStore,
    claim: Claim,
    results: Mapping[str, Path],
    now: datetime,
    *,
    results_store: FileStore | None = None,
) -> State:
    """Publish the results of a submission and mark it as scored, in one commit if there is one store.

    Results with a store of their own are published there first (`publish_apart`); a claim that is lost in between to
    another worker leaves results that no state names. An existing result is left unchanged: its id comes from its
    input.

    Args:
        results: Result folders by result id; one or more.
        results_store: Store of results; None: the same.

    Raises:
        InputError: A result lacks a file.
        ValueError: There are no results, or an id is malformed.
    """
    record = transitions.ending(claim, "scored", results=tuple(sorted(results)))
    check_results(results)
    if results_store is None or results_store.address == store.address:
        files = partial(new_results, store, results)
        return _conclude(store, claim, now, "finish", lambda state: record, files)
    state = state_of(store, claim.submission_id)
    if not transitions.is_same_outcome(state.current, record):
        transitions.check_lease(state, claim)
    message = f"results of {claim.submission_id} by {claim.record.by}"
    conclude = partial(_conclude, store, claim, now, "finish", lambda state: record)
    return publish_apart(store, results_store, claim.submission_id, results, message, conclude)


def _conclude(
    store: FileStore,
    claim: Claim,
    now: datetime,
    verb: str,
    record: Callable[[State], Record],
    files: Callable[[str], Mapping[str, Path]] = lambda commit: {},
) -> State:
    """Conclude a claim. Repeating the same outcome, as after a lost reply, changes nothing."""

    def decide(commit: str) -> Step[State]:
        state = read_state(store, commit, claim.submission_id)
        last = record(state)
        if transitions.is_same_outcome(state.current, last):
            return Step(state)
        last = last.model_copy(update={"at": transitions.time_after(state, now)})
        after = transitions.check_lease(state, claim).and_then(last)
        return Step(after, f"{verb} {claim.submission_id} by {claim.record.by}", (after,), files(commit))

    return change(store, decide)


# For everybody


def listing(store: FileStore) -> Listing:
    """List all submissions at the head of a store, and the damaged states."""
    return read_listing(store, store.head())


def states(store: FileStore) -> list[State]:
    """Return the states of all submissions in order of receipt, then by id, without the damaged ones."""
    return list(listing(store).states)


def state_of(store: FileStore, submission_id: str) -> State:
    """Return the state of a submission.

    Raises:
        UnknownSubmission: There is no submission of that id.
        DamagedState: Its state cannot be read.
    """
    return read_state(store, store.head(), submission_id)
