"""Save votes: to a spool on the local disk before the visitor gets a reply, then in batches to a store.

    <spool>/waiting.jsonl            accepted votes, one JSON object per line, appended and synced
    <spool>/<date>-<id>.jsonl        a batch: the waiting votes, renamed; deleted once the store has it
    votes/<date>/<id>.jsonl          the same in the store
    votes/<date>/<id>.jsonl          all batches of a past day, merged; of older versions: votes/<date>.jsonl

A batch gets its name before it is sent. So if a process is killed, the batch is sent later under the same name, unless
the store already has it. If it is stored twice nevertheless (because it was merged in between), the ids of the votes
ensure that each counts once. Several processes may share a spool, and several spools a store.
"""

import hashlib
import json
import os
import re
import uuid
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from datasets_build.download import home
from divbench.core.errors import InputError, counted
from divbench.core.files import content_id, sync_folder
from submissions.judgements.votes import Vote, parsed_vote, unique
from submissions.storage import file_store

MAX_BATCH_BYTES = 64 * 2**20
LOCK_SECONDS = 20

FOLDER = "votes"

_WAITING = "waiting.jsonl"
_BATCH = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})-([0-9a-f]{32})\.jsonl")
_STORED = re.compile(rf"{FOLDER}/([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})(/[0-9a-f]{{32}})?\.jsonl")

_THREADS = 8  # the Hub replies slowly, but to many requests at once


class VoteSpool:
    """Accepted votes that are not yet in the store, in a local folder."""

    def __init__(self, store: file_store.FileStore, folder: Path) -> None:
        self.store, self.folder = store, folder
        with file_store.disk_faults(folder, file_store.LocalDiskFault):
            folder.mkdir(parents=True, exist_ok=True)

    def accept(self, votes: Sequence[Vote]) -> None:
        """Write votes to disk durably, before this returns."""
        # A killed process may have left an incomplete line, so a line end comes first, too.
        lines = b"\n" + b"".join(vote.as_line() + b"\n" for vote in votes)
        path = self.folder / _WAITING
        with file_store.disk_faults(path, file_store.LocalDiskFault), self._lock("append"):
            with path.open("ab") as file:
                new = file.tell() == 0
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
                full = file.tell() > MAX_BATCH_BYTES // 2
            if new:
                sync_folder(self.folder)
            if full:
                self._begin_batch()

    def commit(self) -> int:
        """Send the waiting votes to the store, in one commit of new files."""
        lock = self._lock("commit", seconds=0)
        try:
            with lock:
                return self._commit()
        except Timeout:
            return 0

    def waiting(self) -> list[Vote]:
        """Return the votes that are not yet in the store."""
        with file_store.disk_faults(self.folder, file_store.LocalDiskFault), self._lock("append"):
            files = [self.folder / _WAITING, *self._batches()]
            return unique(vote for file in files if file.exists() for vote in _readable(file.read_bytes()))

    def _commit(self) -> int:
        with file_store.disk_faults(self.folder, file_store.LocalDiskFault):
            with self._lock("append"):
                self._begin_batch()
            batches = {path: list(_readable(path.read_bytes())) for path in self._batches()}
        contents = {_path(batch): _lines(votes) for batch, votes in batches.items() if votes}
        if contents:
            try:
                file_store.retrying_conflicts()(self._send, contents)
            except file_store.Conflict as error:
                message = f"{self.store.address} changed during each of {file_store.ATTEMPTS} attempts"
                raise file_store.StoreFault(message, "retry later") from error
        with file_store.disk_faults(self.folder, file_store.LocalDiskFault):
            for batch in batches:
                batch.unlink()
        return sum(map(len, batches.values()))

    def _send(self, contents: dict[str, bytes]) -> None:
        head = self.store.head()
        folders = {path.rsplit("/", 1)[0] for path in contents}
        stored = {path for folder in folders for path in self.store.paths(head, folder)}
        new: dict[str, bytes | Path] = {path: content for path, content in contents.items() if path not in stored}
        if new:
            count = sum(content.count(b"\n") for content in contents.values())
            self.store.commit(head, new, (), counted(count, "vote"))

    def _begin_batch(self) -> None:
        """Make the waiting votes a batch by renaming their file; the caller holds the lock for appending."""
        waiting = self.folder / _WAITING
        if waiting.exists():
            waiting.rename(self.folder / f"{datetime.now(UTC):%Y-%m-%d}-{uuid.uuid4().hex}.jsonl")
            sync_folder(self.folder)

    def _batches(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if _BATCH.fullmatch(path.name))

    def _lock(self, name: str, seconds: float = LOCK_SECONDS) -> FileLock:
        # A lock of the operating system, which releases it if the process ends.
        return FileLock(self.folder / f".{name}.lock", timeout=seconds, poll_interval=0.002, thread_local=False)


def open_spool(store: file_store.FileStore) -> VoteSpool:
    """Return the local spool of a store, in the package's home."""
    return VoteSpool(store, home() / "votes" / content_id(store.address))


@dataclass(frozen=True, slots=True)
class Votes:
    """The votes of one commit of a store."""

    commit: str
    votes: tuple[Vote, ...]  # each vote once, by time, then id
    damaged: tuple[tuple[str, str], ...]  # files, and lines of files, that are not votes, each with the reason


class VoteReader:
    """Reads the votes of a store; each file is read once, because files never change."""

    def __init__(self, store: file_store.FileStore) -> None:
        self.store = store
        self._known: dict[str, tuple[list[Vote], list[tuple[str, str]]]] = {}
        self._last: Votes | None = None

    def read(self) -> Votes:
        """Read the votes of the latest commit."""
        head = self.store.head()
        if self._last is not None and self._last.commit == head:
            return self._last
        paths = self.store.paths(head, FOLDER) if head else []
        with ThreadPoolExecutor(_THREADS) as pool:
            new = [path for path in paths if path not in self._known]
            read = dict(zip(new, pool.map(lambda path: self._read(head, path), new), strict=True))
        self._known = {path: self._known.get(path) or read[path] for path in paths}
        votes = unique(vote for of_file, _ in self._known.values() for vote in of_file)
        damaged = [fault for _, faults in self._known.values() for fault in faults]
        self._last = Votes(head, tuple(votes), tuple(damaged))
        return self._last

    def _read(self, head: str, path: str) -> tuple[list[Vote], list[tuple[str, str]]]:
        if not _STORED.fullmatch(path):
            return [], [(path, "not the name of a vote file")]
        try:
            content = self.store.read(head, path, MAX_BATCH_BYTES)
        except InputError as error:
            return [], [(path, str(error))]
        votes, faults = [], []
        for number, line in enumerate(content.splitlines(), 1):
            try:
                votes.append(parsed_vote(line))
            except ValueError as error:
                faults.append((f"{path}:{number}", str(error)))
        return votes, faults[:100]


def merge_past_days(store: file_store.FileStore, today: date) -> int:
    """Merge the batches of each past day into one file, in one commit, so that a store stays quick to read.

    The file is named by its content, because readers read a file once: a late batch makes another file. A day with a
    file that cannot be read, or a line that is not a vote, stays as it is, so that it is still reported. Return the
    number of merged days; 0 also if another commit came first.
    """
    head = store.head()
    days: dict[str, list[str]] = {}
    for path in store.paths(head, FOLDER) if head else ():
        name = _STORED.fullmatch(path)
        if name and name[1] < today.isoformat():
            days.setdefault(name[1], []).append(path)
    add: dict[str, bytes | Path] = {}
    removed: list[str] = []
    for day, paths in days.items():
        try:
            # A file that another program wrote may lack its last line end.
            content = b"\n".join(store.read(head, path, MAX_BATCH_BYTES) for path in paths)
            votes = [parsed_vote(line) for line in content.splitlines() if line]
        except (InputError, ValueError):
            continue
        if len(paths) > 1 and len(content) <= MAX_BATCH_BYTES:
            lines = _lines(unique(votes))
            merged = _path_by_content(day, lines)
            add[merged] = lines
            removed += [path for path in paths if path != merged]
    try:
        if add:
            store.commit(head, add, removed, f"votes of {counted(len(add), 'day')} merged")
    except file_store.Conflict:
        return 0
    return len(add)


def delete_votes(spool: VoteSpool, name: str) -> int:
    """Delete the votes of a visitor, or on a pair, from the spool and the store's head; return how many.

    The name is the visitor's hash or the pair's id. Earlier commits still have the votes.
    """
    spool.commit()
    return file_store.retrying_conflicts()(_delete, spool.store, json.dumps(name).encode())


def _delete(store: file_store.FileStore, quoted: bytes) -> int:
    head, count = store.head(), 0
    add: dict[str, bytes | Path] = {}
    removed: list[str] = []
    for path in store.paths(head, FOLDER) if head else ():
        lines = store.read(head, path, MAX_BATCH_BYTES).splitlines(keepends=True)
        others = [line for line in lines if quoted not in line]
        if (name := _STORED.fullmatch(path)) is None or len(others) == len(lines):
            continue
        count += len(lines) - len(others)
        removed.append(path)
        if others:  # under another name, because readers read a file once
            content = b"".join(others)
            add[_path_by_content(name[1], content)] = content
    if removed:
        store.commit(head, add, removed, f"{counted(count, 'vote')} deleted")
    return count


def _path_by_content(day: str, content: bytes) -> str:
    return f"{FOLDER}/{day}/{hashlib.sha256(content).hexdigest()[:32]}.jsonl"


def _readable(content: bytes) -> Iterable[Vote]:
    """Yield the votes of a file, without incomplete lines, which were never accepted."""
    for line in content.split(b"\n"):
        if line:
            try:
                yield parsed_vote(line)
            except ValueError:
                continue


def _lines(votes: Iterable[Vote]) -> bytes:
    return b"".join(vote.as_line() + b"\n" for vote in votes)


def _path(batch: Path) -> str:
    name = _BATCH.fullmatch(batch.name)
    assert name is not None  # noqa: S101 - `_batches` returns only such names
    return f"{FOLDER}/{name[1]}/{name[2]}.jsonl"
