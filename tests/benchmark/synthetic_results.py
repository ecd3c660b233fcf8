"""Make any number of synthetic results, to test the board under load."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.metrics import METRICS, Metric
from benchmark.scoring.estimate import Floats
from benchmark.scoring.per_prompt import INVALID, per_prompt_schema
from benchmark.scoring.results import PER_PROMPT_FILE, RESULT_FILE, Aggregate, Counts, IntervalMethod, Result, Signature
from divbench.core.files import content_id, sha256_of
from submissions.schema import Generation, Manifest, Submitter, System

K = 10
WORDS = 3000
TEXTS = 20_000  # number of different responses in all
ROWS_A_GROUP = 64  # as the scorer writes them
SUITE, REVISION, PROFILE = "made-up", "0" * 12, "made-up"
TYPES = ("model", "inference-time method", "trained method", "baseline", "human")
MODES = ("resample", "paraphrase", "system-prompt", "in-context")


def make_results(folder: Path, submissions: int, prompts: int, metrics: int) -> None:
    """Write synthetic results that `read_result` accepts: short texts, values of known spread, a few missing.

    Args:
        metrics: Number of metrics: the first ones of `METRICS`.
    """
    rng = np.random.default_rng(0)
    chosen = METRICS[:metrics]
    words = np.array([f"word{i}" for i in range(WORDS)])
    drawn = words[rng.integers(WORDS, size=(TEXTS, 12))]
    texts = pa.array([" ".join(row[:n]) for row, n in zip(drawn, rng.integers(3, 13, size=TEXTS), strict=True)])
    names = [f"made-up-{i:05}" for i in range(prompts)]
    fixed: dict[str, Any] = {
        "prompt_id": pa.array(names),
        "category": pa.array([f"Category {i % 6}" for i in range(prompts)]),
        "prompt": pa.array([f"Say something of thing {i}." for i in range(prompts)]),
        "answers": pa.array(np.full(prompts, K, np.int32)),
    }
    hard = rng.normal(size=(len(chosen), prompts))
    folder.mkdir(parents=True)
    for number in range(submissions):
        values = rng.normal(size=(len(chosen), prompts)) + hard + rng.normal(scale=0.3, size=(len(chosen), 1))
        values[:, rng.random(prompts) < 0.002] = np.nan
        made = folder / content_id(["made-up", number])
        made.mkdir()
        _write_table(made / PER_PROMPT_FILE, fixed, texts, chosen, values, rng)
        found = _result(number, made, chosen, values)
        (made / RESULT_FILE).write_text(found.model_dump_json(), encoding="utf-8")


def _write_table(
    path: Path,
    fixed: Mapping[str, Any],
    texts: Any,
    metrics: Sequence[Metric],
    values: Floats,
    rng: np.random.Generator,
) -> None:
    schema = per_prompt_schema(metrics)
    prompts = values.shape[1]
    offsets: Any = pa.array(np.arange(prompts + 1, dtype=np.int32) * K)
    no_offsets: Any = pa.array(np.zeros(prompts + 1, np.int32))
    labels = pa.ListArray.from_arrays(offsets, pa.array(rng.integers(4, size=prompts * K).astype(np.int32)))
    columns: dict[str, Any] = {
        **fixed,
        "responses": pa.ListArray.from_arrays(offsets, texts.take(pa.array(rng.integers(TEXTS, size=prompts * K)))),
        **{name: pa.nulls(prompts, schema.field(name).type) for name in ("finish_reasons", INVALID)},
        "missing": pa.ListArray.from_arrays(no_offsets, pa.nulls(0, schema.field("missing").type.value_type)),
        **{metric.id: pa.array(row, from_pandas=True) for metric, row in zip(metrics, values, strict=True)},
    }
    for name in set(schema.names) - set(columns):
        kind = schema.field(name).type
        if not pa.types.is_struct(kind):
            columns[name] = pa.nulls(prompts, kind)
            continue
        parts = [labels if part.name == "labels" else pa.nulls(prompts, part.type) for part in kind]
        columns[name] = pa.StructArray.from_arrays(parts, fields=list(kind))
    table = pa.table([columns[name] for name in schema.names], schema=schema)
    pq.write_table(table, path, compression="zstd", row_group_size=ROWS_A_GROUP)


def _result(number: int, folder: Path, metrics: Sequence[Metric], values: Floats) -> Result:
    prompts = values.shape[1]
    means, spread = np.nanmean(values, axis=1), np.nanstd(values, axis=1)
    there = np.isfinite(values).sum(axis=1)
    scores = []
    for metric, mean, half, n in zip(metrics, means, 1.96 * spread / np.sqrt(there), there, strict=True):
        scores.append(
            Aggregate(
                metric=metric.id,
                version=metric.version,
                direction=metric.direction,
                value=float(mean),
                low=float(mean - half),
                high=float(mean + half),
                n=int(n),
                missing={"made up": prompts - int(n)},
                origin="computed",
                signature=Signature(
                    metric=metric.id,
                    version=metric.version,
                    parameters=(),
                    profile=PROFILE,
                    models=(),
                    suite=f"{SUITE}@{REVISION}",
                    k=K,
                    divbench="0.1",
                ),
            )
        )
    manifest = Manifest(
        name=f"system {number:04}",
        suite=SUITE,
        system=System.model_validate(
            {
                "type": TYPES[number % len(TYPES)],
                "model_id": f"org/model-{number}",
                "parameters": 10**9 * (1 + number % 70),
                "open_weights": number % 3 > 0,
                "licence": ("apache-2.0", "mit", None)[number % 3],
            }
        ),
        generation=Generation.model_validate({"k": K, "mode": MODES[number % len(MODES)]}),
        submitter=Submitter(name=f"submitter {number % 40}", date=date(2026, 1, 1) + timedelta(days=number % 300)),
    )
    return Result(
        result_id=folder.name,
        submission_id=content_id(["submission", number]),
        manifest=manifest,
        suite=SUITE,
        suite_revision=REVISION,
        prompts=prompts,
        profile=PROFILE,
        k=K,
        divbench="0.1.0",
        libraries={},
        interval=IntervalMethod(level=0.95, resamples=1000, seed=0),
        counts=Counts(prompts=prompts, responses=prompts * K, blank=0, placeholder=0, cut_off=0, repeated=0),
        scores=scores,
        per_prompt_sha256=sha256_of(folder / PER_PROMPT_FILE),
    )
