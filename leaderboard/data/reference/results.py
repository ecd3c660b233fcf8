"""The reference results that ship with the package, on their own or together with another source's results."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from benchmark.metrics.metric import Missing
from benchmark.scoring.reported import judged_version
from benchmark.scoring.results import Result
from leaderboard.data.board import Board, make_boards
from leaderboard.data.measurements import is_best
from leaderboard.data.reference.systems import ABOUT_FILE, FOLDER
from leaderboard.data.sources import Snapshot, Source, checked_result, make_snapshot
from submissions.storage.file_store import FileStore


@dataclass(frozen=True, slots=True)
class ReferenceResults:
    """The results in a folder of reference results."""

    scored_on: str  # date of scoring, as YYYY-MM-DD
    results: Mapping[Path, Result]  # results by folder
    unreadable: Mapping[Path, Missing]  # folders of damaged results, each with the reason


@lru_cache(maxsize=2)
def reference_results(folder: Path = FOLDER) -> ReferenceResults:
    """Read the reference results in a folder; it may have none."""
    if not (folder / ABOUT_FILE).is_file():
        return ReferenceResults("", {}, {})
    scored_on = str(json.loads((folder / ABOUT_FILE).read_bytes())["scored_on"])
    paths = [path for path in sorted(folder.iterdir()) if path.is_dir() and path.name[0] != "."]
    results = {path: checked_result(path) for path in paths}
    return ReferenceResults(
        scored_on,
        {path: result for path, result in results.items() if not isinstance(result, Missing)},
        {path: result for path, result in results.items() if isinstance(result, Missing)},
    )


class WithReference:
    """A source with the reference results added, or these alone; a result that is in both is shown once."""

    store: FileStore | None

    def __init__(self, source: Source | None = None, folder: Path = FOLDER) -> None:
        self.store = None if source is None else source.store
        self._source, self._folder = source, folder
        self._last: tuple[tuple[Board, ...], tuple[Board, ...]] | None = None  # the source's boards, and merged

    def read(self) -> Snapshot:
        """Read the source, and merge the reference results into its boards."""
        snapshot = make_snapshot({}) if self._source is None else self._source.read()
        reference = reference_results(self._folder)
        if self._last is None or self._last[0] is not snapshot.boards:
            self._last = snapshot.boards, _merged(snapshot.boards, reference)
        return replace(snapshot, boards=self._last[1], unreadable={**snapshot.unreadable, **reference.unreadable})


def _merged(boards: tuple[Board, ...], reference: ReferenceResults) -> tuple[Board, ...]:
    """The source's boards with the reference results among them.

    Boards with results of the source come first, then the best evidence: NoveltyBench's newest judgements.
    """
    entries = [entry for board in boards for entry in board.entries]
    known = {name for entry in entries for name in entry.results}
    added = [(folder, result) for folder, result in reference.results.items() if result.result_id not in known]

    def origin(result: Result) -> str:
        version = judged_version(result.profile)
        if version is not None:
            return f"judged by NoveltyBench {version}, as released"
        return f"scored by DivBench on {reference.scored_on} from released responses"

    merged = make_boards(
        [*((entry.folder, entry.result) for entry in entries), *added],
        {folder: origin(result) for folder, result in added},
        older={entry.folder: entry.older for entry in entries},
    )
    return tuple(sorted(merged, key=lambda board: (all(entry.origin for entry in board.entries), not is_best(board))))
