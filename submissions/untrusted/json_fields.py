"""Read the fields of a JSON object; each value of a wrong type is reported as a problem with its row and field."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from submissions.schema import Problem
from submissions.untrusted.findings import Findings

MAX_VALUES = 10_000
T = TypeVar("T")
_NAMES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
    bool: "a boolean",
}


class Fields:
    """One row of a file, read field by field. A method that adds a problem returns None."""

    def __init__(self, raw: Mapping[str, Any], file: str, number: int, findings: Findings) -> None:
        self.raw = raw
        self.file = file
        self.number = number
        self.findings = findings

    def problem(self, field: str, message: str, hint: str) -> None:
        """Add a problem with a field of this row."""
        self.findings.add(Problem("json", "error", self.file, self.number, field, message, hint))

    def has(self, field: str) -> bool:
        """Whether the field is there and not null."""
        return self.raw.get(field) is not None

    def text(self, field: str) -> str | None:
        """A string that UTF-8 can hold."""
        if field not in self.raw:
            self.problem(field, "the field is missing", f"give {field} in every row")
            return None
        return self.checked_text(field, self.raw[field])

    def texts(self, field: str) -> tuple[str, ...] | None:
        """A list of such strings."""
        return self._each(field, self.checked_text)

    def reasons(self, field: str) -> tuple[str | None, ...] | None:
        """A list of strings and nulls."""
        values = self._list(field)
        if values is None:
            return None
        return tuple(
            None if value is None else self.checked_text(f"{field}[{i}]", value) for i, value in enumerate(values)
        )

    def integer(self, field: str) -> int | None:
        """A whole number."""
        return self._integer(field, self.raw[field])

    def integers(self, field: str) -> tuple[int, ...] | None:
        """A list of whole numbers."""
        return self._each(field, self._integer)

    def decimal(self, field: str) -> float | None:
        """A finite number."""
        return self._decimal(field, self.raw[field])

    def numbers(self, field: str, null_as: float | None = None) -> tuple[float, ...] | None:
        """A list of finite numbers; `null_as` replaces null if it is given."""

        def read(place: str, value: Any) -> float | None:
            return null_as if value is None and null_as is not None else self._decimal(place, value)

        return self._each(field, read)

    def _each(self, field: str, read: Callable[[str, Any], T | None]) -> tuple[T, ...] | None:
        values = self._list(field)
        if values is None:
            return None
        made = [read(f"{field}[{place}]", value) for place, value in enumerate(values)]
        whole = tuple(value for value in made if value is not None)
        return whole if len(whole) == len(made) else None

    def _list(self, field: str) -> list[Any] | None:
        """A list with no more values than any row needs, because each value could be a problem."""
        values = self.raw.get(field)
        if field not in self.raw:
            self.problem(field, "the field is missing", f"give {field} in every row")
        elif not isinstance(values, list):
            self._wrong(field, values, "a list")
        elif len(values) > MAX_VALUES:
            self.problem(field, f"{len(values):,} values", f"at most {MAX_VALUES:,} are allowed")
        else:
            return values
        return None

    def checked_text(self, field: str, value: Any) -> str | None:
        """Return a value if it is a string that UTF-8 can encode."""
        if not isinstance(value, str):
            self._wrong(field, value, "a string")
            return None
        try:
            value.encode()
        except UnicodeEncodeError:
            self.problem(field, "has an unpaired surrogate, which UTF-8 cannot encode", "write complete characters")
            return None
        return value

    def _integer(self, field: str, value: Any) -> int | None:
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**31:
            self._wrong(field, value, "a whole number of at most 31 bits")
            return None
        return value

    def _decimal(self, field: str, value: Any) -> float | None:
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= sys.float_info.max:
            self._wrong(field, value, "a finite number")
            return None
        return float(value)

    def _wrong(self, field: str, value: Any, wanted: str) -> None:
        found = "null" if value is None else _NAMES.get(type(value), type(value).__name__)
        empty = value is None and wanted == "a string"
        hint = 'an empty response is the empty string ""' if empty else "see divbench import --help for formats"
        self.problem(field, f"{found}, expected {wanted}", hint)
