"""A store in a folder: contents and commits named by their hashes, and a `HEAD` that is replaced atomically."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from divbench.core.errors import InputError
from divbench.core.files import atomic_file, canonical_json, sha256_of, sync_folder
from submissions.storage.commits import (
    PIECE_BYTES,
    Commit,
    Conflict,
    LocalDiskFault,
    NoWriteAccess,
    StoreFault,
    checked_change,
    checked_commit,
    checked_path,
    disk_faults,
    file_and_folder,
    folders_of,
    is_commit_id,
    no_commit,
    no_file,
    not_there,
    too_large,
)

LOCK_SECONDS = 60  # the lock is held for milliseconds, so a process that holds it longer has stopped
COMMITS_KEPT = 8  # in memory


class _Entry(BaseModel):
    """A file in a tree: the hash of its content and its size in bytes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    size: int


Tree = dict[str, _Entry]


class _State(BaseModel):
    """A commit as stored in its file."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    id: str
    parent: str | None
    message: str
    tree: Tree

    def true_id(self) -> str:
        """Return the id that follows from the commit's content: the same on every machine, at any time."""
        content = self.model_dump(exclude={"id"})
        return hashlib.sha256(canonical_json(content)).hexdigest()[:40]


class FolderStore:
    """A store in a folder: `objects/` by hash, `commits/` by id, and `HEAD`, which is replaced atomically.

    Safe for several processes on one machine, and on several machines if the file system has locks. Readers take no
    lock. A killed process may leave unused objects and commits, but never a partial commit. See `FileStore`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = str(folder)
        self._seen: dict[str, _State] = {}  # the last commits that were read; a commit never changes

    def head(self) -> str:
        """As `FileStore.head`."""
        path = self.folder / "HEAD"
        with disk_faults(path), suppress(FileNotFoundError):
            found = path.read_text(encoding="ascii", errors="replace").strip()
            if not is_commit_id(found):
                raise _damaged(path)
            return found
        return ""

    def paths(self, commit: str, under: str = "") -> list[str]:
        """As `FileStore.paths`."""
        start = f"{checked_path(under)}/" if under else ""
        return sorted(path for path in self._tree(commit) if path.startswith(start))

    def read(self, commit: str, path: str, limit: int) -> bytes:
        """As `FileStore.read`."""
        return b"".join(self._pieces(self._entry(commit, path, limit)))

    def fetch(self, commit: str, path: str, target: Path, limit: int) -> None:
        """As `FileStore.fetch`."""
        entry = self._entry(commit, path, limit)
        with disk_faults(target, LocalDiskFault), atomic_file(target) as temporary, temporary.open("wb") as file:
            for piece in self._pieces(entry):
                file.write(piece)

    def commit(self, parent: str, add: Mapping[str, bytes | Path], remove: Iterable[str], message: str) -> str:
        """As `FileStore.commit`."""
        gone = frozenset(remove)
        checked_change(add, gone, message)
        if self.head() != parent:
            raise Conflict
        before = self._tree(parent)
        _refuse_misfits(before, add, gone)
        with disk_faults(self.folder, denied=NoWriteAccess):
            tree = {path: entry for path, entry in before.items() if path not in gone}
            tree |= {path: self._keep(path, content) for path, content in add.items()}
            if tree == before:
                return parent
            state = _State(id="", parent=parent or None, message=message, tree=dict(sorted(tree.items())))
            state = state.model_copy(update={"id": state.true_id()})
            # All objects are on disk before the commit, and the commit before HEAD.
            self._write(self.folder / "commits" / f"{state.id}.json", [canonical_json(state.model_dump())])
            self._move_head(parent, state.id)
        return self._remember(state).id

    def history(self, limit: int = 100) -> list[Commit]:
        """As `FileStore.history`."""
        found: list[Commit] = []
        commit: str | None = self.head()
        while commit and len(found) < limit:
            state = self._state(commit)
            found.append(Commit(state.id, state.parent, state.message))
            commit = state.parent
        return found

    def _tree(self, commit: str) -> Tree:
        return self._state(commit).tree if commit else {}

    def _state(self, commit: str) -> _State:
        """Read a commit; the hash of its content must be its id."""
        if (seen := self._seen.get(commit)) is not None:
            return seen
        path = self.folder / "commits" / f"{checked_commit(commit, self.address)}.json"
        with disk_faults(path):
            try:
                state = _State.model_validate_json(path.read_bytes())
                checked_change(state.tree, (), state.message)
            except FileNotFoundError as error:
                raise no_commit(commit, self.address) from error
            except (ValidationError, InputError) as error:
                raise _damaged(path) from error
        if not state.id == commit == state.true_id():
            raise _damaged(path)
        return self._remember(state)

    def _remember(self, state: _State) -> _State:
        self._seen = {
            **dict(list(self._seen.items())[1 - COMMITS_KEPT :]),
            state.id: state,
        }  # replaced at once, for other threads
        return state

    def _entry(self, commit: str, path: str, limit: int) -> _Entry:
        entry = self._tree(commit).get(checked_path(path))
        if entry is None:
            raise no_file(path, commit, self.address)
        if entry.size > limit:
            raise too_large(path, entry.size, limit)
        return entry

    def _object(self, entry: _Entry) -> Path:
        return self.folder / "objects" / entry.sha256[:2] / entry.sha256

    def _pieces(self, entry: _Entry) -> Iterator[bytes]:
        """Yield the bytes of an object; the last piece only after the hash was verified."""
        path = self._object(entry)
        digest, left, held = hashlib.sha256(), entry.size, b""
        with disk_faults(path), path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                digest.update(piece)
                left -= len(piece)
                if left < 0:
                    break
                yield held
                held = piece
        if left or digest.hexdigest() != entry.sha256:
            raise _damaged(path)
        yield held

    def _keep(self, path: str, content: bytes | Path) -> _Entry:
        """Store a content as an object, unless an intact one exists."""
        if isinstance(content, bytes):
            entry = _Entry(sha256=hashlib.sha256(content).hexdigest(), size=len(content))
        elif content.is_file():
            entry = _Entry(sha256=sha256_of(content), size=content.stat().st_size)
        else:
            raise InputError(f"{path}: there is no file {content}")
        target = self._object(entry)
        if not (target.is_file() and target.stat().st_size == entry.size and sha256_of(target) == entry.sha256):
            self._write(target, [content] if isinstance(content, bytes) else _pieces_of(content, entry.sha256))
        return entry

    def _write(self, path: Path, pieces: Iterable[bytes]) -> None:
        """Write a file atomically, so that it is complete or absent even after a loss of power."""
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            sync_folder(path.parent.parent)
        with atomic_file(path) as temporary, temporary.open("wb") as file:
            file.writelines(pieces)
        sync_folder(path.parent)

    def _move_head(self, parent: str, commit: str) -> None:
        """Set `HEAD` to a commit if it is still the commit's parent."""
        lock = FileLock(self.folder / ".lock")
        try:
            lock.acquire(timeout=LOCK_SECONDS, poll_interval=0.01)
        except Timeout as error:
            hint = "check for a stopped process that holds the lock"
            raise StoreFault(f"{self.folder / '.lock'} was held for {LOCK_SECONDS} seconds", hint) from error
        try:
            if self.head() != parent:
                raise Conflict
            self._write(self.folder / "HEAD", [f"{commit}\n".encode()])
        finally:
            lock.release()


def _refuse_misfits(before: Collection[str], add: Collection[str], gone: Collection[str]) -> None:
    """Check that removed paths exist, and that no path would be both a file and a folder."""
    for path in gone:
        if path not in before:
            raise not_there(path)
    files = {*before, *add}
    for path in files:
        for folder in folders_of(path):
            if folder in files:
                raise file_and_folder(folder)


def _pieces_of(path: Path, sha256: str) -> Iterator[bytes]:
    """Yield the bytes of a file to copy; raise at their end if the file has changed since it was hashed."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
            yield piece
    if digest.hexdigest() != sha256:
        raise InputError(f"{path} changed while it was copied", "commit it again")


def _damaged(path: Path) -> StoreFault:
    return StoreFault(f"{path} is damaged: its content does not match its name", "restore it from a backup")
