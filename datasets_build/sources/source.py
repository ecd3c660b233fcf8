"""What is recorded of every source: where it comes from, exactly which bytes, under which licence, whom to cite."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from datasets_build.schema import Prompt


@dataclass(frozen=True, slots=True)
class Source:
    """Where a suite comes from.

    Attributes:
        name: The suite's name.
        title: For people.
        path: Of the file, inside the mirror folder (or inside this package, where `bundled`).
        bundled: The file ships with the package.
        sha256: Of the file; empty for a bundled one, which the package's own version pins.
        url: Where the file is published, at a fixed revision; empty for a bundled one.
        licence: As far as it is stated.
        citation: Whom to cite, with the paper's identifier.
        rows: Reads one parsed row of the file as a prompt.
    """

    name: str
    title: str
    path: str
    bundled: bool
    sha256: str
    url: str
    licence: str
    citation: str
    rows: Callable[[Iterator[Mapping[str, Any]]], Iterator[Prompt]]
