"""Compute the records that queue operations append to a submission's history; pure functions of states."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any

from divbench.core.errors import counted
from submissions.schema import Problem
from submissions.storage.submission_folders import Submission
from submissions.untrusted.plain_text import one_line
from submissions.work_queue.errors import ClaimLost, IllegalTransition, NotAllowed, QueueError, QuotaUsed
from submissions.work_queue.schema import (
    FULL_HISTORY,
    MAX_ATTEMPTS,
    MAX_LOG_LINES,
    MAX_PROBLEMS,
    Claim,
    Identity,
    Quota,
    Record,
    State,
    StateName,
    StoredProblem,
    utc_seconds,
)


def check_quota(quota: Quota, states: Sequence[State], submitter: Identity, at: datetime) -> None:
    """Check a submitter's quota. An unverified name does not count towards the quota of the login of that name.

    Raises:
        QuotaUsed: The submitter has reached it.
    """
    since = at - timedelta(days=quota.days)
    key = (submitter.name.casefold(), submitter.verified)
    theirs = [s.received for s in states if (s.submitter.name.casefold(), s.submitter.verified) == key]
    recent = sorted(received for received in theirs if received > since)
    if len(recent) >= quota.number:
        again = recent[len(recent) - quota.number] + timedelta(days=quota.days)
        message = f"{submitter.name} has sent {counted(len(recent), 'submission')} in {counted(quota.days, 'day')}"
        hint = f"submit the next one after {again:%Y-%m-%d %H:%M:%S} UTC"
        raise QuotaUsed(f"{message}; the limit is {quota.number}", hint)


def received(submission: Submission, submitter: Identity, record: Record) -> State:
    """Return the first state of a submission, received at the time of its first record."""
    return State(
        submission_id=submission.id,
        name=submission.manifest.name,
        suite=submission.manifest.suite,
        submitter=submitter,
        received=record.at,
        rows_digest=submission.rows_digest,
        history=(record,),
    )


def check_withdrawer(state: State, by: Identity, operator: bool) -> bool:
    """Check who withdraws a submission; return whether it is theirs.

    Raises:
        NotAllowed: It belongs to another submitter.
    """
    theirs = by.name == state.submitter.name and by.verified >= state.submitter.verified
    if not theirs and not operator:
        hint = "ask its submitter or the service's operator"
        raise NotAllowed(f"{state.submission_id} is not {by.name}'s to withdraw", hint)
    return theirs


def withdrawn(state: State, by: Identity, now: datetime, operator: bool, reason: str | None) -> State:
    """Return the state of a withdrawn submission.

    Raises:
        NotAllowed: It belongs to another submitter.
        IllegalTransition: It is already withdrawn.
    """
    theirs = check_withdrawer(state, by, operator)
    if state.current.state == "withdrawn":
        message = f"{state.submission_id} was already withdrawn, on {state.current.at:%Y-%m-%d %H:%M} UTC"
        raise IllegalTransition(f"{message} by {state.current.by}", "there is nothing left to do")
    said = reason if theirs else f"by the operator: {reason or 'no reason given'}"
    line = None if said is None else one_line(said)
    return _followed(state, "withdrawn", by.name, now, line)


def retried(state: State, by: Identity, now: datetime, reason: str | None) -> State:
    """Return the state of a requeued submission with its full number of attempts.

    Raises:
        IllegalTransition: It neither failed nor was rejected.
    """
    if state.current.state not in ("failed", "rejected"):
        message = f"{state.submission_id} is {state.current.state}: only a failed or rejected submission can be retried"
        raise IllegalTransition(message, "look at its history: divbench submissions status")
    line = one_line(f"retry: {reason or 'no reason given'}")
    return _followed(state, "pending", by.name, now, line, versions=own_versions(), attempt=1)


def _followed(state: State, name: StateName, by: str, now: datetime, reason: str | None, **values: Any) -> State:
    """Return a state with a record after its last one, of the same attempt unless the values say otherwise."""
    known: dict[str, Any] = {"attempt": state.current.attempt} | values
    return state.and_then(Record(state=name, at=time_after(state, now), by=by, reason=reason, **known))


def claimed(state: State, record: Record) -> State:
    """Return the state with a claim, which uses an attempt if the lease before it expired."""
    at, attempt = time_after(state, record.at), state.current.attempt
    steps = []
    if state.current.state == "claimed":
        attempt += 1
        steps.append(Record(state="pending", at=at, by=record.by, reason=_lapse(state), attempt=attempt))
    return state.and_then(*steps, record.model_copy(update={"at": at, "attempt": attempt}))


def given_up(state: State, by: str, now: datetime) -> State:
    """Return the failed state of a submission whose last lease expired."""
    reason = one_line(f"given up after {state.current.attempt} attempts: {_lapse(state)}")
    return _followed(state, "failed", by, now, reason)


def _lapse(state: State) -> str:
    return f"the lease of {state.current.by} expired without a result"


def renewed(state: State, claim: Claim, now: datetime) -> State:
    """Return the state with a new lease.

    Raises:
        QueueError: Its history is full.
    """
    if len(state.history) >= FULL_HISTORY:
        message = f"{claim.submission_id} has {len(state.history)} records and cannot be renewed again"
        raise QueueError(message, "finish within the lease, or renew less often")
    changes = {"at": time_after(state, now), "lease_until": utc_seconds(now) + claim.lease, "versions": {}}
    return state.and_then(state.current.model_copy(update=changes))


def check_lease(state: State, claim: Claim) -> State:
    """Return the state if the claim still holds. An expired lease holds until another worker claims the submission.

    Raises:
        ClaimLost: It does not.
    """
    now = state.current
    if now.state != "claimed" or now.token != claim.record.token:
        message = f"{state.submission_id} is no longer {claim.record.by}'s: it is {now.state}, by {now.by}"
        raise ClaimLost(message, "discard its results and claim another submission")
    return state


def ending(claim: Claim, state: StateName, reason: str | None = None, **values: Any) -> Record:
    """Return the record that ends a claim; `at` is the time of the claim until the record is written."""
    held = claim.record
    known: dict[str, Any] = {"versions": claim.versions, "profile": held.profile, "attempt": held.attempt} | values
    line = None if reason is None else one_line(reason)
    return Record(state=state, at=held.at, by=held.by, reason=line, token=held.token, **known)


def released(claim: Claim, reason: str, records: int) -> Record:
    """Return the record of a released claim: pending, or failed if the history is full."""
    if records < FULL_HISTORY:
        return ending(claim, "pending", reason)
    return ending(claim, "failed", f"given up after {records} records: {reason}")


def rejected(claim: Claim, problems: Sequence[Problem]) -> Record:
    """Return the record of a rejected submission with its first problems, errors before warnings."""
    ordered = sorted(problems, key=lambda problem: problem.severity != "error")
    errors = sum(problem.severity == "error" for problem in problems)
    reason = counted(errors, "problem")
    reason += f", the first: {ordered[0].message}" if ordered else ""
    return ending(claim, "rejected", reason, problems=tuple(_stored(problem) for problem in ordered[:MAX_PROBLEMS]))


def _stored(problem: Problem) -> StoredProblem:
    return StoredProblem(
        check=one_line(problem.check),
        severity=problem.severity,
        file=one_line(problem.file),
        row=problem.row,
        field=one_line(problem.field),
        message=one_line(problem.message),
        hint=one_line(problem.hint),
    )


def failed(claim: Claim, log_tail: str) -> Record:
    """Return the record of a failed attempt: pending while attempts are left, then failed."""
    lines = (one_line(line) for line in log_tail.splitlines())
    log = tuple(line for line in lines if line)[-MAX_LOG_LINES:]
    last = log[-1].strip() if log else "it has no log"
    attempt = claim.record.attempt
    if attempt < MAX_ATTEMPTS:
        return ending(claim, "pending", f"attempt {attempt} failed: {last}", log=log, attempt=attempt + 1)
    return ending(claim, "failed", f"given up after {attempt} attempts: {last}", log=log)


def time_after(state: State, now: datetime) -> datetime:
    """Return the time for the next record: never before the last one, even if the clocks of two machines differ."""
    return max(utc_seconds(now), state.current.at)


def is_same_outcome(found: Record, record: Record) -> bool:
    """Whether two records are the same apart from their times."""
    return found.model_copy(update={"at": record.at}) == record


def own_versions() -> dict[str, str]:
    """Return the version of this package."""
    return {"divbench": version("divbench")}
