"""The demonstration suite: 24 open prompts that we wrote, four for each of NoveltyBench's six categories.

It is for demonstrations and tests, and small enough to read in full. It is too small to measure a model.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from datasets_build.schema import PROMPTS
from datasets_build.sources.source import Config, Fetch, Source, Split

TEXTS = Path(__file__).parent.parent / "demo" / "prompts.jsonl"


def rows(fetch: Fetch) -> Iterator[dict[str, Any]]:
    """Yield one row per prompt."""
    for line in TEXTS.read_text(encoding="utf-8").splitlines():
        yield {"original_prompt": None, "context_lost": None, "paraphrases": []} | json.loads(line)


SOURCE = Source(
    name="demo",
    title="DivBench demonstration suite (24 prompts; for trying things out, not for measuring models)",
    version="1.0.0",
    files=(),
    licence="Apache-2.0",
    citation="DivBench, this package",
    paper="",
    flaws=("It is small and written by the authors of this package: it measures no model.",),
    configs=(
        Config(
            "demo",
            "24 open prompts over six categories",
            "Written by the authors of this package.",
            PROMPTS,
            {
                "prompt_id": "demo-00 to demo-23",
                "category": "one of six, as in NoveltyBench",
                "prompt": "prompt to respond to",
                "paraphrases": "none here",
                "original_prompt": "null here",
                "context_lost": "null here",
            },
            (Split("prompts", rows, (), 24),),
        ),
    ),
)
