"""The state that the queue keeps of each submission: `states/<id>.json`, a history that only grows.

A state is as untrusted as a manifest, because anyone who can propose a file can propose a state. So unknown fields are
rejected, sizes are bounded, the history must be one that `TRANSITIONS` allows, and a service with a key believes only
the states that it has signed (signatures.py).
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator, StringConstraints, ValidationError
from pydantic import model_validator as whole

from divbench.core.errors import ConfigurationError, DivBenchError, InputError, first_fault
from divbench.core.files import readable_json
from submissions.schema import Closed, Line, Name, Version, only_printable
from submissions.untrusted.findings import Problem
from submissions.untrusted.plain_text import one_line

MAX_ATTEMPTS = 3
MAX_STATE_BYTES = 2 * 2**20
MAX_LAPSES = 8  # workers in a row that ended without a result or any progress, after which a submission fails
MAX_WAIT = 7 * 86400  # seconds
FIRST_YEAR = 2000  # of a clock that was set
OLD_WAIT = 3600  # of claims by earlier versions
MAX_RECORDS = 1000
FULL_HISTORY = 900  # no release makes it longer than this, so that there is always room for the last record
MAX_PROBLEMS = 50
MAX_LOG_LINES = 20
MAX_RESULTS = 100
MAX_LETTERS = 300
SEE_HISTORY = "look at its history: divbench submissions status"


class QueueError(DivBenchError):
    """The queue cannot do what was asked."""


class ClaimLost(QueueError):
    """The claim is no longer this worker's: its results must not be published."""


class IllegalTransition(QueueError):
    """No transition leads from the submission's state to the requested one."""


class NotAllowed(QueueError):
    """The submission belongs to another submitter."""


class QuotaUsed(QueueError):
    """The submitter has reached the number of submissions allowed in the period."""


class QueueBusy(QueueError):
    """Others changed the store at every attempt; nothing was changed."""


class UnknownSubmission(ConfigurationError):
    """The store has no submission with that id."""


class DamagedState(InputError):
    """A state file cannot be read, or is not one that this queue writes."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} is damaged: {reason}", "its operator can mend it: divbench submissions repair")
        self.path, self.reason = path, reason


StateName = Literal["pending", "claimed", "scored", "rejected", "failed", "withdrawn"]

# (from, to): operation. No other transition is allowed.
TRANSITIONS: Mapping[tuple[StateName, StateName], str] = {
    ("pending", "claimed"): "claim",
    ("claimed", "claimed"): "renew",
    ("claimed", "scored"): "finish",
    ("claimed", "rejected"): "reject",
    ("claimed", "pending"): "release; an expired lease; fail, while attempts are left",
    ("claimed", "failed"): "fail at the last attempt; too many expired leases; release, if its history is full",
    ("scored", "scored"): "add results",
    ("scored", "pending"): "repair, if its results are damaged",
    ("rejected", "pending"): "retry",
    ("failed", "pending"): "retry",
    ("pending", "withdrawn"): "withdraw",
    ("claimed", "withdrawn"): "withdraw",
    ("scored", "withdrawn"): "withdraw",
    ("rejected", "withdrawn"): "withdraw",
    ("failed", "withdrawn"): "withdraw",
}

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_TIME = re.compile(r"2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", re.ASCII)


def _time(value: object) -> datetime:
    if isinstance(value, datetime):
        exact = utc_seconds(value)
        value = exact.strftime(_FORMAT) if value == exact else str(value)
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise ValueError("expected a time in UTC such as 2026-01-31T12:00:00Z")
    return datetime.strptime(value, _FORMAT).replace(tzinfo=UTC)


Time = Annotated[datetime, PlainValidator(_time), PlainSerializer(lambda time: time.strftime(_FORMAT), return_type=str)]
Shown = Annotated[str, StringConstraints(max_length=MAX_LETTERS), AfterValidator(only_printable)]
Id = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
ResultId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12,64}$")]
Word = Annotated[str, StringConstraints(max_length=100, pattern=r"^[a-z0-9][a-z0-9_.-]*$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Versions = Annotated[dict[Word, Line], Field(max_length=20)]


class Identity(Closed):
    """A submitter."""

    name: Name  # name of the login; without a login, the name they gave
    verified: bool = False  # whether a login at the Hub vouches for the name


def identity(name: str, hint: str, *, verified: bool = False) -> Identity:
    """Return the identity of a submitter."""
    try:
        return Identity(name=name, verified=verified)
    except ValidationError as error:
        raise ConfigurationError(f"invalid {first_fault(error)}", hint) from error


class StoredProblem(Closed):
    """A `Problem` as a state keeps it, with long texts cut."""

    check: Shown
    severity: Literal["error", "warning"]
    file: Shown
    row: int | None
    field: Shown
    message: Shown
    hint: Shown

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Cut the texts of a problem."""
        values = asdict(problem).items()
        return cls.model_validate({key: one_line(value) if isinstance(value, str) else value for key, value in values})


class Record(Closed):
    """One step of a submission."""

    state: StateName
    at: Time
    by: Name  # name of the submitter, worker or operator who wrote it
    reason: Shown | None = None  # reason for readers; None if the state needs none
    versions: Versions = Field(default_factory=dict)  # versions of the worker's software, such as divbench
    profile: Word | None = None  # profile that the worker scores with, if it stated one
    attempt: Annotated[int, Field(ge=1, le=MAX_ATTEMPTS)]  # number of this attempt, or of the next one; from 1
    # Seconds for which others leave the submission alone, by their own clocks from when they see this record: the lease
    # of a claimed one, or a pause.
    wait: Annotated[int, Field(ge=0, le=MAX_WAIT)] = 0
    heartbeat: Annotated[int, Field(ge=0)] = 0  # number of renewals of the lease, each of which starts it anew
    progress: Annotated[int, Field(ge=0)] = 0  # number of prompts that were scored at the last renewal
    lapses: Annotated[int, Field(ge=0, le=MAX_LAPSES)] = 0  # leases in a row that lapsed without progress
    lease_until: Time | None = None  # by the worker's clock, in claims by earlier versions; nothing depends on it
    # Random id of a claim, or of added results, in all records that the claim's holder writes. No secret.
    token: Id | None = None
    results: tuple[ResultId, ...] = Field(default=(), max_length=MAX_RESULTS)
    # Digests of the results; missing in states of earlier versions.
    digests: Annotated[dict[ResultId, Sha256], Field(max_length=MAX_RESULTS)] = Field(default_factory=dict)
    # First 50 problems of a rejected submission.
    problems: tuple[StoredProblem, ...] = Field(default=(), max_length=MAX_PROBLEMS)
    # Last lines of the log of a worker that failed.
    log: tuple[Shown, ...] = Field(default=(), max_length=MAX_LOG_LINES)

    @whole(mode="after")
    def _fits(self) -> Self:
        claimed = self.state == "claimed"
        if claimed and (self.token is None or not (self.wait or self.lease_until)):
            raise ValueError("a claimed record must have a lease and a token")
        if bool(self.results) != (self.state == "scored"):
            raise ValueError("a scored record must have results, other records none")
        if not self.digests.keys() <= set(self.results):
            raise ValueError("a record has digests of its results only")
        return self


class State(Closed):
    """State of a submission: `states/<id>.json`."""

    schema_version: Version = 1
    submission_id: Id  # id of the submission, from its content
    name: Name
    suite: Word
    submitter: Identity
    received: Time  # time of the submission; the queue is in this order
    # SHA-256 of its generations alone, which identifies them under another manifest.
    rows_digest: Sha256
    history: tuple[Record, ...] = Field(min_length=1, max_length=MAX_RECORDS)  # its records, the latest last
    signature: Sha256 | None = None  # signature of the service when it was last written

    @whole(mode="after")
    def _happened(self) -> Self:
        first = self.history[0]
        if (first.state, first.at, first.attempt) != ("pending", self.received, 1):
            raise ValueError("the history must begin with a pending record of the first attempt at the time of receipt")
        for before, after in pairwise(self.history):
            _check_step(before, after)
        return self

    @property
    def current(self) -> Record:
        """The last record: its state is the submission's."""
        return self.history[-1]

    @property
    def results(self) -> tuple[str, ...]:
        """Ids of its results, even if it was withdrawn later."""
        return next((record.results for record in reversed(self.history) if record.results), ())

    @property
    def digests(self) -> Mapping[str, str]:
        """Digests of these results, by id."""
        return next((record.digests for record in reversed(self.history) if record.results), {})

    @property
    def wait(self) -> int:
        """Seconds for which others leave it alone: its lease, or a pause."""
        return self.current.wait or (OLD_WAIT if self.current.state == "claimed" else 0)

    def renewed(self, **changes: Any) -> "State":
        """Return the state with its last record changed by a renewal."""
        known: dict[str, Any] = {name: getattr(self, name) for name in type(self).model_fields}
        return State(**known | {"history": (*self.history[:-1], self.current.model_copy(update=changes))})

    def and_then(self, *records: Record) -> "State":
        """Return the state with more records."""
        for before, after in pairwise((self.current, *records)):
            if (before.state, after.state) not in TRANSITIONS:
                message = f"{self.submission_id} is {before.state}: it cannot become {after.state}"
                raise IllegalTransition(message, SEE_HISTORY)
        known: dict[str, Any] = {name: getattr(self, name) for name in type(self).model_fields}
        if len(self.history) + len(records) <= MAX_RECORDS:
            made = State(**known | {"history": (*self.history, *records)})
            if len(made.as_bytes()) <= MAX_STATE_BYTES:
                return made
        raise QueueError(f"the history of {self.submission_id} is full", "ask the service's operator")

    def as_bytes(self) -> bytes:
        """Return the content of the state's file."""
        return readable_json(self.model_dump(mode="json")).encode()


def _check_step(before: Record, after: Record) -> None:
    """Raise ValueError if a record cannot follow another."""
    if (before.state, after.state) not in TRANSITIONS:
        raise ValueError(f"{after.state} cannot follow {before.state}")
    if after.at < before.at:
        raise ValueError("a record is older than the one before it")
    if before.state in ("scored", "rejected", "failed") and after.state == "pending":
        if after.attempt != 1:
            raise ValueError("a retried submission begins at attempt 1")
        return
    again = int(after.state == "pending")
    if not before.attempt <= after.attempt <= before.attempt + again:
        raise ValueError("the attempt may increase only when a submission is pending again, and only by 1")
    if before.state == after.state == "claimed" and before.token != after.token:
        raise ValueError("a claim can be renewed only by its holder")
    if before.state == after.state == "scored" and not set(before.results) <= set(after.results):
        raise ValueError("added results must include the earlier ones")


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker's lease of a submission."""

    state: State  # state at the claim or its latest renewal
    lease: timedelta

    @property
    def submission_id(self) -> str:
        """Id of the submission."""
        return self.state.submission_id

    @property
    def record(self) -> Record:
        """Record of the claim."""
        return self.state.current


@dataclass(frozen=True, slots=True)
class Quota:
    """Maximum number of submissions of one submitter within a number of days."""

    number: int
    days: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """The outcome of submitting."""

    state: State
    new: bool  # whether it is new; a known submission is left unchanged
    same_rows: tuple[State, ...]  # other submissions with the same generations
    warnings: int
    address: str | None = None  # address of the pull request; None if it was committed directly


@dataclass(frozen=True, slots=True)
class QueuePosition:
    """Position of a submission in the queue, for its submitter."""

    position: int | None  # position from 1; None if it is not waiting
    waiting: int
    claimed: int
    worker_seen: datetime | None  # time of the latest record by a worker; None if there is none

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        seen = self.worker_seen.strftime(_FORMAT) if self.worker_seen else None
        numbers = {"position": self.position, "waiting": self.waiting, "claimed": self.claimed}
        return numbers | {"worker_seen": seen}


@dataclass(frozen=True, slots=True)
class Listing:
    """All submissions of one commit of a store."""

    commit: str
    states: tuple[State, ...]  # states in order of receipt, then by id
    damaged: tuple[DamagedState, ...]  # files that could not be read; the queue works without them

    def with_same_rows(self, rows_digest: str, submission_id: str) -> tuple[State, ...]:
        """Return the other submissions that have the same generations."""
        return tuple(s for s in self.states if s.rows_digest == rows_digest and s.submission_id != submission_id)

    def queue_position(self, submission_id: str, now: datetime) -> QueuePosition:
        """Return the position of a submission in the queue."""
        at = utc_seconds(now)
        waiting = [state.submission_id for state in self.states if state.current.state == "pending"]
        by_workers = (record.at for state in self.states for record in state.history if record.token is not None)
        return QueuePosition(
            position=waiting.index(submission_id) + 1 if submission_id in waiting else None,
            waiting=len(waiting),
            claimed=sum(state.current.state == "claimed" for state in self.states),
            worker_seen=max((seen for seen in by_workers if seen <= at), default=None),
        )


def utc_seconds(time: datetime) -> datetime:
    """Convert a time to UTC, truncated to seconds."""
    if time.tzinfo is None:
        raise ValueError("the time has no time zone")
    if time.year < FIRST_YEAR:
        raise ConfigurationError(f"this machine's clock says {time:%Y-%m-%d}", "set the clock, then retry")
    return time.astimezone(UTC).replace(microsecond=0)
