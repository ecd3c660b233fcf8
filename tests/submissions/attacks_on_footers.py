"""Parquet files whose footer or pages lie, contradict one another, or are damaged."""

from typing import Any

from tests.conftest import TOY
from tests.submissions.attack import DAMAGED, UNREADABLE, Attack, G, content
from tests.submissions.crafted import (
    BINARY,
    I32,
    I64,
    IN_NUMBERS,
    MAGIC,
    STARTS,
    STRUCT,
    ZSTD,
    Chunk,
    Field,
    closed,
    data_page,
    dictionary_page,
    file_of,
    generations,
    levels,
    of_responses,
    run,
    strings,
    toy_chunks,
)

ENTRY = dictionary_page(1, strings([b"a"]))
FULL = levels(run(12, 2))
SECRET: Field = (8, STRUCT, [(1, STRUCT, [])])  # where a column or a footer tells how it is encrypted
FIELDS = {"kind": 1, "codec": 4, "values": 5, "size": 7, "place": 9, "dictionary": 11}


def says(column: str = "prompt_id", **lies: int) -> bytes:
    """What the footer says of a column, in place of what is true."""
    fields = {key: FIELDS[key] for key in lies}
    made = {number: (number, I32 if number < 5 else I64, lies[key]) for key, number in fields.items()}
    chunk = toy_chunks()[column]
    return file_of({column: Chunk(chunk.pages, chunk.values, says=made)})


def beside(outside: Field) -> bytes:
    """Ids with more said of them than that."""
    chunk = toy_chunks()["prompt_id"]
    return generations(prompt_id=Chunk(chunk.pages, chunk.values, outside=[outside]))


def page(values: int = 4, **claims: Any) -> bytes:
    """A page of ids whose header lies."""
    body = strings([p.prompt_id.encode() for p in TOY.prompts])
    return generations(prompt_id=Chunk(data_page(values, body, **claims), 4))


FOOTERS = (
    Attack(
        "a-row-less",
        content(lambda: file_of({}, rows=3, rows_of_group=4)),
        (("parquet", G, 5, ""),),
        "3 rows are declared, 4 are present",
    ),
    Attack("negative-rows", content(lambda: file_of({}, rows=-4)), DAMAGED, "a negative number of rows"),
    Attack("negative-values", content(lambda: says(values=-1)), UNREADABLE, "4 rows are declared, 0 are present"),
    Attack("a-trillion-values", content(lambda: says(values=2**40)), accepted=True),
    Attack("one-value", content(lambda: says(values=1)), accepted=True),
    Attack("no-values", content(lambda: says(values=0)), UNREADABLE, "4 rows are declared, 0 are present"),
    Attack("numbers-for-texts", content(lambda: says(kind=1)), accepted=True),
    Attack("an-unknown-type", content(lambda: says(kind=99)), accepted=True),
    Attack("an-unknown-codec", content(lambda: says(codec=99)), UNREADABLE),
    Attack("a-codec-that-nobody-has", content(lambda: says(codec=3)), UNREADABLE, "LZO"),
    Attack("another-codec", content(lambda: says(codec=ZSTD)), UNREADABLE, "ZSTD"),
    Attack("a-negative-place", content(lambda: says(place=-8)), UNREADABLE, "Invalid column metadata (corrupt file?)"),
    Attack(
        "a-place-in-the-footer",
        content(lambda: says(place=700)),
        UNREADABLE,
        "Couldn't deserialize thrift",
    ),
    Attack(
        "a-place-far-away", content(lambda: says(place=2**62)), UNREADABLE, "Invalid column metadata (corrupt file?)"
    ),
    Attack(
        "a-size-far-away", content(lambda: says(size=2**63 - 1)), UNREADABLE, "Invalid column metadata (corrupt file?)"
    ),
    Attack("no-size", content(lambda: says(size=0)), UNREADABLE, "4 rows are declared, 0 are present"),
    Attack(
        "one-column-over-another",
        content(lambda: says("prompt", dictionary=4)),
        UNREADABLE,
        "Malformed levels",
    ),
    Attack("values-in-another-file", content(lambda: beside((1, BINARY, b"/etc/passwd"))), accepted=True),
    Attack(
        "an-encrypted-column",
        content(lambda: beside(SECRET)),
        UNREADABLE,
        "Column is noted as encrypted but no file decryptor",
    ),
    Attack("an-encrypted-file", content(lambda: file_of({}, SECRET)), accepted=True),
    Attack(
        "an-encrypted-footer",
        content(lambda: generations()[:-4] + b"PARE"),
        DAMAGED,
        "Could not read encrypted metadata",
    ),
    Attack(
        "a-deep-footer",
        content(lambda: closed(MAGIC, b"\x1c" * 10**5 + bytes(10**5))),
        DAMAGED,
        "Couldn't deserialize thrift",
    ),
    Attack(
        "a-list-of-two-billion",
        content(lambda: closed(MAGIC, b"\x29\xfc\xff\xff\xff\xff\x07")),
        DAMAGED,
        "Couldn't deserialize thrift",
    ),
    Attack(
        "a-field-twice",
        content(lambda: closed(MAGIC, b"\x15\x04\x05\x02\x04\0")),
        DAMAGED,
        "Couldn't deserialize thrift",
    ),
    Attack(
        "an-endless-number",
        content(lambda: closed(MAGIC, b"\x15" + b"\xff" * 1000 + b"\0")),
        DAMAGED,
        "Couldn't deserialize thrift",
    ),
    Attack(
        "a-footer-of-nothing",
        content(lambda: closed(MAGIC, b"")),
        DAMAGED,
        "Couldn't deserialize thrift",
    ),
    Attack(
        "a-footer-of-four-gigabytes",
        content(lambda: closed(MAGIC, b"", length=2**32 - 1)),
        DAMAGED,
        "Parquet file size is 12 bytes",
    ),
)
PAGES = (
    Attack("a-page-packed-to-less-than-nothing", content(lambda: page(packed=-1)), UNREADABLE, "Invalid page header"),
    Attack(
        "a-page-unpacked-to-less-than-nothing", content(lambda: page(unpacked=-1)), UNREADABLE, "Invalid page header"
    ),
    Attack(
        "a-page-beyond-its-column",
        content(lambda: page(packed=10**6)),
        UNREADABLE,
        "Unexpected end of stream",
    ),
    Attack(
        "a-page-of-negative-values",
        content(lambda: page(-4)),
        UNREADABLE,
        "Invalid page header (negative number of values)",
    ),
    Attack("a-page-of-a-million-values", content(lambda: page(10**6)), accepted=True),
    Attack("an-empty-page", content(lambda: of_responses(b"")), UNREADABLE),
    Attack(
        "two-dictionaries",
        content(lambda: of_responses(STARTS + FULL + b"\1" + run(12, 0), IN_NUMBERS, ENTRY * 2)),
        UNREADABLE,
        "Column cannot have more than one dictionary.",
    ),
    Attack(
        "no-dictionary",
        content(lambda: of_responses(STARTS + FULL + b"\1" + run(12, 0), IN_NUMBERS)),
        UNREADABLE,
        "Dictionary",
    ),
    Attack(
        "an-entry-beyond-the-dictionary",
        content(lambda: of_responses(STARTS + FULL + b"\x08" + run(12, 200), IN_NUMBERS, ENTRY)),
        UNREADABLE,
        "dictionary",
    ),
    Attack(
        "numbers-of-64-bits",
        content(lambda: of_responses(STARTS + FULL + b"\x40" + run(12, 0), IN_NUMBERS, ENTRY)),
        UNREADABLE,
        "bit_width",
    ),
    Attack("levels-cut-off", content(lambda: of_responses(STARTS[:6])), UNREADABLE),
    Attack("levels-of-two-gigabytes", content(lambda: of_responses(b"\xff\xff\xff\x7f" + STARTS)), UNREADABLE),
    Attack(
        "levels-too-high",
        content(lambda: of_responses(STARTS + levels(run(12, 3)) + strings([b"a"] * 12))),
        UNREADABLE,
        "levels",
    ),
    Attack(
        "a-first-row-without-a-beginning",
        content(lambda: of_responses(levels(run(12, 1)) + FULL + strings([b"a"] * 12))),
        UNREADABLE,
        "level",
    ),
    Attack(
        "a-text-of-four-gigabytes",
        content(lambda: of_responses(STARTS + FULL + b"\xff\xff\xff\xff" + b"a" * 20)),
        UNREADABLE,
    ),
    Attack(
        "an-unknown-encoding", content(lambda: of_responses(STARTS + FULL, 77)), UNREADABLE, "Unknown encoding type."
    ),
)
ATTACKS = FOOTERS + PAGES
