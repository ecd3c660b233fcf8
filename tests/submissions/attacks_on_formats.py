"""What is named generations.parquet and is none, or one of another shape: cut off, with other columns, other claims."""

import gzip
import json
import pickle
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from submissions.schema import GENERATIONS
from tests.conftest import TOY
from tests.submissions.attack import DAMAGED, NO_FILE, UNREADABLE, Attack, G, Json, Place, changed, content
from tests.submissions.crafted import BINARY, LIST, MAGIC, STRUCT, Field, file_of, generations


class Burglar:
    """What would leave a file behind if somebody unpickled it."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (Path("was-run"),)


PICKLE = pickle.dumps(Burglar(), protocol=0).decode()


def toy_table(schema: pa.Schema = GENERATIONS, **more: Any) -> pa.Table:
    rows: list[Json] = [
        {"prompt_id": p.prompt_id, "prompt": p.prompt, "responses": [f"{p.prompt_id} {i}" for i in range(3)]} | more
        for p in TOY.prompts
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def written(table: pa.Table, **options: Any) -> bytes:
    out = BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def with_column(name: str, kind: pa.DataType = pa.string(), value: Any = "x") -> bytes:  # noqa: B008 - it does not change
    return written(toy_table(GENERATIONS.append(pa.field(name, kind)), **{name: value}))


def with_field(name: str, kind: pa.DataType, value: Any, **metadata: str) -> bytes:
    """The toy submission with a column of another type, or more said of it."""
    field = pa.field(name, kind, metadata=metadata or None)
    return written(toy_table(GENERATIONS.set(GENERATIONS.get_field_index(name), field), **{name: value}))


def twice(name: str) -> bytes:
    table = toy_table()
    return written(table.append_column(name, table.column(name)))


def arrow_file() -> bytes:
    out = BytesIO()
    with pa.ipc.new_file(out, GENERATIONS) as writer:
        writer.write_table(toy_table())
    return out.getvalue()


def archive() -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        packed.writestr(zipfile.ZipInfo("../../generations.parquet"), generations())
        packed.writestr(zipfile.ZipInfo("zeros"), bytes(10**7), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def about(name: bytes, value: bytes) -> Field:
    """What a footer says of its file in words of its own."""
    return (5, LIST, (STRUCT, [[(1, BINARY, name), (2, BINARY, value)]]))


def noise(folder: Path, rng: Random) -> None:
    (folder / G).write_bytes(rng.randbytes(5000))


def flipped(folder: Path, rng: Random) -> None:
    """Twenty bytes of the data turned into others; the footer stays."""
    data = bytearray(generations())
    for _ in range(20):
        data[rng.randrange(4, 300)] ^= rng.randrange(1, 256)
    (folder / G).write_bytes(data)


def cut(name: str, keep: Callable[[bytes], bytes], found: tuple[Place, ...] = DAMAGED, says: str = "") -> Attack:
    return Attack(f"cut-{name}", changed(keep), found, says)


def column(name: str) -> tuple[Place, ...]:
    return (("schema", G, None, name),)


def an(name: str, make: Callable[[], bytes], says: str = "Parquet magic bytes not found") -> Attack:
    return Attack(name, content(make), DAMAGED, says)


OTHERS = (
    an("a-pickle", lambda: pickle.dumps(Burglar())),
    an("an-archive-as-parquet", archive),
    an("gzip-as-parquet", lambda: gzip.compress(generations(), mtime=0)),
    an("an-arrow-file", arrow_file),
    an("orc", lambda: b"ORC" + bytes(100) + b"ORC"),
    an("json-as-parquet", lambda: json.dumps([{"prompt_id": "toy-0"}]).encode()),
    an("a-page-of-a-site", lambda: b"<html><script>alert(1)</script>" * 10),
    an("a-program", lambda: b"\x7fELF\x02\x01\x01" + bytes(200)),
    an("the-magic-twice", lambda: MAGIC * 2, "smaller than the size reported by footer"),
    Attack("another-beginning", content(lambda: b"PAR2" + generations()[4:]), accepted=True),
    an("another-end", lambda: generations()[:-4] + b"PAR2"),
    Attack("noise", noise, DAMAGED, "Parquet magic bytes not found in footer. Either the file is "),
    Attack("noise-in-the-data", flipped, UNREADABLE),
    Attack("an-empty-file", content(lambda: b""), NO_FILE, "the file is empty"),
)
CUT = (
    cut("after-three-bytes", lambda data: data[:3]),
    cut("after-the-magic", lambda data: data[:4]),
    cut("after-eleven-bytes", lambda data: data[:11]),
    cut("in-the-data", lambda data: data[: len(data) // 3]),
    cut("in-the-footer", lambda data: data[:-200]),
    cut("before-the-length", lambda data: data[:-8]),
    cut("in-the-length", lambda data: data[:-6]),
    cut("before-the-last-byte", lambda data: data[:-1]),
    cut("at-the-beginning", lambda data: data[50:], UNREADABLE),
    cut("out-of-the-middle", lambda data: data[:50] + data[90:], UNREADABLE),
    cut("and-mended", lambda data: MAGIC + data[-900:], DAMAGED),
)
COLUMNS = (
    Attack("a-column-twice", content(lambda: twice("responses")), column("responses"), "two columns have this name"),
    Attack(
        "a-column-named-by-escapes",
        content(lambda: with_column("\x1b]0;owned\a\x1b[2J")),
        column("\x1b]0;owned\a\x1b[2J"),
    ),
    Attack(
        "a-column-named-backwards", content(lambda: with_column("\u202eesrever\u2066")), column("\u202eesrever\u2066")
    ),
    Attack(
        "a-column-named-as-markup",
        content(lambda: with_column("[red]x[/red][link=file:///]")),
        column("[red]x[/red][link=file:///]"),
    ),
    Attack("a-column-of-100000-letters", content(lambda: with_column("n" * 10**5)), column("n" * 500 + "…")),
    Attack("a-column-without-a-name", content(lambda: with_column("")), column("")),
    Attack(
        "a-column-with-a-dot", content(lambda: with_column("responses.list.element")), column("responses.list.element")
    ),
    Attack("a-column-named-by-zero", content(lambda: with_column("responses\0")), column("responses\0")),
    Attack(
        "a-name-that-is-no-text",
        content(lambda: with_column("éé").replace("éé".encode(), b"\xe9\xe9\xe9\xe9")),
        DAMAGED,
        "utf-8",
    ),
    Attack(
        "bytes-for-texts",
        content(lambda: with_field("responses", pa.list_(pa.binary()), [b"\xff"] * 3)),
        column("responses"),
        "binary",
    ),
    Attack(
        "a-text-for-a-list",
        content(lambda: with_field("responses", pa.string(), "['a', 'b', 'c']")),
        column("responses"),
        "type string",
    ),
    Attack(
        "lists-for-texts",
        content(lambda: with_field("responses", pa.list_(pa.list_(pa.string())), [["a"]] * 3)),
        column("responses"),
        "list<",
    ),
    Attack(
        "a-struct-for-a-text",
        content(lambda: with_field("prompt", pa.struct([("a", pa.string())]), {"a": "x"})),
        column("prompt"),
        "struct",
    ),
    Attack(
        "a-dictionary-for-a-text",
        content(lambda: with_field("prompt", pa.dictionary(pa.int32(), pa.string()), "x")),
        (
            ("prompt_text", G, 1, "prompt"),
            ("prompt_text", G, 2, "prompt"),
            ("prompt_text", G, 3, "prompt"),
            ("prompt_text", G, 4, "prompt"),
        ),
        "the text of toy-0 differs from the suite's at character 1",
    ),
    Attack("a-known-extension", content(lambda: with_field("prompt", pa.json_(), "{}")), column("prompt"), "extension"),
    Attack(
        "an-extension-with-a-pickle",
        content(
            lambda: with_field(
                "prompt",
                pa.string(),
                None,
                **{"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": PICKLE},
            )
        ),
        accepted=True,
    ),
    Attack(
        "a-pandas-pickle",
        content(lambda: written(toy_table().replace_schema_metadata({"pandas": PICKLE}))),
        accepted=True,
    ),
    Attack("a-schema-that-is-none", content(lambda: file_of({}, about(b"ARROW:schema", b"/////w=="))), DAMAGED),
    Attack(
        "a-schema-of-two-gigabytes", content(lambda: file_of({}, about(b"ARROW:schema", b"////////f" * 8))), DAMAGED
    ),
    Attack("words-that-are-no-text", content(lambda: file_of({}, about(b"\xff\xfe", b"\xff" * 100))), accepted=True),
    Attack(
        "beginnings-delta-encoded",
        content(lambda: written(toy_table(), use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY")),
        accepted=True,
    ),
)
ATTACKS = OTHERS + CUT + COLUMNS
