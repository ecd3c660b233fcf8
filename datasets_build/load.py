"""The only reader of suites: from the package, or from a mirror folder with the released files."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from datasets_build.errors import ConfigurationError, InputError
from datasets_build.files import sha256_of
from datasets_build.schema import Suite
from datasets_build.sources import DATASETS, Source

PACKAGE = Path(__file__).parent
MIRROR_VARIABLE = "DIVBENCH_MIRROR"


def mirror_folder(mirror: Path | None = None) -> Path | None:
    """The mirror to read: the one given, else the one that DIVBENCH_MIRROR names, else none."""
    if mirror is not None:
        return mirror
    named = os.environ.get(MIRROR_VARIABLE, "")
    return Path(named) if named else None


def find_source(name: str, sources: tuple[Source, ...] = DATASETS) -> Source:
    """The source of a suite.

    Raises:
        ConfigurationError: There is no suite of that name.
    """
    for source in sources:
        if source.name == name:
            return source
    raise ConfigurationError(f"there is no suite {name!r}", f"the suites are {', '.join(s.name for s in sources)}")


def locate(source: Source, mirror: Path | None = None) -> Path:
    """The file of a source.

    Raises:
        ConfigurationError: It comes from a mirror, and there is none or it lacks the file.
    """
    if source.bundled:
        return PACKAGE / source.path
    folder = mirror_folder(mirror)
    if folder is None:
        raise ConfigurationError(
            f"the suite {source.name} does not ship with the package, and no mirror is named",
            f"put {source.url} at {source.path} in a folder and name the folder by --mirror or {MIRROR_VARIABLE}",
        )
    path = folder / source.path
    if not path.is_file():
        raise ConfigurationError(f"the mirror has no file {path}", f"put {source.url} there")
    return path


def load_suite(name: str, mirror: Path | None = None) -> Suite:
    """A suite of prompts, from checked bytes.

    Args:
        name: Such as `demo` or `noveltybench-curated`.
        mirror: A folder with the released files; else the one that DIVBENCH_MIRROR names. Not needed for `demo`.

    Raises:
        ConfigurationError: No such suite, or its file is not at hand.
        InputError: The file is not the pinned one.
    """
    source = find_source(name)
    path = locate(source, mirror)
    if source.sha256 and (found := sha256_of(path)) != source.sha256:
        raise InputError(
            f"{path} is not the pinned file: SHA-256 {found}, wanted {source.sha256}", f"fetch {source.url} again"
        )
    return Suite(name=source.name, title=source.title, prompts=tuple(source.rows(_lines(path))))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSON Lines file whose bytes are already known to be the right ones."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
