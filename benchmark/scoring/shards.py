"""Prompts that are scored together → their rows of `per_prompt.parquet`. A shard knows nothing of the others.

So it has the same bytes whoever scores it, and when: here one after the other, or on many machines (cluster.py).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from benchmark.equivalence import partition_columns as classes
from benchmark.metrics import Metric
from benchmark.metrics.internals import Internals
from benchmark.metrics.metric import Missing
from benchmark.scoring import surprisal_columns
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.compute import Value, score_sets
from benchmark.scoring.inputs import Materials, metrics_from
from benchmark.surprisal.engine import ResponseSet
from datasets_build.schema import Prompt
from submissions.checking.response_kinds import is_scorable
from submissions.schema import Reported, Row


@dataclass(frozen=True, slots=True)
class Shard:
    """Prompts that are scored together, and all that takes beside models.

    Attributes:
        name: Of its file, by its prompts: so a run with shards of another size does not take it for its own.
        rows: Their first k responses.
        prompts: Of the suite, one a row.
        reported: What came with each row, of the first k responses.
        internals: Of the first k responses of each row; None where no metric reads them.
    """

    name: str
    rows: tuple[Row, ...]
    prompts: tuple[Prompt, ...]
    reported: tuple[Reported | None, ...]
    internals: tuple[Internals, ...] | None


# Scores shards, here or elsewhere: each with its table, in whatever order they are done.
RunShards = Callable[[Iterable[Shard], Sequence[Metric]], Iterator[tuple[Shard, pa.Table]]]


def score_shard(shard: Shard, metrics: Sequence[Metric], backends: ScoringBackends) -> pa.Table:
    """The rows of a shard in `per_prompt.parquet`: the same wherever it is scored.

    Raises:
        ConfigurationError: A model cannot be loaded.
        ScoringFault: A metric failed.
    """
    sets = [ResponseSet(p.prompt, row.responses) for p, row in zip(shard.prompts, shard.rows, strict=True)]
    materials = backends.materials(
        sets,
        metrics,
        finish_reasons=[row.finish_reasons for row in shard.rows],
        internals=shard.internals,
        reported=shard.reported,
    )
    values = score_sets(materials, metrics, [row.prompt_id for row in shard.rows])
    return _table(shard, values, materials, metrics)


def per_prompt_schema(metrics: Sequence[Metric]) -> pa.Schema:
    """The columns of `per_prompt.parquet`: texts, counts, a column a metric (null where missing), and the reasons."""
    missing = pa.struct([pa.field("metric", pa.string()), pa.field("reason", pa.string())])
    return pa.schema(
        [
            pa.field("prompt_id", pa.string(), nullable=False),
            pa.field("category", pa.string(), nullable=False),
            pa.field("prompt", pa.string(), nullable=False),
            pa.field("responses", pa.list_(pa.string()), nullable=False),
            pa.field("finish_reasons", pa.list_(pa.string())),
            pa.field("answers", pa.int32(), nullable=False),  # responses that are neither blank nor placeholders
            *(pa.field(metric.id, pa.float64()) for metric in metrics),
            *([classes.FIELD] if metrics_from("partition", metrics) else []),
            *([classes.REPORTED_FIELD] if metrics_from("reported", metrics) else []),
            *([surprisal_columns.FIELD] if metrics_from("causal_lm", metrics) else []),
            pa.field("missing", pa.list_(missing), nullable=False),
        ]
    )


def _table(
    shard: Shard,
    values: Sequence[dict[str, Value]],
    materials: Materials,
    metrics: Sequence[Metric],
) -> pa.Table:
    records = []
    none: list[None] = [None] * len(shard.rows)
    of_reported = bool(metrics_from("reported", metrics))
    given = zip(
        shard.rows,
        shard.prompts,
        shard.reported,
        values,
        materials.surprisals or none,
        materials.partitions or none,
        strict=True,
    )
    for row, prompt, reported, found, reading, part in given:
        record: dict[str, object] = {
            "prompt_id": row.prompt_id,
            "category": prompt.category,
            "prompt": prompt.prompt,
            "responses": list(row.responses),
            "finish_reasons": None if row.finish_reasons is None else list(row.finish_reasons),
            "answers": sum(map(is_scorable, row.responses)),
            "missing": [{"metric": m, "reason": v.reason} for m, v in found.items() if isinstance(v, Missing)],
        }
        if part is not None:
            record[classes.COLUMN] = classes.record(part)
        if of_reported:
            record[classes.REPORTED_COLUMN] = classes.reported_record(reported)
        if reading is not None:
            record[surprisal_columns.COLUMN] = surprisal_columns.record(reading)
        records.append(record | {m: None if isinstance(v, Missing) else v for m, v in found.items()})
    return pa.Table.from_pylist(records, schema=per_prompt_schema(metrics))
