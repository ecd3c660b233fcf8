"""By what the systems of a suite can be measured: judged values first, then our estimate, then words alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.scoring.reported import JUDGES, NEWEST, judged_version
from leaderboard.data.board import Board, Column

ESTIMATED, WORDS = "estimated offline", "words"


@dataclass(frozen=True, slots=True)
class Measurement:
    """A way of measuring the systems of a suite: a column of one board."""

    label: str  # such as `judged by NoveltyBench 1.1`
    board: Board
    column: Column


def is_best(board: Board) -> bool:
    """Whether a board has the best evidence: all of NoveltyBench's responses, by its newest judges."""
    return judged_version(board.profile) == NEWEST and board.k == 10


def measured_by(boards: Sequence[Board], suite: str, k: int) -> tuple[Measurement, ...]:
    """The ways of measuring the systems of a suite at k responses, the best evidence first.

    Of several boards of one kind (other revisions or profiles), the first counts; boards are in the order of a
    snapshot.
    """
    newest, *older = ((f"judged by NoveltyBench {version}", version, "valid_distinct_k_reported") for version in JUDGES)
    estimates = (ESTIMATED, None, "valid_distinct_k"), (WORDS, None, "distinct_n")
    measurements: dict[str, Measurement] = {}
    for label, version, metric in (newest, estimates[0], *older, estimates[1]):
        for board in boards:
            if (board.suite, board.k, judged_version(board.profile)) == (suite, k, version):
                column = next((column for column in board.columns if column.metric == metric), None)
                if column is not None:
                    measurements.setdefault(label, Measurement(label, board, column))
    return tuple(measurements.values())
