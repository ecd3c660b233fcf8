"""What git keeps: blobs, trees and commits, by the ids that git gives them; and changes from one to the next."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatch
from functools import cached_property

LARGE = 10 * 1024 * 1024  # a file of this size is stored by LFS whatever it is called
ATTRIBUTES = "".join(
    f"*.{ending} filter=lfs diff=lfs merge=lfs -text\n" for ending in ("arrow", "bin", "gz", "npz", "parquet", "zip")
).encode()


class Refused(Exception):
    """What was asked for is refused, with an HTTP status and the code that the clients tell errors apart by."""

    def __init__(self, status: int, message: str, code: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.headers = dict(headers or {})


def git_oid(kind: str, data: bytes) -> str:
    """The id that git gives an object."""
    return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class Blob:
    """One file's content, in git itself or, when `lfs`, in the LFS store with a pointer to it in git."""

    data: bytes
    lfs: bool = False

    @cached_property
    def sha256(self) -> str:
        """What the LFS store knows the content by."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def pointer(self) -> bytes:
        """What git holds in place of a file in the LFS store."""
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {len(self.data)}\n".encode()

    @cached_property
    def oid(self) -> str:
        """What git knows the file by."""
        return git_oid("blob", self.pointer if self.lfs else self.data)


@dataclass(frozen=True)
class Put:
    """Write a file, over the one of that name if there is one."""

    path: str
    blob: Blob


@dataclass(frozen=True)
class Drop:
    """Remove a file, or a folder with all that it holds."""

    path: str
    folder: bool = False


@dataclass(frozen=True)
class Commit:
    """One state of a repository; nothing in it changes."""

    oid: str
    parents: tuple[str, ...]
    files: Mapping[str, Blob]
    folders: Mapping[str, str]  # folder -> its tree's id; the root is ""
    title: str
    message: str
    author: str
    date: datetime


def stored_by_lfs(path: str, size: int, sample: bytes, attributes: bytes) -> bool:
    """Whether the Hub puts a file in the LFS store: by its name in .gitattributes, its size, or bytes that are no text.

    An empty file never is: storage takes none.
    """
    if size == 0:
        return False
    patterns = [line.split()[0] for line in attributes.decode().splitlines() if "filter=lfs" in line.split()[1:]]
    name = path.rpartition("/")[2]
    return size >= LARGE or b"\0" in sample or any(fnmatch(path, one) or fnmatch(name, one) for one in patterns)


def folder_oids(files: Mapping[str, Blob]) -> dict[str, str]:
    """The git ids of the trees of all folders, the root under the empty name."""
    holds: dict[str, dict[str, tuple[str, str]]] = {"": {}}
    for path, blob in files.items():
        folder, _, name = path.rpartition("/")
        holds.setdefault(folder, {})[name] = ("100644", blob.oid)
        while folder:
            folder = folder.rpartition("/")[0]
            holds.setdefault(folder, {})
    oids: dict[str, str] = {}
    for folder in sorted(holds, key=lambda one: one.count("/") + bool(one), reverse=True):  # the deepest first
        # git sorts a folder as if its name ended with a slash
        entries = sorted(holds[folder].items(), key=lambda e: e[0].encode() + (b"/" if e[1][0] == "40000" else b""))
        tree = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(oid) for name, (mode, oid) in entries)
        oids[folder] = git_oid("tree", tree)
        if folder:
            parent, _, name = folder.rpartition("/")
            holds[parent][name] = ("40000", oids[folder])
    return oids


def checked_path(path: str) -> str:
    """A path that may stand in a repository."""
    parts = path.split("/")
    if any(part in {"", ".", "..", ".git"} for part in parts) or "\0" in path or "\\" in path:
        raise Refused(400, f"Invalid path in repo: {path!r}", "BadRequest")
    return path


def applied(files: Mapping[str, Blob], changes: Iterable[Put | Drop]) -> dict[str, Blob]:
    """The files after the changes, which are made one after another."""
    result = dict(files)
    for change in changes:
        path = checked_path(change.path.rstrip("/") if isinstance(change, Drop) else change.path)
        inside = [name for name in result if name.startswith(f"{path}/")]
        if isinstance(change, Put):
            if inside or any(parent in result for parent in _parents(path)):
                raise Refused(400, f"{path!r} would be both a file and a folder at once", "BadRequest")
            result[path] = change.blob
        elif change.folder and inside:
            for name in inside:
                del result[name]
        elif not change.folder and path in result:
            del result[path]
        else:
            kind = "folder" if change.folder else "file"
            raise Refused(404, f"A {kind} with this name doesn't exist: {path}", "EntryNotFound")
    return result


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:i]) for i in range(1, len(parts))]
