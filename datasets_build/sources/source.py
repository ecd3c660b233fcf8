"""Records of a dataset: its origin, files with hashes, licence and citation."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.metadata import version as version_of
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import pyarrow as pa

Row = Mapping[str, Any]


class Fetch(Protocol):
    """Function from a file's path in a mirror to its local, verified copy."""

    def __call__(self, path: str) -> Path:
        """Return the file."""
        ...

    def optional(self, path: str) -> Path | None:
        """Return the file, or None if it is not available."""
        ...


@dataclass(frozen=True, slots=True)
class File:
    """A released file."""

    path: str  # path in a mirror folder
    sha256: str
    # Addresses at a fixed revision, in the order in which they are tried; none if it is published only inside an
    # archive.
    urls: tuple[str, ...] = ()
    found_in: str = ""  # description of where to find a file without `urls`
    optional: bool = False  # whether the build works without it

    @property
    def origin(self) -> str:
        """Where to get the file: its first URL, or the place that `found_in` describes."""
        return self.urls[0] if self.urls else self.found_in


@dataclass(frozen=True, slots=True)
class Split:
    """A split of a config."""

    name: str
    rows: Callable[[Fetch], Iterator[Row]]  # function that makes its rows, in order, from the source's files
    reads: tuple[str, ...]  # paths of the files that `rows` reads
    count: int  # number of rows; a build with another number fails
    # Function that counts, by reason, the source's units that `rows` leaves out; None if there are none.
    dropped: Callable[[Fetch], Mapping[str, int]] | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """A table of the published dataset repository."""

    name: str  # name, as in `load_dataset(repo, name)`
    about: str
    made: str  # description of how it was made, for the card
    schema: pa.Schema
    fields: Mapping[str, str]
    splits: tuple[Split, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Origin of one or more configs."""

    name: str
    title: str
    version: str  # version of our configs, which changes when a row changes
    files: tuple[File, ...]  # files to read; empty for generated datasets
    licence: str
    citation: str
    paper: str  # identifier such as `arXiv:2004.02990`; empty for our own
    flaws: tuple[str, ...]
    configs: tuple[Config, ...]
    copyright: str = ""  # copyright notice of what is under the MIT licence, which requires copies to have it

    def file(self, path: str) -> File:
        """Find the record of a file."""
        return {file.path: file for file in self.files}[path]

    def files_of(self, config: Config) -> tuple[File, ...]:
        """Return the files that a config reads."""
        paths = {path for split in config.splits for path in split.reads}
        return tuple(file for file in self.files if file.path in paths)


def described(
    name: str, version: str, tables: Mapping[str, tuple[pa.Schema, tuple[Split, ...]]] = MappingProxyType({})
) -> Source:
    """Make a source that `NAME.toml` describes: licence, citation, flaws, configs, and its files with their hashes.

    A source without a citation is our own and cites this package, with its `citation_note`. A config without its own
    `fields` has those of the whole file.
    """
    texts = tomllib.loads((resources.files("datasets_build.sources") / f"{name}.toml").read_text("utf-8"))
    configs = []
    for table, (schema, splits) in tables.items():
        text = texts["configs"][table]
        configs.append(
            Config(table, text["about"], text["made"], schema, text.get("fields") or texts["fields"], splits)
        )
    return Source(
        name=name,
        title=texts["title"],
        version=version,
        files=tuple(File(**file | {"urls": tuple(file.get("urls", ()))}) for file in texts.get("files", ())),
        licence=texts["licence"],
        citation=texts.get("citation") or divbench_citation(f"divbench_{name}", texts.get("citation_note")),
        paper=texts["paper"],
        flaws=tuple(texts["flaws"]),
        configs=tuple(configs),
        copyright=texts.get("copyright", ""),
    )


def divbench_citation(key: str = "divbench", note: str | None = None) -> str:
    """Return the BibTeX entry of this package in its installed version; entries of one file need different keys."""
    fields = {
        "title": "DivBench: datasets, metrics and a leaderboard for the output diversity of language models",
        "author": "{The DivBench developers}",
        "version": version_of("divbench"),
        "license": "Apache-2.0",
        "year": "2026",
    } | ({} if note is None else {"note": note})
    lines = ",\n".join(f"  {name} = {{{text}}}" for name, text in fields.items())
    return f"@software{{{key},\n{lines}\n}}"
