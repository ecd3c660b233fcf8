"""The scores of a board's results by prompt, in memory: for ranks, comparisons and the pages of responses."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmark.analysis.across import AcrossSystems, GroupedPrompt, Homogeneity, across_systems, homogeneity
from benchmark.analysis.contrast.equal_numbers import counts_all
from benchmark.analysis.ranking import Standing, standings, unranked
from benchmark.metrics import METRICS
from benchmark.metrics.metric import Missing
from benchmark.scoring.estimate import Floats
from benchmark.scoring.per_prompt import FACTS, INVALID, REPORTED_CLASSES
from benchmark.scoring.reported import judged_version
from benchmark.scoring.results import MOST, PER_PROMPT_FILE
from divbench.core.errors import InputError
from leaderboard.data.board import REFERENCE_TYPES, Board, Column, Entry
from leaderboard.data.reference.systems import ACROSS_FILE, FOLDER, suite_prompts
from leaderboard.data.texts import texts_of

NOT_INCLUDED = "(the text is not included)"
_RESULTS = 1000  # results whose scores are in memory
_MATRICES = 4  # cached matrices; the columns of a metric with several signatures need copies
_THREADS = 4
_COUNTING_ALL = {metric.id for metric in METRICS if counts_all(metric)}


@dataclass(frozen=True, slots=True, eq=False)
class ResultScores:
    """The scores of one result."""

    prompts: tuple[str, ...]  # ids, in the suite's order
    values: Mapping[str, Floats]  # [prompts] by metric, NaN if missing
    mean_bytes: float  # mean length of the responses in bytes of UTF-8; NaN if there are none


class BoardScores:
    """Per-prompt scores of all systems of a board; its prompts are the rows of all matrices."""

    def __init__(self, board: Board) -> None:
        self.board = board
        with ThreadPoolExecutor(_THREADS) as pool:
            results = list(pool.map(_result_scores, board.entries))
        # Every result keeps the suite's order; those with more prompts come first.
        orders = sorted({result.prompts for result in results}, key=lambda order: (-len(order), order))
        self.prompts = tuple(dict.fromkeys(name for order in orders for name in order))
        rows = {name: row for row, name in enumerate(self.prompts)}
        shape = len(self.prompts), len(results)
        self._values = {column.metric: np.full(shape, np.nan) for column in board.columns}
        for i, result in enumerate(results):
            of_result = [rows[name] for name in result.prompts]
            for metric in self._values.keys() & result.values.keys():
                self._values[metric][of_result, i] = result.values[metric]
        for values in self._values.values():
            values.flags.writeable = False
        self._mean_bytes = tuple(result.mean_bytes for result in results)
        self.matrix = lru_cache(_MATRICES)(self._matrix)
        self.standings = lru_cache(None)(self._standings)

    def _matrix(self, column: Column) -> Floats:
        """The values [prompts, systems] of a column, in the order of the board's entries; NaN if missing; read-only."""
        has_column = np.array([column.signature in entry.cells for entry in self.board.entries])
        if has_column.all():
            return self._values[column.metric]
        values: Floats = np.where(has_column, self._values[column.metric], np.nan)
        values.flags.writeable = False
        return values

    def _standings(self, column: Column) -> list[Standing]:
        """Ranks with intervals and tie groups; for metrics without direction, the highest value is first.

        People and known-bad baselines calibrate a board: they have a mean but no rank, unless it has no other systems.
        """
        values = self.matrix(column)
        ranked = list(self.board.ranked)
        of_ranked = dict(zip(ranked, standings(values[:, ranked], direction=column.direction or 1), strict=True))
        return [of_ranked.get(i) or unranked(values[:, i]) for i in range(len(self.board.entries))]

    @cached_property
    def homogeneity(self) -> Homogeneity | None:
        """Similarity of the reference systems; None if the board has fewer than two.

        The comparison of one system with several includes only ranked systems.
        """
        grouped = board_across(self.board)
        if grouped is None:
            return None
        across, entries = grouped
        types = [entry.result.manifest.system.type for entry in entries]
        return homogeneity(across, [i for i, kind in enumerate(types) if kind not in REFERENCE_TYPES])

    def bytes_a_response(self) -> tuple[float, ...]:
        """Mean length of each system's responses, in bytes of UTF-8."""
        return self._mean_bytes


def _result_scores(entry: Entry) -> ResultScores:
    metrics = tuple(sorted({score.metric for score in entry.result.scores}))
    with table_faults(entry):
        return _read_scores(entry.folder / PER_PROMPT_FILE, entry.result.per_prompt_sha256, metrics, entry.result.k)


@lru_cache(_RESULTS)
def _read_scores(path: Path, sha256: str, metrics: Sequence[str], k: int) -> ResultScores:
    """Read a result's scores; `sha256` invalidates the cache if the file is replaced.

    Where fewer than k responses were scored, as with blanks, only metrics that count all have a comparable value.
    """
    with pq.ParquetFile(path) as file:
        columns = set(file.schema_arrow.names)
        names = [name for name in metrics if name in columns]
        table = file.read(["prompt_id", *{"answers"} & columns, *names], use_threads=False)
        columns_of_scores = {name: table[name].cast(pa.float64()).to_numpy() for name in names}
        # Numbers that no metric can give would overflow in means.
        values = {name: np.where(np.abs(column) < MOST, column, np.nan) for name, column in columns_of_scores.items()}
        if "answers" in columns:
            few = table["answers"].to_numpy() < k
            values |= {n: np.where(few, np.nan, column) for n, column in values.items() if n not in _COUNTING_ALL}
        has_texts = "responses" in columns
        letters = count = 0
        lengths_in = "responses" if has_texts else f"{FACTS}.bytes"
        for batch in (
            file.iter_batches(columns=[lengths_in], use_threads=False) if has_texts or FACTS in columns else ()
        ):
            column: Any = batch.column(0)
            flat: Any = pc.list_flatten(column if has_texts else column.field("bytes"))
            lengths: Any = pc.binary_length(flat) if has_texts else flat
            letters += pc.sum(lengths).as_py() or 0
            count += len(lengths) - lengths.null_count
    prompts = tuple(map(str, table["prompt_id"].to_pylist()))
    return ResultScores(prompts, values, letters / count if count else float("nan"))


def read_columns(entry: Entry, *columns: str) -> pa.Table:
    """Read columns of a result's per-prompt table; columns that it does not have are left out."""
    with table_faults(entry), pq.ParquetFile(entry.folder / PER_PROMPT_FILE) as file:
        present = set(file.schema_arrow.names)
        return file.read([name for name in columns if name.partition(".")[0] in present], use_threads=False)


@contextmanager
def table_faults(entry: Entry) -> Iterator[None]:
    """Turn errors while reading a result's table into an InputError that names the result."""
    try:
        yield
    except (OSError, pa.ArrowException, LookupError, UnicodeDecodeError) as error:
        message = f"{entry.folder.name}: its prompts cannot be read"
        raise InputError(message, "the result is gone or damaged; retry in a minute") from error


def prompt_row(entry: Entry, prompt_id: str) -> dict[str, Any] | None:
    """Read a result's row of a prompt: texts, scores, partition, surprisals; None if it does not have the prompt."""
    prompts = _result_scores(entry).prompts
    if prompt_id not in prompts:
        return None
    row = prompts.index(prompt_id)
    with table_faults(entry), pq.ParquetFile(entry.folder / PER_PROMPT_FILE) as file:
        group = 0
        while row >= (rows := file.metadata.row_group(group).num_rows):
            row, group = row - rows, group + 1
        record: dict[str, Any] = file.read_row_group(group, use_threads=False).slice(row, 1).to_pylist()[0]
    if record["prompt_id"] != prompt_id:
        raise InputError(f"{entry.folder.name}: its prompts have changed", "retry in a minute")
    return record if "responses" in record else record | _released_texts(entry, record)


def _released_texts(entry: Entry, row: Mapping[str, Any]) -> dict[str, Any]:
    """The prompt and responses of a row without texts from released files, or placeholders."""
    # Without facts about the responses, the labels of their classes still tell how many there are.
    sizes, labels = (row.get(FACTS) or {}).get("bytes"), (row.get(REPORTED_CLASSES) or {}).get("labels")
    count = len(sizes or labels or ())
    prompt = suite_prompts(entry.result.suite).get(row["prompt_id"], "")
    texts = texts_of(entry.system)
    responses = [] if isinstance(texts, Missing) else list(texts.get(row["prompt_id"], ())[:count])
    if len(responses) < count or sizes not in (None, [len(text.encode()) for text in responses]):
        return {"prompt": prompt, "responses": [NOT_INCLUDED] * count, "text_free": True}
    return {"prompt": prompt, "responses": responses, "text_free": False}


@lru_cache(maxsize=2)
def _read_across(path: Path) -> tuple[tuple[str, ...], dict[str, GroupedPrompt]] | None:
    """Ids of the reference submissions, and their grouped responses by prompt; None if there is no such file."""
    if not path.is_file():
        return None
    head, *lines = map(json.loads, path.read_bytes().splitlines())
    grouped = {}
    for line in lines:
        similarity = {int(k): np.array(values, np.float64) for k, values in line["similarity"].items()}
        grouped[line["prompt_id"]] = GroupedPrompt(tuple(map(tuple, line["labels"])), similarity)
    return tuple(head["submissions"]), grouped


def board_across(board: Board) -> tuple[AcrossSystems, tuple[Entry, ...]] | None:
    """The reference systems of a board, with their responses grouped together; None if it has fewer than two.

    Their classes are ours, so a board of judged values has none.
    """
    read = _read_across(FOLDER / ACROSS_FILE)
    if read is None or judged_version(board.profile) is not None:
        return None
    submissions, grouped = read
    entries = {entry.result.submission_id: entry for entry in board.entries}
    places = [i for i, name in enumerate(submissions) if name in entries]
    if len(places) < 2 or board.k not in next(iter(grouped.values())).similarity:
        return None
    chosen = tuple(entries[submissions[i]] for i in places)
    among = {
        name: GroupedPrompt(
            tuple(prompt.labels[i] for i in places),
            {board.k: prompt.similarity[board.k][np.ix_(places, places)]},
        )
        for name, prompt in grouped.items()
    }
    names = [entry.result.manifest.name for entry in chosen]
    return across_systems(names, board.k, among, list(map(_valid, chosen))), chosen


def _valid(entry: Entry) -> dict[str, list[bool]]:
    """Whether each response is valid, by prompt: all if validity is not judged, none where it is missing."""
    rows: Any = read_columns(entry, "prompt_id", INVALID).to_pylist()
    k = entry.result.k
    return {
        row["prompt_id"]: [reason is None for reason in row[INVALID] or ["missing"] * k]
        if INVALID in row
        else [True] * k
        for row in rows
    }
