"""Reads the board's results from a folder of results, or from the store of the submission service."""

import shutil
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.metrics.metric import Missing
from benchmark.scoring.results import MAX_RESULT_BYTES, PER_PROMPT_FILE, RESULT_FILE, Result, read_result
from benchmark.service.failures import public_text
from datasets_build.download import home
from divbench.core.console import progress
from divbench.core.errors import ConfigurationError, InputError, first_line
from divbench.core.files import atomic_folder, content_id
from leaderboard.data.board import Board, make_boards
from submissions.storage.file_store import DamagedFile, FileStore, LocalDiskFault, StoreFault, disk_faults
from submissions.untrusted.findings import MAX_FILE_BYTES
from submissions.untrusted.plain_text import one_line
from submissions.work_queue.queue_files import read_listing
from submissions.work_queue.schema import MAX_STATE_BYTES, Listing
from submissions.work_queue.signatures import result_digest

THREADS = 8  # the Hub is slow per request but serves many in parallel


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


def make_snapshot(results: Mapping[Path, Result | Missing], queue: Listing | None = None) -> Snapshot:
    """Group the results that could be read into boards, as of now."""
    good = [(path, result) for path, result in results.items() if not isinstance(result, Missing)]
    bad = {path: result for path, result in results.items() if isinstance(result, Missing)}
    order = {name: i for state in (queue.states if queue else ()) for i, name in enumerate(state.results)}
    return Snapshot(tuple(make_boards(good, published=order)), bad, queue, datetime.now(UTC))


class Source(Protocol):
    """A source of results, perhaps with a queue of submissions."""

    store: FileStore | None  # store for new submissions; None if there is none

    def read(self) -> Snapshot:
        """Read the current results and queue; raise a DivBenchError if the source cannot be read."""
        ...


def checked_result(folder: Path) -> Result | Missing:
    """Read the result in a folder; return `Missing` with the reason if it is damaged or does not fit its table."""
    result = read_result(folder)
    if isinstance(result, Missing):
        return result
    try:
        table = pq.read_metadata(folder / PER_PROMPT_FILE)
    except (OSError, pa.ArrowException) as error:
        return Missing(f"{PER_PROMPT_FILE}: {first_line(error)[:200]}")
    columns = {table.schema.column(i).path.partition(".")[0] for i in range(table.num_columns)}
    lacking = {"prompt_id", "category", "missing", *(score.metric for score in result.scores)} - columns
    if lacking:
        return Missing(f"{PER_PROMPT_FILE} has no column {min(lacking)}: score the submission again")
    if table.num_rows != result.prompts:
        rows, prompts = f"{table.num_rows:,} rows", f"{result.prompts:,} prompts"
        return Missing(f"{PER_PROMPT_FILE} has {rows}, but {RESULT_FILE} counts {prompts}")
    return result


class FolderSource:
    """The folder that `divbench score --out` writes; results that have not changed are not read again."""

    store: FileStore | None = None

    def __init__(self, folder: Path) -> None:
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
        results = {path: result for path, (_, result) in known.items()}
        if self._last is None or self._last[0] != results:
            self._last = results, make_snapshot(results)
        return replace(self._last[1], as_of=datetime.now(UTC))


class StoreSource:
    """The results that a submission service has published, and its queue.

    A result is shown if a submission that was not withdrawn names it, with the digest in its state. Fetched results
    are cached. A damaged result is retried after the store's next commit; a result that could not be fetched is retried
    at every read.
    """

    store: FileStore | None

    def __init__(self, store: FileStore, cache: Path | None = None, results: FileStore | None = None) -> None:
        """Read the queue in `store`, and the results there or in another store."""
        self.store = store
        self._folder = (cache or home() / "board" / content_id(store.address)) / "results"
        self._queue = store
        self._results = store if results is None or results.address == store.address else results
        self._known: dict[str, tuple[bytes, Result]] = {}  # results by id, with the bytes they were parsed from
        self._commits = ("", "")  # of the queue and of the results, at the last read
        self._last: Snapshot | None = None  # snapshot at those commits; None if something must be retried

    def read(self) -> Snapshot:
        """Read the queue and its results."""
        commit = _head(self._queue, self._commits[0])
        commits = commit, commit if self._results is self._queue else _head(self._results, self._commits[1])
        if self._last is None or self._commits != commits or not all(map(self._is_cached, self._known)):
            self._fetch_states(commit)
            listing = read_listing(self._queue, commit)
            with disk_faults(self._folder, LocalDiskFault):
                results, settled = self._synchronise(commits[1], _wanted(listing))
            snapshot = make_snapshot({self._folder / name: result for name, result in results.items()}, listing)
            self._commits, self._last = commits, snapshot if settled else None
            return snapshot
        return replace(self._last, as_of=datetime.now(UTC))

    def _is_cached(self, result_id: str) -> bool:
        """Whether a result's table is still there, as others may clean the cache."""
        return (self._folder / result_id / PER_PROMPT_FILE).is_file()

    def _fetch_states(self, commit: str) -> None:
        """Fetch the states in parallel into the store's cache, because the listing reads them one by one."""

        def fetch(path: str) -> None:
            with suppress(InputError):  # the listing reports it
                self._queue.read(commit, path, MAX_STATE_BYTES)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(fetch, self._queue.paths(commit, "states")))

    def _synchronise(
        self, commit: str, wanted: Mapping[str, Mapping[str, str | None]]
    ) -> tuple[dict[str, Result | Missing], bool]:
        """Update the cache to a commit; return the results, and whether none needs a retry before the next commit."""
        published = set(self._results.paths(commit, "results"))
        settled = True

        def load(item: tuple[str, Mapping[str, str | None]]) -> tuple[str, Result | Missing]:
            nonlocal settled
            try:
                return item[0], self._load(commit, *item, published)
            except LocalDiskFault:
                raise
            except (StoreFault, DamagedFile) as fault:
                self._results.head()  # raises if the store as a whole is unreachable, not only this result
                settled = False
                return item[0], Missing(" ".join(str(fault).split()))

        self._folder.mkdir(parents=True, exist_ok=True)
        with progress() as bar, ThreadPoolExecutor(THREADS) as pool:
            results = dict(bar.track(pool.map(load, wanted.items()), len(wanted), description="results"))
        self._forget(wanted)
        return results, settled

    def _load(
        self, commit: str, result_id: str, digests: Mapping[str, str | None], published: set[str]
    ) -> Result | Missing:
        """Load a result from memory, from the cache or from the store."""
        for file in (RESULT_FILE, PER_PROMPT_FILE):
            if f"results/{result_id}/{file}" not in published:
                return Missing(f"its {file} is missing in the store: tell the operator of the service")
        try:
            text = self._results.read(commit, f"results/{result_id}/{RESULT_FILE}", MAX_RESULT_BYTES)
            known = self._known.get(result_id)
            if known is not None and known[0] == text and self._is_cached(result_id):
                result: Result | Missing = known[1]
            else:
                result = self._cached_or_fetched(commit, result_id, text)
        except DamagedFile:  # which may be restored without a commit
            raise
        except InputError as error:
            return Missing(str(error))
        if isinstance(result, Missing):
            return result
        if result.result_id != result_id or result.submission_id not in digests:
            name = f"{result.result_id} of the submission {result.submission_id}"
            return Missing(f"it is the result {name}: tell the operator of the service")
        if digests[result.submission_id] not in (None, result_digest(text)):
            return Missing("it is not what the service computed: tell its operator to run submissions rescore")
        self._known[result_id] = text, result
        return result

    def _cached_or_fetched(self, commit: str, result_id: str, text: bytes) -> Result | Missing:
        folder = self._folder / result_id
        with suppress(OSError):
            result = checked_result(folder) if (folder / RESULT_FILE).read_bytes() == text else Missing("")
            if not isinstance(result, Missing):
                return result
        with disk_faults(folder, LocalDiskFault), atomic_folder(folder, replace=True) as target:
            (target / RESULT_FILE).write_bytes(text)
            path = f"results/{result_id}/{PER_PROMPT_FILE}"
            self._results.fetch(commit, path, target / PER_PROMPT_FILE, MAX_FILE_BYTES)
        return checked_result(folder)

    def _forget(self, wanted: Iterable[str]) -> None:
        """Delete results that are no longer wanted: the texts of withdrawn submissions must not be kept."""
        keep = set(wanted)
        self._known = {name: known for name, known in self._known.items() if name in keep}
        for folder in self._folder.iterdir():
            if folder.name not in keep and not folder.name.startswith("."):
                shutil.rmtree(folder, ignore_errors=True)


def _head(store: FileStore, before: str) -> str:
    """The head of a store. If a store that had a commit is empty, its folder or disk is gone."""
    commit = store.head()
    if before and not commit:
        raise StoreFault(f"{store.address} is gone or empty", "check the folder and its disk")
    return commit


def _wanted(listing: Listing) -> dict[str, dict[str, str | None]]:
    """The ids of the results to show, each with its digest according to the submissions that name it.

    A result belongs to one of them. States of earlier versions have no digests.
    """
    wanted: dict[str, dict[str, str | None]] = {}
    for state in listing.states:
        for result_id in state.results if state.current.state != "withdrawn" else ():
            wanted.setdefault(result_id, {})[state.submission_id] = state.digests.get(result_id)
    return dict(sorted(wanted.items()))
