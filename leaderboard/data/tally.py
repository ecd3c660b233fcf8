"""Counts the votes of a store while the application serves."""

import logging
import threading
from collections.abc import Mapping
from contextlib import suppress

from divbench.core.errors import InputError
from leaderboard.data.live_results import LiveResults
from leaderboard.data.vote_results import VoteResults, vote_results
from submissions.judgements.vote_store import VoteReader, VoteSpool
from submissions.judgements.votes import Vote
from submissions.untrusted.plain_text import one_line

_LOG = logging.getLogger("divbench.votes")


class Tally:
    """All votes, and the results of those in the store.

    Args:
        live: Results of the systems that are judged.
    """

    def __init__(self, live: LiveResults, spool: VoteSpool) -> None:
        self._live, self._reader = live, VoteReader(spool.store)
        self._lock = threading.Lock()
        self._fresh: list[Vote] = spool.waiting()
        self._stored: tuple[Vote, ...] = ()
        self._counted: object = None  # what the results below were computed from
        self.results: tuple[VoteResults, ...] = ()
        self.refresh()

    def votes(self) -> list[Vote]:
        """All votes: those in the store when it was last read, and those accepted since then."""
        with self._lock:
            return [*self._stored, *self._fresh]

    def add(self, votes: tuple[Vote, ...]) -> None:
        """Remember accepted votes until the store contains them."""
        with self._lock:
            self._fresh.extend(votes)

    def log_odds(self, suite: str) -> Mapping[str, float]:
        """Strengths of a suite's systems; empty before the first vote."""
        return next((found.log_odds() for found in self.results if found.suite == suite), {})

    def refresh(self) -> None:
        """Read the store; recount if it has new votes or the board has new results. Errors are logged, not raised."""
        try:
            found = self._reader.read()
            with self._lock:
                stored = {vote.vote_id for vote in found.votes}
                self._stored = found.votes
                self._fresh = [vote for vote in self._fresh if vote.vote_id not in stored]
            boards = self._live.snapshot().boards
            state = found.votes, boards
            if self._counted != state:
                opened = {}
                for board in boards if found.votes else ():
                    with suppress(InputError):  # its files are gone, which other pages report
                        opened[board.name] = board, self._live.scores(board)
                self.results = tuple(vote_results(found.votes, opened))
                self._counted = state
        except Exception as error:  # visitors can vote even if their votes cannot be counted
            _LOG.warning("votes cannot be counted: %s", one_line(str(error)))
