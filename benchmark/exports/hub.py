"""Results for the Hugging Face Hub: a dataset with a card, and `.eval_results/*.yaml` of a model's repository.

The dataset is for its viewer and `load_dataset`: *scores* has one row for each result and metric, the mean with its
interval, and the signature; *prompts* has one row for each result, prompt and metric. Neither table has texts, which
remain under their owners' licences.

The entries are defined in huggingface/hub-docs, eval_results.yaml (at 2be4979) and docs/hub/eval-results.md, and read
by `huggingface_hub.parse_eval_result_entries`. An entry has one value and no metric name, so each metric is a separate
task. Interval, number of prompts, direction and signature go into `notes`, which are shown with the value.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

from benchmark.exports.results import ScoredResult, date_of, direction_text
from benchmark.scoring.results import Aggregate, Result
from divbench.core.errors import ConfigurationError
from divbench.core.files import atomic_folder, write_text
from divbench.core.tables import Table, to_markdown

_CARD = Path(__file__).parent / "results_card.md"
_TYPES: dict[str, pa.DataType] = {"k": pa.int32(), "n": pa.int32(), "direction": pa.int8()}
_TYPES.update(dict.fromkeys(("value", "low", "high"), pa.float64()))
_OF_RESULTS = (
    *("result_id", "submission_id", "system", "system_type", "model_id"),
    *("suite", "suite_revision", "k", "profile"),
)


def _schema(*columns: str) -> pa.Schema:
    """Return the schema of a table: the columns of a result, and these."""
    nullable = ("model_id", "low", "high")
    return pa.schema(
        [pa.field(name, _TYPES.get(name, pa.string()), nullable=name in nullable) for name in (*_OF_RESULTS, *columns)]
    )


SCORES = _schema("metric", "direction", "value", "low", "high", "n", "origin", "signature")
PROMPTS = _schema("prompt_id", "category", "metric", "value")


def write_results_dataset(results: Sequence[ScoredResult], destination: Path) -> list[Path]:
    """Write README.md, scores.parquet and prompts.parquet to a new or empty folder."""
    ordered = sorted(results, key=lambda scored: (scored.result.manifest.name, scored.result.result_id))
    ids = [scored.result.result_id for scored in ordered]
    if repeated := next((name for name in ids if ids.count(name) > 1), None):
        raise ConfigurationError(f"the result {repeated} is given twice", "give each result once")
    if destination.exists() and (not destination.is_dir() or any(destination.iterdir())):
        raise ConfigurationError(f"{destination} already exists", "choose another folder with --out, or remove it")
    with atomic_folder(destination) as folder:
        for name, schema, rows_of in (("scores", SCORES, _scores), ("prompts", PROMPTS, _prompts)):
            with pq.ParquetWriter(folder / f"{name}.parquet", schema, compression="zstd") as writer:
                for scored in ordered:
                    writer.write_table(pa.Table.from_pylist(list(rows_of(scored)), schema=schema))
        write_text(folder / "README.md", _CARD.read_text(encoding="utf-8") + to_markdown(_contents(ordered)) + "\n")
    return [destination / name for name in ("README.md", "scores.parquet", "prompts.parquet")]


def _of_result(scored: ScoredResult) -> dict[str, Any]:
    result, manifest = scored.result, scored.result.manifest
    system = {"system": manifest.name, "system_type": manifest.system.type, "model_id": manifest.system.model_id}
    return {name: system[name] if name in system else getattr(result, name) for name in _OF_RESULTS}


def _scores(scored: ScoredResult) -> Iterator[dict[str, Any]]:
    for score in scored.scores:
        values = {name: getattr(score, name) for name in ("metric", "direction", "value", "low", "high", "n", "origin")}
        yield _of_result(scored) | values | {"signature": str(score.signature)}


def _prompts(scored: ScoredResult) -> Iterator[dict[str, Any]]:
    for prompt in scored.prompts():
        shared = _of_result(scored) | {"prompt_id": prompt["prompt_id"], "category": prompt["category"]}
        for score in scored.scores:
            if prompt[score.metric] is not None:
                yield shared | {"metric": score.metric, "value": prompt[score.metric]}


def _contents(ordered: Sequence[ScoredResult]) -> Table:
    results = [(scored.result, len(scored.scores)) for scored in ordered]
    cells = [
        (r.result_id, r.submission_id, r.manifest.name, r.suite, r.suite_revision, r.k, r.profile, r.prompts, metrics)
        for r, metrics in results
    ]
    headers = ("result", "submission", "system", "suite", "revision", "k", "profile", "prompts", "metrics")
    return Table("Results", headers, cells, numbers=("k", "prompts", "metrics"))


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
