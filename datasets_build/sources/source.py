"""What is recorded of every dataset: where it comes from, exactly which bytes, under which licence, whom to cite."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

Row = Mapping[str, Any]


class Fetch(Protocol):
    """Gives the local copies of a source's files, by their paths in a mirror, their bytes checked."""

    def __call__(self, path: str) -> Path:
        """The file, which must be had."""
        ...

    def optional(self, path: str) -> Path | None:
        """The file, or None where it is not at hand and may be missing."""
        ...


@dataclass(frozen=True, slots=True)
class File:
    """A released file.

    Attributes:
        path: Inside a mirror folder.
        sha256: Of its bytes.
        urls: Where it is published at a fixed revision, in the order in which they are tried; none where it is
            published only inside an archive.
        found_in: Where a person finds it, where there is no `urls`.
        optional: What reads it does without it, and says so.
    """

    path: str
    sha256: str
    urls: tuple[str, ...] = ()
    found_in: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Split:
    """A split of a config.

    Attributes:
        name: Such as `story_gen`.
        rows: Makes its rows, in their order, from the source's files.
        reads: The paths of the files that `rows` asks for.
        count: How many rows there are; a build that makes another number is refused.
        dropped: How many of the source's units `rows` leaves out, by reason; None where it leaves out none.
    """

    name: str
    rows: Callable[[Fetch], Iterator[Row]]
    reads: tuple[str, ...]
    count: int
    dropped: Callable[[Fetch], Mapping[str, int]] | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """A table of the published dataset repository.

    Attributes:
        name: As in `load_dataset(repo, name)`.
        about: One line for people.
        made: How it was made, for the card.
        schema: Of its rows; the record of names and types.
        fields: What each field is, for the card.
        splits: In order.
    """

    name: str
    about: str
    made: str
    schema: pa.Schema
    fields: Mapping[str, str]
    splits: tuple[Split, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Where some configs come from.

    Attributes:
        name: For people and messages.
        title: Likewise.
        version: Of what we make of it; rises when a row changes.
        files: All that are read; none for what is generated here.
        licence: As far as it is stated.
        citation: BibTeX.
        paper: Its identifier, such as `arXiv:2004.02990`; empty for our own.
        flaws: Known, for the card.
        configs: What is made of it.
    """

    name: str
    title: str
    version: str
    files: tuple[File, ...]
    licence: str
    citation: str
    paper: str
    flaws: tuple[str, ...]
    configs: tuple[Config, ...]

    def file(self, path: str) -> File:
        """The record of a file.

        Raises:
            KeyError: It is none of this source.
        """
        for file in self.files:
            if file.path == path:
                return file
        raise KeyError(path)
