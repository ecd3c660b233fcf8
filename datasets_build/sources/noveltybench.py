"""NoveltyBench (Zhang et al. 2025, arXiv:2504.05228): the 100 curated prompts, each with ten paraphrases."""

from collections.abc import Iterator, Mapping
from typing import Any

from datasets_build.schema import Prompt
from datasets_build.sources.source import Source


def rows(raw: Iterator[Mapping[str, Any]]) -> Iterator[Prompt]:
    """One prompt a row; `id` and `prompt_paraphrases` take our names."""
    for row in raw:
        yield Prompt(
            prompt_id=row["id"],
            category=row["category"],
            prompt=row["prompt"],
            paraphrases=tuple(row["prompt_paraphrases"]),
        )


CURATED = Source(
    name="noveltybench-curated",
    title="NoveltyBench, curated (100 prompts, 6 categories)",
    path="noveltybench/curated.jsonl",
    bundled=False,
    sha256="ca9b6f470e5d7f7e34a281e2fdaa6f6e51c38bdae075ea580d184139ec391fa7",
    url="https://github.com/novelty-bench/novelty-bench/blob/5b22b53/data/curated.jsonl",
    licence="MIT",
    citation="Zhang et al. 2025, NoveltyBench, arXiv:2504.05228",
    rows=rows,
)
