"""Splits a submission into shards of prompts and scores each to its rows of `per_prompt.parquet`.

Shards are scored independently of each other, so a shard has the same bytes wherever and whenever it is scored: one
after the other in this process, or on several machines (cluster/).
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

import pyarrow as pa

from benchmark.metrics import Metric
from benchmark.metrics.internals import Internals
from benchmark.metrics.metric import Missing
from benchmark.models.devices import ModelRun
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import Materials, input_of, make_inputs, score_sets
from benchmark.scoring.internals_file import InternalsFile
from benchmark.scoring.per_prompt import (
    CLASSES,
    INVALID,
    PROBABILITIES,
    REPORTED_CLASSES,
    SURPRISALS,
    class_record,
    per_prompt_schema,
    reported_record,
    surprisal_record,
)
from benchmark.surprisal.engine import ResponseSet
from benchmark.validity.stated import StatedValidity, Verdicts
from datasets_build.schema import Prompt, Suite
from divbench.core.files import content_id
from submissions.checking.response_kinds import is_scorable
from submissions.schema import Reported, Row
from submissions.storage.submission_folders import Submission

SHARD_PROMPTS = 64
FIRST_PROMPTS = 8  # so that the first minute's work is saved, too; the second shard has the rest of `SHARD_PROMPTS`
SHARD_CHARACTERS = 4_000_000  # of responses; some ten times those of usual shards. Long ones progress and resume, too
_RUNS = b"divbench.runs"  # of the schema's metadata: how models ran; not part of a result's table
_BEYOND = b"divbench.beyond"  # likewise: number of responses longer than the embedder reads
Part = TypeVar("Part", Row, ResponseSet)


@dataclass(frozen=True, slots=True)
class Shard:
    """Prompts that are scored together, with everything that scoring needs except the models."""

    name: str  # name of its file, derived from its prompts, so that a run with shards of another size does not reuse it
    rows: tuple[Row, ...]  # rows of the submission, each with its first k responses
    prompts: tuple[Prompt, ...]  # prompts of the suite, one per row
    # Reported values of the first k responses of each row; None for a row without.
    reported: tuple[Reported | None, ...]
    # Internals of the first k responses of each row; None if no metric reads them.
    internals: tuple[Internals, ...] | None
    verdicts: tuple[Verdicts | None, ...] | None = (
        None  # what is stated of the validity of each row's first k responses
    )


# Scores shards, here or elsewhere, and yields each with its table in the order in which they finish.
RunShards = Callable[[Iterable[Shard], Sequence[Metric]], Iterator[tuple[Shard, pa.Table]]]


def shards_of(
    submission: Submission,
    suite: Suite,
    k: int,
    internals: InternalsFile | None,
    stated: StatedValidity | None = None,
) -> Iterator[Shard]:
    """Yield the submission in shards, in the suite's order, which the last digits of embeddings depend on.

    Rows are streamed; a file in another order is sorted in memory.
    """
    reported: dict[str, Reported] = next(iter(submission.reported().values()), {})  # of the newest version
    rows = submission.rows()
    if not submission.in_suite_order:
        rows = iter(sorted(rows, key=lambda row: suite.position[row.prompt_id]))
    for taken in divided(row.first(k) for row in rows):
        ids = [row.prompt_id for row in taken]
        yield Shard(
            name=content_id(ids),
            rows=taken,
            prompts=tuple(suite.by_id[item] for item in ids),
            reported=tuple(reported[item].first(k) if item in reported else None for item in ids),
            internals=None if internals is None else tuple(item.take(range(k)) for item in internals.of(ids)),
            verdicts=None if stated is None else tuple(stated.verdicts.get(item, (None,) * k)[:k] for item in ids),
        )


def divided(rows: Iterable[Part]) -> Iterator[tuple[Part, ...]]:
    """Divide rows into shards: of `SHARD_PROMPTS` prompts, or fewer at first and with `SHARD_CHARACTERS`."""
    part: list[Part] = []
    size = 0
    for number, row in enumerate(rows, start=1):
        part.append(row)
        size += sum(map(len, row.responses))
        if number == FIRST_PROMPTS or number % SHARD_PROMPTS == 0 or size >= SHARD_CHARACTERS:
            yield tuple(part)
            part, size = [], 0
    if part:
        yield tuple(part)


def score_shards(
    shards: Iterable[Shard], metrics: Sequence[Metric], backends: ScoringBackends
) -> Iterator[tuple[Shard, pa.Table]]:
    """Score shards in turn; see `score_shard`.

    Models run on this thread, so an interruption stops them at once. Meanwhile another thread computes the metrics of
    the previous shard, so that a GPU does not wait for them.
    """
    before: tuple[Shard, Future[pa.Table]] | None = None
    with ThreadPoolExecutor(1, "metrics") as thread:
        for shard in shards:
            read = _read(shard, metrics, backends)
            if before is not None:
                yield before[0], before[1].result()
            before = shard, thread.submit(_table, read, metrics)
        if before is not None:
            yield before[0], before[1].result()


def score_shard(shard: Shard, metrics: Sequence[Metric], backends: ScoringBackends) -> pa.Table:
    """Return the rows of a shard in `per_prompt.parquet`."""
    return _table(_read(shard, metrics, backends), metrics)


@dataclass(frozen=True, slots=True)
class _ReadShard:
    """A shard with the outputs of all models; all further steps are pure functions."""

    shard: Shard
    materials: Materials
    inputs: dict[str, Sequence[Any]]
    runs: list[ModelRun]
    beyond: int | None  # number of responses longer than the embedder reads; None if nothing was embedded


def _read(shard: Shard, metrics: Sequence[Metric], backends: ScoringBackends) -> _ReadShard:
    before = backends.embedded, backends.beyond
    materials = backends.materials(
        sets_of(shard),
        metrics,
        finish_reasons=[row.finish_reasons for row in shard.rows],
        internals=shard.internals,
        reported=shard.reported,
        verdicts=shard.verdicts,
    )
    inputs = make_inputs(materials, [metric for metric in metrics if input_of(metric).sources])
    runs = [replace(run, prompts=len(shard.rows)) for run in backends.runs()]
    beyond = backends.beyond - before[1] if backends.embedded > before[0] else None
    return _ReadShard(shard, materials, inputs, runs, beyond)


def sets_of(shard: Shard) -> list[ResponseSet]:
    """Return the response set of each row."""
    return [ResponseSet(p.prompt, row.responses) for p, row in zip(shard.prompts, shard.rows, strict=True)]


def runs_of(shards: Iterable[pa.Schema]) -> list[ModelRun]:
    """Read how the models ran, on any machine, from the schemas of finished shards; equal runs are merged."""
    prompts_of: Counter[ModelRun] = Counter()
    for schema in shards:
        for document in json.loads((schema.metadata or {}).get(_RUNS, b"[]")):
            run = ModelRun(**document | {"fallbacks": tuple(document["fallbacks"])})
            prompts_of[replace(run, prompts=0)] += run.prompts
    return [replace(run, prompts=prompts) for run, prompts in sorted(prompts_of.items(), key=lambda item: str(item[0]))]


def beyond_of(shards: Iterable[pa.Schema]) -> int | None:
    """Read how many responses were longer than the embedder reads from the schemas of finished shards."""
    counts = [json.loads((schema.metadata or {}).get(_BEYOND, b"null")) for schema in shards]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _table(read: _ReadShard, metrics: Sequence[Metric]) -> pa.Table:
    """Compute the metrics of a shard from the models' outputs."""
    shard, materials = read.shard, read.materials
    values = score_sets(materials, metrics, [row.prompt_id for row in shard.rows], read.inputs)
    schema = per_prompt_schema(metrics)
    records = []
    for i, (row, scores) in enumerate(zip(shard.rows, values, strict=True)):
        record: dict[str, object] = {
            "prompt_id": row.prompt_id,
            "category": shard.prompts[i].category,
            "prompt": shard.prompts[i].prompt,
            "responses": list(row.responses),
            "finish_reasons": None if row.finish_reasons is None else list(row.finish_reasons),
            "answers": sum(map(is_scorable, row.responses)),
            "missing": [{"metric": m, "reason": v.reason} for m, v in scores.items() if isinstance(v, Missing)],
        }
        if materials.partitions is not None:
            record[CLASSES] = class_record(materials.partitions[i])
        if materials.reasons is not None:
            reasons = materials.reasons[i]
            record[INVALID] = None if isinstance(reasons, Missing) else list(reasons)
        if PROBABILITIES in schema.names and materials.estimates is not None:
            estimates = materials.estimates[i]
            rounded = None if isinstance(estimates, Missing) else [round(p, 3) for p in estimates.probabilities]
            record[PROBABILITIES] = rounded
        if materials.surprisals is not None:
            record[SURPRISALS] = surprisal_record(materials.surprisals[i])
        if REPORTED_CLASSES in schema.names:
            record[REPORTED_CLASSES] = reported_record(shard.reported[i])
        records.append(record | {m: None if isinstance(v, Missing) else v for m, v in scores.items()})
    metadata = {_RUNS: json.dumps([asdict(run) for run in read.runs]), _BEYOND: json.dumps(read.beyond)}
    return pa.Table.from_pylist(records, schema=schema).replace_schema_metadata(metadata)
