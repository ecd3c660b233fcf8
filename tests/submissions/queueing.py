"""What the tests of the queue share: a store in memory, a clock that is turned by hand, submissions and results."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from divbench.core.errors import InputError
from submissions.storage.file_store import Conflict, FileStore, checked_path
from submissions.untrusted.findings import Problem
from submissions.work_queue.operations import (
    claim,
    fail,
    finish,
    reject,
    release,
    renew,
    retry,
    state_of,
    submit,
    withdraw,
)  # fmt: skip
from submissions.work_queue.schema import Claim, Identity, State
from tests.conftest import write_toy
from tests.submissions.conftest import find_toy

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ME = Identity(name="me")
ERROR = Problem("k", "error", "generations.parquet", 3, "responses", "wrong", "give k responses")
WARNING = Problem("blanks", "warning", "generations.parquet", 1, "responses[0]", "blank", "no matter")


class MemoryStore:
    """A store that keeps nothing; `meanwhile` is what somebody else does between a look and a commit."""

    def __init__(self, address: str = "memory") -> None:
        self.address = address
        self.trees: list[dict[str, bytes]] = [{}]
        self.messages = [""]
        self.meanwhile: list[Callable[[], object]] = []

    def head(self) -> str:
        return str(len(self.trees) - 1)

    def paths(self, commit: str, under: str = "") -> list[str]:
        return sorted(path for path in self.trees[int(commit)] if path.startswith(f"{under}/" if under else ""))

    def read(self, commit: str, path: str, limit: int) -> bytes:
        if path not in self.trees[int(commit)]:
            raise FileNotFoundError(path)
        found = self.trees[int(commit)][path]
        if len(found) > limit:
            raise InputError(f"{path} has {len(found)} bytes", f"at most {limit} are allowed")
        return found

    def fetch(self, commit: str, path: str, target: Path, limit: int) -> None:
        target.write_bytes(self.read(commit, path, limit))

    def commit(self, parent: str, add: Mapping[str, bytes | Path], remove: Iterable[str], message: str) -> str:
        while self.meanwhile:
            self.meanwhile.pop()()
        if parent != self.head():
            raise Conflict
        assert message.isprintable()
        contents = {checked_path(path): c if isinstance(c, bytes) else c.read_bytes() for path, c in add.items()}
        gone = {checked_path(path) for path in remove}
        assert gone <= self.trees[-1].keys()
        tree = {path: c for path, c in self.trees[-1].items() if path not in gone} | contents
        if tree == self.trees[-1]:
            return self.head()
        self.trees.append(tree)
        self.messages.append(message)
        return self.head()

    def put(self, path: str, content: bytes) -> None:
        """Write what no operation would."""
        self.commit(self.head(), {path: content}, (), "by hand")


def toys(folder: Path, number: int) -> list[Path]:
    """Submission folders with systems `toy-0`, `toy-1`, … and the same generations."""
    return [write_toy(folder / f"toy-{i}", name=f"toy-{i}") for i in range(number)]


def handed_in(store: FileStore, folder: Path, number: int, apart: timedelta = timedelta(minutes=1)) -> list[State]:
    """Submissions of mine, handed in one after the other from T0 on."""
    made = []
    for place, toy in enumerate(toys(folder, number)):
        made.append(submit(store, toy, ME, T0 + place * apart, find_suite=find_toy).state)
    return made


def result(folder: Path, result_id: str = "0123456789abcdef", text: str = "{}") -> dict[str, Path]:
    """A result folder by its id."""
    made = folder / result_id
    made.mkdir(parents=True, exist_ok=True)
    (made / "result.json").write_text(text)
    (made / "per_prompt.parquet").write_bytes(b"PAR1")
    return {result_id: made}


def state_file(**changes: Any) -> dict[str, Any]:
    """A state's file, with fields changed; `...` takes one out."""
    first = {"state": "pending", "at": "2026-03-01T12:00:00Z", "by": "me", "attempt": 1}
    known: dict[str, Any] = {
        "schema_version": 1,
        "submission_id": "0" * 16,
        "name": "mine",
        "suite": "toy",
        "submitter": {"name": "me", "verified": False},
        "received": "2026-03-01T12:00:00Z",
        "rows_digest": "0" * 64,
        "history": [first],
    }
    return {key: value for key, value in (known | changes).items() if value is not ...}


def as_file(**changes: Any) -> bytes:
    """The same in bytes."""
    return json.dumps(state_file(**changes)).encode()


def taken(store: MemoryStore, worker: str = "w", now: datetime = T0 + HOUR, lease: timedelta = HOUR) -> Claim:
    """A claim that must be given."""
    made = claim(store, worker, lease, now)
    assert made is not None
    return made


def lapsed(store: MemoryStore, name: str, now: datetime = T0 + HOUR) -> State:
    """The state of a submission after a worker has seen its claim or its pause for long enough, and wants nothing."""
    claim(store, "watcher", HOUR, now, free=lambda states: [name], wanted=lambda state: False)
    return state_of(store, name)


# What may be done without a claim, and in which states.
CLAIMLESS = {
    "withdraw": {"pending", "claimed", "scored", "rejected", "failed"},
    "retry": {"rejected", "failed"},
}
OPERATIONS: dict[str, Callable[[MemoryStore, Claim, Path], object]] = {
    "renew": lambda store, held, folder: renew(store, held, T0 + 2 * HOUR),
    "release": lambda store, held, folder: release(store, held, "other words", T0 + 2 * HOUR),
    "finish": lambda store, held, folder: finish(store, held, result(folder, "f" * 16), T0 + 2 * HOUR),
    "reject": lambda store, held, folder: reject(store, held, [WARNING], T0 + 2 * HOUR),
    "fail": lambda store, held, folder: fail(store, held, "other log", T0 + 2 * HOUR),
    "retry": lambda store, held, folder: retry(store, held.submission_id, ME, T0 + 2 * HOUR),
    "withdraw": lambda store, held, folder: withdraw(store, held.submission_id, ME, T0 + 2 * HOUR),
}
