"""What the tests of workers in this process share: a store, a log of events, and checks without a child process."""

from pathlib import Path
from typing import Any

import pytest

from benchmark.service import fetch
from submissions.storage.file_store import FolderStore
from tests.benchmark.run_worker import checked_here


class EventLog:
    """An event sink that keeps the events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, event: str, /, **facts: Any) -> None:
        self.events.append((event, facts))

    def names(self) -> list[str]:
        return [event for event, _ in self.events]


@pytest.fixture
def log() -> EventLog:
    return EventLog()


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store")


@pytest.fixture
def checks_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the same checks in this process, for tests of what follows them: a child takes a second to start."""

    monkeypatch.setattr(fetch, "validate_in_child", checked_here)
