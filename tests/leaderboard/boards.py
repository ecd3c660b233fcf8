"""The boards of a folder of results, read as the application reads them."""

from collections.abc import Mapping
from pathlib import Path

from benchmark.metrics.metric import Missing
from leaderboard.data.board import Board
from leaderboard.data.sources import FolderSource


def load_boards(folder: Path) -> tuple[tuple[Board, ...], Mapping[Path, Missing]]:
    """Return the boards, the largest first, and the folders that cannot be read."""
    found = FolderSource(folder).read()
    return found.boards, found.unreadable
