"""Compute the records that queue operations append to a submission's history; pure functions of states."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any

from submissions.schema import Problem
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
    """Check a submitter's quota. A name without a login uses nothing of the login's quota.

    Raises:
        QuotaUsed: They have reached it.
    """
    since = at - timedelta(days=quota.days)
    key = (submitter.name.casefold(), submitter.verified)
    theirs = [s.received for s in states if (s.submitter.name.casefold(), s.submitter.verified) == key]
    recent = sorted(received for received in theirs if received > since)
    if len(recent) >= quota.number:
        again = recent[len(recent) - quota.number] + timedelta(days=quota.days)
        message = f"{submitter.name} has sent {len(recent)} submissions in {quota.days} days"
        hint = f"submit the next one after {again:%Y-%m-%d %H:%M:%S} UTC"
        raise QuotaUsed(f"{message}; the limit is {quota.number}", hint)


def withdrawn(state: State, by: Identity, now: datetime, operator: bool, reason: str | None) -> State:
    """The state of a submission that is taken back.

    Raises:
        NotAllowed: It is somebody else's.
        IllegalTransition: It is withdrawn already.
    """
    theirs = by.name == state.submitter.name and by.verified >= state.submitter.verified
    if not theirs and not operator:
        hint = "ask its submitter or the service's operator"
        raise NotAllowed(f"{state.submission_id} is not {by.name}'s to withdraw", hint)
    said = reason if theirs else f"by the operator: {reason or 'no reason given'}"
    line = None if said is None else one_line(said)
    attempt = state.current.attempt
    return state.and_then(
        Record(state="withdrawn", at=time_after(state, now), by=by.name, reason=line, attempt=attempt)
    )


def retried(state: State, by: Identity, now: datetime, reason: str | None) -> State:
    """The state of a submission that waits again, with all its attempts.

    Raises:
        IllegalTransition: It neither failed nor was refused.
    """
    if state.current.state not in ("failed", "refused"):
        message = f"{state.submission_id} is {state.current.state}: only a failed or refused submission can be retried"
        raise IllegalTransition(message, "look at its history: divbench submissions status")
    line = one_line(f"retry: {reason or 'no reason given'}")
    versions = own_versions()
    return state.and_then(
        Record(state="pending", at=time_after(state, now), by=by.name, reason=line, versions=versions, attempt=1)
    )


def claimed(state: State, record: Record) -> State:
    """The state with a claim, which uses up an attempt if the claim before it lapsed."""
    at, attempt = time_after(state, record.at), state.current.attempt
    steps = []
    if state.current.state == "claimed":
        attempt += 1
        steps.append(Record(state="pending", at=at, by=record.by, reason=_lapse(state), attempt=attempt))
    return state.and_then(*steps, record.model_copy(update={"at": at, "attempt": attempt}))


def given_up(state: State, by: str, now: datetime) -> State:
    """The state of a submission whose last attempt lapsed."""
    attempt = state.current.attempt
    reason = one_line(f"given up after {attempt} attempts: {_lapse(state)}")
    return state.and_then(Record(state="failed", at=time_after(state, now), by=by, reason=reason, attempt=attempt))


def _lapse(state: State) -> str:
    return f"the lease of {state.current.by} expired without a result"


def renewed(state: State, claim: Claim, now: datetime) -> State:
    """The state with a new lease.

    Raises:
        QueueError: Its history is full.
    """
    if len(state.history) >= FULL_HISTORY:
        message = f"{claim.submission_id} has {len(state.history)} records and cannot be renewed again"
        raise QueueError(message, "finish within the lease, or renew less often")
    changes = {"at": time_after(state, now), "lease_until": utc_seconds(now) + claim.lease, "versions": {}}
    return state.and_then(state.current.model_copy(update=changes))


def check_lease(state: State, claim: Claim) -> State:
    """The state, if it is the claim's. A lease that is over is no matter while nobody else has taken the submission.

    Raises:
        ClaimLost: It is not.
    """
    now = state.current
    if now.state != "claimed" or now.token != claim.record.token:
        message = f"{state.submission_id} is no longer {claim.record.by}'s: it is {now.state}, by {now.by}"
        raise ClaimLost(message, "discard its results and claim another submission")
    return state


def ending(claim: Claim, state: StateName, reason: str | None = None, **values: Any) -> Record:
    """The record that ends a claim. Its time is that of the claim, until it is written."""
    held = claim.record
    known: dict[str, Any] = {"versions": claim.versions, "profile": held.profile, "attempt": held.attempt} | values
    line = None if reason is None else one_line(reason)
    return Record(state=state, at=held.at, by=held.by, reason=line, token=held.token, **known)


def released(claim: Claim, reason: str, records: int) -> Record:
    """The end of a claim that is given back; what has been given back too often is failed."""
    if records < FULL_HISTORY:
        return ending(claim, "pending", reason)
    return ending(claim, "failed", f"given up after {records} records: {reason}")


def refused(claim: Claim, problems: Sequence[Problem]) -> Record:
    """The end of a claim on what is not acceptable: the first problems, errors before warnings."""
    ordered = sorted(problems, key=lambda problem: problem.severity != "error")
    errors = sum(problem.severity == "error" for problem in problems)
    reason = f"{errors} {'problem' if errors == 1 else 'problems'}"
    reason += f", the first: {ordered[0].message}" if ordered else ""
    return ending(claim, "refused", reason, problems=tuple(_stored(problem) for problem in ordered[:MAX_PROBLEMS]))


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
    """The end of an attempt that failed: pending again, while attempts are left."""
    lines = (one_line(line) for line in log_tail.splitlines())
    log = tuple(line for line in lines if line)[-MAX_LOG_LINES:]
    last = log[-1].strip() if log else "it has no log"
    attempt = claim.record.attempt
    if attempt < MAX_ATTEMPTS:
        return ending(claim, "pending", f"attempt {attempt} failed: {last}", log=log, attempt=attempt + 1)
    return ending(claim, "failed", f"given up after {attempt} attempts: {last}", log=log)


def time_after(state: State, now: datetime) -> datetime:
    """The time to write: never before the last record, however far the clocks of two machines are apart."""
    return max(utc_seconds(now), state.current.at)


def is_same_outcome(found: Record, record: Record) -> bool:
    """Whether the record that ends a claim is there already, whenever it was written."""
    return found.model_copy(update={"at": record.at}) == record


def own_versions() -> dict[str, str]:
    """The version of what writes here."""
    return {"divbench": version("divbench")}
