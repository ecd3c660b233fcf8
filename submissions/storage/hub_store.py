"""Calls to the Hub: their timeout, and the errors that they raise."""

import hashlib
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from datasets_build.download import home
from divbench.core.errors import ConfigurationError, DivBenchError, InputError, first_line
from divbench.core.files import atomic_file
from divbench.core.hub_retries import cause_of, connection_error, is_transient, retrying
from submissions.storage import file_store

SILENCE = 60.0  # timeout in seconds of a connection without traffic


class Damaged(Exception):
    """A download does not match the repository's listing."""


def limit_silence() -> None:
    """Set a timeout for the Hub client if it has none; otherwise it would wait for ever on a dead connection.

    The client has one session per process. A timeout that somebody has set is left unchanged.
    """
    from huggingface_hub import get_session
    from huggingface_hub.utils import httpx  # httpx or httpx2, whichever it uses

    session = get_session()
    if session.timeout == httpx.Timeout(None):
        session.timeout = httpx.Timeout(SILENCE)


@contextmanager
def hub_faults(address: str) -> Iterator[None]:
    """Convert an error of the client or of the connection into a `StoreFault` with a hint."""
    try:
        yield
    except Exception as error:
        fault = _fault_of(cause_of(error), address)
        if fault is None:
            raise
        raise fault from error


def _fault_of(error: BaseException, address: str) -> DivBenchError | None:
    """Return the fault for an error of the Hub or of the connection; None for other errors."""
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

    kind = file_store.StoreFault
    if isinstance(error, RepositoryNotFoundError):
        what, hint = "cannot be seen", "check its name, or log in: hf auth login"
    elif isinstance(error, RevisionNotFoundError):
        what, hint = "has no such commit", "start again from the latest commit"
    elif isinstance(error, HfHubHTTPError) and error.response.status_code in {401, 403}:
        reading = error.response.request.method in {"GET", "HEAD"}
        kind = file_store.StoreFault if reading else file_store.NoWriteAccess
        what, right = ("may not be read", "read") if reading else ("may not be changed", "write")
        hint = f"use a token with {right} access: hf auth login"
    elif isinstance(error, HfHubHTTPError):
        what = "is refused by the Hub"
        hint = "retry in a few minutes" if is_transient(error) else "check the repository's page"
    elif isinstance(error, Damaged):
        return file_store.DamagedFile(str(error), "its download does not match the repository")
    elif isinstance(error, OSError | ValueError | connection_error()):  # ValueError: a reply that is not JSON
        what, hint = "is out of reach", "check the network connection, then whether the store's head changed"
    else:
        return None
    return kind(f"{address} {what}: {first_line(error)}", hint)


T = TypeVar("T")


def asked(address: str, call: Callable[[], T]) -> T:
    """Return the result of a read-only call, retried after transient failures; errors name the address."""

    def attempt() -> T:
        limit_silence()  # each time, because the client makes a new session after a failed connection
        return call()

    with hub_faults(address):
        return retrying(Damaged)(attempt)


if TYPE_CHECKING:
    from huggingface_hub import CommitInfo, CommitOperationAdd, CommitOperationDelete, HfApi
    from huggingface_hub.hf_api import RepoFile, RepoFolder

    Operation = CommitOperationAdd | CommitOperationDelete


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file as listed by the Hub."""

    digest: str  # SHA-256 of a file in LFS; git's blob hash otherwise
    size: int

    def hasher(self) -> Any:
        """Return a new hash object for the digest."""
        if len(self.digest) == 64:
            return hashlib.sha256()
        return hashlib.sha1(b"blob %d\0" % self.size, usedforsecurity=False)

    def fits(self, content: bytes | Path) -> bool:
        """Whether a content, given as bytes or as a file, is this one."""
        if (len(content) if isinstance(content, bytes) else content.stat().st_size) != self.size:
            return False
        with BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
            return hashlib.file_digest(file, self.hasher).hexdigest() == self.digest


def hub_file(entry: "RepoFile") -> HubFile:
    """Convert an entry of a listing."""
    if entry.lfs is not None:
        return HubFile(entry.lfs.sha256, entry.lfs.size)
    return HubFile(entry.blob_id, entry.size)


def download(address: str, token: str | None, file: HubFile, target: Path) -> None:
    """Download a file atomically, and verify its size and hash."""
    from huggingface_hub import get_session, hf_raise_for_status
    from huggingface_hub.utils import build_hf_headers

    headers = {**build_hf_headers(token=token), "Accept-Encoding": "identity"}
    with get_session().stream("GET", address, headers=headers, timeout=SILENCE) as reply:
        hf_raise_for_status(reply)
        with file_store.disk_faults(target, file_store.LocalDiskFault), atomic_file(target) as temporary:
            hasher, size = file.hasher(), 0
            with temporary.open("wb") as written:
                for piece in reply.iter_bytes(file_store.PIECE_BYTES):
                    size += len(piece)
                    if size > file.size:
                        break
                    hasher.update(piece)
                    written.write(piece)
            if size != file.size or hasher.hexdigest() != file.digest:
                raise Damaged(address)


COMMITS_KEPT = 8  # listings in memory
COMMITS_SEARCHED = 200  # for a mark; others may have committed after us

_REPO = re.compile(r"(?!.*(--|\.\.))(?!.*\.git$)[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9]([\w.-]{0,94}\w)?", re.ASCII)


class HubStore:
    """A store in a Hub dataset repository, or in a folder of one. See `FileStore`.

    Files whose paths are invalid in a store, such as `.gitattributes` and `README.md`, are ignored. A new repository
    already has a commit. The parents of commits are unknown.
    """

    def __init__(
        self,
        repo: str,
        *,
        prefix: str = "",
        token: str | None = None,
        endpoint: str | None = None,
        cache: Path | None = None,
    ) -> None:
        """Make a store object without calling the Hub."""
        if not _REPO.fullmatch(repo) or (prefix and not file_store.is_path(prefix)):
            name = f"{repo}/{prefix}" if prefix else repo
            raise ConfigurationError(f"{name[:100]!r} is not the name of a dataset repository", "give ORG/NAME")
        self.repo = repo
        self.cache = cache or home() / "hub-store"
        self._prefix = f"{prefix}/" if prefix else ""
        self.address = f"hf://datasets/{repo}/{self._prefix}".rstrip("/")
        self._token = token
        self._endpoint = endpoint
        self._known: dict[str, dict[str, HubFile]] = {}  # listed files by commit and path

    def head(self) -> str:
        """As `FileStore.head`."""
        return self._asked(lambda: str(self._api.dataset_info(self.repo, expand=["sha"]).sha))

    def paths(self, commit: str, under: str = "") -> list[str]:
        """As `FileStore.paths`."""
        from huggingface_hub.errors import EntryNotFoundError
        from huggingface_hub.hf_api import RepoFile

        folder = (self._prefix + (file_store.checked_path(under) if under else "")).rstrip("/") or None
        if not commit:
            return []
        revision = file_store.checked_commit(commit, self.address)

        def listed() -> list["RepoFile | RepoFolder"]:
            tree = self._api.list_repo_tree(self.repo, folder, repo_type="dataset", recursive=True, revision=revision)
            try:
                return list(tree)
            except EntryNotFoundError:
                return []

        start = len(self._prefix)
        files = {one.path[start:]: hub_file(one) for one in self._asked(listed) if isinstance(one, RepoFile)}
        entries = {path: entry for path, entry in files.items() if file_store.is_path(path)}
        self._remember(commit, entries)
        return sorted(entries)

    def read(self, commit: str, path: str, limit: int) -> bytes:
        """As `FileStore.read`."""
        content = self._content(commit, path, limit)
        with file_store.disk_faults(content, file_store.LocalDiskFault):
            return content.read_bytes()

    def fetch(self, commit: str, path: str, target: Path, limit: int) -> None:
        """As `FileStore.fetch`."""
        content = self._content(commit, path, limit)
        with file_store.disk_faults(target, file_store.LocalDiskFault), atomic_file(target) as temporary:
            shutil.copyfile(content, temporary)

    def commit(self, parent: str, add: Mapping[str, bytes | Path], remove: Iterable[str], message: str) -> str:
        """As `FileStore.commit`.

        If the connection breaks at the last attempt and the Hub cannot be reached to check, a StoreFault is raised
        although the commit may have been made.
        """
        removed = frozenset(remove)
        file_store.checked_change(add, removed, message)
        if self.head() != parent:
            raise file_store.Conflict
        operations = self._operations(parent, add, removed)
        if not operations:
            return parent
        mark = _new_mark()

        def send() -> str | None:
            from huggingface_hub.errors import HfHubHTTPError

            try:
                info = self._create(operations, message, mark, parent)
            except HfHubHTTPError as error:
                if error.response.status_code != 412:
                    raise
                return self._marked("main", mark, parent)
            return self._marked(info.oid, mark, parent)

        return self._sent(send, lambda: self._marked("main", mark, parent))

    def as_pull_request(self, add: Mapping[str, bytes | Path], message: str) -> str:
        """Propose files as a pull request, for users without write access, and return its address."""
        file_store.checked_change(add, (), message)
        parent = self.head()
        operations = self._operations(parent, add, frozenset())
        if not operations:
            raise InputError(f"{self.address} already has these files")
        mark = _new_mark()

        def send() -> str | None:
            return self._create(operations, message, mark, parent, as_pull_request=True).pr_url

        return self._sent(send, lambda: self._proposed(message, mark))

    def proposed(self, number: int) -> tuple[str, dict[str, bool]]:
        """Return the last commit of a pull request, and the paths that it changes: whether the file is new.

        Paths are those of the store, and of the whole repository outside it.
        """
        head, main = f"refs%2Fpr%2F{number}", {str(one["id"]) for one in self._asked(lambda: [*self._commits("main")])}
        commits = [str(one["id"]) for one in self._asked(lambda: [*self._commits(head)])]
        base = next((commit for commit in commits if commit in main), None)
        if base is None:
            raise file_store.StoreFault(f"{self.address} has no commit before pull request {number}", "open it again")
        before, after = self._tree(base), self._tree(commits[0])
        changed = [path for path in {*before, *after} if before.get(path) != after.get(path)]
        names = {path: path.removeprefix(self._prefix) for path in sorted(changed)}
        return commits[0], {names[path]: path not in before for path in names}

    def _tree(self, revision: str) -> dict[str, HubFile]:
        """Return all files of a revision of the repository."""
        from huggingface_hub.hf_api import RepoFile

        tree = self._asked(
            lambda: [*self._api.list_repo_tree(self.repo, repo_type="dataset", recursive=True, revision=revision)]
        )
        return {one.path: hub_file(one) for one in tree if isinstance(one, RepoFile)}

    @cached_property
    def _api(self) -> "HfApi":
        from huggingface_hub import HfApi

        return HfApi(endpoint=self._endpoint, token=self._token)

    def _create(
        self, operations: Iterable["Operation"], message: str, mark: str, parent: str, *, as_pull_request: bool = False
    ) -> "CommitInfo":
        return self._api.create_commit(
            self.repo,
            operations,
            commit_message=message,
            commit_description=mark,
            repo_type="dataset",
            parent_commit=parent,
            create_pr=as_pull_request,
        )

    def _asked(self, call: Callable[[], T]) -> T:
        return asked(self.address, call)

    def _sent(self, send: Callable[[], str | None], look: Callable[[], str | None]) -> str:
        """Send a change that must not be made twice; before each retry, check whether an earlier attempt succeeded."""
        attempts = 0

        def attempt() -> str:
            nonlocal attempts
            attempts += 1
            limit_silence()
            result = (look() if attempts > 1 else None) or send()
            if result is None:
                raise file_store.Conflict
            return result

        with hub_faults(self.address):
            try:
                return retrying()(attempt)
            except Exception as error:
                if is_transient(error) and (result := look()):
                    return result
                raise

    def _commits(self, revision: str) -> Iterator[dict[str, Any]]:
        """Yield the commits up to a revision, the latest first; pages are requested lazily."""
        from huggingface_hub.utils import build_hf_headers, paginate

        address = f"{self._api.endpoint}/api/datasets/{self.repo}/commits/{revision}"
        yield from paginate(address, params={}, headers=build_hf_headers(token=self._token))

    def _marked(self, revision: str, mark: str, parent: str) -> str | None:
        """Find the commit with a mark between its parent and a revision."""
        for commit in islice(self._commits(revision), COMMITS_SEARCHED):
            if mark in str(commit["message"]):
                return str(commit["id"])
            if commit["id"] == parent:
                break
        return None

    def _proposed(self, title: str, mark: str) -> str | None:
        """Find the open pull request with a mark."""
        about = {"repo_id": self.repo, "repo_type": "dataset"}
        for one in self._api.get_repo_discussions(**about, discussion_type="pull_request", discussion_status="open"):
            if one.title == title:
                details = self._api.get_discussion_details(**about, discussion_num=one.num)
                if any(mark in str(getattr(event, "content", "")) for event in details.events):
                    return one.url
        return None

    def _operations(self, parent: str, add: Mapping[str, bytes | Path], removed: frozenset[str]) -> list["Operation"]:
        """Return the operations that make a change to a commit, without those that change nothing."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        parents = {folder for path in add for folder in file_store.folders_of(path)}
        existing = self._looked_up(parent, sorted({*add, *removed, *parents})) if add or removed else {}
        files = {path for path, entry in existing.items() if entry is not None}
        emptied = {folder for path in removed for folder in file_store.folders_of(path)}  # perhaps: the Hub knows
        file_store.check_fit(files, existing.keys() - files - emptied, add, removed)
        operations: list[Operation] = []
        for path, content in sorted(add.items()):
            if isinstance(content, Path) and not content.is_file():
                raise InputError(f"{path}: there is no file {content}")
            with file_store.disk_faults(self.cache, file_store.LocalDiskFault):
                entry = existing.get(path)
                if entry is None or not entry.fits(content):
                    data = content if isinstance(content, bytes) else str(content)
                    operations.append(CommitOperationAdd(self._prefix + path, data))
        return operations + [CommitOperationDelete(self._prefix + path) for path in sorted(removed)]

    def _looked_up(self, commit: str, paths: Sequence[str]) -> dict[str, HubFile | None]:
        """Look up paths in a commit: files by path, folders as None; missing paths are left out."""
        from huggingface_hub.hf_api import RepoFile

        revision, start = file_store.checked_commit(commit, self.address), len(self._prefix)
        names = [self._prefix + path for path in paths]
        reply = self._asked(lambda: self._api.get_paths_info(self.repo, names, repo_type="dataset", revision=revision))
        found = {one.path[start:]: hub_file(one) if isinstance(one, RepoFile) else None for one in reply}
        self._remember(commit, {path: entry for path, entry in found.items() if entry is not None})
        return found

    def _remember(self, commit: str, files: Mapping[str, HubFile]) -> None:
        known = {**self._known.get(commit, {}), **files}
        others = [one for one in self._known.items() if one[0] != commit]
        self._known = {**dict(others[1 - COMMITS_KEPT :]), commit: known}  # replaced at once, for other threads

    def _content(self, commit: str, path: str, limit: int) -> Path:
        """Return the cached copy of a file, downloaded if it is missing or damaged."""
        entry = self._known.get(commit, {}).get(file_store.checked_path(path))
        if entry is None and commit:
            entry = self._looked_up(commit, [path]).get(path)
        if entry is None:
            raise file_store.no_file(path, commit, self.address)
        if entry.size > limit:
            raise file_store.too_large(path, entry.size, limit)
        kept = self.cache / entry.digest[:2] / entry.digest
        with file_store.disk_faults(kept, file_store.LocalDiskFault):
            kept.parent.mkdir(parents=True, exist_ok=True)
            if kept.is_file() and entry.fits(kept):
                return kept
        address = f"{self._api.endpoint}/datasets/{self.repo}/resolve/{commit}/{self._prefix}{path}"
        self._asked(lambda: download(address, self._token, entry, kept))
        return kept


def _new_mark() -> str:
    return f"divbench commit {uuid.uuid4().hex}"
