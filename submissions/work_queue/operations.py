"""The queue of the submission service: submitters submit, workers claim and finish, anybody reads.

A submission is named by its content, so submitting the same again changes nothing. Every operation reads one commit of
the store, decides, and makes one commit on top of it; if another commit came first, it starts again. So no two workers
get the same submission, and nobody sees half of a change. Times are arguments; no function reads the clock.

Every operation raises StoreFault if the store cannot be read or written and QueueBusy if other commits came first each
time. Operations that conclude a claim also raise ClaimLost if the claim no longer holds, and DamagedState.

Paths in the store are in queue_files.py, states and their transitions in schema.py.
"""

import re
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from datasets_build.load import load_suite
from divbench.core.errors import ConfigurationError, InputError, counted
from divbench.core.files import sha256_of
from submissions.checking.validate import FindSuite, open_submission
from submissions.storage.file_store import FileStore
from submissions.storage.submission_folders import Submission
from submissions.untrusted.findings import Problem
from submissions.untrusted.plain_text import one_line
from submissions.work_queue import queue_files, schema, signatures

BY_OPERATOR = "by the operator"  # reason of a withdrawal after which nobody can submit the same content again
_FILE = re.compile(r"submissions/([0-9a-f]{16})/[^/]+")


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
    submitter: schema.Identity | None,
    now: datetime,
    *,
    quota: schema.Quota | None = None,
    find_suite: FindSuite = load_suite,
) -> schema.Receipt:
    """Check a folder, and commit its files and its state together.

    Of a known submission, only damaged files are restored; one that its submitter has withdrawn begins anew, whoever
    submits it. The default submitter is that of the manifest.
    """
    return queue_files.change(store, _submitting(store, folder, submitter, now, quota, find_suite))


def propose(
    store: PullRequestStore, folder: Path, now: datetime, *, find_suite: FindSuite = load_suite
) -> schema.Receipt:
    """Submit without write access, by a pull request with the files alone: once merged, a worker adopts it."""
    step = _submitting(store, folder, None, now, None, find_suite)(store.head())
    if step.states:
        return replace(step.outcome, address=store.as_pull_request(step.files, step.message))
    return step.outcome


def _submitting(
    store: FileStore,
    folder: Path,
    submitter: schema.Identity | None,
    now: datetime,
    quota: schema.Quota | None,
    find_suite: FindSuite,
) -> Callable[[str], queue_files.Step[schema.Receipt]]:
    """Read and check a folder, and return the function that decides what submitting it changes on a commit."""
    at, before = schema.utc_seconds(now), _digests(folder)
    submission, _, report = open_submission(folder, find_suite)
    warnings = report.findings.count("warning")
    by = submitter or schema.Identity(name=submission.manifest.submitter.name)

    def decide(commit: str) -> queue_files.Step[schema.Receipt]:
        listing = queue_files.read_listing(store, commit)
        twins = listing.with_same_rows(submission.rows_digest, submission.id)
        if _digests(folder) != before:
            raise InputError(f"{folder} changed while it was submitted", "submit it again")
        known = _known(listing, submission.id, store.address)
        withdrawn = known is not None and known.current.state == "withdrawn"
        # Else whoever submits a copy first could keep the content from everybody by withdrawing it.
        if known is not None and not (withdrawn and known.current.reason != BY_OPERATOR):
            files = {} if withdrawn else queue_files.submission_files(submission.id, folder)
            receipt = schema.Receipt(known, False, twins, warnings)
            return queue_files.Step(receipt, f"restore files of {submission.id} by {by.name}", files=files)
        if quota is not None:
            _check_quota(quota, listing.states, by, at)
        first = schema.Record(state="pending", at=at, by=by.name, versions=_versions(), attempt=1)
        state = _received(submission, by, first)
        message = f"submit {submission.id} by {by.name}"
        return queue_files.Step(
            schema.Receipt(state, True, twins, warnings),
            message,
            (state,),
            queue_files.submission_files(submission.id, folder),
        )

    return decide


def _digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the files of a submission folder, by their paths in a store."""
    files = queue_files.submission_files("0" * 16, folder)
    return {path: sha256_of(file) for path, file in files.items() if file.is_file()}


def _known(listing: schema.Listing, submission_id: str, address: str) -> schema.State | None:
    """Return the state of a submission; None if there is none, or none that a service with a key would believe."""
    try:
        return queue_files.found_in(listing, submission_id, address)
    except schema.UnknownSubmission:
        return None
    except schema.DamagedState:
        if signatures.service_key() is None:
            raise
        return None


def _check_quota(quota: schema.Quota, states: Sequence[schema.State], submitter: schema.Identity, at: datetime) -> None:
    """Check a submitter's quota. An unverified name does not count towards the quota of the login of that name."""
    since = at - timedelta(days=quota.days)
    key = (submitter.name.casefold(), submitter.verified)
    theirs = [s.received for s in states if (s.submitter.name.casefold(), s.submitter.verified) == key]
    recent = sorted(received for received in theirs if received > since)
    if len(recent) >= quota.number:
        again = recent[len(recent) - quota.number] + timedelta(days=quota.days)
        message = f"{submitter.name} has sent {counted(len(recent), 'submission')} in {counted(quota.days, 'day')}"
        hint = f"submit the next one after {again:%Y-%m-%d %H:%M:%S} UTC"
        raise schema.QuotaUsed(f"{message}; the limit is {quota.number}", hint)


def _received(submission: Submission, submitter: schema.Identity, record: schema.Record) -> schema.State:
    """Return the first state of a submission, received at the time of its first record."""
    return schema.State(
        submission_id=submission.id,
        name=submission.manifest.name,
        suite=submission.manifest.suite,
        submitter=submitter,
        received=record.at,
        rows_digest=submission.rows_digest,
        history=(record,),
    )


# For workers


def claim(
    store: FileStore,
    worker: str,
    lease: timedelta,
    now: datetime,
    profile: str | None = None,
    *,
    wanted: Callable[[schema.State], bool] = lambda state: True,
    free: Callable[[Sequence[schema.State]], Collection[str]] = lambda states: (),
    token: str | None = None,
) -> schema.Claim | None:
    """Claim the oldest waiting submission; None if nothing waits. No other worker gets it before the lease expires.

    `free` returns the ids of those submissions, of claimed or paused ones, whose wait is over by the worker's own clock
    (`benchmark.service.lease.Watch`). An expired lease is not the submission's fault: it waits again, after a pause
    that grows, and fails after `MAX_LAPSES` in a row without progress. `wanted` selects what the worker can score, as
    claiming and releasing the others would keep it from those behind. The same token again, after a lost reply,
    returns the existing claim.
    """
    if lease < timedelta(seconds=1):
        raise ValueError("a lease lasts a second or longer")
    at, lease = schema.utc_seconds(now), timedelta(seconds=int(lease.total_seconds()))
    record = schema.Record(
        state="claimed",
        at=at,
        by=worker,
        versions=_versions(),
        profile=profile,
        attempt=1,
        wait=int(lease.total_seconds()),
        token=token or secrets.token_hex(8),
    )

    def decide(commit: str) -> queue_files.Step[schema.Claim | None]:
        lapsed: list[schema.State] = []
        claim: schema.Claim | None = None
        states = queue_files.read_listing(store, commit).states
        if ours := [state for state in states if state.current.state == "claimed" and state.current.token == token]:
            return queue_files.Step(schema.Claim(ours[0], lease))
        known = free([state for state in states if state.wait])
        for state in states:
            if state.wait and state.submission_id not in known:
                continue
            with suppress(schema.QueueError):  # one full history must not block the others
                if state.current.state == "claimed":
                    lapsed.append(state.and_then(_lapse(state, worker, at)))
                elif state.current.state == "pending" and claim is None and wanted(state):
                    last = state.current
                    values = {"at": _time_after(state, at), "attempt": last.attempt}
                    values |= {"progress": last.progress, "lapses": last.lapses}
                    claim = schema.Claim(state.and_then(record.model_copy(update=values)), lease)
        words = [] if claim is None else [f"claim {claim.submission_id} by {worker}"]
        words += [f"return {counted(len(lapsed), 'expired lease')} by {worker}"] if lapsed else []
        return queue_files.Step(claim, ", ".join(words), (*lapsed, *([] if claim is None else [claim.state])))

    return queue_files.change(store, decide)


def _lapse(state: schema.State, by: str, at: datetime) -> schema.Record:
    """Return the record after an expired lease: pending after a pause, or failed."""
    last, before = state.current, state.history[-2]
    lapses = 1 if last.progress > before.progress else last.lapses + 1
    reason = f"the lease of {last.by} expired without a result"
    known: dict[str, Any] = {"at": _time_after(state, at), "by": by, "attempt": last.attempt, "lapses": lapses}
    if lapses >= schema.MAX_LAPSES:
        line = one_line(f"given up after {lapses} workers in a row: {reason}")
        return schema.Record(state="failed", reason=line, **known)
    pause = min(max(1, state.wait // 60) * 2 ** (lapses - 1), schema.MAX_WAIT)
    return schema.Record(state="pending", reason=one_line(reason), wait=pause, progress=last.progress, **known)


def renew(store: FileStore, claim: schema.Claim, now: datetime, progress: int = 0) -> schema.Claim:
    """Renew the lease of a claim, even an expired one as long as no other worker has claimed the submission."""

    def decide(commit: str) -> queue_files.Step[schema.Claim]:
        state = _check_lease(queue_files.read_state(store, commit, claim.submission_id), claim)
        last = state.current
        after = state.renewed(
            at=_time_after(state, now), heartbeat=last.heartbeat + 1, progress=max(progress, last.progress)
        )
        return queue_files.Step(
            replace(claim, state=after), f"renew {claim.submission_id} by {claim.record.by}", (after,)
        )

    return queue_files.change(store, decide)


def release(store: FileStore, claim: schema.Claim, reason: str, now: datetime) -> schema.State:
    """Release a submission unscored, without using an attempt; it fails once its history is full."""

    def record(state: schema.State) -> schema.Record:
        if len(state.history) < schema.FULL_HISTORY:
            return _ending(claim, "pending", reason)
        return _ending(claim, "failed", f"given up after {len(state.history)} records: {reason}")

    return _conclude(store, claim, now, "release", record)


def reject(store: FileStore, claim: schema.Claim, problems: Sequence[Problem], now: datetime) -> schema.State:
    """Reject a submission for its problems; the first 50 are kept, errors first."""
    ordered = sorted(problems, key=lambda problem: problem.severity != "error")
    reason = counted(sum(problem.severity == "error" for problem in problems), "problem")
    reason += f", the first: {ordered[0].message}" if ordered else ""
    shown = tuple(schema.StoredProblem.of(problem) for problem in ordered[: schema.MAX_PROBLEMS])
    record = _ending(claim, "rejected", reason, problems=shown)
    return _conclude(store, claim, now, "reject", lambda state: record)


def fail(store: FileStore, claim: schema.Claim, log_tail: str, now: datetime, pause: int = 0) -> schema.State:
    """Record a failed attempt and the last lines of its log; the submission waits again while attempts are left.

    Others leave it alone for `pause` seconds.
    """
    lines = (one_line(line) for line in log_tail.splitlines())
    log = tuple(line for line in lines if line)[-schema.MAX_LOG_LINES :]
    last = log[-1].strip() if log else "it has no log"
    attempt = claim.record.attempt
    if attempt < schema.MAX_ATTEMPTS:
        record = _ending(
            claim, "pending", f"attempt {attempt} failed: {last}", log=log, attempt=attempt + 1, wait=pause
        )
    else:
        record = _ending(claim, "failed", f"given up after {attempt} attempts: {last}", log=log)
    return _conclude(store, claim, now, "fail", lambda state: record)


def finish(
    store: FileStore,
    claim: schema.Claim,
    results: Mapping[str, Path],
    now: datetime,
    *,
    results_store: FileStore | None = None,
) -> schema.State:
    """Publish the results of a submission and mark it as scored, in one commit if there is one store.

    Results with a store of their own are published there first (`publish_apart`); a claim that is lost in between to
    another worker leaves results that no state names.
    """
    queue_files.check_results(results)
    digests = {key: signatures.result_digest(folder) for key, folder in results.items()}
    record = _ending(claim, "scored", results=tuple(sorted(results)), digests=digests)
    if results_store is None or results_store.address == store.address:
        files = queue_files.result_files(results)
        return _conclude(store, claim, now, "finish", lambda state: record, files)
    state = state_of(store, claim.submission_id)
    if not _is_same_outcome(state.current, record):
        _check_lease(state, claim)
    message = f"results of {claim.submission_id} by {claim.record.by}"
    conclude = partial(_conclude, store, claim, now, "finish", lambda state: record)
    return queue_files.publish_apart(store, results_store, claim.submission_id, results, message, conclude)


def _conclude(
    store: FileStore,
    claim: schema.Claim,
    now: datetime,
    verb: str,
    record: Callable[[schema.State], schema.Record],
    files: Mapping[str, Path] = MappingProxyType({}),
) -> schema.State:
    """Conclude a claim. Repeating the same outcome, as after a lost reply, changes nothing."""

    def decide(commit: str) -> queue_files.Step[schema.State]:
        state = queue_files.read_state(store, commit, claim.submission_id)
        last = record(state)
        if _is_same_outcome(state.current, last):
            return queue_files.Step(state)
        last = last.model_copy(update={"at": _time_after(state, now)})
        after = _check_lease(state, claim).and_then(last)
        return queue_files.Step(after, f"{verb} {claim.submission_id} by {claim.record.by}", (after,), files)

    return queue_files.change(store, decide)


def _ending(claim: schema.Claim, state: schema.StateName, reason: str | None = None, **values: Any) -> schema.Record:
    """Return the record that ends a claim; `at` is the time of the claim until the record is written."""
    held = claim.record
    known: dict[str, Any] = {"versions": _versions(), "profile": held.profile, "attempt": held.attempt} | values
    line = None if reason is None else one_line(reason)
    return schema.Record(state=state, at=held.at, by=held.by, reason=line, token=held.token, **known)


def _check_lease(state: schema.State, claim: schema.Claim) -> schema.State:
    """Return the state if the claim still holds. An expired lease holds until another worker claims the submission."""
    last = state.current
    if last.state != "claimed" or last.token != claim.record.token:
        message = f"{state.submission_id} is no longer {claim.record.by}'s: it is {last.state}, by {last.by}"
        raise schema.ClaimLost(message, "discard its results and claim another submission")
    return state


def _is_same_outcome(record: schema.Record, other: schema.Record) -> bool:
    """Whether two records are the same apart from their times."""
    return record.model_copy(update={"at": other.at}) == other


def submissions_without_state(store: FileStore) -> list[str]:
    """List the submissions at the head that have files but no state, as after the merge of a pull request.

    For a service with a key, a state that it has not signed is none.
    """
    commit = store.head()
    ids = {match[1] for path in store.paths(commit, "submissions") if (match := _FILE.fullmatch(path))}
    listing = queue_files.read_listing(store, commit)
    known = {queue_files.state_path(state.submission_id) for state in listing.states}
    if signatures.service_key() is None:
        known |= {error.path for error in listing.damaged}
    return sorted(submission_id for submission_id in ids if queue_files.state_path(submission_id) not in known)


def check_key(store: FileStore) -> None:
    """Raise `ConfigurationError` if the states of a store are signed with a key that is not this process's.

    Else a worker with a wrong key would take all of them for forged, and score everything again.
    """
    listing, variable = queue_files.read_listing(store, store.head()), signatures.KEY_VARIABLE
    if signatures.service_key() is None:
        wrong = sum(state.signature is not None for state in listing.states)
    else:
        wrong = 0 if listing.states else sum(error.reason == signatures.OTHER_KEY for error in listing.damaged)
    if wrong:
        message = f"{store.address} has {counted(wrong, 'state')} signed with another key"
        raise ConfigurationError(message, f"set {variable} to the key of the service; if it has none, remove them")


def adopt(store: FileStore, submission: Submission, by: str, now: datetime, *, overwrite: bool = False) -> schema.State:
    """Queue a submission without a state by writing one; `overwrite` replaces a damaged one.

    Everything in it is untrusted, so its submitter is not verified, and its time of receipt is that of the adoption.
    """
    at, reason = schema.utc_seconds(now), "submitted as a pull request"
    first = schema.Record(state="pending", at=at, by=by, reason=reason, versions=_versions(), attempt=1)
    state = _received(submission, schema.Identity(name=submission.manifest.submitter.name), first)

    def decide(commit: str) -> queue_files.Step[schema.State]:
        with suppress(*(schema.DamagedState,) * overwrite):
            if known := _known(queue_files.read_listing(store, commit), submission.id, store.address):
                return queue_files.Step(known)
        return queue_files.Step(state, f"adopt {submission.id} by {by}", (state,))

    return queue_files.change(store, decide)


def add_results(
    store: FileStore,
    submission_id: str,
    results: Mapping[str, Path],
    by: str,
    now: datetime,
    profile: str,
    *,
    results_store: FileStore | None = None,
) -> schema.State:
    """Publish more results of a scored submission; files that are missing or not the service's are restored."""
    queue_files.check_results(results)
    token = secrets.token_hex(8)
    digests = {key: signatures.result_digest(folder) for key, folder in results.items()}
    one_store = results_store is None or results_store.address == store.address

    def decide(commit: str) -> queue_files.Step[schema.State]:
        state = queue_files.read_state(store, commit, queue_files.checked_id(submission_id))
        if state.current.state != "scored":
            message = f"{submission_id} is {state.current.state}: results can be added only to a scored submission"
            raise schema.IllegalTransition(message, schema.SEE_HISTORY)
        files = queue_files.result_files(results) if one_store else {}
        if digests.items() <= state.digests.items():  # the store may have lost their files
            return queue_files.Step(state, f"restore results of {submission_id} by {by}", files=files)
        joined = (*state.results, *sorted({*results} - {*state.results}))
        if len(joined) > schema.MAX_RESULTS:
            raise schema.QueueError(
                f"{submission_id} has {len(state.results)} results", f"at most {schema.MAX_RESULTS} are kept"
            )
        values = {"versions": _versions(), "profile": profile, "token": token, "results": joined}
        values |= {"digests": {**state.digests, **digests}}
        after = _followed(state, "scored", by, now, "scored again", **values)
        return queue_files.Step(after, f"more results of {submission_id} by {by}", (after,), files)

    if results_store is not None and not one_store:
        decide(store.head())  # raises before anything is published
        message = f"results of {submission_id} by {by}"
        return queue_files.publish_apart(
            store, results_store, submission_id, results, message, lambda: queue_files.change(store, decide)
        )
    return queue_files.change(store, decide)


# For submitters and operators


def retry(
    store: FileStore,
    submission_id: str,
    by: schema.Identity,
    now: datetime,
    *,
    reason: str | None = None,
    of: Collection[str] = ("failed", "rejected"),
) -> schema.State:
    """Requeue a failed or rejected submission with its full number of attempts, at its position by time of receipt."""

    def decide(commit: str) -> queue_files.Step[schema.State]:
        state = queue_files.read_state(store, commit, submission_id)
        if state.current.state not in of:
            message = f"{submission_id} is {state.current.state}: only a failed or rejected submission can be retried"
            raise schema.IllegalTransition(message, schema.SEE_HISTORY)
        line = one_line(f"retry: {reason or 'no reason given'}")
        attempt = state.current.attempt if state.current.state == "claimed" else 1
        after = _followed(state, "pending", by.name, now, line, versions=_versions(), attempt=attempt)
        return queue_files.Step(after, f"retry {submission_id} by {by.name}", (after,))

    return queue_files.change(store, decide)


def withdraw(
    store: FileStore,
    submission_id: str,
    by: schema.Identity,
    now: datetime,
    *,
    operator: bool = False,
    results_store: FileStore | None = None,
) -> schema.State:
    """Withdraw a submission in any state. Its history stays; its files and results leave the store's head.

    Earlier commits still have them, as in any repository. A store of results is changed last; after an interruption,
    or if the merge of an older pull request brings files back, withdraw again.
    """
    elsewhere = None if results_store is None or results_store.address == store.address else results_store
    message = f"withdraw {submission_id} by {by.name}"

    def decide(commit: str) -> queue_files.Step[tuple[schema.State, set[str]]]:
        listing = queue_files.read_listing(store, commit)
        state = queue_files.found_in(listing, submission_id, store.address)
        others = (other for other in listing.states if other.submission_id != submission_id)
        results = {*queue_files.all_result_paths(state)} - {
            path for other in others for path in queue_files.result_paths(other)
        }
        files = store.paths(commit, f"submissions/{submission_id}")
        removed = (*files, *sorted(results & {*store.paths(commit, "results")}))
        left = removed or (elsewhere is not None and results & {*elsewhere.paths(elsewhere.head(), "results")})
        theirs = by.name == state.submitter.name and by.verified >= state.submitter.verified
        if not theirs and not operator:
            hint = "ask its submitter or the service's operator"
            raise schema.NotAllowed(f"{submission_id} is not {by.name}'s to withdraw", hint)
        if state.current.state != "withdrawn":
            after = _followed(state, "withdrawn", by.name, now, None if theirs else BY_OPERATOR)
            return queue_files.Step((after, results), message, (after,), removed=removed)
        if not left:
            last = state.current
            said = f"{submission_id} was already withdrawn, on {last.at:%Y-%m-%d %H:%M} UTC by {last.by}"
            raise schema.IllegalTransition(said, "there is nothing left to do")
        return queue_files.Step((state, results), message, removed=removed)

    after, results = queue_files.change(store, decide)
    if elsewhere is not None:
        queue_files.remove_results(elsewhere, results, message)
    return after


def _followed(
    state: schema.State, name: schema.StateName, by: str, now: datetime, reason: str | None, **values: Any
) -> schema.State:
    """Return a state with a record after its last one, of the same attempt unless the values say otherwise."""
    known: dict[str, Any] = {"attempt": state.current.attempt} | values
    return state.and_then(schema.Record(state=name, at=_time_after(state, now), by=by, reason=reason, **known))


def _time_after(state: schema.State, now: datetime) -> datetime:
    """Return the time for the next record: never before the last one, even if the clocks of two machines differ."""
    return max(schema.utc_seconds(now), state.current.at)


def _versions() -> dict[str, str]:
    return {"divbench": version("divbench")}


# For everybody


def listing(store: FileStore) -> schema.Listing:
    """List all submissions at the head of a store, and the damaged states."""
    return queue_files.read_listing(store, store.head())


def ignored_results(store: FileStore, listing: schema.Listing) -> list[str]:
    """List the files under `results` that no state names, so that nothing shows them."""
    named = {path for state in listing.states for path in queue_files.all_result_paths(state)}
    return [path for path in store.paths(listing.commit, "results") if path not in named]


def states(store: FileStore) -> list[schema.State]:
    """Return the states of all submissions in order of receipt, then by id, without the damaged ones."""
    return list(listing(store).states)


def state_of(store: FileStore, submission_id: str) -> schema.State:
    """Return the state of a submission."""
    return queue_files.read_state(store, store.head(), submission_id)
