"""Decoding tests: response sets sampled at many settings of one parameter and labelled with the setting.

Like decTest (Tevet & Berant 2021, arXiv:2004.02990, section 6.3), for any model, and also for top-p and top-k, for
which no sets were released. A diversity metric should rise with it: `divbench metrics metaeval FILE.parquet`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmark.analysis.metaeval.labelled import write_sets
from benchmark.generation.journal import Journal
from benchmark.generation.prompting import SamplingSettings, draw_seed
from benchmark.generation.run import Plan, PlannedSet
from datasets_build.schema import Prompt
from divbench.core.errors import ConfigurationError
from divbench.core.files import canonical_json, content_id
from submissions.schema import Manifest

Parameter = Literal["temperature", "top_p", "top_k"]
MAX_POINTS = 10_000
_HINT = "such as temperature=0.2:1.2:100, top_p=0.1:1:50 or top_k=1:64:20"


@dataclass(frozen=True, slots=True)
class Sweep:
    """Ascending settings of one parameter."""

    parameter: Parameter
    values: tuple[float, ...]  # evenly spaced settings; for *top_k*, whole numbers evenly spaced on a logarithmic scale


def parse_sweep(text: str) -> Sweep:
    """Parse a sweep as written on the command line.

    >>> parse_sweep("temperature=0.2:1.2:6").values
    (0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
    >>> parse_sweep("top_k=1:100:5").values
    (1.0, 3.0, 10.0, 32.0, 100.0)
    """
    found = re.fullmatch(r"(temperature|top_p|top_k)=([0-9.]+):([0-9.]+):([0-9]+)", text)
    try:
        if found is None:
            raise ValueError("it is not PARAMETER=LOWEST:HIGHEST:POINTS with temperature, top_p or top_k")
        parameter: Any = found[1]
        low, high, points = float(found[2]), float(found[3]), int(found[4])
        if not (2 <= points <= MAX_POINTS and low < high < np.inf):
            raise ValueError(f"it needs 2 to {MAX_POINTS:,} points, and a lowest value below the highest")
        if parameter == "top_p" and not 0 < low <= high <= 1:
            raise ValueError("top_p must be above 0 and at most 1")
        if parameter == "top_k" and low < 1:
            raise ValueError("top_k must be at least 1")
        evenly = np.round(np.linspace(low, high, points), 12)
        values = np.unique(np.round(np.geomspace(low, high, points)) if parameter == "top_k" else evenly)
        if len(values) < 2:
            raise ValueError(f"it has one setting, {values[0]}")
    except ValueError as error:
        raise ConfigurationError(f"{text!r} is not a valid sweep: {error}", _HINT) from error
    return Sweep(parameter, tuple(values.tolist()))


def sweep_items(
    contexts: Sequence[Prompt], sweep: Sweep, settings: SamplingSettings, sets: int, seed: int
) -> tuple[PlannedSet, ...]:
    """Plan the response sets, ordered by label.

    The numbers of sets per setting differ by at most one, and so do the numbers per context. Contexts are paired with
    settings at random.
    """
    points = np.arange(sets) * len(sweep.values) // sets
    rounds = -(-sets // len(contexts))
    dealt = np.concatenate(
        [np.random.default_rng(draw_seed(seed, "contexts", n)).permutation(len(contexts)) for n in range(rounds)]
    )[:sets]
    dealt = np.random.default_rng(draw_seed(seed, "sets")).permutation(dealt)
    return tuple(
        PlannedSet(f"set-{number:05d}", contexts[context], with_value(settings, sweep.parameter, sweep.values[point]))
        for number, (point, context) in enumerate(zip(points.tolist(), dealt.tolist(), strict=True))
    )


def with_value(settings: SamplingSettings, parameter: Parameter, value: float) -> SamplingSettings:
    """Return the settings at a point of a sweep."""
    if parameter == "top_k":
        return replace(settings, top_k=int(value))
    return replace(settings, temperature=value) if parameter == "temperature" else replace(settings, top_p=value)


def write_sweep(path: Path, plan: Plan, sweep: Sweep, journal: Journal, manifest: Manifest, model: str) -> None:
    """Write the labelled sets of a finished plan.

    The id of a set depends on its texts, so that sets of different sweeps have different ids.
    """
    rows = []
    for item in plan.sets:
        texts = [sample.text for sample in journal.samples_of(item.id).samples]
        rows.append(
            {
                "set_id": f"{item.id}-{content_id([item.prompt.prompt, texts])[:8]}",
                "context": item.prompt.prompt,
                "responses": texts,
                "label": float(getattr(item.settings, sweep.parameter)),
                "label_name": sweep.parameter,
            }
        )
    drawn = manifest.generation.model_dump(mode="json") | {sweep.parameter: None}
    about = {"model": model, "revision": manifest.system.revision, "swept": sweep.parameter, "generation": drawn}
    write_sets(path, rows, {b"divbench.sweep": canonical_json(about)})
