"""Scores to test, from this package's metrics, released columns, a user's own function, or a file.

Scores are kept by set_id, so that sets in several tasks are scored once. Larger is more diverse: metrics with the
opposite direction are negated, and their origin says so.
"""

import importlib
import inspect
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmark.analysis.metaeval.labelled import Floats, Labelled
from benchmark.metrics import Metric
from benchmark.metrics.metric import Missing
from benchmark.scoring.backends import ScoringBackends
from benchmark.scoring.inputs import Value, score_sets
from benchmark.surprisal.engine import ResponseSet
from divbench.core.errors import ConfigurationError, InputError, counted, first_line
from submissions.untrusted.table_files import delimiter_of

MAX_FILE_BYTES = 2**30
NOT_IN_FILE = "not in the file"
_INDEX = ("", "Unnamed: 0", "__index_level_0__")  # row numbers that pandas writes; not metrics
_LONGEST_HEAD = 2**20  # characters
_LONGEST_REASON = 200  # characters
_SCORED_AT_ONCE = 1000  # sets; enough that their texts are embedded in full batches

Progress = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and its total."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one metric."""

    name: str
    origin: str  # *metric*, *released*, *external* or *file*, with its version or path
    values: Mapping[str, Value]  # scores by set_id, larger for more diverse, or the reasons why they are missing
    problems: tuple[str, ...] = ()  # problems of the whole column, such as unknown ids

    def column(self, ids: Sequence[str]) -> Floats:
        """Return the values in the order of the ids, NaN where missing."""
        values = (self.values.get(name, Missing(NOT_IN_FILE)) for name in ids)
        return np.array([np.nan if isinstance(value, Missing) else value for value in values], np.float64)

    def has_values(self) -> bool:
        """Whether any set has a value."""
        return any(not isinstance(value, Missing) for value in self.values.values())

    def missing(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the reason for each missing value, by set_id."""
        values = ((name, self.values.get(name, Missing(NOT_IN_FILE))) for name in ids)
        return {name: value.reason for name, value in values if isinstance(value, Missing)}

    def reasons(self, ids: Iterable[str]) -> dict[str, int]:
        """Count the sets without a value, by reason."""
        return dict(sorted(Counter(self.missing(ids).values()).items()))


def _signed(value: Value, sign: int) -> Value:
    return value if isinstance(value, Missing) else sign * value


def unique_sets(tasks: Iterable[Labelled]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return context and responses of each different set of the tasks, by set_id."""
    sets: dict[str, tuple[str, tuple[str, ...]]] = {}
    for task in tasks:
        for name, context, responses in zip(task.set_ids, task.contexts, task.responses, strict=True):
            sets.setdefault(name, (context, responses))
    return sets


def metric_scores(
    tasks: Sequence[Labelled],
    metrics: Sequence[Metric],
    backends: ScoringBackends,
    progress: Progress = lambda what, done, total: None,
) -> list[Scores]:
    """Score each different set by this package's metrics."""
    named = unique_sets(tasks)
    names = list(named)
    sets = [ResponseSet(context, responses) for context, responses in named.values()]
    backends.announce([sets], metrics)
    surprisals = backends.read(sets, metrics, lambda done: progress("reading with the language model", done, len(sets)))
    rows: list[dict[str, Value]] = []
    for start in range(0, len(sets), _SCORED_AT_ONCE):
        part = slice(start, start + _SCORED_AT_ONCE)
        materials = backends.materials(sets[part], metrics, surprisals=None if surprisals is None else surprisals[part])
        rows += score_sets(materials, metrics, names[part])
        progress("scoring", len(rows), len(sets))
    columns = []
    for metric in metrics:
        sign = -1 if metric.direction == -1 else 1
        values = {name: _signed(row[metric.id], sign) for name, row in zip(names, rows, strict=True)}
        columns.append(Scores(metric.id, f"metric v{metric.version}{', negated' if sign < 0 else ''}", values))
    return columns


def released_scores(tasks: Sequence[Labelled], names: Sequence[str] | None = None) -> list[Scores]:
    """Return the metric columns published with the texts, where they are rounded to 3 decimals."""
    columns: dict[str, dict[str, Value]] = {}
    for task in tasks:
        for name, values in task.released.items():
            column = columns.setdefault(name, {})
            for set_id, value in zip(task.set_ids, values.tolist(), strict=True):
                column[set_id] = Missing("not released") if np.isnan(value) else value
    chosen = list(columns) if names is None else list(names)
    lacking = [name for name in chosen if name not in columns]
    if lacking:
        raise ConfigurationError(
            f"the released column {lacking[0]!r} is not available",
            f"there are {', '.join(columns) or 'none without the mirror'}",
        )
    return [Scores(f"released:{name}", "released with the texts, 3 decimals", columns[name]) for name in chosen]


def find_function(name: str) -> Callable[..., Any]:
    """Import the function named by `module:function`; the current folder is searched first, also when it is called."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ConfigurationError(
            f"{name!r} does not name a function", "write module:function, such as mymetrics:spread"
        )
    sys.path.insert(0, os.getcwd())  # noqa: PTH109
    try:
        function = getattr(importlib.import_module(module), attribute, None)
    except Exception as error:  # importing runs the user's own code
        message = f"{module} cannot be imported: {type(error).__name__}: {error}"
        raise ConfigurationError(message, "install or fix it, or run in the folder that has it") from error
    if function is None:
        raise ConfigurationError(f"{module} has no {attribute}", "name a function of that module")
    if not callable(function):
        raise ConfigurationError(f"{name} is not a function", "name a function that takes a list of responses")
    return function  # type: ignore[no-any-return]


def function_scores(
    tasks: Sequence[Labelled],
    function: Callable[..., Any],
    name: str,
    *,
    lower_is_more_diverse: bool = False,
    progress: Progress = lambda what, done, total: None,
) -> Scores:
    """Score each different set by a user's function of its responses, and of `context` if it has that parameter.

    An exception, or a value that is not a finite number, makes the set's score missing.
    """
    try:
        with_context = "context" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # some functions written in C have no signature
        with_context = False
    sign = -1 if lower_is_more_diverse else 1
    sets = unique_sets(tasks)
    values: dict[str, Value] = {}
    for set_id, (context, responses) in sets.items():
        try:
            result = function(list(responses), **({"context": context} if with_context else {}))
            values[set_id] = _signed(as_number(result), sign)
        except Exception as error:  # the user's own code may raise anything
            values[set_id] = Missing(f"raised {type(error).__name__}: {error}"[:_LONGEST_REASON])
        progress(f"calling {name}", len(values), len(sets))
    return Scores(name, f"external{', negated' if sign < 0 else ''}", values)


def as_number(result: Any) -> Value:
    """Return what a function returned as a number, or say what it is instead. Zero-dimensional arrays are numbers.

    Text, bool, complex and masked values are not, alone or in an array: NumPy would convert them without an error.
    """
    if isinstance(result, str | bytes | bool) or result is None or result is np.ma.masked:
        return Missing(f"not a number: {type(result).__name__}")
    try:
        array = np.asarray(result)
        if array.dtype.kind not in "iufO" and array.size == 1:
            return Missing(f"not a number: {array.dtype.name}")
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        return Missing(f"not a number: {type(result).__name__}")
    if array.shape != ():
        return Missing(f"not a number: {array.size} values")
    value = float(array)
    return value if math.isfinite(value) else Missing(f"not finite: {value}")


def file_scores(
    path: Path, key: str, known: Iterable[str], *, lower_is_more_diverse: bool = False, unit: str = "set"
) -> list[Scores]:
    """Read scores from a CSV or Parquet file: a column `key` of ids, and a column of numbers for each metric.

    Unknown ids, ids that occur twice with different values, and fields that are not numbers are reported as problems;
    the other rows are used. `unit` is what the ids name, for messages.
    """
    table = _table(path, key)
    if key not in table.column_names:
        raise InputError(f"{path} has no column {key}", f"it has {', '.join(table.column_names)[:200]}")
    repeated = [name for name, count in Counter(table.column_names).items() if count > 1]
    if repeated:
        raise InputError(f"{path} has more than one column named {repeated[0]!r}", "rename or remove one")
    ids = [None if name is None else str(name) for name in table[key].to_pylist()]
    columns = [
        name
        for name in table.column_names
        if name not in {key, *_INDEX} and _could_be_numbers(table.schema.field(name).type)
    ]
    if not columns:
        raise InputError(f"{path} has no column of scores beside {key}", "add one column of numbers for each metric")
    unknown = sorted({name for name in ids if name is not None} - set(known))
    problems = []
    if unknown:
        problems.append(f"left out: {counted(len(unknown), 'id')} of no {unit} asked for, such as {unknown[0][:60]!r}")
    if None in ids:
        problems.append(f"left out: {counted(ids.count(None), 'row')} without {key}")
    scores = []
    for name in columns:
        values, more = _by_id(ids, table[name].to_pylist(), -1 if lower_is_more_diverse else 1, unit)
        scores.append(Scores(f"{path.stem}:{name}", f"file {path.name}", values, (*problems, *more)))
    return [column for column in scores if column.has_values()] or scores[:1]


def _by_id(
    ids: Sequence[str | None], numbers: Sequence[Any], sign: int, unit: str
) -> tuple[dict[str, Value], list[str]]:
    """Return a column's values by id, and the problems of ids that occur twice."""
    values: dict[str, Value] = {}
    repeated: set[str] = set()
    conflicting: set[str] = set()
    for name, number in zip(ids, numbers, strict=True):
        if name is None:
            continue
        value = _signed(_number(number), sign)
        if name in values:
            repeated.add(name)
            if values[name] != value:
                conflicting.add(name)
        values[name] = value
    values |= {name: Missing("occurs twice in the file with different values") for name in conflicting}
    problems = []
    if conflicting:
        problems.append(
            f"{len(conflicting)} {unit}s occur twice with different values, such as {min(conflicting)!r}: missing"
        )
    if same := len(repeated - conflicting):
        problems.append(f"{same} {unit}s occur twice with the same value: counted once")
    return values, problems


def _number(field: Any) -> Value:
    if field is None or field == "":
        return Missing("no value in the file")
    try:
        value = float(field)
    except (TypeError, ValueError):
        return Missing(f"not a number in the file: {str(field)[:40]!r}")
    return value if np.isfinite(value) else Missing("not finite in the file")


def _could_be_numbers(kind: pa.DataType) -> bool:
    """Whether a column may hold numbers; text may as well, because the reader types a column with one word as text."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_string(kind) or pa.types.is_null(kind)


def _table(path: Path, key: str) -> pa.Table:
    if not path.is_file():
        raise InputError(f"there is no file {path}", "name a CSV or Parquet file")
    if path.stat().st_size > MAX_FILE_BYTES:
        raise InputError(f"{path} has more than {MAX_FILE_BYTES:,} bytes", "keep only the columns of ids and scores")
    try:
        if path.suffix == ".parquet":
            return pq.read_table(path)
        if path.suffix == ".csv":
            as_text = pa.csv.ConvertOptions(column_types={key: pa.string()})  # otherwise the id 007 would become 7
            with path.open(encoding="utf-8-sig", errors="replace") as file:
                parsed = pa.csv.ParseOptions(delimiter=delimiter_of(file.readline(_LONGEST_HEAD)))
            return pa.csv.read_csv(path, parse_options=parsed, convert_options=as_text)
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as error:
        raise InputError(f"{path} cannot be read: {first_line(error)}", "repair the file or write it again") from error
    raise InputError(f"{path} is neither .csv nor .parquet", "convert or rename the file")
