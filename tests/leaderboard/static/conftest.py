"""Fixtures of the tests of `leaderboard/static/`."""

from typing import Any

import pytest

import leaderboard.static.write as writing
from leaderboard.static.board_pages import plain_page
from leaderboard.static.render import Page


@pytest.fixture
def board_pages_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exports whose pages Metrics and Datasets are empty: they take half of the time."""

    def empty(*given: Any) -> Page:
        return plain_page(given[-1], "", (), ())

    monkeypatch.setattr(writing, "metrics_page", empty)
    monkeypatch.setattr(writing, "datasets_page", empty)
