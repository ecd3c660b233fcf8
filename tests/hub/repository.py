"""Repositories in memory, kept the way git keeps them: commits that never change, and names for them.

A commit is made whole and then named by one assignment, so a reader sees all of it or nothing of it.
"""

import hashlib
import itertools
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import Literal

MAIN = "refs/heads/main"
LARGE = 10 * 1024 * 1024  # a file of this size is stored by LFS whatever it is called
LARGE_ENDINGS = (".arrow", ".bin", ".gz", ".npz", ".parquet", ".zip")
START = datetime(2026, 1, 1, tzinfo=UTC)


class Refused(Exception):
    """A request is refused, with an HTTP status and the code by which the clients distinguish errors."""

    def __init__(self, status: int, message: str, code: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code
        self.headers = dict(headers or {})


@dataclass(frozen=True)
class Blob:
    """One file's content, in git itself or, when `lfs`, in the LFS store with a pointer to it in git."""

    data: bytes
    lfs: bool = False

    @cached_property
    def sha256(self) -> str:
        """The id of the content in the LFS store."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def oid(self) -> str:
        """The id of the file in git."""
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {len(self.data)}\n"
        data = pointer.encode() if self.lfs else self.data
        return hashlib.sha1(f"blob {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()


def stored_by_lfs(path: str, size: int, sample: bytes) -> bool:
    """Whether the Hub puts a file in the LFS store: by its name, its size, or bytes that are no text; no empty one."""
    return size > 0 and (size >= LARGE or b"\0" in sample or path.endswith(LARGE_ENDINGS))


Changes = Mapping[str, Blob | None]  # content by path; None removes the file


@dataclass(frozen=True)
class Commit:
    """One state of a repository; nothing in it changes."""

    oid: str
    parents: tuple[str, ...]
    files: Mapping[str, Blob]
    title: str
    message: str
    author: str
    date: datetime


@dataclass
class PullRequest:
    """A pull request; its branch is `refs/pr/<number>`."""

    number: int
    title: str
    message: str
    author: str
    date: datetime
    base: str  # the commit that it started from
    status: Literal["open", "merged"] = "open"
    merged_as: str | None = None


class Repo:
    """One dataset repository. Every method may be called by many threads at once."""

    def __init__(self, name: str, private: bool = False) -> None:
        self.name = name
        self.namespace = name.partition("/")[0]
        self.private = private
        self.discussions: list[PullRequest] = []
        self._ticks = itertools.count()  # a second for each commit, so that the same steps give the same commits
        self._lock = threading.RLock()
        self._refs: dict[str, str] = {}
        self._commits: dict[str, Commit] = {}
        self.objects: dict[str, bytes] = {}  # the LFS store, by SHA-256; also what no commit has yet
        first = self._make((), {".gitattributes": Blob(b"")}, "initial commit", "", self.namespace)
        self._refs[MAIN] = first.oid

    @property
    def head(self) -> str:
        """The id of the commit that `main` names."""
        return self.at().oid

    @property
    def tags(self) -> dict[str, str]:
        """The tags and the ids of their commits."""
        return self.named("refs/tags/")

    def named(self, start: str) -> dict[str, str]:
        """The references of a kind and the ids of their commits."""
        with self._lock:
            return {name.removeprefix(start): oid for name, oid in self._refs.items() if name.startswith(start)}

    def ref(self, revision: str) -> str | None:
        """The full name of the branch, tag or pull request that `revision` stands for; None if it is none of these."""
        names = (revision, f"refs/heads/{revision}", f"refs/tags/{revision}")
        return next((name for name in names if name in self._refs), None)

    def at(self, revision: str = "main") -> Commit:
        """The commit that a branch, a tag, a pull request, or a commit's id or the first digits of it names."""
        with self._lock:
            name = self.ref(revision)
            oid = self._refs[name] if name else revision
            commit = self._commits.get(oid)
            if commit is None and re.fullmatch("[0-9a-f]{7,39}", oid):
                commit = next((one for one in self._commits.values() if one.oid.startswith(oid)), None)
        if commit is None:
            raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return commit

    def files(self, revision: str = "main") -> dict[str, bytes]:
        """The files at a revision, without the .gitattributes that every repository starts with."""
        return {path: blob.data for path, blob in self.at(revision).files.items() if path != ".gitattributes"}

    def history(self, revision: str = "main") -> list[Commit]:
        """The commits that led to a revision, the newest first."""
        with self._lock:
            commits = [self.at(revision)]
            while commits[-1].parents:
                commits.append(self._commits[commits[-1].parents[0]])
        return commits

    def commit(
        self, files: Mapping[str, bytes], *, title: str = "a commit by a test", author: str = "somebody"
    ) -> Commit:
        """Put a commit with these files on `main`."""
        blobs = {path: Blob(data, stored_by_lfs(path, len(data), data[:512])) for path, data in files.items()}
        return self.change(blobs, title, "", author)

    def change(
        self, changes: Changes, title: str, message: str, author: str, revision: str = "main", parent: str | None = None
    ) -> Commit:
        """Put a commit on a branch, all of it or none: the branch must be at `parent`, if one is given."""
        with self._lock:
            name = self.ref(revision)
            if name is None or name.startswith("refs/tags/"):
                raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
            head = self._commits[self._refs[name]]
            if parent is not None and not head.oid.startswith(parent):
                raise Refused(412, "A commit has happened since. Please refresh and try again.")
            commit = self._make((head.oid,), _applied(head.files, changes), title, message, author)
            self._refs[name] = commit.oid
        return commit

    def _make(
        self, parents: tuple[str, ...], files: Mapping[str, Blob], title: str, message: str, author: str
    ) -> Commit:
        date = START + timedelta(seconds=next(self._ticks))
        content = repr(
            (parents, sorted((path, blob.oid) for path, blob in files.items()), title, message, author, date)
        )
        oid = hashlib.sha1(content.encode(), usedforsecurity=False).hexdigest()
        commit = Commit(oid, parents, MappingProxyType(dict(files)), title, message, author, date)
        self.objects.update({blob.sha256: blob.data for blob in files.values() if blob.lfs})
        self._commits[oid] = commit
        return commit

    def tag(self, name: str, revision: str) -> None:
        """Make a tag."""
        with self._lock:
            if f"refs/tags/{name}" in self._refs:
                raise Refused(409, f"Reference already exists: refs/tags/{name}")
            self._refs[f"refs/tags/{name}"] = self.at(revision).oid

    def propose(self, changes: Changes, title: str, message: str, author: str, parent: str) -> PullRequest:
        """Open a pull request."""
        with self._lock:
            base = self.at(parent)
            commit = self._make((base.oid,), _applied(base.files, changes), title, message, author)
            pull = PullRequest(len(self.discussions) + 1, title, message, author, commit.date, base.oid)
            self._refs[f"refs/pr/{pull.number}"] = commit.oid
            self.discussions.append(pull)
        return pull

    def discussion(self, number: int) -> PullRequest:
        """The pull request of that number."""
        if not 1 <= number <= len(self.discussions):
            raise Refused(404, f"No discussion {number} in {self.name}")
        return self.discussions[number - 1]

    def merge(self, number: int, author: str) -> Commit:
        """Bring a pull request's changes to `main`; refused if `main` has changed one of the same files since."""
        with self._lock:
            pull = self.discussion(number)
            base, theirs, head = self._commits[pull.base].files, self.at(f"refs/pr/{number}"), self.at()
            changes = {p: theirs.files.get(p) for p in {*base, *theirs.files} if theirs.files.get(p) != base.get(p)}
            if any(head.files.get(path) not in (base.get(path), blob) for path, blob in changes.items()):
                raise Refused(409, f"Pull request {number} conflicts with main")
            commit = self._make((head.oid, theirs.oid), _applied(head.files, changes), pull.title, pull.message, author)
            self._refs[MAIN] = commit.oid
            pull.status, pull.merged_as = "merged", commit.oid
        return commit


def _applied(files: Mapping[str, Blob], changes: Changes) -> dict[str, Blob]:
    for path, blob in changes.items():
        parts = path.split("/")
        if any(part in {"", ".", "..", ".git"} for part in parts) or "\0" in path or "\\" in path:
            raise Refused(400, f"Invalid path in repo: {path!r}", "BadRequest")
        if blob is None and path not in files:
            raise Refused(404, f"A file with this name doesn't exist: {path}", "EntryNotFound")
        if any("/".join(parts[:i]) in files for i in range(1, len(parts))):
            raise Refused(400, f"{path!r} would be in a folder that is a file", "BadRequest")
    merged = {**files, **changes}
    return {path: blob for path, blob in merged.items() if blob is not None}
