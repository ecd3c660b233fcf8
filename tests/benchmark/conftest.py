"""Fixtures of the tests of `benchmark/`."""

import pytest

from benchmark.models import http_client
from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder


@pytest.fixture(scope="session")
def minilm() -> SentenceTransformersEmbedder:
    """The embedder of the `offline` profile. It takes seconds to load, so all tests share one."""
    return SentenceTransformersEmbedder(ALL_MINILM_L6_V2)


@pytest.fixture
def fast_http_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients of servers wait briefly between three attempts, and find no key or proxy of the machine."""
    monkeypatch.setattr(http_client, "FIRST_WAIT_SECONDS", 0.001)
    monkeypatch.setattr(http_client, "ATTEMPTS", 3)
    monkeypatch.delenv(http_client.KEY_VARIABLE, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
