"""Read a row of untrusted JSON field by field; what is wrong is added to `Findings`."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from submissions.untrusted.findings import Findings

MAX_VALUES = 10_000
_TYPES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
    bool: "a boolean",
}
T = TypeVar("T")


class Fields:
    """One row of a file, read field by field. A method that adds a problem returns None."""

    def __init__(self, raw: Mapping[str, Any], file: str, number: int, findings: Findings) -> None:
        self.raw, self.file, self.number, self.findings = raw, file, number, findings

    def problem(self, field: str, message: str, hint: str, check: str = "json") -> None:
        """Add a problem with a field of this row."""
        self.findings.error(check, self.file, self.number, field, message, hint)

    def has(self, field: str) -> bool:
        """Whether the field is there and not null."""
        return self.raw.get(field) is not None

    def text(self, field: str) -> str | None:
        """Return a string that UTF-8 can encode."""
        return self.checked_text(field, self.raw[field]) if self.given(field) else None

    def texts(self, field: str) -> tuple[str, ...] | None:
        """Return a list of such strings."""
        return self._all(field, self.checked_text)

    def given(self, field: str) -> bool:
        """Whether a field is there; a missing one is reported."""
        if field not in self.raw:
            self.problem(field, "the field is missing", f"give {field} in every row")
        return field in self.raw

    def reasons(self, field: str) -> tuple[str | None, ...] | None:
        """Return a list of strings and nulls."""
        values = self._list(field)
        if values is None:
            return None
        items = enumerate(values)
        return tuple(None if value is None else self.checked_text(f"{field}[{i}]", value) for i, value in items)

    def integer(self, field: str) -> int | None:
        """Return a whole number."""
        return self._integer(field, self.raw[field])

    def integers(self, field: str) -> tuple[int, ...] | None:
        """Return a list of whole numbers."""
        return self._all(field, self._integer)

    def decimal(self, field: str) -> float | None:
        """Return a finite number."""
        return self._decimal(field, self.raw[field])

    def numbers(self, field: str, null_as: float | None = None) -> tuple[float, ...] | None:
        """Return a list of finite numbers; `null_as` replaces null if it is given."""

        def read(name: str, value: Any) -> float | None:
            return null_as if value is None and null_as is not None else self._decimal(name, value)

        return self._all(field, read)

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

    def _all(self, field: str, read: Callable[[str, Any], T | None]) -> tuple[T, ...] | None:
        values = self._list(field)
        if values is None:
            return None
        items = [read(f"{field}[{i}]", value) for i, value in enumerate(values)]
        valid = tuple(item for item in items if item is not None)
        return valid if len(valid) == len(items) else None

    def _list(self, field: str) -> list[Any] | None:
        """Return a list with no more values than any row needs, because each value could be a problem."""
        if not self.given(field):
            return None
        values = self.raw[field]
        if isinstance(values, list) and len(values) <= MAX_VALUES:
            return values
        if isinstance(values, list):
            self.problem(field, f"{len(values):,} values", f"at most {MAX_VALUES:,} are allowed")
        else:
            self._wrong(field, values, "a list")
        return None

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
        kind = "null" if value is None else _TYPES.get(type(value), type(value).__name__)
        empty = value is None and wanted == "a string"
        hint = 'an empty response is the empty string ""' if empty else "see divbench import --help for formats"
        self.problem(field, f"{kind}, expected {wanted}", hint)
