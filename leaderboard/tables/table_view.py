"""Tables as they are shown: numbers that sort as numbers, and how they are written."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from statistics import median
from typing import Any

import pandas as pd

_LETTER, _ROOM, _WIDEST = 8, 30, 42  # pixels of a letter and around a text; letters of the widest column


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table.

    Attributes:
        headers: Of the columns.
        values: By row.
        shown: The same cells as text.
        kinds: *str* or *number*, by column.
    """

    headers: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    shown: tuple[tuple[str, ...], ...]
    kinds: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """As a frame; numbers as floats."""
        made = pd.DataFrame(list(self.values), columns=list(self.headers))
        for name, kind in zip(self.headers, self.kinds, strict=True):
            if kind == "number":
                made[name] = made[name].astype("float64")
        return made

    def value(self) -> dict[str, Any]:
        """As a page's table takes it."""
        return {
            "headers": list(self.headers),
            "data": [list(row) for row in self.values],
            "metadata": {"display_value": [list(row) for row in self.shown]},
        }

    def widths(self) -> list[int | str]:
        """Pixels that give each column's longest text one line."""
        columns = list(zip(*self.shown, strict=True)) or [() for _ in self.headers]
        longest = [max([len(head) + 3, *map(len, texts)]) for head, texts in zip(self.headers, columns, strict=True)]
        return [_LETTER * min(length, _WIDEST) + _ROOM for length in longest]


def plain_sheet(headers: Sequence[str], rows: Sequence[Sequence[str | int | None]]) -> Sheet:
    """A table of texts and whole numbers; a column that holds a number is one of numbers, with nothing for None."""
    columns = list(zip(*rows, strict=True)) or [() for _ in headers]
    kinds = tuple("number" if any(isinstance(value, int) for value in column) else "str" for column in columns)
    values = tuple(
        tuple(value if value is not None or kind == "number" else "" for value, kind in zip(row, kinds, strict=True))
        for row in rows
    )
    shown = tuple(
        tuple("" if value is None else f"{value:,}" if isinstance(value, int) else value for value in row)
        for row in rows
    )
    return Sheet(tuple(headers), values, shown, kinds)


def number_sheet(kinds: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> Sheet:
    """A table of texts and numbers: those with three places after the point, wholes without.

    Args:
        kinds: Of each column by its name, *str* or *number*.
        rows: Their values; None where there is none.
    """
    shown = [tuple(_shown(value) for value in row) for row in rows]
    return Sheet(tuple(kinds), tuple(map(tuple, rows)), tuple(shown), tuple(kinds.values()))


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return number_text(value, 3 if abs(value) < 100 else 1)
    return "" if value is None else str(value)


def places_for(width: float) -> int:
    """Decimal places that an interval of this width makes meaningful; one of no width says nothing."""
    if width <= 0:
        return 2
    return 4 if width < 0.02 else 3 if width < 0.2 else 2 if width < 20 else 0


def places_for_all(widths: Iterable[float]) -> int:
    """Decimal places for numbers that stand under one another: those of the median width, widths of nothing aside."""
    wide = [width for width in widths if width > 0]  # as of identical answers: it says nothing of the others
    return places_for(median(wide) if wide else 0.0)


def number_text(value: float | None, places: int) -> str:
    """A number; nothing where there is none.

    >>> number_text(-0.001, 2), number_text(None, 2)
    ('0.00', '')
    """
    return "" if value is None or isnan(value) else f"{round(value, places) + 0.0:.{places}f}"


def ranged_text(value: float | None, low: float | None, high: float | None, places: int | None = None) -> str:
    """A number with its interval, such as `2.89 [2.50, 3.31]`.

    Args:
        value: The number; None or NaN: nothing is written.
        low: Of its interval; None where there is none.
        high: Likewise.
        places: Decimal places; None: as many as the interval makes meaningful.
    """
    if low is None or high is None:
        return number_text(value, 3 if places is None else places)
    digits = places_for(high - low) if places is None else places
    return f"{number_text(value, digits)} [{number_text(low, digits)}, {number_text(high, digits)}]"


def ranged_texts(numbers: Sequence[tuple[float | None, float | None, float | None]]) -> list[str]:
    """Numbers with their intervals as a column of texts, to the places that its intervals make meaningful.

    Args:
        numbers: As `ranged_text` takes them.
    """
    places = places_for_all(high - low for _, low, high in numbers if low is not None and high is not None)
    return [ranged_text(*number, places) for number in numbers]


def p_text(p: float | None) -> str:
    """A p-value to two significant places.

    >>> p_text(0.01234), p_text(0.00001), p_text(1.0), p_text(None)
    ('0.012', '< 0.0001', '1', '')
    """
    return "" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.2g}"
