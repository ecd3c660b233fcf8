"""Compares our numbers with published ones; a difference is only accepted for a known reason.

The published numbers are in `published/*.csv`: table, row, column, value as printed, digits, source. `digits` is the
number of digits compared: all printed ones, plus a final zero that a table omits (0.6 beside 0.57 is read as 0.60).
"""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

PUBLISHED = Path(__file__).parent / "published"
HEADER = ["table", "row", "column", "value", "digits", "source"]
_SLACK = 1e-9  # allowance for rounding errors where the difference is exactly half a unit

Verdict = Literal["same", "differs", "differs without a known reason", "needs", "cannot"]
Place = tuple[str, str]  # row and column of a table


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
    """Read the published numbers of each table.

    Raises:
        ValueError: A file has another header, or a number occurs twice.
    """
    made: dict[str, dict[Place, Published]] = {}
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            if rows.fieldnames != HEADER:
                raise ValueError(f"{path}: the header is {rows.fieldnames}")
            for row in rows:
                digits = int(row["digits"])
                one = Published(row["table"], row["row"], row["column"], row["value"], digits, row["source"])
                if one.place in made.setdefault(one.table, {}):
                    raise ValueError(f"{path}: {one.table}, {one.row}, {one.column} occurs twice")
                made[one.table][one.place] = one
    return {table: tuple(rows.values()) for table, rows in made.items()}


@dataclass(frozen=True, slots=True)
class Found:
    """Our counterpart of a published number; made by `recomputed`, `needs` and `cannot`."""

    value: float | None  # our value; None if there is none
    # *recomputed* from released data; *needs* a model that does not come with the package; or *cannot*.
    kind: Literal["recomputed", "needs", "cannot"]
    about: str = ""  # input of our value, the model that is needed, or the reason why it cannot be recomputed
    # The same statistic under the bundled language model; not comparable with the published number.
    bundled: float | None = None


Made = Mapping[Place, Found]


def recomputed(value: float, about: str = "", bundled: float | None = None) -> Found:
    """Return our value, computed from released data."""
    return Found(float(value), "recomputed", about, _finite(bundled))


def needs(model: str, bundled: float | None = None) -> Found:
    """Mark a number that needs a model which does not come with the package."""
    return Found(None, "needs", model, _finite(bundled))


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def cannot(reason: str) -> Found:
    """Mark a number that cannot be recomputed from released data."""
    return Found(None, "cannot", reason)


@dataclass(frozen=True, slots=True)
class Known:
    """A difference with a known reason. It is bound to these two numbers, so that it hides no other difference."""

    table: str
    row: str
    column: str
    printed: str  # the number, as in `published/`
    ours: str  # the recomputed number, to the digits given
    reason: str

    def explains(self, published: Published, ours: float) -> bool:
        """Whether the two numbers are those of this difference."""
        told = self.table, self.row, self.column, self.printed
        digits = len(self.ours.partition(".")[2])
        return told == (published.table, *published.place, published.printed) and _rounds_to(ours, self.ours, digits)


@dataclass(frozen=True, slots=True)
class Cell:
    """A published number with ours."""

    published: Published
    ours: float | None  # the recomputed number; None if there is none
    verdict: Verdict  # *same*: ours rounds to the printed number; *differs*: for a known reason; *needs*; *cannot*
    about: str  # input of our value for *same*; otherwise the reason, or the model that is needed
    bundled: float | None  # the number under the bundled language model, as in `Found`

    @property
    def difference(self) -> float | None:
        """Our number minus the published one."""
        return None if self.ours is None else self.ours - self.published.value

    @property
    def said(self) -> str:
        """The verdict with its reason."""
        if self.verdict == "needs":
            return f"needs {self.about}"
        told = self.about if self.verdict in {"differs", "cannot"} else ""
        return f"{self.verdict}: {told}" if told else self.verdict

    def as_json(self) -> dict[str, Any]:
        """Return the cell for `--json` and files."""
        p = self.published
        return {
            "table": p.table,
            "row": p.row,
            "column": p.column,
            "ours": self.ours,
            "published": p.printed,
            "difference": self.difference,
            "verdict": self.verdict,
            "about": self.about,
            "bundled": self.bundled,
            "source": p.source,
        }


def judge(published: Published, found: Found, known: Iterable[Known] = ()) -> Cell:
    """Compare a published number with ours."""
    verdict: Verdict
    if found.value is None:
        verdict = "cannot" if found.kind == "cannot" else "needs"
        return Cell(published, None, verdict, found.about, found.bundled)
    if not math.isfinite(found.value):
        return Cell(published, None, "differs without a known reason", "ours is not a number", found.bundled)
    if published.agrees(found.value):
        return Cell(published, found.value, "same", found.about, found.bundled)
    for one in known:
        if one.explains(published, found.value):
            return Cell(published, found.value, "differs", one.reason, found.bundled)
    return Cell(published, found.value, "differs without a known reason", found.about, found.bundled)


def judge_all(published: Sequence[Published], made: Made, known: Iterable[Known] = ()) -> tuple[Cell, ...]:
    """Compare all numbers of a table, in the order of the published numbers.

    Raises:
        ValueError: A published number has no counterpart, or one of ours has no published number.
    """
    known = tuple(known)
    places = {one.place for one in published}
    if places != made.keys():
        raise ValueError(f"cells and published numbers do not match: {sorted(places ^ made.keys())[:4]}")
    return tuple(judge(one, made[one.place], known) for one in published)


@dataclass(frozen=True, slots=True)
class Counts:
    """Number of cells by verdict."""

    same: int = 0
    differs: int = 0
    unexplained: int = 0
    needs: int = 0
    cannot: int = 0


_FIELD: Mapping[Verdict, str] = {
    "same": "same",
    "differs": "differs",
    "differs without a known reason": "unexplained",
    "needs": "needs",
    "cannot": "cannot",
}


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A table with its cells."""

    id: str  # table id, such as `decan-4`
    title: str
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def counts(self) -> Counts:
        """Number of cells by verdict."""
        names = [_FIELD[cell.verdict] for cell in self.cells]
        return Counts(**{name: names.count(name) for name in _FIELD.values()})

    def as_json(self) -> dict[str, Any]:
        """Return the table for `--json` and files."""
        return {
            "id": self.id,
            "title": self.title,
            "notes": self.notes,
            "counts": self.counts,
            "cells": [cell.as_json() for cell in self.cells],
        }
