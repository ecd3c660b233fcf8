"""What an attack on the validator is: a change to a good submission, and what must come of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from submissions.storage.submission_folders import GENERATIONS_FILE, MANIFEST_FILE, REPORTED_FILE

Json = dict[str, Any]
Make = Callable[[Path, Random], object]
Place = tuple[str, str, int | None, str]  # check, file, row and field of a problem
M, G, R = MANIFEST_FILE, GENERATIONS_FILE, REPORTED_FILE
SHOWN = 6  # of so many problems the places are given
NO_FILE: tuple[Place, ...] = (("file", G, None, ""),)
DAMAGED: tuple[Place, ...] = (("parquet", G, None, ""),)  # found in the footer
UNREADABLE: tuple[Place, ...] = (("parquet", G, 1, ""),)  # found in the pages
TOO_LARGE: tuple[Place, ...] = (("sizes", G, None, ""),)  # by the footer
SWELLS: tuple[Place, ...] = (("sizes", G, 1, ""),)  # by the pages


@dataclass(frozen=True)
class Attack:
    """One hostile submission.

    Attributes:
        name: Of its folder.
        make: Changes the folder of a good submission to the toy suite, with k = 3.
        found: The problems in their order, the first `SHOWN` of them.
        says: Stands in the message of the first problem.
        accepted: Whether all problems are warnings, and the submission is taken.
        needs_root: Whether only root can make it; for others it is left out.
        as_nobody: Whether it says something to those alone who are not root.
    """

    name: str
    make: Make
    found: tuple[Place, ...] = ()
    says: str = ""
    accepted: bool = False
    needs_root: bool = False
    as_nobody: bool = False


def content(make: Callable[[], bytes], file: str = G) -> Make:
    """Writes a file's bytes; long runs of zeros take no room on the disk."""

    def written(folder: Path, rng: Random) -> None:
        made, block = make(), 2**16
        with (folder / file).open("wb") as out:
            for start in range(0, len(made), block):
                part = made[start : start + block]
                if part.strip(b"\0"):
                    out.seek(start)
                    out.write(part)
            out.truncate(len(made))

    return written


def changed(change: Callable[[bytes], bytes], file: str = G) -> Make:
    """Changes a file's bytes."""
    return lambda folder, rng: (folder / file).write_bytes(change((folder / file).read_bytes()))


def manifest(**values: Any) -> Make:
    """Sets fields of the manifest; `part__field` that of a part."""

    def make(folder: Path, rng: Random) -> None:
        made = json.loads((folder / M).read_text(encoding="utf-8"))
        for name, value in values.items():
            part, _, key = name.rpartition("__")
            (made[part] if part else made)[key] = value
        (folder / M).write_text(json.dumps(made), encoding="utf-8")

    return make


def both(*makes: Make) -> Make:
    """One after the other."""

    def make(folder: Path, rng: Random) -> None:
        for one in makes:
            one(folder, rng)

    return make
