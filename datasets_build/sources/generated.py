"""The datasets that are made here and read no files: GSSBench-style pairs, scenarios, and the demonstration suite.

The kinds of pair and of response set are those of GSSBench (arXiv:2510.12699) and D_Can (arXiv:2606.01811). The
demonstration suite is 24 open prompts that we wrote, four for each of NoveltyBench's six categories: small enough to
read in full, and too small to measure a model.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from datasets_build import gssbench
from datasets_build.scenarios import sets
from datasets_build.schema import PROMPTS
from datasets_build.sources.source import Fetch, Row, Split, described

TEXTS = Path(__file__).parent.parent / "demo" / "prompts.jsonl"


def _splits(rows: Callable[[str], Iterator[Row]], **counts: int) -> tuple[Split, ...]:
    """Make the splits of a dataset whose rows a generator makes from the name of the split."""

    def of(name: str) -> Callable[[Fetch], Iterator[Row]]:
        return lambda _: rows(name)

    return tuple(Split(name, of(name), (), count) for name, count in counts.items())


def _demo_prompts(_: Fetch) -> Iterator[Row]:
    for line in TEXTS.read_text(encoding="utf-8").splitlines():
        yield {"original_prompt": None, "context_lost": None, "paraphrases": []} | json.loads(line)


_PAIRS = _splits(
    gssbench.pairs, complement=500, factualqa=500, random_choice=500, subset=1800, union=3000, intersection=3000
)
GSSBENCH = described(
    "gssbench",
    gssbench.VERSION,
    {
        "gssbench": (gssbench.PAIRS, _PAIRS),
        "gssbench_prompts": (gssbench.PROMPTS, (Split("prompts", lambda _: gssbench.prompts(), (), 5204),)),
    },
)
_SETS = _splits(sets.rows, scenarios=25, mode_count=200, pos_pattern=40)
SCENARIOS = described("scenarios", sets.VERSION, {"scenarios": (sets.SCHEMA, _SETS)})
DEMO = described("demo", "1.0.0", {"demo": (PROMPTS, (Split("prompts", _demo_prompts, (), 24),))})
