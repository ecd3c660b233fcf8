"""Writes results as Hugging Face's `.eval_results/*.yaml`, shown in model repositories and on leaderboards.

The format is defined in huggingface/hub-docs, eval_results.yaml (at 2be4979) and docs/hub/eval-results.md, and read by
`huggingface_hub.parse_eval_result_entries`: a list of entries with `dataset` (`id`, `task_id`, `revision`), `value`,
`date`, `source` (`url`, `name`) and `notes`. An entry has one value and no metric name, so each metric is a separate
task. Interval, number of prompts, direction and signature go into `notes`, which are shown with the value.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

from benchmark.exports.scored import ScoredResult, date_of, way_of
from benchmark.scoring.result_schema import Aggregate, Result
from divbench.core.errors import ConfigurationError
from divbench.core.files import write_text

_REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_REVISION = re.compile(r"[\w./-]{1,100}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The Hub dataset with the leaderboard that the values are for."""

    id: str  # ORG/NAME
    revision: str | None = None  # commit or tag of the dataset; None: not stated


def benchmark_of(text: str) -> Benchmark:
    """Parse ORG/NAME or ORG/NAME@REVISION.

    Raises:
        ConfigurationError: The text has neither form.

    >>> benchmark_of("org/divbench@v1.0.0")
    Benchmark(id='org/divbench', revision='v1.0.0')
    """
    name, at, revision = text.partition("@")
    if not _REPO.fullmatch(name) or (at and not _REVISION.fullmatch(revision)):
        raise ConfigurationError(f"{text!r} is neither ORG/NAME nor ORG/NAME@REVISION", "name the Hub dataset")
    return Benchmark(name, revision or None)


def entries(
    scored: ScoredResult, benchmark: Benchmark, *, task_id: str | None = None, source_url: str | None = None
) -> list[EvalResultEntry]:
    """Return one entry per metric.

    Args:
        task_id: Task id of a single metric; None: `SUITE_METRIC` for each.
        source_url: URL of a page with the result, such as its folder in a repository.

    Raises:
        ConfigurationError: A task id for several metrics.
    """
    if task_id is not None and len(scored.scores) > 1:
        message = f"one task id for {len(scored.scores)} metrics"
        raise ConfigurationError(message, "an entry has one value: choose one metric with --metric")
    result = scored.result
    return [
        EvalResultEntry(
            dataset_id=benchmark.id,
            task_id=task_id or f"{result.suite}_{score.metric}",
            value=score.value,
            dataset_revision=benchmark.revision,
            date=date_of(result).isoformat(),
            source_url=source_url,
            source_name=None if source_url is None else f"DivBench result {result.result_id}",
            notes=_notes(score, result),
        )
        for score in scored.scores
    ]


def _notes(score: Aggregate, result: Result) -> str:
    parts = [str(score.signature), f"mean over {score.n} prompts", way_of(score)]
    if score.low is not None and score.high is not None:
        method = result.interval
        parts.append(f"{100 * method.level:g}% interval {score.low!r} to {score.high!r} ({method.method})")
    if score.missing:
        parts.append(f"{sum(score.missing.values())} prompts have no value")
    if score.origin == "reported":
        parts.append("from values that came with the submission")
    return "; ".join([*parts, f"result {result.result_id} of submission {result.submission_id}"])


def as_yaml(made: Sequence[EvalResultEntry]) -> str:
    """Return the entries as YAML."""
    documents: list[Mapping[str, Any]] = [*eval_result_entries_to_yaml(list(made))]
    return str(yaml.safe_dump(documents, sort_keys=False, allow_unicode=True, width=1_000_000))


def write_eval_results(path: Path, made: Sequence[EvalResultEntry]) -> None:
    """Write the entries atomically.

    Raises:
        ConfigurationError: The path does not end in .yaml, or its folder does not exist.
    """
    if path.suffix != ".yaml" or path.is_dir():
        raise ConfigurationError(f"{path} does not end in .yaml, or is a folder", "name a file .eval_results/NAME.yaml")
    if not path.parent.is_dir():
        raise ConfigurationError(f"there is no folder {path.parent} for {path.name}", "create it, or name another")
    write_text(path, as_yaml(made))
