"""Where the values of a Parquet file lie, and how many there are, before anything decodes them.

A file of some hundred bytes can promise gigabytes: its pages say how many values they hold and how long they are when
unpacked, runs of nulls and repetitions take no room, and a reader believes it all. So footer and page headers are read
here first, strictly, and the promises are added up. pyarrow's own view of the footer is not asked: it does not know the
pages, and ends the whole process on some damaged files.
Source: https://github.com/apache/parquet-format
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from submissions.untrusted.thrift import LimitExceeded, Malformed, Struct, read_struct

MAX_FOOTER_BYTES = 64 * 2**20
MAX_COLUMNS = 5000
MAX_NAMES = 16 * 2**20  # letters of all columns' paths together
MAX_PAGES = 100_000
_MAGIC, _ENCRYPTED = b"PAR1", b"PARE"
_WINDOWS = (2**12, 2**18)  # a page's header is short, but for its statistics
_VALUES = 1000  # and has few values
_BYTE_ARRAY = 6
_DICTIONARY_PAGE = 2
# Of data pages, dictionaries and data pages of version 2: where a header tells of them, and there of their encoding.
_ABOUT = {0: (5, 2), _DICTIONARY_PAGE: (7, 2), 3: (8, 4)}
_PLAIN = 0
_IN_NUMBERS = frozenset({2, 8})  # two names of one encoding
# A page of some bytes may say that it has a billion lengths of no bits each, and pyarrow makes room for all of them;
# where strings share their beginnings, it may be longer than its bytes, too.
_DELTA = {6: "DELTA_LENGTH_BYTE_ARRAY", 7: "DELTA_BYTE_ARRAY"}
_NO_DELTA = (
    "write its strings plain or dictionary-encoded: in pyarrow without column_encoding, in DuckDB with"
    " PARQUET_VERSION V1, in Java and Spark with parquet.writer.version=v1, in Rust with WriterVersion::PARQUET_1_0"
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the file, or a part of one.

    Attributes:
        path: Its names from the top, with dots between.
        is_bytes: Whether its values are strings of bytes.
    """

    path: str
    is_bytes: bool


@dataclass(frozen=True, slots=True)
class Chunk:
    """The values of one column in one row group.

    Attributes:
        column: Name of the column.
        values: Number of values in the footer, including nulls and empty lists.
        start: The place of the first page.
        end: The place after the last one.
    """

    column: Column
    values: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Group:
    """A row group."""

    rows: int
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A page, as its header describes it.

    Attributes:
        values: Number of values, including nulls; of a dictionary, its entries.
        size: Bytes when unpacked.
        is_dictionary: Whether it holds the entries of a dictionary.
        in_numbers: Whether its values are the numbers of such entries.
    """

    values: int
    size: int
    is_dictionary: bool
    in_numbers: bool


def read_layout(path: Path) -> tuple[Group, ...]:
    """What a Parquet file's footer promises, each checked against the others.

    Raises:
        Malformed: It is no Parquet file, or a damaged or encrypted one, or its footer contradicts itself.
        LimitExceeded: The footer is too long.
        UnicodeDecodeError: The name of a column is not UTF-8.
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        tail = file.read(8)
        if tail[4:] == _ENCRYPTED:
            raise Malformed("it is encrypted")
        if size < 12 or tail[4:] != _MAGIC:
            raise Malformed("it does not end like one")
        end = size - 8 - int.from_bytes(tail[:4], "little")
        if end < len(_MAGIC):
            raise Malformed("its footer is longer than the file")
        if size - end > MAX_FOOTER_BYTES:
            raise LimitExceeded(
                f"a footer of more than {MAX_FOOTER_BYTES:,} bytes", "write fewer and larger row groups"
            )
        file.seek(0)
        if file.read(4) != _MAGIC:
            raise Malformed("it does not begin like one")
        file.seek(end)
        footer, _ = read_struct(file.read(size - 8 - end))
    return _groups(footer, end)


class PageHeaders:
    """The headers of a file's pages; what the pages hold is not read.

    Args:
        file: The file, open for reading.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = MAX_PAGES

    def of(self, chunk: Chunk) -> Iterator[Page]:
        """The pages of a chunk.

        Raises:
            Malformed: A header cannot be read, or contradicts the footer, or the values are written in a way in which
                their size cannot be told.
            LimitExceeded: They are, with those that were asked for before, more than `MAX_PAGES`.
        """
        name = chunk.column.path
        place, seen = chunk.start, 0
        first = True
        while seen < chunk.values:
            self._left -= 1
            if self._left < 0:
                raise LimitExceeded(f"more than {MAX_PAGES:,} pages", "write larger pages")
            header, place = self._header(place, chunk.end)
            kind, unpacked, packed = header.i32(1), header.i32(2), header.i32(3)
            if kind is None or unpacked is None or packed is None or unpacked < 0 or packed < 0:
                raise Malformed(f"{name}: a page without a size")
            place += packed
            if place > chunk.end:
                raise Malformed(f"{name}: a page beyond the end of its column")
            page = _page(kind, header, max(packed, unpacked), chunk.column)
            if page is None:
                continue
            if page.is_dictionary and not first:
                raise Malformed(f"{name}: a dictionary that is not its first page")
            first = False
            seen += 0 if page.is_dictionary else page.values
            if seen > chunk.values:
                raise Malformed(f"{name}: its pages hold more values than the footer declares")
            yield page

    def _header(self, place: int, end: int) -> tuple[Struct, int]:
        """The header that begins at a place, and the place after it."""
        for window in _WINDOWS:
            self._file.seek(place)
            data = self._file.read(max(0, min(window, end - place)))
            try:
                header, length = read_struct(data, most=_VALUES)
            except Malformed:
                if len(data) < window or window == _WINDOWS[-1]:
                    raise
            else:
                return header, place + length
        raise AssertionError  # the last window has returned or raised


def _page(kind: int, header: Struct, size: int, column: Column) -> Page | None:
    """What a header says of its page; None where readers pass over it, such as an index."""
    if kind not in _ABOUT:
        return None
    field, encoded = _ABOUT[kind]
    about = header.struct(field)
    values = None if about is None else about.i32(1)
    encoding = None if about is None else about.i32(encoded)
    if values is None or encoding is None or values < 0:
        raise Malformed(f"{column.path}: a page without its number of values")
    is_dictionary = kind == _DICTIONARY_PAGE
    if is_dictionary and values > size:
        raise Malformed(f"{column.path}: a dictionary of {values:,} entries in {size:,} bytes")
    if encoding in _DELTA:
        raise Malformed(
            f"{column.path}: encoded as {_DELTA[encoding]}, whose decoded size cannot be determined", _NO_DELTA
        )
    if column.is_bytes and encoding != _PLAIN and encoding not in _IN_NUMBERS:
        raise Malformed(f"{column.path}: its strings are neither plain nor dictionary-encoded")
    return Page(values, size, is_dictionary, not is_dictionary and encoding in _IN_NUMBERS)


def _groups(footer: Struct, end: int) -> tuple[Group, ...]:
    if footer.struct(8) is not None:
        raise Malformed("it is encrypted")
    columns = _columns(footer.structs(2))
    made = tuple(_group(group, columns) for group in footer.structs(4))
    if footer.i64(3) != sum(group.rows for group in made):
        raise Malformed("its footer and its row groups differ in the number of rows")
    last = len(_MAGIC)
    for chunk in sorted((c for group in made for c in group.chunks if c.values), key=lambda c: c.start):
        if not last <= chunk.start <= chunk.end <= end:
            raise Malformed(f"{chunk.column.path}: overlaps another column or the end of the data")
        last = chunk.end
    return made


def _columns(elements: list[Struct]) -> list[Column]:
    """The leaves of the schema, in the order of a row group's chunks."""
    if len(elements) > MAX_COLUMNS:
        raise LimitExceeded(f"{len(elements):,} columns and nested columns", f"at most {MAX_COLUMNS:,} are allowed")
    made: list[Column] = []
    above: list[tuple[str, int]] = []  # the parts that are open: their paths, and how many parts they still have
    letters = 0
    for place, element in enumerate(elements):
        if bool(place) != bool(above):
            raise Malformed("a column outside the schema")
        path = ".".join([*([above[-1][0]] if len(above) > 1 else []), (element.binary(4) or b"").decode("utf-8")])
        letters += len(path)
        if letters > MAX_NAMES:
            raise LimitExceeded(f"more than {MAX_NAMES:,} characters in column names", "shorten them")
        if above:
            above[-1] = above[-1][0], above[-1][1] - 1
        if (parts := element.i32(5) or 0) > 0:
            above.append((path, parts))
        else:
            made.append(_leaf(element, path))
        while above and above[-1][1] == 0:
            above.pop()
    if above or not elements:
        raise Malformed("its schema is truncated")
    return made


def _leaf(element: Struct, path: str) -> Column:
    kind = element.i32(1)
    if kind is None or (element.i32(5) or 0) < 0:
        raise Malformed(f"the column {path} has no type")
    return Column(path, kind == _BYTE_ARRAY)


def _group(group: Struct, columns: list[Column]) -> Group:
    found = group.structs(1)
    rows = group.i64(3)
    if rows is None or rows < 0 or len(found) != len(columns):
        raise Malformed("a row group without its number of rows or all columns")
    return Group(rows, tuple(_chunk(chunk, column) for chunk, column in zip(found, columns, strict=True)))


def _chunk(chunk: Struct, column: Column) -> Chunk:
    about = chunk.struct(3)
    if about is None or chunk.struct(8) is not None:
        raise Malformed(f"{column.path}: encrypted or not described")
    if chunk.binary(1) is not None:
        raise Malformed(f"{column.path}: its values are in another file")
    if (about.i32(1) == _BYTE_ARRAY) != column.is_bytes:
        raise Malformed(f"{column.path}: not of the type that its schema declares")
    values, size, first, dictionary = about.i64(5), about.i64(7), about.i64(9), about.i64(11)
    if values is None or size is None or first is None or values < 0 or size < 0:
        raise Malformed(f"{column.path}: without a size or an offset")
    start = dictionary if dictionary is not None and 0 < dictionary < first else first
    return Chunk(column, values, start, start + size)
