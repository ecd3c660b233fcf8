"""Write a table of responses in many ways with every Parquet writer of this environment.

    python tests/submissions/ordinary_files.py OUT

It needs Python 3.9 and writers, not DivBench: run it with each version of a writer, always into the same OUT, and let
`python -m tests.submissions.ordinary OUT` count which files are taken. An option that a version does not know is
passed over.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CODECS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
RUST_CODECS = ("uncompressed", "snappy", "gzip(6)", "brotli(4)", "lz4", "lz4_raw", "zstd(3)")
COLUMNS = ("prompt_id", "prompt", "responses", "finish_reasons")
Row = dict[str, Any]
Write = Callable[[list[Row], Path], object]
Change = Callable[[Any], Any]
Kind = Callable[[], tuple[Any, ...]]  # asked when a file is written: a version may lack it
Options = Mapping[str, Mapping[str, Any]]


def rows(number: int, *, reasons: bool) -> list[Row]:
    """A table: distinct and repeated texts, an empty one, and letters of up to four bytes."""
    return [
        {
            "prompt_id": f"p{i:05}",
            "prompt": f"Say thing {i}: naïve, 東京, 🦀.",
            "responses": [f"Thing {i}, said in {i % 7} ways. " * (1 + i % 5), "I would rather not say.", ""],
            "finish_reasons": ["stop", "length", "stop"] if reasons else None,
        }
        for i in range(number)
    ]


def pyarrow_options(parquet: Any) -> Options:
    """What is given to `pyarrow.parquet.write_table`."""
    made: dict[str, Mapping[str, Any]] = {
        f"version {version}, {codec}, {'dictionaries' if dictionary else 'plain'}": {
            "data_page_version": version,
            "compression": codec,
            "use_dictionary": dictionary,
        }
        for version in ("1.0", "2.0")
        for codec in CODECS
        for dictionary in (True, False)
    }
    made |= {
        f"{encoding}, version {version}": {
            "use_dictionary": False,
            "column_encoding": encoding,
            "data_page_version": version,
        }
        for encoding in ("DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")
        for version in ("1.0", "2.0")
    }
    made |= {
        "format 1.0": {"version": "1.0"},
        "format 2.4": {"version": "2.4"},
        "index and checksums": {"write_page_index": True, "write_page_checksum": True},
        "no statistics": {"write_statistics": False},
        "a row a group": {"row_group_size": 1},
        "small pages": {"data_page_size": 10, "dictionary_pagesize_limit": 10},
        "items named item": {"use_compliant_nested_type": False},
        "chunks by content": {"use_content_defined_chunking": True},
        "without Arrow's schema": {"store_schema": False},
        "one dictionary": {"use_dictionary": ["responses.list.element"]},
        "bloom filters": {"bloom_filter_options": {"prompt_id": True}},
    }
    if hasattr(parquet, "SortingColumn"):
        made["sorted"] = {"sorting_columns": [parquet.SortingColumn(0)]}
    return made


def _arrow(table: list[Row], text: Any = None, texts: Any = None) -> Any:
    """A table of Arrow's with these types of texts and of their lists; none: plain ones."""
    pa = import_module("pyarrow")
    text = text or pa.string()
    kinds = [(name, (texts or pa.list_(text)) if name in COLUMNS[2:] else text) for name in COLUMNS]
    return pa.Table.from_pylist(table, schema=pa.schema(kinds))


def _pyarrow() -> Iterator[tuple[str, Write]]:
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    text = pa.string()

    def write(kind: Kind = lambda: (), **options: Any) -> Write:
        return lambda table, path: pq.write_table(_arrow(table, *kind()), path, **options)

    for name, options in pyarrow_options(pq).items():
        yield name, write(**options)
    yield "64-bit offsets", write(lambda: (pa.large_string(), pa.large_list(pa.large_string())))
    yield "views", write(lambda: (pa.string_view(),))
    yield "categories", write(lambda: (pa.dictionary(pa.int32(), text),))
    yield "fixed lists", write(lambda: (text, pa.list_(text, 3)))
    yield "list views", write(lambda: (text, pa.list_view(text)))
    yield "reasons without a type", lambda table, path: pq.write_table(pa.Table.from_pylist(table), path)


def _pandas() -> Iterator[tuple[str, Write]]:
    pd = import_module("pandas")

    def write(change: Change = lambda f: f, kinds: Mapping[str, str] | None = None, **options: Any) -> Write:
        return lambda table, path: change(pd.DataFrame(table).astype(kinds or {})).to_parquet(
            path, engine="pyarrow", **options
        )

    yield "default", write()
    yield "no index", write(index=False)
    for codec in CODECS[1:]:
        yield codec, write(compression=codec)
    yield "not compressed", write(compression=None)
    yield "arrays of numpy", write(lambda f: f.assign(responses=f["responses"].map(import_module("numpy").array)))
    yield "tuples", write(lambda f: f.assign(responses=f["responses"].map(tuple)))
    for kind in ("string", "string[pyarrow]", "category"):
        yield f"texts as {kind}", write(lambda f: f, {"prompt_id": kind, "prompt": kind})
    yield "Arrow's types", write(lambda f: f.convert_dtypes(dtype_backend="pyarrow"))
    yield "index reset", write(lambda f: f.iloc[::-1].reset_index(drop=True))
    yield "index left in", write(lambda f: f.iloc[[*range(1, len(f)), 0]])


def _fastparquet() -> Iterator[tuple[str, Write]]:
    pd = import_module("pandas")

    def write(codec: str) -> Write:
        return lambda table, path: pd.DataFrame(table).to_parquet(path, engine="fastparquet", compression=codec)

    for codec in ("UNCOMPRESSED", "SNAPPY", "GZIP"):
        yield codec, write(codec)


def _polars() -> Iterator[tuple[str, Write]]:
    pl = import_module("polars")

    def write(change: Change = lambda f: f, **options: Any) -> Write:
        return lambda table, path: change(pl.DataFrame(table)).write_parquet(path, **options)

    def sink(codec: str) -> Write:
        return lambda table, path: pl.DataFrame(table).lazy().sink_parquet(path, compression=codec)

    for codec in ("uncompressed", *CODECS[1:]):
        yield codec, write(compression=codec)
        yield f"{codec}, by pyarrow", write(compression=codec, use_pyarrow=True)
        yield f"{codec}, sink", sink(codec)
    yield "no statistics", write(statistics=False)
    yield "full statistics", write(statistics="full")
    yield "small groups", write(row_group_size=2)
    yield "small pages", write(data_page_size=64)
    yield "categories", write(lambda f: f.with_columns(pl.col("prompt").cast(pl.Categorical)))
    yield "enum", write(lambda f: f.with_columns(pl.col("prompt_id").cast(pl.Enum(f["prompt_id"]))))
    yield "arrays", write(lambda f: f.with_columns(pl.col("responses").cast(pl.Array(pl.String, 3))))
    yield (
        "categories in lists",
        write(lambda f: f.with_columns(pl.col("responses").cast(pl.List(pl.Categorical)))),
    )


def _duckdb() -> Iterator[tuple[str, Write]]:
    duckdb = import_module("duckdb")

    def write(options: str, columns: str = "*") -> Write:
        def made(table: list[Row], path: Path) -> None:
            connection = duckdb.connect()
            connection.register("t", _arrow(table))
            connection.execute("CREATE TYPE reason AS ENUM ('stop', 'length')")
            connection.execute(f"COPY (SELECT {columns} FROM t) TO '{path}' (FORMAT parquet{options})")  # noqa: S608

        return made

    yield "default", write("")
    for version in ("V1", "V2"):
        for codec in ("uncompressed", *CODECS[1:], "lz4_raw"):
            yield f"{version}, {codec}", write(f", PARQUET_VERSION {version}, COMPRESSION {codec}")
        yield f"{version}, no dictionaries", write(f", PARQUET_VERSION {version}, DICTIONARY_SIZE_LIMIT 1")
        yield f"{version}, small groups", write(f", PARQUET_VERSION {version}, ROW_GROUP_SIZE 1000")
    for codec in ("uncompressed", *CODECS[1:]):
        yield codec, write(f", COMPRESSION {codec}")
    yield "field ids", write(", FIELD_IDS 'auto'")
    yield "metadata", write(", KV_METADATA {made: 'by hand'}")
    yield "arrays", write("", "* REPLACE (responses::VARCHAR[3] AS responses)")
    yield "enum", write("", "* REPLACE (finish_reasons::reason[] AS finish_reasons)")


def _encoded(write: Callable[..., Write], version: str) -> Iterator[tuple[str, Write]]:
    """What writers of the parquet crate have in common: its codecs, and its encodings where dictionaries are off."""
    for codec in RUST_CODECS:
        yield f"{version}, {codec}", write(writer_version=version, compression=codec)
    for encoding in ("plain", "delta_length_byte_array", "delta_byte_array"):
        yield f"{version}, {encoding}", write(writer_version=version, encoding=encoding, dictionary_enabled=False)


def _datafusion() -> Iterator[tuple[str, Write]]:
    datafusion = import_module("datafusion")

    def write(**options: Any) -> Write:
        def made(table: list[Row], path: Path) -> None:
            frame = datafusion.SessionContext().from_arrow(_arrow(table))
            frame.write_parquet_with_options(path, datafusion.ParquetWriterOptions(**options))

        return made

    yield "default", write()
    for version in ("1.0", "2.0"):
        yield f"{version}, no dictionaries", write(writer_version=version, dictionary_enabled=False)
        yield from _encoded(write, version)
    yield "bloom filters", write(bloom_filter_on_write=True)
    yield "without Arrow's schema", write(skip_arrow_metadata=True)


def _arro3() -> Iterator[tuple[str, Write]]:
    parquet = import_module("arro3.io")

    def write(**options: Any) -> Write:
        def made(table: list[Row], path: Path) -> None:
            parquet.write_parquet(_arrow(table), path, **options)

        return made

    yield "default", write()
    for version in ("parquet_1_0", "parquet_2_0"):
        yield from _encoded(write, version)
    yield "bloom filters", write(bloom_filter_enabled=True)
    yield "small groups", write(max_row_group_size=2)
    yield "small pages", write(data_page_size_limit=64, write_batch_size=2)
    yield "without Arrow's schema", write(skip_arrow_metadata=True)


def _chdb() -> Iterator[tuple[str, Write]]:
    chdb, pq, pa = import_module("chdb"), import_module("pyarrow.parquet"), import_module("pyarrow")
    kinds = "prompt_id String, prompt String, responses Array(String), finish_reasons Array(String)"

    def write(settings: str = "", columns: str = "") -> Write:
        def made(table: list[Row], path: Path) -> None:
            # It has no lists that are null.
            reasons = "" if table[0]["finish_reasons"] else " REPLACE (NULL AS finish_reasons)"
            with tempfile.TemporaryDirectory() as folder:
                given = Path(folder) / "given.parquet"
                pq.write_table(pa.Table.from_pylist(table), given)
                chdb.query(
                    f"INSERT INTO FUNCTION file('{path}', Parquet) SELECT *{reasons or columns} "  # noqa: S608
                    f"FROM file('{given}', Parquet, '{kinds}') SETTINGS engine_file_truncate_on_insert=1{settings}"
                )

        return made

    yield "default", write()
    prefix = ", output_format_parquet_"
    for codec in CODECS:
        yield codec, write(f"{prefix}compression_method='{codec}'")
        yield (
            f"{codec}, no dictionaries",
            write(f"{prefix}compression_method='{codec}'{prefix}max_dictionary_size=0"),
        )
    yield "small pages", write(f"{prefix}data_page_size=64{prefix}batch_size=2")
    yield "small groups", write(f"{prefix}row_group_size=2")
    yield "no index", write(f"{prefix}write_page_index=0{prefix}write_bloom_filter=0")
    yield "no checksums", write(f"{prefix}write_checksums=0")
    yield "low cardinality", write("", " REPLACE (toLowCardinality(prompt) AS prompt)")
    yield "nullable texts", write("", " REPLACE (toNullable(prompt) AS prompt)")
    reason = "Array(Enum('stop' = 1, 'length' = 2))"
    yield "enum", write("", f" REPLACE (CAST(finish_reasons AS {reason}) AS finish_reasons)")


def _daft() -> Iterator[tuple[str, Write]]:
    daft = import_module("daft")

    def write(codec: str) -> Write:
        def made(table: list[Row], path: Path) -> None:
            with tempfile.TemporaryDirectory() as folder:
                columns = {name: [row[name] for row in table] for name in COLUMNS}
                daft.from_pydict(columns).write_parquet(folder, compression=codec)
                (part,) = Path(folder).glob("*.parquet")
                path.write_bytes(part.read_bytes())

        return made

    for codec in ("none", "snappy", "gzip", "brotli", "lz4", "lz4_raw", "zstd"):
        yield codec, write(codec)


def _datasets() -> Iterator[tuple[str, Write]]:
    datasets = import_module("datasets")
    text = datasets.Value("string")
    kinds = datasets.Features({name: datasets.List(text) if name in COLUMNS[2:] else text for name in COLUMNS})

    def write(**options: Any) -> Write:
        return lambda table, path: datasets.Dataset.from_list(table, features=kinds).to_parquet(str(path), **options)

    yield "default", write()
    yield "small batches", write(batch_size=100)


def _pyspark() -> Iterator[tuple[str, Write]]:
    sql = import_module("pyspark.sql")
    session = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    kinds = "prompt_id STRING, prompt STRING, responses ARRAY<STRING>, finish_reasons ARRAY<STRING>"

    def write(**options: Any) -> Write:
        def made(table: list[Row], path: Path) -> None:
            with tempfile.TemporaryDirectory() as folder:
                frame = session.createDataFrame([tuple(row.values()) for row in table], kinds).coalesce(1)
                frame.write.mode("overwrite").options(**options).parquet(folder)
                (part,) = Path(folder).glob("*.parquet")
                path.write_bytes(part.read_bytes())

        return made

    for version in ("v1", "v2"):
        for codec in ("none", "snappy", "gzip", "lz4", "lz4_raw", "zstd"):
            yield f"{version}, {codec}", write(**{"parquet.writer.version": version, "compression": codec})
        yield (
            f"{version}, no dictionaries",
            write(**{"parquet.writer.version": version, "parquet.enable.dictionary": "false"}),
        )
        yield f"{version}, small pages", write(**{"parquet.writer.version": version, "parquet.page.size": "64"})
    session.conf.set("spark.sql.parquet.writeLegacyFormat", "true")
    for codec in ("snappy", "zstd"):
        yield f"legacy, {codec}", write(compression=codec)


WRITERS: dict[str, Callable[[], Iterator[tuple[str, Write]]]] = {
    "pyarrow": _pyarrow,
    "pandas": _pandas,
    "fastparquet": _fastparquet,
    "polars": _polars,
    "duckdb": _duckdb,
    "datafusion": _datafusion,
    "arro3": _arro3,
    "chdb": _chdb,
    "daft": _daft,
    "datasets": _datasets,
    "pyspark": _pyspark,
}
TABLES = {"few": (4, False), "many": (3000, True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT", help="folder of the files; those of others in it stay")
    parser.add_argument("--writer", choices=list(WRITERS), help="only this one")
    given = parser.parse_args()
    for writer, ways in WRITERS.items():
        if find_spec(writer) is None or given.writer not in {None, writer}:
            continue
        version = getattr(import_module(writer), "__version__", None) or import_module("arro3.io").___version()
        folder = given.out.absolute() / f"{writer} {version}"
        folder.mkdir(parents=True, exist_ok=True)
        for name, write in ways():
            for table, (number, reasons) in TABLES.items():
                path = folder / f"{name}, {table}.parquet"
                try:
                    write(rows(number, reasons=reasons), path)
                except Exception as error:
                    path.unlink(missing_ok=True)
                    sys.stderr.write(f"{folder.name}: {name}, {table}: {type(error).__name__}: {str(error)[:150]}\n")
        sys.stderr.write(f"{folder.name}: {len(list(folder.iterdir()))} files\n")


if __name__ == "__main__":
    main()
