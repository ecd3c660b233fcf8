"""Reads the board's results from a folder of results, or from the store of the submission service."""

import json
import shutil
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from benchmark.metrics.metric import Missing
from benchmark.scoring.results import MAX_RESULT_BYTES, PER_PROMPT_FILE, RESULT_FILE, Result
from benchmark.service.failures import public_text
from datasets_build.download import home
from divbench.core.console import progress
from divbench.core.errors import ConfigurationError, InputError
from divbench.core.files import atomic_file, canonical_json, content_id
from leaderboard.data.board import Board, make_boards
from leaderboard.data.result_checks import checked_result, fetch_result
from submissions.storage.file_store import FileStore, LocalDiskFault, StoreFault, disk_faults
from submissions.untrusted.plain_text import one_line
from submissions.work_queue.queue_files import read_listing, result_paths
from submissions.work_queue.schema import MAX_STATE_BYTES, Damaged, Listing, State

THREADS = 8  # the Hub is slow per request but serves many in parallel
STATE_FILE = "state.json"

Found = dict[str, Result | Missing]  # results by id


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The content of a source when it was last read completely."""

    boards: tuple[Board, ...]  # boards, the one with the most systems first
    unreadable: Mapping[Path, Missing]  # folders of damaged results, each with the reason
    queue: Listing | None  # submissions and their states; None if the source has no queue
    as_of: datetime
    fault: str | None = None  # reason why the source could not be read since then; None if it could

    @property
    def warnings(self) -> list[str]:
        """Warnings about the state of the data, without local folders; they contain untrusted names."""
        left_out = [(folder.name, missing.reason) for folder, missing in self.unreadable.items()]
        left_out += [(item.path, item.reason) for item in (self.queue.damaged if self.queue else ())]
        lines = [one_line(f"{name}: not shown, {reason}") for name, reason in left_out]
        if self.fault is not None:
            since = self.as_of.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
            fault = one_line(self.fault)
            lines.insert(0, f"The results cannot be updated at the moment; this is their state at {since}. {fault}")
        return [public_text(line) for line in lines]

    def board(self, name: str | None) -> Board | None:
        """The board with a name; default: the first; None if there are no boards."""
        return next((board for board in self.boards if board.name == name), self.boards[0] if self.boards else None)


class Source(Protocol):
    """A source of results, perhaps with a queue of submissions."""

    address: str
    store: FileStore | None  # store for new submissions; None if there is none
    cache: Path  # folder for data of this source that can be rebuilt

    def read(self) -> Snapshot:
        """Read the current results and queue.

        Raises:
            DivBenchError: The source cannot be read.
        """
        ...


def cache_of(address: str) -> Path:
    """The cache folder of a source, in the package's home."""
    return home() / "board" / content_id(address)


class FolderSource:
    """The folder that `divbench score --out` writes; results that have not changed are not read again.

    Args:
        cache: Folder for score indexes; default: one in the package's home.
    """

    store: FileStore | None = None

    def __init__(self, folder: Path, cache: Path | None = None) -> None:
        self.address = str(folder)
        self.cache = cache or cache_of(str(folder.absolute()))
        self._folder = folder
        self._known: dict[Path, tuple[object, Result | Missing]] = {}
        self._last: tuple[dict[Path, Result | Missing], Snapshot] | None = None

    def read(self) -> Snapshot:
        """Read the results into boards."""
        if not self._folder.is_dir():
            raise ConfigurationError(
                f"there is no folder {self._folder}", "name the output folder of divbench score --out"
            )
        known: dict[Path, tuple[object, Result | Missing]] = {}
        for path in sorted(self._folder.iterdir()):
            if not path.is_dir() or path.name.startswith("."):  # hidden: an unfinished run
                continue
            files = [(file.name, file.stat()) for file in sorted(path.iterdir()) if file.is_file()]
            stamp = [(name, stat.st_mtime_ns, stat.st_size) for name, stat in files]
            last = self._known.get(path)
            known[path] = last if last is not None and last[0] == stamp else (stamp, checked_result(path))
        self._known = known
        found = {path: result for path, (_, result) in known.items()}
        if self._last is None or self._last[0] != found:
            self._last = found, _snapshot(found, None)
        return replace(self._last[1], as_of=datetime.now(UTC))


class StoreSource:
    """The results that a submission service has published, and its queue.

    A result is shown if a submission that was not withdrawn names it. Results are cached, so that the board can start
    while the store is unreachable. A damaged result is retried after the store's next commit; a result that could not
    be fetched is retried at every read.

    Args:
        cache: Folder for results and score indexes; default: one in the package's home.
        results: Store of the results, if they are in another store.
    """

    store: FileStore | None

    def __init__(self, store: FileStore, cache: Path | None = None, results: FileStore | None = None) -> None:
        self.address = store.address
        self.store = store
        self.cache = cache or cache_of(store.address)
        self._queue = store
        self._results = store if results is None or results.address == store.address else results
        self._known: dict[str, tuple[bytes, Result]] = {}  # results by id, with the bytes they were parsed from
        self._commits = ("", "")  # of the queue and of the results, at the last read
        self._last: Snapshot | None = None  # snapshot at those commits; None if something must be retried
        self._former: Snapshot | None = None  # cached by an earlier process

    def read(self) -> Snapshot:
        """Read the queue and its results; if the store is unreachable at the first read, use the cached state."""
        if self._last is None and self._former is None and not self._known:
            self._former = self._kept()
        try:
            snapshot = self._read()
        except StoreFault as fault:
            if self._former is None:
                raise
            return replace(self._former, fault=" ".join(str(fault).split()))
        self._former = None
        return replace(snapshot, as_of=datetime.now(UTC))

    def _read(self) -> Snapshot:
        commit = _head(self._queue, self._commits[0])
        commits = commit, commit if self._results is self._queue else _head(self._results, self._commits[1])
        if self._last is not None and self._commits == commits and all(map(self._is_cached, self._known)):
            return self._last
        self._fetch_states(commit)
        listing = read_listing(self._queue, commit)
        with disk_faults(self.cache, LocalDiskFault):
            found, settled = self._synchronise(commits[1], _wanted(listing))
        snapshot = _snapshot({self._folder(name): each for name, each in found.items()}, listing)
        self._commits, self._last = commits, snapshot if settled else None
        self._keep(listing, snapshot.unreadable)
        return snapshot

    def _folder(self, result_id: str) -> Path:
        return self.cache / "results" / result_id

    def _is_cached(self, result_id: str) -> bool:
        """Whether a result's table is still there, as others may clean the cache."""
        return (self._folder(result_id) / PER_PROMPT_FILE).is_file()

    def _fetch_states(self, commit: str) -> None:
        """Fetch the states in parallel into the store's cache, because the listing reads them one by one."""
        paths = self._queue.paths(commit, "states")

        def fetch(path: str) -> None:
            with suppress(InputError):  # the listing reports it
                self._queue.read(commit, path, MAX_STATE_BYTES)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(fetch, paths))

    def _synchronise(
        self, commit: str, wanted: Mapping[str, frozenset[str]]
    ) -> tuple[dict[str, Result | Missing], bool]:
        """Update the cache to a commit.

        Returns:
            The results, and whether none of them needs a retry before the next commit.
        """
        there = set(self._results.paths(commit, "results"))
        settled = True

        def load(item: tuple[str, frozenset[str]]) -> tuple[str, Result | Missing]:
            nonlocal settled
            try:
                return item[0], self._load(commit, *item, there)
            except LocalDiskFault:
                raise
            except StoreFault as fault:
                self._results.head()  # raises if the store as a whole is unreachable, not only this result
                settled = False
                return item[0], Missing(" ".join(str(fault).split()))

        (self.cache / "results").mkdir(parents=True, exist_ok=True)
        with progress() as bar, ThreadPoolExecutor(THREADS) as pool:
            found = dict(bar.track(pool.map(load, wanted.items()), len(wanted), description="results"))
        self._forget(wanted)
        return found, settled

    def _load(self, commit: str, result_id: str, submissions: frozenset[str], there: set[str]) -> Result | Missing:
        """Load a result from memory, from the cache or from the store."""
        folder = self._folder(result_id)
        for file in (RESULT_FILE, PER_PROMPT_FILE):
            if f"results/{result_id}/{file}" not in there:
                return Missing(f"its {file} is missing in the store: tell the operator of the service")
        try:
            text = self._results.read(commit, f"results/{result_id}/{RESULT_FILE}", MAX_RESULT_BYTES)
        except InputError as error:
            return Missing(str(error))
        known = self._known.get(result_id)
        if (
            known is not None
            and known[0] == text
            and known[1].submission_id in submissions
            and self._is_cached(result_id)
        ):
            return known[1]
        found: Result | Missing = Missing("")
        with suppress(OSError):
            if (folder / RESULT_FILE).read_bytes() == text:
                found = checked_result(folder, submissions)
        if isinstance(found, Missing):
            try:
                found = fetch_result(self._results, commit, result_id, text, folder, submissions)
            except InputError as error:
                return Missing(str(error))
        if isinstance(found, Result):
            self._known[result_id] = text, found
        return found

    def _forget(self, wanted: Iterable[str]) -> None:
        """Delete results that are no longer wanted: the texts of withdrawn submissions must not be kept."""
        keep = set(wanted)
        self._known = {name: known for name, known in self._known.items() if name in keep}
        for folder in (self.cache / "results").iterdir():
            if folder.name not in keep and not folder.name.startswith("."):
                shutil.rmtree(folder, ignore_errors=True)

    def _keep(self, listing: Listing, unreadable: Mapping[Path, Missing]) -> None:
        """Save the queue and the damaged results, so that the board can start without the store."""
        known = {
            "as_of": datetime.now(UTC).isoformat(),
            "commits": self._commits,
            "states": [state.model_dump(mode="json") for state in listing.states],
            "damaged": [[each.path, each.reason] for each in listing.damaged],
            "unreadable": {folder.name: missing.reason for folder, missing in unreadable.items()},
        }
        with suppress(OSError), atomic_file(self.cache / STATE_FILE) as path:  # a full disk must not stop the board
            path.write_bytes(canonical_json(known))

    def _kept(self) -> Snapshot | None:
        """The snapshot that an earlier process cached; None if there is none."""
        try:
            known = json.loads((self.cache / STATE_FILE).read_bytes())
            states = tuple(State.model_validate_json(json.dumps(state)) for state in known["states"])
            damaged = tuple(Damaged(str(path), str(reason)) for path, reason in known["damaged"])
            self._commits = str(known["commits"][0]), str(known["commits"][1])
            listing = Listing(self._commits[0], states, damaged)
            reasons = {str(name): str(reason) for name, reason in known["unreadable"].items()}
            as_of = datetime.fromisoformat(known["as_of"])
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None
        found: dict[Path, Result | Missing] = {}
        for name, submissions in _wanted(listing).items():
            folder = self._folder(name)
            found[folder] = Missing(reasons[name]) if name in reasons else checked_result(folder, submissions)
        return replace(_snapshot(found, listing), as_of=as_of)


def _head(store: FileStore, before: str) -> str:
    """The head of a store. If a store that had a commit is empty, its folder or disk is gone."""
    commit = store.head()
    if before and not commit:
        raise StoreFault(f"{store.address} is gone or empty", "check the folder and its disk")
    return commit


def _wanted(listing: Listing) -> dict[str, frozenset[str]]:
    """The ids of the results to show, each with the submissions that name it; a result belongs to only one of them."""
    found: dict[str, set[str]] = {}
    for state in listing.states:
        for path in result_paths(state):
            found.setdefault(path.split("/")[1], set()).add(state.submission_id)
    return {name: frozenset(found[name]) for name in sorted(found)}


def _snapshot(found: Mapping[Path, Result | Missing], queue: Listing | None) -> Snapshot:
    good = [(path, result) for path, result in found.items() if not isinstance(result, Missing)]
    bad = {path: result for path, result in found.items() if isinstance(result, Missing)}
    published = {name: place for state in (queue.states if queue else ()) for place, name in enumerate(state.results)}
    return Snapshot(tuple(make_boards(good, published=published)), bad, queue, datetime.now(UTC))
