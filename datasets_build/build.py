"""Build datasets: rows → Parquet and a manifest. The same rows give the same bytes with the same version of pyarrow.

A built config is a folder with `data/<config>/<split>.parquet` and `data/<config>/manifest.json`, created atomically.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict

from datasets_build.download import Fetcher
from datasets_build.schema import conform
from datasets_build.sources import Config, Source, Split
from divbench.core.errors import InputError, first_line
from divbench.core.files import atomic_folder, content_id, readable_json, sha256_of

MANIFEST = "manifest.json"
ROWS_A_GROUP = 1000


class BuiltSplit(BaseModel):
    """A split in a manifest."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str
    rows: int
    bytes: int
    sha256: str


class Manifest(BaseModel):
    """Record of a built config: its version, its files, and the released files that it was made from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    config: str
    source: str
    version: str
    revision: str  # 12 hex digits over version, schema and the splits' hashes
    schema_text: str
    splits: dict[str, BuiltSplit]
    sources: dict[str, str]  # path and SHA-256 of every released file that was read
    absent: list[str]  # optional released files that were not available; columns from them are null
    dropped: dict[str, dict[str, int]]  # number of the source's units left out, by split and reason


Part = tuple[Source, Config, Manifest]  # a built config, with its source and the manifest of its build


def split_table(config: Config, split: Split, fetch: Fetcher) -> Iterator[pa.Table]:
    """Yield the rows of a split as tables of at most 1,000 rows, each of exactly the config's schema."""
    number = 0
    remaining = iter(split.rows(fetch))
    while group := list(islice(remaining, ROWS_A_GROUP)):
        table = conform(group, config.schema, f"{config.name}/{split.name} after row {number}")
        number += len(table)
        yield table
    if number != split.count:
        raise InputError(f"{config.name}/{split.name} has {number} rows, expected {split.count}")


def build(
    source: Source, config: Config, out: Path, fetch: Fetcher, progress: Callable[[int], None] = lambda rows: None
) -> Manifest:
    """Build a config into `out/data/<config>`, in place of an older build; `progress` gets the rows written."""
    folder = out / "data" / config.name
    folder.parent.mkdir(parents=True, exist_ok=True)
    splits: dict[str, BuiltSplit] = {}
    with atomic_folder(folder, replace=True) as temporary:
        for split in config.splits:
            path = temporary / f"{split.name}.parquet"
            with pq.ParquetWriter(path, config.schema, compression="zstd") as writer:
                for table in split_table(config, split, fetch):
                    writer.write_table(table)
                    progress(len(table))
            splits[split.name] = BuiltSplit(
                file=path.name, rows=split.count, bytes=path.stat().st_size, sha256=sha256_of(path)
            )
        manifest = Manifest(
            config=config.name,
            source=source.name,
            version=source.version,
            revision=content_id([source.version, str(config.schema), [s.sha256 for s in splits.values()]])[:12],
            schema_text=str(config.schema),
            splits=splits,
            sources=dict(sorted(fetch.used.items())),
            absent=sorted(fetch.absent),
            dropped={s.name: dict(counts) for s in config.splits if s.dropped and (counts := s.dropped(fetch))},
        )
        (temporary / MANIFEST).write_text(
            readable_json(manifest.model_dump(mode="json")), encoding="utf-8", newline="\n"
        )
    return manifest


def verify(folder: Path) -> list[str]:
    """Check a built config (`…/data/<config>`) and list its problems, one line each."""
    try:
        manifest = read_manifest(folder)
    except InputError as error:
        return [str(error)]
    problems = []
    for name, split in manifest.splits.items():
        path = folder / split.file
        if not path.is_file():
            problems.append(f"{path}: missing")
        elif sha256_of(path) != split.sha256:
            problems.append(f"{path}: changed since it was built")
        elif (rows := pq.ParquetFile(path).metadata.num_rows) != split.rows:
            problems.append(f"{path}: {rows} rows, {name} has {split.rows}")
    known = {split.file for split in manifest.splits.values()} | {MANIFEST}
    problems += [f"{path}: not in the manifest" for path in sorted(folder.iterdir()) if path.name not in known]
    return problems


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a built config."""
    path = folder / MANIFEST
    try:
        return Manifest.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {first_line(error)}", "build it again") from error
