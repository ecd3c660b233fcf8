"""Synthetic response sets of known structure, generated here with our own texts.

The kinds of response set are those of D_Can's scenarios (arXiv:2606.01811).
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from datasets_build import scenarios
from datasets_build.sources.source import Config, Fetch, Source, Split

_COUNTS = {"scenarios": 25, "mode_count": 200, "pos_pattern": 40}


def rows(split: str, fetch: Fetch) -> Iterator[dict[str, Any]]:
    """Make the response sets of a split."""
    return scenarios.rows(split)


SOURCE = Source(
    name="scenarios",
    title="Synthetic response sets of known structure",
    version=scenarios.VERSION,
    files=(),
    licence="Apache-2.0",
    citation="DivBench, this package; the kinds of scenario are those of arXiv:2606.01811",
    paper="arXiv:2606.01811",
    flaws=("Written and generated: they test metrics, and say nothing of models.",),
    configs=(
        Config(
            "scenarios",
            "noise, incoherent, multi-mode, one-mode and mixed sets; 1 to 10 modes; one part-of-speech pattern or none",
            "Generated from templates and word banks of our own, seed 0.",
            scenarios.SCHEMA,
            {
                "set_id": "unique",
                "context": "prompt of the responses",
                "responses": "the texts",
                "family": "kind of set",
                "modes": "true number of modes; null if undefined",
                "mode_of": "mode of each response; null if undefined",
                "draw": "number of the draw",
            },
            tuple(Split(name, partial(rows, name), (), count) for name, count in _COUNTS.items()),
        ),
    ),
)
