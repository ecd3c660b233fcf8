"""What the rows of a Parquet file take when decoded, found without decoding more than a part at a time.

A file of some kilobytes can hold one long string a million times, or a billion nulls. So the page headers are added up
first: what they promise bounds everything but strings that stand in a dictionary. Where those could be repeated too
often, they are read as the numbers of their entries, and only the lengths are added up.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from submissions.untrusted.parquet_layout import Chunk, Column, Group, Page, PageHeaders
from submissions.untrusted.thrift import LimitExceeded

VALUE_BYTES = 64  # what a value takes in Python beside its letters, at least
MAX_GROUP_BYTES = 512 * 2**20
MAX_DICTIONARY_BYTES = 64 * 2**20
MAX_ROW_BYTES = 32 * 2**20
BATCH_BYTES = 32 * 2**20
_TEXTS = (pa.StringArray, pa.LargeStringArray, pa.BinaryArray, pa.LargeBinaryArray)


def streamed(path: Path, **options: Any) -> pq.ParquetFile:
    """A file whose pages are read one after the other, whatever their number."""
    return pq.ParquetFile(path, pre_buffer=False, buffer_size=2**20, **options)


@dataclass(slots=True)
class _Promise:
    """What the page headers of a chunk say.

    Attributes:
        values: Number of values.
        plain: Bytes of those that stand there themselves.
        numbered: Number of values that are indices of entries.
        entries: Number of entries of the dictionary.
        dictionary: Their bytes.
    """

    values: int = 0
    plain: int = 0
    numbered: int = 0
    entries: int = 0
    dictionary: int = 0

    def add(self, page: Page) -> None:
        if page.is_dictionary:
            self.entries, self.dictionary = page.values, page.size
            return
        self.values += page.values
        self.plain += page.size  # of numbers a little too much
        self.numbered += page.values if page.in_numbers else 0

    def size(self, column: Column) -> int:
        """The bytes of all, if each entry counts once. Where they are no strings, all entries have one size."""
        entry = 0 if column.is_bytes else self.dictionary // max(1, self.entries)
        return VALUE_BYTES * (self.values + self.entries) + self.plain + self.dictionary + self.numbered * entry


class MemoryEstimator:
    """Weighs the row groups of one file.

    Args:
        path: The file.
        metadata: Its footer, as pyarrow reads it.
        headers: Headers of its pages.
        columns: Those that are to be read, of texts, numbers, or lists of them; None: all.
    """

    def __init__(self, path: Path, metadata: pq.FileMetaData, headers: PageHeaders, columns: list[str] | None) -> None:
        self._path = path
        self._metadata = metadata
        self._headers = headers
        self._columns = columns

    def measure(self, place: int, group: Group, weight: int, most: int) -> tuple[int, int]:
        """The bytes of a group's rows when decoded, added to those of groups before, and those of its heaviest row.

        Raises:
            Malformed: A page header cannot be read, or contradicts the footer.
            LimitExceeded: The total exceeds `most`, or the group, a dictionary or a row exceeds its limit.
            ArrowException: A page cannot be read.
        """
        promised, in_numbers = self._promised(place, group)
        rows_a_batch = max(1, min(group.rows, group.rows * BATCH_BYTES // max(1, promised)))
        heaviest = rows = 0
        for weights in self.weights(place, in_numbers, rows_a_batch):
            weight += int(weights.sum())
            if weight > most:
                raise LimitExceeded(f"more than {most:,} bytes when decoded")
            heaviest = max(heaviest, int(weights.max(initial=0)))
            if heaviest > MAX_ROW_BYTES:
                message = f"a row of more than {MAX_ROW_BYTES:,} bytes when decoded"
                raise LimitExceeded(message, row=rows + int(weights.argmax()) + 1)
            rows += len(weights)
        return weight, heaviest

    def _promised(self, place: int, group: Group) -> tuple[int, list[str]]:
        """The bytes of a group if each entry of a dictionary counts once, and the columns to read in numbers."""
        promised = 0
        in_numbers: list[str] = []
        for chunk in group.chunks:
            path = f"{chunk.column.path}."
            if self._columns is not None and not any(path.startswith(f"{name}.") for name in self._columns):
                continue
            promise = _Promise()
            for page in self._headers.of(chunk):
                promise.add(page)
            promised += promise.size(chunk.column)
            if promised > MAX_GROUP_BYTES:
                message = f"a row group of more than {MAX_GROUP_BYTES:,} bytes when decoded"
                raise LimitExceeded(message, "write fewer rows per row group")
            if promise.dictionary > MAX_DICTIONARY_BYTES:
                message = f"a dictionary of more than {MAX_DICTIONARY_BYTES:,} bytes"
                raise LimitExceeded(message, "write a smaller dictionary, or none")
            if chunk.column.is_bytes and self._may_swell(place, chunk, promise):
                in_numbers.append(chunk.column.path)
        return promised, in_numbers

    def _may_swell(self, place: int, chunk: Chunk, promise: _Promise) -> bool:
        """Whether the entries of a dictionary are repeated so often that they could fill the memory.

        Of many strings only the first stand in a dictionary. To read all in numbers would put the others in one, too.
        So the longest entry is looked up where that may help.
        """
        if promise.numbered * promise.dictionary <= BATCH_BYTES:
            return False
        if promise.plain <= BATCH_BYTES:
            return True
        path = chunk.column.path
        first = next(self._numbers([path]).iter_batches(1, row_groups=[place], columns=[path]), None)
        column: Any = None if first is None or first.num_columns != 1 else first.column(0)
        entries = column.values if _is_list(column) else column
        if not isinstance(entries, pa.DictionaryArray) or len(entries.dictionary) != promise.entries:
            return True  # it was not read as a whole
        longest = pc.max(_lengths(entries.dictionary)).as_py() or 0
        return promise.numbered * longest > 4 * BATCH_BYTES

    def _numbers(self, in_numbers: list[str]) -> pq.ParquetFile:
        return streamed(self._path, metadata=self._metadata, read_dictionary=in_numbers)

    def weights(self, place: int, in_numbers: list[str], rows: int) -> Iterator[NDArray[np.int64]]:
        """The bytes of each row, some rows at a time."""
        batches = self._numbers(in_numbers).iter_batches(rows, row_groups=[place], columns=self._columns)
        for batch in batches:
            weights = np.zeros(batch.num_rows, np.int64)
            for column in batch.columns:
                weights += _weights_of(column)
            yield weights


def _weights_of(column: Any) -> NDArray[np.int64]:
    """The bytes of each value of a column, or of each list of values."""
    places = np.from_dlpack(column.offsets).astype(np.int64) if _is_list(column) else np.arange(len(column) + 1)
    ends = _ends(column.values if _is_list(column) else column)
    weights: NDArray[np.int64] = np.diff(ends[places]) + VALUE_BYTES * np.diff(places)
    return weights


def _is_list(column: Any) -> bool:
    return hasattr(column, "offsets")


def _ends(values: Any) -> NDArray[Any]:
    """How many bytes of text stand before each value, and before the end; shape (values + 1,)."""
    if isinstance(values, pa.StringViewArray):
        values = values.cast(pa.large_string())
    if isinstance(values, _TEXTS) and len(values):
        places: Any = values.buffers()[1]
        kind: Any = np.int32 if isinstance(values, pa.StringArray | pa.BinaryArray) else np.int64
        made: NDArray[Any] = np.frombuffer(places, kind)[values.offset : values.offset + len(values) + 1]
        return made
    ends = np.zeros(len(values) + 1, np.int64)
    if isinstance(values, pa.DictionaryArray):
        lengths = _lengths(values.dictionary).take(values.indices).fill_null(0)
        np.cumsum(np.from_dlpack(lengths), out=ends[1:])
    return ends


def _lengths(strings: Any) -> Any:
    return pc.binary_length(strings)
