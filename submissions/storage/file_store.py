"""A store of files: a tree that only changes by atomic commits, and its implementation in a folder.

A commit names its parent, and is rejected as a whole if another commit came first. A reader therefore sees all of a
commit or none of it, and only one of two competing writers succeeds. `HubStore` is the other implementation.
"""

import errno
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from divbench.core.errors import DivBenchError, InputError
from divbench.core.files import atomic_file, canonical_json, sha256_of, sync_folder

ATTEMPTS = 30  # at a commit, while others commit first
MAX_MESSAGE = 200  # characters
PIECE_BYTES = 2**20  # size of the pieces in which files are copied
LOCK_SECONDS = 60  # the lock is held for milliseconds, so a process that holds it longer has stopped
COMMITS_KEPT = 8  # in memory

_PATH = re.compile(r"[a-z0-9][a-z0-9_.-]{0,99}(/[a-z0-9][a-z0-9_.-]{0,99}){0,7}")  # no "..": no part begins with a dot
_COMMIT_ID = re.compile(r"[0-9a-f]{40}")
_NO_COMMIT = "0" * 40  # in the HEAD of a store before its first commit
_LOST = (errno.ENOENT, errno.EIO, errno.EISDIR, errno.ENOTDIR)
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
_WAIT = wait_random_exponential(multiplier=0.05, max=2)  # fully random, so that two writers do not collide again


class Conflict(Exception):
    """Another commit came first; read the new head and decide again."""


def retrying_conflicts() -> Retrying:
    """Return a `Retrying` that makes up to `ATTEMPTS` attempts while there is a `Conflict`, and raises the last one."""
    retry = retry_if_exception_type(Conflict)
    return Retrying(stop=stop_after_attempt(ATTEMPTS), wait=_WAIT, retry=retry, reraise=True)


class StoreFault(DivBenchError):
    """The store cannot be read or written now: full disk, no permission, no network. Nothing was partly written."""


class DamagedFile(InputError):
    """The content of one file is lost or changed; the other files of the store are not affected."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} is damaged: {reason}", "submit it again, or see divbench submissions repair")


class LocalDiskFault(StoreFault):
    """A local disk, other than the store's, cannot be read or written; other machines are not affected."""


class NoWriteAccess(StoreFault):
    """The store exists, but the caller may not write to it; a pull request may be possible."""


def is_path(text: str) -> bool:
    """Whether a path is valid: lower-case letters, digits, `_`, `-`, `.`; each part begins with a letter or digit."""
    return _PATH.fullmatch(text) is not None


def checked_path(path: str) -> str:
    """Return a path if it is valid."""
    if not is_path(path):
        raise InputError(f"{path[:100]!r} is not a path in a store", "build paths from ids, not from names")
    return path


def is_commit_id(text: str) -> bool:
    """Whether a text is a well-formed commit id; the id of the empty tree is not."""
    return _COMMIT_ID.fullmatch(text) is not None


def checked_commit(commit: str, address: str) -> str:
    """Return a commit id if it is well-formed, because it becomes part of file names and addresses."""
    if not is_commit_id(commit):
        raise no_commit(commit, address)
    return commit


def no_commit(commit: str, address: str) -> StoreFault:
    """Return the error for an unknown commit."""
    return StoreFault(f"{address} has no commit {commit[:100]!r}", "start again from the latest commit")


def no_file(path: str, commit: str, address: str) -> FileNotFoundError:
    """Return the error for a file that a commit does not have."""
    return FileNotFoundError(f"{address} has no {path} at {commit or 'its beginning'}")


def checked_change(add: Collection[str], remove: Collection[str], message: str) -> None:
    """Check the paths and the message of a commit, whatever its parent."""
    for path in (*add, *remove):
        checked_path(path)
    if both := sorted(set(add) & set(remove)):
        raise InputError(f"{both[0]} is both added and removed")
    if not (message.isprintable() and message.strip() and len(message) <= MAX_MESSAGE):
        hint = f"use one line of at most {MAX_MESSAGE} printable characters"
        raise InputError(f"{message[:100]!r} is not a valid commit message", hint)


def folders_of(path: str) -> list[str]:
    """Return the folders that contain a path, the outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def check_fit(files: Collection[str], folders: Collection[str], add: Collection[str], remove: Collection[str]) -> None:
    """Check that removed files exist, and that no path would be both a file and a folder."""
    for path in remove:
        if path not in files:
            raise InputError(f"{path} cannot be removed: it does not exist")
    for path in add:
        both = [f for f in folders_of(path) if f in add or (f in files and f not in remove)]
        if both or path in folders:
            raise InputError(f"{(both or [path])[0]} would be both a file and a folder", "use another path")


def too_large(path: str, size: int, limit: int) -> InputError:
    """Return the error for a file over the size limit."""
    return InputError(f"{path} has {size:,} bytes", f"at most {limit:,} are allowed")


@contextmanager
def disk_faults(
    path: Path, kind: type[StoreFault] = StoreFault, denied: type[StoreFault] | None = None
) -> Iterator[None]:
    """Convert an `OSError` into a `StoreFault` that names the path and a fix."""
    try:
        yield
    except OSError as error:
        hints = {
            **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free space there, then retry"),
            **dict.fromkeys(_DENIED, "grant this user access, then retry"),
        }
        hint = hints.get(error.errno or 0, "check the folder and its disk")
        raised = denied if denied is not None and error.errno in _DENIED else kind
        raise raised(f"{error.filename or path}: {error.strerror or error}", hint) from error


class FileStore(Protocol):
    """Files under paths such as `submissions/0123456789abcdef/manifest.json`.

    All methods raise StoreFault if the store is unreachable, full or not writable, or has no such commit; transient
    failures have been retried before. NoWriteAccess and LocalDiskFault are subclasses.
    """

    address: str

    def head(self) -> str:
        """Return the id of the latest commit."""
        ...

    def paths(self, commit: str, under: str = "") -> list[str]:
        """Return the sorted paths of a commit, or of one of its folders."""
        ...

    def read(self, commit: str, path: str, limit: int) -> bytes:
        """Read a file of a commit."""
        ...

    def fetch(self, commit: str, path: str, target: Path, limit: int) -> None:
        """Copy a file of a commit to a local path atomically."""
        ...

    def commit(self, parent: str, add: Mapping[str, bytes | Path], remove: Iterable[str], message: str) -> str:
        """Make one commit atomically."""
        ...


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
        path, commits = self.folder / "HEAD", self.folder / "commits"
        with disk_faults(path):
            try:
                commit = path.read_text(encoding="ascii", errors="replace").strip()
            except FileNotFoundError:
                if any(commits.glob("*.json")):
                    raise _damaged(path, "it is missing, but there are commits") from None
                return ""
            if commit == _NO_COMMIT:
                return ""
            if not is_commit_id(commit) or not (commits / f"{commit}.json").is_file():
                raise _damaged(path, f"there is no commit {commit[:100]!r}")
            return commit

    def restore(self) -> str | None:
        """Set a damaged `HEAD` to the newest intact commit on which no other is based; None if it is intact.

        Changes after that commit are lost; their files may be submitted again.
        """
        with suppress(StoreFault):
            self._tree(self.head())
            return None
        intact: dict[str, _State] = {}
        with disk_faults(self.folder):
            for path in sorted((self.folder / "commits").glob("*.json"), key=lambda path: path.stat().st_mtime_ns):
                with suppress(StoreFault):
                    intact[path.stem] = self._state(path.stem)
        parents = {state.parent for state in intact.values()}
        if not (last := [commit for commit in intact if commit not in parents]):
            raise StoreFault(f"{self.address} has no intact commit", "restore it from a backup")
        with disk_faults(self.folder), FileLock(self.folder / ".lock", timeout=LOCK_SECONDS):
            self._write(self.folder / "HEAD", [f"{last[-1]}\n".encode()])
        return last[-1]

    def paths(self, commit: str, under: str = "") -> list[str]:
        """As `FileStore.paths`."""
        start = f"{checked_path(under)}/" if under else ""
        return sorted(path for path in self._tree(commit) if path.startswith(start))

    def read(self, commit: str, path: str, limit: int) -> bytes:
        """As `FileStore.read`."""
        return b"".join(self._pieces(path, self._entry(commit, path, limit)))

    def fetch(self, commit: str, path: str, target: Path, limit: int) -> None:
        """As `FileStore.fetch`."""
        entry = self._entry(commit, path, limit)
        with disk_faults(target, LocalDiskFault), atomic_file(target) as temporary, temporary.open("wb") as file:
            for piece in self._pieces(path, entry):
                file.write(piece)

    def commit(self, parent: str, add: Mapping[str, bytes | Path], remove: Iterable[str], message: str) -> str:
        """As `FileStore.commit`."""
        removed = frozenset(remove)
        checked_change(add, removed, message)
        if self.head() != parent:
            raise Conflict
        before = self._tree(parent)
        check_fit(before, {folder for path in before.keys() - removed for folder in folders_of(path)}, add, removed)
        with disk_faults(self.folder, denied=NoWriteAccess):
            tree = {path: entry for path, entry in before.items() if path not in removed}
            tree |= {path: self._keep(path, content) for path, content in add.items()}
            if tree == before:
                return parent
            state = _State(id="", parent=parent or None, message=message, tree=dict(sorted(tree.items())))
            state = state.model_copy(update={"id": state.true_id()})
            if not parent and not (self.folder / "HEAD").exists():
                self._move_head("", _NO_COMMIT)  # so that commits without a HEAD are known to have lost it
            # All objects are on disk before the commit, and the commit before HEAD.
            self._write(self.folder / "commits" / f"{state.id}.json", [canonical_json(state.model_dump())])
            self._move_head(parent, state.id)
        return self._remember(state).id

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
                raise _damaged(path, "it is no commit") from error
        if not state.id == commit == state.true_id():
            raise _damaged(path, "its content does not match its name")
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

    def _pieces(self, name: str, entry: _Entry) -> Iterator[bytes]:
        """Yield the bytes of an object; the last piece only after the hash was verified."""
        path = self._object(entry)
        digest, left, held = hashlib.sha256(), entry.size, b""
        with disk_faults(path):
            try:
                with path.open("rb") as file:
                    while piece := file.read(PIECE_BYTES):
                        digest.update(piece)
                        left -= len(piece)
                        if left < 0:
                            break
                        yield held
                        held = piece
            except OSError as error:
                if error.errno not in _LOST:
                    raise
                raise DamagedFile(name, f"its object {path.name} cannot be read: {error.strerror}") from error
        if left or digest.hexdigest() != entry.sha256:
            raise DamagedFile(name, f"its object {path.name} has another content")
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


def _pieces_of(path: Path, sha256: str) -> Iterator[bytes]:
    """Yield the bytes of a file to copy; raise at their end if the file has changed since it was hashed."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
            yield piece
    if digest.hexdigest() != sha256:
        raise InputError(f"{path} changed while it was copied", "commit it again")


def _damaged(path: Path, reason: str) -> StoreFault:
    hint = "restore it from a backup, or go back to the last intact commit: divbench submissions repair"
    return StoreFault(f"{path} is damaged: {reason}", hint)
