"""Scores a checked submission with a profile and writes the result folder. The same input gives the same bytes.

Rows are streamed in shards. Each finished shard is a file in a hidden folder beside the result, so an interrupted run
resumes with the remaining shards. The result folder is renamed into place once it is complete.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shutil import rmtree
from typing import Any
from zlib import ZLIB_RUNTIME_VERSION

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from benchmark.metrics import METRICS, Metric
from benchmark.models.devices import ModelRun
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.estimate import LEVEL, bootstrap_means
from benchmark.scoring.inputs import computed, metrics_from
from benchmark.scoring.internals_file import InternalsFile
from benchmark.scoring.per_prompt import INVALID, order_error, per_prompt_schema
from benchmark.scoring.profiles import Profile
from benchmark.scoring.results import (
    PER_PROMPT_FILE,
    RESULT_FILE,
    Aggregate,
    Counts,
    IntervalMethod,
    Result,
    ResultKey,
    read_result,
    sign,
)
from benchmark.scoring.shards import (
    SHARD_PROMPTS,
    RunShards,
    Shard,
    beyond_of,
    runs_of,
    score_shards,
    sets_of,
    shards_of,
)
from benchmark.validity.stated import StatedValidity
from datasets_build.schema import Suite
from divbench.core.errors import ConfigurationError
from divbench.core.files import atomic_file, atomic_folder, content_id, readable_json, sha256_of
from submissions.checking.response_kinds import ResponseCounts
from submissions.storage.submission_folders import Submission

_LIBRARIES = ("numpy", "scipy", "pandas", "rapidfuzz", "rouge-score", "sacrebleu", "scikit-learn")
_MODEL_LIBRARIES = ("anyascii", "sentence-transformers", "torch", "transformers")


@dataclass(frozen=True, slots=True)
class Scored:
    """Outcome of a run of the scorer."""

    folder: Path
    result: Result  # content of its `result.json`
    recognised: bool  # whether the result already existed, so that nothing was computed
    resumed: int  # number of prompts scored by an earlier, interrupted run


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run; part of the result's identity."""

    k: int | None = None  # use the first k responses of each prompt; None: all
    resamples: int = 10_000
    seed: int = 0


def score_submission(
    submission: Submission,
    suite: Suite,
    backends: ScoringBackends,
    out: Path,
    options: Options = Options(),
    *,
    metrics: tuple[Metric, ...] = METRICS,
    internals: InternalsFile | None = None,
    stated: StatedValidity | None = None,
    progress: Callable[[int], None] = lambda prompts: None,
    run: RunShards | None = None,
) -> Scored:
    """Score a submission and write its result folder."""
    profile = backends.profile
    chosen = profile.metrics(metrics, internals=internals is not None)
    key = _key(submission, suite, profile, options, chosen, internals, stated)
    name = content_id(key.as_json())
    folder, partial = out / name, out / f".{name}.partial"
    if isinstance(done := read_result(folder), Result):
        return Scored(folder, done, recognised=True, resumed=0)
    out.mkdir(parents=True, exist_ok=True)
    with _locked(out / f".lock-{name}"):  # another process may be writing the same result; then it can be reused here
        if isinstance(done := read_result(folder), Result):
            return Scored(folder, done, recognised=True, resumed=0)
        if folder.exists():
            rmtree(folder)  # damaged: its files are inconsistent
        partial.mkdir(exist_ok=True)
        files: list[Path] = []
        schema = per_prompt_schema(chosen)
        counts, resumed, finished = ResponseCounts(), 0, 0
        backends.announce(map(sets_of, shards_of(submission, suite, key.k, None)), chosen)

        def unfinished() -> Iterator[Shard]:
            nonlocal resumed, finished
            read = internals if metrics_from("internals", chosen) else None
            for shard in shards_of(submission, suite, key.k, read, stated):
                for row in shard.rows:
                    counts.add(row)
                files.append(partial / f"{shard.name}.parquet")
                if not _is_finished(files[-1], shard, schema):
                    yield shard
                    continue
                resumed += len(shard.rows)
                finished += len(shard.rows)
                progress(finished)

        scored = score_shards(unfinished(), chosen, backends) if run is None else run(unfinished(), chosen)
        for shard, table in scored:
            with atomic_file(partial / f"{shard.name}.parquet") as temporary:
                pq.write_table(table, temporary, compression="zstd")
            finished += len(shard.rows)
            progress(finished)
        with atomic_folder(folder) as temporary_folder:
            runs, beyond = _merge(files, temporary_folder / PER_PROMPT_FILE)
            columns = ["missing", *(metric.id for metric in chosen)]
            scores = aggregates(pq.read_table(temporary_folder / PER_PROMPT_FILE, columns=columns), chosen, key)
            of = asdict(counts) | {"beyond": beyond}
            result = _result(
                name, submission, suite, profile, key, chosen, scores, of, temporary_folder / PER_PROMPT_FILE
            )
            result = result.model_copy(update={"provenance": runs})
            text = readable_json(result.model_dump(mode="json"))
            (temporary_folder / RESULT_FILE).write_text(text, encoding="utf-8", newline="\n")
        for left in out.glob(f".{name}.*"):  # the shards, and temporary files of a killed run
            rmtree(left)
    return Scored(folder, result, recognised=False, resumed=resumed)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file, and remove it if the work succeeds."""
    with FileLock(path):
        yield
        with suppress(PermissionError):  # Windows removes no open file; filelock removes it there
            path.unlink(missing_ok=True)


def result_id(
    submission: Submission,
    suite: Suite,
    profile: Profile,
    options: Options = Options(),
    *,
    metrics: tuple[Metric, ...] = METRICS,
) -> str:
    """Return the id of the result that `score_submission` would write without internals; no response is read."""
    return content_id(_key(submission, suite, profile, options, profile.metrics(metrics), None).as_json())


def _key(
    submission: Submission,
    suite: Suite,
    profile: Profile,
    options: Options,
    chosen: tuple[Metric, ...],
    internals: InternalsFile | None,
    stated: StatedValidity | None = None,
) -> ResultKey:
    has = submission.manifest.generation.k
    k = has if options.k is None else options.k
    if not 1 <= k <= has:
        raise ConfigurationError(
            f"k = {k}, but {submission.manifest.name} has {has} responses per prompt", "choose a smaller k"
        )
    origin = submission.manifest.origin
    reported_by = origin.reported if origin else None
    read = None if internals is None else internals.how
    reported_version = submission.newest_reported() if metrics_from("reported", chosen) else None
    return ResultKey(
        submission_id=submission.id,
        suite=f"{suite.name}@{suite.revision}",
        profile=profile.name,
        k=k,
        signatures=tuple(sign(m, profile, suite, k, reported_by, read, reported_version) for m in chosen),
        level=LEVEL,
        resamples=options.resamples,
        seed=options.seed,
        internals=internals.digest if internals is not None and metrics_from("internals", chosen) else None,
        stated=None if stated is None else stated.digest,
    )


def _is_finished(path: Path, shard: Shard, schema: pa.Schema) -> bool:
    """Whether a file has a shard's whole table; not if it is damaged, or from a version with other columns."""
    try:
        with pq.ParquetFile(path) as file:
            return bool(file.metadata.num_rows == len(shard.rows)) and schema.equals(file.schema_arrow)
    except (OSError, pa.ArrowException):
        return False


def _merge(shards: Sequence[Path], path: Path) -> tuple[list[ModelRun], int | None]:
    """Stream the tables of all shards into one file; return how the models ran, and the texts beyond the embedder."""
    schemas = [pq.read_schema(shard) for shard in shards]
    with pq.ParquetWriter(path, schemas[0].remove_metadata(), compression="zstd") as writer:
        for shard in shards:
            writer.write_table(pq.read_table(shard).replace_schema_metadata(None))
    return runs_of(schemas), beyond_of(schemas)


def _result(
    name: str,
    submission: Submission,
    suite: Suite,
    profile: Profile,
    key: ResultKey,
    chosen: tuple[Metric, ...],
    scores: list[Aggregate],
    counts: dict[str, Any],
    path: Path,
) -> Result:
    """Return the content of `result.json`, computed from the per-prompt table at a path."""
    return Result(
        result_id=name,
        submission_id=submission.id,
        manifest=submission.manifest,
        suite=suite.name,
        suite_revision=suite.revision,
        prompts=len(suite.prompts),
        profile=profile.name,
        k=key.k,
        divbench=version("divbench"),
        libraries=library_versions(profile),
        interval=IntervalMethod(level=key.level, resamples=key.resamples, seed=key.seed),
        counts=Counts(**counts, invalid=_invalid(path) if metrics_from("validity", chosen) else None),
        scores=scores,
        order_error=order_error(path, profile.orders) if metrics_from("causal_lm", chosen) else None,
        per_prompt_sha256=sha256_of(path),
    )


def _invalid(path: Path) -> dict[str, int]:
    """Count the invalid responses by reason."""
    rows = pq.read_table(path, columns=[INVALID])[INVALID].to_pylist()
    counts = Counter(reason for row in rows for reason in row or () if reason is not None)
    return dict(sorted(counts.items()))


def aggregates(table: pa.Table, metrics: Sequence[Metric], key: ResultKey) -> list[Aggregate]:
    """Return the mean of each metric over prompts with its interval, and the number of prompts missing by reason."""
    values = np.column_stack([table[m.id].to_numpy(zero_copy_only=False).astype(np.float64) for m in metrics])
    reasons: dict[str, Counter[str]] = {metric.id: Counter() for metric in metrics}
    for batch in table.select(["missing"]).to_batches(max_chunksize=SHARD_PROMPTS):
        for row in batch.to_pylist():
            for item in row["missing"]:
                reasons[item["metric"]][item["reason"]] += 1
    means = bootstrap_means(values, resamples=key.resamples, level=key.level, seed=key.seed)
    return [
        Aggregate(
            metric=metric.id,
            version=metric.version,
            direction=metric.direction,
            value=mean.value,
            low=mean.low,
            high=mean.high,
            n=mean.n or 0,
            missing=dict(sorted(reasons[metric.id].items())),
            origin="computed" if computed([metric]) else "reported",
            signature=signature,
        )
        for metric, mean, signature in zip(metrics, means, key.signatures, strict=True)
    ]


def library_versions(profile: Profile) -> dict[str, str]:
    """Return the versions of libraries that the last digits of a profile's numbers may depend on."""
    versions = {"zlib": ZLIB_RUNTIME_VERSION}
    for name in _LIBRARIES + (_MODEL_LIBRARIES if profile.has_models else ()):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return dict(sorted(versions.items()))
