"""Where the board's results come from: a folder of results, or the store of the submission service."""

import json
import shutil
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from benchmark.scoring.result_files import MAX_RESULT_BYTES, PER_PROMPT_FILE, RESULT_FILE, Unreadable
from benchmark.scoring.result_schema import Result
from datasets_build.console import progress
from datasets_build.download import home
from datasets_build.errors import ConfigurationError, InputError
from datasets_build.files import canonical_json, content_id, whole_file
from leaderboard.data.board import Board, make_boards
from leaderboard.data.result_checks import checked_result, fetch_result
from submissions.storage.commits import disk_faults
from submissions.storage.filestore import FileStore, OwnDiskFault, StoreFault
from submissions.work_queue.files import read_listing, result_paths
from submissions.work_queue.schema import MAX_STATE_BYTES, Damaged, Listing, State

THREADS = 8  # a Hub answers slowly, and to many at once
STATE_FILE = "state.json"

Found = dict[str, Result | Unreadable]  # results by id


@dataclass(frozen=True, slots=True)
class Look:
    """What a source has.

    Attributes:
        boards: The tables; the one with the most systems first.
        unreadable: Results that cannot be shown, and why.
        queue: Submissions and their states; None where the source has no queue.
        as_of: When that was so; None: now.
        fault: Why it cannot be read now; None where it can.
    """

    boards: tuple[Board, ...]
    unreadable: tuple[Unreadable, ...]
    queue: Listing | None
    as_of: datetime | None = None
    fault: str | None = None


class Source(Protocol):
    """Results, and perhaps a queue.

    Attributes:
        address: For people.
        store: Where submissions go; None where there is no such place.
        cache: A folder of this source's own, for what can be made again.
    """

    address: str
    store: FileStore | None
    cache: Path

    def look(self) -> Look:
        """All that there is now.

        Raises:
            DivBenchError: It cannot be read.
        """
        ...


def cache_of(address: str) -> Path:
    """The folder in the package's home for what can be made again of a source."""
    return home() / "board" / content_id(address)


class FolderSource:
    """The folder that `divbench score --out` writes. What was read and has not changed is not read again.

    Args:
        folder: With a folder for each result.
        cache: For indexes of scores; else one in the package's home.
    """

    store: FileStore | None = None

    def __init__(self, folder: Path, cache: Path | None = None) -> None:
        self.address = str(folder)
        self.cache = cache or cache_of(str(folder.absolute()))
        self._folder = folder
        self._known: dict[Path, tuple[object, Result | Unreadable]] = {}
        self._last: tuple[dict[Path, Result | Unreadable], Look] | None = None

    def look(self) -> Look:
        """The results as boards."""
        if not self._folder.is_dir():
            raise ConfigurationError(
                f"there is no folder {self._folder}", "name the one that divbench score --out wrote"
            )
        found = {
            path: self._result(path)
            for path in sorted(self._folder.iterdir())
            if path.is_dir() and not path.name.startswith(".")
        }
        self._known = {path: self._known[path] for path in found}
        if self._last is None or self._last[0] != found:
            self._last = found, _looked(found, None)
        return self._last[1]

    def _result(self, path: Path) -> Result | Unreadable:
        stamp = tuple(
            (file.name, file.stat().st_mtime_ns, file.stat().st_size)
            for file in sorted(path.iterdir())
            if file.is_file()
        )
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            known = self._known[path] = stamp, checked_result(path)
        return known[1]


class StoreSource:
    """The results that the submission service has published, and its queue.

    They are kept in the cache, so that a store that is out of reach at the start leaves what was known. Shown are those
    that a state names, unless it was withdrawn. One that is damaged is tried again when the store has another commit;
    one that could not be fetched, at each look.

    Args:
        store: Of submissions.
        cache: For results and indexes of scores; else one in the package's home.
        results: The store of results, where that is another.
    """

    store: FileStore | None

    def __init__(self, store: FileStore, cache: Path | None = None, results: FileStore | None = None) -> None:
        self.address = store.address
        self.store = store
        self.cache = cache or cache_of(store.address)
        self._queue, self._results = store, results or store
        self._known: dict[str, tuple[bytes, Result]] = {}  # by id, with the text that it was read from
        self._commits = ("", "")  # of the queue and the results, as they were last read
        self._last: Look | None = None  # at those commits; None where something is to be tried again
        self._former: Look | None = None  # of an earlier process

    def look(self) -> Look:
        """The queue and its results as boards; at the start what is kept of them, where the store is out of reach."""
        if self._last is None and self._former is None and not self._known:
            self._former = self._kept()
        try:
            look = self._look()
        except StoreFault as fault:
            if self._former is None:
                raise
            return replace(self._former, fault=" ".join(str(fault).split()))
        self._former = None
        return look

    def _look(self) -> Look:
        commit = _head(self._queue, self._commits[0])
        commits = commit, commit if self._results is self._queue else _head(self._results, self._commits[1])
        if self._last is not None and self._commits == commits:
            return self._last
        self._fetch_states(commit)
        listing = read_listing(self._queue, commit)
        with disk_faults(self.cache, OwnDiskFault):
            found, settled = self._synchronise(commits[1], _wanted(listing))
        look = _looked({self._folder(name): each for name, each in found.items()}, listing)
        self._commits, self._last = commits, look if settled else None
        self._keep(listing, look.unreadable)
        return look

    def _folder(self, result_id: str) -> Path:
        return self.cache / "results" / result_id

    def _fetch_states(self, commit: str) -> None:
        """Ask for the states several at a time: a Hub's store keeps them for the listing, which asks one by one."""
        paths = self._queue.paths(commit, "states")

        def fetch(path: str) -> None:
            with suppress(InputError):  # the listing says so
                self._queue.read(commit, path, MAX_STATE_BYTES)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(fetch, paths))

    def _synchronise(
        self, commit: str, wanted: Mapping[str, frozenset[str]]
    ) -> tuple[dict[str, Result | Unreadable], bool]:
        """Bring the cache to a commit.

        Args:
            commit: Of the results.
            wanted: Of each result to have, the submissions that name it.

        Returns:
            What each result is, and whether that is so until there is another commit.
        """
        there = set(self._results.paths(commit, "results"))
        settled = True

        def bring(item: tuple[str, frozenset[str]]) -> tuple[str, Result | Unreadable]:
            nonlocal settled
            try:
                return item[0], self._bring(commit, *item, there)
            except OwnDiskFault:
                raise
            except StoreFault as fault:
                self._results.head()  # raises where it is not this result but all of the store that cannot be read
                settled = False
                return item[0], Unreadable(self._folder(item[0]), " ".join(str(fault).split()))

        (self.cache / "results").mkdir(parents=True, exist_ok=True)
        with progress() as bar, ThreadPoolExecutor(THREADS) as pool:
            found = dict(bar.track(pool.map(bring, wanted.items()), len(wanted), description="results"))
        self._forget(wanted)
        return found, settled

    def _bring(self, commit: str, result_id: str, of: frozenset[str], there: set[str]) -> Result | Unreadable:
        """A result: the one that is known, the one in the cache, or the one that is fetched."""
        folder = self._folder(result_id)
        for file in (RESULT_FILE, PER_PROMPT_FILE):
            if f"results/{result_id}/{file}" not in there:
                return Unreadable(folder, f"the store lacks its {file}: ask who runs the service")
        try:
            text = self._results.read(commit, f"results/{result_id}/{RESULT_FILE}", MAX_RESULT_BYTES)
        except InputError as error:
            return Unreadable(folder, str(error))
        known = self._known.get(result_id)
        if known is not None and known[0] == text and known[1].submission_id in of and folder.is_dir():
            return known[1]
        found: Result | Unreadable = Unreadable(folder, "")
        with suppress(OSError):
            if (folder / RESULT_FILE).read_bytes() == text:
                found = checked_result(folder, of)
        if isinstance(found, Unreadable):
            try:
                found = fetch_result(self._results, commit, result_id, text, folder, of)
            except InputError as error:
                return Unreadable(folder, str(error))
        if isinstance(found, Result):
            self._known[result_id] = text, found
        return found

    def _forget(self, wanted: Iterable[str]) -> None:
        """Drop what is not wanted any more: the texts of who withdrew must not stay."""
        keep = set(wanted)
        self._known = {name: known for name, known in self._known.items() if name in keep}
        for folder in (self.cache / "results").iterdir():
            if folder.name not in keep and not folder.name.startswith("."):
                shutil.rmtree(folder, ignore_errors=True)

    def _keep(self, listing: Listing, unreadable: Iterable[Unreadable]) -> None:
        """Write down what is in the queue and what is damaged, for a start without the store."""
        known = {
            "as_of": datetime.now(UTC).isoformat(),
            "commits": self._commits,
            "states": [state.model_dump(mode="json") for state in listing.states],
            "damaged": [[each.path, each.reason] for each in listing.damaged],
            "unreadable": {each.folder.name: each.reason for each in unreadable},
        }
        with suppress(OSError), whole_file(self.cache / STATE_FILE) as path:  # to serve goes before to keep
            path.write_bytes(canonical_json(known))

    def _kept(self) -> Look | None:
        """What was known when the store was last read; None where nothing was."""
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
        found: dict[Path, Result | Unreadable] = {}
        for name, of in _wanted(listing).items():
            folder = self._folder(name)
            found[folder] = Unreadable(folder, reasons[name]) if name in reasons else checked_result(folder, of)
        return replace(_looked(found, listing), as_of=as_of)


def _head(store: FileStore, before: str) -> str:
    """The head of a store; one that was there before is never gone again, whatever a missing folder looks like."""
    commit = store.head()
    if before and not commit:
        raise StoreFault(f"{store.address} is gone, or empty", "look at the folder and its disk")
    return commit


def _wanted(listing: Listing) -> dict[str, frozenset[str]]:
    """The results to show, each with the submissions that name it; it is of one of them alone."""
    found: dict[str, set[str]] = {}
    for state in listing.states:
        for path in result_paths(state):
            found.setdefault(path.split("/")[1], set()).add(state.submission_id)
    return {name: frozenset(found[name]) for name in sorted(found)}


def _looked(found: Mapping[Path, Result | Unreadable], queue: Listing | None) -> Look:
    good = [(path, result) for path, result in found.items() if not isinstance(result, Unreadable)]
    bad = [result for result in found.values() if isinstance(result, Unreadable)]
    return Look(tuple(make_boards(good)), tuple(bad), queue)
