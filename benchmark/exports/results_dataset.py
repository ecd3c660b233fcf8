"""Writes results as a Hub dataset: Parquet tables with a card, for the dataset viewer and `load_dataset`.

*scores* has one row for each result and metric: the mean with its interval, and the signature. *prompts* has one row
for each result, prompt and metric. Neither table has texts, which remain under their owners' licences.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.exports.results import ScoredResult
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
