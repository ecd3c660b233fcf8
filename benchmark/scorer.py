"""The scorer: a checked submission and a profile → a result folder. Streaming, resumable, same input same bytes.

Work goes by shards of 64 prompts. Each finished shard is a file in a hidden folder beside the result; a run that is
interrupted goes on after the last of them. The result folder appears in one rename, when everything is in it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import islice, pairwise
from pathlib import Path
from shutil import rmtree
from zlib import ZLIB_RUNTIME_VERSION

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from benchmark import parted as classes
from benchmark import readings
from benchmark.engine import Read, ResponseSet, Unread
from benchmark.instruments import Instruments, reads_partitions, reads_surprisals
from benchmark.internals.file import InternalsFile
from benchmark.metrics import METRICS, Metric
from benchmark.metrics.internals import Internals
from benchmark.parted import Parted
from benchmark.profiles import Profile
from benchmark.results import PER_PROMPT_FILE, RESULT_FILE, read_result
from benchmark.schema import Aggregate, Counts, IntervalMethod, Result, ResultKey, sign
from benchmark.sets import Missing, Value
from benchmark.statistics import bootstrap_means
from datasets_build.errors import ConfigurationError
from datasets_build.files import content_id, readable_json, sha256_of, whole_file, whole_folder
from datasets_build.schema import Suite
from submissions.schema import Reported, Row
from submissions.store import Submission
from submissions.texts import ResponseCounts, is_answer

SHARD_PROMPTS = 64
_LIBRARIES = ("numpy", "scipy", "pandas", "rapidfuzz", "rouge-score", "sacrebleu", "scikit-learn")
_MODEL_LIBRARIES = ("sentence-transformers", "torch", "transformers")


@dataclass(frozen=True, slots=True)
class Scored:
    """What a run of the scorer gave.

    Attributes:
        folder: Of the result.
        result: As in its `result.json`.
        recognised: It was there already, and nothing was computed.
        resumed: Prompts that an interrupted run had done before.
    """

    folder: Path
    result: Result
    recognised: bool
    resumed: int


@dataclass(frozen=True, slots=True)
class Options:
    """What may be chosen of a run; part of the result's identity.

    Attributes:
        k: Use the first k responses of each prompt; None: all.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
    """

    k: int | None = None
    resamples: int = 10_000
    seed: int = 0


def score_submission(
    submission: Submission,
    suite: Suite,
    instruments: Instruments,
    out: Path,
    options: Options = Options(),
    *,
    metrics: tuple[Metric, ...] = METRICS,
    internals: InternalsFile | None = None,
    progress: Callable[[int], None] = lambda prompts: None,
) -> Scored:
    """Score a submission and write the result.

    Args:
        submission: Checked.
        suite: That it answers.
        instruments: A profile and its models; they may serve for several submissions.
        out: The folder of results; this one goes to `out/<result id>`.
        options: See `Options`.
        metrics: Of which those that the profile can compute are.
        internals: What the model that answered says of its responses; None: metrics of that are left out.
        progress: Called with the number of prompts done.

    Raises:
        InputError: The internals lack a prompt, or are damaged.
        ConfigurationError: k is more than the submission has, or a model cannot be loaded.
        ScoringFault: A metric failed.
    """
    profile = instruments.profile
    chosen = profile.metrics(metrics, internals=internals is not None)
    key = _key(submission, suite, profile, options, chosen, internals)
    name = content_id(key.as_json())
    folder = out / name
    if isinstance(done := read_result(folder), Result):
        return Scored(folder, done, recognised=True, resumed=0)
    out.mkdir(parents=True, exist_ok=True)
    lock = out / f".lock-{name}"
    with FileLock(lock):  # another process may be at the same work: then its result is ours, too
        if isinstance(done := read_result(folder), Result):
            lock.unlink(missing_ok=True)
            return Scored(folder, done, recognised=True, resumed=0)
        if folder.exists():
            rmtree(folder)  # damaged: its files do not fit together
        partial = out / f".{name}.partial"
        partial.mkdir(exist_ok=True)
        work = _Work(suite, chosen, key, partial, submission.reported(), instruments, internals)
        result, resumed = _score(submission, work, folder, progress)
        for unfinished in out.glob(f".{name}.*"):  # the shards, and what a killed run left of its last step
            rmtree(unfinished)
        lock.unlink(missing_ok=True)
    return Scored(folder, result, recognised=False, resumed=resumed)


def result_id(
    submission: Submission,
    suite: Suite,
    profile: Profile,
    options: Options = Options(),
    *,
    metrics: tuple[Metric, ...] = METRICS,
) -> str:
    """The id of the result that `score_submission` would write without internals. No row is read.

    Raises:
        ConfigurationError: As in `score_submission`.
    """
    return content_id(_key(submission, suite, profile, options, profile.metrics(metrics), None).as_json())


def _score(submission: Submission, work: "_Work", folder: Path, progress: Callable[[int], None]) -> tuple[Result, int]:
    """The result, written to its folder, and the number of prompts that an earlier run had done."""
    shards, resumed = [], 0
    counts = ResponseCounts()
    rows = _in_order(submission, work.suite)
    while shard := list(islice(rows, SHARD_PROMPTS)):
        shard = [_first_k(row, work.key.k) for row in shard]
        for row in shard:
            counts.add(row)
        path, was_there = work.shard(shard)
        resumed += len(shard) if was_there else 0
        shards.append(path)
        progress(counts.prompts)
    with whole_folder(folder) as made:
        _merge(shards, made / PER_PROMPT_FILE)
        result = _result(folder.name, submission, work, counts, made)
        (made / RESULT_FILE).write_text(readable_json(result.model_dump(mode="json")), encoding="utf-8", newline="\n")
    return result, resumed


def _key(
    submission: Submission,
    suite: Suite,
    profile: Profile,
    options: Options,
    chosen: tuple[Metric, ...],
    internals: InternalsFile | None,
) -> ResultKey:
    has = submission.manifest.generation.k
    k = has if options.k is None else options.k
    if not 1 <= k <= has:
        raise ConfigurationError(f"k = {k}, but the submission has {has} responses a prompt", "choose k among those")
    origin = submission.manifest.origin
    reported_by = origin.reported if origin else None
    return ResultKey(
        submission_id=submission.id,
        suite=f"{suite.name}@{suite.revision}",
        profile=profile.name,
        k=k,
        signatures=tuple(
            str(sign(m, profile, suite, k, reported_by, None if internals is None else internals.how)) for m in chosen
        ),
        level=0.95,
        resamples=options.resamples,
        seed=options.seed,
        internals=None if internals is None or not _reads_internals(chosen) else internals.digest,
    )


def _reads_internals(metrics: Sequence[Metric]) -> bool:
    return any(metric.reads.endswith("internals") for metric in metrics)


def _in_order(submission: Submission, suite: Suite) -> Iterator[Row]:
    """The rows in the suite's order, which shards and so the last digits of embeddings follow; streamed if they can be.

    A file in another order is sorted in memory.
    """
    places = (suite.position[row.prompt_id] for row in submission.rows())
    if all(here < after for here, after in pairwise(places)):
        return submission.rows()
    return iter(sorted(submission.rows(), key=lambda row: suite.position[row.prompt_id]))


def _first_k(row: Row, k: int) -> Row:
    reasons = row.finish_reasons
    return Row(row.number, row.prompt_id, row.prompt, row.responses[:k], None if reasons is None else reasons[:k])


def first_k_reported(reported: Reported, k: int) -> Reported:
    """Reported values of the first k responses. A class's first response is among any that has one of the class."""
    scores = reported.generation_scores
    partition = reported.partition[:k]
    whole = k >= len(reported.partition)
    return Reported(
        partition=partition,
        generation_scores=None if scores is None else scores[:k],
        distinct=len(set(partition)),
        utility=reported.utility if whole else None,
    )


@dataclass(slots=True)
class _Work:
    """What every shard needs."""

    suite: Suite
    metrics: tuple[Metric, ...]
    key: ResultKey
    partial: Path
    reported: dict[str, Reported]
    instruments: Instruments
    internals: InternalsFile | None

    def shard(self, rows: list[Row]) -> tuple[Path, bool]:
        """The file of a shard, and whether it was there from an earlier run."""
        # Named by its prompts, so that a run with shards of another size does not take it for its own.
        path = self.partial / f"{content_id([row.prompt_id for row in rows])}.parquet"
        if path.exists():
            return path, True
        given = [self.reported.get(row.prompt_id) for row in rows]
        sets = [ResponseSet(self.suite.by_id[row.prompt_id].prompt, row.responses) for row in rows]
        parted = self.instruments.part(sets, self.metrics, [row.finish_reasons for row in rows])
        found = self.instruments.read(sets, self.metrics)
        values = self.instruments.score(
            sets,
            self.metrics,
            readings=found,
            parted=parted,
            internals=self._internals(rows),
            reported=[None if r is None else first_k_reported(r, self.key.k) for r in given],
            names=[row.prompt_id for row in rows],
        )
        with whole_file(path) as temporary:
            pq.write_table(_table(rows, values, found, parted, self.metrics, self.suite), temporary, compression="zstd")
        return path, False

    def _internals(self, rows: list[Row]) -> list[Internals] | None:
        if self.internals is None or not _reads_internals(self.metrics):
            return None
        used = range(self.key.k)
        return [each.take(used) for each in self.internals.of([row.prompt_id for row in rows])]


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
            *([classes.FIELD] if reads_partitions(metrics) else []),
            *([readings.FIELD] if reads_surprisals(metrics) else []),
            pa.field("missing", pa.list_(missing), nullable=False),
        ]
    )


def _table(
    rows: Sequence[Row],
    values: Sequence[dict[str, Value]],
    read: Sequence[Read | Unread] | None,
    parted: Sequence[Parted | Missing] | None,
    metrics: Sequence[Metric],
    suite: Suite,
) -> pa.Table:
    records = []
    none: list[None] = [None] * len(rows)
    for row, found, reading, part in zip(rows, values, read or none, parted or none, strict=True):
        prompt = suite.by_id[row.prompt_id]
        record: dict[str, object] = {
            "prompt_id": row.prompt_id,
            "category": prompt.category,
            "prompt": prompt.prompt,
            "responses": list(row.responses),
            "finish_reasons": None if row.finish_reasons is None else list(row.finish_reasons),
            "answers": sum(map(is_answer, row.responses)),
            "missing": [{"metric": m, "reason": v.reason} for m, v in found.items() if isinstance(v, Missing)],
        }
        if part is not None:
            record[classes.COLUMN] = classes.record(part)
        if reading is not None:
            record[readings.COLUMN] = readings.record(reading)
        records.append(record | {m: None if isinstance(v, Missing) else v for m, v in found.items()})
    return pa.Table.from_pylist(records, schema=per_prompt_schema(metrics))


def _merge(shards: Sequence[Path], path: Path) -> None:
    """All shards in one file, streamed."""
    with pq.ParquetWriter(path, pq.read_schema(shards[0]), compression="zstd") as writer:
        for shard in shards:
            writer.write_table(pq.read_table(shard))


def _result(name: str, submission: Submission, work: _Work, counts: ResponseCounts, folder: Path) -> Result:
    """What `result.json` says, from the table of prompts beside it."""
    path = folder / PER_PROMPT_FILE
    key, profile = work.key, work.instruments.profile
    return Result(
        result_id=name,
        submission_id=submission.id,
        manifest=submission.manifest,
        suite=work.suite.name,
        suite_revision=work.suite.revision,
        prompts=len(work.suite.prompts),
        profile=work.instruments.profile.name,
        k=key.k,
        divbench=version("divbench"),
        libraries=_versions(_LIBRARIES + (_MODEL_LIBRARIES if profile.has_models else ())),
        interval=IntervalMethod(level=key.level, resamples=key.resamples, seed=key.seed),
        counts=Counts(**asdict(counts)),
        scores=_aggregates(path, work.metrics, key),
        order_error=readings.order_error(path, profile.orders) if reads_surprisals(work.metrics) else None,
        per_prompt_sha256=sha256_of(path),
    )


def _aggregates(path: Path, metrics: Sequence[Metric], key: ResultKey) -> list[Aggregate]:
    """The mean of each metric over prompts with its interval, and what is missing."""
    columns = pq.read_table(path, columns=[metric.id for metric in metrics])
    values = np.column_stack([columns[m.id].to_numpy(zero_copy_only=False).astype(np.float64) for m in metrics])
    reasons: dict[str, Counter[str]] = {metric.id: Counter() for metric in metrics}
    for batch in pq.ParquetFile(path).iter_batches(columns=["missing"]):
        for row in batch.to_pylist():
            for item in row["missing"]:
                reasons[item["metric"]][item["reason"]] += 1
    intervals = bootstrap_means(values, resamples=key.resamples, level=key.level, seed=key.seed)
    made = []
    for column, metric, interval, signature in zip(values.T, metrics, intervals, key.signatures, strict=True):
        there = column[np.isfinite(column)]
        made.append(
            Aggregate(
                metric=metric.id,
                version=metric.version,
                direction=metric.direction,
                value=float(np.mean(there)) if len(there) else None,
                low=interval.low if interval else None,
                high=interval.high if interval else None,
                n=len(there),
                missing=dict(sorted(reasons[metric.id].items())),
                origin="reported" if metric.reads == "reported" else "computed",
                signature=signature,
            )
        )
    return made


def _versions(names: Sequence[str]) -> dict[str, str]:
    """Versions of libraries that numbers may depend on in their last digits."""
    found = {"zlib": ZLIB_RUNTIME_VERSION}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return dict(sorted(found.items()))
