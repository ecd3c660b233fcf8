"""Parquet files made byte by byte, so that they can say what no writer would: sizes, counts and places that lie.

`generations` gives the toy submission's file with other columns, `file_of` with other claims, too.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.conftest import TOY, toy_rows

Field = tuple[int, int, Any]  # the number of a field, its type and its value
TRUE, FALSE, I16, I32, I64, BINARY, LIST, STRUCT = 1, 2, 4, 5, 6, 8, 9, 12  # Thrift's types
PLAIN, IN_NUMBERS, DELTA_LENGTHS, DELTA_BEGINNINGS = 0, 8, 6, 7
NO_CODEC, SNAPPY, GZIP, BROTLI, ZSTD, LZ4_RAW = 0, 1, 2, 4, 6, 7
_BYTES = 6  # the type of strings
_UTF8, _LIST = 0, 3
_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2
MAGIC = b"PAR1"


def varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def struct(fields: Iterable[Field]) -> bytes:
    """Thrift's compact protocol; fields of the value None are left out."""
    made, last = bytearray(), 0
    for name, kind, value in fields:
        if value is None:
            continue
        code = (TRUE if value else FALSE) if kind == TRUE else kind
        made += bytes([name - last << 4 | code]) if 0 < name - last < 16 else bytes([code]) + _zigzag(name)
        made += b"" if kind == TRUE else _encoded(kind, value)
        last = name
    return bytes(made) + b"\0"


def _zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _encoded(kind: int, value: Any) -> bytes:
    if kind in {I16, I32, I64}:
        return _zigzag(value)
    if kind == BINARY:
        return varint(len(value)) + bytes(value)
    if kind == LIST:
        inner, items = value
        head = bytes([len(items) << 4 | inner]) if len(items) < 15 else bytes([0xF0 | inner]) + varint(len(items))
        return head + b"".join(_encoded(inner, item) for item in items)
    return value if isinstance(value, bytes) else struct(value)


def run(count: int, value: int) -> bytes:
    """One value many times, as levels and numbers of entries are written: a few bytes whatever the count."""
    return varint(count << 1) + bytes([value])


def levels(*runs: bytes) -> bytes:
    """Levels of a page, with the number of their bytes before them."""
    body = b"".join(runs)
    return len(body).to_bytes(4, "little") + body


def strings(texts: Sequence[bytes]) -> bytes:
    return b"".join(len(text).to_bytes(4, "little") + text for text in texts)


def data_page(
    values: int, body: bytes, encoding: int = PLAIN, *, unpacked: int | None = None, packed: int | None = None
) -> bytes:
    """A page with its header. What it claims to be unpacked or packed may be given; else it is true."""
    size = len(body) if packed is None else packed
    about = struct([(1, I32, values), (2, I32, encoding), (3, I32, 3), (4, I32, 3)])
    return (
        struct([(1, I32, 0), (2, I32, len(body) if unpacked is None else unpacked), (3, I32, size), (5, STRUCT, about)])
        + body
    )


def data_page_2(values: int, body: bytes, rows: int, **claims: int) -> bytes:
    """A page of version 2 of values that cannot be null nor in lists, unless it claims so."""
    says = {"nulls": 0, "ends": 0, "starts": 0} | claims
    levels = (5, I32, says["ends"]), (6, I32, says["starts"])
    about = struct([(1, I32, values), (2, I32, says["nulls"]), (3, I32, rows), (4, I32, PLAIN), *levels])
    return struct([(1, I32, 3), (2, I32, len(body)), (3, I32, len(body)), (8, STRUCT, about)]) + body


def delta(values: int, block: int, blocks: int = 1) -> bytes:
    """Numbers that are all zero, in blocks of any size: some bytes whatever the count."""
    return varint(block) + varint(1) + varint(values) + b"\0" + bytes(2) * blocks


def dictionary_page(entries: int, body: bytes, *, unpacked: int | None = None) -> bytes:
    about = struct([(1, I32, entries), (2, I32, PLAIN)])
    size = len(body) if unpacked is None else unpacked
    return struct([(1, I32, 2), (2, I32, size), (3, I32, len(body)), (7, STRUCT, about)]) + body


@dataclass(frozen=True)
class Chunk:
    """The pages of a column, how many values they have in all, and what the footer says of them.

    Attributes:
        pages: With their headers.
        values: As the footer says.
        codec: What the pages are packed with.
        dictionary: Whether the first page is one.
        says: Fields of the column's metadata in place of the true ones.
        outside: More fields beside the metadata.
    """

    pages: bytes
    values: int
    codec: int = NO_CODEC
    dictionary: bool = False
    says: dict[int, Field] = field(default_factory=dict)
    outside: Sequence[Field] = ()


def _element(
    name: bytes, repetition: int, *, kind: int | None = None, children: int | None = None, what: int | None = None
) -> list[Field]:
    return [(1, I32, kind), (3, I32, repetition), (4, BINARY, name), (5, I32, children), (6, I32, what)]


def list_of_strings(name: bytes, repetition: int) -> list[list[Field]]:
    return [
        _element(name, repetition, children=1, what=_LIST),
        _element(b"list", _REPEATED, children=1),
        _element(b"element", _OPTIONAL, kind=_BYTES, what=_UTF8),
    ]


SCHEMA: list[list[Field]] = [
    _element(b"schema", _REQUIRED, children=4),
    _element(b"prompt_id", _REQUIRED, kind=_BYTES, what=_UTF8),
    _element(b"prompt", _OPTIONAL, kind=_BYTES, what=_UTF8),
    *list_of_strings(b"responses", _REQUIRED),
    *list_of_strings(b"finish_reasons", _OPTIONAL),
]
PATHS = ((b"prompt_id",), (b"prompt",), (b"responses", b"list", b"element"), (b"finish_reasons", b"list", b"element"))


def toy_chunks(number: int = 4) -> dict[str, Chunk]:
    """The columns of the toy submission with k = 3, or of its first rows."""
    rows = toy_rows(3)[:number]
    ids = [row.prompt_id.encode() for row in rows]
    prompts = [prompt.prompt.encode() for prompt in TOY.prompts[:number]]
    texts = [text.encode() for row in rows for text in row.responses]
    starts = levels(*(run(1, 0) + run(2, 1) for _ in rows))
    n = len(texts)
    return {
        "prompt_id": Chunk(data_page(number, strings(ids)), number),
        "prompt": Chunk(data_page(number, levels(run(number, 1)) + strings(prompts)), number),
        "responses": Chunk(data_page(n, starts + levels(run(n, 2)) + strings(texts)), n),
        "finish_reasons": Chunk(data_page(number, levels(run(number, 0)) + levels(run(number, 0))), number),
    }


def footer(
    schema: Sequence[Sequence[Field] | bytes], rows: int, groups: Sequence[Sequence[Field]], *more: Field
) -> bytes:
    return struct(
        [(1, I32, 2), (2, LIST, (STRUCT, list(schema))), (3, I64, rows), (4, LIST, (STRUCT, list(groups))), *more]
    )


def closed(data: bytes, footer: bytes, *, length: int | None = None) -> bytes:
    """Data that begin with the magic, with their footer, its length and the magic behind."""
    return data + footer + (len(footer) if length is None else length).to_bytes(4, "little") + MAGIC


def generations(**chunks: Chunk) -> bytes:
    """The toy submission's file with other columns in place of its own."""
    return file_of(chunks)


def file_of(
    chunks: Mapping[str, Chunk], *more: Field, rows: int = 4, rows_of_group: int | None = None, copies: int = 1
) -> bytes:
    """The toy submission's file.

    Args:
        chunks: In place of the true columns.
        more: Fields of the footer beside those that every footer has.
        rows: As the footer says.
        rows_of_group: As the row group says; None: as the footer.
        copies: How often the footer names the row group.
    """
    data = bytearray(MAGIC)
    columns: list[list[Field]] = []
    for (name, true), path in zip(toy_chunks().items(), PATHS, strict=True):
        chunk = chunks.get(name, true)
        place = len(data)
        data += chunk.pages
        about: dict[int, Field] = {
            1: (1, I32, _BYTES),
            2: (2, LIST, (I32, [PLAIN])),
            3: (3, LIST, (BINARY, list(path))),
            4: (4, I32, chunk.codec),
            5: (5, I64, chunk.values),
            6: (6, I64, len(chunk.pages)),
            7: (7, I64, len(chunk.pages)),
            9: (9, I64, place),
            11: (11, I64, place if chunk.dictionary else None),
        }
        if chunk.dictionary:  # the data page comes after it; no reader asks where
            about[9] = 9, I64, place + 1
        outside = sorted([(2, I64, place), (3, STRUCT, list((about | chunk.says).values())), *chunk.outside])
        columns.append(outside)
    count = rows if rows_of_group is None else rows_of_group
    group: list[Field] = [(1, LIST, (STRUCT, columns)), (2, I64, len(data)), (3, I64, count)]
    return closed(bytes(data), footer(SCHEMA, rows, [group] * copies, *more))


STARTS = levels(*(run(1, 0) + run(2, 1) for _ in range(4)))
"""The levels at which the toy submission's lists begin."""


def of_responses(body: bytes, encoding: int = PLAIN, dictionary: bytes = b"") -> bytes:
    """The file with a page of twelve responses made of any bytes, behind any pages."""
    chunk = Chunk(dictionary + data_page(12, body, encoding), 12, dictionary=bool(dictionary))
    return generations(responses=chunk)
