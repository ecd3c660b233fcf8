"""A chat server that judges, and the cache of its judgements."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.equivalence.llm_judge import JudgementCache
from tests.benchmark.chat_server import ChatServer, chat_server


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


@pytest.fixture
def cache(tmp_path: Path) -> JudgementCache:
    return JudgementCache(tmp_path / "some" / "judgements.sqlite")
