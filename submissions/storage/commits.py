"""Check what a commit may contain, and define the errors of making and reading commits."""

import errno
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from datasets_build.errors import DivBenchError, InputError

ATTEMPTS = 30  # at a commit that others get ahead of
MAX_MESSAGE = 200  # characters
PIECE_BYTES = 2**20  # of a file, at once in memory

_PATH = re.compile(r"[a-z0-9][a-z0-9_.-]{0,99}(/[a-z0-9][a-z0-9_.-]{0,99}){0,7}")  # no "..": a part has no dot first
_COMMIT_ID = re.compile(r"[0-9a-f]{40}")
_WAIT = wait_random_exponential(multiplier=0.05, max=2)  # fully random, so that two writers do not collide again


class Conflict(Exception):
    """Somebody committed first. Look again, decide again."""


def retrying_conflicts() -> Retrying:
    """Make a `Retrying` that retries after a `Conflict`, `ATTEMPTS` times in all, and raises the last one."""
    retry = retry_if_exception_type(Conflict)
    return Retrying(stop=stop_after_attempt(ATTEMPTS), wait=_WAIT, retry=retry, reraise=True)


class StoreFault(DivBenchError):
    """The store cannot be read or written now: a full disk, no rights, no network. Nothing was half-written."""


class LocalDiskFault(StoreFault):
    """A disk of this machine that is not the store's cannot be read or written: no other machine has that fault."""


class NoWriteAccess(StoreFault):
    """The store exists, but the caller may not write to it; a pull request may be possible."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One state of the whole tree.

    Attributes:
        id: Id of the commit; the empty string is the empty tree that every store begins with.
        parent: The one before it; None where there is none, or it is not known.
    """

    id: str
    parent: str | None
    message: str


def is_path(text: str) -> bool:
    """Whether a store takes a path: lower-case letters, digits, `_`, `-`, `.`, and no part begins with a sign."""
    return _PATH.fullmatch(text) is not None


def checked_path(path: str) -> str:
    """The path, if it is one that a store takes.

    Raises:
        InputError: It is not.
    """
    if not is_path(path):
        raise InputError(f"{path[:100]!r} is not a path in a store", "paths are made of ids, never of names")
    return path


def is_commit_id(text: str) -> bool:
    """Whether a commit can have this id, but for the one before all commits."""
    return _COMMIT_ID.fullmatch(text) is not None


def checked_commit(commit: str, address: str) -> str:
    """The id of a commit, if it can be one: it becomes a part of file names and addresses.

    Raises:
        StoreFault: It cannot.
    """
    if not is_commit_id(commit):
        raise no_commit(commit, address)
    return commit


def no_commit(commit: str, address: str) -> StoreFault:
    """What is raised for a commit that a store does not have."""
    return StoreFault(f"{address} has no commit {commit[:100]!r}", "start again from the latest commit")


def no_file(path: str, commit: str, address: str) -> FileNotFoundError:
    """What is raised for a file that a commit does not have."""
    return FileNotFoundError(f"{address} has no {path} at {commit or 'its beginning'}")


def checked_change(add: Collection[str], remove: Collection[str], message: str) -> None:
    """Refuse what no commit may hold, whatever it is made on.

    Raises:
        InputError: A path, or the message, is not one that a store takes; or a path is both added and removed.
    """
    for path in (*add, *remove):
        checked_path(path)
    if both := sorted(set(add) & set(remove)):
        raise InputError(f"{both[0]} is both added and removed")
    if not (message.isprintable() and message.strip() and len(message) <= MAX_MESSAGE):
        hint = f"use one line of at most {MAX_MESSAGE} printable characters"
        raise InputError(f"{message[:100]!r} is not a valid commit message", hint)


def folders_of(path: str) -> list[str]:
    """The folders that a path lies in, the outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def not_there(path: str) -> InputError:
    """What is raised for a path that is to be removed and is not there."""
    return InputError(f"{path} cannot be removed: it does not exist")


def file_and_folder(path: str) -> InputError:
    """What is raised where a file would take a folder's name, or the other way round."""
    return InputError(f"{path} would be both a file and a folder", "use another path")


def too_large(path: str, size: int, limit: int) -> InputError:
    """What is raised for a file of more bytes than are taken."""
    return InputError(f"{path} has {size:,} bytes", f"at most {limit:,} are allowed")


@contextmanager
def disk_faults(path: Path, kind: type[StoreFault] = StoreFault) -> Iterator[None]:
    """Give an error of the system as a fault of a kind, with the path and what to do about it."""
    try:
        yield
    except OSError as error:
        hints = {
            **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free space there, then retry"),
            **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "grant this user access, then retry"),
        }
        hint = hints.get(error.errno or 0, "check the folder and its disk")
        raise kind(f"{error.filename or path}: {error.strerror or error}", hint) from error
