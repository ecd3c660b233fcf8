"""Per-prompt scores of a board, for ranks, comparisons and the page Explore."""

from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmark.analysis.across import Homogeneity
from benchmark.analysis.ranking import Standing, standings, unranked
from benchmark.scoring.estimate import Floats
from benchmark.scoring.per_prompt import FACTS
from benchmark.scoring.results import PER_PROMPT_FILE
from divbench.core.errors import InputError
from leaderboard.data.board import Board, Column, Entry
from leaderboard.data.reference.across import homogeneity_of
from leaderboard.data.reference.texts import NOT_INCLUDED, released_rows, suite_prompts
from leaderboard.data.score_index import open_index, table_faults

_SYSTEMS = 64  # results with cached prompt ids
_MATRICES = 4  # cached matrices; the columns of a metric with several signatures need copies


class BoardScores:
    """Per-prompt scores of all systems of a board.

    Attributes:
        prompts: Prompt ids in the suite's order; the rows of all matrices.
    """

    def __init__(self, board: Board, cache: Path | None = None) -> None:
        """Open the scores in the cache, or read them from the results.

        Args:
            cache: Folder for indexes (score_index.py); None: everything is kept in memory.

        Raises:
            InputError: A result's files are gone or damaged.
        """
        self.board = board
        self._index = open_index(board, cache)
        self.prompts: tuple[str, ...] = self._index.prompts
        self.matrix = lru_cache(_MATRICES)(self._matrix)
        self.ranks = lru_cache(_MATRICES)(self._ranks)  # `prompt_ranks` of a matrix
        self.standings = lru_cache(None)(self._standings)

    def _matrix(self, column: Column) -> Floats:
        """The values [prompts, systems] of a column, in the order of the board's entries; NaN if missing; read-only."""
        of_metric: Floats = np.asarray(self._index.scores[self._index.metrics.index(column.metric)])
        has = np.array([column.signature in entry.cells for entry in self.board.entries])
        if has.all():
            return of_metric
        made = np.where(has, of_metric, np.nan)
        made.flags.writeable = False
        return made

    def _ranks(self, column: Column) -> Floats:
        return prompt_ranks(self.matrix(column))

    def _standings(self, column: Column) -> list[Standing]:
        """Ranks with intervals and tie groups; for metrics without direction, the highest value is first.

        People and known-bad baselines calibrate a board: they have a mean but no rank, unless it has no other systems.
        """
        values = self.matrix(column)
        ranked = list(self.board.ranked)
        found = dict(zip(ranked, standings(values[:, ranked], direction=column.direction or 1), strict=True))
        return [found.get(i) or unranked(values[:, i]) for i in range(len(self.board.entries))]

    @cached_property
    def homogeneity(self) -> Homogeneity | None:
        """Similarity of the systems; None if their responses were not grouped together.

        Raises:
            InputError: A result's files are gone.
        """
        return homogeneity_of(self.board)

    def bytes_a_response(self) -> tuple[float, ...]:
        """Mean length of each system's responses, in bytes of UTF-8."""
        return tuple(self._index.mean_bytes.tolist())


def prompt_ranks(values: Floats) -> Floats:
    """The rank of each prompt among a system's prompts; ties are averaged, and missing values rank last.

    Args:
        values: [prompts, systems]; NaN if missing.
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(np.where(np.isfinite(values), values, np.inf), axis=0))


def prompt_row(entry: Entry, prompt_id: str) -> dict[str, Any] | None:
    """Read a result's row of a prompt: texts, scores, partition, surprisals; None if it does not have the prompt.

    Raises:
        InputError: The result's file is gone or was replaced.
    """
    path = entry.folder / PER_PROMPT_FILE
    with table_faults(entry):
        row = _rows(path, entry.result.per_prompt_sha256).get(prompt_id)
        if row is None:
            return None
        with pq.ParquetFile(path) as file:
            group = 0
            while row >= (rows := file.metadata.row_group(group).num_rows):
                row, group = row - rows, group + 1
            found: dict[str, Any] = file.read_row_group(group, use_threads=False).slice(row, 1).to_pylist()[0]
    if found["prompt_id"] != prompt_id:
        raise InputError(f"{entry.folder.name}: its prompts have changed", "retry in a minute")
    return found if "responses" in found else found | released_texts(entry, found)


def released_texts(entry: Entry, row: Mapping[str, Any]) -> dict[str, Any]:
    """Find the prompt and responses of a row without texts in released files; as `no_texts` without such files."""
    result, absent = entry.result, no_texts(entry, row)
    found = released_rows(result.manifest.name, result.submission_id).get(row["prompt_id"])
    if found is None:
        return absent
    texts = list(found.responses[: len(absent["responses"])])
    return {"prompt": found.prompt or absent["prompt"], "responses": texts, "text_free": False}


def no_texts(entry: Entry, row: Mapping[str, Any]) -> dict[str, Any]:
    """The prompt, if it is available, and a placeholder for each response."""
    facts = row.get(FACTS)
    lengths = facts.get("bytes") if isinstance(facts, dict) else None
    prompt = suite_prompts(entry.result.suite).get(row["prompt_id"], "")
    return {"prompt": prompt, "responses": [NOT_INCLUDED] * len(lengths or ()), "text_free": True}


@lru_cache(_SYSTEMS)
def _rows(path: Path, sha256: str) -> dict[str, int]:
    """The row number of each prompt; `sha256` invalidates the cache if the file is replaced."""
    with pq.ParquetFile(path) as file:
        ids = file.read(["prompt_id"], use_threads=False)["prompt_id"].to_pylist()
    return {str(name): row for row, name in enumerate(ids)}
