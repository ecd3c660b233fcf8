"""Reads and writes `internals.parquet`: token likelihoods and hidden-state statistics, one row per prompt.

The file is stored in the submission folder and identifies the submission by its content hash. It holds sums of token
log-likelihoods and covariances of hidden states over responses, which suffice for every score, also of the first k
responses alone. The metadata of the file record how the model was run. Unknown numbers are null.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from benchmark.metrics.eigenscore import Covariances
from benchmark.metrics.internals import Internals, ResponseScores
from benchmark.metrics.metric import Unscorable
from divbench.core.errors import ConfigurationError, InputError
from divbench.core.files import atomic_file, sha256_of
from submissions.schema import MAX_K
from submissions.storage.submission_folders import Submission
from submissions.untrusted.findings import Findings, Rejected
from submissions.untrusted.parquet_files import open_parquet

INTERNALS_FILE = "internals.parquet"
ROWS_A_GROUP = 64
MAX_BYTES = 8 * 2**30  # decoded; they are read from a temporary file
_KEY = b"divbench.internals"
_SUMS = ("log_likelihood", "largest", "normaliser", "entropy")
_HINT = "compute the internals again: divbench metrics internals"
Floats = NDArray[np.float64]

SCHEMA = pa.schema(
    [
        pa.field("prompt_id", pa.string(), nullable=False),
        pa.field("tokens", pa.list_(pa.int64()), nullable=False),  # a response; null where nothing could be read
        *(pa.field(name, pa.list_(pa.float64()), nullable=False) for name in _SUMS),  # sums over its tokens, nats
        pa.field("greedy_tokens", pa.int64()),
        *(pa.field(f"greedy_{name}", pa.float64()) for name in _SUMS),
        pa.field("last", pa.list_(pa.float64())),  # lower triangle of the covariance, row by row
        pa.field("mean", pa.list_(pa.float64())),  # likewise, layer after layer
    ]
)


class Part(BaseModel):
    """Base of the parts of a record: no extra fields, finite numbers only."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Drawing(Part):
    """Sampling parameters under which `largest` was computed."""

    temperature: float
    top_k: int | None
    top_p: float


class HowRead(Part):
    """How internals were read."""

    schema_version: Literal[1] = 1
    submission_id: str
    k: Annotated[int, Field(ge=1, le=MAX_K)]
    model: str  # signature of the model: name, revision, dtype, device, attention
    blocks: Annotated[int, Field(ge=1)]
    features: Annotated[int, Field(ge=1)]
    original_layer: int | None  # layer of E_original; None if no states were read
    average_layers: tuple[int, ...]  # layers of E_average; empty if no states were read
    # *sampled*: the sampled tokens themselves; *text*: the response's text, tokenised again.
    tokens: Literal["sampled", "text"]
    drawing: Drawing | None  # sampling parameters; None if unknown, in which case `largest` is unknown as well
    prompt: str  # format of the prompt, such as `chat template` or `template "{prompt}"`
    # How the reading departs from what the manifest states, if it does: another format of the prompt, or another length
    # of the greedy response. Part of the signature, because the numbers change.
    changed: str | None = None

    @property
    def signature(self) -> str:
        """Return the part of a metric's signature that describes the model, without what belongs to the submission."""
        layers = "+".join(map(str, self.average_layers))
        text = f"{self.model},layers:{self.original_layer}/{layers},tokens:{self.tokens}"
        return text if self.changed is None else f"{text},{self.changed}"


def write_internals(path: Path, how: HowRead, rows: Iterable[tuple[str, Internals]]) -> None:
    """Write the file atomically, streaming the rows."""
    metadata = how.model_dump_json(exclude={"changed"} if how.changed is None else None)
    schema = SCHEMA.with_metadata({_KEY: metadata.encode()})
    with atomic_file(path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
        group: list[dict[str, Any]] = []
        for prompt_id, internals in rows:
            group.append(record(prompt_id, internals))
            if len(group) == ROWS_A_GROUP:
                writer.write_table(pa.Table.from_pylist(group, schema=schema))
                group = []
        writer.write_table(pa.Table.from_pylist(group, schema=schema))


def record(prompt_id: str, internals: Internals) -> dict[str, Any]:
    """Return a row of the file."""
    responses, greedy = internals.responses, internals.greedy
    row: dict[str, Any] = {
        "prompt_id": prompt_id,
        "tokens": [None if response is None else response.tokens for response in responses],
    }
    row["greedy_tokens"] = None if greedy is None else greedy.tokens
    for name in _SUMS:
        row[name] = [None if response is None else getattr(response, name) for response in responses]
        row[f"greedy_{name}"] = None if greedy is None else getattr(greedy, name)
    for name, states in (("last", internals.last), ("mean", internals.mean)):
        row[name] = None if states is None else _packed(states.matrices)
    return row


def internals_of(row: dict[str, Any], how: HowRead) -> Internals:
    """Return the internals in a row of the file; the inverse of `record`."""
    columns = [row["tokens"], *(row[name] for name in _SUMS)]
    responses = tuple(_scores(*values) for values in zip(*columns, strict=True))
    if len(responses) != how.k:
        raise ValueError(f"{len(responses)} responses, wanted {how.k}")
    greedy = _scores(row["greedy_tokens"], *(row[f"greedy_{name}"] for name in _SUMS))
    originals = () if how.original_layer is None else (how.original_layer,)
    last, mean = _unpacked(row["last"], originals, how), _unpacked(row["mean"], how.average_layers, how)
    return Internals(
        responses,
        greedy,
        None if last is None else Covariances(how.blocks, how.features, originals, last, "last"),
        None if mean is None else Covariances(how.blocks, how.features, how.average_layers, mean, "mean"),
    )


def _scores(tokens: int | None, log_likelihood: float | None, *more: float | None) -> ResponseScores | None:
    if tokens is None or log_likelihood is None:
        return None
    try:
        return ResponseScores(tokens, log_likelihood, *more)
    except Unscorable as error:
        raise ValueError(str(error)) from error


def _packed(matrices: Floats) -> list[float | None]:
    lower = _lower(matrices.shape[1])
    return [value if np.isfinite(value) else None for matrix in matrices for value in matrix[lower].tolist()]


@cache
def _lower(k: int) -> tuple[Any, Any]:
    """Return the indices of a lower triangle."""
    return np.tril_indices(k)


def _unpacked(values: list[float | None] | None, layers: Sequence[int], how: HowRead) -> Floats | None:
    if values is None or not layers:
        return None
    numbers = np.array([np.nan if value is None else value for value in values], np.float64)
    lower = _lower(how.k)
    matrices = np.empty((len(layers), how.k, how.k))
    for matrix, triangle in zip(matrices, numbers.reshape(len(layers), len(lower[0])), strict=True):
        matrix[lower] = triangle
        matrix.T[lower] = triangle
    return matrices


@dataclass(slots=False)
class InternalsFile:
    """An open file, whose rows are read on demand."""

    path: Path
    how: HowRead
    _batches: tuple[pa.RecordBatch, ...]
    _kept: tuple[int, dict[str, Internals]] = field(default=(-1, {}))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file, in hex."""
        return sha256_of(self.path)

    @cached_property
    def _groups(self) -> dict[str, int]:
        """Batch of each prompt id."""
        groups: dict[str, int] = {}
        for group, batch in enumerate(self._batches):
            for prompt_id in batch["prompt_id"].to_pylist():
                groups[str(prompt_id)] = group
        return groups

    def of(self, prompt_ids: Sequence[str]) -> list[Internals]:
        """Return the internals of prompts."""
        return [self._group(prompt_id)[prompt_id] for prompt_id in prompt_ids]

    def rows(self) -> Iterator[tuple[str, Internals]]:
        """Yield every prompt id with its internals, in the file's order."""
        for prompt_id in self._groups:
            yield prompt_id, self._group(prompt_id)[prompt_id]

    def _group(self, prompt_id: str) -> dict[str, Internals]:
        group = self._groups.get(prompt_id)
        if group is None:
            raise InputError(f"{self.path} has no row of prompt {prompt_id!r}", _HINT)
        if self._kept[0] != group:
            try:
                rows = self._batches[group].to_pylist()
                self._kept = group, {row["prompt_id"]: internals_of(row, self.how) for row in rows}
            except (ValueError, TypeError, pa.ArrowException) as error:
                raise InputError(f"{self.path}, batch {group}: {error}", _HINT) from error
        return self._kept[1]


def open_internals(path: Path, submission_id: str) -> InternalsFile:
    """Open the internals of a submission."""
    findings = Findings()
    file = open_parquet(path, SCHEMA, findings, MAX_BYTES)
    if file is None:
        raise Rejected(str(path), findings)
    try:
        how = HowRead.model_validate_json((file.schema.metadata or {}).get(_KEY, b""))
    except ValidationError as error:
        raise InputError(f"{path} does not record how the model was run: {error.errors()[0]['msg']}", _HINT) from error
    if how.submission_id != submission_id:
        raise InputError(
            f"{path} belongs to the submission {how.submission_id}, not to {submission_id}",
            f"the responses or the manifest have changed since; {_HINT}",
        )
    batches = tuple(file.batches(findings))
    if findings.rejected():
        raise Rejected(str(path), findings)
    return InternalsFile(path, how, batches)


def find_internals(submission: Submission, file: Path | None = None) -> InternalsFile | None:
    """Open the given file of internals, or the one beside a submission's files; None if there is neither."""
    if file is not None and not file.is_file():
        raise ConfigurationError(f"there is no file {file}", _HINT)
    path = file or submission.folder / INTERNALS_FILE
    return open_internals(path, submission.id) if path.exists() else None
