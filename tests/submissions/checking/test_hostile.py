"""The table of hostile submissions: each is rejected for its reason, and none ends or fills this process."""

import os
import pickle
import resource
import sys
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from submissions.schema import GENERATIONS
from submissions.storage.submission_folders import GENERATIONS_FILE as G
from submissions.storage.submission_folders import MANIFEST_FILE as M
from submissions.storage.submission_folders import REPORTED_FILE as R
from submissions.untrusted.findings import MAX_FILE_BYTES
from tests.conftest import TOY, write_toy
from tests.submissions.conftest import Json, check
from tests.submissions.crafted import (
    DICTIONARY,
    I32,
    I64,
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

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep all limits")
Change = Callable[[Path], object]  # of a good folder
MIB = 2**20
MEMORY = 600 * MIB  # that this process may grow by
FULL = levels(run(12, 2))
ENTRY = dictionary_page(1, strings([b"a"]))
PICKLE = pickle.dumps(Path("/tmp"), protocol=0).decode()  # noqa: S108
NOT_REGULAR = "is missing or is not a regular file"
NO_MEMORY = "takes too much memory"


def link(name: str, target: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return change


def pipe(folder: Path) -> None:
    (folder / G).unlink()
    os.mkfifo(folder / G)


def directory(folder: Path) -> None:
    (folder / G).unlink()
    (folder / G).mkdir()


def sparse(name: str, size: int) -> Change:
    """As many bytes as are wanted, and no space on the disk."""
    return lambda folder: os.truncate(folder / name, size)


def archive(folder: Path) -> None:
    with zipfile.ZipFile(folder / G, "w") as packed:
        packed.writestr(zipfile.ZipInfo("../../generations.parquet"), generations())


def content(make: Callable[[], bytes]) -> Change:
    return lambda folder: (folder / G).write_bytes(make())


def kept(part: slice) -> Change:
    return lambda folder: (folder / G).write_bytes((folder / G).read_bytes()[part])


def written(schema: pa.Schema, **values: Any) -> Callable[[], bytes]:
    """The toy submission with other columns."""

    def make() -> bytes:
        rows: list[Json] = [
            {"prompt_id": p.prompt_id, "prompt": p.prompt, "responses": [f"{p.prompt_id} {i}" for i in range(3)]}
            for p in TOY.prompts
        ]
        out = BytesIO()
        pq.write_table(pa.Table.from_pylist([row | values for row in rows], schema=schema), out)
        return out.getvalue()

    return make


def field(name: str, kind: pa.DataType, **metadata: str) -> pa.Schema:
    index = GENERATIONS.get_field_index(name)
    return GENERATIONS.set(index, pa.field(name, kind, metadata=metadata or None))


def claims(column: str, number: int, kind: int, value: int) -> Callable[[], bytes]:
    """A footer that lies about a column."""
    chunk = toy_chunks()[column]
    return lambda: file_of({column: Chunk(chunk.pages, chunk.values, claims={number: (number, kind, value)})})


def packed(body: bytes) -> bytes:
    return bytes(pa.compress(body, codec="zstd", asbytes=True))


def one_text(times: int, text: bytes) -> bytes:
    """One text many times in the first row's responses: a dictionary of one entry."""
    starts = levels(run(1, 0) + run(times - 1, 1) + run(3, 0))
    body = starts + levels(run(times + 3, 2)) + b"\1" + run(times + 3, 0)
    pages = dictionary_page(1, strings([text])) + data_page(times + 3, body, DICTIONARY)
    return generations(responses=Chunk(pages, times + 3, dictionary=True))


def one_text_a_row(rows: int, size: int) -> bytes:
    """The same long response to many prompts, as pyarrow writes it: a small file of gigabytes."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * size]))
    lists = pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), texts)
    columns = [pa.array(["toy-0"] * rows), pa.nulls(rows, pa.string()), lists, pa.nulls(rows, pa.list_(pa.string()))]
    out = BytesIO()
    pq.write_table(pa.table(columns, names=GENERATIONS.names), out, store_schema=False, compression="zstd")
    return out.getvalue()


def different_texts(count: int) -> bytes:
    """As many texts of 256 KiB in the first row, plain and packed."""
    before = levels(run(1, 0) + run(count - 1, 1) + run(3, 0)) + levels(run(count + 3, 2))
    text = strings([b"x" * (256 * 2**10 - 1)])
    size = len(before) + (count + 3) * len(text)
    page = data_page(count + 3, packed(before) + packed(text) * (count + 3), unpacked=size)
    return generations(responses=Chunk(page, count + 3, ZSTD))


def nulls(count: int) -> bytes:
    starts = levels(run(1, 0) + run(count - 1, 1) + run(3, 0))
    page = data_page(count + 3, starts + levels(run(count, 2) + run(3, 0)))
    return generations(finish_reasons=Chunk(page, count + 3))


def lists_of_lists(depth: int) -> bytes:
    parts: list[Any] = [[(3, I32, 1), (4, 8, b"x"), (5, I32, 1)] for _ in range(depth)]
    return closed(
        MAGIC, footer([[(4, 8, b"schema"), (5, I32, 1)], *parts, [(1, I32, 6), (3, I32, 1), (4, 8, b"y")]], 0, [])
    )


# Name: what is done to a good folder; the check, the file and the row of the first problem; its message.
HOSTILE: dict[str, tuple[Change, str, str, int | None, str]] = {
    "link to another file": (link(M, "/etc/passwd"), "file", M, None, NOT_REGULAR),
    "link to endless zeros": (link(G, "/dev/zero"), "file", G, None, NOT_REGULAR),
    "link to nowhere": (link(R, "/nowhere"), "file", R, None, NOT_REGULAR),
    "pipe": (pipe, "file", G, None, NOT_REGULAR),
    "folder": (directory, "file", G, None, NOT_REGULAR),
    "terabyte": (sparse(G, 2**40), "sizes", G, None, "1,099,511,627,776 bytes"),
    "byte too many": (sparse(G, MAX_FILE_BYTES + 1), "sizes", G, None, "536,870,913 bytes"),
    "gigabyte of a manifest": (sparse(M, 2**30), "sizes", M, None, "1,073,741,824 bytes"),
    "empty": (sparse(G, 0), "file", G, None, "the file is empty"),
    "archive": (archive, "parquet", G, None, "magic bytes not found"),
    "pickle": (content(PICKLE.encode), "parquet", G, None, "magic bytes not found"),
    "magic alone": (content(lambda: MAGIC * 2), "parquet", G, None, "smaller than the size reported by footer"),
    "cut in the data": (kept(slice(300)), "parquet", G, None, "magic bytes not found"),
    "without its beginning": (kept(slice(50, None)), "parquet", G, 1, "cannot be read after row 0"),
    "footer of four gigabytes": (
        content(lambda: closed(MAGIC, b"", length=2**32 - 1)), "parquet", G, None, "Parquet file size is 12 bytes"
    ),
    "deep footer": (
        content(lambda: closed(MAGIC, b"\x1c" * 10**5 + bytes(10**5))), "parquet", G, None, "deserialize thrift"
    ),
    "list of two billion": (
        content(lambda: closed(MAGIC, b"\x29\xfc\xff\xff\xff\xff\x07")), "parquet", G, None, "deserialize thrift"
    ),
    "lists of lists": (content(lambda: lists_of_lists(3000)), "parquet", G, None, "too deeply nested"),
    "name by escapes": (
        content(written(GENERATIONS.append(pa.field("\x1b[2J", pa.string())))), "schema", G, None, "unknown column"
    ),
    "bytes for texts": (
        content(written(field("responses", pa.list_(pa.binary())), responses=[b"\xff"] * 3)),
        *("schema", G, None, "type list<element: binary>"),
    ),
    "extension type": (content(written(field("prompt", pa.json_()), prompt="{}")), "schema", G, None, "extension"),
    "row less": (content(lambda: file_of({}, rows=3, rows_of_group=4)), "parquet", G, 5, "3 rows are declared, 4"),
    "negative rows": (content(lambda: file_of({}, rows=-4)), "parquet", G, None, "a negative number of rows"),
    "trillion rows": (content(lambda: file_of({}, rows=10**12)), "sizes", G, None, "1,000,000,000,000 rows"),
    "no values": (content(claims("prompt_id", 5, I64, 0)), "parquet", G, 1, "4 rows are declared, 0 are present"),
    "offset far away": (content(claims("prompt_id", 9, I64, 2**62)), "parquet", G, 1, "Invalid column metadata"),
    "another codec": (content(claims("prompt_id", 4, I32, ZSTD)), "parquet", G, 1, "ZSTD"),
    "levels of two gigabytes": (
        content(lambda: of_responses(b"\xff\xff\xff\x7f" + STARTS)), "parquet", G, 1, "cannot be read after row 0"
    ),
    "index beyond the dictionary": (
        content(lambda: of_responses(STARTS + FULL + b"\x08" + run(12, 200), DICTIONARY, ENTRY)),
        *("parquet", G, 1, "dictionary"),
    ),
    "text of four gigabytes": (
        content(lambda: of_responses(STARTS + FULL + b"\xff\xff\xff\xff" + b"a" * 20)), "parquet", G, 1, "after row 0"
    ),
    "one text in every row": (
        content(lambda: one_text_a_row(20_000, MIB)), "sizes", G, 1024, "more than 1,073,741,824 bytes when decoded"
    ),
    "billion texts": (content(lambda: one_text(10**9, b"x")), "sizes", G, 1, NO_MEMORY),
    "two million texts": (content(lambda: one_text(2 * 10**6, b"x")), "sizes", G, 1, "a row of more than 33,554,432"),
    "billion nulls": (content(lambda: nulls(10**9)), "sizes", G, 1, NO_MEMORY),
    "gigabyte packed": (content(lambda: different_texts(4096)), "sizes", G, 1, NO_MEMORY),
    "page of two gigabytes": (
        content(lambda: generations(prompt_id=Chunk(data_page(4, b"", unpacked=2**31 - 1), 4, ZSTD))),
        *("sizes", G, 1, NO_MEMORY),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_submission_is_rejected(tmp_path: Path, name: str) -> None:
    change, kind, file, row, message = HOSTILE[name]
    folder = write_toy(tmp_path / "bad")
    change(folder)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = check(folder)
    problem = report.findings.problems[0]
    assert report.submission is None
    assert (problem.check, problem.severity, problem.file, problem.row) == (kind, "error", file, row)
    assert message in problem.message
    assert problem.hint
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY // 1024


ARROW = {"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": PICKLE}
HARMLESS: dict[str, Change] = {
    "another beginning": content(lambda: b"PAR2" + generations()[4:]),
    "extension with a pickle": content(written(field("prompt", pa.string(), **ARROW))),
    "trillion values": content(claims("prompt_id", 5, I64, 2**40)),
    "program beside": lambda folder: (folder / "sitecustomize.py").write_text("open('was-run', 'w')"),
    "link beside": link("more.json", "/etc/shadow"),
    "hard link": lambda folder: (folder / "another-name").hardlink_to(folder / G),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_does_no_harm_is_accepted(tmp_path: Path, name: str) -> None:
    folder = write_toy(tmp_path / "odd")
    HARMLESS[name](folder)
    assert check(folder).submission is not None
