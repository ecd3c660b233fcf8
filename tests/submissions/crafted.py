"""Parquet files made byte by byte, so that they can state what no writer would: sizes, counts and offsets that lie."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.conftest import TOY, toy_rows

Field = tuple[int, int, Any]  # the number of a field, its type and its value
I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12  # Thrift's types
PLAIN, DICTIONARY = 0, 8
NO_CODEC, ZSTD = 0, 6
_BYTES = 6  # the type of strings
_UTF8, _LIST = 0, 3
_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2
MAGIC = b"PAR1"


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def struct(fields: Iterable[Field]) -> bytes:
    """Thrift's compact protocol; fields of the value None are left out."""
    encoded, last = bytearray(), 0
    for number, kind, value in fields:
        if value is not None:
            encoded += bytes([number - last << 4 | kind]) + _encoded(kind, value)
            last = number
    return bytes(encoded) + b"\0"


def _encoded(kind: int, value: Any) -> bytes:
    if kind in {I32, I64}:
        return _zigzag(value)
    if kind == BINARY:
        return varint(len(value)) + bytes(value)
    if kind == LIST:
        inner, items = value
        head = bytes([len(items) << 4 | inner]) if len(items) < 15 else bytes([0xF0 | inner]) + varint(len(items))
        return head + b"".join(_encoded(inner, item) for item in items)
    return struct(value)


def run(count: int, value: int) -> bytes:
    """One value many times, as levels and dictionary indexes are written: a few bytes whatever the count."""
    return varint(count << 1) + bytes([value])


def levels(*runs: bytes) -> bytes:
    """Levels of a page, after the number of their bytes."""
    body = b"".join(runs)
    return len(body).to_bytes(4, "little") + body


def strings(texts: Sequence[bytes]) -> bytes:
    return b"".join(len(text).to_bytes(4, "little") + text for text in texts)


def data_page(values: int, body: bytes, encoding: int = PLAIN, *, unpacked: int | None = None) -> bytes:
    """A page after its header, which may lie about the unpacked size."""
    about = [(1, I32, values), (2, I32, encoding), (3, I32, 3), (4, I32, 3)]
    size = len(body) if unpacked is None else unpacked
    return struct([(1, I32, 0), (2, I32, size), (3, I32, len(body)), (5, STRUCT, about)]) + body


def dictionary_page(entries: int, body: bytes) -> bytes:
    about = [(1, I32, entries), (2, I32, PLAIN)]
    return struct([(1, I32, 2), (2, I32, len(body)), (3, I32, len(body)), (7, STRUCT, about)]) + body


@dataclass(frozen=True)
class Chunk:
    """The pages of a column with their headers, and what the footer says of them."""

    pages: bytes
    values: int
    codec: int = NO_CODEC
    dictionary: bool = False  # whether the first page is one
    claims: dict[int, Field] = field(default_factory=dict)  # fields of the column's metadata in place of the true ones


def _element(
    name: bytes, repetition: int, *, kind: int | None = None, children: int | None = None, what: int | None = None
) -> list[Field]:
    return [(1, I32, kind), (3, I32, repetition), (4, BINARY, name), (5, I32, children), (6, I32, what)]


def _list_of_strings(name: bytes, repetition: int) -> list[list[Field]]:
    return [
        _element(name, repetition, children=1, what=_LIST),
        _element(b"list", _REPEATED, children=1),
        _element(b"element", _OPTIONAL, kind=_BYTES, what=_UTF8),
    ]


SCHEMA: list[list[Field]] = [
    _element(b"schema", _REQUIRED, children=4),
    _element(b"prompt_id", _REQUIRED, kind=_BYTES, what=_UTF8),
    _element(b"prompt", _OPTIONAL, kind=_BYTES, what=_UTF8),
    *_list_of_strings(b"responses", _REQUIRED),
    *_list_of_strings(b"finish_reasons", _OPTIONAL),
]
PATHS = ((b"prompt_id",), (b"prompt",), (b"responses", b"list", b"element"), (b"finish_reasons", b"list", b"element"))


def toy_chunks() -> dict[str, Chunk]:
    """The columns of the toy submission with k = 3."""
    rows = toy_rows(3)
    ids = [row.prompt_id.encode() for row in rows]
    prompts = [prompt.prompt.encode() for prompt in TOY.prompts]
    texts = [text.encode() for row in rows for text in row.responses]
    none = levels(run(4, 0))
    return {
        "prompt_id": Chunk(data_page(4, strings(ids)), 4),
        "prompt": Chunk(data_page(4, levels(run(4, 1)) + strings(prompts)), 4),
        "responses": Chunk(data_page(12, STARTS + levels(run(12, 2)) + strings(texts)), 12),
        "finish_reasons": Chunk(data_page(4, none + none), 4),
    }


STARTS = levels(*(run(1, 0) + run(2, 1) for _ in range(4)))  # levels at which the toy submission's lists begin


def closed(data: bytes, footer: bytes, *, length: int | None = None) -> bytes:
    """Data that begin with the magic, their footer, its length and the magic."""
    return data + footer + (len(footer) if length is None else length).to_bytes(4, "little") + MAGIC


def footer(schema: Sequence[Sequence[Field]], rows: int, groups: Sequence[Sequence[Field]]) -> bytes:
    return struct([(1, I32, 2), (2, LIST, (STRUCT, schema)), (3, I64, rows), (4, LIST, (STRUCT, groups))])


def generations(**chunks: Chunk) -> bytes:
    """The toy submission's file with other columns in place of its own."""
    return file_of(chunks)


def file_of(chunks: Mapping[str, Chunk], *, rows: int = 4, rows_of_group: int | None = None) -> bytes:
    """The toy submission's file with other columns, and numbers of rows as the footer and the row group say."""
    data = bytearray(MAGIC)
    columns: list[list[Field]] = []
    for (name, true), path in zip(toy_chunks().items(), PATHS, strict=True):
        chunk = chunks.get(name, true)
        offset = len(data)
        data += chunk.pages
        about: dict[int, Field] = {
            1: (1, I32, _BYTES),
            2: (2, LIST, (I32, [PLAIN])),
            3: (3, LIST, (BINARY, list(path))),
            4: (4, I32, chunk.codec),
            5: (5, I64, chunk.values),
            6: (6, I64, len(chunk.pages)),
            7: (7, I64, len(chunk.pages)),
            9: (9, I64, offset + chunk.dictionary),  # no reader asks where the data page after a dictionary is
            11: (11, I64, offset if chunk.dictionary else None),
        }
        columns.append([(2, I64, offset), (3, STRUCT, list((about | chunk.claims).values()))])
    count = rows if rows_of_group is None else rows_of_group
    group: list[Field] = [(1, LIST, (STRUCT, columns)), (2, I64, len(data)), (3, I64, count)]
    return closed(bytes(data), footer(SCHEMA, rows, [group]))


def of_responses(body: bytes, encoding: int = PLAIN, dictionary: bytes = b"") -> bytes:
    """The file with a page of twelve responses made of any bytes, after any pages."""
    chunk = Chunk(dictionary + data_page(12, body, encoding), 12, dictionary=bool(dictionary))
    return generations(responses=chunk)
