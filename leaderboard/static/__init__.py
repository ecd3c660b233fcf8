"""The board as static files that open without a server: the same tables and figures, and no network."""

from leaderboard.static.write import TEXTS_LIMIT, Written, write_static

__all__ = ["TEXTS_LIMIT", "Written", "write_static"]
