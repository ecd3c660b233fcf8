"""Labels and permalink ids of the systems of a board."""

from collections.abc import Sequence

from leaderboard.data.board import Board, distinct_labels

DEFAULT_LINES = 8  # lines that can be distinguished in one figure


def system_labels(board: Board) -> tuple[str, ...]:
    """A unique label for each entry: its name, followed by the start of its submission id if the name is not unique."""
    return distinct_labels([entry.result.manifest.name for entry in board.entries], system_ids(board))


def system_ids(board: Board) -> tuple[str, ...]:
    """The permalink id of each entry, which is its submission id."""
    return tuple(entry.result.submission_id for entry in board.entries)


def places_of(board: Board, ids: Sequence[str]) -> tuple[int, ...]:
    """The indices of the systems with these permalink ids, in the order of the ids; unknown ids are left out."""
    places = {name: place for place, name in enumerate(system_ids(board))}
    return tuple(places[name] for name in dict.fromkeys(ids) if name in places)


def first_systems(board: Board, count: int = DEFAULT_LINES) -> tuple[int, ...]:
    """Indices of the systems to show if there are too many; people are kept first, known-bad baselines last."""
    order = {"human": 0, "baseline": 2}
    places = range(len(board.entries))
    ordered = sorted(places, key=lambda place: order.get(board.entries[place].result.manifest.system.type, 1))
    return tuple(sorted(ordered[:count]))
