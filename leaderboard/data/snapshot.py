"""What the pages show at one moment, and the object that keeps it fresh while the application serves."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmark.scoring.result_files import Unreadable
from datasets_build.errors import DivBenchError, InputError
from leaderboard.data.board import Board, ranking_column
from leaderboard.data.scores import BoardScores
from leaderboard.data.sources import Source
from submissions.work_queue.schema import Listing

REFRESH_SECONDS = 60.0
_KEPT = 12  # boards whose per-prompt scores stay open


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What there was to show when the source was last read whole.

    Attributes:
        boards: The tables; the one with the most systems first.
        unreadable: Results that are damaged, and why.
        queue: Submissions and their states; None where the source has no queue.
        as_of: When the source was read.
        fault: Why it could not be read since; None where it could.
    """

    boards: tuple[Board, ...]
    unreadable: tuple[Unreadable, ...]
    queue: Listing | None
    as_of: datetime
    fault: str | None = None

    @property
    def trouble(self) -> list[str]:
        """What those who look must know of the state of what they see; strangers' names are in it."""
        lines = [f"{item.folder.name}: not shown, {item.reason}" for item in self.unreadable]
        lines += [f"{item.path}: not shown, {item.reason}" for item in (self.queue.damaged if self.queue else ())]
        if self.fault is not None:
            since = self.as_of.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
            lines.insert(0, f"The store cannot be read now; what you see is of {since}. {self.fault}")
        return lines

    def board(self, name: str | None) -> Board | None:
        """The board of a name; the first where there is none of that name; None where there are none at all."""
        return next((board for board in self.boards if board.name == name), self.boards[0] if self.boards else None)


class Site:
    """A source of results, read at the start and again while it serves.

    A source that cannot be read any more leaves what was shown before, with the fault beside it.

    Args:
        source: To read; its first reading may raise.
        study: The folder of a study of metrics, where there is one beside the one that ships here.
        refresh: Seconds after which a look at the site reads the source again, behind the visitor's back; None: never.
        clock: Seconds that only grow.

    Raises:
        DivBenchError: The source cannot be read at all.
    """

    def __init__(
        self,
        source: Source,
        *,
        study: Path | None = None,
        refresh: float | None = REFRESH_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source = source
        self.study = study
        self._refresh, self._clock = refresh, clock
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._scores: dict[tuple[str, ...], BoardScores] = {}
        self._snapshot = self._read()
        self._read_at = clock()

    def now(self) -> Snapshot:
        """What to show; never waits for the source."""
        due = self._refresh is not None and self._clock() - self._read_at >= self._refresh
        if due and self._lock.acquire(blocking=False):
            self._read_at = self._clock()
            threading.Thread(target=self._reread, daemon=True).start()
        return self._snapshot

    def read_again(self) -> Snapshot:
        """Read the source now, as after a submission; a fault is kept, not raised."""
        with self._lock:
            self._take()
        return self._snapshot

    def scores(self, board: Board) -> BoardScores:
        """The per-prompt scores of a board.

        Raises:
            InputError: The files of a result are not there any more.
        """
        key = (board.name, *(entry.result.per_prompt_sha256 for entry in board.entries))
        with self._opening:
            found = self._scores.pop(key, None) or BoardScores(board, self.source.cache)
            self._scores[key] = found  # the last used is the last to go
            while len(self._scores) > _KEPT:
                del self._scores[next(iter(self._scores))]
        return found

    def _reread(self) -> None:
        try:
            self._take()
        finally:
            self._lock.release()

    def _take(self) -> None:
        try:
            self._snapshot = self._read()
        except (DivBenchError, OSError) as error:
            self._snapshot = replace(self._snapshot, fault=" ".join(str(error).split()))
        self._read_at = self._clock()

    def _prepare(self, board: Board) -> None:
        """Do what takes a while of many results before they are shown: the index, and the ranks asked for first."""
        scores, column = self.scores(board), ranking_column(board)
        if column is not None:
            scores.standings(column)

    def _read(self) -> Snapshot:
        look = self.source.look()
        for board in look.boards[:_KEPT]:
            with suppress(InputError):  # the page that shows it says so
                self._prepare(board)
        return Snapshot(look.boards, look.unreadable, look.queue, look.as_of or datetime.now(UTC), look.fault)
