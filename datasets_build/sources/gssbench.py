"""GSSBench-style prompt pairs, generated here: which of two prompts has the larger space of good responses?

The six kinds of pair are those of GSSBench (Yu et al. 2025, arXiv:2510.12699); words and templates are our own, and
deterministic from a seed and a version.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from datasets_build import gssbench
from datasets_build.sources.source import Config, Fetch, Source, Split

_COUNTS = {
    "complement": 500,
    "factualqa": 500,
    "random_choice": 500,
    "subset": 1800,
    "union": 3000,
    "intersection": 3000,
}
UNIQUE_PROMPTS = 5204


def pair_rows(split: str, fetch: Fetch) -> Iterator[dict[str, Any]]:
    """Make the pairs of a split."""
    return gssbench.pairs(split)


def prompt_rows(fetch: Fetch) -> Iterator[dict[str, Any]]:
    """Make the unique prompts over all splits."""
    return gssbench.prompts()


SOURCE = Source(
    name="gssbench",
    title="GSSBench-style prompt pairs with a known order of generation-space size",
    version=gssbench.VERSION,
    files=(),
    licence="Apache-2.0",
    citation="""@misc{yu2025generation,
  title = {Generation space size: Understanding and calibrating open-endedness of LLM generations},
  author = {Yu, S. and Jabbar, A. and Hawkins, R. and Jurafsky, D. and Cheng, M.},
  year = {2025},
  eprint = {2510.12699},
  archivePrefix = {arXiv},
  note = {the design of the pairs; the pairs themselves are DivBench's}
}""",
    paper="arXiv:2510.12699",
    flaws=(
        "The order holds for the space of good responses; nothing checks that a model's responses are good.",
        "The longer prompt has the larger space in complement, random_choice and union, the smaller one in subset and "
        "intersection: report all six splits.",
        "In factualqa the prompt with the smaller space is nearly always the longer one.",
        "factualqa rests on facts of 2026: the most populous and the longest-reigning change.",
        "The published prompts were not released with the paper; these are of the same kinds, not the same.",
    ),
    configs=(
        Config(
            "gssbench",
            "pairs of prompts; a has a strictly smaller space of good responses than b",
            "Generated from templates and word banks of our own, seed 0.",
            gssbench.PAIRS,
            {
                "pair_id": "unique",
                "set_id": "the set that the pair belongs to; pairs of one set are not independent",
                "a_id": "prompt_id of a",
                "b_id": "prompt_id of b",
                "a": "the prompt with the smaller space",
                "b": "the prompt with the larger space",
                "relation": "why a's space is smaller",
                "template": "template or family that it was made from",
                "a_size": "number of options, members or levels of a; null where undefined",
                "b_size": "the same for b",
            },
            tuple(Split(name, partial(pair_rows, name), (), count) for name, count in _COUNTS.items()),
        ),
        Config(
            "gssbench_prompts",
            "the unique prompts of gssbench, to be sampled once each",
            "All prompts of all pairs, each text once.",
            gssbench.PROMPTS,
            {
                "prompt_id": "id made from the text",
                "prompt": "prompt to respond to",
                "splits": "splits that contain it",
                "pairs": "number of pairs that contain it",
            },
            (Split("prompts", prompt_rows, (), UNIQUE_PROMPTS),),
        ),
    ),
)
