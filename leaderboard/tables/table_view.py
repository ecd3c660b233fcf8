"""Tables with sortable values and display texts, and the formatting of numbers in them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from statistics import median
from typing import Any

import pandas as pd

_LETTER, _ROOM, _WIDEST = 8, 30, 42  # pixels per letter and around a text; maximum letters per column


@dataclass(frozen=True, slots=True)
class TableView:
    """A table on a page; all its texts are untrusted."""

    headers: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]  # cell values by row: texts, numbers or None
    shown: tuple[tuple[str, ...], ...]  # display texts of the same cells
    kinds: tuple[str, ...]  # kind of each column: *str* or *number*

    def frame(self) -> pd.DataFrame:
        """The values as a data frame, with number columns as floats, or as integers if all their values are."""
        made = pd.DataFrame(list(self.values), columns=list(self.headers))
        for i, (name, kind) in enumerate(zip(self.headers, self.kinds, strict=True)):
            if kind == "number":
                there = [row[i] for row in self.values if row[i] is not None]
                whole = there and all(isinstance(value, int) for value in there)
                made[name] = made[name].astype("Int64" if whole else "float64")
        return made

    def value(self) -> dict[str, Any]:
        """The table as the value of a `gr.Dataframe`."""
        return {
            "headers": list(self.headers),
            "data": [list(row) for row in self.values],
            "metadata": {"display_value": [list(row) for row in self.shown]},
        }

    def widths(self, letter: int = _LETTER, room: int = _ROOM) -> list[int | str]:
        """Column widths in pixels that fit each column's longest text on one line, up to a limit.

        Args:
            letter: Width of a letter.
            room: Width around a text.
        """
        columns = list(zip(*self.shown, strict=True)) or [() for _ in self.headers]
        longest = [max([len(head) + 3, *map(len, texts)]) for head, texts in zip(self.headers, columns, strict=True)]
        return [letter * min(length, _WIDEST) + room for length in longest]


Cell = str | int | float | None | tuple[Any, str]


def table_of(headers: Sequence[str], rows: Iterable[Sequence[Cell]]) -> TableView:
    """A table of cells: texts, numbers, None (an empty cell), or values to sort by with their display texts.

    Floats are shown with three decimals, or one if they are 100 or more. A column of numbers alone is a number column.
    """
    pairs = [[cell if isinstance(cell, tuple) else (cell, _shown(cell)) for cell in row] for row in rows]
    values = tuple(tuple(value for value, _ in row) for row in pairs)
    shown = tuple(tuple(text for _, text in row) for row in pairs)
    columns = list(zip(*values, strict=True)) or [("",) for _ in headers]
    kinds = tuple("number" if all(map(_is_number, column)) else "str" for column in columns)
    return TableView(tuple(headers), values, shown, kinds)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return number_text(value, 3 if abs(value) < 100 else 1)
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def places_for(width: float) -> int:
    """The number of decimals that an interval width justifies; 2 for width 0, which carries no information."""
    if width <= 0:
        return 2
    return 4 if width < 0.02 else 3 if width < 0.2 else 2 if width < 20 else 0


def places_for_all(widths: Iterable[float]) -> int:
    """The number of decimals that the median interval width of a column justifies, without widths of 0."""
    wide = [width for width in widths if width > 0]  # identical responses have width 0, which says nothing
    return places_for(median(wide) if wide else 0.0)


def number_text(value: float | None, places: int) -> str:
    """A number with a fixed number of decimals; empty if missing.

    >>> number_text(-0.001, 2), number_text(None, 2)
    ('0.00', '')
    """
    return "" if value is None or isnan(value) else f"{round(value, places) + 0.0:.{places}f}"


def ranged_text(value: float | None, low: float | None, high: float | None, places: int | None = None) -> str:
    """A number with its interval, such as `2.89 [2.50, 3.31]`.

    Args:
        value: Number; the text is empty for None or NaN.
        places: Number of decimals; None: as many as the interval justifies.
    """
    if low is None or high is None:
        return number_text(value, 3 if places is None else places)
    digits = places_for(high - low) if places is None else places
    return f"{number_text(value, digits)} [{number_text(low, digits)}, {number_text(high, digits)}]"


def ranged_cell(value: float | None, low: float | None, high: float | None, places: int | None = None) -> Cell:
    """A number as a cell that shows its interval; arguments as in `ranged_text`."""
    return value, ranged_text(value, low, high, places)


def ranged_texts(numbers: Sequence[tuple[float | None, float | None, float | None]]) -> list[str]:
    """The display texts of a column of numbers (value, low, high), with the decimals that its intervals justify."""
    places = places_for_all(high - low for _, low, high in numbers if low is not None and high is not None)
    return [ranged_text(*number, places) for number in numbers]


def listed(names: Sequence[str], most: int) -> str:
    """Names separated by commas, cut to a maximum number.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def p_text(p: float | None) -> str:
    """A p-value with two significant digits.

    >>> p_text(0.01234), p_text(0.00001), p_text(1.0), p_text(None)
    ('0.012', '< 0.0001', '1', '')
    """
    return "" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.2g}"
