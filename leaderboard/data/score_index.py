"""Indexes the per-prompt scores of a board: one memory-mapped array instead of one file per result.

An index is built once per set of results; when results are added or removed, the old index is reused for the others.

    index/<id of the board>/<id of its results>/index.json, scores.npy
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmark.scoring.estimate import Floats
from benchmark.scoring.per_prompt import FACTS
from benchmark.scoring.results import MOST, PER_PROMPT_FILE
from divbench.core.errors import InputError
from divbench.core.files import atomic_folder, canonical_json, content_id
from leaderboard.data.board import Board, Entry

LAYOUT = 1  # version of the index format; indexes with another one are rebuilt
AT_ONCE = 32  # results in memory while an index is built
THREADS = 4
ABOUT_FILE, SCORES_FILE = "index.json", "scores.npy"

Key = tuple[str, str]  # a result's id and the digest of its table
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ScoreIndex:
    """The scores of a board's results."""

    results: tuple[Key, ...]  # keys of the results in the board's order
    metrics: tuple[str, ...]  # sorted ids of the metrics
    ids: tuple[tuple[str, ...], ...]  # prompt ids of each result, in the suite's order
    mean_bytes: Floats  # mean length of the responses [results] in bytes of UTF-8; NaN if there are none
    prompts: tuple[str, ...]  # all prompt ids, in the suite's order
    scores: Floats  # scores [metrics, prompts, results], NaN if missing; read-only, memory-mapped if there is a cache


def open_index(board: Board, cache: Path | None) -> ScoreIndex:
    """Open the index of a board, or build it.

    Args:
        cache: Folder for indexes; the index is kept in memory if this is None or cannot be written.

    Raises:
        InputError: A result's files are gone or damaged.
    """
    results = tuple((entry.result.result_id, entry.result.per_prompt_sha256) for entry in board.entries)
    metrics = tuple(sorted({column.metric for column in board.columns}))
    if cache is None:
        return _made(board, results, metrics, None, None)
    place = cache / "index" / content_id(board.name)
    path = place / content_id([LAYOUT, results, metrics])
    if (found := _opened(path)) is not None:
        return found
    former = next(filter(None, map(_opened, _folders(place))), None)
    try:
        with atomic_folder(path, replace=True) as folder:
            # The memory map is closed before the rename: Windows moves no open file.
            (folder / ABOUT_FILE).write_bytes(_about(_made(board, results, metrics, former, folder / SCORES_FILE)))
    except OSError:
        return _made(board, results, metrics, former, None)
    for other in _folders(place):
        if other != path:
            shutil.rmtree(other, ignore_errors=True)  # open memory maps stay valid
    return _opened(path) or _made(board, results, metrics, former, None)


def _folders(place: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(path for path in place.iterdir() if not path.name.startswith("."))
    return []


def _about(index: ScoreIndex) -> bytes:
    """The index as JSON, without the scores; prompt lists that several results share are stored once."""
    orders = {ids: place for place, ids in enumerate(dict.fromkeys(index.ids))}
    known = {
        "layout": LAYOUT,
        "results": index.results,
        "metrics": index.metrics,
        "orders": list(orders),
        "order_of": [orders[ids] for ids in index.ids],
        "mean_bytes": [None if np.isnan(number) else number for number in index.mean_bytes.tolist()],
    }
    return canonical_json(known)


def _opened(path: Path) -> ScoreIndex | None:
    """The index in a folder; None if there is no complete one."""
    try:
        known = json.loads((path / ABOUT_FILE).read_bytes())
        if known["layout"] != LAYOUT:
            return None
        results = tuple((name, digest) for name, digest in known["results"])
        orders = [tuple(order) for order in known["orders"]]
        ids = tuple(orders[place] for place in known["order_of"])
        mean_bytes = np.array(known["mean_bytes"], np.float64)
        scores = np.load(path / SCORES_FILE, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, LookupError, TypeError):
        return None
    prompts, metrics = _merged(ids), tuple(known["metrics"])
    whole = scores.dtype == np.float64 and scores.shape == (len(metrics), len(prompts), len(results))
    if not whole or not len(ids) == len(mean_bytes) == len(results):
        return None
    return ScoreIndex(results, metrics, ids, mean_bytes, prompts, scores)


def _merged(ids: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """All prompts in the suite's order, which every result keeps; results with more prompts come first."""
    longest = sorted(set(ids), key=lambda order: (-len(order), order))
    return tuple(dict.fromkeys(name for order in longest for name in order))


def _made(
    board: Board, results: tuple[Key, ...], metrics: tuple[str, ...], former: ScoreIndex | None, file: Path | None
) -> ScoreIndex:
    """Build the index, with its scores in a file or in memory."""
    ids = _ids(board, results, former)
    prompts = _merged(ids)
    shape = (len(metrics), len(prompts), len(results))
    if file is None or 0 in shape:  # an empty array cannot be memory-mapped
        scores = np.full(shape, np.nan)
        if file is not None:
            np.save(file, scores)
    else:
        scores = _mapped(file, shape)
    made = ScoreIndex(results, metrics, ids, np.full(len(results), np.nan), prompts, scores)
    for start in range(0, len(results), AT_ONCE):
        scores[:, :, start : start + AT_ONCE] = _block(made, board.entries, start, former)
    if isinstance(scores, np.memmap):
        scores.flush()
    scores.flags.writeable = False
    return made


def _mapped(file: Path, shape: tuple[int, ...]) -> Floats:
    """A memory-mapped array in a new file with reserved space, as writing to a map on a full disk kills the process."""
    made = np.lib.format.open_memmap(file, mode="w+", dtype=np.float64, shape=shape)
    if hasattr(os, "posix_fallocate"):
        with file.open("r+b") as handle:
            os.posix_fallocate(handle.fileno(), 0, file.stat().st_size)
    return made


def _ids(board: Board, results: tuple[Key, ...], former: ScoreIndex | None) -> tuple[tuple[str, ...], ...]:
    """The prompt ids of each result; equal lists share one object."""
    known = {} if former is None else dict(zip(former.results, former.ids, strict=True))
    new = [entry for entry, key in zip(board.entries, results, strict=True) if key not in known]
    once = {ids: ids for ids in known.values()}
    read = (once.setdefault(ids, ids) for ids in _each(_prompt_ids, new))
    return tuple(known[key] if key in known else next(read) for key in results)


def _block(made: ScoreIndex, entries: Sequence[Entry], start: int, former: ScoreIndex | None) -> Floats:
    """Compute the scores [metrics, prompts, results] of a block of results, and fill in their mean lengths."""
    rows = {name: row for row, name in enumerate(made.prompts)}
    keys = made.results[start : start + AT_ONCE]
    block = np.full((len(made.metrics), len(made.prompts), len(keys)), np.nan)
    before = {} if former is None else {key: place for place, key in enumerate(former.results)}
    kept = [at for at, key in enumerate(keys) if key in before]
    if former is not None and kept:
        there = [before[keys[at]] for at in kept]
        made.mean_bytes[[start + at for at in kept]] = former.mean_bytes[there]
        known = [place for place, name in enumerate(former.prompts) if name in rows]
        to = np.ix_([rows[former.prompts[place]] for place in known], kept)
        for metric in set(made.metrics) & set(former.metrics):  # others have no value for these results
            of = former.scores[former.metrics.index(metric)]
            block[made.metrics.index(metric)][to] = of[np.ix_(known, there)]
    new = [at for at, key in enumerate(keys) if key not in before]
    tables = _each(lambda entry: _scores_of(entry, made.metrics), [entries[start + at] for at in new])
    for at, (values, length) in zip(new, tables, strict=True):
        block[:, [rows[name] for name in made.ids[start + at]], at] = values
        made.mean_bytes[start + at] = length
    return block


def _each(read: Callable[[Entry], T], entries: Sequence[Entry]) -> Iterator[T]:
    """Read entries in parallel, in order, with few in memory at a time."""
    with ThreadPoolExecutor(THREADS) as pool:
        for start in range(0, len(entries), AT_ONCE):
            yield from pool.map(read, entries[start : start + AT_ONCE])


def read_columns(entry: Entry, *columns: str) -> pa.Table:
    """Read columns of a result's per-prompt table; columns that it does not have are left out.

    Raises:
        InputError: The result's file is gone or damaged.
    """
    with table_faults(entry), pq.ParquetFile(entry.folder / PER_PROMPT_FILE) as file:
        present = set(file.schema_arrow.names)
        return file.read([name for name in columns if name.partition(".")[0] in present], use_threads=False)


def plausible(values: Floats) -> Floats:
    """Replace numbers of an untrusted file that no metric can give by NaN, since their means would overflow."""
    return np.where(np.abs(values) < MOST, values, np.nan)


def _prompt_ids(entry: Entry) -> tuple[str, ...]:
    return tuple(map(str, read_columns(entry, "prompt_id")["prompt_id"].to_pylist()))


def _scores_of(entry: Entry, metrics: Sequence[str]) -> tuple[Floats, float]:
    """A result's scores [metrics, its prompts], NaN if missing, and the mean length of its responses in bytes."""
    with table_faults(entry), pq.ParquetFile(entry.folder / PER_PROMPT_FILE) as file:
        columns = set(file.schema_arrow.names)
        names = [name for name in metrics if name in columns]
        table = file.read(names, use_threads=False)
        values = np.full((len(metrics), file.metadata.num_rows), np.nan)
        for name in names:
            values[metrics.index(name)] = plausible(table[name].cast(pa.float64()).to_numpy())
        has_texts = "responses" in columns
        letters = count = 0
        for batch in file.iter_batches(columns=["responses" if has_texts else f"{FACTS}.bytes"], use_threads=False):
            found: Any = batch.column(0)
            lists = found if has_texts else found.field("bytes")
            flat: Any = pc.list_flatten(lists)
            lengths: Any = pc.binary_length(flat) if has_texts else flat
            letters += pc.sum(lengths).as_py() or 0
            count += len(lengths) - lengths.null_count
    return values, letters / count if count else float("nan")


@contextmanager
def table_faults(entry: Entry) -> Iterator[None]:
    """Turn errors while reading a result's table into an InputError that names the result."""
    try:
        yield
    except (OSError, pa.ArrowException, LookupError, UnicodeDecodeError) as error:
        message = f"{entry.folder.name}: its prompts cannot be read"
        raise InputError(message, "the result is gone or damaged; retry in a minute") from error
