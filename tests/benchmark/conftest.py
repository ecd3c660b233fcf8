"""Fixtures of the tests of `benchmark/`."""

import pytest

from benchmark.models.embedder import ALL_MINILM_L6_V2, SentenceTransformersEmbedder


@pytest.fixture(scope="session")
def minilm() -> SentenceTransformersEmbedder:
    """The embedder of the `offline` profile. It takes seconds to load, so all tests share one."""
    return SentenceTransformersEmbedder(ALL_MINILM_L6_V2)
