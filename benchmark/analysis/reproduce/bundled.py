"""Surprisals of the bundled language model instead of the papers' (`--bundled`); these numbers are marked."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from benchmark.analysis.metaeval.labelled import Labelled
from benchmark.metrics.metric import Unscorable
from benchmark.metrics.surprisal import Surprisals
from benchmark.models.bundled_lm.spec import OFFLINE_LM
from benchmark.surprisal.cache import SurprisalCache, default_cache_path
from benchmark.surprisal.engine import OrderPlan, ResponseSet, SetSurprisals, SurprisalReader
from benchmark.surprisal.prompt_layout import Layout
from submissions.checking.response_kinds import scorable_responses

Floats = NDArray[np.float64]
Progress = Callable[[str, int, int], None]
_AT_ONCE = 200  # sets; their surprisals are cached, so an interrupted run resumes there


def bundled_reader() -> SurprisalReader:
    """Load a reader with the bundled model, the completion layout and one balanced square of orders."""
    from benchmark.models.hf_lm import load_causal_lm

    return SurprisalReader(
        load_causal_lm(OFFLINE_LM), Layout("completion"), OrderPlan(), SurprisalCache(default_cache_path())
    )


def surprisal_columns(
    reader: SurprisalReader, task: Labelled, functions: Mapping[str, Callable[[Surprisals], float]], progress: Progress
) -> dict[str, Floats]:
    """Compute each function of each set's surprisals, [sets]; NaN where undefined. Blank responses are left out."""
    given = [ResponseSet(c, scorable_responses(texts)) for c, texts in zip(task.contexts, task.responses, strict=True)]
    values: dict[str, list[float]] = {name: [] for name in functions}
    for start in range(0, len(given), _AT_ONCE):
        progress(f"reading {task.name}", start, len(given))
        for reading in reader.read(given[start : start + _AT_ONCE]):
            for name, function in functions.items():
                values[name].append(
                    _value(function, reading.surprisals if isinstance(reading, SetSurprisals) else None)
                )
    progress(f"reading {task.name}", len(given), len(given))
    return {name: np.array(column) for name, column in values.items()}


def _value(function: Callable[[Surprisals], float], s: Surprisals | None) -> float:
    try:
        return float("nan") if s is None else function(s)
    except Unscorable:
        return float("nan")
