"""The released results of Qwen2.5-3B as scores of labelled sets: `--scores qwen25_curves`.

Their flaws are described in qwen25.py: last-slot bias, 50 uniform orders, float16, a_n as a ratio of means.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmark.analysis.metaeval.labelled import CONFIGS, Labelled
from benchmark.analysis.metaeval.scores import Scores
from benchmark.analysis.reproduce.inputs import RESULTS
from benchmark.analysis.reproduce.qwen25 import ABOUT, MeanCurves, path_of, read_mean_curves
from benchmark.metrics.metric import Missing
from benchmark.scoring.inputs import Value
from datasets_build.download import Fetcher
from divbench.core.errors import ConfigurationError

NAME = "qwen25_curves"
ORIGIN = f"{ABOUT}: last-slot bias, 50 uniform orders, float16, a_n a ratio of means"


def released_curves(tasks: Sequence[Labelled], mirror: Path | None) -> dict[str, MeanCurves]:
    """Read the released results of whole tasks, by the task's name; tasks without such results are left out.

    Args:
        tasks: All sets of each task, in the order of the released texts.

    Raises:
        ConfigurationError: A file is not available, or no task has such results.
        InputError: A file's checksum differs, or it belongs to other texts.
    """
    known = [task for task in tasks if "/" in task.name and task.name.partition("/")[0] in CONFIGS]
    if not known:
        raise ConfigurationError(f"{NAME} has no results for these tasks", f"name one of {', '.join(CONFIGS)}")
    fetch = Fetcher(RESULTS, mirror, network=False)
    return {task.name: read_mean_curves(fetch(path_of(task.name)), task) for task in known}


def curve_scores(tasks: Sequence[Labelled], mirror: Path | None) -> list[Scores]:
    """Compute this package's metrics of surprisals under Qwen2.5-3B. Args and errors as in `released_curves`."""
    curves = released_curves(tasks, mirror)
    found: dict[str, dict[str, Value]] = {}
    for task in tasks:
        if task.name not in curves:
            continue
        for name, values in curves[task.name].metrics.items():
            column = found.setdefault(name, {})
            for set_id, value in zip(task.set_ids, values.tolist(), strict=True):
                column[set_id] = Missing("no text") if np.isnan(value) else value
    return [Scores(f"{NAME}:{name}", ORIGIN, values) for name, values in found.items()]
