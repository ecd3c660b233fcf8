"""Pages of version 2, of codecs that unpack to something else, of delta encodings, and texts said to be views."""

import base64
from typing import Literal

import pyarrow as pa

from submissions.schema import GENERATIONS
from tests.conftest import TOY
from tests.submissions.attack import SWELLS, UNREADABLE, Attack, G, Make, content
from tests.submissions.attacks_on_formats import about
from tests.submissions.attacks_on_memory import A_ROW, MIB, one_text, one_text_a_row
from tests.submissions.crafted import (
    BINARY,
    BROTLI,
    DELTA_BEGINNINGS,
    DELTA_LENGTHS,
    GZIP,
    I32,
    I64,
    LZ4_RAW,
    SNAPPY,
    STARTS,
    STRUCT,
    ZSTD,
    Chunk,
    Field,
    data_page,
    data_page_2,
    delta,
    file_of,
    generations,
    levels,
    of_responses,
    run,
    strings,
    toy_chunks,
    varint,
)

IDS = strings([p.prompt_id.encode() for p in TOY.prompts])
FULL = levels(run(12, 2))
NO_SIZE = "whose decoded size cannot be determined"
BILLION = 10**9
VIEW, LIST_OF_VIEWS = pa.string_view(), pa.list_(pa.string_view())
VIEWS = pa.schema([(field.name, LIST_OF_VIEWS if pa.types.is_list(field.type) else VIEW) for field in GENERATIONS])
AS_VIEWS = base64.b64encode(VIEWS.serialize().to_pybytes())  # how pyarrow says it in a footer


BLANKS = tuple(("blanks", G, row, f"responses[{i}]") for row in (1, 2) for i in range(3))


def ids(page: bytes, codec: int = 0) -> Make:
    return content(lambda: generations(prompt_id=Chunk(page, 4, codec)))


def version_2(name: str, says: str, values: int = 4, rows: int = 4, **claims: int) -> Attack:
    """Ids in a page of version 2 whose header lies."""
    return Attack(f"version-2-{name}", ids(data_page_2(values, IDS, rows, **claims)), UNREADABLE, says)


def unpacks(name: str, codec: int, body: bytes, says: str) -> Attack:
    """Ids in a page that unpacks to something else than it claims."""
    return Attack(f"unpacks-{name}", ids(data_page(4, body, unpacked=len(IDS)), codec), UNREADABLE, says)


def zeros(codec: Literal["gzip", "brotli", "zstd", "lz4_raw"]) -> bytes:
    """Some megabytes, packed."""
    return bytes(pa.Codec(codec).compress(bytes(8 * MIB), asbytes=True))


def lengths(encoding: int, values: int, block: int) -> Make:
    """Responses that say they have as many lengths."""
    return content(lambda: of_responses(STARTS + FULL + delta(values, block), encoding))


def said_of_ids(name: str, said: Field) -> Attack:
    """More said of ids than where they lie. Nobody asked, and it is not looked at."""
    chunk = toy_chunks()["prompt_id"]
    make = content(lambda: generations(prompt_id=Chunk(chunk.pages, chunk.values, says={said[0]: said})))
    return Attack(f"ids-with-{name}", make, accepted=True)


def beside_ids(name: str, *outside: Field) -> Attack:
    chunk = toy_chunks()["prompt_id"]
    make = content(lambda: generations(prompt_id=Chunk(chunk.pages, chunk.values, outside=outside)))
    return Attack(f"ids-with-{name}", make, accepted=True)


VERSION_2 = (
    version_2("with-more-levels-than-bytes", "", starts=10**6),
    version_2("with-levels-of-two-gigabytes", "", ends=2**31 - 1, starts=2**31 - 1),
    version_2("with-levels-of-less-than-nothing", "", ends=-8),
    version_2("with-levels-that-cancel", "", ends=-8, starts=8),
    version_2("of-negative-values", "negative number of values", values=-1),
    Attack("version-2-of-a-billion-values", ids(data_page_2(BILLION, IDS, 4)), accepted=True),
)
CODECS = (
    unpacks("to-more-by-gzip", GZIP, zeros("gzip"), ""),
    unpacks("to-more-by-brotli", BROTLI, zeros("brotli"), ""),
    unpacks("to-more-by-zstd", ZSTD, zeros("zstd"), "ZSTD"),
    unpacks("to-more-by-lz4", LZ4_RAW, zeros("lz4_raw"), ""),
    unpacks("to-four-gigabytes-by-snappy", SNAPPY, varint(2**32 - 1) + bytes(20), ""),
    unpacks("to-less-by-snappy", SNAPPY, bytes(pa.Codec("snappy").compress(IDS[:9], asbytes=True)), ""),
)
DELTA = (
    Attack("a-billion-lengths", lengths(DELTA_LENGTHS, BILLION, 2**30), SWELLS, "takes too much memory"),
    Attack("a-billion-beginnings", lengths(DELTA_BEGINNINGS, BILLION, 2**30), SWELLS, "takes too much memory"),
    Attack("delta-lengths", lengths(DELTA_LENGTHS, 12, 128), BLANKS, "blank", accepted=True),
)
AS_VIEW = (
    Attack(
        "one-view-in-every-row",
        content(lambda: one_text_a_row(20_000, MIB, {b"ARROW:schema": AS_VIEWS})),
        (("sizes", G, 1024, ""),),
        "more than 1,073,741,824 bytes when decoded",
    ),
    Attack(
        "one-view-in-one-row",
        content(lambda: file_of({"responses": one_text(20_000, b"x" * 4000)}, about(b"ARROW:schema", AS_VIEWS))),
        SWELLS,
        A_ROW,
    ),
)
IGNORED = (
    Attack("ids-with-nulls-that-are-not-there", ids(data_page_2(4, IDS, 4, nulls=BILLION)), accepted=True),
    said_of_ids("statistics-that-lie", (12, STRUCT, [(1, BINARY, b"\xff" * 99), (2, BINARY, b""), (3, I64, 2**62)])),
    said_of_ids("a-filter-far-away", (14, I64, 2**62)),
    beside_ids("an-index-far-away", (4, I64, 2**62), (5, I32, 2**31 - 1), (6, I64, -1), (7, I32, -1)),
)
ATTACKS = VERSION_2 + CODECS + DELTA + AS_VIEW + IGNORED
