"""Reads result folders for exporters: the result, and its prompts with responses and values, streamed and checked.

Results are untrusted. `require_result` checks that `per_prompt.parquet` is the one that `result.json` names; this
module checks that it has the columns and the numbers of values that `result.json` states.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmark.metrics import METRICS, Metric
from benchmark.scoring.result_files import PER_PROMPT_FILE, RESULT_FILE, require_result
from benchmark.scoring.result_schema import Aggregate, Result
from divbench.core.errors import ConfigurationError, InputError
from divbench.core.files import atomic_file
from submissions.untrusted.findings import Findings
from submissions.untrusted.parquet_files import ParquetTable, read_parquet

_TEXTS = pa.list_(pa.string())
_COLUMNS: dict[str, pa.DataType] = {
    "prompt_id": pa.string(),
    "category": pa.string(),
    "prompt": pa.string(),
    "responses": _TEXTS,
    "finish_reasons": _TEXTS,
    "answers": pa.int32(),
}
_HINT = "score the submission again"
# Valid in JSON, but some readers of JSON Lines break lines there, as `str.splitlines` does.
_LINE_ENDS = {ord(letter): f"\\u{ord(letter):04x}" for letter in "\x85\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class ScoredPrompt:
    """One prompt of a result."""

    prompt_id: str
    category: str
    prompt: str
    responses: tuple[str, ...]
    finish_reasons: tuple[str | None, ...] | None  # one per response; None if not given
    answers: int  # number of responses that are neither blank nor placeholders
    values: Mapping[str, float]  # values by metric, without missing ones


@dataclass(frozen=True, slots=True)
class ScoredResult:
    """A result with the metrics that are exported."""

    folder: Path
    result: Result  # content of its `result.json`
    scores: tuple[Aggregate, ...]  # scores of the exported metrics: those with a value, in the order of the result
    left_out: Mapping[str, Mapping[str, int]]  # requested metrics without a value, with the reasons and their counts
    table: ParquetTable

    def prompts(self) -> Iterator[ScoredPrompt]:
        """Yield the prompts in the suite's order.

        Raises:
            InputError: The table contradicts `result.json`; raised at the row that shows it, or at the end.
        """
        metrics = [score.metric for score in self.scores]
        path, findings = self.folder / PER_PROMPT_FILE, Findings()
        found: Counter[str] = Counter()
        seen: set[str] = set()
        for number, row in self.table.rows(findings):
            prompt = _prompt(row, metrics, f"{path}, row {number}")
            found.update(prompt.values.keys())
            seen.add(prompt.prompt_id)
            if len(seen) != number:
                raise InputError(f"{path}, row {number}: {prompt.prompt_id[:100]!r} is listed twice", _HINT)
            yield prompt
        if findings.rejected():
            raise InputError(f"{path}: {findings.problems[0].message}", _HINT)
        counts = {"prompts": (len(seen), self.result.counts.prompts)}
        counts |= {f"values of {score.metric}": (found[score.metric], score.n) for score in self.scores}
        for what, (there, said) in counts.items():
            if there != said:
                raise InputError(f"{path} has {there} {what}, {RESULT_FILE} says {said}", _HINT)


def open_result(folder: Path, metrics: Sequence[str] = ()) -> ScoredResult:
    """Open a result folder.

    Args:
        folder: Folder that `divbench score` wrote.
        metrics: Metrics to export; none: all that have a value.

    Raises:
        InputError: It is not a complete result, or none of the metrics has a value.
        ConfigurationError: The result has no such metric.
    """
    result = require_result(folder)
    names = [score.metric for score in result.scores]
    if unknown := [metric for metric in metrics if metric not in names]:
        raise ConfigurationError(f"{folder} has no metric {unknown[0]!r}", f"its metrics are {', '.join(names)}")
    if len(set(names)) < len(names):
        raise InputError(f"{folder / RESULT_FILE} has a metric twice", _HINT)
    asked = [score for score in result.scores if not metrics or score.metric in metrics]
    scores = tuple(score for score in asked if score.value is not None)
    if not scores:
        raise InputError(f"{folder}: no metric has a value", "see the reasons with divbench board show")
    table = _table(folder / PER_PROMPT_FILE, [score.metric for score in scores])
    left_out = {score.metric: dict(score.missing) for score in asked if score.value is None}
    return ScoredResult(folder, result, scores, left_out, table)


def _table(path: Path, metrics: Sequence[str]) -> ParquetTable:
    findings = Findings()
    table = read_parquet(path, findings, [*_COLUMNS, *metrics])
    if table is None:
        raise InputError(f"{path}: {findings.problems[0].message}", _HINT)
    schema = table.schema
    for name, wanted in (_COLUMNS | dict.fromkeys(metrics, pa.float64())).items():
        kinds = [schema.field(index).type for index in schema.get_all_field_indices(name)]
        if len(kinds) != 1 or not _is_same(kinds[0], wanted):
            raise InputError(f"{path} has no single column {name} of type {wanted}", _HINT)
    return table


def _is_same(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Compare types, ignoring the name of a list's items."""
    if wanted is _TEXTS and pa.types.is_list(kind):
        return bool(kind.value_type == pa.string())
    return bool(kind == wanted)


def _prompt(row: Mapping[str, Any], metrics: Sequence[str], where: str) -> ScoredPrompt:
    whole = all(row.get(name) is not None for name in _COLUMNS if name != "finish_reasons")
    if not whole or "finish_reasons" not in row or None in row["responses"]:
        raise InputError(f"{where}: a value is missing, or not UTF-8", _HINT)
    values = {metric: row[metric] for metric in metrics if row[metric] is not None}
    for metric, value in values.items():
        if not math.isfinite(value):
            raise InputError(f"{where}: {metric} is {value}", _HINT)
    reasons = row["finish_reasons"]
    return ScoredPrompt(
        prompt_id=row["prompt_id"],
        category=row["category"],
        prompt=row["prompt"],
        responses=tuple(row["responses"]),
        finish_reasons=None if reasons is None else tuple(reasons),
        answers=row["answers"],
        values=values,
    )


def metric_of(score: Aggregate) -> Metric | None:
    """Return the metric of a score, if this version of the package has it."""
    return next((each for each in METRICS if (each.id, each.version) == (score.metric, score.version)), None)


def way_of(score: Aggregate) -> str:
    """Return which direction is more diverse, in words."""
    return {1: "higher is more diverse", -1: "lower is more diverse", 0: "neither way is more diverse"}[score.direction]


def date_of(result: Result) -> date:
    """Return the date on which the responses were generated, the only date in an export.

    Raises:
        ConfigurationError: It is unknown.
    """
    found = result.manifest.submitter.date
    if found is None:
        message = f"{result.manifest.name}: this format needs the date of generation, which is unknown"
        raise ConfigurationError(message, "import the responses again with --date")
    return found


def epoch_of(result: Result) -> int:
    """Return `date_of` in seconds since 1970, at midnight UTC."""
    return int(datetime.combine(date_of(result), time(), UTC).timestamp())


def model_name(result: Result) -> str:
    """Return the system's Hub id or the provider's name; without one, a name made of the submission's id."""
    return result.manifest.system.model_id or f"divbench-submission/{result.submission_id}"


def json_line(record: Mapping[str, Any]) -> str:
    """Return a record as one line of JSON Lines, without characters that a reader may take for line ends."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False).translate(_LINE_ENDS) + "\n"


@contextmanager
def whole_pair(first: Path, second: Path) -> Iterator[tuple[Path, Path]]:
    """Yield temporary names for two files in one folder; when the block succeeds, rename them in order.

    If it fails, remove both, with the folders that were created for them.
    """
    new = [folder for folder in (first.parent, *first.parent.parents) if not folder.exists()]
    first.parent.mkdir(parents=True, exist_ok=True)
    try:
        with atomic_file(second) as other, atomic_file(first) as one:
            yield one, other
    except BaseException:
        for folder in new:
            with suppress(OSError):  # another process may have put something there
                folder.rmdir()
        raise
