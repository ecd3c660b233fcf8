"""The record of a vote: one person's answer to one question about two response sets to the same prompt.

A reply to a pair of response sets answers two questions, so it is two records with the same `pair_id`. Records in a
store are untrusted, because anyone who can propose a file can propose votes.
"""

import dataclasses
import hashlib
import hmac
import os
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, get_args

import pyarrow as pa
from filelock import FileLock
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, TypeAdapter
from pydantic.dataclasses import dataclass

from divbench.core.errors import ConfigurationError
from divbench.core.files import atomic_file, canonical_json
from submissions.schema import MAX_K, Name, only_printable
from submissions.storage.file_store import LocalDiskFault, disk_faults
from submissions.untrusted.json_files import strict_model
from submissions.untrusted.plain_text import one_line

Question = Literal["more_different", "preferred"]
Answer = Literal["left", "right", "tie"]
Check = Literal["", "repeated", "shuffled", "self"]
QUESTIONS: tuple[Question, ...] = get_args(Question)
ANSWERS: tuple[Answer, ...] = get_args(Answer)
CHECKS: tuple[Check, ...] = tuple(check for check in get_args(Check) if check)
MAX_LINE = 20_000  # bytes of a record as JSON

_ID = r"^[0-9a-f]{32}$"


Id = Annotated[str, StringConstraints(pattern=_ID)]
ResultId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12,64}$")]
PromptId = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(only_printable)]
SuiteName = Annotated[str, StringConstraints(max_length=100, pattern=r"^[a-z0-9][a-z0-9-]*$")]
Positions = Annotated[tuple[Annotated[int, Field(ge=0, lt=MAX_K)], ...], Field(min_length=1, max_length=20)]


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Vote:
    """An answer to one question about one pair of response sets."""

    vote_id: Id  # id derived from the pair's id and the question, so that an answer stored twice counts once
    pair_id: Id  # random id of the pair as shown to one visitor; the records of both questions have it
    time: Annotated[int, Field(ge=0, lt=2**40)]  # time in seconds since 1970 (UTC)
    voter: Id  # salted hash of the visitor
    suite: SuiteName
    prompt_id: PromptId
    left: Name  # name of the system whose responses were on the left
    right: Name  # name of the system on the right; the left one's if the pair is a check
    left_result: ResultId  # id of the result with the responses on the left
    right_result: ResultId
    # Positions of the responses on the left in the result's response set, in the order shown, from 0.
    left_positions: Positions
    right_positions: Positions
    # *more_different* (which set has the more different ideas) or *preferred* (which one would you rather have been
    # given).
    question: Question
    answer: Answer  # *left*, *right*, or *tie* for no difference
    # How a pair with a known answer was made: *repeated* (one response shown several times), *shuffled* (the words of
    # each response in random order), *self* (the same responses in another order); otherwise empty.
    check: Check = ""
    altered: Literal["", "left", "right"] = ""  # side that was repeated or shuffled; otherwise empty
    # Answer that passes the check; empty if the question has no known answer.
    expected: Literal["", "left", "right", "tie"] = ""

    def __post_init__(self) -> None:
        if self.vote_id != vote_id(self.pair_id, self.question):
            raise ValueError("the vote's id does not match its pair and question")
        if (self.altered != "") != (self.check in ("repeated", "shuffled")) or (self.expected and not self.check):
            raise ValueError("only a check has an altered side and an expected answer")

    @property
    def passed(self) -> bool | None:
        """Whether the answer passes the check; None if there is no known answer."""
        return self.answer == self.expected if self.expected else None

    def as_line(self) -> bytes:
        """Return the record as a line of JSON, without the line's end."""
        return canonical_json(_VOTE.dump_python(self, mode="json"))


_VOTE = TypeAdapter(Vote)

_TYPES: dict[str, pa.DataType] = {
    "time": pa.int64(),
    "left_positions": pa.list_(pa.int32()),
    "right_positions": pa.list_(pa.int32()),
}
VOTES = pa.schema([pa.field(f.name, _TYPES.get(f.name, pa.string()), nullable=False) for f in dataclasses.fields(Vote)])


def vote_id(pair_id: str, question: str) -> str:
    """Return the id of the answer to a question about a pair: 32 hex digits."""
    return hashlib.sha256(f"{pair_id} {question}".encode()).hexdigest()[:32]


def parsed_vote(line: bytes) -> Vote:
    """Parse an untrusted line of JSON."""
    if len(line) > MAX_LINE:
        raise ValueError(f"a record may have at most {MAX_LINE:,} bytes")
    try:
        return strict_model(line, partial(_VOTE.validate_json, strict=True))
    except ValueError as error:
        raise ValueError(one_line(str(error))) from error


def unique(votes: Iterable[Vote]) -> list[Vote]:
    """Return each vote once, by time, then id; of several records with one id, the earliest."""
    by_id: dict[str, Vote] = {}
    for vote in sorted(votes, key=lambda vote: (vote.time, vote.vote_id, vote.voter, vote.answer)):
        by_id.setdefault(vote.vote_id, vote)
    return list(by_id.values())


SALT_VARIABLE = "DIVBENCH_VOTES_SALT"
SHORTEST_SALT = 16  # characters: with a salt that can be guessed, the public hashes give the logins away

_TOKEN = re.compile(r"[0-9a-f]{32}")
_SALT_FILE = "salt"
_KEPT = 20_000  # keys of a limit


def salt_of(folder: Path, environment: Mapping[str, str] = os.environ) -> bytes:
    """Return the salt of a service's voters: DIVBENCH_VOTES_SALT, or a file that is created once in a folder."""
    if salt := environment.get(SALT_VARIABLE):
        if len(salt) < SHORTEST_SALT:
            message = f"{SALT_VARIABLE} has fewer than {SHORTEST_SALT} characters, so voters' logins could be guessed"
            raise ConfigurationError(message, "set it to a long random text")
        return salt.encode()
    path = folder / _SALT_FILE
    with disk_faults(path, LocalDiskFault), FileLock(folder / f".{_SALT_FILE}.lock", timeout=20):
        if not path.exists():
            with atomic_file(path) as temporary:
                temporary.chmod(0o600)
                temporary.write_text(secrets.token_hex(32), encoding="ascii")
        return path.read_bytes()


def new_token() -> str:
    """Return a random token for a visitor without a login."""
    return secrets.token_hex(16)


def is_token(text: object) -> bool:
    """Whether an untrusted value is a well-formed token."""
    return isinstance(text, str) and _TOKEN.fullmatch(text) is not None


def voter_of(salt: bytes, *, login: str | None, token: str) -> str:
    """Return the hash that stands for a visitor in records: 32 hex digits of an HMAC-SHA256."""
    name = f"token {token}" if login is None else f"login {login}"
    return hmac.new(salt, name.encode(), hashlib.sha256).hexdigest()[:32]


class RateLimit:
    """A thread-safe token bucket per key."""

    def __init__(self, number: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._number, self._rate, self._clock = float(number), number / seconds, clock
        self._lock = threading.Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # acts left, and at what time

    def allows(self, key: str, acts: float = 1) -> bool:
        """Whether one more act is allowed, or several at once; it is counted if it is."""
        with self._lock:
            now = self._clock()
            left, since = self._left.pop(key, (self._number, now))
            left = min(self._number, left + (now - since) * self._rate)
            allowed = left >= acts
            self._left[key] = left - acts * allowed, now
            while len(self._left) > _KEPT:
                self._left.popitem(last=False)
            return allowed
