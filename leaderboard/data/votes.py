"""Analyses visitors' votes: strengths of systems, and agreement of a board's metrics with voters; counts them live."""

import logging
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from benchmark.analysis.votes import Agreement, Ceiling, Strengths, ballots_of, ceiling, metric_agreement
from benchmark.analysis.votes import strengths as strengths_of
from divbench.core.errors import InputError
from leaderboard.data.board import Board, Entry, distinct_labels
from leaderboard.data.live_results import LiveResults
from leaderboard.data.scores import BoardScores
from submissions.judgements.vote_store import VoteReader, VoteSpool
from submissions.judgements.votes import QUESTIONS, Question, Vote
from submissions.untrusted.plain_text import one_line

_LOG = logging.getLogger("divbench.votes")


@dataclass(frozen=True, slots=True, eq=False)
class VoteResults:
    """Results of the votes on one suite."""

    suite: str
    board: Board | None  # board with the most of the judged results; None if no board has any
    pairs: int  # number of judged pairs, including checks
    voters: int  # number of visitors who judged them
    checks: int  # number of checks answered, and of those passed
    passed: int
    careless: int  # number of visitors whose votes do not count, because of failed checks
    strengths: Mapping[Question, Strengths]
    agreement: Mapping[Question, tuple[Agreement, ...]]
    ceiling: Mapping[Question, Ceiling]
    submissions: Mapping[str, str]  # submission id of each system; empty if no board has it

    def entry(self, system: str) -> Entry | None:
        """The board's row of a system; None if there is none."""
        entries = self.board.entries if self.board else ()
        return next((entry for entry in entries if entry.result.submission_id == self.submissions.get(system)), None)

    def log_odds(self) -> dict[str, float]:
        """Strength of each system, averaged over both questions."""
        values: dict[str, list[float]] = {}
        for strengths in self.strengths.values():
            for system in strengths.systems:
                values.setdefault(system.system, []).append(system.log_odds.value or 0.0)
        return {name: sum(odds) / len(odds) for name, odds in values.items()}


def vote_results(votes: Sequence[Vote], boards: Mapping[str, tuple[Board, BoardScores]]) -> list[VoteResults]:
    """Analyse votes by suite, the suite with the most votes first."""
    suites: dict[str, list[Vote]] = {}
    for vote in votes:
        suites.setdefault(vote.suite, []).append(vote)
    ordered = sorted(suites.items(), key=lambda item: (-len(item[1]), item[0]))
    return [_of_suite(suite, judged, boards) for suite, judged in ordered]


def _of_suite(suite: str, votes: Sequence[Vote], boards: Mapping[str, tuple[Board, BoardScores]]) -> VoteResults:
    submissions = {
        name: entry.result.submission_id
        for board, _ in boards.values()
        for entry in board.entries
        for name in entry.results
    }
    # Submissions of one name are kept apart, because anybody may submit under the name of another's system.
    named = {side for vote in votes for side in ((vote.left, vote.left_result), (vote.right, vote.right_result))}
    systems = sorted({(name, submissions.get(result, "")) for name, result in named})
    labels = distinct_labels([name for name, _ in systems], [submission or "gone" for _, submission in systems])
    label = dict(zip(systems, labels, strict=True))
    ballots = ballots_of(votes, lambda name, result: label[name, submissions.get(result, "")])
    results = {name for vote in votes for name in (vote.left_result, vote.right_result)}

    def shared(name: str) -> tuple[int, str]:
        entries = boards[name][0].entries
        return -sum(not results.isdisjoint(entry.results) for entry in entries), name

    names = [name for name, (board, _) in boards.items() if board.suite == suite and shared(name)[0]]
    board, scores = _scores(votes, *boards[min(names, key=shared)], submissions) if names else (None, {})
    by_result = ballots_of(votes, lambda _, result: result)
    return VoteResults(
        suite,
        board,
        len({vote.pair_id for vote in votes}),
        len(ballots.voters),
        int(ballots.checks.sum()),
        int(ballots.passed.sum()),
        int(ballots.careless.sum()),
        {question: strengths_of(ballots, question) for question in QUESTIONS},
        {question: tuple(metric_agreement(by_result, scores, question)) for question in QUESTIONS},
        {question: ceiling(ballots, question) for question in QUESTIONS},
        {label[system]: system[1] for system in systems},
    )


Scores = dict[str, dict[tuple[str, str, str], float]]


def _scores(
    votes: Sequence[Vote], board: Board, scores: BoardScores, submissions: Mapping[str, str]
) -> tuple[Board, Scores]:
    """The board, and by column the scores of the judged response sets by result; higher is more diverse.

    A result that is not on the board, such as one of another profile, has the scores of its submission there. Results
    that are on no board, such as those of a withdrawn submission, have none: another submission of the same name has
    other responses.
    """
    systems = {entry.result.submission_id: i for i, entry in enumerate(board.entries)}
    prompts = {prompt: i for i, prompt in enumerate(scores.prompts)}
    judged: dict[tuple[str, str], int] = {}
    for vote in votes:
        if vote.prompt_id not in prompts:
            continue
        for result in (vote.left_result, vote.right_result):
            system = systems.get(submissions.get(result, ""))
            if system is not None:
                judged[result, vote.prompt_id] = system
    rows = np.array([prompts[prompt] for _, prompt in judged], np.int64)
    columns = np.array([*judged.values()], np.int64)
    keys = [(result, board.suite, prompt) for result, prompt in judged]
    return board, {
        column.label: dict(zip(keys, (scores.matrix(column)[rows, columns] * column.direction).tolist(), strict=True))
        for column in board.columns
        if column.direction
    }


class Tally:
    """All votes, and the results of those in the store, counted while the application serves."""

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

    def remove(self, pair_id: str) -> None:
        """Forget the votes on a pair, which were deleted from the store."""
        with self._lock:
            self._fresh = [vote for vote in self._fresh if vote.pair_id != pair_id]
            self._stored = tuple(vote for vote in self._stored if vote.pair_id != pair_id)

    def log_odds(self, suite: str) -> Mapping[str, float]:
        """Strengths of a suite's systems; empty before the first vote."""
        return next((results.log_odds() for results in self.results if results.suite == suite), {})

    def refresh(self) -> None:
        """Read the store; recount if it has new votes or the board has new results. Errors are logged, not raised."""
        try:
            votes = self._reader.read().votes
            with self._lock:
                stored = {vote.vote_id for vote in votes}
                self._stored = votes
                self._fresh = [vote for vote in self._fresh if vote.vote_id not in stored]
            boards = self._live.snapshot().boards
            state = votes, boards
            if self._counted != state:
                opened = {}
                for board in boards if votes else ():
                    with suppress(InputError):  # its files are gone, which other pages report
                        opened[board.name] = board, self._live.scores(board)
                self.results = tuple(vote_results(votes, opened))
                self._counted = state
        except Exception as error:  # visitors can vote even if their votes cannot be counted
            _LOG.warning("votes cannot be counted: %s", one_line(str(error)))
