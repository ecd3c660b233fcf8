"""Writes results as Hugging Face's `.eval_results/*.yaml`, shown in model repositories and on leaderboards.

The format is defined in huggingface/hub-docs, eval_results.yaml (at 2be4979) and docs/hub/eval-results.md, and read by
`huggingface_hub.parse_eval_result_entries`. An entry has one value and no metric name, so each metric is a separate
task. Interval, number of prompts, direction and signature go into `notes`, which are shown with the value.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

from benchmark.exports.results import ScoredResult, date_of, direction_text
from benchmark.scoring.results import Aggregate, Result
from divbench.core.errors import ConfigurationError
from divbench.core.files import write_text

_DATASET = re.compile(r"([A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95})(?:@([\w./-]{1,100}))?", re.ASCII)


def entries(scored: ScoredResult, dataset: str, *, task_id: str | None = None) -> list[EvalResultEntry]:
    """Return one entry per metric, for the leaderboard of a Hub dataset: ORG/NAME or ORG/NAME@REVISION."""
    match = _DATASET.fullmatch(dataset)
    if match is None:
        raise ConfigurationError(f"{dataset!r} is neither ORG/NAME nor ORG/NAME@REVISION", "name the Hub dataset")
    if task_id is not None and len(scored.scores) > 1:
        message = f"one task id for {len(scored.scores)} metrics"
        raise ConfigurationError(message, "an entry has one value: choose one metric with --metric")
    result = scored.result
    return [
        EvalResultEntry(
            dataset_id=match[1],
            task_id=task_id or f"{result.suite}_{score.metric}",
            value=score.value,
            dataset_revision=match[2],
            date=date_of(result).isoformat(),
            notes=_notes(score, result),
        )
        for score in scored.scores
    ]


def _notes(score: Aggregate, result: Result) -> str:
    parts = [str(score.signature), f"mean over {score.n} prompts", direction_text(score)]
    if score.low is not None and score.high is not None:
        method = result.interval
        parts.append(f"{100 * method.level:g}% interval {score.low!r} to {score.high!r} ({method.method})")
    if score.missing:
        parts.append(f"{sum(score.missing.values())} prompts have no value")
    if score.origin == "reported":
        parts.append("from values that came with the submission")
    return "; ".join([*parts, f"result {result.result_id} of submission {result.submission_id}"])


def write_eval_results(path: Path, results: Sequence[EvalResultEntry]) -> None:
    """Write the entries to a .yaml file in an existing folder."""
    if path.suffix != ".yaml" or path.is_dir():
        raise ConfigurationError(f"{path} does not end in .yaml, or is a folder", "name a file .eval_results/NAME.yaml")
    if not path.parent.is_dir():
        raise ConfigurationError(f"there is no folder {path.parent} for {path.name}", "create it, or name another")
    documents = eval_result_entries_to_yaml(list(results))
    write_text(path, yaml.safe_dump(documents, sort_keys=False, allow_unicode=True, width=1_000_000))
