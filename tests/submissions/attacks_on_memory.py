"""Small Parquet files that promise, or unpack to, more than a machine has."""

from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from submissions.schema import GENERATIONS
from tests.submissions.attack import DAMAGED, SWELLS, TOO_LARGE, UNREADABLE, Attack, G, Place, content
from tests.submissions.crafted import (
    BINARY,
    I32,
    IN_NUMBERS,
    MAGIC,
    STARTS,
    ZSTD,
    Chunk,
    closed,
    data_page,
    dictionary_page,
    file_of,
    footer,
    generations,
    levels,
    of_responses,
    run,
    strings,
    toy_chunks,
)

MIB = 2**20


def packed(body: bytes) -> bytes:
    """In zstd. What is packed twice follows on itself: so it need not be packed again to be there a thousand times."""
    return bytes(pa.compress(body, codec="zstd", asbytes=True))


def nulls(count: int) -> Chunk:
    """A list of so many nulls in the first row's finish reasons: runs of levels, and no value."""
    starts = levels(run(1, 0) + run(count - 1, 1) + run(3, 0))
    return Chunk(data_page(count + 3, starts + levels(run(count, 2) + run(3, 0))), count + 3)


def nothing(rows: int) -> Chunk:
    """Prompts that are null in as many rows."""
    return Chunk(data_page(rows, levels(run(rows, 0))), rows)


def one_text(times: int, text: bytes) -> Chunk:
    """One text so many times in the first row's responses: a dictionary of one entry."""
    starts = levels(run(1, 0) + run(times - 1, 1) + run(3, 0))
    body = starts + levels(run(times + 3, 2)) + b"\1" + run(times + 3, 0)
    return Chunk(
        dictionary_page(1, strings([text])) + data_page(times + 3, body, IN_NUMBERS), times + 3, dictionary=True
    )


def described(zeros: int) -> bytes:
    """Sound columns without a row, and so many zeros of metadata beside them."""
    made = BytesIO()
    with pq.ParquetWriter(made, GENERATIONS, store_schema=False) as writer:
        writer.write_table(pa.Table.from_pylist([], schema=GENERATIONS))
        writer.add_key_value_metadata({"x": "\0" * zeros})
    return made.getvalue()


def one_text_a_row(rows: int, size: int, said: dict[bytes, bytes] | None = None) -> bytes:
    """The same long response to as many prompts, as pyarrow writes it, with words of its own about the file."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * size]))
    lists = pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), texts)
    columns = [pa.array(["toy-0"] * rows), pa.nulls(rows, pa.string()), lists, pa.nulls(rows, pa.list_(pa.string()))]
    out = BytesIO()
    table = pa.table(columns, names=GENERATIONS.names).replace_schema_metadata(said)
    pq.write_table(table, out, store_schema=False, compression="zstd")
    return out.getvalue()


def different_texts(count: int) -> Chunk:
    """As many texts of 256 KiB less a byte in the first row, plain and packed: nothing repeats, but for who packs."""
    before = levels(run(1, 0) + run(count - 1, 1) + run(3, 0)) + levels(run(count + 3, 2))
    text = strings([b"x" * (256 * 2**10 - 1)])
    body = packed(before) + packed(text) * (count + 3)
    return Chunk(data_page(count + 3, body, unpacked=len(before) + (count + 3) * len(text)), count + 3, ZSTD)


def dictionary_of(size: int) -> Chunk:
    """A dictionary of one entry that unpacks to as many bytes."""
    page = dictionary_page(1, packed(b"x" * MIB) * (size // MIB), unpacked=size)
    return Chunk(page + data_page(4, packed(b"\1" + run(4, 0)), IN_NUMBERS), 4, ZSTD, dictionary=True)


def lists_of_lists(depth: int, name: bytes = b"x") -> bytes:
    parts: list[Any] = [[(3, I32, 1), (4, BINARY, name), (5, I32, 1)] for _ in range(depth)]
    leaf: list[Any] = [(1, I32, 6), (3, I32, 1), (4, BINARY, b"y")]
    return closed(MAGIC, footer([[(4, BINARY, b"schema"), (5, I32, 1)], *parts, leaf], 0, []))


def columns(count: int) -> bytes:
    leaves: list[Any] = [[(1, I32, 6), (3, I32, 1), (4, BINARY, b"c%d" % i)] for i in range(count)]
    return closed(MAGIC, footer([[(4, BINARY, b"schema"), (5, I32, count)], *leaves], 0, []))


def empty_pages(count: int) -> bytes:
    """Pages of no value before the one with values."""
    return generations(prompt_id=Chunk(data_page(0, b"") * count + toy_chunks()["prompt_id"].pages, 4))


MISSING: tuple[Place, ...] = tuple(("schema", G, None, name) for name in GENERATIONS.names)
A_GROUP, A_ROW = "a row group of more than 536,870,912 bytes", "a row of more than 33,554,432 bytes"
ONE_OF_EACH = STARTS + levels(run(12, 2)) + b"\1" + run(12, 0)

ATTACKS = (
    Attack(
        "one-text-in-every-row",
        content(lambda: one_text_a_row(20_000, MIB)),
        (("sizes", G, 1024, ""),),
        "more than 1,073,741,824 bytes when decoded",
    ),
    Attack("one-text-in-one-row", content(lambda: generations(responses=one_text(20_000, b"x" * 4000))), SWELLS, A_ROW),
    Attack(
        "a-billion-texts",
        content(lambda: generations(responses=one_text(10**9, b"x"))),
        SWELLS,
        "takes too much memory",
    ),
    Attack("two-million-texts", content(lambda: generations(responses=one_text(2 * 10**6, b"x"))), SWELLS, A_ROW),
    Attack(
        "a-billion-nulls", content(lambda: generations(finish_reasons=nulls(10**9))), SWELLS, "takes too much memory"
    ),
    Attack("eight-million-nulls", content(lambda: generations(finish_reasons=nulls(8 * 10**6))), SWELLS, A_ROW),
    Attack(
        "a-gigabyte-packed",
        content(lambda: generations(responses=different_texts(4096))),
        SWELLS,
        "takes too much memory",
    ),
    Attack("a-row-of-40-megabytes", content(lambda: generations(responses=different_texts(160))), SWELLS, A_ROW),
    Attack(
        "a-page-of-two-gigabytes",
        content(lambda: generations(prompt_id=Chunk(data_page(4, b"", unpacked=2**31 - 1), 4, ZSTD))),
        SWELLS,
        "takes too much memory",
    ),
    Attack(
        "a-dictionary-of-100-megabytes",
        content(lambda: generations(prompt_id=dictionary_of(100 * MIB))),
        UNREADABLE,
        "Unexpected end of stream",
    ),
    Attack(
        "entries-that-are-not-there",
        content(lambda: of_responses(ONE_OF_EACH, IN_NUMBERS, dictionary_page(2**31 - 1, bytes(4)))),
        SWELLS,
        "takes too much memory",
    ),
    Attack(
        "two-billion-rows-of-nothing",
        content(lambda: file_of({"prompt": nothing(2**31 - 1)}, rows=2**31)),
        TOO_LARGE,
        "2,147,483,648 rows",
    ),
    Attack(
        "metadata-of-33-megabytes", content(lambda: described(33 * MIB)), TOO_LARGE, "a schema of more than 33,554,432"
    ),
    Attack("a-trillion-rows-claimed", content(lambda: file_of({}, rows=10**12)), TOO_LARGE, "1,000,000,000,000 rows"),
    Attack(
        "a-million-rows-claimed",
        content(lambda: file_of({}, rows=10**6)),
        (("parquet", G, 5, ""),),
        "1,000,000 rows are declared, 4 are present",
    ),
    Attack(
        "two-prompts-missing-behind-a-claim",
        content(lambda: file_of(toy_chunks(2), rows=4)),
        (("parquet", G, 3, ""),),
        "4 rows are declared, 2 are present",
    ),
    Attack(
        "the-same-pages-a-hundred-times",
        content(lambda: file_of({}, rows=400, rows_of_group=4, copies=100)),
        (
            ("prompt_ids", G, 5, "prompt_id"),
            ("duplicates", G, 5, "responses"),
            ("prompt_ids", G, 6, "prompt_id"),
            ("duplicates", G, 6, "responses"),
            ("prompt_ids", G, 7, "prompt_id"),
            ("duplicates", G, 7, "responses"),
        ),
        "'toy-0' already appears in row 1",
    ),
    Attack(
        "a-million-values-in-the-footer",
        content(lambda: closed(MAGIC, footer([b"\0"] * 1_100_000, 0, []))),
        DAMAGED,
        "Couldn't deserialize thrift",
    ),
    Attack(
        "a-thousand-groups-without-rows",
        content(lambda: file_of(dict.fromkeys(toy_chunks(), Chunk(b"", 0)), rows=0, copies=1000)),
        (("prompt_ids", G, None, "prompt_id"),),
        "no responses to 4 of 4 prompts",
    ),
    Attack(
        "columns-in-columns",
        content(lambda: lists_of_lists(4500, b"x" * 250)),
        DAMAGED,
        "too deeply nested",
    ),
    Attack(
        "six-thousand-columns",
        content(lambda: columns(6000)),
        (
            ("schema", G, None, "prompt_id"),
            ("schema", G, None, "prompt"),
            ("schema", G, None, "responses"),
            ("schema", G, None, "finish_reasons"),
            ("schema", G, None, "c0"),
            ("schema", G, None, "c1"),
        ),
        "the column is missing",
    ),
    Attack(
        "four-thousand-columns",
        content(lambda: columns(4000)),
        (*MISSING, ("schema", G, None, "c0"), ("schema", G, None, "c1")),
        "the column is missing",
    ),
    Attack(
        "a-hundred-thousand-pages",
        content(lambda: empty_pages(100_001)),
        UNREADABLE,
        "4 rows are declared, 0 are present",
    ),
    Attack("lists-of-lists", content(lambda: lists_of_lists(20)), (*MISSING, ("schema", G, None, "x"))),
    Attack("lists-of-lists-of-lists", content(lambda: lists_of_lists(3000)), DAMAGED, "too deeply nested"),
)
