"""NoveltyBench's prompts (Zhang et al. 2025, arXiv:2504.05228): 100 curated, 1,000 from WildChat."""

import json
from collections.abc import Iterator
from typing import Any

from datasets_build.schema import PROMPTS
from datasets_build.sources.source import Fetch, File, Source, Split, described

REPOSITORY = "https://github.com/novelty-bench/novelty-bench/raw/5b22b53/data"
CURATED = File(
    "noveltybench/curated.jsonl",
    "ca9b6f470e5d7f7e34a281e2fdaa6f6e51c38bdae075ea580d184139ec391fa7",
    urls=(f"{REPOSITORY}/curated.jsonl",),
)
WILDCHAT = File(
    "noveltybench/wildchat-1k.jsonl",
    "8534288089508df3f413c1151a58d5fa5bda9d8f8385ae2815384d4e310a54ca",
    urls=(f"{REPOSITORY}/wildchat-1k.jsonl",),
)


def curated(fetch: Fetch) -> Iterator[dict[str, Any]]:
    """Yield one row per prompt, with `id` and `prompt_paraphrases` renamed."""
    for raw in _lines(fetch, CURATED.path):
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
    for raw in _lines(fetch, WILDCHAT.path):
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
    (CURATED, WILDCHAT),
    {
        "noveltybench": (
            PROMPTS,
            (Split("curated", curated, (CURATED.path,), 100), Split("wildchat", wildchat, (WILDCHAT.path,), 1000)),
        )
    },
)

_RESULTS = "results of the project's repositories (novelty-bench/novelty-bench, novelty-bench.github.io)"
_SUBMISSIONS = {
    "gemini-1.5-pro": "3449323c4a03721ecbf564bfb7255f0058713ca99dd27e94bae20bd56258972e",
    "gpt-4o": "adc58f4b232ba6b627fc0ae8b1ae6809cb46dda25480ae67d6bae8fda1da9efc",
    "gpt-4o-in-context": "4bb59c9c3316e4ed753854962dade9e0575032aff172af97e002647ef8655595",
    "gpt-4o-paraphrase": "1edb28217f328117ebf8958d4c42b442413b9a560f1a930f451de3e1dbb9ac3d",
    "gpt-4o-system-prompt": "f7a5a88ccebd803f9127b18013d09a593a8c3d579876b81213a992fe454c55b8",
    "humans": "4ea7927df8215e7f032157b3985c23ffcdcc3d8afb020ce35cdf31178d4dcfd7",
}


def submission_path(system: str) -> str:
    """Return the path in a mirror of a released submission to curated."""
    return f"noveltybench/submissions/{system}.jsonl"


# Released responses with partitions and scores. They are not a dataset, and nothing is built from them.
SUBMISSIONS = Source(
    name="noveltybench submissions",
    title="NoveltyBench: released responses to its curated prompts",
    version="1.0.0",
    files=tuple(
        File(submission_path(name), sha256, found_in=f"scores.jsonl of {name} on curated, {_RESULTS}")
        for name, sha256 in _SUBMISSIONS.items()
    ),
    licence="MIT",
    citation=SOURCE.citation,
    paper=SOURCE.paper,
    flaws=("`distinct` is the highest label, one less than the number of classes.",),
    configs=(),
)
