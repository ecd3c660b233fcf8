"""Writes results as a Hub dataset: Parquet tables with a card, for the dataset viewer and `load_dataset`.

*scores* has one row for each result and metric: the mean with its interval, and the signature. *prompts* has one row
for each result, prompt and metric. Neither table has texts, which remain under their owners' licences.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.exports.scored import ScoredResult
from divbench.core.errors import ConfigurationError
from divbench.core.files import atomic_folder, write_text
from divbench.core.tables import Table, to_markdown

_CARD = Path(__file__).parent / "results_card.md"
_OF_A_RESULT: "tuple[pa.Field[Any], ...]" = (
    pa.field("result_id", pa.string(), nullable=False),
    pa.field("submission_id", pa.string(), nullable=False),
    pa.field("system", pa.string(), nullable=False),
    pa.field("system_type", pa.string(), nullable=False),
    pa.field("model_id", pa.string()),
    pa.field("suite", pa.string(), nullable=False),
    pa.field("suite_revision", pa.string(), nullable=False),
    pa.field("k", pa.int32(), nullable=False),
    pa.field("profile", pa.string(), nullable=False),
)
SCORES = pa.schema(
    [
        *_OF_A_RESULT,
        pa.field("metric", pa.string(), nullable=False),
        pa.field("direction", pa.int8(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("n", pa.int32(), nullable=False),
        pa.field("origin", pa.string(), nullable=False),
        pa.field("signature", pa.string(), nullable=False),
    ]
)
PROMPTS = pa.schema(
    [
        *_OF_A_RESULT,
        pa.field("prompt_id", pa.string(), nullable=False),
        pa.field("category", pa.string(), nullable=False),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
    ]
)


def write_results_dataset(results: Sequence[ScoredResult], destination: Path) -> list[Path]:
    """Write a folder that is a dataset repository: README.md, scores.parquet and prompts.parquet.

    The same results give the same bytes, in whatever order they are given.

    Args:
        destination: Folder to create; it must be empty or not exist yet.

    Raises:
        ConfigurationError: A result is given twice, or `destination` is in use.
        InputError: A result's table contradicts its `result.json`.
    """
    ordered = sorted(results, key=lambda scored: (scored.result.manifest.name, scored.result.result_id))
    ids = [scored.result.result_id for scored in ordered]
    if twice := next((name for name in ids if ids.count(name) > 1), None):
        raise ConfigurationError(f"the result {twice} is given twice", "give each result once")
    if destination.exists() and (not destination.is_dir() or any(destination.iterdir())):
        raise ConfigurationError(f"{destination} already exists", "choose another folder with --out, or remove it")
    with atomic_folder(destination) as folder:
        for name, schema, rows_of in (("scores", SCORES, _scores), ("prompts", PROMPTS, _prompts)):
            with pq.ParquetWriter(folder / f"{name}.parquet", schema, compression="zstd") as writer:
                for scored in ordered:
                    writer.write_table(pa.Table.from_pylist(list(rows_of(scored)), schema=schema))
        write_text(folder / "README.md", _CARD.read_text(encoding="utf-8") + to_markdown(_listed(ordered)) + "\n")
    return [destination / name for name in ("README.md", "scores.parquet", "prompts.parquet")]


def _of_result(scored: ScoredResult) -> dict[str, Any]:
    result = scored.result
    system = result.manifest.system
    return {
        "result_id": result.result_id,
        "submission_id": result.submission_id,
        "system": result.manifest.name,
        "system_type": system.type,
        "model_id": system.model_id,
        "suite": result.suite,
        "suite_revision": result.suite_revision,
        "k": result.k,
        "profile": result.profile,
    }


def _scores(scored: ScoredResult) -> Iterator[dict[str, Any]]:
    for score in scored.scores:
        yield _of_result(scored) | {
            "metric": score.metric,
            "direction": score.direction,
            "value": score.value,
            "low": score.low,
            "high": score.high,
            "n": score.n,
            "origin": score.origin,
            "signature": str(score.signature),
        }


def _prompts(scored: ScoredResult) -> Iterator[dict[str, Any]]:
    for prompt in scored.prompts():
        shared = _of_result(scored) | {"prompt_id": prompt.prompt_id, "category": prompt.category}
        for metric, value in prompt.values.items():
            yield shared | {"metric": metric, "value": value}


def _listed(ordered: Sequence[ScoredResult]) -> Table:
    results = [(scored.result, len(scored.scores)) for scored in ordered]
    cells = [
        (r.result_id, r.submission_id, r.manifest.name, r.suite, r.suite_revision, r.k, r.profile, r.prompts, metrics)
        for r, metrics in results
    ]
    headers = ("result", "submission", "system", "suite", "revision", "k", "profile", "prompts", "metrics")
    return Table("Results", headers, cells, numbers=("k", "prompts", "metrics"))
