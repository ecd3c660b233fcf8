"""Repositories in memory, kept the way git keeps them: commits that never change, and names for them.

A commit is made whole and then named by one assignment, so a reader sees all of it or nothing of it.
"""

import itertools
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Literal

from tests.hub.objects import (
    ATTRIBUTES,
    Blob,
    Commit,
    Drop,
    Put,
    Refused,
    applied,
    folder_oids,
    git_oid,
    stored_by_lfs,
)

Kind = Literal["model", "dataset", "space"]

MAIN = "refs/heads/main"
START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """A time that goes one second further with every reading, so that the same steps give the same commits."""

    def __init__(self) -> None:
        self._ticks = itertools.count()

    def now(self) -> datetime:
        """The next second."""
        return START + timedelta(seconds=next(self._ticks))


@dataclass
class Discussion:
    """A discussion of a repository; a pull request is one that has a branch `refs/pr/<number>`."""

    number: int
    title: str
    message: str
    author: str
    date: datetime
    base: str  # the commit that the pull request started from, "" if it is no pull request
    status: Literal["open", "draft", "merged"] = "open"
    merged_as: str | None = None


class Repo:
    """One repository. Every method may be called by many threads at once."""

    def __init__(self, kind: Kind, name: str, author: str, clock: Clock, private: bool = False) -> None:
        self.kind = kind
        self.name = name
        self.private = private
        self.created = clock.now()
        self._clock = clock
        self._lock = threading.RLock()
        self._refs: dict[str, str] = {}
        self._commits: dict[str, Commit] = {}
        self._objects: dict[str, bytes] = {}  # the LFS store: sha256 -> content
        self._discussions: list[Discussion] = []
        first = self._made((), {".gitattributes": Blob(ATTRIBUTES)}, "initial commit", "", author)
        self._refs[MAIN] = first.oid

    @property
    def namespace(self) -> str:
        """The user or organisation it belongs to."""
        return self.name.partition("/")[0]

    @property
    def head(self) -> str:
        """The id of the commit that `main` names."""
        return self.at().oid

    @property
    def refs(self) -> dict[str, str]:
        """All names of commits, in full, and what they name."""
        with self._lock:
            return dict(self._refs)

    @property
    def tags(self) -> dict[str, str]:
        """The tags and what they name."""
        return self._named("refs/tags/")

    @property
    def branches(self) -> dict[str, str]:
        """The branches and what they name."""
        return self._named("refs/heads/")

    @property
    def pulls(self) -> dict[str, str]:
        """The pull requests' numbers and what their branches name."""
        return self._named("refs/pr/")

    @property
    def discussions(self) -> list[Discussion]:
        """The discussions, pull requests among them, in the order of their numbers."""
        with self._lock:
            return list(self._discussions)

    def _named(self, start: str) -> dict[str, str]:
        return {name.removeprefix(start): oid for name, oid in self.refs.items() if name.startswith(start)}

    def ref(self, revision: str) -> str | None:
        """The full name of the branch, tag or pull request that `revision` stands for; None if it is none of these."""
        with self._lock:
            for name in (revision, f"refs/heads/{revision}", f"refs/tags/{revision}"):
                if name in self._refs:
                    return name
        return None

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
            found = [self.at(revision)]
            while found[-1].parents:
                found.append(self._commits[found[-1].parents[0]])
        return found

    def last_changes(self, revision: str) -> dict[str, Commit]:
        """For every file and folder at a revision, the newest commit that changed it."""
        history = self.history(revision)
        here = _oids(history[0])
        found: dict[str, Commit] = {}
        for commit, older in zip(history, [*map(_oids, history[1:]), {}], strict=True):
            found.update({path: commit for path, oid in here.items() if path not in found and older.get(path) != oid})
        return found

    def blob(self, path: str, data: bytes, revision: str = "main") -> Blob:
        """A file's content, in the LFS store if the Hub would put it there."""
        attributes = self.at(revision).files.get(".gitattributes", Blob(b"")).data
        return Blob(data, stored_by_lfs(path, len(data), data[:512], attributes))

    def commit(
        self,
        files: Mapping[str, bytes] | Sequence[Put | Drop],
        *,
        title: str = "a commit by a test",
        message: str = "",
        author: str = "somebody",
        revision: str = "main",
        parent: str | None = None,
    ) -> Commit:
        """Put a commit on a branch, all of it or none: the branch must be at `parent`, if one is given.

        Args:
            files: Files to write, or changes in their order.
            title: First line of the message.
            message: The rest of it.
            author: Name of a user.
            revision: The branch.
            parent: Id of a commit, or the start of one.

        Raises:
            Refused: 412 if the branch is not at `parent`, 404 if there is no such branch or file to remove.
        """
        changes = [Put(k, self.blob(k, v)) for k, v in files.items()] if isinstance(files, Mapping) else files
        with self._lock:
            name = self.ref(revision)
            if name is None or name.startswith("refs/tags/"):
                raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
            head = self._commits[self._refs[name]]
            if parent is not None and not head.oid.startswith(parent):
                raise Refused(412, "A commit has happened since. Please refresh and try again.")
            made = self._made((head.oid,), applied(head.files, changes), title, message, author)
            self._refs[name] = made.oid
        return made

    def _made(
        self, parents: tuple[str, ...], files: Mapping[str, Blob], title: str, message: str, author: str
    ) -> Commit:
        date = self._clock.now()
        folders = folder_oids(files)
        who = f"{author} <{author}@localhost> {int(date.timestamp())} +0000"
        lines = [f"tree {folders['']}", *(f"parent {one}" for one in parents), f"author {who}", f"committer {who}", ""]
        oid = git_oid("commit", "\n".join([*lines, title, "", message]).encode())
        made = Commit(oid, parents, MappingProxyType(dict(files)), folders, title, message, author, date)
        self._objects.update({blob.sha256: blob.data for blob in files.values() if blob.lfs})
        self._commits[oid] = made
        return made

    def add_ref(self, folder: Literal["heads", "tags"], name: str, revision: str) -> None:
        """Make a branch or a tag.

        Raises:
            Refused: 409 if there is one of that name.
        """
        if not re.fullmatch(r"[\w][\w.+-]*(/[\w][\w.+-]*)*", name) or name.endswith(".lock") or ".." in name:
            raise Refused(400, f"Invalid name of a reference: {name!r}", "BadRequest")
        with self._lock:
            full = f"refs/{folder}/{name}"
            if full in self._refs:
                raise Refused(409, f"Reference already exists: {full}")
            self._refs[full] = self.at(revision).oid

    def put_object(self, sha256: str, data: bytes) -> None:
        """Put content in the LFS store, where it is no part of any commit yet."""
        with self._lock:
            self._objects[sha256] = data

    def object(self, sha256: str) -> bytes | None:
        """What the LFS store holds under an id."""
        with self._lock:
            return self._objects.get(sha256)

    def discuss(
        self,
        title: str,
        message: str,
        author: str,
        *,
        pull: bool,
        parent: str = "main",
        changes: Sequence[Put | Drop] | None = None,
    ) -> Discussion:
        """Open a discussion or a pull request, which is a draft as long as it has no commit of its own."""
        with self._lock:
            number = len(self._discussions) + 1
            base = self.at(parent)
            made = Discussion(number, title, message, author, self._clock.now(), base.oid if pull else "")
            if pull:
                first = base
                if changes is None:
                    made.status = "draft"
                else:  # may be refused: nothing is kept before this
                    first = self._made((base.oid,), applied(base.files, changes), title, message, author)
                self._refs[f"refs/pr/{number}"] = first.oid
            self._discussions.append(made)
        return made

    def discussion(self, number: int) -> Discussion:
        """The discussion or pull request of that number."""
        with self._lock:
            if not 1 <= number <= len(self._discussions):
                raise Refused(404, f"No discussion {number} in {self.name}")
            return self._discussions[number - 1]

    def merge(self, number: int, author: str) -> Commit:
        """Bring a pull request's changes to `main`.

        Raises:
            Refused: 409 if `main` has changed one of the same files since, or the pull request is merged already.
        """
        with self._lock:
            pull = self.discussion(number)
            if not pull.base or pull.status == "merged":
                raise Refused(409, f"{self.name} discussion {number} is not a pull request that can be merged")
            base, theirs, head = self._commits[pull.base].files, self.at(f"refs/pr/{number}"), self.at()
            merged = dict(head.files)
            for path in sorted({*base, *theirs.files}):
                was, wanted, now = base.get(path), theirs.files.get(path), head.files.get(path)
                if wanted == was:
                    continue
                if now not in (was, wanted):
                    raise Refused(409, f"Pull request {number} conflicts with main in {path}")
                if wanted is None:
                    merged.pop(path, None)
                else:
                    merged[path] = wanted
            made = self._made((head.oid, theirs.oid), merged, f"{pull.title} (#{number})", pull.message, author)
            self._refs[MAIN] = made.oid
            pull.status, pull.merged_as = "merged", made.oid
        return made


def _oids(commit: Commit) -> dict[str, str]:
    return {**commit.folders, **{path: blob.oid for path, blob in commit.files.items()}}


@dataclass
class Store:
    """All repositories of one server."""

    clock: Clock = field(default_factory=Clock)
    _repos: dict[tuple[Kind, str], Repo] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def create(self, kind: Kind, name: str, author: str, private: bool) -> Repo:
        """Make a repository with its first commit.

        Raises:
            Refused: 409 if there is one of that name.
        """
        with self._lock:
            if (kind, name) in self._repos:
                raise Refused(409, f"You already created this {kind} repo: {name}")
            return self._repos.setdefault((kind, name), Repo(kind, name, author, self.clock, private))

    def find(self, kind: Kind, name: str) -> Repo | None:
        """The repository of that name."""
        with self._lock:
            return self._repos.get((kind, name))
