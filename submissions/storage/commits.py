"""Check what a commit may contain, and define the errors of making and reading commits."""

import errno
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from divbench.core.errors import DivBenchError, InputError

ATTEMPTS = 30  # at a commit, while others commit first
MAX_MESSAGE = 200  # characters
PIECE_BYTES = 2**20  # size of the pieces in which files are copied

_PATH = re.compile(r"[a-z0-9][a-z0-9_.-]{0,99}(/[a-z0-9][a-z0-9_.-]{0,99}){0,7}")  # no "..": no part begins with a dot
_COMMIT_ID = re.compile(r"[0-9a-f]{40}")
_WAIT = wait_random_exponential(multiplier=0.05, max=2)  # fully random, so that two writers do not collide again


class Conflict(Exception):
    """Another commit came first; read the new head and decide again."""


def retrying_conflicts() -> Retrying:
    """Return a `Retrying` that makes up to `ATTEMPTS` attempts while there is a `Conflict`, and raises the last one."""
    retry = retry_if_exception_type(Conflict)
    return Retrying(stop=stop_after_attempt(ATTEMPTS), wait=_WAIT, retry=retry, reraise=True)


_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)


class StoreFault(DivBenchError):
    """The store cannot be read or written now: full disk, no permission, no network. Nothing was partly written."""


class LocalDiskFault(StoreFault):
    """A local disk, other than the store's, cannot be read or written; other machines are not affected."""


class NoWriteAccess(StoreFault):
    """The store exists, but the caller may not write to it; a pull request may be possible."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One state of the whole tree."""

    id: str  # id of the commit; the empty string is the empty tree that every store begins with
    parent: str | None  # id of the commit before it; None if there is none or it is unknown
    message: str


def is_path(text: str) -> bool:
    """Whether a path is valid: lower-case letters, digits, `_`, `-`, `.`; each part begins with a letter or digit."""
    return _PATH.fullmatch(text) is not None


def checked_path(path: str) -> str:
    """Return a path if it is valid.

    Raises:
        InputError: It is not.
    """
    if not is_path(path):
        raise InputError(f"{path[:100]!r} is not a path in a store", "build paths from ids, not from names")
    return path


def is_commit_id(text: str) -> bool:
    """Whether a text is a well-formed commit id; the id of the empty tree is not."""
    return _COMMIT_ID.fullmatch(text) is not None


def checked_commit(commit: str, address: str) -> str:
    """Return a commit id if it is well-formed, because it becomes part of file names and addresses.

    Raises:
        StoreFault: It is not.
    """
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
    """Check the paths and the message of a commit, whatever its parent.

    Raises:
        InputError: A path or the message is invalid, or a path is both added and removed.
    """
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


def not_there(path: str) -> InputError:
    """Return the error for removing a path that does not exist."""
    return InputError(f"{path} cannot be removed: it does not exist")


def file_and_folder(path: str) -> InputError:
    """Return the error for a path that would be both a file and a folder."""
    return InputError(f"{path} would be both a file and a folder", "use another path")


def too_large(path: str, size: int, limit: int) -> InputError:
    """Return the error for a file over the size limit."""
    return InputError(f"{path} has {size:,} bytes", f"at most {limit:,} are allowed")


@contextmanager
def disk_faults(
    path: Path, kind: type[StoreFault] = StoreFault, denied: type[StoreFault] | None = None
) -> Iterator[None]:
    """Convert an `OSError` into a `StoreFault` that names the path and a fix.

    Args:
        denied: The error for a denied permission; by default `kind`.
    """
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
