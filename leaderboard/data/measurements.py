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
    here = [board for board in boards if (board.suite, board.k) == (suite, k)]
    judged = {judged_version(board.profile): board for board in reversed(here)}
    computed = [board for board in here if judged_version(board.profile) is None]
    newest, *older = JUDGES
    found = [
        _measurement(f"judged by NoveltyBench {newest}", judged.get(newest), "valid_distinct_k_reported"),
        *(_measurement(ESTIMATED, board, "valid_distinct_k") for board in computed),
        *(
            _measurement(f"judged by NoveltyBench {version}", judged.get(version), "valid_distinct_k_reported")
            for version in older
        ),
        *(_measurement(WORDS, board, "distinct_n") for board in computed),
    ]
    choices: dict[str, Measurement] = {}
    for measurement in found:
        if measurement is not None:
            choices.setdefault(measurement.label, measurement)
    return tuple(choices.values())


def _measurement(label: str, board: Board | None, metric: str) -> Measurement | None:
    """The measurement by a metric; None if the board has no such column."""
    if board is None:
        return None
    column = next((column for column in board.columns if column.metric == metric), None)
    return None if column is None else Measurement(label, board, column)
