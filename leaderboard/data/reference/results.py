"""The reference results that ship with the package, on their own or together with another source's results."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from benchmark.metrics.metric import Missing
from benchmark.scoring.results import Result
from leaderboard.data.board import Board, make_boards
from leaderboard.data.result_checks import checked_result
from leaderboard.data.sources import Snapshot, Source, cache_of
from submissions.storage.file_store import FileStore

FOLDER = Path(__file__).parents[2] / "measured" / "reference"
ABOUT_FILE = "about.json"


@dataclass(frozen=True, slots=True)
class ReferenceResults:
    """The results in a folder of reference results."""

    scored_on: str  # date of scoring, as YYYY-MM-DD
    results: Mapping[Path, Result]  # results by folder
    unreadable: Mapping[Path, Missing]  # folders of damaged results, each with the reason

    @property
    def origin(self) -> str:
        """The note on the origin of these results, shown with each of their rows."""
        return f"scored by DivBench on {self.scored_on} from released responses"


@lru_cache(maxsize=2)
def reference_results(folder: Path = FOLDER) -> ReferenceResults:
    """Read and check the reference results in a folder; it may have none."""
    if not (folder / ABOUT_FILE).is_file():
        return ReferenceResults("", {}, {})
    scored_on = str(json.loads((folder / ABOUT_FILE).read_bytes())["scored_on"])
    found = {path: checked_result(path) for path in sorted(folder.iterdir()) if path.is_dir() and path.name[0] != "."}
    return ReferenceResults(
        scored_on,
        {path: each for path, each in found.items() if not isinstance(each, Missing)},
        {path: each for path, each in found.items() if isinstance(each, Missing)},
    )


class WithReference:
    """A source with the reference results added; a result that is in both is shown once.

    Args:
        source: Source of results; None: only the reference results.
        folder: Folder of the reference results.
    """

    store: FileStore | None

    def __init__(self, source: Source | None = None, folder: Path = FOLDER) -> None:
        self.address = "reference results" if source is None else source.address
        self.store = None if source is None else source.store
        self.cache = cache_of(f"reference/{folder}") if source is None else source.cache
        self._source, self._folder = source, folder
        self._last: tuple[tuple[Board, ...], tuple[Board, ...]] | None = None  # the source's boards, and merged

    def read(self) -> Snapshot:
        """Read the source, and merge the reference results into its boards."""
        own = Snapshot((), {}, None, datetime.now(UTC)) if self._source is None else self._source.read()
        reference = reference_results(self._folder)
        if self._last is None or self._last[0] is not own.boards:
            self._last = own.boards, _merged(own.boards, reference)
        return replace(own, boards=self._last[1], unreadable={**own.unreadable, **reference.unreadable})


def _merged(boards: tuple[Board, ...], reference: ReferenceResults) -> tuple[Board, ...]:
    """The source's boards with the reference results among them; boards with results of the source come first."""
    own = [entry for board in boards for entry in board.entries]
    known = {name for entry in own for name in entry.results}
    more = [(folder, result) for folder, result in reference.results.items() if result.result_id not in known]
    made = make_boards(
        [*((entry.folder, entry.result) for entry in own), *more],
        {folder: reference.origin for folder, _ in more},
        older={entry.folder: entry.older for entry in own},
    )
    return tuple(sorted(made, key=lambda board: all(entry.origin for entry in board.entries)))
