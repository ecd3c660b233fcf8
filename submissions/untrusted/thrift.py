"""Thrift's compact protocol, in which Parquet writes its footer and its page headers; read strictly.

What another reader would pass over or cut to size is refused here: a field that stands twice, a number that its type
cannot hold, a count that the bytes that are left cannot hold. So nothing is read as something else than by others.
Source: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MAX_VALUES = 1_000_000  # of a footer: some seconds in Python
_MAX_DEPTH = 16

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)


WRITE_AGAIN = "it may be truncated or damaged: write it again"


class Malformed(ValueError):
    """The bytes are malformed; the message says how.

    Attributes:
        hint: Suggested fix.
    """

    def __init__(self, message: str, hint: str = WRITE_AGAIN) -> None:
        super().__init__(message)
        self.hint = hint


class LimitExceeded(Malformed):
    """The input exceeds a limit.

    Attributes:
        row: Number of the row, from 1, counted from where reading stood.
    """

    def __init__(self, message: str, hint: str = "submit fewer or shorter responses", *, row: int = 1) -> None:
        super().__init__(message, hint)
        self.row = row


@dataclass(slots=True)
class Struct:
    """One struct: for each field its type and its value.

    A method gives the value of a field, or None where it is not there; Malformed is raised where its type is another.
    """

    fields: dict[int, tuple[int, Any]] = field(default_factory=dict)

    def i32(self, name: int) -> int | None:
        """A 32-bit number."""
        value: int | None = self._of(name, I32)
        return value

    def i64(self, name: int) -> int | None:
        """A 64-bit number."""
        value: int | None = self._of(name, I64)
        return value

    def binary(self, name: int) -> bytes | None:
        """Bytes."""
        value: bytes | None = self._of(name, BINARY)
        return value

    def struct(self, name: int) -> "Struct | None":
        """A struct."""
        value: Struct | None = self._of(name, STRUCT)
        return value

    def structs(self, name: int) -> "list[Struct]":
        """A list of structs; empty where there is none."""
        kind, values = self._of(name, LIST) or (STRUCT, [])
        if kind != STRUCT and values:
            raise Malformed(f"field {name} is a list of another type")
        made: list[Struct] = values
        return made

    def _of(self, name: int, wanted: int) -> Any:
        kind, value = self.fields.get(name, (wanted, None))
        if kind != wanted:
            raise Malformed(f"field {name} is of another type")
        return value


def read_struct(data: bytes, start: int = 0, most: int | None = None) -> tuple[Struct, int]:
    """The struct that begins at a place, and the place after it.

    Args:
        data: Bytes with the struct in them.
        start: Its place.
        most: Maximum number of values in it and all below it; None: `MAX_VALUES`.

    Raises:
        Malformed: There is no such struct, or it is not whole.
        LimitExceeded: It has more values.
    """
    reader = _Reader(data, start, MAX_VALUES if most is None else most)
    return reader.struct(0), reader.place


class _Reader:
    def __init__(self, data: bytes, place: int, most: int) -> None:
        self._data = data
        self._most = self._left = most
        self.place = place

    def struct(self, depth: int) -> Struct:
        made: dict[int, tuple[int, Any]] = {}
        name = 0
        while head := self.byte():
            kind, step = head & 0x0F, head >> 4
            name = name + step if step else self.number(32)
            if name in made or not 0 < name < 2**15:
                raise Malformed(f"field {name} is repeated or invalid")
            self._count(1)
            if kind <= FALSE:
                made[name] = TRUE, kind == TRUE
            else:
                made[name] = kind, self._value(kind, depth)
        return Struct(made)

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            raise Malformed("nested too deep")
        read = _READ.get(kind)
        if read is None:
            raise Malformed(f"{kind} is not a type")
        return read(self, depth + 1)

    def items(self, depth: int) -> tuple[int, list[Any]]:
        head = self.byte()
        size = head >> 4 if head >> 4 < 15 else self.varint(32)
        self._count(size)
        return head & 0x0F, [self._value(head & 0x0F, depth) for _ in range(size)]

    def pairs(self, depth: int) -> list[tuple[Any, Any]]:
        size = self.varint(32)
        if size == 0:
            return []
        self._count(2 * size)
        kinds = self.byte()
        return [(self._value(kinds >> 4, depth), self._value(kinds & 0x0F, depth)) for _ in range(size)]

    def _count(self, values: int) -> None:
        """Take notice of values to come, each of which has a byte at least, or stands in the one before."""
        if values > len(self._data) - self.place + 1:
            raise Malformed("it declares more data than it contains")
        self._left -= values
        if self._left < 0:
            raise LimitExceeded(f"more than {self._most:,} values in a header", "write fewer and larger row groups")

    def number(self, bits: int) -> int:
        value = self.varint(bits)
        return (value >> 1) ^ -(value & 1)

    def varint(self, bits: int) -> int:
        value = self.byte()
        if value < 0x80:
            return value
        value, shift = value & 0x7F, 7
        while (byte := self.byte()) >= 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise Malformed("a number of more than 64 bits")
        value |= byte << shift
        if value >> bits:
            raise Malformed(f"a number of more than {bits} bits")
        return value

    def byte(self) -> int:
        try:
            byte = self._data[self.place]
        except IndexError:
            raise Malformed("it is truncated") from None
        self.place += 1
        return byte

    def octets(self, size: int) -> bytes:
        if size > len(self._data) - self.place:
            raise Malformed("it declares more data than it contains")
        self.place += size
        return self._data[self.place - size : self.place]


_READ: dict[int, Callable[[_Reader, int], Any]] = {
    TRUE: lambda reader, depth: reader.byte(),  # in a list a truth value is a byte
    FALSE: lambda reader, depth: reader.byte(),
    BYTE: lambda reader, depth: reader.byte(),
    I16: lambda reader, depth: reader.number(32),
    I32: lambda reader, depth: reader.number(32),
    I64: lambda reader, depth: reader.number(64),
    DOUBLE: lambda reader, depth: reader.octets(8),
    BINARY: lambda reader, depth: reader.octets(reader.varint(32)),
    LIST: _Reader.items,
    SET: _Reader.items,
    MAP: _Reader.pairs,
    STRUCT: _Reader.struct,
}
