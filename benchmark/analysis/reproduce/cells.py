"""Published numbers beside ours, and what ours are computed from; a difference is only accepted for a known reason.

The published numbers are in `published/*.csv`: table, row, column, value as printed, digits, source. `digits` is the
number of digits compared: all printed ones, plus a final zero that a table omits (0.6 beside 0.57 is read as 0.60).
"""

import csv
import math
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchmark.analysis.metaeval import qwen25
from benchmark.analysis.metaeval.labelled import Floats, Labelled, load_labelled
from benchmark.metrics.metric import Missing
from datasets_build.download import Fetcher
from datasets_build.sources.noveltybench import SUBMISSIONS, submission_path
from datasets_build.sources.source import described

PUBLISHED = Path(__file__).parent / "published"
MARGIN = " ±"  # ends the columns of GSSBench's margins
_SLACK = 1e-9  # allowance for rounding errors where the difference is exactly half a unit

# *same*: ours rounds to the printed number; *differs*: for a known reason; *cannot*: not with what was released.
Verdict = Literal["same", "differs", "differs without a known reason", "cannot"]
_COUNTED: Mapping[Verdict, str] = {"differs without a known reason": "unexplained"}
Place = tuple[str, str]  # row and column of a table
Ours = Mapping[Place, tuple[float, str] | Missing]
"""Our number for each published one, with how it was computed; or why it cannot be."""


@dataclass(frozen=True, slots=True)
class Published:
    """A number of a paper."""

    table: str  # table id, such as `tevet-2`
    row: str
    column: str
    printed: str
    digits: int  # number of compared digits after the point; of the mantissa if there is an exponent
    source: str

    @property
    def place(self) -> Place:
        """Row and column."""
        return self.row, self.column

    @property
    def value(self) -> float:
        """The number."""
        return float(self.printed)

    def agrees(self, ours: float) -> bool:
        """Whether our number rounds to the printed one; a half may round either way."""
        return _rounds_to(ours, self.printed, self.digits)


def _rounds_to(value: float, text: str, digits: int) -> bool:
    exponent = int(text.partition("e")[2] or 0)
    return abs(value - float(text)) <= 0.5 * 10.0 ** (exponent - digits) + _SLACK * 10.0**exponent


def read_published(folder: Path = PUBLISHED) -> dict[str, tuple[Published, ...]]:
    """Read the published numbers of each table."""
    tables: dict[str, list[Published]] = {}
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                digits = int(row["digits"])
                number = Published(row["table"], row["row"], row["column"], row["value"], digits, row["source"])
                tables.setdefault(number.table, []).append(number)
    return {table: tuple(numbers) for table, numbers in tables.items()}


PER_PROMPT_D = "olmo/reference/per_prompt_D.csv"
SCENARIOS_GPT2 = "scenarios/scenario_metrics_v3_gpt2_100perm.json"
GEMINI, GPT_4O = (submission_path(name) for name in ("gemini-1.5-pro", "gpt-4o"))
RESULTS = (described("published_results", "1.0.0"), SUBMISSIONS, qwen25.SOURCE)


@dataclass(slots=True)
class Inputs:
    """Inputs of each table; without a mirror, files are looked for where DIVBENCH_MIRROR says."""

    mirror: Path | None = None
    published: Mapping[str, tuple[Published, ...]] = field(default_factory=read_published)
    _labelled: dict[str, Labelled] = field(default_factory=dict, init=False)

    def file(self, path: str) -> Path:
        """Return the local copy of a file of one of `RESULTS`."""
        source = next(source for source in RESULTS if any(file.path == path for file in source.files))
        return Fetcher(source, self.mirror, network=False)(path)

    def labelled(self, name: str) -> Labelled:
        """Return the sets of a task, loaded once."""
        if name not in self._labelled:
            self._labelled[name] = load_labelled(name, mirror=self.mirror)
        return self._labelled[name]

    def curves(self, name: str) -> Mapping[str, Floats]:
        """Return the rows of D_Can's tables under Qwen2.5-3B, each [sets], for the sets of a task."""
        return qwen25.read_mean_curves(self.file(qwen25.path_of(name)), self.labelled(name)).columns


# Differences with a known reason, by table, row, column and the printed number: ours, to the digits shown, and the
# reason. Each is bound to these two numbers, so that it hides no other difference.
Known = Mapping[tuple[str, str, str, str], tuple[str, str]]
KNOWN: Known = {
    (table, row, column, printed): (ours, difference["reason"])
    for difference in tomllib.loads((PUBLISHED / "known.toml").read_text(encoding="utf-8"))["differences"]
    for table, row, column, printed, ours in difference["numbers"]
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A published number with ours."""

    published: Published
    ours: float | None  # the recomputed number; None if there is none
    verdict: Verdict
    about: str  # how ours was computed; otherwise the reason

    @property
    def difference(self) -> float | None:
        """Our number minus the published one."""
        return None if self.ours is None else self.ours - self.published.value

    @property
    def outcome(self) -> str:
        """The verdict with its reason."""
        return f"{self.verdict}: {self.about}" if self.verdict in {"differs", "cannot"} else self.verdict


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A table with its cells."""

    id: str  # table id, such as `decan-4`
    title: str
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Number of cells by verdict."""
        verdicts = Counter(_COUNTED.get(cell.verdict, cell.verdict) for cell in self.cells)
        return {name: verdicts[name] for name in ("same", "differs", "unexplained", "cannot")}

    def as_json(self) -> dict[str, Any]:
        """Return the table for `--json` and files."""
        cells = [
            {"table": number.table, "row": number.row, "column": number.column, "ours": cell.ours}
            | {"published": number.printed, "difference": cell.difference}
            | {"verdict": cell.verdict, "about": cell.about, "source": number.source}
            for cell, number in ((cell, cell.published) for cell in self.cells)
        ]
        return {"id": self.id, "title": self.title, "notes": self.notes, "counts": self.counts, "cells": cells}


def compare(published: Published, ours: tuple[float, str] | Missing, known: Known = KNOWN) -> Cell:
    """Compare a published number with ours."""
    if isinstance(ours, Missing):
        return Cell(published, None, "cannot", ours.reason)
    value, about = float(ours[0]), ours[1]
    if not math.isfinite(value):
        return Cell(published, None, "differs without a known reason", "ours is not a number")
    if published.agrees(value):
        return Cell(published, value, "same", about)
    expected, reason = known.get((published.table, *published.place, published.printed), ("nan", ""))
    if _rounds_to(value, expected, len(expected.partition(".")[2])):
        return Cell(published, value, "differs", reason)
    return Cell(published, value, "differs without a known reason", about)


def compare_all(published: Sequence[Published], ours: Ours, known: Known = KNOWN) -> tuple[Cell, ...]:
    """Compare all numbers of a table, in the order of the published numbers; each must have one counterpart."""
    places = {number.place for number in published}
    if places != ours.keys():
        raise ValueError(f"cells and published numbers do not match: {sorted(places ^ ours.keys())[:4]}")
    return tuple(compare(number, ours[number.place], known) for number in published)
