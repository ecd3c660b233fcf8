"""Results as exporters read them: the exported metrics, and the prompts with their responses and values."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.scoring.results import PER_PROMPT_FILE, RESULT_FILE, Aggregate, Result, require_result
from divbench.core.errors import ConfigurationError, InputError, first_line

_COLUMNS = ["prompt_id", "category", "prompt", "responses", "finish_reasons", "answers"]
# Valid in JSON, but some readers of JSON Lines break lines there, as `str.splitlines` does.
_LINE_ENDS = {ord(letter): f"\\u{ord(letter):04x}" for letter in "\x85\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class ScoredResult:
    """A result with the metrics that are exported."""

    folder: Path
    result: Result
    scores: tuple[Aggregate, ...]  # scores of the exported metrics: those with a value, in the order of the result
    left_out: Mapping[str, Mapping[str, int]]  # requested metrics without a value, with the reasons and their counts

    def prompts(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of `per_prompt.parquet` in the suite's order."""
        path = self.folder / PER_PROMPT_FILE
        columns = [*_COLUMNS, *(score.metric for score in self.scores)]
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(columns=columns):
                    for row in batch.to_pylist():
                        yield {column: row[column] for column in columns}
        except (pa.ArrowException, KeyError) as error:
            message = f"{path} does not match {RESULT_FILE}: {first_line(error)}"
            raise InputError(message, "score the submission again") from error


def open_result(folder: Path, metrics: Sequence[str] = ()) -> ScoredResult:
    """Open a folder that `divbench score` wrote, with the named metrics or all that have a value."""
    result = require_result(folder)
    names = [score.metric for score in result.scores]
    if unknown := [metric for metric in metrics if metric not in names]:
        raise ConfigurationError(f"{folder} has no metric {unknown[0]!r}", f"its metrics are {', '.join(names)}")
    asked = [score for score in result.scores if not metrics or score.metric in metrics]
    scores = tuple(score for score in asked if score.value is not None)
    if not scores:
        raise InputError(f"{folder}: no metric has a value", "see the reasons with divbench board show")
    left_out = {score.metric: dict(score.missing) for score in asked if score.value is None}
    return ScoredResult(folder, result, scores, left_out)


def direction_text(score: Aggregate) -> str:
    """Return which direction is more diverse, in words."""
    return {1: "higher is more diverse", -1: "lower is more diverse", 0: "neither way is more diverse"}[score.direction]


def date_of(result: Result) -> date:
    """Return the date on which the responses were generated, the only date in an export."""
    day = result.manifest.submitter.date
    if day is None:
        message = f"{result.manifest.name}: this format needs the date of generation, which is unknown"
        raise ConfigurationError(message, "import the responses again with --date")
    return day


def json_line(record: Mapping[str, Any]) -> str:
    """Return a record as one line of JSON Lines, without characters that a reader may take for line ends."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False).translate(_LINE_ENDS) + "\n"
