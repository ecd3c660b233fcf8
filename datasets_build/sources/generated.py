"""The datasets that are made here and read no files: GSSBench-style pairs, scenarios, and the demonstration suite.

The kinds of pair and of response set are those of GSSBench (arXiv:2510.12699) and D_Can (arXiv:2606.01811). The
demonstration suite is 24 open prompts that we wrote, four for each of NoveltyBench's six categories: small enough to
read in full, and too small to measure a model.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from datasets_build import gssbench, scenarios
from datasets_build.schema import PROMPTS
from datasets_build.sources.source import Fetch, Row, Split, described

TEXTS = Path(__file__).parent.parent / "demo" / "prompts.jsonl"
UNIQUE_PROMPTS = 5204
_PAIRS = {
    "complement": 500,
    "factualqa": 500,
    "random_choice": 500,
    "subset": 1800,
    "union": 3000,
    "intersection": 3000,
}
_SCENARIOS = {"scenarios": 25, "mode_count": 200, "pos_pattern": 40}


def _pairs(split: str, _: Fetch) -> Iterator[Row]:
    return gssbench.pairs(split)


def _unique_prompts(_: Fetch) -> Iterator[Row]:
    return gssbench.prompts()


def _response_sets(split: str, _: Fetch) -> Iterator[Row]:
    return scenarios.rows(split)


def _demo_prompts(_: Fetch) -> Iterator[Row]:
    for line in TEXTS.read_text(encoding="utf-8").splitlines():
        yield {"original_prompt": None, "context_lost": None, "paraphrases": []} | json.loads(line)


GSSBENCH = described(
    "gssbench",
    gssbench.VERSION,
    (),
    {
        "gssbench": (
            gssbench.PAIRS,
            tuple(Split(name, partial(_pairs, name), (), count) for name, count in _PAIRS.items()),
        ),
        "gssbench_prompts": (gssbench.PROMPTS, (Split("prompts", _unique_prompts, (), UNIQUE_PROMPTS),)),
    },
)
SCENARIOS = described(
    "scenarios",
    scenarios.VERSION,
    (),
    {
        "scenarios": (
            scenarios.SCHEMA,
            tuple(Split(name, partial(_response_sets, name), (), count) for name, count in _SCENARIOS.items()),
        )
    },
)
DEMO = described("demo", "1.0.0", (), {"demo": (PROMPTS, (Split("prompts", _demo_prompts, (), 24),))})
