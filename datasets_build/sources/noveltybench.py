"""NoveltyBench's prompts (Zhang et al. 2025, arXiv:2504.05228): 100 curated, 1,000 from WildChat."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from datasets_build.schema import PROMPTS
from datasets_build.sources.source import Fetch, Split, described

CURATED, WILDCHAT = "noveltybench/curated.jsonl", "noveltybench/wildchat-1k.jsonl"


def curated(fetch: Fetch) -> Iterator[dict[str, Any]]:
    """Yield one row per prompt, with `id` and `prompt_paraphrases` renamed."""
    for raw in _lines(fetch, CURATED):
        yield {
            "prompt_id": raw["id"],
            "category": raw["category"],
            "prompt": raw["prompt"],
            "paraphrases": raw["prompt_paraphrases"],
            "original_prompt": None,
            "context_lost": None,
        }


def wildchat(fetch: Fetch) -> Iterator[dict[str, Any]]:
    """Yield one row per prompt: GPT-4o's rewrite of the user's prompt, with the original.

    A rewrite of less than half the length has usually lost text that the user pasted ("these articles", without the
    articles); it is flagged, not repaired.
    """
    for raw in _lines(fetch, WILDCHAT):
        yield {
            "prompt_id": raw["id"],
            "category": None,
            "prompt": raw["prompt"],
            "paraphrases": [],
            "original_prompt": raw["original_prompt"],
            "context_lost": len(raw["prompt"]) < len(raw["original_prompt"]) / 2,
        }


def _lines(fetch: Fetch, path: str) -> Iterator[dict[str, Any]]:
    with fetch(path).open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


SOURCE = described(
    "noveltybench",
    "1.0.0",
    {
        "noveltybench": (
            PROMPTS,
            (Split("curated", curated, (CURATED,), 100), Split("wildchat", wildchat, (WILDCHAT,), 1000)),
        )
    },
)
SUBMISSIONS = described("noveltybench_submissions", "1.1.0")
_PATHS = {Path(file.path).stem: file.path for file in SUBMISSIONS.files if "/v1.1/" not in file.path}


def submission_path(system: str) -> str:
    """Return the path in a mirror of a system's released responses to curated."""
    return _PATHS[system]


def judged_path(system: str) -> str:
    """Return the path in a mirror of the judgements of version 1.1 of a system's responses to curated."""
    return f"noveltybench/v1.1/{system}.jsonl"
