"""Keeps the results that pages show up to date while the application serves."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from divbench.core.errors import DivBenchError, InputError
from leaderboard.data.board import Board, ranking_column
from leaderboard.data.metric_study.study import Studies, load_studies
from leaderboard.data.scores import BoardScores
from leaderboard.data.sources import Snapshot, Source
from submissions.judgements.vote_store import VoteSpool
from submissions.untrusted.plain_text import one_line

REFRESH_SECONDS = 60.0
_BOARDS = 12  # maximum number of boards with per-prompt scores in memory
_LOG = logging.getLogger("divbench.board")


class LiveResults:
    """The latest snapshot of a source, reread in the background.

    If the source cannot be reread, the last snapshot is kept, with the fault.
    """

    def __init__(
        self,
        source: Source,
        *,
        study: Path | None = None,
        refresh: float | None = REFRESH_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        votes: VoteSpool | None = None,
    ) -> None:
        """Read the source; a snapshot older than `refresh` seconds is reread when it is asked for (None: never)."""
        self.source = source
        self._study = study  # folder of a metric study; None: the one that comes with the package
        self.votes = votes  # spool for visitors' votes; None: voting is off
        self._refresh, self._clock = refresh, clock
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._scores: dict[str, tuple[tuple[str, ...], BoardScores]] = {}  # with the digests of the results' tables
        self._snapshot = self._read()
        self._read_at = clock()

    def snapshot(self) -> Snapshot:
        """The latest snapshot; does not wait for the source."""
        if self._refresh is not None and self._clock() - self._read_at >= self._refresh:
            self._read_at = self._clock()
            with suppress(RuntimeError):  # this machine has no more threads; a later request tries again
                threading.Thread(target=self._reread, daemon=True).start()
        return self._snapshot

    def reload(self) -> Snapshot:
        """Reread the source now, for example after a submission; a fault is stored in the snapshot, not raised."""
        with self._lock:
            self._take()
        return self._snapshot

    @cached_property
    def studies(self) -> Studies:
        """The studies of metrics; read once, because they do not change while the application serves."""
        return load_studies(self._study)

    def scores(self, board: Board) -> BoardScores:
        """The per-prompt scores of a board."""
        digests = tuple(entry.result.per_prompt_sha256 for entry in board.entries)
        with self._opening:
            known, scores = self._scores.pop(board.name, ((), None))
            if scores is None or known != digests:
                scores = BoardScores(board)
            self._scores[board.name] = digests, scores  # moved to the end: the least recently used is evicted first
            while len(self._scores) > _BOARDS:
                del self._scores[next(iter(self._scores))]
        return scores

    def _reread(self) -> None:
        if self._lock.acquire(blocking=False):  # otherwise another thread is reading
            try:
                self._take()
            finally:
                self._lock.release()

    def _take(self) -> None:
        before = self._snapshot
        try:
            self._snapshot = self._read()
        except (DivBenchError, OSError) as error:
            self._snapshot = replace(before, fault=" ".join(str(error).split()))
        if self._snapshot.fault not in (None, before.fault):  # whole for the operator; pages leave out local folders
            _LOG.warning("the results cannot be updated: %s", one_line(self._snapshot.fault))
        self._read_at = self._clock()

    def _prepare(self, board: Board) -> None:
        """Compute the scores and the default ranks before the board is shown, since many results are slow."""
        scores, column = self.scores(board), ranking_column(board)
        if column is not None:
            scores.standings(column)

    def _read(self) -> Snapshot:
        snapshot = self.source.read()
        for board in snapshot.boards[:_BOARDS]:
            with suppress(InputError):  # the page that shows the board reports it
                self._prepare(board)
        return snapshot
