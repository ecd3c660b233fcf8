"""Fixtures of the tests of `benchmark/`."""

from pathlib import Path

import pytest

from benchmark.models import servers
from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder


@pytest.fixture(scope="session")
def minilm() -> SentenceTransformersEmbedder:
    """The embedder of the `offline` profile. It takes seconds to load, so all tests share one."""
    return SentenceTransformersEmbedder(ALL_MINILM_L6_V2)


@pytest.fixture
def fast_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients of servers wait briefly between three attempts, and find no key or proxy of the machine."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.001)
    monkeypatch.setattr(servers, "RETRIES", 2)
    monkeypatch.delenv(servers.KEY_VARIABLE, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def locks_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse to remove lock files, as Windows does while they are open."""
    remove = Path.unlink

    def as_on_windows(self: Path, missing_ok: bool = False) -> None:
        if "lock" in self.name:
            raise PermissionError(13, "used by another process", str(self))
        remove(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", as_on_windows)
