"""The demonstration suite: 24 open prompts that we wrote, four for each of NoveltyBench's six categories.

It is a demonstration and a bed for tests, small enough to read whole. It is not a benchmark of anything.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from datasets_build.schema import Prompt
from datasets_build.sources.source import Source


def rows(raw: Iterator[Mapping[str, Any]]) -> Iterator[Prompt]:
    """One prompt a row."""
    for row in raw:
        yield Prompt(prompt_id=row["prompt_id"], category=row["category"], prompt=row["prompt"])


SOURCE = Source(
    name="demo",
    title="DivBench demonstration suite (24 prompts; for trying things out, not for measuring models)",
    path="demo/prompts.jsonl",
    bundled=True,
    sha256="",
    url="",
    licence="Apache-2.0",
    citation="DivBench, this package",
    rows=rows,
)
