"""The queue of the submission service: submitters submit, workers claim and finish, anybody reads.

A submission is named by its content, so submitting the same again changes nothing. Every operation reads one
commit of the store, decides, and makes one commit on it; where another commit came first, it starts again. So
no two workers get the same submission, and nobody sees half of a change. Times are arguments, never read here.

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
from submissions.work_queue.errors import QueueError, UnknownSubmission
from submissions.work_queue.queue_files import (
    Step,
    change,
    check_results,
    found_in,
    new_results,
    read_listing,
    read_state,
    submission_files,
)
from submissions.work_queue.schema import Claim, Identity, Listing, Quota, Receipt, Record, State
from submissions.work_queue.schema import utc_seconds as utc
from submissions.work_queue.transitions import (
    check_lease,
    check_quota,
    claimed,
    ending,
    failed,
    given_up,
    is_same_outcome,
    own_versions,
    refused,
    released,
    renewed,
    time_after,
)


@runtime_checkable
class PullRequestStore(FileStore, Protocol):
    """A store that takes pull requests from those who may not write to it."""

    def as_pull_request(self, add: Mapping[str, bytes | Path], message: str) -> str:
        """Propose files; return the address of the pull request."""
        ...


# What submitters do


def submit(
    store: FileStore,
    folder: Path,
    submitter: Identity,
    now: datetime,
    *,
    quota: Quota | None = None,
    find_suite: FindSuite = load_suite,
) -> Receipt:
    """Submit a folder: its files and its state, in one commit. A known submission is left unchanged.

    Args:
        store: Of submissions.
        folder: The submission; checked as the service checks it.
        submitter: The submitter.
        now: When.
        quota: Limit on submissions; None: no limit. Submitting the same again does not count.
        find_suite: Gives the suite that the manifest names.

    Raises:
        Refused: The folder is no acceptable submission.
        QuotaUsed: The submitter has reached the quota.
        DamagedState: The submission is known, and its state cannot be read.
        ConfigurationError: As in `open_submission`.
        QueueBusy: The store changed again and again.
        StoreFault: The store cannot be written.
    """
    return change(store, _handing_in(store, folder, submitter, now, quota, find_suite))


def propose(
    store: PullRequestStore, folder: Path, submitter: Identity, now: datetime, *, find_suite: FindSuite = load_suite
) -> Receipt:
    """Submit without write access: a pull request with the files alone.

    A worker writes its state once the pull request is merged; see `adopt` in maintenance.py.

    Raises:
        Refused: The folder is no acceptable submission.
        DamagedState: The submission is known, and its state cannot be read.
        ConfigurationError: As in `open_submission`.
        StoreFault: The store refuses.
    """
    step = _handing_in(store, folder, submitter, now, None, find_suite)(store.head())
    if step.files:
        return replace(step.outcome, address=store.as_pull_request(step.files, step.message))
    return step.outcome


def _handing_in(
    store: FileStore, folder: Path, submitter: Identity, now: datetime, quota: Quota | None, find_suite: FindSuite
) -> Callable[[str], Step[Receipt]]:
    """Return what submitting a folder changes on a commit; the folder is read and checked once."""
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
            check_quota(quota, found.states, submitter, at)
        state = State(
            submission_id=submission.id,
            name=submission.manifest.name,
            suite=submission.manifest.suite,
            submitter=submitter,
            received=at,
            rows_digest=submission.rows_digest,
            history=(Record(state="pending", at=at, by=submitter.name, versions=own_versions(), attempt=1),),
        )
        message = f"submit {submission.id} by {submitter.name}"
        return Step(Receipt(state, True, same, warnings), message, (state,), submission_files(submission.id, folder))

    return decide


# What workers do. All of it raises QueueBusy where the store changed again and again, and StoreFault where it cannot be
# read or written; what is done on a claim raises DamagedState, too, where somebody broke the state.


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
    """Take the oldest submission that waits. Nobody else gets it before the lease is over.

    One whose worker let its lease pass waits again, with one attempt less; one whose last attempt passed so is marked
    as failed on the way.

    Args:
        store: Of submissions.
        worker: Who claims.
        lease: For how long, in whole seconds; `renew` lengthens it.
        now: When.
        profile: That the worker scores with; noted.
        versions: Of what it runs on; None: the version of this package.
        wanted: Whether the worker can score a submission, such as one of a suite that it has. The others are left for
            another worker: to claim and release them would keep this one from what stands behind them.
        token: Of the claim, 16 hex digits made at random. Who gives the same again, after a reply that was lost, gets
            the claim that was made. None: a new one.

    Returns:
        None where nothing waits.

    Raises:
        ValueError: The lease is shorter than a second, or a name, profile, version or token cannot be written.
    """
    if lease < timedelta(seconds=1):
        raise ValueError("a lease lasts a second or longer")
    at, lease = utc(now), timedelta(seconds=int(lease.total_seconds()))
    record = Record(
        state="claimed",
        at=at,
        by=worker,
        versions=own_versions() if versions is None else dict(versions),
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
            with suppress(QueueError):  # a history that somebody has filled up holds nobody else back
                if state.attempts_exhausted(at):
                    lapsed.append(given_up(state, worker, at))
                elif made is None and state.is_waiting(at) and wanted(state):
                    made = Claim(claimed(state, record), lease, record.versions)
        words = [] if made is None else [f"claim {made.submission_id} by {worker}"]
        words += [f"give up {len(lapsed)} by {worker}"] if lapsed else []
        return Step(made, ", ".join(words), (*lapsed, *([] if made is None else [made.state])))

    return change(store, decide)


def renew(store: FileStore, claim: Claim, now: datetime) -> Claim:
    """Lengthen a claim: its lease begins anew. A lease that is over can be renewed while nobody else has taken it.

    Returns:
        The claim to go on with.

    Raises:
        ClaimLost: Somebody else has the submission, or it was withdrawn or given up.
        QueueError: It was renewed so often that its history is full; the last lease still holds.
    """

    def decide(commit: str) -> Step[Claim]:
        state = check_lease(read_state(store, commit, claim.submission_id), claim)
        after = renewed(state, claim, now)
        return Step(replace(claim, state=after), f"renew {claim.submission_id} by {claim.record.by}", (after,))

    return change(store, decide)


def release(store: FileStore, claim: Claim, reason: str, now: datetime) -> State:
    """Give a submission back unscored, without using up an attempt; what was given back hundreds of times is failed.

    Raises:
        ClaimLost: It is not the claim's any more.
    """
    return _conclude(store, claim, now, "release", lambda state: released(claim, reason, len(state.history)))


def refuse(store: FileStore, claim: Claim, problems: Sequence[Problem], now: datetime) -> State:
    """Say that a submission is not acceptable after all, and why. The first 50 problems are kept, errors first.

    Raises:
        ClaimLost: It is not the claim's any more.
    """
    return _conclude(store, claim, now, "refuse", lambda state: refused(claim, problems))


def fail(store: FileStore, claim: Claim, log_tail: str, now: datetime) -> State:
    """Say that an attempt failed. The submission waits again, or is failed where that was the last attempt.

    Args:
        store: Of submissions.
        claim: The worker's.
        log_tail: The end of its log, of which the last 20 lines are kept. Free of secrets: anybody may read them.
        now: When.

    Raises:
        ClaimLost: It is not the claim's any more.
    """
    return _conclude(store, claim, now, "fail", lambda state: failed(claim, log_tail))


def finish(
    store: FileStore,
    claim: Claim,
    results: Mapping[str, Path],
    now: datetime,
    *,
    results_store: FileStore | None = None,
) -> State:
    """Publish the results of a submission, which is scored with that: in one commit, where all lies in one store.

    Where results have a store of their own they are published there first, so that no state names what is not there. A
    claim that is lost in the moment between leaves results that no state names. A result that is there is left as it
    is: its id is that of its input.

    Args:
        store: Of submissions.
        claim: The worker's.
        results: Result folders by the ids of the results; one or more.
        now: When.
        results_store: Of results; None: the same.

    Raises:
        ClaimLost: It is not the claim's any more. Nothing was published.
        InputError: A result lacks a file.
        ValueError: There are no results, or an id is none.
    """
    record = ending(claim, "scored", results=tuple(sorted(results)))
    check_results(results)
    if results_store is None or results_store.address == store.address:
        files = partial(new_results, store, results)
        return _conclude(store, claim, now, "finish", lambda state: record, files)
    state = state_of(store, claim.submission_id)
    if not is_same_outcome(state.current, record):
        check_lease(state, claim)
    message = f"results of {claim.submission_id} by {claim.record.by}"
    change(results_store, lambda commit: Step(None, message, files=new_results(results_store, results, commit)))
    return _conclude(store, claim, now, "finish", lambda state: record)


def _conclude(
    store: FileStore,
    claim: Claim,
    now: datetime,
    verb: str,
    record: Callable[[State], Record],
    files: Callable[[str], Mapping[str, Path]] = lambda commit: {},
) -> State:
    """End a claim. Repeating the same outcome, as after a lost reply, changes nothing."""

    def decide(commit: str) -> Step[State]:
        state = read_state(store, commit, claim.submission_id)
        last = record(state)
        if is_same_outcome(state.current, last):
            return Step(state)
        last = last.model_copy(update={"at": time_after(state, now)})
        after = check_lease(state, claim).and_then(last)
        return Step(after, f"{verb} {claim.submission_id} by {claim.record.by}", (after,), files(commit))

    return change(store, decide)


# What anybody may see


def listing(store: FileStore) -> Listing:
    """All submissions at the head of a store, and what is damaged.

    Raises:
        StoreFault: The store cannot be read.
    """
    return read_listing(store, store.head())


def states(store: FileStore) -> list[State]:
    """All submissions, by the time when they were received, then by id. `listing` says what is damaged, too."""
    return list(listing(store).states)


def state_of(store: FileStore, submission_id: str) -> State:
    """What is known of a submission.

    Raises:
        UnknownSubmission: There is none of that id.
        DamagedState: Its state cannot be read.
        StoreFault: The store cannot be read.
    """
    return read_state(store, store.head(), submission_id)
