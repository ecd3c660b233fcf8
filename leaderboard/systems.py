"""How the systems of a board are told apart: a label for people, an id for addresses."""

from collections import Counter
from collections.abc import Sequence

from leaderboard.board import Board, entry_labels

DEFAULT_LINES = 8  # that can still be told apart in one figure


def system_labels(board: Board) -> tuple[str, ...]:
    """A label for each entry; no two have the same, whatever the systems call themselves."""
    labels = entry_labels(board)
    counted = Counter(labels)
    return tuple(
        label if counted[label] == 1 else f"{label} ({entry.result.result_id[:12]})"
        for label, entry in zip(labels, board.entries, strict=True)
    )


def system_ids(board: Board) -> tuple[str, ...]:
    """What each entry is called in addresses: its submission's id, or its result's where a submission stands twice."""
    counted = Counter(entry.result.submission_id for entry in board.entries)
    return tuple(
        entry.result.submission_id if counted[entry.result.submission_id] == 1 else entry.result.result_id
        for entry in board.entries
    )


def places_of(board: Board, ids: Sequence[str]) -> tuple[int, ...]:
    """The places on the board of systems by their ids, in the order of the ids; what is not there is left out."""
    places = {name: place for place, name in enumerate(system_ids(board))}
    return tuple(places[name] for name in dict.fromkeys(ids) if name in places)


def first_systems(board: Board, count: int = DEFAULT_LINES) -> tuple[int, ...]:
    """Places of some systems to show where there is no room for all: people first, known-bad baselines last."""
    order = {"human": 0, "baseline": 2}
    places = range(len(board.entries))
    ordered = sorted(places, key=lambda place: order.get(board.entries[place].result.manifest.system.type, 1))
    return tuple(sorted(ordered[:count]))
