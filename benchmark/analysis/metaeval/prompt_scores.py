"""Scores of GSSBench's prompts for prompt_pairs.py: of results, files, and reference scorers of known accuracy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmark.analysis.metaeval.prompt_pairs import Pairs
from benchmark.analysis.metaeval.scores import file_scores
from benchmark.metrics import METRICS
from benchmark.metrics.metric import Missing
from benchmark.scoring.result_files import PER_PROMPT_FILE, require_result
from divbench.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Scorer:
    """Scores of prompts, larger for a larger generation space; NaN or absent where missing."""

    name: str
    scores: Mapping[str, float]
    problems: tuple[str, ...] = ()


def sanity_scores(pairs: Pairs, seed: int = 0) -> dict[str, dict[str, float]]:
    """Return reference scorers by name, whose accuracy is known, to check an evaluation against.

    *prompt_length*: characters of the prompt. *constant*: all pairs tie. *random*: uniform. *oracle*: orders all pairs.

    Raises:
        ValueError: The pairs contradict each other, so that no score could order them all.
    """
    texts = {row[f"{side}_id"]: row[side] for rows in pairs.values() for row in rows for side in ("a", "b")}
    drawn = np.random.default_rng(seed).random(len(texts))
    return {
        "prompt_length": {prompt: float(len(text)) for prompt, text in texts.items()},
        "constant": dict.fromkeys(texts, 0.0),
        "random": dict(zip(texts, drawn.tolist(), strict=True)),
        "oracle": _oracle(pairs, list(texts)),
    }


def scores_of_result(folder: Path) -> dict[str, dict[str, float]]:
    """Read the values of a result of the suite *gssbench*, for `evaluate_pairs`.

    Returns:
        Values by metric and prompt id; NaN where missing.

    Raises:
        InputError: The folder is not a complete result, or belongs to another suite.
    """
    result = require_result(folder)
    if result.suite != "gssbench":
        raise InputError(f"{folder} is a result of {result.suite}", "give one of the suite gssbench")
    metrics = [score.metric for score in result.scores]
    table = pq.read_table(folder / PER_PROMPT_FILE, columns=["prompt_id", *metrics])
    prompts: list[Any] = table["prompt_id"].to_pylist()
    made: dict[str, dict[str, float]] = {}
    for metric in metrics:
        values = table[metric].to_numpy(zero_copy_only=False).astype(np.float64)  # null becomes NaN
        made[metric] = dict(zip(prompts, values.tolist(), strict=True))
    return made


def scorers_of_result(folder: Path) -> list[Scorer]:
    """Return a result's metrics that have a direction, with signs such that larger is more diverse.

    Raises:
        InputError: As in `scores_of_result`.
    """
    direction = {metric.id: metric.direction for metric in METRICS}
    return [
        Scorer(name, {prompt: sign * value for prompt, value in scores.items()})
        for name, scores in scores_of_result(folder).items()
        if (sign := direction.get(name, 0))
    ]


def scorers_of_file(path: Path, pairs: Pairs) -> list[Scorer]:
    """Return the columns of a file with `prompt_id`, larger for a larger generation space.

    Raises:
        InputError: As in `file_scores`.
    """
    known = {row[side] for rows in pairs.values() for row in rows for side in ("a_id", "b_id")}
    return [
        Scorer(
            each.name,
            {prompt: value for prompt, value in each.values.items() if not isinstance(value, Missing)},
            each.problems,
        )
        for each in file_scores(path, "prompt_id", known, unit="prompt")
    ]


def _oracle(pairs: Pairs, prompts: Sequence[str]) -> dict[str, float]:
    """Return for each prompt the length of the longest chain of smaller spaces below it."""
    numbers = {prompt: i for i, prompt in enumerate(prompts)}
    ids = [(numbers[row["a_id"]], numbers[row["b_id"]]) for rows in pairs.values() for row in rows]
    a, b = np.array(ids, np.int64).reshape(-1, 2).T
    levels = np.zeros(len(prompts))
    for _ in range(len(prompts)):
        raised = levels.copy()
        np.maximum.at(raised, b, levels[a] + 1)
        if (raised == levels).all():
            return dict(zip(prompts, levels.tolist(), strict=True))
        levels = raised
    raise ValueError("the pairs contradict each other: a chain of smaller spaces returns to its beginning")
