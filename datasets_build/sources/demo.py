"""The demonstration suite: 24 open prompts that we wrote, four for each of NoveltyBench's six categories.

It is for demonstrations and tests, and small enough to read in full. It is too small to measure a model.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from datasets_build.schema import PROMPTS
from datasets_build.sources.source import Fetch, Split, described

TEXTS = Path(__file__).parent.parent / "demo" / "prompts.jsonl"


def rows(fetch: Fetch) -> Iterator[dict[str, Any]]:
    """Yield one row per prompt."""
    for line in TEXTS.read_text(encoding="utf-8").splitlines():
        yield {"original_prompt": None, "context_lost": None, "paraphrases": []} | json.loads(line)


SOURCE = described("demo", "1.0.0", (), {"demo": (PROMPTS, (Split("prompts", rows, (), 24),))})
